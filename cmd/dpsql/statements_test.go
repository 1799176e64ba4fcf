package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
)

// TestShowStatements: the owner is shown what was asked, by the audit log's fingerprint too, beside a server and without one. Without the key's file it is told that the key is missing.
func TestShowStatements(t *testing.T) {
	path := smallServer(t, 2, 0.25)
	dir := filepath.Dir(path)
	s := serveDir(t, path)
	const first, second = "select count(*) from stays", "select sum(days) /* \x1b[2J */\nfrom stays where days < 7"
	conn := connect(t, s.url("analyst"))
	for _, sql := range []string{first, second} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	beside := output(t, "budget", "show", "--statements", "--config", path)
	s.kill()
	audit, err := os.ReadFile(filepath.Join(dir, "demo.ledger.audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(audit), first) {
		t.Error("the audit log has a text")
	}
	var line struct {
		Statement   string
		Reservation int64
	}
	if err := json.Unmarshal([]byte(strings.SplitN(string(audit), "\n", 2)[0]), &line); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "demo.ledger"+ledger.KeySuffix)
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	alone := output(t, "budget", "show", "--statements", "--config", path)
	if alone != beside || !strings.Contains(alone, "    "+first+"\n") || !strings.Contains(alone, "    select sum(days) /* \\u001b[2J */\n    from stays where days < 7") || strings.Contains(alone, "\x1b") {
		t.Errorf("%s\nbeside a server\n%s", alone, beside)
	}
	var one ledger.StatementCharge
	if err := json.Unmarshal([]byte(output(t, "budget", "show", "--statements", "--json", "--fingerprint", line.Statement[:10], "--config", path)), &one); err != nil || one.Text != first || one.Seq != line.Reservation {
		t.Errorf("%+v %v", one, err)
	}
	for _, args := range [][]string{{"--statements", "--fingerprint", "xyz"}, {"--statements", "--analyst", "nobody"}, {"--analyst", "analyst"}} {
		failing(t, append(append([]string{"budget", "show"}, args...), "--config", path)...)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if out := output(t, "budget", "show", "--statements", "--config", path); strings.Contains(out, first) || !strings.Contains(out, "(the text needs the key ") {
		t.Error(out)
	}
}
