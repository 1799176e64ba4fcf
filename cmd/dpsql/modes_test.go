package main

import (
	"bytes"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLooseFiles: check and serve warn of the ledger's files that others may read, with the command that mends it.
func TestLooseFiles(t *testing.T) {
	path := smallServer(t, 2, 0.25)
	serveDir(t, path).kill()
	if out := output(t, "check", "--config", path); strings.Contains(out, "chmod") {
		t.Error(out)
	}
	dir := filepath.Dir(path)
	for _, end := range []string{"", "-mark", "-key", ".audit.jsonl"} {
		if err := os.Chmod(filepath.Join(dir, "demo.ledger"+end), 0o644); err != nil { //nolint:gosec // G302: on purpose
			t.Fatal(err)
		}
	}
	out := output(t, "check", "--config", path)
	_, command, found := strings.Cut(out, "others on this machine may read or write the ledger's files\n    ")
	command, _, _ = strings.Cut(command, "\n")
	if !found || strings.Count(command, "demo.ledger") != 4 || !strings.Contains(out, "1 warning\n") {
		t.Fatal(out)
	}
	log := startLog(t, path)
	if !strings.Contains(log, "others on this machine may read or write the ledger's files") || !strings.Contains(log, "chmod 600") {
		t.Errorf("serve says\n%s", log)
	}
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil { //nolint:gosec // G204: what check said
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	if out := output(t, "check", "--config", path); strings.Contains(out, "chmod") {
		t.Error(out)
	}
}

// startLog is what a server says until it serves.
func startLog(t *testing.T, path string) string {
	t.Helper()
	cmd := program(t.Context(), "serve", "--config", path, "--listen", "127.0.0.1:0")
	cmd.WaitDelay = time.Second
	log := &bytes.Buffer{}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	buf := make([]byte, 4096)
	for !strings.Contains(log.String(), `"msg":"serving"`) {
		n, err := read.Read(buf)
		if log.Write(buf[:n]); err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
	}
	(&serving{cmd: cmd}).kill()
	return log.String()
}

// TestPublicCopy: a copy of a private table that is declared public is warned of, by check and at the start of a server.
func TestPublicCopy(t *testing.T) {
	path := smallServer(t, 2, 0.25)
	db, err := sql.Open("duckdb", filepath.Join(filepath.Dir(path), "small.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE stays_copy AS SELECT patient_id, days FROM stays"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "tables:\n", "tables:\n  stays_copy: {public: true}\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "table stays_copy is public and has the column patient_id"
	if out := output(t, "check", "--config", path); !strings.Contains(out, "warning: "+want) || !strings.Contains(out, "1 warning\n") {
		t.Error(out)
	}
	if log := startLog(t, path); !strings.Contains(log, want) {
		t.Error(log)
	}
}
