package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestOurs: what is bound of the corpora is described as PostgreSQL describes it. Their trees are compared by make corpus.
func TestOurs(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	list, skipped, err := Ours(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("skipped: %s", skipped)
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
	write("c/a.sql", "select a from t;\n\nselect nope from t; select a from t for update; select now(), current_database(), current_user from t limit -1; select now() from t")
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
	if (n != Counts{Total: 7, Same: 5, Refused: 1, Different: 1}) {
		t.Errorf("%+v\n%s", n, out.String())
	}
	for _, want := range []string{"same      a.sql:1:", "same      a.sql:3: undefined_column", "refused   a.sql:3: unsupported", "different b.jsonl:1: tree: read as", "same      b.jsonl:2:", "    1 refused unsupported",
		"same      a.sql:3: invalid_row_count"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("without %q:\n%s", want, out.String())
		}
	}
}

// TestNoStatement: a line without a statement is no statement that is the same.
func TestNoStatement(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(file, []byte(`{"sql": "select 1"}`+"\n"+`{"query": "select 2"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := statements(file); err == nil || !strings.Contains(err.Error(), "a.jsonl:2") {
		t.Errorf("%v, %v", list, err)
	}
}

// TestAnswers: a print whose rows, their number or whose error is another's is found, also below a subquery; an error that PostgreSQL does not give is a difference.
func TestAnswers(t *testing.T) {
	dir := t.TempDir()
	schema := filepath.Join(dir, "ddl.sql")
	if err := os.WriteFile(schema, []byte("CREATE TABLE t (a integer PRIMARY KEY, b text)"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := open(pgtest.Start(t), "answers", "", schema)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, c := range []struct {
		text, other string
		same        bool
	}{
		{"select a, b from t", "select a, b from (select * from t) x", true},
		{"select a, b from t", "select a, b from t where a > 2", false},
		{"select a from t", "select a + 1 from t", false},
		{"select a from t", "select 1 / (a - a) from t", false},
		{"select exists (select 1 from t x where x.a = t.a + 1) from t", "select exists (select 1 from t x where x.a = t.a) from t", false},
		{"select a in (select a from t where b is null) from t", "select a from t where a not in (select a from t where b is null)", false},
		{"select sum(a) over (order by a) from t order by 1 limit 2", "select a from t order by 1 limit 3", false},
	} {
		st, err := pgsyntax.Parse(c.other)
		if err != nil {
			t.Fatal(err)
		}
		q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), w.tables, plan.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := w.answered(statement{text: c.text}, q)
		if err != nil {
			t.Fatal(err)
		}
		if (d == "") != c.same {
			t.Errorf("%s beside %s: %q", c.text, c.other, d)
		}
	}
	for _, c := range []struct {
		text string
		said sqlerr.Kind
		want kind
	}{
		{"select a from t", sqlerr.UndefinedColumn, different}, {"select a from t limit 1", sqlerr.InvalidRowCount, different},
		{"select a from t limit -1", sqlerr.InvalidRowCount, same}, {"select a from t", sqlerr.UnsupportedType, refused},
	} {
		v, err := w.refusal(statement{text: c.text}, sqlerr.New(c.said, "said"))
		if err != nil {
			t.Fatal(err)
		}
		if v.kind != c.want {
			t.Errorf("%s refused with %s: %+v", c.text, c.said.ID, v)
		}
	}
}
