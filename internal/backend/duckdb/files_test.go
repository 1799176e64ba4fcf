package duckdb

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
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

// TestFilesThatChange: a file that grows, is cut or is replaced while it is read is refused, since the end of what was read may be half of a record. Once it was read it may do so: what is served stays.
func TestFilesThatChange(t *testing.T) {
	text := "id,name\n" + strings.Repeat("1,a\n", 20_000)
	for how, change := range map[string]func(path string) error{
		"grows": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("2,b\n")
				err = errors.Join(err, f.Close())
			}
			return err
		},
		"is cut": func(path string) error {
			info, err := os.Stat(path)
			if err == nil && info.Size() > 4 {
				err = os.Truncate(path, info.Size()-4)
			}
			return err
		},
		"is replaced": func(path string) error {
			if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		dir := folderOf(t, map[string]string{"t.csv": text})
		path := filepath.Join(dir, "t.csv")
		d, err := OpenFiles(t.Context(), dir, []FileTable{{Name: "t"}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		began, read, ended := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			err := change(path)
			close(began)
			for err == nil {
				select {
				case <-read:
					ended <- nil
					return
				default:
					err = change(path)
				}
			}
			<-read
			ended <- err
		}()
		<-began
		_, err = OpenFiles(t.Context(), dir, []FileTable{{Name: "t"}}, Options{})
		close(read)
		if err == nil || !strings.Contains(err.Error(), "file t.csv: it changed while it was read") {
			t.Errorf("a file that %s: %v", how, err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if got := texts(t, d, "SELECT count(*) FROM main.t", sqltype.Int8); got != "20000" {
			t.Errorf("a file that %s changes what is served: %s", how, got)
		}
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
		{"empty", map[string]string{"t.csv": ""}, FileTable{Name: "t"}, "no header line"},
		{"missing column", map[string]string{"t.csv": "a,b\n1,2\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "c"}}}, `no column "c" (it has a, b)`},
		{"column twice", map[string]string{"t.csv": "a,A\n1,2\n"}, FileTable{Name: "t"}, "is there twice"},
		{"not a number", map[string]string{"t.csv": "a\n1\n" + secretValue + "\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: sqltype.Int4}}}, `column "a", line 3: the value cannot be kept as integer. Mend the file, or declare another type of the column in the policy: type: numeric(12,2) or text`},
		{"a fraction", map[string]string{"t.csv": "a\n1.5\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: sqltype.Int4}}}, `line 2`},
		{"day first", map[string]string{"t.csv": "a\n13.05.2024\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: sqltype.Type{OID: sqltype.OIDDate}}}}, `cannot be kept as date: it is written year-month-day, as 2024-05-13`},
		{"too large", map[string]string{"t.csv": "a\n3000000000\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: sqltype.Int4}}}, `cannot be kept as integer`},
		{"a missing value", map[string]string{"t.csv": "a,b\n1,2\n,2\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: sqltype.Int4, NotNull: true}}}, `line 3: there is no value`},
		{"key", map[string]string{"t.csv": "a\n1\n01\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: sqltype.Int4}}, Keys: [][]string{{"a"}}}, "key [a] is not unique"},
		{"ragged", map[string]string{"t.csv": "a,b\n1,2\n3\n"}, FileTable{Name: "t"}, "line 3: it has 1 fields, the header has 2"},
		{"semicolons", map[string]string{"t.csv": "a;b\n1;2\n"}, FileTable{Name: "t", Columns: []FileColumn{{Name: "a"}}}, "its header is one column with ';' in it: write the file with commas"},
		{"quoted semicolons", map[string]string{"t.csv": "\"a\";\"b\"\n1;2\n"}, FileTable{Name: "t"}, "columns are separated by commas"},
		{"tabs", map[string]string{"t.csv": "a\tb\n1\t2\n"}, FileTable{Name: "t"}, `or with tabs as .tsv`},
		{"open quote", map[string]string{"t.csv": "a,b\n1,\"" + secretValue + "\n"}, FileTable{Name: "t"}, "line 2: a quote is not closed"},
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
	if _, err := SurveyFiles(t.Context(), folderOf(t, map[string]string{"t.csv": "a;b\n1;2\n"})); err == nil || !strings.Contains(err.Error(), "one column with ';' in it") {
		t.Errorf("a survey of semicolons: %v", err)
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

// TestFilesManyRows: many rows of a compressed file, with a key; and nothing is left of what did not fit into memory.
func TestFilesManyRows(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,who,pay\n")
	for i := range 300_000 {
		fmt.Fprintf(&b, "%d,%d,%d.25\n", i, i%1000, i%100)
	}
	dir, spill := folderOf(t, map[string]string{"t.csv.gz": b.String()}), t.TempDir()
	table := FileTable{Name: "t", Keys: [][]string{{"id"}}, Columns: []FileColumn{
		{Name: "id", Type: sqltype.Int4, NotNull: true}, {Name: "who", Type: sqltype.Int4}, {Name: "pay", Type: sqltype.NumericOf(6, 2)}}}
	for _, o := range []Options{{}, {Threads: 1, MemoryLimit: "24MB", TempDir: spill}} {
		start := time.Now()
		d, err := OpenFiles(t.Context(), dir, []FileTable{table}, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v: loaded in %v", o, time.Since(start))
		if got := texts(t, d, "SELECT count(*), count(DISTINCT who) FROM main.t", sqltype.Int8, sqltype.Int8); got != "300000|1000" {
			t.Error(got)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(spill); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := OpenFiles(t.Context(), dir, []FileTable{table}, Options{Threads: 1, MemoryLimit: "8MB"}); err == nil || !strings.Contains(err.Error(), "does not fit into the memory") {
		t.Errorf("without room: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	var mistakes *FilesError
	if _, err := OpenFiles(canceled, dir, []FileTable{table}, Options{}); !errors.Is(err, context.Canceled) || errors.As(err, &mistakes) {
		t.Errorf("canceled: %v", err)
	}
}

// TestBrokenGzip: no row is lost without a word, wherever the file was cut; DuckDB's own reader says nothing of some of these.
func TestBrokenGzip(t *testing.T) {
	dir := folderOf(t, map[string]string{"t.csv.gz": "a\n" + strings.Repeat("1234\n5678\n", 50_000)})
	path := filepath.Join(dir, "t.csv.gz")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-5] ^= 1
	for name, body := range map[string][]byte{"a half": whole[:len(whole)/2], "without its checksum": whole[:len(whole)-8], "a wrong checksum": damaged,
		"more behind it": append(bytes.Clone(whole), "garbage and more of it"...)} {
		if err := os.WriteFile(path, body, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenFiles(t.Context(), dir, []FileTable{{Name: "t"}}, Options{}); err == nil || !strings.Contains(err.Error(), "the gzip is cut or damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFileNumbers: what is a value of a declared type and what is not.
func TestFileNumbers(t *testing.T) {
	for _, c := range []struct {
		typ     sqltype.Type
		yes, no string // lines
	}{
		{sqltype.Int2, "1 -32768 +5 007", "32768 1e3 1.0 1_0 0x1 x"},
		{sqltype.Int8, "9223372036854775807 -9223372036854775808", "9223372036854775808 nan"},
		{sqltype.Float8, "1 1.5 .5 5. 1e308 -1E-3 NaN Infinity -inf", "1e309 -1e400 1_000 0x10 1d infinit nanx"},
		{sqltype.Float4, "1e38 nan", "1e39"},
		{sqltype.NumericOf(6, 2), "1 1.5 9999.99 1e2 -0.01", "10000 nan Infinity 1_0 1.2.3 1e5"},
		{sqltype.Bool, "true false t f 1 0", "2 maybe"},
		{sqltype.Date, "2020-02-29 1999-12-31 infinity", "2021-02-29 01/02/2020 20200102"},
		{sqltype.Timestamp, "2020-02-29T23:59:59.999999 2020-01-01", "2020-02-29T25:00:00 noon"},
	} {
		table := FileTable{Name: "t", Columns: []FileColumn{{Name: "a", Type: c.typ}}}
		dir := folderOf(t, map[string]string{"t.csv": "a\n" + strings.ReplaceAll(c.yes, " ", "\n") + "\n"})
		if d, err := OpenFiles(t.Context(), dir, []FileTable{table}, Options{}); err != nil {
			t.Errorf("%v: %v", c.typ, err)
		} else {
			_ = d.Close()
		}
		for _, no := range strings.Fields(c.no) {
			dir := folderOf(t, map[string]string{"t.csv": "a\n" + no + "\n"})
			if d, err := OpenFiles(t.Context(), dir, []FileTable{table}, Options{}); err == nil {
				t.Errorf("%v: %s was taken", c.typ, no)
				_ = d.Close()
			}
		}
	}
}

// TestParquetTypes: a declared type keeps each value as it was, or the file is refused; a folder's name adds no column; texts are
// UTF-8 without the byte zero.
func TestParquetTypes(t *testing.T) {
	for _, c := range []struct {
		column string
		typ    sqltype.Type
		want   string // "": refused
	}{
		{"1.0::DOUBLE", sqltype.Int4, "1"}, {"1.5::DOUBLE", sqltype.Int4, ""}, {"'nan'::DOUBLE", sqltype.Int4, ""}, {"7::UTINYINT", sqltype.Int2, "7"},
		{"70000::INTEGER", sqltype.Int2, ""}, {"1.25::DECIMAL(4,2)", sqltype.NumericOf(4, 1), ""}, {"'12'", sqltype.Int4, "12"}, {"'1.5'", sqltype.Int4, ""},
		{"0.1::DOUBLE", sqltype.NumericOf(4, 2), "0.10"}, {"0.1::DOUBLE", sqltype.Float4, ""}, {"TIMESTAMP_NS '2020-01-01 00:00:00'", sqltype.Timestamp, "2020-01-01 00:00:00"},
		{"TIMESTAMP '2020-01-01 10:00:00'", sqltype.Date, ""}, {"TIMESTAMPTZ '2020-01-01 10:00:00+00'", sqltype.Timestamp, "2020-01-01 10:00:00"},
		{"'a' || chr(0)", sqltype.Type{}, ""},
	} {
		dir := filepath.Join(t.TempDir(), "year=2020")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		writeParquet(t, filepath.Join(dir, "t.parquet"), "SELECT "+c.column+" AS a")
		d, err := OpenFiles(t.Context(), dir, []FileTable{{Name: "t", Columns: []FileColumn{{Name: "a", Type: c.typ}}}}, Options{})
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), `column "a", row 1: `) {
				t.Errorf("%s as %v: %v", c.column, c.typ, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s as %v: %v", c.column, c.typ, err)
			continue
		}
		if got := texts(t, d, "SELECT a FROM main.t", c.typ); got != c.want {
			t.Errorf("%s as %v: %s", c.column, c.typ, got)
		}
		_ = d.Close()
		if survey, err := SurveyFiles(t.Context(), dir); err != nil || len(survey[0].Columns) != 1 {
			t.Errorf("%+v, %v", survey, err)
		}
	}
	dir := t.TempDir()
	writeParquet(t, filepath.Join(dir, "t.parquet"), "SELECT 'Mueller' AS a")
	body, err := os.ReadFile(filepath.Join(dir, "t.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "t.parquet"), bytes.ReplaceAll(body, []byte("Mueller"), []byte("M\xfc\xfcller")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFiles(t.Context(), dir, []FileTable{{Name: "t"}}, Options{}); err == nil || strings.Contains(err.Error(), "ller") {
		t.Errorf("Latin-1 in Parquet: %v", err)
	}
}

// TestFilesRoundTrip: the conformance suite's values, and texts of all that CSV gives a meaning, are the same from both kinds of file.
func TestFilesRoundTrip(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	var nasty [][]string
	for i := range 2000 {
		record := []string{fmt.Sprint(i)}
		for range 3 {
			var s strings.Builder
			for range r.IntN(6) {
				s.WriteString([]string{"\"", ",", "\n", "\r", "\r\n", "\t", " ", "'", "\\", "NULL", "é", "🙂", "x", "\ufeff", "#", ";"}[r.IntN(16)])
			}
			record = append(record, s.String())
			if r.IntN(5) == 0 {
				record[len(record)-1] = "\x00"
			}
		}
		nasty = append(nasty, record)
	}
	if err := os.WriteFile(filepath.Join(dir, "nasty.csv"), written(append([][]string{{"id", "a", "b \"c\"", "d,e"}}, nasty...)), 0o600); err != nil {
		t.Fatal(err)
	}
	original := memory(t, func(ctx context.Context, conn *sql.Conn) error {
		if err := setup(ctx, conn); err != nil {
			return err
		}
		for _, to := range []string{quote(filepath.Join(dir, "p.parquet")) + " (FORMAT parquet)", quote(filepath.Join(dir, "c.csv")) + " (HEADER, FORCE_QUOTE (t))"} {
			if _, err := conn.ExecContext(ctx, "COPY torture TO "+to); err != nil {
				return err
			}
		}
		return nil
	}, Options{})
	rels, err := original.Describe(t.Context(), []backend.RelationName{{Name: "torture"}})
	if err != nil {
		t.Fatal(err)
	}
	var columns []FileColumn
	var want []sqltype.Type
	for _, c := range rels[0].Columns {
		columns, want = append(columns, FileColumn{Name: c.Name, Type: c.Type, NotNull: c.NotNull}), append(want, c.Type)
	}
	d, err := OpenFiles(t.Context(), dir, []FileTable{{Name: "nasty"}, {Name: "c", Columns: columns, Keys: rels[0].Keys}, {Name: "p", Keys: rels[0].Keys}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	expected := texts(t, original, "SELECT * FROM main.torture ORDER BY id", want...)
	for _, name := range []string{"c", "p"} {
		if got := texts(t, d, "SELECT * FROM main."+name+" ORDER BY id", want...); got != expected {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, expected)
		}
		got, err := d.Describe(t.Context(), []backend.RelationName{{Name: name}})
		if err != nil || !reflect.DeepEqual(got[0].Keys, rels[0].Keys) || name == "c" && !reflect.DeepEqual(got[0].Columns, rels[0].Columns) {
			t.Errorf("%s is %+v, not %+v; %v", name, got, rels[0], err)
		}
	}
	rows, err := backendtest.Ask(t.Context(), d, `SELECT id, a, "b ""c""", "d,e" FROM main.nasty ORDER BY CAST(id AS integer)`, nil, sqltype.Text, sqltype.Text, sqltype.Text, sqltype.Text)
	if err != nil || len(rows) != len(nasty) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, row := range rows {
		for j, v := range row {
			if s, ok := v.(string); ok != (nasty[i][j] != "\x00") || ok && s != nasty[i][j] {
				t.Fatalf("row %d: got %q, want %q", i, row, nasty[i])
			}
		}
	}
}

// TestSurveyFiles: heads only, hidden and other files passed over, all mistakes at once.
func TestSurveyFiles(t *testing.T) {
	dir := folderOf(t, map[string]string{"b.CSV": "\ufeff,x,\"y z\"\n0,1,2\n", "a.tsv.gz": "p\tq\n", "._b.csv": "\x00\x05", "notes.txt": "x"})
	rels, err := SurveyFiles(t.Context(), dir)
	if err != nil || len(rels) != 2 || rels[0].Name != "a" || rels[1].Name != "b" || len(rels[0].Columns) != 2 || len(rels[1].Columns) != 2 || rels[1].Columns[1].Name != "y z" {
		t.Errorf("%+v, %v", rels, err)
	}
	d, err := OpenFiles(t.Context(), dir, []FileTable{{Name: "b", File: "b.CSV", Columns: []FileColumn{{Name: "x"}}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = d.Close()
	dir = folderOf(t, map[string]string{"a.csv": "x\n", "A.tsv": "x\n", "c.csv": "", "d.parquet": ""})
	_, err = SurveyFiles(t.Context(), dir)
	var mistakes *FilesError
	if !errors.As(err, &mistakes) || len(mistakes.Mistakes) != 3 {
		t.Errorf("%v", err)
	}
}

// TestFileMistakesAtOnce: a missing column, a bad value, a key that is not unique and a second file's mistake are told and counted together.
func TestFileMistakesAtOnce(t *testing.T) {
	dir := folderOf(t, map[string]string{"t.csv": "id,age\n1,x\n01,2\n,3\nz,4\n", "u.csv": "a\n\n"})
	integers := func(names ...string) (out []FileColumn) {
		for _, n := range names {
			out = append(out, FileColumn{Name: n, Type: sqltype.Int4})
		}
		return out
	}
	_, err := OpenFiles(t.Context(), dir, []FileTable{{Name: "t", Columns: integers("id", "age", "gone"), Keys: [][]string{{"id"}, {"gone"}}}, {Name: "u", Columns: []FileColumn{{Name: "a", NotNull: true}}}}, Options{})
	var mistakes *FilesError
	if !errors.As(err, &mistakes) {
		t.Fatal(err)
	}
	want := []string{`no column "gone"`, `column "id", line 5: the value`, `column "age", line 2: the value`, "the key [id] is not unique", `column "a", line 2: there is no value`}
	if len(mistakes.Mistakes) != len(want) {
		t.Errorf("%d mistakes, want %d: %v", len(mistakes.Mistakes), len(want), err)
	}
	for i, m := range mistakes.Mistakes {
		if i < len(want) && !strings.Contains(m.Error(), want[i]) {
			t.Errorf("%v, want %q", m, want[i])
		}
	}
}

// TestFileLinks: links within the folder are followed, by the name that they lead to where DuckDB would read it as a pattern.
func TestFileLinks(t *testing.T) {
	dir := folderOf(t, map[string]string{"x": "a\n1\n", "y?.parquet": "", "y1.parquet": ""})
	for name, to := range map[string]string{"l.csv": "x", "g.parquet": "y?.parquet", "gone.csv": "nothing"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "f.csv"), 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := OpenFiles(t.Context(), dir, []FileTable{{Name: "l"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = d.Close()
	for name, want := range map[string]string{"g": "rename it", "gone": "no such file", "f": "not a plain file", "../x": "has no file", "l'; DROP TABLE x": "has no file", "*": "has no file"} {
		if _, err := OpenFiles(t.Context(), dir, []FileTable{{Name: name}}, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
