package duckdb

import (
	"bufio"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/sqltype"
)

// FileTable is one table of a folder of files.
type FileTable struct {
	Name    string
	File    string       // in the folder; "": Name with an ending of fileEndings, of which just one may be there
	Columns []FileColumn // nil: all columns
	Keys    [][]string   // sets of columns that must be unique
}

// FileColumn is one column of a file.
type FileColumn struct {
	Name    string
	Type    sqltype.Type // zero: the file's own (Parquet), or text (CSV)
	NotNull bool
}

// FilesError is all that is wrong with the files of a folder, by file, column and line.
type FilesError struct{ Mistakes []error }

// Error is one line a mistake.
func (e *FilesError) Error() string { return errors.Join(e.Mistakes...).Error() }

// fileEndings are the kinds of files, with the separator of those that are text.
var fileEndings = []struct{ ending, separator string }{
	{".csv", ","}, {".csv.gz", ","}, {".tsv", "\t"}, {".tsv.gz", "\t"}, {".parquet", ""},
}

// OpenFiles reads the tables' files from a folder into memory, once, and serves that copy: what was checked is what is asked.
// Files may change or go afterwards.
//
// CSV has a header line, commas (tabs in .tsv), double quotes (RFC 4180) and UTF-8; an empty field without quotes is NULL, also
// for text. Its values are read as the declared types; no type follows from values, because what analysts see of the schema must
// not. Keys and NOT NULL are checked. An error names file, column and line, never a value.
func OpenFiles(ctx context.Context, folder string, tables []FileTable, o Options) (*DB, error) {
	f, err := openFolder(folder)
	if err != nil {
		return nil, err
	}
	keys := map[string][][]string{}
	load := func(ctx context.Context, conn *sql.Conn) error {
		var errs []error
		for _, t := range tables {
			if err := f.load(ctx, conn, t); err != nil {
				errs = append(errs, err) // all files' mistakes at once
			}
			keys[t.Name] = t.Keys
		}
		if len(errs) > 0 {
			return &FilesError{errs}
		}
		return nil
	}
	d, err := OpenMemory(ctx, load, o)
	if err != nil {
		return nil, err
	}
	d.checkedKeys = keys
	return d, nil
}

// SurveyFiles tells the tables that a folder's files make: names and columns from the files' heads, never values.
func SurveyFiles(ctx context.Context, folder string) (out []sqltype.Relation, err error) {
	f, err := openFolder(folder)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	d, err := OpenMemory(ctx, func(ctx context.Context, conn *sql.Conn) error {
		for _, e := range entries {
			kind, name := fileKind(e.Name())
			if kind < 0 {
				continue
			}
			src, err := f.source(FileTable{Name: name, File: e.Name()})
			if err != nil {
				return err
			}
			columns, err := src.columns(ctx, conn)
			if err != nil {
				return err
			}
			r := sqltype.Relation{Schema: defaultSchema, Name: name, Kind: sqltype.KindTable}
			for _, c := range columns {
				r.Columns = append(r.Columns, sqltype.RelationColumn{Name: c.name, Type: typeOf(c.duck)})
			}
			out = append(out, r)
		}
		return nil
	}, Options{})
	if err != nil {
		return nil, err
	}
	return out, d.Close()
}

// fileKind finds a file's kind and the table's name by its ending; -1 for none.
func fileKind(file string) (kind int, name string) {
	kind = -1
	for i, e := range fileEndings {
		if base, ok := strings.CutSuffix(file, e.ending); ok && base != "" {
			kind, name = i, base
		}
	}
	return kind, name
}

// folder is a folder with its links resolved.
type folder struct{ path string }

// globs are signs that DuckDB's file names give a meaning.
const globs = "*?[]{}"

