package plan

// MostWalked is the most nodes that a pass over a statement may visit: passes take about ten microseconds a node together.
const MostWalked = 1 << 20

// Walked is how many nodes a pass visits. What stands in several places, as the operand of CASE does before each WHEN, counts at each. It looks at each node once itself, and is right up to MostWalked.
func Walked(q *Query) int {
	w := &walked{scalars: map[Scalar]int{}, rels: map[Rel]int{}}
	return w.rel(q.Root)
}

type walked struct {
	scalars map[Scalar]int
	rels    map[Rel]int
}

func (w *walked) rel(r Rel) int {
	if n, known := w.rels[r]; known {
		return n
	}
	n := 1
	for _, x := range Scalars(r) {
		n = fewer(n + w.scalar(x))
	}
	for _, in := range Inputs(r) {
		n = fewer(n + w.rel(in))
	}
	w.rels[r] = n
	return n
}

func (w *walked) scalar(x Scalar) int {
	if n, known := w.scalars[x]; known {
		return n
	}
	n := 1
	if s, ok := x.(*Subquery); ok {
		n = fewer(n + w.rel(s.Query))
	}
	for _, y := range Children(x) {
		n = fewer(n + w.scalar(y))
	}
	w.scalars[x] = n
	return n
}

// fewer keeps sums of sums from overflowing.
func fewer(n int) int { return min(n, MostWalked+1) }
