package account

import (
	"fmt"
	"math"
	"sort"
)

// Guarantee is (Epsilon, Delta)-DP.
type Guarantee struct{ Epsilon, Delta float64 }

// Basic adds epsilons and deltas up (Dwork, Roth 2014, Theorem 3.16). It holds for adaptive choices too.
func Basic(parts ...Guarantee) Guarantee {
	var out Guarantee
	for _, p := range parts {
		out.Epsilon, out.Delta = out.Epsilon+p.Epsilon, out.Delta+p.Delta
	}
	return out
}

// Advanced is the epsilon of k (epsilon, delta)-DP mechanisms together at a delta above their own k delta (Dwork, Rothblum, Vadhan 2010, Theorem III.3).
func Advanced(part Guarantee, k int, delta float64) float64 {
	slack := delta - float64(k)*part.Delta
	if !(slack > 0) {
		return math.Inf(1)
	}
	n := float64(k)
	return math.Sqrt(2*n*math.Log(1/slack))*part.Epsilon + n*part.Epsilon*math.Expm1(part.Epsilon)
}

// Group is what k units together have of a guarantee of one (Vadhan 2017, Lemma 2.2).
func Group(g Guarantee, k int) Guarantee {
	n := float64(k)
	factor := n
	if g.Epsilon > 0 {
		factor = math.Expm1(n*g.Epsilon) / math.Expm1(g.Epsilon)
	}
	return Guarantee{n * g.Epsilon, math.Min(1, g.Delta*factor)}
}

// Parallel is of mechanisms on parts of the data of which each unit is in one only: a unit added or removed changes one part.
func Parallel(parts ...Guarantee) Guarantee {
	var out Guarantee
	for _, p := range parts {
		out.Epsilon, out.Delta = math.Max(out.Epsilon, p.Epsilon), math.Max(out.Delta, p.Delta)
	}
	return out
}

// Sampled is of a mechanism on a Poisson sample at a rate (Balle, Barthe, Gaboardi 2018, Theorem 8).
func Sampled(g Guarantee, rate float64) Guarantee {
	return Guarantee{math.Log1p(rate * math.Expm1(g.Epsilon)), rate * g.Delta}
}

// mixedParts is up to how many different epsilons are composed exactly.
const mixedParts = 20

// Optimal is the least epsilon at which mechanisms that are only known as (epsilon, delta)-DP have a delta together (Kairouz, Oh, Viswanath 2015, Theorem 3.3;
// Murtagh, Vadhan 2016, Theorem 1.5): exactly for equal epsilons and for up to 20 others, above that by privacy loss accounting, within half a percent.
//
// Proof: the worst of them all are randomised responses beside the deltas; the loss of a response is +-epsilon. With W the sum of losses, the delta at e is
// 1 - prod(1 - delta_i) (1 - sum_W P(W) max(0, 1 - e^(e - W))).
func Optimal(delta float64, parts ...Guarantee) (float64, error) {
	if len(parts) == 0 || !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("account: %d parts at a delta of %g", len(parts), delta)
	}
	kept := 0.0 // ln prod(1 - delta_i)
	equal := true
	for _, p := range parts {
		if err := positive("epsilon", p.Epsilon); err != nil {
			return 0, err
		}
		if !(p.Delta >= 0 && p.Delta < 1) {
			return 0, fmt.Errorf("account: a delta of %g", p.Delta)
		}
		kept += math.Log1p(-p.Delta)
		equal = equal && p.Epsilon == parts[0].Epsilon
	}
	var sums []weighted
	switch {
	case equal:
		sums = binomial(parts[0].Epsilon, len(parts))
	case len(parts) <= mixedParts:
		sums = enumerated(parts)
	default:
		steps := make([]Step, len(parts))
		for i, p := range parts {
			steps[i] = Step{Approximate(p), 1, 1}
		}
		c, err := Compose(steps...)
		if err != nil {
			return 0, err
		}
		return c.Epsilon(delta), nil
	}
	at := func(e float64) float64 {
		above := 0.0
		for _, s := range sums {
			if s.loss > e {
				above += s.mass * -math.Expm1(e-s.loss)
			}
		}
		return -math.Expm1(kept + math.Log1p(-math.Min(1, above)))
	}
	if -math.Expm1(kept) >= delta {
		return math.Inf(1), nil
	}
	if at(0) <= delta {
		return 0, nil
	}
	return leastUp(func(e float64) bool { return at(e) <= delta }), nil
}

// gather counts equal steps together, and makes one of all Gaussians without sampling, whose losses are normal: their mus add up in squares.
func gather(steps []Step) []Step {
	var out []Step
	at := map[any]int{}
	for _, s := range steps {
		var key any
		switch m := s.Mechanism.(type) {
		case Gaussian:
			if key = [2]any{m, s.Rate}; s.Rate == 1 && m.Sigma > 0 && s.Count > 0 {
				key = "gaussian"
			}
		case MixtureGaussian: // has slices
			out = append(out, s)
			continue
		default:
			key = [2]any{m, s.Rate}
		}
		i, ok := at[key]
		switch {
		case !ok:
			if key == "gaussian" {
				s = Step{Gaussian{s.Mechanism.(Gaussian).Sigma / math.Sqrt(float64(s.Count))}, 1, 1}
			}
			at[key], out = len(out), append(out, s)
		case key == "gaussian":
			mu := 1 / out[i].Mechanism.(Gaussian).Sigma
			out[i].Mechanism = Gaussian{1 / ComposeGDP(mu, math.Sqrt(float64(s.Count))/s.Mechanism.(Gaussian).Sigma)}
		default:
			out[i].Count += s.Count
		}
	}
	return out
}

type weighted struct{ loss, mass float64 }

// binomial is the sum of k losses of +-epsilon.
func binomial(epsilon float64, k int) []weighted {
	up, down := -math.Log1p(math.Exp(-epsilon)), -math.Log1p(math.Exp(epsilon))
	out := make([]weighted, 0, k+1)
	choose := 0.0
	for i := 0; i <= k; i++ { // i times up
		out = append(out, weighted{float64(2*i-k) * epsilon, math.Exp(choose + float64(i)*up + float64(k-i)*down)})
		choose += math.Log(float64(k-i)) - math.Log(float64(i+1))
	}
	return out
}

// enumerated are all sums of +-epsilon_i, equal ones of a sorted neighbourhood together.
func enumerated(parts []Guarantee) []weighted {
	out := []weighted{{0, 1}}
	for _, p := range parts {
		up, down := 1/(1+math.Exp(-p.Epsilon)), 1/(1+math.Exp(p.Epsilon))
		next := make([]weighted, 0, 2*len(out))
		for _, s := range out {
			next = append(next, weighted{s.loss + p.Epsilon, s.mass * up}, weighted{s.loss - p.Epsilon, s.mass * down})
		}
		sort.Slice(next, func(i, j int) bool { return next[i].loss < next[j].loss })
		out = next[:0]
		for _, s := range next {
			if n := len(out); n > 0 && out[n-1].loss == s.loss {
				out[n-1].mass += s.mass
				continue
			}
			out = append(out, s)
		}
	}
	return out
}
