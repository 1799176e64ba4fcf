package stage

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// A count by weights (sensitivity.Pairing) is another number than the count that the statement says, so its column is named so, and a mark says it whatever the client wants to hear.

// Label is an output column's name: a count that is one by weights says so, unless the statement gives it a name of its own.
func (p *Staged) Label(o plan.Output) string {
	if o.Name == string(plan.Count) && slices.ContainsFunc(p.Stages, (*Stage).IsWeighted) && p.weightedColumns().isWeighted(o.Col) {
		return "weighted_" + o.Name
	}
	return o.Name
}

// weightedColumns are the columns of a statement's answer that are counts by weights, and what others are made of.
type weightedColumns struct {
	counts map[plan.ColID]bool
	of     map[plan.ColID][]plan.ColID
}

// weightedColumns finds them: in what is released for the answer, wherever that stands in the statement.
func (p *Staged) weightedColumns() weightedColumns {
	w := weightedColumns{map[plan.ColID]bool{}, map[plan.ColID][]plan.ColID{}}
	for _, l := range p.Program.Answer.Leaves {
		for _, part := range l.Parts {
			for i, v := range part.Values {
				if v.From >= 0 && p.Stages[part.Stage].IsWeighted() { // which has no keys
					w.counts[l.Cols[i]] = true
				}
			}
		}
	}
	w.read(p.Program.Answer.Root)
	return w
}

// read notes what columns are made of. Those of aggregates and windows are numbers of their own.
func (w weightedColumns) read(r plan.Rel) {
	for _, x := range plan.Scalars(r) {
		if x != nil {
			plan.VisitQueries(x, func(s *plan.Subquery) bool {
				w.read(s.Query)
				return true
			})
		}
	}
	switch n := r.(type) {
	case *plan.Project:
		for _, it := range n.Items {
			plan.VisitCols(it.Expr, func(c *plan.Col) { w.from(it.ID, c.ID) })
			plan.VisitQueries(it.Expr, func(s *plan.Subquery) bool {
				w.from(it.ID, s.Cols...)
				return true
			})
		}
	case *plan.SetOp:
		for i, id := range n.Columns {
			w.from(id, n.LeftCols[i], n.RightCols[i])
		}
	}
	for _, in := range plan.Inputs(r) {
		w.read(in)
	}
}

func (w weightedColumns) from(id plan.ColID, ids ...plan.ColID) {
	for _, c := range ids {
		if c != id && !slices.Contains(w.of[id], c) {
			w.of[id] = append(w.of[id], c)
		}
	}
}

// isWeighted says that the column is a count by weights, or made of one.
func (w weightedColumns) isWeighted(id plan.ColID) bool {
	seen, todo := map[plan.ColID]bool{}, []plan.ColID{id}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; w.counts[at] {
			return true
		}
		if !seen[at] {
			seen[at] = true
			todo = append(todo, w.of[at]...)
		}
	}
	return false
}
