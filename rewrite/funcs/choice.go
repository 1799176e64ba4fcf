package funcs

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// ChoiceName is the function that gives, for a place, that of the values after it. It is no row of All: the binder makes it of a CASE over a model's class, in which that would stand before each WHEN.
const ChoiceName = "dp_choice"

// NewChoice is the row for n values of a type, of which the places are 0 to n-1.
func NewChoice(t sqltype.OID, n int) *Func {
	f := &Func{Name: ChoiceName, Kind: Function, Args: oids(i4), Result: t}
	for range n {
		f.Args = append(f.Args, t)
	}
	f.Eval = func(args []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		at, ok := args[0].(int64)
		if !ok || at < 0 || at >= int64(n) {
			return nil, badScores()
		}
		return args[1+at], nil
	}
	f.Range = func(list []*num.Interval, _ []sqltype.Type) *num.Interval {
		out := list[1]
		for _, iv := range list[2:] {
			out = out.Hull(iv)
		}
		return out
	}
	form := func(d dialect.Dialect) func([]string, []sqltype.Type, sqltype.Type) string {
		return func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
			var whens strings.Builder
			for i, v := range x[1:] {
				fmt.Fprintf(&whens, " WHEN %d THEN %s", i, v)
			}
			return d.SimpleCase(x[0], whens.String())
		}
	}
	f.TotalForm = Forms{Postgres: form(Postgres), DuckDB: form(DuckDB)}
	f.RaisingForm = f.TotalForm
	return f
}
