package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinkedLedger: a ledger's path that is a symbolic link is refused with the path to write in its place, which works.
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
	refused := func(path, want string) {
		t.Helper()
		_, err := OpenSQLite(ctx, path, demoHead(t), dayCache())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	refused(link(real, "early"), "a symbolic link to "+real+", where nothing is")
	must(OpenSQLite(ctx, real, demoHead(t), dayCache()))(t).Close() //nolint:errcheck,gosec // it is opened again
	late := link(real, "late")
	refused(late, want)
	must(OpenForOwner(ctx, filepath.Join(link(filepath.Dir(real), "folder"), "x.ledger")))(t).Close() //nolint:errcheck,gosec // a linked folder is none of a file's
	if _, err := OpenForOwner(ctx, late); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the owner: %v", err)
	}
}
