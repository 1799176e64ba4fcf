package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trainServer is a small data set whose budget has a delta, and more lines of policy.
func trainServer(t testing.TB, more string) (policyPath string) {
	t.Helper()
	path := smallServer(t, 50, 0.5)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("delta: 0}"), []byte("delta: 1e-6}"), 1)
	if err := os.WriteFile(path, append(text, more...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTrainCommand: the trainings of a file run one after the other beside a server and without one; one that would be refused stops the command before any is charged, and --explain spends nothing.
func TestTrainCommand(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := trainServer(t, "listen: "+addr+"\n")
	t.Setenv("PGPASSWORD", "demo")
	file := filepath.Join(t.TempDir(), "two.sql")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spent := func() string {
		t.Helper()
		return output(t, "budget", "show", "--json", "--config", path)
	}
	train := func(ok bool, says ...string) (stdout string) {
		t.Helper()
		cmd := program(t.Context(), append([]string{"train", "--file", file, "--config", path}, says...)...)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if (err == nil) != ok {
			t.Fatalf("%v\n%s%s", err, out, errs.String())
		}
		if !ok {
			return errs.String()
		}
		if len(says) == 0 && (!strings.Contains(errs.String(), "training 2 of 2 (line 3)") || !strings.Contains(errs.String(), ", for a training of epsilon 1 and delta 1e-09; left: ")) {
			t.Errorf("standard error is\n%s", errs.String())
		}
		return string(out)
	}
	const two = "TRAIN DP MODEL NAME1 USING logistic_regression TARGET y WITH (epsilon = 1, delta = 1e-9) AS SELECT days, days > 5 AS y FROM stays;\n" +
		"-- the second\nTRAIN DP MODEL NAME2 USING linear_regression TARGET days\n WITH (epsilon = 1, delta = 1e-9) AS SELECT days, days > 5 AS y FROM stays;\n"
	check := func(where string) {
		t.Helper()
		before := spent()
		write(strings.ReplaceAll(two, "NAME", where))
		if out := train(true, "--explain"); strings.Count(out, "lambda") != 2 {
			t.Errorf("%s: EXPLAIN says\n%s", where, out)
		}
		write(strings.ReplaceAll(two, "NAME", where+"_bad") + "\nTRAIN DP MODEL third USING linear_regression TARGET dais AS SELECT days, days > 5 AS y FROM stays")
		if said := train(false); !strings.Contains(said, file+", line 6: ") || !strings.Contains(said, `no column "dais"`) || !strings.Contains(said, "It has days, y") {
			t.Errorf("%s: %s", where, said)
		}
		write("TRAIN DP MODEL m USING linear_regression TARGET days AS SELECT days, days > 5 AS y FROM stays; SELECT 1")
		if said := train(false); !strings.Contains(said, "no TRAIN DP MODEL statement") {
			t.Errorf("%s: %s", where, said)
		}
		write("-- nothing\n")
		if said := train(false); !strings.Contains(said, "has no TRAIN") {
			t.Errorf("%s: %s", where, said)
		}
		for bad, want := range map[string]string{
			strings.ReplaceAll(two, "NAME2", "NAME1"): `line 3: model "` + where + `1" is trained in line 1 already`,
			strings.Replace(two, "delta = 1e-9) AS SELECT days, days > 5 AS y FROM stays;\n--", "delta = 6e-7) AS SELECT days, days > 5 AS y FROM stays;\n--", 1) +
				"TRAIN DP MODEL third USING linear_regression TARGET days WITH (epsilon = 1, delta = 4e-7) AS SELECT days FROM stays": "line 5: ",
		} {
			write(strings.ReplaceAll(bad, "NAME", where))
			if said := train(false); !strings.Contains(said, want) {
				t.Errorf("%s: want %q, said %s", where, want, said)
			}
		}
		if after := spent(); after != before {
			t.Errorf("%s: what trained nothing was charged:\n%s", where, after)
		}
		write(strings.ReplaceAll(two, "NAME", where))
		if out := train(true); !strings.Contains(out, where+"1") || !strings.Contains(out, where+"2") {
			t.Errorf("%s: the cards are\n%s", where, out)
		}
		if spent() == before {
			t.Errorf("%s: trainings are free", where)
		}
		before = spent()
		write(strings.NewReplacer("NAME1", where+"3", "NAME2", where+"1").Replace(two))
		if said := train(false); !strings.Contains(said, "already exists") || spent() != before { // the second's
			t.Errorf("%s: %s", where, said)
		}
		if said := train(false, "--explain"); !strings.Contains(said, "already exists") {
			t.Errorf("%s: %s", where, said)
		}
		write(strings.ReplaceAll(two, "NAME", where))
		if said := train(false); !strings.Contains(said, "already exists") { // its name is taken, and nothing was spent
			t.Errorf("%s: %s", where, said)
		}
	}
	output(t, "query", "SELECT count(*) FROM stays", "--config", path)
	check("alone")
	cmd := program(t.Context(), "serve", "--config", path)
	cmd.Dir = filepath.Dir(path)
	s := started(t, cmd)
	defer s.kill()
	check("beside")
	if out := output(t, "query", "SHOW DP MODELS", "--analyst", "analyst", "--config", path); strings.Count(out, "regression") != 4 {
		t.Errorf("models:\n%s", out)
	}
}
