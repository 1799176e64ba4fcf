package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

const defaultSchema = "main"

// Describe reads the catalog. A column whose DuckDB type is not exactly one of PostgreSQL's has type OID 0, which nothing
// can compute with.
func (d *DB) Describe(ctx context.Context, names []backend.RelationName) ([]sqltype.Relation, error) {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	defer func() { _ = conn.Close() }()
	var out []sqltype.Relation
	for _, n := range names {
		if n.Schema == "" {
			n.Schema = defaultSchema
		}
		r, found, err := d.describe(ctx, conn, n)
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		if found {
			out = append(out, r)
		}
	}
	return out, nil
}

func (d *DB) describe(ctx context.Context, conn *sql.Conn, n backend.RelationName) (r sqltype.Relation, found bool, err error) {
	r = sqltype.Relation{Schema: n.Schema, Name: n.Name}
	var kind string
	err = conn.QueryRowContext(ctx, `SELECT table_type FROM information_schema.tables
		WHERE table_catalog = $1 AND table_schema = $2 AND table_name = $3`, d.catalog, n.Schema, n.Name).Scan(&kind)
	switch {
	case err == sql.ErrNoRows:
		return r, false, nil
	case err != nil:
		return r, false, err
	}
	switch kind {
	case "BASE TABLE":
		r.Kind = sqltype.KindTable
	case "VIEW":
		r.Kind = sqltype.KindView
	default:
		r.Kind = sqltype.KindOther
	}
	if err := d.columns(ctx, conn, &r); err != nil {
		return r, false, err
	}
	if err := d.constraints(ctx, conn, &r); err != nil {
		return r, false, err
	}
	if n.Schema == defaultSchema {
		r.Keys = append(r.Keys, d.checkedKeys[n.Name]...)
	}
	return r, true, nil
}

// columns reads the columns. Where the table's own text names a collation (the catalog's types do not show it), its texts have
// type OID 0: equality there may not be of bytes, which units and keys rest on.
func (d *DB) columns(ctx context.Context, conn *sql.Conn, r *sqltype.Relation) error {
	var collated bool
	if err := conn.QueryRowContext(ctx, `SELECT coalesce(bool_or(sql ILIKE '%collate%'), false) FROM duckdb_tables()
		WHERE database_name = $1 AND schema_name = $2 AND table_name = $3`, d.catalog, r.Schema, r.Name).Scan(&collated); err != nil {
		return err
	}
	var computed bool // the catalog shows a generated column's expression as a default
	if err := conn.QueryRowContext(ctx, `SELECT coalesce(bool_or(sql ILIKE '%generated always%'), false) FROM duckdb_tables()
		WHERE database_name = $1 AND schema_name = $2 AND table_name = $3`, d.catalog, r.Schema, r.Name).Scan(&computed); err != nil {
		return err
	}
	rows, err := conn.QueryContext(ctx, `SELECT column_name, data_type, NOT is_nullable, coalesce(column_default, '') FROM duckdb_columns()
		WHERE database_name = $1 AND schema_name = $2 AND table_name = $3 ORDER BY column_index`, d.catalog, r.Schema, r.Name)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var c sqltype.RelationColumn
		var text string
		if err := rows.Scan(&c.Name, &text, &c.NotNull, &c.Definition); err != nil {
			return err
		}
		c.Type, c.List = typeOf(text), listOf(text)
		if collated && c.Type.IsString() {
			c.Type = sqltype.Type{OID: 0, Typmod: -1}
		}
		if !computed {
			c.Definition = ""
		}
		c.NotNull = c.NotNull && r.Kind == sqltype.KindTable
		r.Columns = append(r.Columns, c)
	}
	return rows.Err()
}

func (d *DB) constraints(ctx context.Context, conn *sql.Conn, r *sqltype.Relation) error {
	rows, err := conn.QueryContext(ctx, `SELECT constraint_type, constraint_column_names, referenced_table, referenced_column_names, expression
		FROM duckdb_constraints() WHERE database_name = $1 AND schema_name = $2 AND table_name = $3
		AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY', 'CHECK') ORDER BY constraint_index`, d.catalog, r.Schema, r.Name)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var kind string
		var of, ref any
		var table, expr sql.NullString
		if err := rows.Scan(&kind, &of, &table, &ref, &expr); err != nil {
			return err
		}
		if kind == "CHECK" {
			if expr.Valid {
				r.Checks = append(r.Checks, sqltype.RelationCheck{Expr: expr.String})
			}
			continue
		}
		columns, err := stringList(of)
		if err != nil {
			return err
		}
		if kind != "FOREIGN KEY" {
			r.Keys = append(r.Keys, columns)
			continue
		}
		referenced, err := stringList(ref)
		if err != nil {
			return err
		}
		// DuckDB resolves the referenced table in the schema of the referencing one.
		r.ForeignKeys = append(r.ForeignKeys, sqltype.RelationForeignKey{
			Columns: columns, RefSchema: r.Schema, RefTable: table.String, RefColumns: referenced})
	}
	return rows.Err()
}

