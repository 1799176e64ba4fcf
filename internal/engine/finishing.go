package engine

import (
	"strings"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// finishing are the nodes above the released aggregate, from the top.
func finishing(a *sensitivity.Analysis) []plan.Rel {
	var way func(r plan.Rel) ([]plan.Rel, bool)
	way = func(r plan.Rel) ([]plan.Rel, bool) {
		if r == plan.Rel(a.Agg) {
			return nil, true
		}
		for _, in := range plan.Inputs(r) {
			if below, ok := way(in); ok {
				return append([]plan.Rel{r}, below...), true
			}
		}
		return nil, false
	}
	out, _ := way(a.Query.Root)
	return out
}

// finishingLine says what is computed from the released rows, in the order in which it is; "" where they are the answer.
func finishingLine(a *sensitivity.Analysis) string {
	var parts []string
	for _, r := range finishing(a) {
		if what := finishingStep(r); what != "" {
			parts = append([]string{what}, parts...)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Finishing, from the released rows: " + strings.Join(parts, "; ")
}

func finishingStep(r plan.Rel) string {
	switch n := r.(type) {
	case *plan.Filter:
		return "filter"
	case *plan.Distinct:
		return "distinct"
	case *plan.DistinctOn:
		return "first row of each group (DISTINCT ON)"
	case *plan.Sort:
		return "sort"
	case *plan.Limit:
		if n.Ties {
			return "limit with ties"
		}
		return "limit"
	case *plan.Join:
		return string(n.Kind) + " join with literals"
	case *plan.SetOp:
		what := string(n.Op)
		if n.All {
			what += " ALL"
		}
		return what + " with literals"
	case *plan.Window:
		names := make([]string, len(n.Items))
		for i, it := range n.Items {
			names[i] = string(it.Fn)
		}
		return "window functions " + strings.Join(names, ", ")
	case *plan.Aggregate:
		names := make([]string, len(n.Aggs))
		for i, it := range n.Aggs {
			names[i] = string(it.Fn)
		}
		return strings.TrimSpace("aggregate " + strings.Join(names, ", "))
	}
	return ""
}
