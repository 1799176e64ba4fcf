package synth

import "slices"

// eliminate triangulates the graph of columns and pairs by eliminating, again and again, the column whose clique is the smallest, and gives the clique of each elimination.
func eliminate(sizes []int, edges []Pair) [][]int {
	n := len(sizes)
	near := make([]map[int]bool, n)
	for i := range near {
		near[i] = map[int]bool{}
	}
	for _, e := range edges {
		near[e.A][e.B], near[e.B][e.A] = true, true
	}
	gone := make([]bool, n)
	var out [][]int
	for range n {
		best, least := -1, 0
		for v := range n {
			if gone[v] {
				continue
			}
			cells := sizes[v]
			for u := range near[v] {
				cells *= sizes[u]
			}
			if best < 0 || cells < least {
				best, least = v, cells
			}
		}
		clique := []int{best}
		for u := range near[best] {
			clique = append(clique, u)
			for w := range near[best] {
				if u != w {
					near[u][w] = true
				}
			}
			delete(near[u], best)
		}
		gone[best] = true
		slices.Sort(clique)
		out = append(out, clique)
	}
	return out
}

// largest is how many cells the largest clique has.
func largest(sizes []int, edges []Pair) (most int) {
	for _, c := range eliminate(sizes, edges) {
		most = max(most, cellsOf(sizes, c))
	}
	return most
}

func cellsOf(sizes, columns []int) int {
	n := 1
	for _, v := range columns {
		n *= sizes[v]
	}
	return n
}

func contains(all, part []int) bool {
	for _, v := range part {
		if !slices.Contains(all, v) {
			return false
		}
	}
	return true
}

// node is a clique of the junction tree. Its parent stands before it.
type node struct {
	columns []int
	parent  int   // -1: none
	shared  []int // with the parent
	up      []int32
	down    []int32 // cells of the clique, and of the parent, to cells of shared
}

// junction makes the junction tree: maximal cliques, joined where they share most columns.
func junction(sizes []int, edges []Pair) []node {
	var cliques [][]int
	all := eliminate(sizes, edges)
	for i, c := range all {
		if !slices.ContainsFunc(all[:i], func(o []int) bool { return contains(o, c) }) && !slices.ContainsFunc(all[i+1:], func(o []int) bool { return len(o) > len(c) && contains(o, c) }) {
			cliques = append(cliques, c)
		}
	}
	var out []node
	in := make([]bool, len(cliques))
	for range cliques {
		best, to, most := -1, -1, -1
		for i, c := range cliques {
			if in[i] {
				continue
			}
			if best < 0 {
				best = i
			}
			for j, o := range out {
				n := 0
				for _, v := range c {
					if slices.Contains(o.columns, v) {
						n++
					}
				}
				if n > most && n > 0 {
					best, to, most = i, j, n
				}
			}
		}
		in[best] = true
		x := node{columns: cliques[best], parent: to}
		if to >= 0 {
			for _, v := range x.columns {
				if slices.Contains(out[to].columns, v) {
					x.shared = append(x.shared, v)
				}
			}
			x.up, x.down = project(sizes, x.columns, x.shared), project(sizes, out[to].columns, x.shared)
		}
		out = append(out, x)
	}
	return out
}

// project is, for each cell of columns, the cell of part, which are some of them. The last column varies fastest.
func project(sizes, columns, part []int) []int32 {
	out := make([]int32, cellsOf(sizes, columns))
	at := make([]int, len(columns))
	place := make([]int, len(part))
	for i, v := range part {
		place[i] = slices.Index(columns, v)
	}
	for i := range out {
		cell := 0
		for j, v := range part {
			cell = cell*sizes[v] + at[place[j]]
		}
		out[i] = int32(cell) //nolint:gosec // at most mostCells
		for j := len(at) - 1; j >= 0; j-- {
			if at[j]++; at[j] < sizes[columns[j]] {
				break
			}
			at[j] = 0
		}
	}
	return out
}
