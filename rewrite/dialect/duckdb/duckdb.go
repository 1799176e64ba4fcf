// Package duckdb is DuckDB's dialect.
package duckdb

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

type duckdb struct{}

// Dialect is DuckDB's.
var Dialect dialect.Dialect = duckdb{}

func (duckdb) String() string { return "duckdb" }

// Facts of DuckDB, whose max_expression_depth is 1000. Its IN takes rows with NULLs for equal. Its averages of integers and numerics are doubles, and the scale of PostgreSQL's quotient depends on its values.
func (duckdb) Facts() dialect.Facts {
	return dialect.Facts{Levels: 900, Products: 1 << 17, HasTry: true, HoldsLongTexts: true, UnitAggregates: []string{"count(*)", "count", "sum", "min", "max", "bool_and", "bool_or"}}
}

func (duckdb) Decimals() dialect.Decimals { return decimals{} }

func (duckdb) Lists() dialect.Lists { return lists{} }

func (duckdb) Function(name string) string { return name }

var typeNames = map[sqltype.OID]string{
	sqltype.OIDBool: "BOOLEAN", sqltype.OIDInt2: "SMALLINT", sqltype.OIDInt4: "INTEGER", sqltype.OIDInt8: "BIGINT", sqltype.OIDText: "VARCHAR",
	sqltype.OIDName: "VARCHAR", sqltype.OIDOid: "BIGINT", sqltype.OIDFloat4: "FLOAT", sqltype.OIDFloat8: "DOUBLE", sqltype.OIDUnknown: "VARCHAR",
	sqltype.OIDBPChar: "VARCHAR", sqltype.OIDVarchar: "VARCHAR", sqltype.OIDDate: "DATE", sqltype.OIDTimestamp: "TIMESTAMP",
	sqltype.OIDTimestamptz: "TIMESTAMPTZ", sqltype.OIDTime: "TIME", sqltype.OIDTimetz: "TIMETZ", sqltype.OIDInterval: "INTERVAL",
	sqltype.OIDUUID: "UUID", sqltype.OIDBytea: "BLOB",
}

// TypeName gives an unmodified numeric the scale of its value: DuckDB has none without.
func (duckdb) TypeName(t sqltype.Type, v sqltype.Value) (string, error) {
	if t.OID == sqltype.OIDNumeric {
		return numericName(t, v), nil
	}
	if n, ok := typeNames[t.OID]; ok {
		return n, nil
	}
	if e, ok := t.Enum(); ok && t.IsEnum() {
		return enumName(e), nil
	}
	return "", dialect.NotHere("an expression of type "+t.String(), -1)
}

// literal is a text in quotes.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// enumName spells an enum out: DuckDB's catalog has no name of a column's.
func enumName(e sqltype.Enum) string {
	labels := make([]string, len(e.Labels))
	for i, l := range e.Labels {
		labels[i] = literal(l)
	}
	return "ENUM(" + strings.Join(labels, ", ") + ")"
}

func (d duckdb) Number(x decimal.Decimal, t sqltype.Type) (string, error) {
	text := x.String()
	switch {
	case t.OID == sqltype.OIDInt4:
		return text, nil
	case t.IsFloat():
		text = "'" + text + "'" // exact decimals of floats are too long for DuckDB's DECIMAL literal
	}
	name, err := d.TypeName(t, x)
	return fmt.Sprintf("CAST(%s AS %s)", text, name), err
}

func (duckdb) Collation() string { return "" }

// Output: integers are as wide as they are computed.
func (d duckdb) Output(x string, t sqltype.Type) (string, error) {
	if !t.IsInteger() {
		return x, nil
	}
	name, err := d.TypeName(t, nil)
	return "CAST(" + x + " AS " + name + ")", err
}

// ByBytes: DuckDB compares bytes.
func (duckdb) ByBytes(x string, _ sqltype.Type) string { return x }

func (d duckdb) CanonicalKey(x string, t sqltype.Type) (string, error) {
	switch {
	case t.OID == sqltype.OIDTime: // its driver reads 24:00 as 00:00
		return fmt.Sprintf("(CASE WHEN %s < CAST('24:00:00' AS TIME) THEN %s END)", x, x), nil
	case t.IsFloat():
		n, err := d.TypeName(t, nil)
		return fmt.Sprintf("(CASE WHEN isnan(%s) THEN CAST('NaN' AS %s) ELSE %s + CAST(0 AS %s) END)", x, n, x, n), err
	case t.OID == sqltype.OIDBPChar && t.Typmod <= 4:
		return unpadded(x), nil
	}
	return x, nil
}

