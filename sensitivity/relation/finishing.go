package relation

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// PrivateWay are the nodes from the top down, each the only input of the one before that reads private tables.
func PrivateWay(r plan.Rel) []plan.Rel {
	var out []plan.Rel
	for r != nil {
		out = append(out, r)
		var next plan.Rel
		for _, in := range plan.Inputs(r) {
			if !HasPrivateTable(in) {
				continue
			}
			if next != nil {
				return out
			}
			next = in
		}
		r = next
	}
	return out
}

// ReturnsRawRows reports whether a way (PrivateWay) ends at a table whose rows are chosen, ordered and computed with alone.
func ReturnsRawRows(way []plan.Rel) bool {
	_, table := way[len(way)-1].(*plan.Scan)
	return table && !slices.ContainsFunc(way[:len(way)-1], func(r plan.Rel) bool {
		switch r.(type) {
		case *plan.Filter, *plan.Project, *plan.Sort, *plan.Limit:
			return false
		}
		return true
	})
}

// HasTable reports whether a table is read. What is no known node reads one.
func HasTable(r plan.Rel) bool {
	return !plan.VisitRels(r, func(r plan.Rel) bool {
		switch r.(type) {
		case *plan.OneRow, *plan.Values, *plan.Join, *plan.Filter, *plan.Project, *plan.Aggregate, *plan.Distinct, *plan.Sort, *plan.Limit, *plan.SetOp, *plan.DistinctOn, *plan.Window:
			return true
		}
		return false
	})
}
