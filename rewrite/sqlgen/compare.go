package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// minMax prints GREATEST and LEAST, which pass NULLs over on both backends; text is ordered by its bytes.
func (p *printer) minMax(n *plan.MinMax, f *from, m mode) string {
	name := "LEAST"
	if n.Greatest {
		name = "GREATEST"
	}
	list := p.sideBySide(n.Args, f, m)
	for i := range list {
		switch {
		case p.d == funcs.Postgres && n.T.IsString():
			list[i] = "(" + list[i] + ` COLLATE pg_catalog."C")`
		case p.d == funcs.DuckDB && n.T.OID == sqltype.OIDBPChar:
			list[i] = "rtrim(" + list[i] + ", ' ')"
		}
	}
	return name + "(" + strings.Join(list, ", ") + ")"
}

// distinctFrom prints IS [NOT] DISTINCT FROM. DuckDB would bring sides of different types to one, where a value may have no
// room: refused there.
func (p *printer) distinctFrom(n *plan.DistinctFrom, f *from, m mode) string {
	l, r := n.X.Type(), n.Y.Type()
	alike := l.OID == r.OID || l.IsInteger() && r.IsInteger() || l.IsFloat() && r.IsFloat() || l.IsString() && r.IsString()
	if p.d == funcs.DuckDB && !alike {
		return p.fail(sqlerr.New(sqlerr.PrivateFunction, "IS DISTINCT FROM between %s and %s cannot be computed by the data set's database here", l, r).
			WithHint("Cast one side to the type of the other."))
	}
	list := p.sideBySide([]plan.Scalar{n.X, n.Y}, f, m)
	if p.d == funcs.DuckDB && l.OID == sqltype.OIDBPChar {
		list[0], list[1] = "rtrim("+list[0]+", ' ')", "rtrim("+list[1]+", ' ')"
	}
	not := ""
	if n.Not {
		not = "NOT "
	}
	return fmt.Sprintf("(%s IS %sDISTINCT FROM %s)", list[0], not, list[1])
}
