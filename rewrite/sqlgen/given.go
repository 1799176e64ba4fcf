package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// released prints rows that were released before: an array a column as a parameter, or, on DuckDB, a list of rows. Without rows (Analysis.Given is not set: the print is only
// tried) it has none.
func (p *printer) released(n *plan.Released) *from {
	var rows [][]sqltype.Value
	if n.N < len(p.given) {
		rows = p.given[n.N]
	}
	alias := p.alias()
	f := &from{one: true, cols: map[plan.ColID]*column{}}
	names := make([]string, len(n.Columns))
	for i, id := range n.Columns {
		names[i] = quote(fmt.Sprintf("c%d", i+1))
		f.cols[id] = &column{ref: alias + "." + names[i], typ: n.Types[i]}
	}
	text := ""
	switch {
	case len(names) == 0:
		return p.nothing(internalError("a relation without columns cannot be printed"))
	case p.d == funcs.Postgres:
		text = p.arrays(n, rows)
	case len(rows) == 0:
		list := make([]string, len(names))
		for i, t := range n.Types {
			list[i] = p.constant(nil, t)
		}
		text = "(SELECT " + strings.Join(list, ", ") + " WHERE FALSE)"
	default:
		text = p.valueRows(n, rows)
	}
	text = fmt.Sprintf("%s AS %s(%s)", text, alias, strings.Join(names, ", "))
	f.text = func() string { return text }
	return f
}

// nothing is the FROM of what cannot be printed.
func (p *printer) nothing(err error) *from {
	p.fail(err)
	return &from{text: func() string { return "" }, one: true, none: true, cols: map[plan.ColID]*column{}}
}

func (p *printer) arrays(n *plan.Released, rows [][]sqltype.Value) string {
	list := make([]string, len(n.Columns))
	for i, t := range n.Types {
		array, ok := sqltype.ArrayOf(t)
		if !ok {
			return p.fail(notHere("a released column of type "+t.String(), -1))
		}
		a := &sqltype.Array{Elem: t.OID}
		for _, row := range rows {
			a.Values = append(a.Values, row[i])
		}
		if len(rows) > 0 {
			a.Dims, a.Lower = []int32{int32(len(rows))}, []int32{1}
		}
		list[i] = "pg_catalog.unnest(" + p.argument(Arg{Type: array, Value: a}) + ")"
	}
	return "ROWS FROM (" + strings.Join(list, ", ") + ")"
}

func (p *printer) valueRows(n *plan.Released, rows [][]sqltype.Value) string {
	if err := CheckGiven(p.d, n.Types, rows); err != nil {
		return p.fail(err)
	}
	lines := make([]string, len(rows))
	types := slices.Clone(n.Types)
	for j, t := range types {
		if inDecimals(p.d, t) {
			whole, places := digitsOf(rows, j)
			types[j] = sqltype.NumericOf(max(whole+places, 1), places)
		}
	}
	if !slices.ContainsFunc(types, func(t sqltype.Type) bool { return !t.IsInteger() && t.OID != sqltype.OIDNumeric }) {
		return p.lists(types, rows)
	}
	for i, row := range rows {
		vals := make([]string, len(row))
		for j, v := range row {
			vals[j] = p.constant(v, types[j])
		}
		lines[i] = "(" + strings.Join(vals, ", ") + ")"
	}
	return "(VALUES " + strings.Join(lines, ", ") + ")"
}

// lists are rows of numbers as a text a column, which DuckDB reads as a list: ten thousand rows of VALUES take it a second.
func (p *printer) lists(types []sqltype.Type, rows [][]sqltype.Value) string {
	cols := make([]string, len(types))
	for j, t := range types {
		name, err := p.typeName(t, nil)
		if err != nil {
			return p.fail(err)
		}
		vals := make([]string, len(rows))
		for i, row := range rows {
			if vals[i] = "NULL"; row[j] != nil {
				vals[i] = sqltype.FormatText(row[j], t)
			}
		}
		cols[j] = "unnest(CAST(" + p.argument(Arg{Type: sqltype.Text, Value: "[" + strings.Join(vals, ", ") + "]"}) + " AS " + name + "[]))"
	}
	return "(SELECT " + strings.Join(cols, ", ") + ")"
}

// CheckGiven refuses rows of released values, or of a statement's parameters, that a backend could only round: what differs here would be equal there. DuckDB's decimals have 38 digits, and a column has
// one scale for all.
func CheckGiven(d funcs.Dialect, types []sqltype.Type, rows [][]sqltype.Value) error {
	for j, t := range types {
		if !inDecimals(d, t) {
			continue
		}
		if whole, places := digitsOf(rows, j); whole+places > duckDigits {
			return sqlerr.New(sqlerr.NumericRange, "numerics of %d digits before the point and %d after it have no room in the data set's database, which holds %d together", whole, places, duckDigits).
				WithHint("Round them, for example, round(x, 6).")
		}
	}
	return nil
}

// paramType is a parameter's type: on DuckDB a numeric's digits, where they are known and more than what has room in any numeric parameter's type.
func (p *printer) paramType(n *plan.Param) sqltype.Type {
	if !inDecimals(p.d, n.T) {
		return n.T
	}
	if n.N <= len(p.params) {
		if whole, places := digitsOf([][]sqltype.Value{{p.params[n.N-1]}}, 0); (whole > duckDigits-duckScale || places > duckScale) && whole+places <= duckDigits {
			return sqltype.NumericOf(whole+places, places)
		}
	}
	return sqltype.NumericOf(duckDigits, duckScale)
}

// inDecimals: a numeric whose type follows from its values on DuckDB.
func inDecimals(d funcs.Dialect, t sqltype.Type) bool {
	precision, scale, fixed := t.NumericMod()
	return d == funcs.DuckDB && t.OID == sqltype.OIDNumeric && (!fixed || precision > duckDigits || scale < 0)
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
