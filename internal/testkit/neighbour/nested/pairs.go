package nested

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// Pairs are sums, or counts, of each row that may be printed as PostgreSQL's own (Safe), over each float or numeric that has an interval whatever it is given, so also beside NaN: as it is, and brought to
// numerics. Columns without a range stand below.
func (g *Generator) Pairs() []string {
	var out []string
	for _, x := range g.always() {
		for _, f := range funcs.All() {
			if f.Safe == nil {
				continue
			}
			for i, t := range f.Args {
				if t != x.t || i > 0 && f.Args[0] == t {
					continue
				}
				args := make([]string, len(f.Args))
				for k, a := range f.Args {
					args[k] = fmt.Sprintf("cast('%s' as %s)", one(g, literals[a]), sqltype.Type{OID: a, Typmod: -1})
				}
				args[i] = x.text
				aggregate := "count"
				if slices.Contains(numbers, f.Result) {
					aggregate = "sum"
				}
				out = append(out, fmt.Sprintf("select %s(%s) from persons", aggregate, g.call(f, args)))
			}
		}
	}
	return out
}

type bounded struct {
	text string
	t    sqltype.OID
}

// always are calls whose interval depends on nothing, over columns with every value of their types.
func (g *Generator) always() []bounded {
	var out []bounded
	for _, f := range funcs.All() {
		if f.Range == nil || f.TotalForm == nil || len(f.Args) == 0 || !slices.Contains([]sqltype.OID{sqltype.OIDFloat8, sqltype.OIDNumeric}, f.Result) {
			continue
		}
		types := make([]sqltype.Type, len(f.Args))
		args := make([]string, len(f.Args))
		for i, a := range f.Args {
			types[i], args[i] = sqltype.Type{OID: a, Typmod: -1}, g.literal(a)
			if cols := g.columns[a]; len(cols) > 0 {
				args[i] = cols[0]
			}
		}
		if f.Range(make([]*num.Interval, len(f.Args)), types) == nil {
			continue
		}
		x := g.call(f, args)
		out = append(out, bounded{x, f.Result})
		if f.Result == sqltype.OIDFloat8 {
			out = append(out, bounded{"cast(" + x + " as numeric)", sqltype.OIDNumeric})
		}
		out = append(out, bounded{"cast(" + x + " as numeric(5,2))", sqltype.OIDNumeric})
	}
	return out
}
