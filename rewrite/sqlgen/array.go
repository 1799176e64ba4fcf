package sqlgen

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// noArrays refuses what is computed with lists: they have no dimensions, no lower bounds, and other rules for NULL.
func (p *printer) noArrays() bool {
	if p.d.Lists() == nil {
		return false
	}
	p.fail(sqlerr.New(sqlerr.PrivateFunction, "arrays cannot be computed with by the data set's database here").
		WithHint("List the values, as in x IN (1, 2); take a part of a text by split_part(x, '-', 1)."))
	return true
}

// noList refuses to read a list but where it is meant (listOf), as the array that the policy declares it to be.
func (p *printer) noList(f *from, id plan.ColID) {
	if p.d.Lists() == nil || p.form.asList {
		return
	}
	if t, ok := f.typeOf(id); ok && t.IsArray() {
		p.fail(sqlerr.New(sqlerr.PrivateFunction, "a list can only be trained on and predicted by here, or be NULL or not").
			WithHint("Name it in the query of TRAIN, or in dp_predict('model', list); IS NULL works of it, too."))
	}
}

// listOf prints an array for who reads it as a whole; as a list of its elements where it is one, also where it is stored with a length.
func (p *printer) listOf(x plan.Scalar, f *from) string {
	elem, ok := x.Type().Elem()
	lists := p.d.Lists()
	if lists == nil || !ok {
		return p.scalar(x, f, stored)
	}
	text := ""
	switch n := x.(type) {
	case *plan.Col:
		p.form.asList = true
		text = p.scalar(n, f, stored)
		p.form.asList = false
	case *plan.Const:
		a, ok := n.Value.(*sqltype.Array)
		if !ok || len(a.Dims) > 1 {
			text = "NULL"
			break
		}
		list := make([]string, len(a.Values))
		for i, v := range a.Values {
			list[i] = p.or(lists.Element(v, elem))
		}
		text = lists.Build(list)
	case *plan.ArrayExpr:
		if n.Nested {
			return p.fail(dialect.NotHere("an array of arrays", -1))
		}
		text = lists.Build(p.elements(n, f, stored))
	default:
		return p.fail(dialect.NotHere("an array that is computed", -1))
	}
	return p.or(lists.Cast(text, elem))
}

// array prints ARRAY[...]. Arrays inside of one must be alike, which rows may break.
func (p *printer) array(n *plan.ArrayExpr, f *from, m mode) string {
	if p.noArrays() {
		return "NULL"
	}
	if n.Nested && !p.form.exact {
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
	x, array := p.scalar(n.X, f, m), p.scalar(n.Array, f, m)
	if elem, ok := n.Array.Type().Elem(); ok && elem.IsString() && n.Fn.Name != "=" && n.Fn.Name != "<>" {
		x, array = p.binary(x, elem), p.binary(array, elem)
	}
	return "(" + x + " " + n.Fn.Name + word + array + "))"
}
