package duckdb

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Released are lists of numbers, or VALUES.
func (d duckdb) Released(types []sqltype.Type, rows [][]sqltype.Value, constant func(sqltype.Value, sqltype.Type) string) (string, error) {
	if len(rows) == 0 {
		list := make([]string, len(types))
		for i, t := range types {
			list[i] = constant(nil, t)
		}
		return "(SELECT " + strings.Join(list, ", ") + " WHERE FALSE)", nil
	}
	if err := d.CheckRows(types, rows); err != nil {
		return "", err
	}
	types = slices.Clone(types)
	for j, t := range types {
		if inDecimals(t) {
			whole, places := digitsOf(rows, j)
			types[j] = sqltype.NumericOf(max(whole+places, 1), places)
		}
	}
	if !slices.ContainsFunc(types, func(t sqltype.Type) bool { return !t.IsInteger() && t.OID != sqltype.OIDNumeric }) {
		return d.numbers(types, rows, constant)
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		vals := make([]string, len(row))
		for j, v := range row {
			vals[j] = constant(v, types[j])
		}
		lines[i] = "(" + strings.Join(vals, ", ") + ")"
	}
	return "(VALUES " + strings.Join(lines, ", ") + ")", nil
}

// numbers are rows of numbers as a text a column, which DuckDB reads as a list: ten thousand rows of VALUES take it a second.
func (d duckdb) numbers(types []sqltype.Type, rows [][]sqltype.Value, constant func(sqltype.Value, sqltype.Type) string) (string, error) {
	cols := make([]string, len(types))
	for j, t := range types {
		name, err := d.TypeName(t, nil)
		if err != nil {
			return "", err
		}
		vals := make([]string, len(rows))
		for i, row := range rows {
			if vals[i] = "NULL"; row[j] != nil {
				vals[i] = sqltype.FormatText(row[j], t)
			}
		}
		cols[j] = "unnest(CAST(" + constant("["+strings.Join(vals, ", ")+"]", sqltype.Text) + " AS " + name + "[]))"
	}
	return "(SELECT " + strings.Join(cols, ", ") + ")", nil
}

// CheckRows: DuckDB's decimals have 38 digits, and a column has one scale for all.
func (duckdb) CheckRows(types []sqltype.Type, rows [][]sqltype.Value) error {
	for j, t := range types {
		if !inDecimals(t) {
			continue
		}
		if whole, places := digitsOf(rows, j); whole+places > digits {
			return sqlerr.New(sqlerr.NumericRange, "numerics of %d digits before the point and %d after it have no room in the data set's database, which holds %d together", whole, places, digits).
				WithHint("Round them, for example, round(x, 6).")
		}
	}
	return nil
}

// ParamType is a numeric's digits, where they are known and more than what has room in any numeric parameter's type.
func (duckdb) ParamType(t sqltype.Type, v sqltype.Value) sqltype.Type {
	if !inDecimals(t) {
		return t
	}
	if whole, places := digitsOf([][]sqltype.Value{{v}}, 0); (whole > digits-paramScale || places > paramScale) && whole+places <= digits {
		return sqltype.NumericOf(whole+places, places)
	}
	return sqltype.NumericOf(digits, paramScale)
}

// inDecimals: a numeric whose type follows from its values.
func inDecimals(t sqltype.Type) bool {
	precision, scale, fixed := t.NumericMod()
	return t.OID == sqltype.OIDNumeric && (!fixed || precision > digits || scale < 0)
}

// digitsOf are how many digits a column's numbers have before the point, and after it without zeros at the end.
func digitsOf(rows [][]sqltype.Value, at int) (whole, places int) {
	for _, row := range rows {
		d, ok := row[at].(decimal.Decimal)
		if !ok || d.IsZero() {
			continue
		}
		n := len(strings.TrimRight(d.Abs().Coefficient().String(), "0")) - d.NumDigits() - int(d.Exponent()) // places without the zeros
		whole, places = max(whole, d.NumDigits()+int(d.Exponent())), max(places, n)
	}
	return whole, places
}

type lists struct{}

// elementName is the type of an element; a numeric is a double, as a list has one scale for all.
func elementName(elem sqltype.Type) (string, error) {
	if elem.OID == sqltype.OIDNumeric {
		return "DOUBLE", nil
	}
	return duckdb{}.TypeName(elem, nil)
}

func (lists) Element(v sqltype.Value, elem sqltype.Type) (string, error) {
	if v == nil {
		return "NULL", nil
	}
	name, err := elementName(elem)
	return "TRY_CAST(" + literal(sqltype.FormatText(v, elem)) + " AS " + name + ")", err
}

func (lists) Build(elements []string) string { return "[" + strings.Join(elements, ", ") + "]" }

func (lists) Cast(x string, elem sqltype.Type) (string, error) {
	name, err := elementName(elem)
	return "CAST(" + x + " AS " + name + "[])", err
}
