package elastic

import (
	"errors"
	"math"
	"slices"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Moves is how many of a grid's steps one unit moves a smooth bound's place by, at most.
const Moves = logMoves + 1

const logMoves = 64

// Grid turns a smooth bound into a whole number, to which noise is added (noise.Smoother), and what is released back into a bound among public edges. Beta is the smoothness that Formula.Smooth is to be asked for.
type Grid struct {
	Beta  float64
	Edges []uint64 // ascending, the first 1
}

// The ends of beta: a smaller one would make rounding errors a part of a step, a larger one is of no use.
const (
	leastBeta = 1e-5
	mostBeta  = 1
)

// overBeta is how many times ln(1/(2 delta)) of the noise that raises the scale an e-fold of it is: it is raised by a factor of about exp(1/overBeta). A larger number raises it less and makes beta smaller, so that the smooth bound looks further.
const overBeta = 2

// CandidateBounds lists edges: from 1 to last, each larger than the one before by 5% or by 1.
func CandidateBounds(last uint64) []uint64 {
	var out []uint64
	for t := uint64(1); t < last; t += max(1, t/20) {
		out = append(out, t)
	}
	return append(out, last)
}

// GridOf is the grid by which a scale is released: all of it follows from the event, which is public.
func GridOf(ev dp.SmoothScale, edges []uint64) (Grid, error) {
	if ev.Steps < Moves {
		return Grid{}, errors.New("elastic: a scale whose noise is for fewer steps than a unit moves it by")
	}
	return newGrid(float64(ev.Steps)/ev.Scale.Float(), ev.Delta, edges)
}

// newGrid is the grid for a release of the scale at a pure loss of epsilon with a margin of delta (budget.Filter.SmoothScale with steps Moves), both public.
//
// The margin is about Moves/epsilon ln(1/(2 delta)) steps of Beta/64, so the released bound is about exp(Beta/epsilon ln(1/(2 delta))) times the smooth one.
func newGrid(epsilon, delta float64, edges []uint64) (Grid, error) {
	if !(epsilon > 0) || !(delta > 0 && delta < 0.5) {
		return Grid{}, errors.New("elastic: a scale is released with an epsilon and a delta")
	}
	if len(edges) == 0 || edges[0] != 1 || !slices.IsSorted(edges) {
		return Grid{}, errors.New("elastic: edges of scales ascend from 1")
	}
	beta := epsilon / (overBeta * math.Log(1/(2*delta)))
	return Grid{Beta: math.Min(mostBeta, math.Max(leastBeta, beta)), Edges: edges}, nil
}

// Step is the place of a smooth bound: secret.
//
// Proof: claim: of neighbours' Formula.Smooth(values, Beta) it moves by at most Moves. ln Smooth moves by at most Beta (Formula.Smooth), and so does the logarithm after Smooth is brought between 1 and the last edge. Divided by g = Beta/64 that is at most 64. The float64's error: Smooth is off by less than
// 1e-9 of itself, ln by as much, over g at least leastBeta/64 that is 0.0064 of a step; the division's and the logarithm's own roundings are below 1e-7 of a step, as the place is below 2^29. So the rounded-up places differ by at most the next whole number above 64.02.
func (g Grid) Step(smooth float64) int64 {
	last := float64(g.Edges[len(g.Edges)-1])
	return int64(math.Ceil(math.Log(math.Min(math.Max(smooth, 1), last)) / g.step()))
}

// step is one of places, in logarithms of bounds.
func (g Grid) step() float64 { return g.Beta / logMoves }

// Factor is that by which a bound is larger so many steps further on. It proves nothing: for what is expected of a release, and how that is told.
func (g Grid) Factor(steps float64) float64 { return math.Exp(g.step() * steps) }

// Edge is the index of the edge for a released place: the least that is at least the bound of that place, or else the last.
//
// Proof: claim: where the released place is at least Step(smooth), the edge is at least the bound that smooth is of, or is the last edge. ln smooth <= g Step(smooth) <= g released but for roundings, below 1e-13 of a logarithm of at most 40; Formula.Smooth lies above its bound by 1e-10 of it, which is more.
// Where smooth was brought down to the last edge, released is at least that edge's place, so the last edge or one whose logarithm is no less: the last. The caller clamps numbers so that no unit changes them by more than the last edge.
func (g Grid) Edge(released int64) int {
	want := float64(released) * g.step()
	at, _ := slices.BinarySearchFunc(g.Edges, want, func(edge uint64, want float64) int {
		if math.Log(float64(edge)) < want {
			return -1
		}
		return 1
	})
	return min(at, len(g.Edges)-1)
}
