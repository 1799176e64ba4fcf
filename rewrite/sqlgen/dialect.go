package sqlgen

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// quote is a quoted identifier; a NUL cannot be in one.
func quote(name string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(name, "\x00", ""), `"`, `""`) + `"`
}

// fn is the qualified name of a built-in function.
func (p *printer) fn(name string) string {
	if p.d == funcs.Postgres {
		return "pg_catalog." + name
	}
	return name
}

var pgTypes = map[sqltype.OID]string{
	sqltype.OIDBool: "bool", sqltype.OIDInt2: "int2", sqltype.OIDInt4: "int4", sqltype.OIDInt8: "int8", sqltype.OIDText: "text",
	sqltype.OIDName: "name", sqltype.OIDOid: "oid", sqltype.OIDFloat4: "float4", sqltype.OIDFloat8: "float8", sqltype.OIDUnknown: "text",
	sqltype.OIDBPChar: "bpchar", sqltype.OIDVarchar: "varchar", sqltype.OIDDate: "date", sqltype.OIDTimestamp: "timestamp",
	sqltype.OIDTimestamptz: "timestamptz", sqltype.OIDNumeric: "numeric", sqltype.OIDTime: "time", sqltype.OIDTimetz: "timetz",
	sqltype.OIDInterval: "interval", sqltype.OIDUUID: "uuid", sqltype.OIDBytea: "bytea", sqltype.OIDJSON: "json", sqltype.OIDJSONB: "jsonb",
	sqltype.OIDChar: "\"char\"",
}

var duckTypes = map[sqltype.OID]string{
	sqltype.OIDBool: "BOOLEAN", sqltype.OIDInt2: "SMALLINT", sqltype.OIDInt4: "INTEGER", sqltype.OIDInt8: "BIGINT", sqltype.OIDText: "VARCHAR",
	sqltype.OIDName: "VARCHAR", sqltype.OIDOid: "BIGINT", sqltype.OIDFloat4: "FLOAT", sqltype.OIDFloat8: "DOUBLE", sqltype.OIDUnknown: "VARCHAR",
	sqltype.OIDBPChar: "VARCHAR", sqltype.OIDVarchar: "VARCHAR", sqltype.OIDDate: "DATE", sqltype.OIDTimestamp: "TIMESTAMP",
	sqltype.OIDTimestamptz: "TIMESTAMPTZ", sqltype.OIDTime: "TIME", sqltype.OIDTimetz: "TIMETZ", sqltype.OIDInterval: "INTERVAL",
	sqltype.OIDUUID: "UUID", sqltype.OIDBytea: "BLOB",
}

// typeName spells a type; v, if a decimal, gives DuckDB the scale that an unmodified numeric does not have there.
func (p *printer) typeName(t sqltype.Type, v sqltype.Value) (string, error) {
	if p.d == funcs.DuckDB {
		if t.OID == sqltype.OIDNumeric {
			return duckNumeric(t, v), nil
		}
		if n, ok := duckTypes[t.OID]; ok {
			return n, nil
		}
		if e, ok := t.Enum(); ok && t.IsEnum() {
			return duckEnum(e), nil
		}
		return "", notHere("an expression of type "+t.String(), -1)
	}
	if elem, ok := t.Elem(); ok {
		n, err := p.typeName(elem, nil)
		return n + "[]", err
	}
	if e, ok := t.Enum(); ok {
		return quote(e.Schema) + "." + quote(e.Name), nil
	}
	n, ok := pgTypes[t.OID]
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

// literal is a text as DuckDB's literal.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// duckEnum spells an enum out: DuckDB's catalog has no name of a column's.
func duckEnum(e sqltype.Enum) string {
	labels := make([]string, len(e.Labels))
	for i, l := range e.Labels {
		labels[i] = literal(l)
	}
	return "ENUM(" + strings.Join(labels, ", ") + ")"
}

// DuckDB's numerics have 38 digits.
const (
	duckDigits = 38
	duckScale  = 18 // of a parameter whose scale nobody knows
)

func duckNumeric(t sqltype.Type, v sqltype.Value) string {
	if prec, scale, ok := t.NumericMod(); ok && prec <= duckDigits && scale >= 0 {
		return fmt.Sprintf("DECIMAL(%d,%d)", prec, scale)
	}
	if d, ok := v.(decimal.Decimal); ok {
		scale := max(0, -int(d.Exponent()))
		digits := max(d.NumDigits()+max(0, int(d.Exponent())), scale+1)
		if digits <= duckDigits {
			return fmt.Sprintf("DECIMAL(%d,%d)", digits, scale)
		}
		return "DOUBLE"
	}
	return fmt.Sprintf("DECIMAL(%d,%d)", duckDigits, duckScale)
}

// number is an exact inline number of a type.
func (p *printer) number(d decimal.Decimal, t sqltype.Type) (string, error) {
	text := d.String()
	switch {
	case t.OID == sqltype.OIDInt4:
		return text, nil
	case p.d == funcs.DuckDB && t.IsFloat():
		text = fmt.Sprintf("'%s'", text) // exact decimals of floats are too long for DuckDB's DECIMAL literal
	}
	name, err := p.typeName(t, d)
	if err != nil {
		return "", err
	}
	if p.d == funcs.Postgres && t.OID == sqltype.OIDNumeric {
		name = "pg_catalog.numeric" // the digits are exact as they stand
	}
	return fmt.Sprintf("CAST(%s AS %s)", text, name), nil
}

// binary is text with the collation that compares bytes.
func (p *printer) binary(x string, t sqltype.Type) string {
	if p.d == funcs.Postgres && t.IsString() {
		return x + ` COLLATE pg_catalog."C"`
	}
	return x
}
