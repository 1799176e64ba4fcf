package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinkedLedger: a path through a symbolic link is refused with the path to write in its place, which works.
func TestLinkedLedger(t *testing.T) {
	dir := must(filepath.EvalSymlinks(t.TempDir()))(t)
	real := filepath.Join(dir, "data", "x.ledger")
	if err := os.Mkdir(filepath.Dir(real), 0o700); err != nil {
		t.Fatal(err)
	}
	link := func(to, name string) string {
		path := filepath.Join(dir, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	want := "ledger: {sqlite: " + real + "}"
	folder := filepath.Join(link(filepath.Dir(real), "folder"), "x.ledger")
	refused := func(path, want string) {
		t.Helper()
		_, err := OpenSQLite(ctx, path, demoHead(t), dayCache())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	refused(folder, want) // before there is a ledger, and after
	refused(link(real, "early"), "a symbolic link to "+real+", where nothing is")
	must(OpenSQLite(ctx, real, demoHead(t), dayCache()))(t).Close() //nolint:errcheck,gosec // it is opened again
	refused(folder, want)
	refused(link(real, "late"), want)
	if _, err := OpenForOwner(ctx, folder); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the owner: %v", err)
	}
}
