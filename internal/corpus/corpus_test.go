package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/pgtest"
)

// TestOurs: what is bound of the corpora is described as PostgreSQL describes it. Their trees are compared by make corpus.
func TestOurs(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	list, err := Ours(root)
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Server: pgtest.Start(t), Root: root}
	for _, c := range list {
		var out strings.Builder
		n, err := r.Run(c, &out)
		if err != nil {
			t.Fatal(err)
		}
		if n.Different > 0 || n.Total == 0 {
			t.Errorf("%s", out.String())
		}
		t.Logf("%s: %+v", c.Path, n)
	}
}

// TestVerdicts: each kind of verdict is found.
func TestVerdicts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	schema := write("ddl.sql", "CREATE TABLE t (a integer PRIMARY KEY, b text)")
	folder := filepath.Join(dir, "c")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	write("c/a.sql", "select a from t;\n\nselect nope from t; select a from t for update;")
	write("c/b.jsonl", `{"sql": "select misread from t"}`+"\n"+`{"client": "x", "sql": "select b from t where a = $1"}`+"\n")
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Server: pgtest.Start(t), Root: root, All: true, Parser: &Parser{
		Takes: func(string) error { return nil },
		Same:  func(a, _ string) (bool, error) { return !strings.Contains(a, "misread"), nil },
	}}
	var out strings.Builder
	n, err := r.Run(Corpus{folder, schema}, &out)
	if err != nil {
		t.Fatal(err)
	}
	if (n != Counts{Total: 5, Same: 3, Refused: 1, Different: 1}) {
		t.Errorf("%+v\n%s", n, out.String())
	}
	for _, want := range []string{"same      a.sql:1:", "same      a.sql:3: undefined_column", "refused   a.sql:3: unsupported", "different b.jsonl:1: tree: read as", "same      b.jsonl:2:", "    1 refused unsupported"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("without %q:\n%s", want, out.String())
		}
	}
}
