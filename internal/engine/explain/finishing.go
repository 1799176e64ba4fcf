package explain

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// finishing are the nodes above what is given, each after its inputs.
func finishing(c divide.Computed) []plan.Rel {
	given := map[plan.Rel]bool{}
	for _, l := range c.Leaves {
		given[l.At] = true
	}
	var out []plan.Rel
	var visit func(r plan.Rel)
	visit = func(r plan.Rel) {
		if given[r] {
			return
		}
		for _, in := range plan.Inputs(r) {
			visit(in)
		}
		out = append(out, r)
	}
	visit(c.Root)
	return out
}

// finishingLine says what is computed from the released rows, in the order in which it is; "" where they are the answer.
func finishingLine(c divide.Computed) string {
	given := map[plan.Rel]bool{}
	for _, l := range c.Leaves {
		given[l.At] = true
	}
	literals := func(r plan.Rel) bool {
		return plan.VisitRels(r, func(r plan.Rel) bool { return !given[r] })
	}
	beside := func(left, right plan.Rel) string {
		if literals(left) || literals(right) {
			return " with literals"
		}
		return ""
	}
	var parts []string
	for _, r := range finishing(c) {
		if what := finishingStep(r, beside); what != "" {
			parts = append(parts, what)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ")
}

func finishingStep(r plan.Rel, beside func(left, right plan.Rel) string) string {
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
		return string(n.Kind) + " join" + beside(n.Left, n.Right)
	case *plan.SetOp:
		what := string(n.Op)
		if n.All {
			what += " ALL"
		}
		return what + beside(n.Left, n.Right)
	case *plan.Window:
		var names []string // each once: intervals take several of them
		for _, it := range n.Items {
			if !slices.Contains(names, string(it.Fn)) {
				names = append(names, string(it.Fn))
			}
		}
		return "window functions " + strings.Join(names, ", ")
	case *plan.Aggregate:
		var names []string // each once, as of a Window
		for _, it := range n.Aggs {
			if !slices.Contains(names, string(it.Fn)) {
				names = append(names, string(it.Fn))
			}
		}
		return strings.TrimSpace("aggregate " + strings.Join(names, ", "))
	}
	return ""
}