func openFolder(path string) (*folder, error) {
	full, err := filepath.Abs(path)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	info, err := os.Stat(full)
	switch {
	case err != nil:
		return nil, fmt.Errorf("files: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("files: %s is not a folder", path)
	case strings.ContainsAny(full, globs):
		return nil, fmt.Errorf("files: a folder with one of %s in its name cannot be read: rename it", globs)
	}
	return &folder{full}, nil
}

// source is one table's file.
type source struct {
	table     string
	file      string // for messages
	path      string
	separator string // "" for Parquet
}

// source finds a table's file.
func (f *folder) source(t FileTable) (*source, error) {
	file := t.File
	if file == "" {
		var found []string
		for _, e := range fileEndings {
			if _, err := os.Lstat(filepath.Join(f.path, t.Name+e.ending)); err == nil {
				found = append(found, t.Name+e.ending)
			}
		}
		switch len(found) {
		case 0:
			return nil, fmt.Errorf("table %s: the folder has no file %s.csv, .csv.gz, .tsv, .tsv.gz or .parquet", t.Name, t.Name)
		case 1:
			file = found[0]
		default:
			return nil, fmt.Errorf("table %s: several files could be it: %s (say which with file:)", t.Name, strings.Join(found, ", "))
		}
	}
	kind, _ := fileKind(file)
	switch {
	case kind < 0:
		return nil, fmt.Errorf("table %s: file %s is neither CSV, TSV nor Parquet by its ending", t.Name, file)
	case filepath.Base(file) != file:
		return nil, fmt.Errorf("table %s: file %s must be a name in the folder, without a path", t.Name, file)
	case strings.ContainsAny(file, globs):
		return nil, fmt.Errorf("table %s: a file with one of %s in its name cannot be read: rename it", t.Name, globs)
	}
	path, err := filepath.EvalSymlinks(filepath.Join(f.path, file))
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	if filepath.Dir(path) != f.path {
		return nil, fmt.Errorf("table %s: file %s leads out of the folder", t.Name, file)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("table %s: %s is not a plain file", t.Name, file)
	}
	return &source{table: t.Name, file: file, path: path, separator: fileEndings[kind].separator}, nil
}

// fileColumn is a column as the file has it.
type fileColumn struct{ name, duck string }

// columns reads the head of a file.
func (s *source) columns(ctx context.Context, conn *sql.Conn) ([]fileColumn, error) {
	var out []fileColumn
	var err error
	if s.separator != "" {
		out, err = s.header()
	} else {
		out, err = s.parquetSchema(ctx, conn)
	}
	if err != nil {
		return nil, err
	}
	for i, c := range out {
		if slices.ContainsFunc(out[:i], func(o fileColumn) bool { return strings.EqualFold(o.name, c.name) }) { // DuckDB folds case
			return nil, s.errorf("column %q is there twice", c.name)
		}
		if c.name == "" {
			return nil, s.errorf("column %d has no name", i+1)
		}
	}
	return out, nil
}

func (s *source) errorf(format string, args ...any) error {
	return fmt.Errorf("file %s: %s", s.file, fmt.Sprintf(format, args...))
}

// maxHeader limits the first line of a CSV file.
const maxHeader = 1 << 20

// header reads the first line of a CSV file; all its columns are text.
func (s *source) header() (out []fileColumn, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var in io.Reader = f
	if strings.HasSuffix(s.file, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, s.errorf("it is not gzip")
		}
		in = z
	}
	b := bufio.NewReader(io.LimitReader(in, maxHeader))
	if bom, err := b.Peek(3); err == nil && string(bom) == "\ufeff" {
		_, _ = b.Discard(3)
	}
	r := csv.NewReader(b)
	r.Comma = rune(s.separator[0])
	names, err := r.Read()
	if err != nil {
		return nil, s.errorf("it has no header line")
	}
	for _, n := range names {
		if !utf8.ValidString(n) || strings.ContainsRune(n, 0) {
			return nil, s.errorf("its header is not UTF-8")
		}
		out = append(out, fileColumn{n, "VARCHAR"})
	}
	return out, nil
}

