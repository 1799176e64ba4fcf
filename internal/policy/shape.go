package policy

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// mostElements is how many an array may be declared to have.
const mostElements = 1 << 16

// shape reads the lengths of an array's dimensions.
func (f *file) shape(c *columnDecl, n ast.Node, what string) {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 || len(list.Values) > 6 {
		f.add(at(n), "%s must be a list of lengths", what).hint("shape: [28, 28]")
		return
	}
	all := decimal.NewFromInt(1)
	var shape []int
	for _, e := range list.Values {
		d, where, ok := f.decimal(e, what)
		if !ok {
			return
		}
		if all = all.Mul(d); !d.IsInteger() || d.Sign() <= 0 || all.GreaterThan(decimal.NewFromInt(mostElements)) {
			f.add(where, "%s: lengths are whole numbers from 1 on, of %d elements together at most", what, mostElements)
			return
		}
		shape = append(shape, int(d.IntPart()))
	}
	c.shape, c.shapeAt = shape, at(n)
}

// elements puts an array's shape and its elements' range on a column.
func (b *binding) elements(t *tableDecl, c *columnDecl, pc *plan.TableColumn) {
	what := "column " + t.String() + "." + quoteName(pc.Name)
	elem, ok := pc.Type.Elem()
	bytes := pc.Type.OID == sqltype.OIDBytea
	if bytes {
		elem, ok = sqltype.Int2, true
	}
	if !ok || !elem.IsNumber() || elem.OID == sqltype.OIDInt8 {
		b.add(c.shapeAt, "%s: shape: a column of %s has none", what, typeText(pc.Type)).hint("arrays of smallint, integer, real, double precision or numeric have one, lists of numbers on DuckDB, and bytea")
		return
	}
	lo, hi := c.lo, c.hi
	if lo == nil && bytes && c.rangeAt.line == 0 {
		zero, most := decimal.Zero, decimal.NewFromInt(255)
		lo, hi = &zero, &most
	}
	if lo == nil || !lo.LessThan(*hi) {
		b.add(c.shapeAt, "%s: shape: the elements need a range", what).hint("range: [0, 255]")
		return
	}
	if err := checkRange(*lo, *hi, elem); err != nil {
		b.add(c.rangeAt, "%s: range: %v", what, err)
		return
	}
	e := &plan.Elements{Shape: c.shape, Length: 1, Range: num.Interval{Lo: *lo, Hi: *hi}}
	for _, n := range c.shape {
		e.Length *= n
	}
	pc.Elements = e
}