func stringList(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("duckdb: the catalog gave a %T for a list of names", v)
	}
	out := make([]string, len(list))
	for i, e := range list {
		if out[i], ok = e.(string); !ok {
			return nil, fmt.Errorf("duckdb: the catalog gave a %T for a name", e)
		}
	}
	return out, nil
}

var types = map[string]sqltype.Type{
	"BOOLEAN": sqltype.Bool, "SMALLINT": sqltype.Int2, "INTEGER": sqltype.Int4, "BIGINT": sqltype.Int8,
	"FLOAT": sqltype.Float4, "DOUBLE": sqltype.Float8, "VARCHAR": sqltype.Text, "DATE": sqltype.Date,
	"TIMESTAMP": sqltype.Timestamp, "TIMESTAMP WITH TIME ZONE": sqltype.Timestamptz, "TIME": sqltype.Time, "TIME WITH TIME ZONE": sqltype.Timetz,
	"INTERVAL": sqltype.IntervalType, "UUID": sqltype.UUIDType, "BLOB": sqltype.Bytea,
}

var decimalType = regexp.MustCompile(`^DECIMAL\((\d+),(\d+)\)$`)

// typeOf maps only what behaves as PostgreSQL's type: a TINYINT would overflow where a smallint does not. A JSON is not among
// them: the driver gives no text of it.
func typeOf(text string) sqltype.Type {
	if t, ok := types[text]; ok {
		return t
	}
	if t, ok := enumType(text); ok {
		return t
	}
	if m := decimalType.FindStringSubmatch(text); m != nil {
		p, err1 := strconv.Atoi(m[1])
		s, err2 := strconv.Atoi(m[2])
		if err1 == nil && err2 == nil {
			return sqltype.NumericOf(p, s)
		}
	}
	return sqltype.Type{OID: 0, Typmod: -1}
}

// lists are the arrays whose elements hold those of a list, or of an array of a length, of the numbers of a type.
var lists = map[string]sqltype.Type{
	"TINYINT": sqltype.Int2, "UTINYINT": sqltype.Int2, "SMALLINT": sqltype.Int2, "USMALLINT": sqltype.Int4, "INTEGER": sqltype.Int4, "FLOAT": sqltype.Float4,
	"DOUBLE": sqltype.Float8, "UINTEGER": sqltype.Float8, "BIGINT": sqltype.Float8, "UBIGINT": sqltype.Float8, "HUGEINT": sqltype.Float8, "UHUGEINT": sqltype.Float8,
}

var listType = regexp.MustCompile(`^(.*)\[\d*\]$`)

// listOf is the array that a list of numbers is read as; the zero type of anything else, of a list of lists too.
func listOf(text string) (out sqltype.Type) {
	m := listType.FindStringSubmatch(text)
	if m == nil {
		return out
	}
	elem, ok := lists[m[1]]
	if decimalType.MatchString(m[1]) {
		elem, ok = sqltype.Float8, true
	}
	if ok {
		out, _ = sqltype.ArrayOf(elem)
	}
	return out
}

const maxEnumText = 10_000 // it is spelled out wherever a statement casts to it

// enumType reads ENUM('a', 'b'). An enum has no number of its own in DuckDB: it is given one from its text.
func enumType(text string) (sqltype.Type, bool) {
	rest, ok := strings.CutPrefix(text, "ENUM(")
	if !ok || len(text) > maxEnumText {
		return sqltype.Type{}, false
	}
	e := sqltype.Enum{OID: 1<<30 | sqltype.OID(crc32.ChecksumIEEE([]byte(text))>>4), Name: "enum"}
	for {
		m := enumLabel.FindStringSubmatch(rest)
		if m == nil {
			return sqltype.Type{}, false
		}
		label := strings.ReplaceAll(m[1], "''", "'")
		if strings.Contains(label, "\x00") {
			return sqltype.Type{}, false
		}
		e.Labels = append(e.Labels, label)
		if rest = rest[len(m[0]):]; m[2] == ")" {
			return sqltype.EnumType(e), rest == ""
		}
	}
}

var enumLabel = regexp.MustCompile(`^(?s)'((?:[^']|'')*)'(, |\))`)
