package flow

import "math"

// net is the units and their pairs, and what a search for flows writes to: of one graph at a time. Left units are nodes of even depth, right ones of odd.
type net struct {
	starts    []int32 // of each left unit's edges
	to        []int32 // an edge's right unit
	from      []int32 // and left one
	back      []int32 // edges by right unit
	backStart []int32

	of    *Graph     // whose weights have is of
	have  [2][]int64 // what each unit's rows weigh
	caps  [2][]int64 // what a unit may still pass; -1: it is within the cap and no part of the problem
	flows column
	depth [2][]int32
	next  [2][]int32 // the edge that is tried next
	queue [2][]int32
	path  []way

	end     func() error
	work    int // since it was looked whether the time has ended
	stopped bool
}

// between is how many edges are looked at between two looks whether the time has ended: some milliseconds.
const between = 1 << 19

// ended says whether the statement's time has, where so much was done.
func (n *net) ended(work int) bool {
	if n.work += work; n.work >= between && !n.stopped {
		n.work = 0
		n.stopped = n.end != nil && n.end() != nil
	}
	return n.stopped
}

// Graph is the pairs of units with the weights of one measure, and where the flow of one cap is found: Dinic's algorithm. The zero value has no pairs.
type Graph struct {
	*net
	weight column
	total  int64
}

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
//
// Where the statement's time ends (Within.End) it is less than what it is said to be, and nobody may use it. It writes to what graphs of the same pairs share.
func (g *Graph) Value(limit int64) int64 {
	limit = min(limit, g.total, Most-1)
	if limit <= 0 || g.ended(between) || !g.weigh() {
		return 0
	}
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
	clear(g.flows.bytes)
	for l := range g.caps[0] {
		if g.ended(int(g.starts[l+1] - g.starts[l])) {
			return 0
		}
		for e := g.starts[l]; e < g.starts[l+1]; e++ {
			passes := g.weight.at(e)
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

// weigh adds up what each unit's rows weigh, where that was done of another graph last; false: the time has ended.
func (g *Graph) weigh() bool {
	if g.of == g {
		return true
	}
	g.of = nil
	clear(g.have[0])
	clear(g.have[1])
	for l := range g.have[0] {
		if g.ended(int(g.starts[l+1] - g.starts[l])) {
			return false
		}
		for e := g.starts[l]; e < g.starts[l+1]; e++ {
			w, r := g.weight.at(e), g.to[e]
			g.have[0][l], g.have[1][r] = atMost(g.have[0][l], w), atMost(g.have[1][r], w)
		}
	}
	g.of = g
	return true
}

// flow adds shortest ways until there are none.
func (g *Graph) flow() int64 {
	sum := int64(0)
	for g.layers() {
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
			if g.ended(int(g.starts[l+1] - g.starts[l])) {
				return false
			}
			for e := g.starts[l]; e < g.starts[l+1]; e++ {
				if r := g.to[e]; g.depth[1][r] < 0 && g.weight.at(e) > g.flows.at(e) {
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
			if g.ended(int(g.backStart[r+1] - g.backStart[r])) {
				return false
			}
			for _, e := range g.back[g.backStart[r]:g.backStart[r+1]] {
				if g.flows.at(e) > 0 && g.depth[0][g.from[e]] < 0 {
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
	path := g.path[:0]
	defer func() { g.path = path }()
	left, l, r := true, start, int32(0)
	for g.caps[0][start] > 0 && !g.ended(1) {
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
			if to := g.to[e]; g.weight.at(e) > g.flows.at(e) && g.depth[1][to] == g.depth[0][l]+1 {
				path = append(path, way{e, true})
				r, left = to, false
				continue
			}
			g.next[0][l]++
			continue
		}
		if g.caps[1][r] > 0 {
			g.work += len(path)
			least := min(g.caps[0][start], g.caps[1][r])
			for _, w := range path {
				if w.forward {
					least = min(least, g.weight.at(w.edge)-g.flows.at(w.edge))
				} else {
					least = min(least, g.flows.at(w.edge))
				}
			}
			for _, w := range path {
				if w.forward {
					g.flows.set(w.edge, g.flows.at(w.edge)+least)
				} else {
					g.flows.set(w.edge, g.flows.at(w.edge)-least)
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
		if e := g.back[k]; g.flows.at(e) > 0 && g.depth[0][g.from[e]] == g.depth[1][r]+1 {
			path = append(path, way{e, false})
			l, left = g.from[e], true
			continue
		}
		g.next[1][r]++
	}
	return sum
}