func unpadded(x string) string { return "rtrim(" + x + ", ' ')" }

// JoinKey: in canonical form all are equal that DuckDB's "=" holds equal.
func (d duckdb) JoinKey(x string, t sqltype.Type) (string, error) {
	if t.OID == sqltype.OIDTime {
		return x, nil
	}
	return d.CanonicalKey(x, t)
}

func (d duckdb) Spellings(x string, t sqltype.Type) []string {
	switch {
	case t.IsFloat():
		return []string{x, d.AsText(x)}
	case t.OID == sqltype.OIDNumeric, t.IsString(), dialect.HasOneSpelling(t):
		return []string{x}
	}
	return []string{d.AsText(x)}
}

// MinMax: DuckDB's own compares an interval's months before its days. The first of equal ones is kept.
func (d duckdb) MinMax(name string, args []string, t sqltype.Type) string {
	if t.OID != sqltype.OIDInterval {
		for i := range args {
			args[i] = d.DistinctArgument(args[i], t)
		}
		return name + "(" + strings.Join(args, ", ") + ")"
	}
	op := " < "
	if name == "GREATEST" {
		op = " > "
	}
	out := args[0]
	for _, x := range args[1:] {
		out = "list_transform([row(" + out + ", " + x + ")], lambda _m: CASE WHEN _m[1] IS NULL OR " + Micros("_m[2]") + op + Micros("_m[1]") + " THEN _m[2] ELSE _m[1] END)[1]"
	}
	return out
}

// Micros is an interval's length in microseconds, with months of 30 days and days of 24 hours: what PostgreSQL compares.
func Micros(x string) string {
	return "((CAST(year(" + x + ") * 12 + month(" + x + ") AS HUGEINT) * 30 + day(" + x + ")) * 86400000000 + hour(" + x + ") * 3600000000 + minute(" + x + ") * 60000000 + microsecond(" + x + "))"
}

func (duckdb) DistinctArgument(x string, t sqltype.Type) string {
	if t.OID == sqltype.OIDBPChar {
		return unpadded(x)
	}
	return x
}

func (duckdb) Hash(values []string, _ []sqltype.Type, seed int64) string {
	return fmt.Sprintf("hash(%s, %d)", strings.Join(values, ", "), seed)
}

// SimpleCase: DuckDB computes a lambda's argument once.
func (duckdb) SimpleCase(x, body string) string {
	return "(list_transform([" + x + "], lambda _c: (CASE _c" + body + " END))[1])"
}

func (duckdb) AsText(x string) string { return "CAST(" + x + " AS VARCHAR)" }

func (duckdb) ByteLength(x string) string { return "strlen(" + x + ")" }

// Joined: DuckDB's || of a constant NULL has no type, by which the functions around it are chosen.
func (d duckdb) Joined(parts []string, t sqltype.Type, most int) string {
	lengths := make([]string, len(parts))
	for i, x := range parts {
		if lengths[i] = d.ByteLength(x); t.OID == sqltype.OIDBytea {
			lengths[i] = "octet_length(" + x + ")"
		}
	}
	return fmt.Sprintf("(CASE WHEN %s <= %d THEN CAST(%s AS %s) END)", strings.Join(lengths, " + "), most, strings.Join(parts, " || "), typeNames[t.OID])
}

// windowFunctions are those that DuckDB computes as PostgreSQL does, aggregates those over groups.
var (
	windowFunctions = []string{"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value", "last_value", "nth_value",
		"count(*)", "count", "sum", "avg", "min", "max"}
	aggregates = []string{"count(*)", "count", "sum", "avg", "min", "max"}
)

func (duckdb) HasAggregate(fn string) bool { return slices.Contains(aggregates, fn) }

func (duckdb) HasWindowFunction(fn string) bool { return slices.Contains(windowFunctions, fn) }

// UnitSum: a sum of decimals is one of 38 digits, which raises where it has no room.
func (d duckdb) UnitSum(sum string, t sqltype.Type) (string, bool) {
	switch prec, _, ok := t.NumericMod(); {
	case ok && prec <= 18:
		return sum, true
	case t.OID == sqltype.OIDInt8:
		return "CAST(" + sum + " AS DECIMAL(38,0))", true
	case t.IsInteger():
		return d.Big(sum), true
	}
	return "", false
}

func (duckdb) UnitSummand(x string, _ bool) string { return x } // UnitSum refuses it
