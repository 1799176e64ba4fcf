package descent

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// seeded adds what its seed says.
type seeded struct {
	rng   *rand.Rand
	sigma float64
}

func (s *seeded) Add(totals []int64) error {
	for j := range totals {
		totals[j] += int64(math.Round(s.sigma * s.rng.NormFloat64()))
	}
	return nil
}

type rowOf struct {
	unit int64
	x    []float64
	y    float64
}

func tableOf(t testing.TB, width, most int, rows []rowOf) *data.Table {
	t.Helper()
	b, err := data.NewBuilder(width, most)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := b.Add(r.unit, r.x, r.y); err != nil {
			t.Fatal(err)
		}
	}
	return b.Table()
}

func random(rng *rand.Rand, units, most, width, classes int) (rows []rowOf) {
	for u := range units {
		for range 1 + rng.IntN(most) {
			r := rowOf{unit: int64(u), x: make([]float64, width), y: float64(rng.IntN(classes))}
			for j := range r.x {
				if rng.IntN(3) > 0 {
					r.x[j] = rng.NormFloat64()
				}
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func all(n int) (out []int32) {
	for i := range n {
		out = append(out, int32(i))
	}
	return out
}

// sums are the exact totals before noise, in steps.
func sums(t testing.TB, table *data.Table, l *loss.Loss, clip float64, theta []float64, batch []int32) []float64 {
	t.Helper()
	totals, err := (&summer{table: table, learner: NewLinear(l, table.Width()), clip: clip}).totals(theta, batch)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(totals))
	for j, v := range totals {
		out[j] = float64(v)
	}
	return out
}

// TestClippedSum: without one unit the totals differ by a vector of norm at most Unit, for one row a unit and several, one score and several, small clips and large; where clips are large it is the
// unit's gradient, and they do not depend on the order of the batch.
func TestClippedSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int{1, 3} {
		for _, l := range []*loss.Loss{loss.Logistic(), loss.Softmax(3)} {
			for _, clip := range []float64{0.01, 0.5, 1, 10} {
				const units, width = 300, 6
				table := tableOf(t, width, most, random(rng, units, most, width, l.Outputs+max(0, 2-l.Outputs)))
				theta := make([]float64, width*l.Outputs)
				for j := range theta {
					theta[j] = 2 * rng.NormFloat64()
				}
				batch := all(units)
				whole := sums(t, table, l, clip, theta, batch)
				longest := 0.0
				for u := range units {
					rest := append(append([]int32(nil), batch[:u]...), batch[u+1:]...)
					less := sums(t, table, l, clip, theta, rest)
					floats.Sub(less, whole)
					norm := floats.Norm(less, 2)
					if norm > Unit {
						t.Fatalf("%s, %d rows, clip %g: one unit changes the totals by %g of %d steps", l.Name, most, clip, norm, Unit)
					}
					longest = math.Max(longest, norm)
					if explicit := gradient(table, l, theta, u); floats.Norm(explicit, 2) < clip*0.999 {
						floats.Scale(-Unit/clip, explicit)
						if !floats.EqualApprox(less, explicit, Unit*1e-4) {
							t.Fatalf("%s, %d rows, clip %g: unit %d has %v, its gradient is %v", l.Name, most, clip, u, less, explicit)
						}
					}
				}
				if clip < 0.1 && longest < Unit*0.999 {
					t.Errorf("%s, %d rows, clip %g: the longest change is %g of %d", l.Name, most, clip, longest, Unit)
				}
				rng.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
				if got := sums(t, table, l, clip, theta, batch); !floats.Equal(got, whole) {
					t.Errorf("%s, %d rows, clip %g: another order has another sum", l.Name, most, clip)
				}
			}
		}
	}
}

// gradient is a unit's, by plain sums.
func gradient(table *data.Table, l *loss.Loss, theta []float64, u int) []float64 {
	g, k := make([]float64, len(theta)), l.Outputs
	from, to := table.Unit(u)
	for i := from; i < to; i++ {
		z := make([]float64, k)
		for j, x := range table.Row(i) {
			for c := range z {
				z[c] += float64(x) * theta[j*k+c]
			}
		}
		l.Residuals(z, table.Target(i))
		for j, x := range table.Row(i) {
			for c := range z {
				g[j*k+c] += float64(x) * z[c]
			}
		}
	}
	return g
}

// TestZeroUnit: with the same noise a unit without gradient changes no parameter: nothing is divided by a number of rows, of units or of a drawn batch.
func TestZeroUnit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := random(rng, 50, 1, 4, 2)
	more := append(append([]rowOf(nil), rows...), rowOf{unit: 50, x: make([]float64, 4), y: 1})
	for _, rate := range []float64{1, 0.3} {
		p := &Plan{Learner: NewLinear(loss.Logistic(), 4), Rows: 1, Clip: 0.7, Rate: rate, Steps: 30, Noise: 2, Population: 60, LearningRate: 3, Momentum: 0.5, Average: 0.5}
		run := func(rows []rowOf) []float64 {
			coins, adder := rand.New(rand.NewPCG(5, 6)), &seeded{rand.New(rand.NewPCG(7, 8)), p.Noise * Unit}
			theta, err := p.train(tableOf(t, 4, 1, rows), adder, func(batch []int32) ([]int32, error) {
				for i := range 51 {
					if coins.Float64() < rate && i < len(rows) {
						batch = append(batch, int32(i))
					}
				}
				return batch, nil
			}, func(int) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			return theta
		}
		if a, b := run(rows), run(more); !floats.Equal(a, b) {
			t.Errorf("rate %g: %v with the unit, %v without", rate, b, a)
		}
	}
}

// TestNoise: over data without gradients, and with empty batches, each step's noise has the deviation that was paid for, within 0.5%, and no correlation with the step before: 800,000 deviates, whose estimates have
// 6.3 deviations of room (false alarms below 1e-9).
func TestNoise(t *testing.T) {
	const width, steps = 4000, 200
	empty := tableOf(t, width, 1, nil)
	n, err := noise.NewSource().Normal(3 * Unit)
	if err != nil {
		t.Fatal(err)
	}
	s := &summer{table: empty, learner: NewLinear(loss.Logistic(), empty.Width()), clip: 0.5, noise: n}
	var last []float64
	squares, products := 0.0, 0.0
	for range steps {
		g, err := s.step(make([]float64, width), nil)
		if err != nil {
			t.Fatal(err)
		}
		squares += floats.Dot(g, g)
		if last != nil {
			products += floats.Dot(g, last)
		}
		last = g
	}
	if sd := math.Sqrt(squares/(width*steps)) / 1.5; math.Abs(sd-1) > 0.005 {
		t.Errorf("the noise has %g of its deviation", sd)
	}
	if c := products / squares; math.Abs(c) > 6.3/math.Sqrt(width*steps) {
		t.Errorf("steps correlate by %g", c)
	}
}

// TestCalibrate: the noise that is set spends what was asked for, and a plan that is not whole is refused.
func TestCalibrate(t *testing.T) {
	p := &Plan{Learner: NewLinear(loss.Logistic(), 2), Rows: 1, Clip: 1, Rate: 1, Steps: 100, Population: 100, LearningRate: 1}
	if err := p.Calibrate(1, 1e-6); err != nil {
		t.Fatal(err)
	}
	if got := account.GaussianEpsilon(10/p.Noise, 1e-6); got > 1 || got < 0.999 {
		t.Errorf("100 steps at noise %g spend %g", p.Noise, got)
	}
	p.Rate = 0.1
	if err := p.Calibrate(1, 1e-6); err != nil {
		t.Fatal(err)
	}
	c, err := account.Compose(account.Step{Mechanism: account.Gaussian{Sigma: p.Noise}, Rate: 0.1, Count: 100})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Epsilon(1e-6); got > 1+1e-9 || got < 0.98 {
		t.Errorf("100 sampled steps at noise %g spend %g", p.Noise, got)
	}
	for _, bad := range []func(*Plan){func(p *Plan) { p.Clip = 0 }, func(p *Plan) { p.Noise = 0 }, func(p *Plan) { p.Population = 0 }, func(p *Plan) { p.Rate = 1.5 }, func(p *Plan) { p.Steps = 0 }, func(p *Plan) { p.Noise = 1e9 }} {
		q := *p
		bad(&q)
		if _, err := q.Train(tableOf(t, 2, 1, nil), noise.NewSource(), func(int) error { return nil }); err == nil {
			t.Errorf("%+v is taken", q)
		}
	}
}

// TestClosedForm: the norm of a row's gradient as the product of two norms clips as the gradient's own norm does, which is computed where a unit may have several rows.
func TestClosedForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, l := range []*loss.Loss{loss.Logistic(), loss.Squared(1), loss.Softmax(4)} {
		const width = 7
		rows := random(rng, 60, 1, width, max(2, l.Outputs))
		closed, explicit := tableOf(t, width, 1, rows), tableOf(t, width, 2, rows)
		theta := make([]float64, width*l.Outputs)
		for j := range theta {
			theta[j] = 2 * rng.NormFloat64()
		}
		for _, clip := range []float64{0.01, 0.3, 10} {
			for u := range rows {
				batch := []int32{int32(u)}
				a, b := sums(t, closed, l, clip, theta, batch), sums(t, explicit, l, clip, theta, batch)
				if norm := floats.Norm(a, 2); floats.Distance(a, b, 2) > 1e-6*norm+1.01*Unit*data.Step/4*math.Sqrt(float64(l.Outputs)) { // the one cuts each residual to a step of 2^-16 of the clip, the other entries
					t.Fatalf("%s, clip %g: %v by the product of norms, %v by the norm", l.Name, clip, a, b)
				}
				g := gradient(closed, l, theta, u)
				if long, want := floats.Norm(a, 2)/Unit, math.Min(1, floats.Norm(g, 2)/clip); math.Abs(long-want) > 2e-4 {
					t.Fatalf("%s, clip %g: clipped to %g, want %g", l.Name, clip, long, want)
				}
			}
		}
	}
}
