// Package flow bounds what rows of two units give: a row that belongs to a unit of each of two kinds (a customer's and a supplier's) is counted as far as a maximum flow between the
// kinds carries it, in which no unit passes more than a cap. It works on secret weights; nothing of it is printed.
package flow

import (
	"errors"
	"math"
	"slices"
)

// Pairs takes in, for each pair of units, how much its rows weigh together, in whole steps.
type Pairs struct {
	left, right   []int32
	weight        []int64
	lefts, rights int32 // number of units of each kind
}

var (
	errPair = errors.New("flow: a pair has a negative unit or weight")
	errMany = errors.New("flow: too many pairs")
)

// Most is where sums end: of what a unit's rows weigh, and of a flow. Whether weights add up to more is a secret, so it is no error.
const Most = math.MaxInt64 / 4

// atMost adds what is not negative and at most Most each.
func atMost(a, b int64) int64 { return min(a+b, Most) }

// Add takes one pair in. Units are numbered from 0, each kind for itself; a pair may come several times.
func (p *Pairs) Add(left, right int32, weight int64) error {
	switch {
	case left < 0 || right < 0 || weight < 0 || left == math.MaxInt32 || right == math.MaxInt32:
		return errPair
	case len(p.left) >= math.MaxInt32:
		return errMany
	case weight == 0:
		return nil
	}
	p.left, p.right, p.weight = append(p.left, left), append(p.right, right), append(p.weight, min(weight, Most))
	p.lefts, p.rights = max(p.lefts, left+1), max(p.rights, right+1)
	return nil
}

// Graph ends the taking in.
func (p *Pairs) Graph() *Graph {
	g := &Graph{starts: make([]int32, p.lefts+1), backStart: make([]int32, p.rights+1)}
	g.have = [2][]int64{make([]int64, p.lefts), make([]int64, p.rights)}
	for i, w := range p.weight {
		l, r := p.left[i], p.right[i]
		g.starts[l+1]++
		g.backStart[r+1]++
		g.have[0][l], g.have[1][r] = atMost(g.have[0][l], w), atMost(g.have[1][r], w)
		g.total = atMost(g.total, w)
	}
	for u := range p.lefts {
		g.starts[u+1] += g.starts[u]
	}
	for u := range p.rights {
		g.backStart[u+1] += g.backStart[u]
	}
	n := len(p.weight)
	g.to, g.weight, g.flows = make([]int32, n), make([]int64, n), make([]int64, n)
	at := slices.Clone(g.starts)
	for i, w := range p.weight {
		e := at[p.left[i]]
		at[p.left[i]]++
		g.to[e], g.weight[e] = p.right[i], w
	}
	*p = Pairs{}
	g.from, g.back = make([]int32, n), make([]int32, n)
	at = slices.Clone(g.backStart)
	for l := range int32(len(g.starts) - 1) {
		for e := g.starts[l]; e < g.starts[l+1]; e++ {
			g.from[e] = l
			r := g.to[e]
			g.back[at[r]] = e
			at[r]++
		}
	}
	for kind := range g.caps {
		units := len(g.have[kind])
		g.caps[kind], g.depth[kind], g.next[kind] = make([]int64, units), make([]int32, units), make([]int32, units)
	}
	return g
}

// Graph is the pairs of units, and where the flow of one cap is found: Dinic's algorithm. Left units are nodes of even depth, right ones of odd.
type Graph struct {
	total     int64
	have      [2][]int64 // what each unit's rows weigh
	caps      [2][]int64 // what a unit may still pass; -1: it is within the cap and no part of the problem
	starts    []int32    // of each left unit's edges
	to        []int32    // an edge's right unit
	from      []int32    // and left one
	weight    []int64
	flows     []int64
	back      []int32 // edges by right unit
	backStart []int32
	depth     [2][]int32
	next      [2][]int32 // the edge that is tried next
	queue     [2][]int32
	ended     func() bool
}

// Until lets the search for flows end early: values are then less than what they are said to be, and nobody may use them.
func (g *Graph) Until(ended func() bool) { g.ended = ended }

// Total is the sum of all weights: what Value is where the cap cuts nothing. A secret.
func (g *Graph) Total() int64 { return g.total }

