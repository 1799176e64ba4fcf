package quantile

import "math"

// ends are the ends of a 95% interval of the quantile of a fraction p: the first value of the leaf at one end, the last value of the leaf at the other. Wide makes them rarer to miss.
//
// Proof: let w be the quantile, or of a continuous one the value below it (low end) or above it (high end), F(b) the number of rows below a value b, N that of all, and D(b) = F(b) - p N. Then D(b) >= -1 for b > w, and D(b) <= 1 for b <= w, as
// w's rank is within 1 of p N. Where rows were cut, at most Cut of them, F and N of the rest are less by the cut rows below b and by all: so D(b) of the rest is at least -1 - (1-p) Cut for b > w, and at most 1 + p Cut for b <= w.
// Of the low end; the high one is its mirror image. (1) The search goes to the first child whose upper end is not surely at most w. It reads too large a value only if it leaves the way to w's leaf to the right, at some level. There the upper end b of the child on the way
// is above w, and the estimate of D(b) was below -1 - (1-p) Cut by z deviations. (2) The rows alone fix the way, and so b of each level. The estimate is linear in noisy counts without bias, of weights that follow from the place of b (estimate). So for each
// level the noise is below -z deviations with probability at most its share of 2.5 % (shares). (3) The union bound over levels is 2.5 %, and 5 % over both ends. (4) Wide times z are missed as seldom as finish.stretch says, by log-concavity in each level. (5) Where children are not
// known the end is that of the node: it is on the way, or the way was left before. Nothing but released counts and public numbers is read.
func (r *Reader) ends(p float64) (low, high int64, err error) {
	if low, err = r.farthest(p, false); err != nil {
		return 0, 0, err
	}
	high, err = r.farthest(p, true)
	if r.tree.Rounded && err == nil { // a value is less than a step from the one that counts for it
		low, high = max(r.tree.Lo, low-1), min(r.tree.Hi, high+1)
	}
	return low, high, err
}

// farthest is one of ends: the high one where top is set.
func (r *Reader) farthest(p float64, top bool) (int64, error) {
	t := r.tree
	leaves := int64(1) // of a child
	for _, k := range t.Fans[1:] {
		leaves *= k
	}
	var way []siblings
	part := 0.0
	if top {
		part = 1
	}
	for node, level := int64(0), 0; ; level++ {
		counts, err := r.look(level, node)
		if err != nil {
			return 0, err
		}
		if counts == nil {
			return r.within(node, leaves*t.Fans[level], part), nil
		}
		first := node * t.Fans[level]
		counts = counts[:min(int64(len(counts)), (t.Count-1)/leaves+1-first)] // further ones have no leaf: nobody is there
		k, z := 0, r.deviations(level)
		if top {
			for k = len(counts) - 1; k > 0; k-- {
				if d, sd := r.estimate(append(way, siblings{counts, k}), p); d < 1+p*r.Cut+z*sd {
					break
				}
			}
		} else {
			for ; k < len(counts)-1; k++ {
				if d, sd := r.estimate(append(way, siblings{counts, k + 1}), p); d > -1-(1-p)*r.Cut-z*sd {
					break
				}
			}
		}
		way, node = append(way, siblings{counts, k}), first+int64(k)
		if level == len(t.Fans)-1 {
			return r.within(node, 1, part), nil
		}
		leaves /= t.Fans[level+1]
	}
}

// siblings are the noisy counts of a node's children, and the one that the way goes through; of the last node, the first one that is not below b.
type siblings struct {
	counts []float64
	at     int
}

// estimate is D(b) of ends' proof, of a fraction p, and its standard deviation.
//
// Proof: D is the sum over rows of g, which is 1-p below b and -p elsewhere. A row's nodes are the children on the way down to where it leaves it. A node on the way has the weight u' - u, u being the sum of the weights of those above it, and one beside the way g - u: so
// a row's weights add up to g, whatever u' is. Noises are independent and have one variance. The u' near the mean of g among the node's children makes the variance small.
func (r *Reader) estimate(way []siblings, p float64) (d, sd float64) {
	u, square := 0.0, 0.0
	add := func(weight, count float64) {
		d += weight * count
		square += weight * weight
	}
	for l, s := range way {
		last := l == len(way)-1
		for k, c := range s.counts {
			switch {
			case k < s.at:
				add(1-p-u, c)
			case k > s.at || last:
				add(-p-u, c)
			}
		}
		if !last {
			next, n := way[l+1], float64(len(way[l+1].counts)) // of which one is on the way, or none
			mean := (float64(next.at)*(1-p) - (n-float64(next.at))*p) / (n + 1)
			add(mean-u, s.counts[s.at])
			u = mean
		}
	}
	return d, r.deviation * math.Sqrt(square)
}

// deviations is z of ends' proof at a level: half of what may be missed is the last level's, whose estimate has the most noise, and the others share the rest.
func (r *Reader) deviations(level int) float64 {
	each, levels := 0.05/2, len(r.tree.Fans)
	switch {
	case levels == 1:
	case level == levels-1:
		each /= 2
	default:
		each /= 2 * float64(levels-1)
	}
	z := math.Sqrt2 * math.Erfcinv(2*each)
	if r.Laplace {
		z = math.Max(z, math.Log(1/(2*each))/math.Sqrt2)
	}
	return z * math.Max(1, r.Wide)
}
