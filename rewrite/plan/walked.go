package plan

import "github.com/dpsql/dpsql/internal/base/sqltype"

// MostWalked is the most nodes that a pass over a statement may visit: passes take about ten microseconds a node together.
const MostWalked = 1 << 20

// Walked is how many nodes a pass visits. What stands in several places, as the operand of CASE does before each WHEN, counts at each, and below an aggregate so does what a derived column computes, wherever the column is read: what is above is computed once a row. A long constant counts by its length. Walked looks at each node once itself, and is right up to MostWalked.
func Walked(q *Query) int {
	w := &walked{scalars: map[Scalar]int{}, rels: map[Rel]int{}, cols: map[ColID]int{}}
	return w.rel(q.Root)
}

type walked struct {
	scalars map[Scalar]int
	rels    map[Rel]int
	cols    map[ColID]int // those of projections below aggregates
	below   int           // so many aggregates
}

func (w *walked) rel(r Rel) int {
	if n, known := w.rels[r]; known {
		return n
	}
	n := 1
	if _, ok := r.(*Aggregate); ok {
		w.below++
		defer func() { w.below-- }()
	}
	for _, in := range Inputs(r) { // their columns are read here
		n = fewer(n + w.rel(in))
	}
	if p, ok := r.(*Project); ok && w.below > 0 {
		for _, it := range p.Items {
			if c, same := it.Expr.(*Col); !same || c.ID != it.ID {
				w.cols[it.ID] = w.scalar(it.Expr)
			}
		}
	}
	for _, x := range Scalars(r) {
		n = fewer(n + w.scalar(x))
	}
	w.rels[r] = n
	return n
}

func (w *walked) scalar(x Scalar) int {
	if n, known := w.scalars[x]; known {
		return n
	}
	n := 1
	switch y := x.(type) {
	case *Subquery:
		n = fewer(n + w.rel(y.Query))
	case *Col:
		n = fewer(n + w.cols[y.ID])
	case *Const:
		n = fewer(n + length(y.Value))
	}
	for _, y := range Children(x) {
		n = fewer(n + w.scalar(y))
	}
	w.scalars[x] = n
	return n
}

// length is what a constant adds to one node.
func length(v sqltype.Value) int {
	switch v := v.(type) {
	case string:
		return len(v) / 64
	case sqltype.Bytes:
		return len(v) / 64
	case sqltype.JSON:
		return len(v) / 64
	case *sqltype.Array:
		return len(v.Values)
	}
	return 0
}

// fewer keeps sums of sums from overflowing.
func fewer(n int) int { return min(n, MostWalked+1) }
