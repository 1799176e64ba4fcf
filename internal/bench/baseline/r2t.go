package baseline

import "math"

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
	r := &Race{Epsilon: epsilon, Beta: beta}
	races := max(1, int(math.Log(gs)/math.Log(base)+1e-9))
	for j := 1; j <= races; j++ {
		tau := math.Pow(base, float64(j))
		r.taus = append(r.taus, tau)
		r.sums = append(r.sums, Clipped(values, tau))
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
