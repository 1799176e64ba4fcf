package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
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

// each gives the errors that errors.Join put together.
func each(err error) (out []error) {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, e := range joined.Unwrap() {
		out = append(out, each(e)...)
	}
	return out
}

// fileEndings are the kinds of files, with the separator of those that are text.
var fileEndings = []struct {
	ending, separator string
	gzip              bool
}{
	{".csv", ",", false}, {".csv.gz", ",", true}, {".tsv", "\t", false}, {".tsv.gz", "\t", true}, {".parquet", "", false},
}

// OpenFiles reads the tables' files from a folder, once, and serves that copy: what was checked is what is asked, and files may
// change or go afterwards. The copy is in memory; what Options.MemoryLimit does not hold goes to Options.TempDir, if there is one.
//
// CSV has a header line, commas (tabs in .tsv), double quotes (RFC 4180, to the letter), LF or CRLF, and UTF-8; an empty field
// without quotes is NULL, also for text. Its values are read as the declared types; no type follows from values, because what
// analysts see of the schema must not. Parquet has its own types; where another is declared, each value must be the same in it.
// Only listed columns are kept. Keys (as UNIQUE: rows with a NULL in the key are not compared) and NOT NULL are checked.
//
// What is wrong with the files is a *FilesError, with everything that was found. It names file, column and line (of Parquet, the
// row), never a value and never how many.
func OpenFiles(ctx context.Context, folder string, tables []FileTable, o Options) (*DB, error) {
	f, err := openFolder(folder)
	if err != nil {
		return nil, err
	}
	keys := map[string][][]string{}
	load := func(ctx context.Context, conn *sql.Conn) error {
		var errs []error
		for _, t := range tables {
			s, err := f.source(t)
			if err == nil {
				err = s.load(ctx, conn, t)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			errs = append(errs, each(err)...)
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

// SurveyFiles tells the tables that a folder's files make, ordered by file: names and columns from the files' heads (CSV has texts
// only, Parquet its own types), never values. Files of other kinds and hidden ones are passed over, and so are columns without a
// name. What cannot be read is a *FilesError.
func SurveyFiles(ctx context.Context, folder string) (out []sqltype.Relation, err error) {
	f, err := openFolder(folder)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	d, err := OpenMemory(ctx, func(ctx context.Context, conn *sql.Conn) error {
		var errs []error
		from := map[string]string{} // a table's name without case: its file
		for _, e := range entries {
			kind, name := fileKind(e.Name())
			if kind < 0 || strings.HasPrefix(name, ".") {
				continue
			}
			if other, twice := from[strings.ToLower(name)]; twice {
				errs = append(errs, fmt.Errorf("files %s and %s are both table %s: rename one", other, e.Name(), name))
				continue
			}
			from[strings.ToLower(name)] = e.Name()
			r, err := f.survey(ctx, conn, FileTable{Name: name, File: e.Name()})
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				errs = append(errs, each(err)...)
				continue
			}
			out = append(out, r)
		}
		if len(errs) > 0 {
			return &FilesError{errs}
		}
		return nil
	}, Options{})
	if err != nil {
		return nil, err
	}
	return out, d.Close()
}

func (f *folder) survey(ctx context.Context, conn *sql.Conn, t FileTable) (sqltype.Relation, error) {
	r := sqltype.Relation{Schema: defaultSchema, Name: t.Name, Kind: sqltype.KindTable}
	s, err := f.source(t)
	if err != nil {
		return r, err
	}
	columns, err := s.columns(ctx, conn)
	if err != nil {
		return r, err
	}
	for _, c := range columns {
		if c.name != "" {
			r.Columns = append(r.Columns, sqltype.RelationColumn{Name: c.name, Type: typeOf(c.duck), List: listOf(c.duck)})
		}
	}
	return r, nil
}

// fileKind finds a file's kind and the table's name by its ending, in either case; -1 for none.
func fileKind(file string) (kind int, name string) {
	for i, e := range fileEndings {
		if n := len(file) - len(e.ending); n > 0 && strings.EqualFold(file[n:], e.ending) {
			return i, file[:n]
		}
	}
	return -1, ""
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
	gzip      bool
}

func (s *source) errorf(format string, args ...any) error {
	return fmt.Errorf("file %s: %s", s.file, fmt.Sprintf(format, args...))
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
	if inside, err := filepath.Rel(f.path, path); err != nil || !filepath.IsLocal(inside) {
		return nil, fmt.Errorf("table %s: file %s leads out of the folder", t.Name, file)
	}
	if strings.ContainsAny(path, globs) {
		return nil, fmt.Errorf("table %s: file %s leads to one with one of %s in its name: rename it", t.Name, file, globs)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("table %s: %s is not a plain file", t.Name, file)
	}
	k := fileEndings[kind]
	return &source{table: t.Name, file: file, path: path, separator: k.separator, gzip: k.gzip}, nil
}
