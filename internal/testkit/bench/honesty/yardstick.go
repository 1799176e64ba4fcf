package main

import (
	"math"
	"slices"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// part is what one person adds to one cell.
type part struct {
	cell  int
	value float64
}

// noises are the widths of a sum's 95% interval where one person changes it by 1 at most and the whole price goes to its noise.
type noises struct{ gaussian, laplace float64 }

func noisesAt(f *budget.Filter, price float64) (n noises, err error) {
	const fine = 1 << 20
	s, l := dp.Sensitivity{PerGroup: fine, Groups: 1}, f.Limit(price)
	g, err := f.GaussianScale(s, l)
	if err != nil {
		return n, err
	}
	n.gaussian = 1.96 * g.Float() / fine
	b, err := f.LaplaceScale(s, l)
	n.laplace = math.Log(20) * b.Float() / fine
	return n, err
}

// yardstick gives each cell's half-width under the best fixed bound that knows the data and has the whole price: the noise's interval and half of what the bound
// cuts. Of all bounds on people's lengths, by either noise, it is the one whose median over the counted cells is the least.
func yardstick(people [][]part, truth []float64, counted []bool, n noises) []float64 {
	var best []float64
	least := math.Inf(1)
	for _, way := range []struct {
		noise float64
		norm  func([]part) float64
	}{{n.gaussian, euclidean}, {n.laplace, absolute}} {
		norms, largest := make([]float64, len(people)), 0.0
		for i, p := range people {
			norms[i] = way.norm(p)
			largest = max(largest, norms[i])
		}
		if largest == 0 {
			continue
		}
		for bound := largest; bound > largest/1e6; bound /= 1.15 {
			half := make([]float64, len(truth))
			for i, p := range people {
				if norms[i] > bound {
					for _, x := range p {
						half[x.cell] += x.value * (1 - bound/norms[i]) // of both signs: what is cut may cancel
					}
				}
			}
			var relative []float64
			for i := range half {
				half[i] = way.noise*bound + math.Abs(half[i])/2
				if counted[i] {
					relative = append(relative, half[i]/max(math.Abs(truth[i]), 1e-9))
				}
			}
			if m := median(relative); m < least {
				least, best = m, half
			}
		}
	}
	return best
}

func euclidean(p []part) float64 {
	sum := 0.0
	for _, x := range p {
		sum += x.value * x.value
	}
	return math.Sqrt(sum)
}

func absolute(p []part) float64 {
	sum := 0.0
	for _, x := range p {
		sum += math.Abs(x.value)
	}
	return sum
}

// median of a list, which it sorts; NaN of none.
func median(x []float64) float64 { return quantile(x, 0.5) }

func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return x[min(len(x)-1, int(q*float64(len(x))))]
}
