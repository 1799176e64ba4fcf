package descent

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// TestClippings: of each way of clipping, for one row a unit and several, the noise is at least Noise times what one unit changes, the count of units within the clip too, and hardly more; noise for the gradient alone would not be. Automatic clipping gives the gradient times clip/(|g| + clip/100).
func TestClippings(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	const units, width = 200, 6
	for _, most := range []int{1, 3} {
		for _, l := range []*loss.Loss{loss.Logistic(), loss.Softmax(3)} {
			for _, how := range []Clipping{Fixed, Automatic, Adaptive} {
				for _, clip := range []float64{0.01, 0.3} {
					p := &Plan{Learner: NewLinear(l, width), Clip: clip, Clipping: how, Rate: 0.5, Noise: 3, Population: 300, Quantile: 0.5, ClipRate: 0.2}
					table := tableOf(t, width, most, random(rng, units, most, width, l.Outputs+max(0, 2-l.Outputs)))
					theta := make([]float64, width*l.Outputs)
					for j := range theta {
						theta[j] = rng.NormFloat64()
					}
					s := &summer{table: table, learner: p.Learner, clip: clip, automatic: how == Automatic, count: p.countSteps()}
					whole, err := s.totals(theta, all(units))
					if err != nil {
						t.Fatal(err)
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
						if how != Automatic {
							continue
						}
						g := gradient(table, l, theta, u)
						floats.Scale(Unit/(floats.Norm(g, 2)+clip/100), g)
						if !floats.EqualApprox(d, g, Unit*1e-4) {
							t.Fatalf("%s, %d rows, clip %g: unit %d has %v, want %v", l.Name, most, clip, u, d, g)
						}
					}
					if p.deviation() < p.Noise*longest {
						t.Errorf("%s, %d rows, %s clip %g: noise of %g steps for a change of %g", l.Name, most, how, clip, p.deviation(), longest)
					}
					if clip < 0.1 && how != Automatic && p.deviation() > 1.001*p.Noise*longest {
						t.Errorf("%s, %d rows, %s clip %g: noise of %g steps for a change of %g is too much", l.Name, most, how, clip, p.deviation(), longest)
					}
					if clip < 0.1 && how == Adaptive && p.Noise*Unit >= p.Noise*longest {
						t.Error("noise for the gradient alone passes")
					}
				}
			}
		}
	}
}

// TestAdaptiveClip: the clip comes to the quantile of the norms from far below and from far above, the noise notwithstanding; and one that the count does not move does not.
func TestAdaptiveClip(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	const units = 2000
	var rows []rowOf
	for u := range units {
		rows = append(rows, rowOf{int64(u), []float64{float64(u+1) / units, 0}, 0})
	}
	table, theta := tableOf(t, 2, 1, rows), make([]float64, 2) // gradients of norm x/2
	for _, first := range []float64{0.001, 30} {
		p := &Plan{Learner: NewLinear(loss.Logistic(), 1), Clip: first, Clipping: Adaptive, Rate: 1, Noise: 5, Population: units, Quantile: 0.7, ClipRate: 0.2}
		s := &summer{table: table, learner: p.Learner, clip: p.Clip, count: p.countSteps(), noise: &seeded{rng, p.deviation()}}
		for range 300 {
			if _, err := s.step(theta, all(units)); err != nil {
				t.Fatal(err)
			}
			s.clip = p.follow(s.clip, s.within)
		}
		if math.Abs(s.clip/0.35-1) > 0.1 {
			t.Errorf("from %g the clip comes to %g, the quantile is 0.35", first, s.clip)
		}
	}
	p := &Plan{Clip: 2, Rate: 1, Population: 10, Quantile: 0.5, ClipRate: 0.2}
	if got := p.follow(1.5, 0); got != 1.5 { // as many within as not
		t.Errorf("the clip goes from 1.5 to %g", got)
	}
	if up, down := p.follow(2*most, -1e9), p.follow(2.0/most, 1e9); up > 2*most || down < 2.0/most {
		t.Errorf("the clip leaves its range: %g, %g", up, down)
	}
}

// TestSchedules: a fixed gradient moves the parameter by the sum of the rates; unknown words are refused.
func TestSchedules(t *testing.T) {
	table := tableOf(t, 1, 1, nil)
	for schedule, want := range map[Schedule]float64{Constant: 10, Linear: 5.5, Cosine: 5.5} {
		p := &Plan{Learner: NewLinear(loss.Logistic(), 1), Rows: 1, Clip: 1, Rate: 1, Steps: 10, Noise: 1, Population: 1, LearningRate: 1, Schedule: schedule}
		got := 0.0
		theta, err := p.train(table, ones{}, func([]int32) ([]int32, error) { return nil, nil }, func(int) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if got = -theta[0]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: the rates add up to %g, want %g", schedule, got, want)
		}
	}
	for _, p := range []*Plan{{Schedule: "steps"}, {Clipping: "per layer"}, {Clipping: Adaptive}} {
		p.Learner, p.Rows, p.Clip, p.Rate, p.Steps, p.Noise, p.Population, p.LearningRate = NewLinear(loss.Logistic(), 1), 1, 1, 1, 1, 1, 1, 1
		if _, err := p.Train(table, noise.NewSource(), func(int) error { return nil }); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}

// ones is a gradient of 1.
type ones struct{}

func (ones) Add(totals []int64) error {
	for j := range totals {
		totals[j] += Unit
	}
	return nil
}
