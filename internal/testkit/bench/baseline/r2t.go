package baseline

import (
	"math"

	"github.com/dpsql/dpsql/internal/engine/flow"
)

// Race is Race-to-the-Top for a sum without self-joins (Dong, Fang, Yi, Tao, Machanavajjhala, "R2T: Instance-optimal Truncation for
// Differentially Private Query Evaluation with Foreign Keys", SIGMOD 2022, section 5): for tau = base, base^2, ..., base^L, the last
// power that is at most GS, the sum with each person cut at tau gets Laplace noise of scale L tau/epsilon less a penalty of
// L ln(L/beta) tau/epsilon; the largest of them, or 0, is the answer. The paper's base is 2; its authors' program has 5.5.
type Race struct {
	Epsilon, Beta float64
	taus, sums    []float64
}

// Beta is the failure probability that the paper's experiments have.
const Beta = 0.1

// NewRace prepares a race over partials that are not negative. gs is the global sensitivity that is assumed of one person.
func NewRace(values []float64, epsilon, gs, beta, base float64) *Race {
	return newRace(func(tau float64) float64 { return Clipped(values, tau) }, epsilon, gs, beta, base)
}

// NewPairRace prepares a race over rows that belong to two people each (the paper's section 6: several primary private relations). Its sum at tau is the most that the rows' parts add up to, a part of each row between 0 and the row's value, where
// no person's parts add up to more than tau: a linear program. A row is in the limits of one person of either kind, so the program is a maximum flow between the kinds: the parts are what flows. steps is how many of the graph's whole steps make 1 of the values.
func NewPairRace(g *flow.Graph, steps, epsilon, gs, beta, base float64) *Race {
	return newRace(func(tau float64) float64 {
		return float64(g.Value(int64(math.Min(tau*steps, math.MaxInt64/8)))) / steps
	}, epsilon, gs, beta, base)
}

func newRace(cut func(tau float64) float64, epsilon, gs, beta, base float64) *Race {
	r := &Race{Epsilon: epsilon, Beta: beta}
	races := max(1, int(math.Log(gs)/math.Log(base)+1e-9))
	for j := 1; j <= races; j++ {
		tau := math.Pow(base, float64(j))
		r.taus = append(r.taus, tau)
		r.sums = append(r.sums, cut(tau))
	}
	return r
}

// Answer runs the race once; laplace draws noise of a scale.
func (r *Race) Answer(laplace func(scale float64) float64) float64 {
	best := 0.0
	races := float64(len(r.taus))
	for i, tau := range r.taus {
		unit := races * tau / r.Epsilon
		best = math.Max(best, r.sums[i]+laplace(unit)-math.Log(races/r.Beta)*unit)
	}
	return best
}

// Errors runs the race n times and gives the relative errors.
func (r *Race) Errors(exact float64, n int, random *Random) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Abs(r.Answer(random.Laplace)-exact) / math.Abs(exact)
	}
	return out
}
