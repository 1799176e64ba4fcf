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
	stop := func(s *server) {
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
