package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestReplaceKeepsOwner: a policy that root edits stays its group's to read, so that the server's next reload can.
func TestReplaceKeepsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	owner := os.Getuid()
	if owner == 0 {
		owner = 10001
		if err := os.Chown(path, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := replace(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "new" || info.Mode() != 0o640 || int(info.Sys().(*syscall.Stat_t).Uid) != owner {
		t.Errorf("%q %v %+v, %v", text, info.Mode(), info.Sys(), err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".dpsql-*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestDocumentedCommands: the commands that docs/operations.md names are there.
func TestDocumentedCommands(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("(?m)(?:`|^ +|-i |exec dpsql )dpsql ([a-z]+(?: hash| show| add| grant| raise| move| verify)?)(?: |`|$)").FindAllSubmatch(text, -1)
	if len(named) < 10 {
		t.Fatalf("only %d commands were found", len(named))
	}
	all := root()
	all.InitDefaultCompletionCmd() // which Execute adds
	for _, m := range named {
		if c, rest, err := all.Find(strings.Fields(string(m[1]))); err != nil || len(rest) > 0 || c.RunE == nil && !c.HasSubCommands() {
			t.Errorf("dpsql %s: %v", m[1], err)
		}
	}
}
