package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneStatement: dpsql explain and dpsql query take one statement: what stands behind the first would be run, and charged.
func TestOneStatement(t *testing.T) {
	for _, name := range []string{"explain", "query"} {
		c := root()
		c.SetArgs([]string{name, "select count(*) from patients; select count(*) from encounters", "--config", "none.yaml"})
		if err := c.Execute(); err == nil || !strings.Contains(err.Error(), "one statement at a time: 2 were given") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExplainBesideServer: where a server runs, the error of dpsql explain names all that asking it takes, and what it names works.
func TestExplainBesideServer(t *testing.T) {
	path := smallServer(t, 1, 0.5)
	dir := filepath.Dir(path)
	cert := filepath.Join(dir, "server.crt")
	if out, err := exec.Command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
		"-keyout", filepath.Join(dir, "server.key"), "-out", cert).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "listen: 127.0.0.1:"+freePort(t)+"\ntls: {cert: server.crt, key: server.key}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	defer started(t, program(context.Background(), "serve", "--config", path)).kill()
	for _, c := range []struct {
		password string
		more     []string
		code     int
		want     string
	}{
		{"", nil, exitFailed, "PGPASSWORD=... dpsql explain ... --analyst analyst --sslrootcert " + cert},
		{"demo", nil, exitFailed, "--sslrootcert " + cert},
		{"demo", []string{"--analyst", "analyst", "--sslrootcert", cert}, 0, "1 statement, 0 refused"},
	} {
		t.Setenv("PGPASSWORD", c.password)
		out, code := ran(t, "SELECT count(*) FROM patients", append([]string{"explain", "-", "--config", path}, c.more...)...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("password %q, %q: exit code %d, no %q:\n%s", c.password, c.more, code, c.want, out)
		}
	}
}

// TestAskServerElsewhere: dpsql query and explain ask the server of their policy where it listens, also where --listen differs and the policy's port is another server's.
func TestAskServerElsewhere(t *testing.T) {
	path := smallServer(t, 1, 0.5)
	other := serveDir(t, smallServer(t, 1, 0.25))
	defer other.kill()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(text, "listen: "+other.addr+"\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer serveDir(t, path).kill()
	t.Setenv("PGPASSWORD", "demo")
	for _, args := range [][]string{{"explain", "SELECT count(*) FROM patients"}, {"query", "SHOW dpsql.price"}} {
		out, code := ran(t, "", append(args, "--config", path, "--analyst", "analyst")...)
		if code != 0 || !strings.Contains(out, "0.5") {
			t.Errorf("%q: exit code %d, want the policy's price of 0.5:\n%s", args, code, out)
		}
	}
}

// TestScriptOfPsql: a file that psql runs is explained and rehearsed without psql's own commands; what cannot be read names the file and the line.
func TestScriptOfPsql(t *testing.T) {
	path := smallServer(t, 1, 0.5)
	file := filepath.Join(filepath.Dir(path), "work.sql")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"explain", "rehearse"} {
		write("\\dt\n\\echo 'it is\nselect count(*) from patients\n\\g\nselect '\n\\x' from nowhere; -- \\y\n")
		out, code := ran(t, "", name, file, "--config", path, "--analyst", "analyst")
		for _, want := range []string{"skipped: psql's own command", `\dt`, `\echo 'it is`, "select count(*) from patients", "2 statements", "1 refused"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
		if code != exitFound || strings.Count(out, "skipped: psql") != 3 {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
		write("select 1;\nselect 'open")
		if out, code := ran(t, "", name, file, "--config", path, "--analyst", "analyst"); code != exitFailed || !strings.Contains(out, file+", line 2: unterminated") {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
	}
}
