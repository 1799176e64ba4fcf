package duckdb

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	driver "github.com/duckdb/duckdb-go/v2"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// raw holds one file's columns as they are (c0, c1, ...) and, for text, the line of each record, until all of it is checked.
const raw = "temp.main.dpsql_raw"

// fileColumn is a column as the file has it.
type fileColumn struct{ name, duck string }

// wanted is a column to load: as the file has it, and as it is to be.
type wanted struct {
	FileColumn
	from int        // its place in the file
	has  fileColumn // what is there
	raw  string     // its name in raw
	duck string     // type to be
}

// load reads one table from a file that stays as it is meanwhile: half of a record would be another value. First as it is, then as declared, so that the first wrong record can be named.
func (s *source) load(ctx context.Context, conn *sql.Conn, t FileTable) (err error) {
	before, err := os.Stat(s.path)
	if err != nil {
		return s.errorf("%v", err)
	}
	defer func() { // what is wrong in a file that is being written is not told
		if after, statErr := os.Stat(s.path); ctx.Err() == nil && (statErr != nil || !os.SameFile(before, after) || before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime())) {
			err = s.errorf("it changed while it was read: start again when it is written, and put a new file in place by renaming it")
		}
	}()
	in, have, err := s.open(ctx, conn)
	if err != nil {
		return err
	}
	if in != nil {
		defer func() { err = errors.Join(err, in.Close()) }()
	}
	cols, wrong := s.choose(have, t)
	if len(cols) == 0 {
		return wrong
	}
	defer func() {
		if _, dropErr := conn.ExecContext(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS "+raw); dropErr != nil {
			err = errors.Join(err, s.failed(ctx, dropErr))
		}
	}()
	if in != nil {
		err = s.fillText(ctx, conn, in, cols)
	} else {
		err = s.fillParquet(ctx, conn, cols)
	}
	if err != nil {
		return errors.Join(wrong, err)
	}
	if wrong = errors.Join(wrong, s.check(ctx, conn, cols), s.checkKeys(ctx, conn, cols, t.Keys)); wrong != nil {
		return wrong
	}
	return s.keep(ctx, conn, cols)
}

// columns reads the head of a file.
func (s *source) columns(ctx context.Context, conn *sql.Conn) ([]fileColumn, error) {
	in, out, err := s.open(ctx, conn)
	if in != nil {
		err = errors.Join(err, in.Close())
	}
	return out, err
}

// textFile is an open CSV file, behind its header.
type textFile struct {
	*csvReader
	file *os.File
}

func (t *textFile) Close() error { return t.file.Close() }

// open reads the head of a file; a text's file stays open, so that its records come from the same one.
func (s *source) open(ctx context.Context, conn *sql.Conn) (in *textFile, out []fileColumn, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, nil, s.errorf("%v", err)
	}
	defer func() {
		if in == nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if s.separator == "" {
		if out, err = s.parquetSchema(ctx, conn); err != nil {
			return nil, nil, err
		}
		return nil, out, s.names(out)
	}
	r, err := s.text(f)
	if err != nil {
		return nil, nil, err
	}
	for _, field := range r.fields {
		out = append(out, fileColumn{string(field.text), "VARCHAR"})
	}
	if err := s.names(out); err != nil {
		return nil, nil, err
	}
	return &textFile{r, f}, out, nil
}

// text reads the header line; all columns are text.
func (s *source) text(f *os.File) (*csvReader, error) {
	var in io.Reader = f
	if s.gzip {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, s.errorf("it is not gzip")
		}
		in = z
	}
	r, err := newCSVReader(in, s.separator[0])
	if err != nil {
		return nil, s.errorf("%v", err)
	}
	err = r.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, s.errorf("it is empty: it has no header line")
	case err != nil:
		return nil, s.errorf("%v", err)
	case r.width == 1 && r.fields[0].null():
		return nil, s.errorf("its first line is empty: it has no header line")
	case s.separator == "," && r.width == 1 && !r.fields[0].quoted && bytes.ContainsAny(r.fields[0].text, ";\t"):
		return nil, s.errorf("its header is one column with %q in it: write the file with commas between columns, or with tabs as .tsv", r.fields[0].text[bytes.IndexAny(r.fields[0].text, ";\t")])
	}
	return r, nil
}

func (s *source) parquetSchema(ctx context.Context, conn *sql.Conn) (out []fileColumn, err error) {
	rows, err := conn.QueryContext(ctx, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM "+s.parquet()+")") //nolint:gosec // quoted
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c fileColumn
		if err := rows.Scan(&c.name, &c.duck); err != nil {
			return nil, s.failed(ctx, err)
		}
		out = append(out, c)
	}
	if err := rows.Err(); err != nil {
		return nil, s.failed(ctx, err)
	}
	return out, nil
}

// parquet is the file as a relation: its own columns and no others (a folder year=2020 would add one).
func (s *source) parquet() string {
	return "read_parquet(" + quote(s.path) + ", hive_partitioning = false, union_by_name = false, filename = false)"
}

