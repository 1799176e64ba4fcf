package nested

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// Nest is a call of a row of the registry, with calls of the same row in one of its arguments.
type Nest struct {
	Name  string   // of the row, with its types and the argument
	Calls []string // expressions: Calls[i] has i+1 calls in each other
	key   bool     // its values may be groups
}

// Itself nests each row of the registry in each of its arguments, that many calls deep, where a value of its result, or a cast of it, is one of the argument.
func (g *Generator) Itself(depth int) []Nest {
	var out []Nest
	for _, f := range g.all {
		for at, t := range f.Args {
			back := "%s"
			if t != f.Result {
				if !slices.ContainsFunc(g.all, func(c *funcs.Func) bool { return c.Kind == funcs.Cast && c.Args[0] == f.Result && c.Result == t }) {
					continue
				}
				back = "cast(%s as " + sqltype.Type{OID: t, Typmod: -1}.String() + ")"
			}
			if slices.Contains(f.Const, at) && f.With != nil {
				continue
			}
			n := Nest{Name: fmt.Sprintf("%s%v %d, argument %d", f.Name, f.Args, f.Result, at+1), key: slices.Contains(keys, f.Result)}
			x := g.column(t)
			for range depth {
				args := g.args(f, g.leaf)
				args[at] = x
				call := g.call(f, args)
				n.Calls = append(n.Calls, call)
				x = fmt.Sprintf(back, call)
			}
			out = append(out, n)
		}
	}
	return out
}

func (g *Generator) column(t sqltype.OID) string {
	if cols := g.columns[t]; len(cols) > 0 {
		return one(g, cols)
	}
	return g.literal(t)
}

// Statement groups rows by the expression of that many calls, or counts its values.
func (n Nest) Statement(calls int) string {
	x := n.Calls[calls-1]
	if n.key {
		return fmt.Sprintf("select %s, count(*) from events group by 1", x)
	}
	return fmt.Sprintf("select count(%s) from events", x)
}
