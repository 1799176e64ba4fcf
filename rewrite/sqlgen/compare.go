package sqlgen

import (
	"fmt"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// minMax prints GREATEST and LEAST, which pass NULLs over in all databases.
func (p *printer) minMax(n *plan.MinMax, f *from, m mode) string {
	name := "LEAST"
	if n.Greatest {
		name = "GREATEST"
	}
	list := p.sideBySide(n.Args, f, m, false)
	return p.d.MinMax(name, list, n.T)
}

// distinctFrom prints IS [NOT] DISTINCT FROM. Where a database would bring sides of different types to one, in which a value may have no
// room, it is refused.
func (p *printer) distinctFrom(n *plan.DistinctFrom, f *from, m mode) string {
	l, r := n.X.Type(), n.Y.Type()
	alike := l.OID == r.OID || l.IsInteger() && r.IsInteger() || l.IsFloat() && r.IsFloat() || l.IsString() && r.IsString()
	if !p.d.Facts().ComparesTypes && !alike {
		return p.fail(sqlerr.New(sqlerr.PrivateFunction, "IS DISTINCT FROM between %s and %s cannot be computed by the data set's database here", l, r).
			WithHint("Cast one side to the type of the other."))
	}
	list := p.sideBySide([]plan.Scalar{n.X, n.Y}, f, m, true)
	not := ""
	if n.Not {
		not = "NOT "
	}
	return fmt.Sprintf("(%s IS %sDISTINCT FROM %s)", p.d.DistinctArgument(list[0], l), not, p.d.DistinctArgument(list[1], l))
}
