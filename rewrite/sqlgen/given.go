package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/sqltype"
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
	lines := make([]string, len(rows))
	scales := make([]int32, len(n.Types))
	types := slices.Clone(n.Types)
	for j, t := range types {
		types[j], scales[j] = oneDecimal(t, rows, j)
	}
	for i, row := range rows {
		vals := make([]string, len(row))
		for j, v := range row {
			if d, ok := v.(decimal.Decimal); ok && types[j] != n.Types[j] {
				v = d.Round(scales[j])
			}
			vals[j] = p.constant(v, types[j])
		}
		lines[i] = "(" + strings.Join(vals, ", ") + ")"
	}
	return "(VALUES " + strings.Join(lines, ", ") + ")"
}

// oneDecimal is a decimal type for all values of a numeric column without one. DuckDB's have 38 digits: fractions beyond are rounded.
func oneDecimal(t sqltype.Type, rows [][]sqltype.Value, at int) (sqltype.Type, int32) {
	if _, _, fixed := t.NumericMod(); t.OID != sqltype.OIDNumeric || fixed {
		return t, 0
	}
	const most = 38
	whole, scale := int32(1), int32(0)
	for _, row := range rows {
		if d, ok := row[at].(decimal.Decimal); ok {
			scale = max(scale, -d.Exponent())
			whole = max(whole, int32(len(d.Abs().Truncate(0).Coefficient().String()))+max(0, d.Exponent()))
		}
	}
	if whole > most {
		return t, 0
	}
	scale = min(scale, most-whole)
	return sqltype.NumericOf(int(whole+scale), int(scale)), scale
}
