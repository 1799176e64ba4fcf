// Package postgres is PostgreSQL's dialect. Functions and types are qualified, so that no search_path changes what they are.
package postgres

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

type postgres struct{}

// Dialect is PostgreSQL's.
var Dialect dialect.Dialect = postgres{}

func (postgres) String() string { return "postgres" }

// Facts of PostgreSQL: its parser keeps 10,000 words, of which a level has up to three. It raises at texts of a gigabyte.
func (postgres) Facts() dialect.Facts {
	return dialect.Facts{Levels: 2500, Products: 1 << 14, ComparesTypes: true, ComparesRows: true, TablesFirst: true, HasTies: true, LimitParameters: true, ExactAverages: true,
		UnitAggregates: []string{"count(*)", "count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every"}}
}

func (postgres) Decimals() dialect.Decimals { return nil }

func (postgres) Lists() dialect.Lists { return nil }

func (postgres) Function(name string) string { return "pg_catalog." + name }

var typeNames = map[sqltype.OID]string{
	sqltype.OIDBool: "bool", sqltype.OIDInt2: "int2", sqltype.OIDInt4: "int4", sqltype.OIDInt8: "int8", sqltype.OIDText: "text",
	sqltype.OIDName: "name", sqltype.OIDOid: "oid", sqltype.OIDFloat4: "float4", sqltype.OIDFloat8: "float8", sqltype.OIDUnknown: "text",
	sqltype.OIDBPChar: "bpchar", sqltype.OIDVarchar: "varchar", sqltype.OIDDate: "date", sqltype.OIDTimestamp: "timestamp",
	sqltype.OIDTimestamptz: "timestamptz", sqltype.OIDNumeric: "numeric", sqltype.OIDTime: "time", sqltype.OIDTimetz: "timetz",
	sqltype.OIDInterval: "interval", sqltype.OIDUUID: "uuid", sqltype.OIDBytea: "bytea", sqltype.OIDJSON: "json", sqltype.OIDJSONB: "jsonb",
	sqltype.OIDChar: "\"char\"",
}

func (d postgres) TypeName(t sqltype.Type, _ sqltype.Value) (string, error) {
	if elem, ok := t.Elem(); ok {
		n, err := d.TypeName(elem, nil)
		return n + "[]", err
	}
	if e, ok := t.Enum(); ok {
		return dialect.Quote(e.Schema) + "." + dialect.Quote(e.Name), nil
	}
	n, ok := typeNames[t.OID]
	if !ok {
		return "", sqlerr.New(sqlerr.PrivateFunction, "values of type %s cannot be computed with by the data set's database here", t)
	}
	n = "pg_catalog." + n
	if prec, scale, ok := t.NumericMod(); ok {
		n += fmt.Sprintf("(%d,%d)", prec, scale)
	} else if (t.OID == sqltype.OIDVarchar || t.OID == sqltype.OIDBPChar) && t.Typmod > 4 {
		n += fmt.Sprintf("(%d)", t.Typmod-4)
	}
	return n, nil
}

func (d postgres) Number(x decimal.Decimal, t sqltype.Type) (string, error) {
	if t.OID == sqltype.OIDInt4 {
		return x.String(), nil
	}
	if t.OID == sqltype.OIDNumeric {
		t = sqltype.Numeric // the digits are exact as they stand
	}
	name, err := d.TypeName(t, nil)
	return fmt.Sprintf("CAST(%s AS %s)", x, name), err
}

func (postgres) Collation() string { return ` COLLATE pg_catalog."default"` }

func (postgres) Output(x string, _ sqltype.Type) (string, error) { return x, nil }

const bytes = ` COLLATE pg_catalog."C"`

func (postgres) ByBytes(x string, t sqltype.Type) string {
	if t.IsString() {
		return x + bytes
	}
	return x
}

func (d postgres) CanonicalKey(x string, t sqltype.Type) (string, error) {
	_, _, scaled := t.NumericMod()
	switch {
	case t.OID == sqltype.OIDNumeric:
		y := x
		if !scaled {
			y = "pg_catalog.trim_scale(" + x + ")"
		}
		return fmt.Sprintf("(CASE WHEN %s - %s = 0 THEN %s END)", x, x, y), nil // NaN and infinities differ from themselves so
	case t.OID == sqltype.OIDFloat4:
		return "(" + x + " + CAST(0 AS pg_catalog.float4))", nil
	case t.OID == sqltype.OIDFloat8:
		return "(" + x + " + CAST(0 AS pg_catalog.float8))", nil
	case t.OID == sqltype.OIDBPChar && t.Typmod <= 4, t.OID == sqltype.OIDUnknown:
		return d.AsText(x) + bytes, nil
	}
	return d.ByBytes(x, t), nil
}

func (d postgres) JoinKey(x string, t sqltype.Type) (string, error) { return d.ByBytes(x, t), nil }