// names refuses columns that could not be told apart.
func (s *source) names(columns []fileColumn) error {
	for i, c := range columns {
		if c.name == "" { // as exports number their rows: it cannot be listed
			continue
		}
		if slices.ContainsFunc(columns[:i], func(o fileColumn) bool { return strings.EqualFold(o.name, c.name) }) { // DuckDB folds case
			return s.errorf("column %q is there twice", c.name)
		}
	}
	return nil
}

// choose pairs the declared columns with the file's. Beside an error it gives those that are right.
func (s *source) choose(have []fileColumn, t FileTable) (out []wanted, err error) {
	list := t.Columns
	if list == nil {
		for i, c := range have {
			if c.name == "" {
				return nil, s.errorf("column %d has no name: list the columns to keep", i+1)
			}
			list = append(list, FileColumn{Name: c.name})
		}
	}
	var errs []error
	for _, c := range list {
		i := slices.IndexFunc(have, func(h fileColumn) bool { return h.name == c.Name && h.name != "" })
		if i < 0 {
			var names []string
			for _, h := range have {
				names = append(names, h.name)
			}
			errs = append(errs, s.errorf("it has no column %q (it has %s)", c.Name, strings.Join(names, ", ")))
			continue
		}
		w := wanted{FileColumn: c, from: i, has: have[i], raw: fmt.Sprintf("c%d", len(out)), duck: have[i].duck}
		if c.Type.OID != 0 {
			if w.duck, err = duckType(c.Type); err != nil {
				errs = append(errs, s.errorf("column %q: %v", c.Name, err))
				continue
			}
		}
		if slices.ContainsFunc(out, func(o wanted) bool { return o.Name == c.Name }) {
			errs = append(errs, s.errorf("column %q is declared twice", c.Name))
			continue
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
	if len(out) == 0 && len(errs) == 0 {
		errs = append(errs, s.errorf("no column of it is listed"))
	}
	return out, errors.Join(errs...)
}

// fillText appends the records to raw.
func (s *source) fillText(ctx context.Context, conn *sql.Conn, in *textFile, cols []wanted) error {
	var defs []string
	for _, w := range cols {
		defs = append(defs, w.raw+" VARCHAR")
	}
	if err := s.exec(ctx, conn, fmt.Sprintf("CREATE TEMP TABLE %s (%s, line BIGINT)", raw, strings.Join(defs, ", "))); err != nil {
		return err
	}
	return conn.Raw(func(c any) (err error) {
		under, ok := c.(sqldriver.Conn)
		if !ok {
			return s.errorf("a %T is no connection", c)
		}
		a, err := driver.NewAppender(under, "temp", "main", strings.TrimPrefix(raw, "temp.main."))
		if err != nil {
			return s.failed(ctx, err)
		}
		err = s.appendRecords(ctx, a, in, cols)
		if closeErr := a.Close(); closeErr != nil && err == nil {
			err = s.failed(ctx, closeErr)
		}
		return err
	})
}

func (s *source) appendRecords(ctx context.Context, a *driver.Appender, in *textFile, cols []wanted) error {
	row := make([]sqldriver.Value, len(cols)+1)
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return s.errorf("%v", err)
		}
		for i, w := range cols {
			row[i] = nil
			if f := in.fields[w.from]; !f.null() {
				row[i] = string(f.text)
			}
		}
		row[len(cols)] = in.line
		if err := a.AppendRow(row...); err != nil {
			return s.failed(ctx, err)
		}
	}
}

