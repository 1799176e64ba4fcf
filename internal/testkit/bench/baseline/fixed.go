package baseline

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"
)

// Fixed is one bound of what a person adds to a group, and of how many groups, with the errors of an answer under it.
type Fixed struct {
	Clip        float64
	PerUnit     int     // groups of one person that count
	Median, P95 float64 // relative errors: exact for one group, from draws for several
}

// candidateBounds are the bounds that are tried: from the least partial to beyond the largest, in steps of 2%.
func candidateBounds(values []float64) []float64 {
	least, most := math.Inf(1), 0.0
	for _, v := range values {
		if m := math.Abs(v); m > 0 {
			least, most = math.Min(least, m), math.Max(most, m)
		}
	}
	var out []float64
	for t := least; t <= most*1.02; t *= 1.02 {
		out = append(out, t)
	}
	return append(out, most)
}

// FixedLaplace is the error of one bound under Laplace noise at epsilon, without groups.
func FixedLaplace(values []float64, exact, epsilon, clip float64) Fixed {
	bias, scale := Clipped(values, clip)-exact, clip/epsilon
	return Fixed{Clip: clip, PerUnit: 1, Median: laplaceError(bias, scale, 0.5) / math.Abs(exact), P95: laplaceError(bias, scale, 0.95) / math.Abs(exact)}
}

// BestFixed is the fixed bound with the least median error, chosen knowing the data.
func BestFixed(values []float64, epsilon float64) Fixed {
	exact := Clipped(values, math.Inf(1))
	best := Fixed{Median: math.Inf(1)}
	for _, t := range candidateBounds(values) {
		if f := FixedLaplace(values, exact, epsilon, t); f.Median < best.Median {
			best = f
		}
	}
	return best
}

// laplaceError is the q-quantile of |bias + noise|.
func laplaceError(bias, scale, q float64) float64 {
	cdf := func(x float64) float64 {
		if x < 0 {
			return 0.5 * math.Exp(x/scale)
		}
		return 1 - 0.5*math.Exp(-x/scale)
	}
	lo, hi := 0.0, math.Abs(bias)+60*scale
	for range 100 {
		mid := (lo + hi) / 2
		if cdf(mid-bias)-cdf(-mid-bias) < q {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// ranked is a partial. Capped are those with at most n groups a person, those first in an order that does not depend on the values. ranks
// are of all partials.
type ranked struct {
	rank  int
	group int
	value float64
}

func rankAll(p *Partials, at map[string]int) []ranked {
	var out []ranked
	for unit, of := range p.Units {
		groups := make([]string, 0, len(of))
		for g := range of {
			groups = append(groups, g)
		}
		order := func(g string) uint64 {
			h := fnv.New64a()
			_, _ = h.Write([]byte(unit + "\x00" + g))
			return h.Sum64()
		}
		slices.SortFunc(groups, func(a, b string) int {
			if x, y := order(a), order(b); x != y {
				if x < y {
					return -1
				}
				return 1
			}
			return strings.Compare(a, b)
		})
		for i, g := range groups {
			out = append(out, ranked{i, at[g], of[g]})
		}
	}
	return out
}

// BestFixedGroups is the bound and the cap of groups with the least mean relative error a group, under Laplace or Gaussian
// noise at (epsilon, delta), whichever is better, all chosen knowing the data. The error of one answer is the mean over its groups.
func BestFixedGroups(p *Partials, epsilon, delta float64, draws int, random *Random) Fixed {
	names := make([]string, 0, len(p.Groups))
	at := map[string]int{}
	for g := range p.Groups {
		at[g] = len(names)
		names = append(names, g)
	}
	exact := make([]float64, len(names))
	for g, i := range at {
		exact[i] = p.Groups[g]
	}
	all := rankAll(p, at)
	var values []float64
	most := 0
	for _, r := range all {
		values = append(values, r.value)
		most = max(most, r.rank+1)
	}
	ratio := GaussianRatio(epsilon, delta)
	best, bestMean := Fixed{}, math.Inf(1)
	var bestBias []float64
	var bestNoise func() float64
	for n := 1; n <= most; n = max(n+1, n*5/4) {
		kept := slices.DeleteFunc(slices.Clone(all), func(r ranked) bool { return r.rank >= n })
		slices.SortFunc(kept, func(a, b ranked) int {
			switch x, y := math.Abs(a.value), math.Abs(b.value); {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
		whole, beyond := make([]float64, len(names)), make([]float64, len(names)) // sums up to the bound, signed numbers beyond it
		for _, r := range kept {
			beyond[r.group] += math.Copysign(1, r.value)
		}
		next := 0
		for _, t := range candidateBounds(values) {
			for ; next < len(kept) && math.Abs(kept[next].value) <= t; next++ {
				whole[kept[next].group] += kept[next].value
				beyond[kept[next].group] -= math.Copysign(1, kept[next].value)
			}
			b, sigma := t*float64(n)/epsilon, t*math.Sqrt(float64(n))*ratio
			laplace, gaussian := 0.0, 0.0
			bias := make([]float64, len(names))
			for i := range names {
				bias[i] = whole[i] + t*beyond[i] - exact[i]
				m, x := math.Abs(bias[i]), math.Abs(exact[i])
				laplace += (m + b*math.Exp(-m/b)) / x
				gaussian += (sigma*math.Sqrt(2/math.Pi)*math.Exp(-m*m/(2*sigma*sigma)) + m*math.Erf(m/(sigma*math.Sqrt2))) / x
			}
			if laplace < bestMean {
				best, bestMean, bestBias, bestNoise = Fixed{Clip: t, PerUnit: n}, laplace, bias, func() float64 { return random.Laplace(b) }
			}
			if gaussian < bestMean {
				best, bestMean, bestBias, bestNoise = Fixed{Clip: t, PerUnit: n}, gaussian, bias, func() float64 { return random.Normal(sigma) }
			}
		}
	}
	errors := make([]float64, draws)
	for i := range errors {
		for g, bias := range bestBias {
			errors[i] += math.Abs(bias+bestNoise()) / math.Abs(exact[g])
		}
		errors[i] /= float64(len(names))
	}
	best.Median, best.P95 = Quantile(errors, 0.5), Quantile(errors, 0.95)
	return best
}

// GaussianRatio is the least standard deviation over L2 sensitivity that is (epsilon, delta)-private (Balle and Wang, "Improving the
// Gaussian Mechanism for Differential Privacy", ICML 2018, theorem 8). Infinite where delta is 0.
func GaussianRatio(epsilon, delta float64) float64 {
	if delta <= 0 {
		return math.Inf(1)
	}
	phi := func(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
	lo, hi := 1e-6, 1e6
	for range 200 {
		s := math.Sqrt(lo * hi)
		if phi(1/(2*s)-epsilon*s)-math.Exp(epsilon)*phi(-1/(2*s)-epsilon*s) > delta {
			lo = s
		} else {
			hi = s
		}
	}
	return hi
}
