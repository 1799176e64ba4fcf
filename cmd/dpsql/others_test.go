package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLedgerOfOthers: no command of the owner's does anything with a ledger of other people than the policy's, neither with the file nor with the server that has it: a freeze would stop the others' analysts.
func TestLedgerOfOthers(t *testing.T) {
	path := smallServer(t, 1, 0.25)
	dir := filepath.Dir(path)
	output(t, "query", "select count(*) from stays", "--analyst", "analyst", "--config", path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	others := filepath.Join(dir, "school.yaml")
	body := strings.Replace(string(text), "dataset: demo", "dataset: school", 1) + "ledger: {sqlite: demo.ledger}\n"
	if err := os.WriteFile(others, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	records := func() string {
		t.Helper()
		said := output(t, "budget", "show", "--json", "--config", path)
		if !strings.Contains(said, `"frozen": []`) {
			t.Errorf("somebody was frozen:\n%s", said)
		}
		return said
	}
	before := records()
	refuse := func(where string) {
		t.Helper()
		for _, args := range []string{"freeze", "freeze analyst", "unfreeze", "budget show", "budget show --json", "budget verify", "budget grant analyst --epsilon 0.5 --reason r",
			"budget show --plot " + filepath.Join(dir, "out.svg")} {
			if said := failing(t, append(strings.Fields(args), "--config", others)...); !strings.Contains(said, where) || !strings.Contains(said, `of the people "demo", and this policy's are "school"`) {
				t.Errorf("dpsql %s: %s", args, said)
			}
		}
	}
	ledger := func() []byte {
		t.Helper()
		file, err := os.ReadFile(filepath.Join(dir, "demo.ledger"))
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	file := ledger()
	refuse("the ledger in file " + filepath.Join(dir, "demo.ledger"))
	elsewhere := filepath.Join(dir, "elsewhere.yaml")
	if err := os.WriteFile(elsewhere, []byte(strings.Replace(body, "demo.ledger", "school.ledger", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := failing(t, "budget", "move", "--from", filepath.Join(dir, "demo.ledger"), "--config", elsewhere); !strings.Contains(said, `of the people "demo", and not of "school": nothing was done`) {
		t.Error(said)
	}
	if made, err := filepath.Glob(filepath.Join(dir, "school.ledger*")); err != nil || len(made) > 0 {
		t.Errorf("it made %v", made)
	}
	if !bytes.Equal(file, ledger()) || records() != before {
		t.Error("the others' ledger has changed")
	}
	s := serveDir(t, path)
	defer s.kill()
	refuse("the server on " + filepath.Join(dir, "demo.ledger.sock"))
	if records() != before {
		t.Error("the others' ledger has changed")
	}
}