func (s *source) parquetSchema(ctx context.Context, conn *sql.Conn) (out []fileColumn, err error) {
	rows, err := conn.QueryContext(ctx, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet("+quote(s.path)+"))") //nolint:gosec // quoted
	if err != nil {
		return nil, s.errorf("it is not Parquet")
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c fileColumn
		if err := rows.Scan(&c.name, &c.duck); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

// scan is the file as a relation with all its columns.
func (s *source) scan(columns []fileColumn) string {
	if s.separator == "" {
		return "read_parquet(" + quote(s.path) + ")"
	}
	var list []string
	for _, c := range columns {
		list = append(list, quote(c.name)+": 'VARCHAR'")
	}
	return fmt.Sprintf("read_csv(%s, auto_detect = false, header = true, delim = %s, quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, strict_mode = true, "+
		"null_padding = false, ignore_errors = false, max_line_size = 67108864, buffer_size = 268435456, columns = {%s})", quote(s.path), quote(s.separator), strings.Join(list, ", "))
}

// wanted is a column to load: as the file has it, and as it is to be.
type wanted struct {
	FileColumn
	from fileColumn
	duck string // type to be
}

// load reads one table.
func (f *folder) load(ctx context.Context, conn *sql.Conn, t FileTable) error {
	s, err := f.source(t)
	if err != nil {
		return err
	}
	have, err := s.columns(ctx, conn)
	if err != nil {
		return err
	}
	cols, err := s.choose(have, t)
	if err != nil {
		return err
	}
	// First as it is, with the rows numbered, then as declared: so that the first wrong row can be named.
	const raw = "dpsql_raw"
	if err := s.exec(ctx, conn, "CREATE TEMP TABLE "+raw+" AS SELECT * FROM "+s.scan(have)); err != nil {
		return err
	}
	err = s.check(ctx, conn, raw, cols, t.Keys)
	if err == nil {
		err = s.fill(ctx, conn, raw, cols)
	}
	_, dropErr := conn.ExecContext(ctx, "DROP TABLE "+raw)
	return errors.Join(err, dropErr)
}

// choose pairs the declared columns with the file's.
func (s *source) choose(have []fileColumn, t FileTable) (out []wanted, err error) {
	list := t.Columns
	if list == nil {
		for _, c := range have {
			list = append(list, FileColumn{Name: c.name})
		}
	}
	var errs []error
	for _, c := range list {
		i := slices.IndexFunc(have, func(h fileColumn) bool { return h.name == c.Name })
		if i < 0 {
			var names []string
			for _, h := range have {
				names = append(names, h.name)
			}
			errs = append(errs, s.errorf("it has no column %q (it has %s)", c.Name, strings.Join(names, ", ")))
			continue
		}
		w := wanted{FileColumn: c, from: have[i], duck: have[i].duck}
		if c.Type.OID != 0 {
			if w.duck, err = duckType(c.Type); err != nil {
				errs = append(errs, s.errorf("column %q: %v", c.Name, err))
			}
		}
		out = append(out, w)
	}
	for _, key := range t.Keys {
		for _, k := range key {
			if !slices.ContainsFunc(out, func(w wanted) bool { return w.Name == k }) && len(errs) == 0 {
				errs = append(errs, s.errorf("the key's column %q is not loaded", k))
			}
		}
	}
	return out, errors.Join(errs...)
}

// duckType spells a type.
func duckType(t sqltype.Type) (string, error) {
	for name, known := range types {
		if known.OID == t.OID && name != "TIMESTAMP WITH TIME ZONE" {
			return name, nil
		}
	}
	if precision, scale, ok := t.NumericMod(); ok && precision <= 38 && scale >= 0 {
		return fmt.Sprintf("DECIMAL(%d,%d)", precision, scale), nil
	}
	return "", fmt.Errorf("files cannot be read as %s", t)
}

func ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// value is a column's value as the declared type; NULL where it is none. A fraction is no integer.
func (w wanted) value() string {
	c := ident(w.from.name)
	switch {
	case w.duck == w.from.duck:
		return c
	case w.from.duck == "VARCHAR" && w.Type.IsInteger():
		return fmt.Sprintf(`CASE WHEN regexp_full_match(trim(%s), '[+-]?[0-9]+') THEN TRY_CAST(trim(%s) AS %s) END`, c, c, w.duck)
	case w.from.duck == "VARCHAR":
		return fmt.Sprintf("TRY_CAST(trim(%s) AS %s)", c, w.duck)
	}
	return fmt.Sprintf("TRY_CAST(%s AS %s)", c, w.duck)
}

// check finds what is not as declared.
func (s *source) check(ctx context.Context, conn *sql.Conn, raw string, cols []wanted, keys [][]string) error {
	var errs []error
	first := func(condition string) (row int64, found bool) {
		var n sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT min(rowid) FROM "+raw+" WHERE "+condition).Scan(&n); err != nil {
			errs = append(errs, s.errorf("it could not be checked"))
			return 0, false
		}
		return n.Int64 + 1, n.Valid
	}
	for _, w := range cols {
		c := ident(w.from.name)
		if w.duck != w.from.duck {
			if row, bad := first(fmt.Sprintf("%s IS NOT NULL AND (%s) IS NULL", c, w.value())); bad {
				errs = append(errs, s.errorf("column %q: the value in row %d (without the header) is no %s", w.Name, row, w.duck))
			}
		}
		if w.NotNull {
			if row, bad := first(c + " IS NULL"); bad {
				errs = append(errs, s.errorf("column %q: row %d (without the header) has no value, but the column is declared not_null", w.Name, row))
			}
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, key := range keys {
		var list, present []string
		for _, k := range key {
			w := cols[slices.IndexFunc(cols, func(w wanted) bool { return w.Name == k })]
			list, present = append(list, "("+w.value()+")"), append(present, ident(w.from.name)+" IS NOT NULL")
		}
		var twice bool
		q := fmt.Sprintf("SELECT count(*) > 0 FROM (SELECT 1 FROM %s WHERE %s GROUP BY %s HAVING count(*) > 1 LIMIT 1)", raw, strings.Join(present, " AND "), strings.Join(list, ", ")) //nolint:gosec // quoted
		if err := conn.QueryRowContext(ctx, q).Scan(&twice); err != nil {
			errs = append(errs, s.errorf("the key %v could not be checked", key))
		} else if twice {
			errs = append(errs, s.errorf("the key %v is not unique: some rows have the same", key))
		}
	}
	return errors.Join(errs...)
}

// fill makes the table from the checked rows.
func (s *source) fill(ctx context.Context, conn *sql.Conn, raw string, cols []wanted) error {
	var defs, values []string
	for _, w := range cols {
		def := ident(w.Name) + " " + w.duck
		if w.NotNull {
			def += " NOT NULL"
		}
		defs, values = append(defs, def), append(values, w.value())
	}
	if err := s.exec(ctx, conn, fmt.Sprintf("CREATE TABLE main.%s (%s)", ident(s.table), strings.Join(defs, ", "))); err != nil {
		return err
	}
	return s.exec(ctx, conn, fmt.Sprintf("INSERT INTO main.%s SELECT %s FROM %s", ident(s.table), strings.Join(values, ", "), raw))
}

var errorLine = regexp.MustCompile(`(?i)\bline:? ?([0-9]+)`)

// exec runs a statement over the file. What DuckDB says of a failure quotes values: only the line and a few words of it are kept.
func (s *source) exec(ctx context.Context, conn *sql.Conn, statement string) error {
	_, err := conn.ExecContext(ctx, statement)
	if err == nil {
		return nil
	}
	text := err.Error()
	what := "it cannot be read"
	for _, k := range []struct{ sign, say string }{
		{"unicode", "it is not UTF-8"}, {"utf-8", "it is not UTF-8"}, {"gzip", "it is not gzip, or cut"}, {"Maximum line size", "a line is longer than 64 MiB"},
		{"Expected Number of Columns", "a row has another number of fields than the header"}, {"unterminated quote", "a quote is not closed"}, {"quote should be followed", "a quote is not closed"},
		{"Out of Memory", "the memory does not hold it"}, {"Parquet", "it is not Parquet, or cut"},
	} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(k.sign)) {
			what = k.say
			break
		}
	}
	if m := errorLine.FindStringSubmatch(text); m != nil {
		return s.errorf("%s, at line %s", what, m[1])
	}
	return s.errorf("%s", what)
}
