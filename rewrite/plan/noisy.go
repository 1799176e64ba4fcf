package plan

import "slices"

// NoisyColumns are the columns of a plan that follow from released numbers.
type NoisyColumns struct {
	Cols     map[ColID]bool
	Released map[Rel]bool // relations whose columns are marked already, and whether they are released
}

// Visit marks a relation's own columns, those below it first, and says whether it reads released rows.
func (n *NoisyColumns) Visit(r Rel) bool {
	if released, given := n.Released[r]; given {
		return released
	}
	reads, below := false, []ColID(nil)
	for _, in := range Inputs(r) {
		reads = n.Visit(in) || reads
		below = append(below, in.Cols()...)
	}
	for _, x := range Scalars(r) {
		VisitQueries(x, func(q *Subquery) bool {
			for _, it := range q.Left {
				if ReadsAny(it.Expr, n.Cols) {
					n.Cols[it.ID] = true
				}
			}
			reads = n.Visit(q.Query) || reads
			return true
		})
	}
	switch r := r.(type) {
	case *Project:
		for _, it := range r.Items {
			if ReadsAny(it.Expr, n.Cols) {
				n.Cols[it.ID] = true
			}
		}
	case *SetOp:
		left, right := r.Left.Cols(), r.Right.Cols()
		for i, id := range r.Cols() {
			if n.Cols[left[i]] || n.Cols[right[i]] {
				n.Cols[id] = true
			}
		}
	default: // aggregates and window functions: which rows there are follows from released numbers
		for _, id := range r.Cols() {
			if reads && !slices.Contains(below, id) {
				n.Cols[id] = true
			}
		}
	}
	return reads
}