// Value is the maximum flow at a cap; above Most it is Most.
//
// Proof: claim: (a) one unit more or less, of either kind, changes the value by at most cap, and never in the other direction; (b) the value is a concave, nondecreasing function of cap, 0 at 0.
// (a) Without the unit the flow that does not pass it is a flow, and at most cap passes it; with it the old flow is one. (b) A flow at cap s and one at cap t mix to one at the mixed cap, as all
// conditions are linear; at whole caps and weights the linear program has a whole optimum, so its value is that of the whole flow.
// The least of it and a number keeps (a), and is nondecreasing. Sums that are cut at Most are of what a unit has, which is only held against caps below, and of flows, whose least with Most they are.
//
// Only pairs of two units that are over the cap are a problem to solve. A pair of two units within it flows whole. A unit over it passes first what it has with units within it, which takes from no
// other unit's cap: exchanging a step of any other flow for such a one never lessens the total.
func (g *Graph) Value(limit int64) int64 {
	if limit <= 0 {
		return 0
	}
	limit = min(limit, g.total, Most-1)
	over := [2]bool{}
	for kind := range g.have {
		for u, has := range g.have[kind] {
			g.caps[kind][u] = -1
			if has > limit {
				g.caps[kind][u] = limit
				over[kind] = true
			}
		}
	}
	if !over[0] && !over[1] {
		return g.total
	}
	value := int64(0)
	clear(g.flows)
	for l := range g.caps[0] {
		for e := g.starts[l]; e < g.starts[l+1]; e++ {
			passes := g.weight[e]
			switch r := g.to[e]; {
			case g.caps[0][l] >= 0 && g.caps[1][r] >= 0:
				continue
			case g.caps[0][l] >= 0:
				passes = min(passes, g.caps[0][l])
				g.caps[0][l] -= passes
			case g.caps[1][r] >= 0:
				passes = min(passes, g.caps[1][r])
				g.caps[1][r] -= passes
			}
			value = atMost(value, passes)
		}
	}
	if over[0] && over[1] {
		value = atMost(value, g.flow())
	}
	return value
}

// flow adds shortest ways until there are none.
func (g *Graph) flow() int64 {
	sum := int64(0)
	for (g.ended == nil || !g.ended()) && g.layers() {
		copy(g.next[0], g.starts)
		copy(g.next[1], g.backStart)
		for l := range g.caps[0] {
			if g.depth[0][l] == 0 {
				sum = atMost(sum, g.push(int32(l)))
			}
		}
	}
	return sum
}

// layers numbers the units by their distance from left units that may pass more, up to the first right ones that may.
func (g *Graph) layers() bool {
	lefts, rights := g.queue[0][:0], g.queue[1][:0]
	for l, c := range g.caps[0] {
		g.depth[0][l] = -1
		if c > 0 {
			g.depth[0][l] = 0
			lefts = append(lefts, int32(l))
		}
	}
	ends := false
	for r, c := range g.caps[1] {
		g.depth[1][r] = -1
		if ends = ends || c > 0; c < 0 {
			g.depth[1][r] = math.MaxInt32 // not here
		}
	}
	if !ends {
		return false
	}
	found := false
	for depth := int32(0); len(lefts) > 0 && !found; depth += 2 {
		rights = rights[:0]
		for _, l := range lefts {
			for e := g.starts[l]; e < g.starts[l+1]; e++ {
				if r := g.to[e]; g.depth[1][r] < 0 && g.weight[e] > g.flows[e] {
					g.depth[1][r] = depth + 1
					found = found || g.caps[1][r] > 0
					rights = append(rights, r)
				}
			}
		}
		lefts = lefts[:0]
		if found {
			break
		}
		for _, r := range rights {
			for _, e := range g.back[g.backStart[r]:g.backStart[r+1]] {
				if g.flows[e] > 0 && g.depth[0][g.from[e]] < 0 {
					g.depth[0][g.from[e]] = depth + 2
					lefts = append(lefts, g.from[e])
				}
			}
		}
	}
	g.queue = [2][]int32{lefts, rights}
	return found
}

// way is a step of the way from a left unit to where it may end.
type way struct {
	edge    int32
	forward bool
}

// push sends what goes from one left unit along shortest ways.
func (g *Graph) push(start int32) (sum int64) {
	var path []way
	left, l, r := true, start, int32(0)
	for g.caps[0][start] > 0 {
		if left {
			e := g.next[0][l]
			if e == g.starts[l+1] { // a dead end
				if len(path) == 0 {
					return sum
				}
				r, left = g.to[path[len(path)-1].edge], false
				path = path[:len(path)-1]
				g.next[1][r]++
				continue
			}
			if to := g.to[e]; g.weight[e] > g.flows[e] && g.depth[1][to] == g.depth[0][l]+1 {
				path = append(path, way{e, true})
				r, left = to, false
				continue
			}
			g.next[0][l]++
			continue
		}
		if g.caps[1][r] > 0 {
			least := min(g.caps[0][start], g.caps[1][r])
			for _, w := range path {
				if w.forward {
					least = min(least, g.weight[w.edge]-g.flows[w.edge])
				} else {
					least = min(least, g.flows[w.edge])
				}
			}
			for _, w := range path {
				if !w.forward {
					g.flows[w.edge] -= least
				} else {
					g.flows[w.edge] += least
				}
			}
			g.caps[0][start] -= least
			g.caps[1][r] -= least
			sum += least
			path, l, left = path[:0], start, true // edges that are full are passed over
			continue
		}
		k := g.next[1][r]
		if k == g.backStart[r+1] { // a dead end
			l, left = g.from[path[len(path)-1].edge], true
			path = path[:len(path)-1]
			g.next[0][l]++
			continue
		}
		if e := g.back[k]; g.flows[e] > 0 && g.depth[0][g.from[e]] == g.depth[1][r]+1 {
			path = append(path, way{e, false})
			l, left = g.from[e], true
			continue
		}
		g.next[1][r]++
	}
	return sum
}
