package engine

import "github.com/dpsql/dpsql/rewrite/plan"

// boundBytes is about what a node of a plan takes.
const boundBytes = 128

// Size is about the memory of what the statement is bound to: views of the catalogs and dp_predict are a few words, and thousands of nodes.
func (p *Prepared) Size() int {
	if p.Query == nil {
		return 0
	}
	seen := map[plan.Rel]bool{}
	nodes := boundNodes(p.Query.Root, seen)
	if staged := p.Staged(); staged != nil {
		for _, st := range staged.Stages {
			nodes += boundNodes(st.An.Query.Root, seen)
			if st.Ways != nil {
				nodes += 2 * boundNodes(st.An.Body.Rel, seen)
			}
		}
	}
	return nodes * boundBytes
}

// boundNodes counts relations once, wherever they are read, and their expressions.
func boundNodes(r plan.Rel, seen map[plan.Rel]bool) int {
	if r == nil || seen[r] {
		return 0
	}
	seen[r] = true
	n := 1 + len(r.Cols())
	for _, x := range plan.Scalars(r) {
		n += boundScalars(x, seen)
	}
	for _, in := range plan.Inputs(r) {
		n += boundNodes(in, seen)
	}
	return n
}

func boundScalars(x plan.Scalar, seen map[plan.Rel]bool) int {
	n := 1
	if s, ok := x.(*plan.Subquery); ok {
		n += boundNodes(s.Query, seen)
	}
	for _, y := range plan.Children(x) {
		n += boundScalars(y, seen)
	}
	return n
}
