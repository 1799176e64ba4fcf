package descent

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
)

// networks are one of each activation, with one score and several, and one or two hidden layers.
func networks(width int) (out []*Network) {
	for _, a := range []Activation{Tanh, Relu, Elu} {
		out = append(out, &Network{Inputs: width, Gain: 4, Hidden: []int{5}, Activation: a, Loss: loss.Logistic()}, &Network{Inputs: width, Gain: 2, Hidden: []int{4, 3}, Activation: a, Loss: loss.Softmax(3)})
	}
	return out
}

// lossAt is a row's loss, by plain loops and without a grid.
func (n *Network) lossAt(theta []float64, x []float32, y float64) float64 {
	list, _ := n.Layers()
	in := make([]float64, len(x))
	for j, v := range x {
		in[j] = n.Gain * float64(v)
	}
	for i, l := range list {
		z := make([]float64, l.Out)
		for j, v := range in {
			for c := range z {
				z[c] += v * theta[l.From+j*l.Out+c]
			}
		}
		if i == len(list)-1 {
			return n.Loss.Value(z, y)
		}
		in = []float64{1}
		for _, v := range z {
			in = append(in, n.Activation.At(v))
		}
	}
	panic("a network without layers")
}

func someTheta(rng *rand.Rand, n *Network) []float64 {
	theta := n.Start()
	for j := range theta {
		theta[j] += 0.5 * rng.NormFloat64()
	}
	return theta
}

// TestNetworkGradient: a gradient is that of finite differences, its norm is the one that Row returns, and both are so for each activation.
func TestNetworkGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	const width = 6
	for _, n := range networks(width) {
		table := tableOf(t, width, 1, random(rng, 40, 1, width, 3))
		theta := someTheta(rng, n)
		for u := range table.Units() {
			x, y := table.Row(u), math.Min(table.Target(u), float64(max(1, n.Loss.Outputs-1)))
			g, got := n.At(theta), make([]float64, len(theta))
			norm := g.Row(x, float64(normOf(x)), y)
			g.Add(x, got)
			if want := floats.Norm(got, 2); math.Abs(norm-want) > 1e-6*(1+want) {
				t.Fatalf("%s: the norm is %g, Row says %g", n.Activation, want, norm)
			}
			want, kink := make([]float64, len(theta)), false
			for j := range theta {
				const by = 1e-6
				ends := slices.Clone(theta)
				ends[j] += by
				up := n.lossAt(ends, x, y)
				ends[j] -= 2 * by
				want[j] = (up - n.lossAt(ends, x, y)) / (2 * by)
				kink = kink || math.Abs(want[j]-got[j]) > 0.1 // a score of a relu that is within by of 0
			}
			if !kink && !floats.EqualApprox(got, want, 2e-3) {
				t.Fatalf("%s, %v: %v, want %v", n.Activation, n.Hidden, got, want)
			}
			if kink && n.Activation == Tanh {
				t.Fatalf("a gradient of tanh is %v, want %v", got, want)
			}
		}
	}
}

func normOf(x []float32) float32 {
	square := 0.0
	for _, v := range x {
		square += float64(v) * float64(v)
	}
	return float32(math.Sqrt(square))
}

// TestNetworkSum: without one unit the totals of a network differ by whole steps of norm at most Unit, for one row a unit and several, also at parameters that left all bounds; some change by nearly Unit, and the order of the batch does not matter.
func TestNetworkSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	const units, width = 100, 6
	for _, most := range []int{1, 3} {
		for _, n := range networks(width) {
			table := tableOf(t, width, most, random(rng, units, most, width, max(2, n.Loss.Outputs)))
			for _, far := range []float64{1, 1e3, 1e300, math.Inf(1), math.NaN()} {
				theta := someTheta(rng, n)
				if far > 1 || math.IsNaN(far) {
					for j := range theta {
						theta[j] *= far
					}
				}
				for _, clip := range []float64{0.01, 1} {
					s := &summer{table: table, learner: n, clip: clip}
					whole, err := s.totals(theta, all(units))
					if err != nil {
						t.Fatal(err)
					}
					backwards := all(units)
					slices.Reverse(backwards)
					if again, err := s.totals(theta, backwards); err != nil || !slices.Equal(whole, again) {
						t.Fatalf("%s: another order gives another sum (%v)", n.Activation, err)
					}
					longest := 0.0
					for u := range units {
						less, err := s.totals(theta, append(all(u), all(units)[u+1:]...))
						if err != nil {
							t.Fatal(err)
						}
						d := make([]float64, len(whole))
						for j := range d {
							d[j] = float64(whole[j] - less[j])
						}
						longest = math.Max(longest, floats.Norm(d, 2))
					}
					if longest > Unit || far == 1 && clip < 0.1 && longest < 0.99*Unit {
						t.Errorf("%s, %v, %d rows, clip %g, parameters times %g: a unit changes the totals by %g of %d steps", n.Activation, n.Hidden, most, clip, far, longest, Unit)
					}
				}
			}
		}
	}
}

// TestNetworkSumIsWhole: each entry of each row's product is a whole number of steps, so that no sum is rounded.
func TestNetworkSumIsWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	const width = 6
	for _, n := range networks(width) {
		table, theta := tableOf(t, width, 1, random(rng, 50, 1, width, 2)), someTheta(rng, n)
		s := &summer{table: table, learner: n, clip: 0.3}
		g := n.At(theta)
		for u := range table.Units() {
			sum := make([]float64, len(theta))
			s.clipped(g, table.Row(u), u)
			g.Add(table.Row(u), sum)
			for j, v := range sum {
				if v /= data.Step; v != math.Trunc(v) {
					t.Fatalf("%s: entry %d of unit %d is %g steps", n.Activation, j, u, v)
				}
			}
		}
	}
}