func (d postgres) Spellings(x string, t sqltype.Type) []string {
	text := d.AsText(x) + bytes
	_, _, scaled := t.NumericMod()
	switch {
	case t.OID == sqltype.OIDNumeric && scaled:
		return []string{x}
	case t.OID == sqltype.OIDNumeric:
		return []string{x, "pg_catalog.scale(" + x + ")"}
	case t.IsFloat():
		return []string{x, text}
	case t.OID == sqltype.OIDBPChar && t.Typmod <= 4:
		return []string{text, d.ByteLength(x)}
	case t.IsString():
		return []string{d.ByBytes(x, t)}
	case dialect.HasOneSpelling(t):
		return []string{x}
	}
	return []string{text}
}

func (d postgres) MinMax(name string, args []string, t sqltype.Type) string {
	if !t.IsString() {
		return name + "(" + strings.Join(args, ", ") + ")"
	}
	for i := range args {
		args[i] = "(" + d.ByBytes(args[i], t) + ")"
	}
	return "(" + name + "(" + strings.Join(args, ", ") + ")" + d.Collation() + ")"
}

func (postgres) DistinctArgument(x string, _ sqltype.Type) string { return x }

func (postgres) Hash(values []string, types []sqltype.Type, seed int64) string {
	h := fmt.Sprintf("(%d)", seed)
	for i, x := range values {
		h = hash(x, types[i], h)
	}
	return h
}

// hash is the type's own extended hash; values of other types are hashed by their text. NULL hashes as 0 or ” does.
func hash(x string, t sqltype.Type, seed string) string {
	switch {
	case t.IsInteger():
		return fmt.Sprintf("pg_catalog.hashint8extended(COALESCE(CAST(%s AS pg_catalog.int8), 0), %s)", x, seed)
	case t.IsFloat():
		return fmt.Sprintf("pg_catalog.hashfloat8extended(COALESCE(CAST(%s AS pg_catalog.float8), 0), %s)", x, seed)
	case t.OID == sqltype.OIDNumeric:
		return fmt.Sprintf("pg_catalog.hash_numeric_extended(COALESCE(%s, 0), %s)", x, seed)
	}
	return fmt.Sprintf(`pg_catalog.hashtextextended(COALESCE(CAST(%s AS pg_catalog.text), '') COLLATE pg_catalog."C", %s)`, x, seed)
}

// SimpleCase: PostgreSQL computes a CASE's operand once.
func (postgres) SimpleCase(x, body string) string { return "(CASE " + x + body + " END)" }

func (postgres) AsText(x string) string { return "CAST(" + x + " AS pg_catalog.text)" }

func (postgres) ByteLength(x string) string { return "pg_catalog.octet_length(" + x + ")" }

func (postgres) Joined(parts []string, _ sqltype.Type, most int) string {
	lengths := make([]string, len(parts))
	for i, x := range parts {
		lengths[i] = "CAST(octet_length(" + x + ") AS int8)"
	}
	return fmt.Sprintf("(CASE WHEN %s <= %d THEN %s END)", strings.Join(lengths, " + "), most, strings.Join(parts, " || "))
}

// Released: an array a column as a parameter.
func (postgres) Released(types []sqltype.Type, rows [][]sqltype.Value, constant func(sqltype.Value, sqltype.Type) string) (string, error) {
	list := make([]string, len(types))
	for i, t := range types {
		array, ok := sqltype.ArrayOf(t)
		if !ok {
			return "", dialect.NotHere("a released column of type "+t.String(), -1)
		}
		a := &sqltype.Array{Elem: t.OID}
		for _, row := range rows {
			a.Values = append(a.Values, row[i])
		}
		if len(rows) > 0 {
			a.Dims, a.Lower = []int32{int32(len(rows))}, []int32{1}
		}
		list[i] = "pg_catalog.unnest(" + constant(a, array) + ")"
	}
	return "ROWS FROM (" + strings.Join(list, ", ") + ")", nil
}

func (postgres) CheckRows([]sqltype.Type, [][]sqltype.Value) error { return nil }

func (postgres) ParamType(t sqltype.Type, _ sqltype.Value) sqltype.Type { return t }

func (postgres) HasAggregate(string) bool { return true }

func (postgres) HasWindowFunction(string) bool { return true }

func (postgres) UnitSum(sum string, _ sqltype.Type) (string, bool) { return sum, true }

// UnitSummand is NULL above 10^100000: PostgreSQL's numerics hold 10^131072.
func (postgres) UnitSummand(x string, distinct bool) string {
	x = fmt.Sprintf("CASE WHEN pg_catalog.abs(%s) > CAST('1e100000' AS pg_catalog.numeric) AND %s <> CAST('NaN' AS pg_catalog.numeric) THEN NULL ELSE %s END", x, x, x)
	if distinct { // else the first of equal ones would say how many digits the result has
		x = "pg_catalog.trim_scale(" + x + ")"
	}
	return x
}
