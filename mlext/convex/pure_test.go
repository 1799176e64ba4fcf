package convex

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

const rowSum = 1.3

// within is a table whose rows' absolute features add up to at most rowSum: units of so many rows.
func within(t testing.TB, rng *rand.Rand, units, most, width, classes int) *data.Table {
	t.Helper()
	b, err := data.NewBuilder(width, most)
	if err != nil {
		t.Fatal(err)
	}
	b.Within(rowSum)
	for u := range units {
		for range most {
			row := make([]float64, width)
			for j := range row {
				row[j] = 3 * rng.NormFloat64()
			}
			if err := b.Add(int64(u), row, float64(rng.IntN(classes))); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.Table()
}

// density is the logarithm of the minimum's density at theta, for Laplace noise of a scale.
func density(t *testing.T, p *problem, theta []float64, scale float64) float64 {
	t.Helper()
	n := len(theta)
	g, h := make([]float64, n), mat.NewDense(n, n, nil)
	p.gradient(theta, g)
	const e = 1e-5
	for j := range n {
		var at [2][]float64
		for i, by := range []float64{e, -e} {
			moved := slices.Clone(theta)
			moved[j] += by
			at[i] = make([]float64, n)
			p.gradient(moved, at[i])
		}
		for i := range n {
			h.Set(i, j, (at[0][i]-at[1][i])/(2*e))
		}
	}
	d, sign := mat.LogDet(h)
	if sign <= 0 {
		t.Fatal("the Hessian is not positive")
	}
	return d - floats.Norm(g, 1)/scale
}

// TestPureDensities: the densities of the minimum over neighbours differ by at most the epsilon that is claimed, wherever one looks, for one row a unit and two, one score and three; with half of the noise, or a fourth of lambda, by more.
func TestPureDensities(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, c := range []struct {
		loss *loss.Loss
		rows int
	}{{loss.Logistic(), 1}, {loss.Logistic(), 2}, {loss.Softmax(3), 1}, {loss.Squared(1), 2}} {
		const width, epsilon = 3, 1.0
		o, err := NewPureObjective(c.loss, width, c.rows, rowSum, epsilon, 0)
		if err != nil {
			t.Fatal(err)
		}
		most := map[string]float64{}
		for range 300 {
			seed, n := rng.Uint64(), rng.IntN(3)
			build := func(units int) *data.Table {
				return within(t, rand.New(rand.NewPCG(seed, 1)), units, c.rows, width, max(2, c.loss.Outputs))
			}
			theta := make([]float64, width*c.loss.Outputs)
			size := math.Exp(3 * rng.NormFloat64())
			for j := range theta {
				theta[j] = size * rng.NormFloat64()
			}
			for name, by := range map[string][2]float64{"": {1, 1}, "half the noise": {1, 0.5}, "no lambda": {1.0 / 64, 1}} {
				p := &problem{loss: c.loss, lambda: o.Lambda * by[0], linear: make([]float64, len(theta))}
				p.table = build(n)
				without := density(t, p, theta, o.Scale*by[1])
				p.table = build(n + 1)
				most[name] = math.Max(most[name], math.Abs(density(t, p, theta, o.Scale*by[1])-without))
			}
		}
		if most[""] > epsilon || most[""] < 0.6*epsilon {
			t.Errorf("%s, %d rows: densities differ by e^%g", c.loss.Name, c.rows, most[""])
		}
		if most["half the noise"] < epsilon || most["no lambda"] < epsilon {
			t.Errorf("%s, %d rows: no planted bug is found: %v", c.loss.Name, c.rows, most)
		}
	}
}

// TestPureReleases: what is released has the law of the minimum under the claimed noise, in one dimension where it is known: 4000 trainings are within the distance that the law keeps but for 1e-9 (Dvoretzky, Kiefer, Wolfowitz; Massart 1990), and beyond it from
// the law of half the noise.
func TestPureReleases(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	table := within(t, rng, 20, 1, 1, 2)
	o, err := NewPureObjective(loss.Logistic(), 1, 1, 1, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	out, err := NewPureOutput(loss.Logistic(), 1, 1, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	const n = 4000
	far := math.Sqrt(math.Log(2/1e-9) / 2 / n)
	laplace := func(x float64) float64 {
		if x < 0 {
			return math.Exp(x) / 2
		}
		return 1 - math.Exp(-x)/2
	}
	src := noise.NewSource()
	middle, err := (&problem{table: table, loss: o.Loss, lambda: out.Lambda, linear: []float64{0}}).solve(1e-9, never)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		pure *Pure
		law  func(theta, part float64) float64
	}{
		"objective": {o, func(theta, part float64) float64 { // the gradient without noise rises with theta
			g := []float64{0}
			(&problem{table: table, loss: o.Loss, lambda: o.Lambda, linear: []float64{0}}).gradient([]float64{theta}, g)
			return laplace(g[0] / o.Scale / part)
		}},
		"output": {out, func(theta, part float64) float64 { return laplace((theta - middle[0]) / out.OutScale / part) }},
	} {
		list := make([]float64, n)
		for i := range list {
			m, err := c.pure.Train(table, src, never)
			if err != nil {
				t.Fatal(err)
			}
			list[i] = m.Theta[0]
		}
		slices.Sort(list)
		distance := func(part float64) (d float64) {
			for i, v := range list {
				f := c.law(v, part)
				d = math.Max(d, math.Max(math.Abs(f-float64(i)/n), math.Abs(f-float64(i+1)/n)))
			}
			return d
		}
		if d := distance(1); d > far {
			t.Errorf("%s: %g from the law, %g is far", name, d, far)
		}
		if d := distance(0.5); d < far {
			t.Errorf("%s: half the noise passes", name)
		}
	}
}

// TestPureCalibrated: what is planned spends no more than it says, counted anew, and nearly all of it; what cannot be is refused.
func TestPureCalibrated(t *testing.T) {
	for _, rows := range []int{1, 4} {
		for _, l := range []*loss.Loss{loss.Logistic(), loss.Softmax(5)} {
			for _, epsilon := range []float64{0.01, 0.1, 1, 8} {
				p, err := NewPureObjective(l, 20, rows, rowSum, epsilon, 0)
				if err != nil {
					t.Fatal(err)
				}
				o := account.Objective{Smooth: l.Smooth, Lambda: p.Lambda, Rows: rows, Outputs: l.Outputs}
				n := math.Sqrt(p.parameters)
				moved := 2*n*(p.tolerance+n*p.step/2)/p.Lambda + n*n*p.outStep
				spent := account.PureObjective(o, float64(rows)*rowSum*l.Absolute, p.Scale) + moved/p.OutScale
				if spent > epsilon*(1+1e-12) || spent < 0.999*epsilon {
					t.Errorf("%s, %d rows at %g: spends %g", l.Name, rows, epsilon, spent)
				}
				if p.OutScale > 0.2*p.Scale/p.Lambda {
					t.Errorf("%s, %d rows at %g: the outer noise %g is no small part of %g", l.Name, rows, epsilon, p.OutScale, p.Scale/p.Lambda)
				}
			}
		}
	}
	if _, err := NewPureObjective(loss.Logistic(), 3, 1, rowSum, 0.1, 0.5); err == nil {
		t.Error("determinants that cost more than epsilon are taken")
	}
	for _, c := range [][3]float64{{0, 1, 0}, {1, 0, 0}, {1, 1, -1}, {math.NaN(), 1, 0}} {
		if _, err := NewPureObjective(loss.Logistic(), 3, 1, c[0], c[1], c[2]); err == nil {
			t.Errorf("%v is taken", c)
		}
	}
}

// TestPureMoments: the absolute moments of one unit add up to no more than the noise is for, and nearly so for the worst row; with much data they give the regression.
func TestPureMoments(t *testing.T) {
	m, err := NewPureMoments(2, 3, rowSum, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	claimed, rng, most := m.Sigma/math.Sqrt2*2, rand.New(rand.NewPCG(25, 26)), 0.0
	for range 2000 {
		table, sum := within(t, rng, 1, 3, 2, 2), 0.0
		for i := range table.Rows() {
			x := table.Row(i)
			a, b := math.Abs(float64(x[0])), math.Abs(float64(x[1]))
			sum += a*a + b*b + a*b + a + b
		}
		most = math.Max(most, sum)
	}
	if most > claimed || most < 0.95*claimed {
		t.Errorf("a unit's moments add up to %g, claimed are %g", most, claimed)
	}
	b, err := data.NewBuilder(2, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60000 {
		x := []float64{0.5, rng.Float64() - 0.5}
		if err := b.Add(int64(i/3), x, 0.4*x[0]-0.8*x[1]); err != nil {
			t.Fatal(err)
		}
	}
	out, err := m.Train(b.Table(), noise.NewSource(), func(y float64) float64 { return y }, never)
	if err != nil {
		t.Fatal(err)
	}
	for j, want := range []float64{0.4, -0.8} {
		if math.Abs(out.Theta[j]-want) > 0.1 {
			t.Errorf("coefficients %v", out.Theta)
		}
	}
}
