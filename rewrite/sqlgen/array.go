package sqlgen

import (
	"strings"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// noArrays: DuckDB's lists have no dimensions, no lower bounds, and other rules for NULL.
func (p *printer) noArrays() bool {
	if p.d != funcs.DuckDB {
		return false
	}
	p.fail(sqlerr.New(sqlerr.PrivateFunction, "arrays cannot be computed with by the data set's database here").
		WithHint("List the values: IN (1, 2)."))
	return true
}

// array prints ARRAY[...]. Arrays inside of one must be alike, which rows may break.
func (p *printer) array(n *plan.ArrayExpr, f *from, m mode) string {
	if p.noArrays() {
		return "NULL"
	}
	if n.Nested && !p.exact {
		return p.fail(sqlerr.New(sqlerr.PrivateFunction, "arrays of arrays cannot be computed by the data set's database here"))
	}
	name, err := p.typeName(n.T, nil)
	if err != nil {
		return p.fail(err)
	}
	return "CAST(ARRAY[" + strings.Join(p.elements(n, f, m), ", ") + "] AS " + name + ")"
}

// subscript prints an element, which is NULL outside of the array.
func (p *printer) subscript(n *plan.Subscript, f *from, m mode) string {
	if p.noArrays() {
		return "NULL"
	}
	return "((" + p.scalar(n.X, f, m) + ")[" + strings.Join(p.list(n.Index, f, m), "][") + "])"
}

// anyAll prints a comparison with each element; text is ordered by its bytes.
func (p *printer) anyAll(n *plan.AnyAll, f *from, m mode) string {
	if p.noArrays() {
		return "NULL"
	}
	word := " ANY ("
	if n.All {
		word = " ALL ("
	}
	array := p.scalar(n.Array, f, m)
	if elem, ok := n.Array.Type().Elem(); ok && elem.IsString() && n.Fn.Name != "=" && n.Fn.Name != "<>" {
		array = p.binary(array, elem)
	}
	return "(" + p.scalar(n.X, f, m) + " " + n.Fn.Name + word + array + "))"
}
