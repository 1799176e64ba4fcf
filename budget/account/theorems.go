package account

import "math"

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

// Group is what k units together have of a guarantee of one.
//
// Proof: let D_0 to D_k be databases of which each differs from the next in one of the units, and S a set of outputs. P_i(S) <= e^epsilon P_(i+1)(S) + delta, so by induction
// P_0(S) <= e^(i epsilon) P_i(S) + delta (1 + e^epsilon + ... + e^((i-1) epsilon)); at i = k the sum is (e^(k epsilon) - 1)/(e^epsilon - 1), k at epsilon 0. Vadhan 2017, Lemma 2.2, has the larger k e^(k epsilon).
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
