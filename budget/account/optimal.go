package account

import (
	"fmt"
	"math"
	"slices"
)

// mostSums is up to how many sums of losses Optimal keeps as they are, those of 20 different epsilons; where there are more it puts them on a grid of gridSums now and again.
const (
	mostSums = 1 << 20
	gridSums = 1 << 14
)

// Optimal is the least epsilon at which mechanisms that are only known as (epsilon, delta)-DP have a delta together (Kairouz, Oh, Viswanath 2015, Theorem 3.3;
// Murtagh, Vadhan 2016, Theorem 1.5): exactly where equal epsilons have at most 2^20 different sums, as those of equal and of up to 20 different ones have, above that rounded up, within half a percent.
//
// Proof: the worst of them all are randomised responses beside the deltas; the loss of a response is +-epsilon. With W the sum of losses, the delta at e is
// 1 - prod(1 - delta_i) (1 - sum_W P(W) max(0, 1 - e^(e - W))). What rounds the sums up makes none of these less (sums.coarse).
func Optimal(delta float64, parts ...Guarantee) (float64, error) {
	if len(parts) == 0 || !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("account: %d parts at a delta of %g", len(parts), delta)
	}
	kept := 0.0 // ln prod(1 - delta_i)
	epsilons := make([]float64, len(parts))
	for i, p := range parts {
		if err := positive("epsilon", p.Epsilon); err != nil {
			return 0, err
		}
		if !(p.Delta >= 0 && p.Delta < 1) {
			return 0, fmt.Errorf("account: a delta of %g", p.Delta)
		}
		kept += math.Log1p(-p.Delta)
		epsilons[i] = p.Epsilon
	}
	if -math.Expm1(kept) >= delta {
		return math.Inf(1), nil
	}
	s := sumsOf(epsilons, delta)
	at := func(e float64) float64 {
		above := s.lost
		for _, x := range s.of {
			if x.loss > e {
				above += x.mass * -math.Expm1(e-x.loss)
			}
		}
		return -math.Expm1(kept + math.Log1p(-math.Min(1, above)))
	}
	if at(0) <= delta {
		return 0, nil
	}
	return leastUp(func(e float64) bool { return at(e) <= delta }), nil
}

type weighted struct{ loss, mass float64 }

// sums are all sums of losses of +-epsilon with their probabilities, but for lost, that of infinite loss.
type sums struct {
	of   []weighted
	lost float64
}

// sumsOf takes equal epsilons together, small ones first: a wide grid comes last then.
func sumsOf(epsilons []float64, delta float64) sums {
	epsilons = slices.Sorted(slices.Values(epsilons))
	s := sums{of: []weighted{{0, 1}}}
	left := 0.0 // what the epsilons still to come add up to
	for _, e := range epsilons {
		left += e
	}
	leave, most := delta*1e-5/float64(len(epsilons)), mostSums
	for len(epsilons) > 0 {
		e, n := epsilons[0], 1
		for n < len(epsilons) && epsilons[n] == e {
			n++
		}
		if len(s.of) > 1 && len(s.of)*(n+1) > most {
			if most = 8 * gridSums; 2*len(s.of) > most {
				s.coarse(leave, left)
			}
			n = min(n, most/len(s.of)-1)
		}
		s.add(binomial(e, n))
		epsilons, left = epsilons[n:], left-float64(n)*e
	}
	return s
}

func (s *sums) add(part []weighted) {
	next := make([]weighted, 0, len(s.of)*len(part))
	for _, x := range s.of {
		for _, y := range part {
			if m := x.mass * y.mass; m > 0 {
				next = append(next, weighted{x.loss + y.loss, m})
			}
		}
	}
	s.of = next
}

// coarse puts the sums on a grid.
//
// Proof: no delta of the whole at an epsilon >= 0 becomes less, whatever independent losses of at most left come to it. (1) A sum is spread over both ends of its cell, its probability under the other database,
// e^-loss of its mass, kept, as in discretise: a pair that dominates. The upper end's part is (1 - e^-x)/(1 - e^-h) for a distance x of the lower end and a cell's width h. (2) The largest sums, of a mass of leave, become infinite.
// (3) A sum below -left ends below 0, where nothing counts, so it is left out; (4) the smallest others, of a mass of leave, become the next larger: 1 - e^(epsilon - loss) rises with the loss.
func (s *sums) coarse(leave, left float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range s.of {
		lo, hi = math.Min(lo, x.loss), math.Max(hi, x.loss)
	}
	h := (hi - lo) / (gridSums - 2)
	of := make([]weighted, gridSums)
	for i := range of {
		of[i].loss = lo + float64(i)*h
	}
	for _, x := range s.of {
		i := min(int((x.loss-lo)/h), gridSums-2)
		up := math.Min(1, math.Max(0, math.Expm1(of[i].loss-x.loss)/math.Expm1(-h)))
		of[i].mass += x.mass * (1 - up)
		of[i+1].mass += x.mass * up
	}
	for gone := of[len(of)-1].mass; gone <= leave; gone += of[len(of)-1].mass {
		s.lost, of = s.lost+of[len(of)-1].mass, of[:len(of)-1]
	}
	for len(of) > 1 && of[0].loss < -left {
		of = of[1:]
	}
	for len(of) > 1 && of[0].mass <= leave {
		of[1].mass += of[0].mass
		of = of[1:]
	}
	s.of = slices.DeleteFunc(of, func(x weighted) bool { return x.mass == 0 })
}

// binomial is the sum of k losses of +-epsilon.
func binomial(epsilon float64, k int) []weighted {
	up, down := -softplus(-epsilon), -softplus(epsilon)
	out := make([]weighted, 0, k+1)
	choose := 0.0
	for i := 0; i <= k; i++ { // i times up
		out = append(out, weighted{float64(2*i-k) * epsilon, math.Exp(choose + float64(i)*up + float64(k-i)*down)})
		choose += math.Log(float64(k-i)) - math.Log(float64(i+1))
	}
	return out
}
