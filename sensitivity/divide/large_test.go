package divide_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/sensitivity"
)

// wide is a table of people's rows with so many columns.
func wide(columns int) string {
	var b strings.Builder
	b.WriteString("people unit=u key=u\n  u int4 notnull\nwide unit=u path=u->people.u m=2\n  u int4\n")
	for i := range columns {
		fmt.Fprintf(&b, "  c%d int4 range=1..1000\n", i)
	}
	return b.String()
}

// TestLargeJoins: joins off the unit whose formula would be too large are refused, whatever makes it so: keys of several columns, of which ever more are asked for; its text; tables; columns that are equal, in however many ways. What is just small enough is answered.
func TestLargeJoins(t *testing.T) {
	from := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("wide t%d", i))
		}
		return "SELECT count(*) FROM " + strings.Join(list, ", ") + " WHERE "
	}
	each := func(n int, say func(i int) []string) string {
		var conds []string
		for i := 1; i < n; i++ {
			conds = append(conds, say(i)...)
		}
		return from(n) + strings.Join(conds, " AND ")
	}
	chain := func(i int) []string { return []string{fmt.Sprintf("t%d.c1 = t%d.c2", i, i-1)} }
	toEach := func(i int) (out []string) {
		for j := range i {
			out = append(out, fmt.Sprintf("t%d.c%d = t%d.c%d", i, j, j, i))
		}
		return out
	}
	columns := func(n int, say string) func(int) []string {
		return func(i int) (out []string) {
			for c := range n {
				out = append(out, fmt.Sprintf(say, i, c))
			}
			return out
		}
	}
	for name, c := range map[string]struct {
		sql      string
		answered bool
	}{
		"a chain":                   {each(7, chain), true},
		"a longer text":             {each(8, chain), false},
		"keys of ever more columns": {each(6, toEach), true},
		"of too many":               {each(12, toEach), false},
		"a key of many columns":     {each(2, columns(100, "t%d.c%[2]d = t0.c%[2]d")), true},
		"of more":                   {each(2, columns(101, "t%d.c%[2]d = t0.c%[2]d")), false},
		"all equal to one":          {each(2, columns(100, "t%d.c%d = t0.c0")), true},
		"more are":                  {each(2, columns(101, "t%d.c%d = t0.c0")), false},
		"of many tables":            {each(12, columns(110, "t%d.c%d = t0.c0")), false},
		"more tables":               {each(13, chain), false},
	} {
		q, err := boundIn(wide(110), c.sql)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		opts := options()
		opts.OffUnit = sensitivity.AnyOffUnit
		_, err = neighbour.AnalyzeQuery(context.Background(), q, opts)
		if (err == nil) != c.answered || err != nil && sqlerr.ID(err) != sqlerr.TooComplex.ID {
			t.Errorf("%s: %v", name, err)
		}
		opts.Truncate = true // of which no frequency is declared
		if _, err = neighbour.AnalyzeQuery(context.Background(), q, opts); sqlerr.ID(err) != sqlerr.TooComplex.ID && sqlerr.ID(err) != sqlerr.JoinOffUnit.ID {
			t.Errorf("%s, cut: %v", name, err)
		}
	}
}
