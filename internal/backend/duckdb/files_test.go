package duckdb

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/secret"
	"github.com/dpsql/dpsql/internal/sqltype"
)

// folderOf writes files; names ending in .gz are compressed.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		body := []byte(text)
		if strings.HasSuffix(name, ".gz") && !strings.HasPrefix(text, "broken") {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write(body); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			body = b.Bytes()
		}
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// texts are all rows of a query, as text.
func texts(t *testing.T, d *DB, query string, want ...sqltype.Type) string {
	t.Helper()
	tx, err := d.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	rows, err := tx.Query(context.Background(), query, nil, want)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var cells []string
		for i, v := range rows.Row() {
			if x := secret.Open(v); x == nil {
				cells = append(cells, "NULL")
			} else {
				cells = append(cells, sqltype.FormatText(x, want[i]))
			}
		}
		out = append(out, strings.Join(cells, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

var people = FileTable{Name: "people", Keys: [][]string{{"id"}}, Columns: []FileColumn{
	{Name: "id", Type: sqltype.Int4, NotNull: true}, {Name: "name", Type: sqltype.Text}, {Name: "born", Type: sqltype.Date}, {Name: "pay", Type: sqltype.NumericOf(8, 2)},
	{Name: "score", Type: sqltype.Float8}, {Name: "ok", Type: sqltype.Bool}}}

// TestFiles: CSV in its spellings gives the declared types; what was checked is a key; the copy stays when the file goes.
func TestFiles(t *testing.T) {
	ctx := context.Background()
	const rows = "1,\"Ann, the \"\"first\"\"\",1990-02-03,10.50,1.5,true\n2,,,,,\n3,\"\",2000-01-01,-0.01,NaN,f\n4,\"two\nlines\",0044-03-15 (BC),7,-0,t\n"
	want := "1|Ann, the \"first\"|1990-02-03|10.50|1.5|t\n2|NULL|NULL|NULL|NULL|NULL\n3||2000-01-01|-0.01|NaN|f\n4|two\nlines|0044-03-15 BC|7.00|-0|t"
	const head = "id,name,born,pay,score,ok\n"
	for name, text := range map[string]string{
		"people.csv": head + rows, "people.csv.gz": head + rows, "people.tsv": strings.ReplaceAll(head, ",", "\t") + strings.NewReplacer("Ann, the", "Ann, the", ",", "\t").Replace(strings.ReplaceAll(rows, "Ann, ", "Ann@")),
	} {
		if name == "people.tsv" {
			text = strings.ReplaceAll(text, "Ann@", "Ann, ")
		}
		dir := folderOf(t, map[string]string{name: text})
		d, err := OpenFiles(ctx, dir, []FileTable{people}, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		got := texts(t, d, "SELECT * FROM main.people ORDER BY id", sqltype.Int4, sqltype.Text, sqltype.Date, sqltype.NumericOf(8, 2), sqltype.Float8, sqltype.Bool)
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		rels, err := d.Describe(ctx, []backend.RelationName{{Name: "people"}})
		if err != nil || len(rels) != 1 || len(rels[0].Keys) != 1 || rels[0].Keys[0][0] != "id" || !rels[0].Columns[0].NotNull || rels[0].Columns[1].NotNull || rels[0].Columns[3].Type != sqltype.NumericOf(8, 2) {
			t.Errorf("%s: %+v, %v", name, rels, err)
		}
		tx, err := d.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{"SELECT * FROM read_csv('/etc/passwd')", "INSERT INTO main.people (id) VALUES (9) RETURNING id", "COPY main.people TO '/tmp/x.csv'"} {
			if r, err := tx.Query(ctx, q, nil, []sqltype.Type{sqltype.Text}); err == nil && r.Next() {
				t.Errorf("%s was run", q)
			}
		}
		tx.Close()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFilesBOM: a byte-order mark and CRLF are no part of the data.
func TestFilesBOM(t *testing.T) {
	dir := folderOf(t, map[string]string{"t.csv": "\ufeffid,name\r\n1,a\r\n2,b\r\n"})
	d, err := OpenFiles(context.Background(), dir, []FileTable{{Name: "t"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if got := texts(t, d, "SELECT id, name FROM main.t ORDER BY id", sqltype.Text, sqltype.Text); got != "1|a\n2|b" {
		t.Errorf("%q", got)
	}
}

// TestParquet: types are the file's own; declared ones are checked.
func TestParquet(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	writeParquet(t, filepath.Join(dir, "t.parquet"), "SELECT i::INTEGER AS id, i * 1.25::DECIMAL(6,2) AS pay, 'x' || i AS name, [i] AS list FROM range(3) r(i)")
	d, err := OpenFiles(ctx, dir, []FileTable{{Name: "t", Keys: [][]string{{"id"}}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if got := texts(t, d, "SELECT id, name FROM main.t ORDER BY id", sqltype.Int4, sqltype.Text); got != "0|x0\n1|x1\n2|x2" {
		t.Errorf("%q", got)
	}
	rels, err := d.Describe(ctx, []backend.RelationName{{Name: "t"}})
	if err != nil || rels[0].Columns[0].Type != sqltype.Int4 || rels[0].Columns[3].Type.OID != 0 || len(rels[0].Keys) != 1 {
		t.Errorf("%+v, %v", rels, err)
	}
	survey, err := SurveyFiles(ctx, dir)
	if err != nil || len(survey) != 1 || survey[0].Name != "t" || len(survey[0].Columns) != 4 || survey[0].Columns[2].Type != sqltype.Text {
		t.Errorf("%+v, %v", survey, err)
	}
}

func writeParquet(t *testing.T, path, query string) {
	t.Helper()
	load := func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "COPY ("+query+") TO "+quote(path)+" (FORMAT parquet)")
		return err
	}
	d, err := OpenMemory(context.Background(), load, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = d.Close()
}

// TestFilesRefused: each mistake by file, column and line, all files' at once, and never with a value.
func TestFilesRefused(t *testing.T) {
	const secretValue = "hunter2"
	for _, c := range []struct {
		name  string
		files map[string]string
		table FileTable
		want  string
	}{
		{"no file", nil, FileTable{Name: "t"}, "has no file t.csv"},
		{"two files", map[string]string{"t.csv": "a\n", "t.csv.gz": "a\n"}, FileTable{Name: "t"}, "several files"},
		{"empty", map[string]string{"t.csv": ""}, FileTable{Name: "t"}, "no header"},
		{"missing column", map[string]string{"t.csv": "a,b\n1,2\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "c"}}}, `no column "c" (it has a, b)`},
		{"column twice", map[string]string{"t.csv": "a,A\n1,2\n"}, FileTable{Name: "t"}, "is there twice"},
		{"not a number", map[string]string{"t.csv": "a\n1\n" + secretValue + "\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: sqltype.Int4}}}, `column "a": the value in row 2`},
		{"a fraction", map[string]string{"t.csv": "a\n1.5\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: sqltype.Int4}}}, `row 1`},
		{"too large", map[string]string{"t.csv": "a\n3000000000\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: sqltype.Int4}}}, `is no INTEGER`},
		{"a missing value", map[string]string{"t.csv": "a,b\n1,2\n,2\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: sqltype.Int4, NotNull: true}}}, `row 2 (without the header) has no value`},
		{"key", map[string]string{"t.csv": "a\n1\n01\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: sqltype.Int4}}, Keys: [][]string{{"a"}}}, "key [a] is not unique"},
		{"ragged", map[string]string{"t.csv": "a,b\n1,2\n3\n"}, FileTable{Name: "t"}, "at line 3"},
		{"open quote", map[string]string{"t.csv": "a,b\n1,\"" + secretValue + "\n"}, FileTable{Name: "t"}, "t.csv"},
		{"latin-1", map[string]string{"t.csv": "a\n" + secretValue + "\xe9\n"}, FileTable{Name: "t"}, "not UTF-8"},
		{"latin-1 header", map[string]string{"t.csv": "\xe9\n1\n"}, FileTable{Name: "t"}, "not UTF-8"},
		{"gzip", map[string]string{"t.csv.gz": "broken"}, FileTable{Name: "t"}, "not gzip"},
		{"parquet", map[string]string{"t.parquet": "broken"}, FileTable{Name: "t"}, "not Parquet"},
		{"a path", map[string]string{"t.csv": "a\n"}, FileTable{Name: "t", File: "../t.csv"}, "without a path"},
		{"a glob", map[string]string{"t[1].csv": "a\n"}, FileTable{Name: "t", File: "t[1].csv"}, "rename it"},
		{"another kind", map[string]string{"t.json": "{}"}, FileTable{Name: "t", File: "t.json"}, "by its ending"},
		{"a URL", nil, FileTable{Name: "t", File: "https://x/t.csv"}, "without a path"},
	} {
		dir := folderOf(t, c.files)
		d, err := OpenFiles(context.Background(), dir, []FileTable{c.table}, Options{})
		if err == nil {
			t.Errorf("%s: opened", c.name)
			_ = d.Close()
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secretValue) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	dir := folderOf(t, map[string]string{"a.csv": "x\n1\n", "b.csv": ""})
	_, err := OpenFiles(context.Background(), dir, []FileTable{{Name: "a", Columns: []FileColumn{{Name: "y"}}}, {Name: "b"}}, Options{})
	if err == nil || !strings.Contains(err.Error(), "a.csv") || !strings.Contains(err.Error(), "b.csv") {
		t.Errorf("not all mistakes: %v", err)
	}
	outside := folderOf(t, map[string]string{"t.csv": "a\n1\n"})
	if err := os.Symlink(filepath.Join(outside, "t.csv"), filepath.Join(dir, "l.csv")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFiles(context.Background(), dir, []FileTable{{Name: "l"}}, Options{}); err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Errorf("a link out of the folder: %v", err)
	}
	for _, f := range []string{filepath.Join(dir, "nothing"), filepath.Join(dir, "a.csv")} {
		if _, err := OpenFiles(context.Background(), f, nil, Options{}); err == nil {
			t.Errorf("%s is no folder", f)
		}
	}
}

// TestManyRows: many rows of a compressed file, with a key.
func TestManyRows(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,who,pay\n")
	for i := range 300_000 {
		fmt.Fprintf(&b, "%d,%d,%d.25\n", i, i%1000, i%100)
	}
	dir := folderOf(t, map[string]string{"t.csv.gz": b.String()})
	d, err := OpenFiles(context.Background(), dir, []FileTable{{Name: "t", Keys: [][]string{{"id"}}, Columns: []FileColumn{{Name: "id", Type: sqltype.Int4, NotNull: true}, {Name: "who", Type: sqltype.Int4}, {Name: "pay", Type: sqltype.NumericOf(6, 2)}}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if got := texts(t, d, "SELECT count(*), count(DISTINCT who) FROM main.t", sqltype.Int8, sqltype.Int8); got != "300000|1000" {
		t.Error(got)
	}
}
