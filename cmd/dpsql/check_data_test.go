package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOtherLedger: a policy whose data set was renamed begins no ledger, and two policies over one database and unit do not have two: check says so before anything is served, check and serve after.
func TestOtherLedger(t *testing.T) {
	path := smallServer(t, 1, 0.25)
	read, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(read)
	second := filepath.Join(filepath.Dir(path), "second.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said := output(t, "check", "--config", path); !strings.Contains(said, "no mistakes, 0 warnings") {
		t.Error(said)
	}
	write(second, strings.Replace(text, "dataset: demo", "dataset: second", 1))
	for config, other := range map[string]string{path: second, second: path} {
		if said := output(t, "check", "--config", config); !strings.Contains(said, other+" reads the same database and unit with another ledger") || !strings.Contains(said, "no mistakes, 1 warning") {
			t.Error(said)
		}
	}
	write(second, strings.Replace(text, "dataset: demo", "dataset: second\npeople: demo", 1)+"ledger: {sqlite: demo.ledger}\n") // one ledger
	if said := output(t, "check", "--config", path); !strings.Contains(said, "no mistakes, 0 warnings") {
		t.Error(said)
	}
	stop := func(s *serving) {
		t.Helper()
		if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_ = s.cmd.Wait()
	}
	stop(serveDir(t, path))
	if said := output(t, "check", "--config", path); !strings.Contains(said, "no mistakes") {
		t.Error(said)
	}
	write(second, strings.Replace(text, "dataset: demo", "dataset: renamed", 1))
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"check"}} {
		said := failing(t, append(args, "--config", second)...)
		if !strings.Contains(said, "what was charged for main.patients.patient_id is in that of file "+filepath.Join(filepath.Dir(path), "demo.ledger")) || !strings.Contains(said, "Restore the policy's dataset, people and ledger") {
			t.Error(said)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "renamed.ledger")); err == nil {
		t.Error("it was begun")
	}
	stop(serveDir(t, path)) // the first goes on
}

// TestSlips: what is easily mistyped is answered with its cure, and nothing else: a data set without its name says nothing of ledgers, a policy's file without --config and a
// unit's name in other letters are named, and of a second server of one policy it is said once that the first has the ledger.
func TestSlips(t *testing.T) {
	path := smallServer(t, 1, 0.25)
	dir := filepath.Dir(path)
	read, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	slip := filepath.Join(dir, "slip.yaml")
	if err := os.WriteFile(slip, []byte(strings.Replace(string(read), "dataset: demo", "datset: demo", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveDir(t, path)
	said := failing(t, "check", "--config", slip)
	if !strings.Contains(said, "did you mean dataset?") || strings.Contains(said, "ledger") {
		t.Error(said)
	}
	if said := failing(t, "check", path); !strings.Contains(said, "dpsql check --config "+path) {
		t.Error(said)
	}
	if said := failing(t, "init", "--backend", filepath.Join(dir, "small.duckdb"), "--unit", "PATIENTS.patient_id"); !strings.Contains(said, "did you mean patients?") {
		t.Error(said)
	}
	said = failing(t, "serve", "--listen", "127.0.0.1:0", "--config", path)
	if strings.Count(said, "in use by another process") != 1 || strings.Contains(said, "locked") || !strings.Contains(said, "dpsql reload --config "+path) {
		t.Error(said)
	}
	s.kill()
}

// TestOtherPromise: check says of a budget that the ledger did not promise what serve would say, beside a running server and alone.
func TestOtherPromise(t *testing.T) {
	path := smallServer(t, 1, 0.25)
	read, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	server := serveDir(t, path)
	changed := strings.Replace(string(read), "epsilon: 1,", "epsilon: 2,", 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	const words = "it promises epsilon 1, "
	if said := failing(t, "check", "--config", path); !strings.Contains(said, words) || !strings.Contains(said, "dpsql budget raise") || !strings.Contains(said, "1 mistake, 0 warnings") {
		t.Error(said)
	}
	if err := server.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	_ = server.cmd.Wait()
	for _, args := range [][]string{{"check"}, {"serve", "--listen", "127.0.0.1:0"}} {
		if said := failing(t, append(args, "--config", path)...); !strings.Contains(said, words) || !strings.Contains(said, "dpsql budget raise") {
			t.Error(said)
		}
	}
	if err := os.WriteFile(path, read, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := output(t, "check", "--config", path); !strings.Contains(said, "no mistakes, 0 warnings") {
		t.Error(said)
	}
}