// fillParquet copies the columns to raw, in the file's order.
func (s *source) fillParquet(ctx context.Context, conn *sql.Conn, cols []wanted) error {
	var list []string
	for _, w := range cols {
		list = append(list, ident(w.has.name)+" AS "+w.raw)
	}
	return s.exec(ctx, conn, fmt.Sprintf("CREATE TEMP TABLE %s AS SELECT %s FROM %s", raw, strings.Join(list, ", "), s.parquet())) //nolint:gosec // quoted
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

// Numbers as PostgreSQL reads them, too: DuckDB would also take 1_000, and 1.5 for an integer.
const (
	integerText = `'[+-]?[0-9]+'`
	numberText  = `'[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?'`
	specialText = `'(?i)[+-]?(nan|inf|infinity)'`
)

// value is a column's value as the declared type; NULL where it is none.
func (w wanted) value() string {
	c, cast := w.raw, func(of string) string { return fmt.Sprintf("TRY_CAST(%s AS %s)", of, w.duck) }
	if w.duck == w.has.duck {
		return c
	}
	if w.has.duck != "VARCHAR" { // what comes back as another value was not of the type: a fraction is no integer
		return fmt.Sprintf("CASE WHEN TRY_CAST(%s AS %s) IS NOT DISTINCT FROM %s THEN %s END", cast(c), w.has.duck, c, cast(c))
	}
	text := "trim(" + c + ")"
	number := fmt.Sprintf("regexp_full_match(%s, %s)", text, numberText)
	switch {
	case w.Type.IsInteger():
		return fmt.Sprintf("CASE WHEN regexp_full_match(%s, %s) THEN %s END", text, integerText, cast(text))
	case w.Type.OID == sqltype.OIDNumeric:
		return fmt.Sprintf("CASE WHEN %s THEN %s END", number, cast(text))
	case w.Type.OID == sqltype.OIDFloat4 || w.Type.OID == sqltype.OIDFloat8: // 1e400 is no number; Infinity is one
		return fmt.Sprintf("CASE WHEN %s THEN CASE WHEN isfinite(%s) THEN %s END WHEN regexp_full_match(%s, %s) THEN %s END",
			number, cast(text), cast(text), text, specialText, cast(text))
	}
	return cast(text)
}

// check finds what is not as declared.
func (s *source) check(ctx context.Context, conn *sql.Conn, cols []wanted) error {
	where, place := "line", "line"
	if s.separator == "" {
		where, place = "rowid + 1", "row"
	}
	var errs []error
	first := func(w wanted, condition, what string) {
		var n sql.NullInt64
		if err := conn.QueryRowContext(ctx, fmt.Sprintf("SELECT min(%s) FROM %s WHERE %s", where, raw, condition)).Scan(&n); err != nil {
			errs = append(errs, s.failed(ctx, err))
		} else if n.Valid {
			errs = append(errs, s.errorf("column %q, %s %d: %s", w.Name, place, n.Int64, what))
		}
	}
	for _, w := range cols {
		if s.separator == "" && w.has.duck == "VARCHAR" {
			first(w, "contains("+w.raw+", chr(0))", "the text has a byte zero")
		}
		if w.duck != w.has.duck {
			first(w, fmt.Sprintf("%s IS NOT NULL AND (%s) IS NULL", w.raw, w.value()), "the value cannot be kept as "+w.Type.String()+writtenAs(w.Type)+otherType(w.Type))
		}
		if w.NotNull {
			first(w, w.raw+" IS NULL", "there is no value, but the column is declared not_null")
		}
	}
	return errors.Join(errs...)
}

// keep makes the table from the checked rows.
func (s *source) keep(ctx context.Context, conn *sql.Conn, cols []wanted) error {
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
	return s.exec(ctx, conn, fmt.Sprintf("INSERT INTO main.%s SELECT %s FROM %s", ident(s.table), strings.Join(values, ", "), raw)) //nolint:gosec // quoted
}

// checkKeys compares rows as a UNIQUE constraint does: those with a NULL in the key are left out, and with them values that are not as declared. How many are alike
// is not told.
func (s *source) checkKeys(ctx context.Context, conn *sql.Conn, cols []wanted, keys [][]string) error {
	var errs []error
	for _, key := range keys {
		var list, present []string
		for _, w := range cols {
			if slices.Contains(key, w.Name) {
				list, present = append(list, w.value()), append(present, "("+w.value()+") IS NOT NULL")
			}
		}
		if len(list) < len(key) {
			continue // a column of it is wrong
		}
		var twice bool
		q := fmt.Sprintf("SELECT count(*) > 0 FROM (SELECT 1 FROM %s WHERE %s GROUP BY %s HAVING count(*) > 1 LIMIT 1)", //nolint:gosec // quoted
			raw, strings.Join(present, " AND "), strings.Join(list, ", "))
		if err := conn.QueryRowContext(ctx, q).Scan(&twice); err != nil {
			errs = append(errs, s.failed(ctx, err))
		} else if twice {
			errs = append(errs, s.errorf("the key %v is not unique: some rows have the same", key))
		}
	}
	return errors.Join(errs...)
}

func (s *source) exec(ctx context.Context, conn *sql.Conn, statement string) error {
	if _, err := conn.ExecContext(ctx, statement); err != nil {
		return s.failed(ctx, err)
	}
	return nil
}

// failed says what went wrong in DuckDB without its own words, which quote values.
func (s *source) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var d *driver.Error
	text := strings.ToLower(err.Error())
	switch {
	case errors.As(err, &d) && d.Type == driver.ErrorTypeOutOfMemory, strings.Contains(text, "out of memory"), strings.Contains(text, "could not allocate"):
		return s.errorf("it does not fit into the memory that DuckDB may use")
	case errors.As(err, &d) && d.Type == driver.ErrorTypeCatalog:
		return s.errorf("table %s is there already, but for upper or lower case", s.table)
	case s.separator == "" && (strings.Contains(text, "utf-8") || strings.Contains(text, "utf8")):
		return s.errorf("a text in it is not UTF-8")
	case s.separator == "":
		return s.errorf("it is not Parquet, or cut or damaged")
	}
	return s.errorf("it cannot be loaded (%s)", failure(ctx, err).Code)
}

// writtenAs says how a type's values are written, where many files write them otherwise.
func writtenAs(t sqltype.Type) string {
	switch t.OID {
	case sqltype.OIDDate:
		return ": it is written year-month-day, as 2024-05-13"
	case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		return ": it is written year-month-day hour:minute:second, as 2024-05-13 14:30:00"
	}
	return ""
}

// otherType says what to do about a value that a type does not hold.
func otherType(t sqltype.Type) string {
	other := "text"
	if t.IsInteger() {
		other = "numeric(12,2) or text"
	}
	return ". Mend the file, or declare another type of the column in the policy: type: " + other
}
