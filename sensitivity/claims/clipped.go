package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// WarnClipped names the aggregates from which dpsql.clip may take what no lost mass tells: those of trees, products, distinct values and joined rows.
func (z *Measurer) WarnClipped() {
	a, names := z.Out, []string(nil)
	if !a.Clipped {
		return
	}
	unseen := func(at int) bool { return at >= 0 && a.IsClippedUnseen(at) }
	for i, f := range a.Formulas {
		if name := plan.ReadableAggregate(a.Query, a.Agg.Aggs[i]); slices.ContainsFunc(f.Uses(), unseen) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		z.Warn(fmt.Sprintf("dpsql.clip = %d cuts what people have beyond it, and intervals of %s do not include that. A larger dpsql.clip cuts less", z.Opts.MaxRows, strings.Join(names, ", ")))
	}
}
