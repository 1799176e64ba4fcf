package convex

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

func never() error { return nil }

// some is a table of random rows, with targets that a hidden direction gives.
func some(t testing.TB, rng *rand.Rand, rows, width, classes int) *data.Table {
	t.Helper()
	b, err := data.NewBuilder(width, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		row, z := make([]float64, width), 0.0
		for j := range row {
			row[j] = rng.NormFloat64() / math.Sqrt(float64(width))
			z += row[j] * float64(j%3-1)
		}
		y := float64(rng.IntN(classes))
		if classes == 2 && z > 0 {
			y = 1
		}
		if err := b.Add(int64(i), row, y); err != nil {
			t.Fatal(err)
		}
	}
	return b.Table()
}

// TestSolver: the gradient that it stops at is as small as it says by a plain sum in another order, for every loss, wide and narrow.
func TestSolver(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	poisson, err := loss.Poisson(3, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loss           *loss.Loss
		width, classes int
	}{{loss.Logistic(), 7, 2}, {loss.Hinge(0.5), 7, 2}, {loss.Squared(1), 5, 2}, {poisson, 4, 3}, {loss.Softmax(4), 6, 4}, {loss.Logistic(), 1100, 2}} {
		table := some(t, rng, 700, c.width, c.classes)
		p := &problem{table: table, loss: c.loss, lambda: 0.7, linear: make([]float64, c.width*c.loss.Outputs)}
		for j := range p.linear {
			p.linear[j] = 3 * rng.NormFloat64()
		}
		theta, err := p.solve(1e-7, never)
		if err != nil {
			t.Errorf("%s, width %d: %v", c.loss.Name, c.width, err)
			continue
		}
		if n := p.slope(theta); n > 1e-7+p.rounding(theta) {
			t.Errorf("%s, width %d: gradient %g at the minimum", c.loss.Name, c.width, n)
		}
	}
}

// TestSolverRefuses: a minimum that cannot be found as exactly as was promised is none, and a stop ends it.
func TestSolverRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	p := &problem{table: some(t, rng, 50, 3, 2), loss: loss.Logistic(), lambda: 1, linear: make([]float64, 3)}
	if _, err := p.solve(1e-20, never); err == nil {
		t.Error("rounding allows no such exactness")
	}
	stopped := errors.New("stop")
	if _, err := p.solve(1e-6, func() error { return stopped }); !errors.Is(err, stopped) {
		t.Errorf("not stopped: %v", err)
	}
	p.linear[0] = math.NaN()
	if _, err := p.solve(1e-6, never); err == nil {
		t.Error("NaN has a minimum")
	}
}

// TestNeighbours: without a unit the linear term that gives the same parameters differs by the unit's gradient, whose norm is at most Lipschitz: what the proof takes.
func TestNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 20 {
		build := func(rows int, seed uint64) *data.Table { return some(t, rand.New(rand.NewPCG(seed, 1)), rows, 4, 2) }
		seed := rng.Uint64()
		with := &problem{table: build(60, seed), loss: loss.Logistic(), lambda: 2, linear: []float64{1, -2, 0.5, 3}}
		without := &problem{table: build(59, seed), loss: loss.Logistic(), lambda: 2, linear: with.linear}
		theta, err := with.solve(1e-9, never)
		if err != nil {
			t.Fatal(err)
		}
		g := make([]float64, 4)
		without.gradient(theta, g)
		if n := floats.Norm(g, 2); n > 1+1e-6 {
			t.Errorf("one row moves the linear term by %g", n)
		}
	}
}

// TestCovariance: over 2000 trainings the parameters' covariance is H^-1 Sigma^2 H^-1, H the Hessian at the minimum, within 20%: six deviations of an estimate from 2000, so a false alarm has a probability below 1e-8 in each of three entries. Results that are too good are found: noise of half the size, or divided by the number of rows.
func TestCovariance(t *testing.T) {
	table := some(t, rand.New(rand.NewPCG(11, 12)), 300, 2, 2)
	o, err := NewObjective(Redberg, loss.Logistic(), 2, 1, 1, 1e-6, 5)
	if err != nil {
		t.Fatal(err)
	}
	src, claimed := noise.NewSource(), o.Sigma
	for _, part := range []float64{1, 0.5, 1.0 / 300} {
		o.Sigma = claimed * part
		n := 2000
		if part < 1 {
			n = 100
		}
		off := 0.0
		got, want := covariances(t, o, claimed, table, src, n)
		size := math.Sqrt(want.At(0, 0) * want.At(1, 1))
		for a := range 2 {
			for b := a; b < 2; b++ {
				off = math.Max(off, math.Abs(got.At(a, b)-want.At(a, b))/size)
			}
		}
		if (off <= 0.2) != (part == 1) {
			t.Errorf("with %g of the noise: covariances are off by %g of %v", part, off, mat.Formatted(want))
		}
	}
}

// covariances are those of n trainings' parameters, and those that theory says for noise of a deviation.
func covariances(t *testing.T, o *Objective, sigma float64, table *data.Table, src *noise.Source, n int) (got, want *mat.SymDense) {
	t.Helper()
	list, mean := mat.NewDense(n, 2, nil), make([]float64, 2)
	for i := range n {
		m, err := o.Train(table, src, never)
		if err != nil {
			t.Fatal(err)
		}
		list.SetRow(i, m.Theta)
		floats.AddScaled(mean, 1/float64(n), m.Theta)
	}
	h := mat.NewSymDense(2, []float64{o.Lambda, 0, 0, o.Lambda})
	for i := range table.Rows() {
		x := table.Row(i)
		s := 1 / (1 + math.Exp(-(float64(x[0])*mean[0] + float64(x[1])*mean[1])))
		h.SymRankOne(h, s*(1-s), mat.NewVecDense(2, []float64{float64(x[0]), float64(x[1])}))
	}
	var inverse mat.Dense
	if err := inverse.Inverse(h); err != nil {
		t.Fatal(err)
	}
	got, want = mat.NewSymDense(2, nil), mat.NewSymDense(2, nil)
	want.SymOuterK(sigma*sigma, &inverse)
	stat.CovarianceMatrix(got, list, nil)
	return got, want
}

// TestCalibrated: what is planned spends no more than it says, counted anew from its parts, and what cannot be is refused.
func TestCalibrated(t *testing.T) {
	for _, rows := range []int{1, 4} {
		for _, l := range []*loss.Loss{loss.Logistic(), loss.Softmax(5)} {
			for _, epsilon := range []float64{0.1, 1, 4} {
				o, err := NewObjective(Redberg, l, 20, rows, epsilon, 1e-6, 0)
				if err != nil {
					t.Fatal(err)
				}
				n := math.Sqrt(float64(20 * l.Outputs))
				mu := 2 * ((o.tolerance+n*o.step)/o.Lambda + n*o.outStep/2) / o.OutSigma
				spent := o.part().Epsilon(1e-6*(1-outDelta)) + account.GaussianEpsilon(mu, 1e-6*outDelta)
				if spent > epsilon*(1+1e-9) || spent < 0.99*epsilon {
					t.Errorf("%s, %d rows at %g: spends %g", l.Name, rows, epsilon, spent)
				}
				if o.OutSigma > 0.05*o.Sigma/o.Lambda {
					t.Errorf("%s, %d rows at %g: the outer noise %g is no small part of %g", l.Name, rows, epsilon, o.OutSigma, o.Sigma/o.Lambda)
				}
			}
		}
	}
	if _, err := NewObjective(Redberg, loss.Logistic(), 3, 1, 0.1, 1e-6, 0.5); err == nil {
		t.Error("determinants that cost more than epsilon are taken")
	}
}

// TestOlderTheorems: lambda and sigma are those of other programs, but for the part of epsilon and delta that hides how exactly the minimum is found.
func TestOlderTheorems(t *testing.T) {
	for _, c := range []struct{ epsilon, delta, l, sigma, lambda float64 }{ // ../shared/reference/accounting.json, kifer_smith_thakurta_gaussian
		{1, 1e-5, 1, 10.0820921025, 0.5}, {0.5, 1e-6, 1, 21.7319361225, 1}, {3, 1e-5, 2, 6.98088122945, 0.166666666667},
	} {
		o := &Objective{Theorem: Kifer, Loss: &loss.Loss{Lipschitz: c.l, Smooth: 0.25, Outputs: 1}}
		o.calibrate(c.epsilon, c.delta)
		if math.Abs(o.Sigma/c.sigma-1) > 1e-9 || math.Abs(o.Lambda/c.lambda-1) > 1e-9 {
			t.Errorf("%+v: sigma %.12g, lambda %.12g", c, o.Sigma, o.Lambda)
		}
	}
	// amp_dpml_benchmark_defaults: average loss of n rows, smoothness 1.
	for _, c := range []struct{ epsilon, delta, n, lambda, sd float64 }{{0.099, 4.890338080808338e-10, 36176, 202.02020202, 0.00468441943655}, {0.99, 1e-5, 36176, 20.202020202, 0.000359920145883}, {2.97, 1e-6, 10000, 6.73400673401, 0.000468270362642}} {
		o := &Objective{Theorem: Iyengar, Loss: &loss.Loss{Lipschitz: 1, Smooth: 1, Outputs: 1}}
		o.calibrate(c.epsilon, 0.99*c.delta) // the rest is for the output there too
		if math.Abs(o.Lambda/c.lambda-1) > 1e-9 || math.Abs(o.Sigma/(c.sd*c.n)-1) > 1e-9 {
			t.Errorf("%+v: lambda %.12g, sigma/n %.12g", c, o.Lambda, o.Sigma/c.n)
		}
	}
	if _, err := NewObjective(Kifer, loss.Logistic(), 3, 2, 1, 1e-6, 0); err == nil {
		t.Error("Kifer's theorem is taken for two rows of a unit")
	}
	if _, err := NewObjective(Iyengar, loss.Softmax(3), 3, 1, 1, 1e-6, 0); err == nil {
		t.Error("Iyengar's theorem is taken for three scores")
	}
}

// TestOutputMoves: without a unit the minimum moves by no more than output perturbation takes, and nearly so where the unit is alone in its direction.
func TestOutputMoves(t *testing.T) {
	o, err := NewOutput(loss.Logistic(), 3, 2, 1, 1e-6, 4)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(units int) *data.Table {
		b, err := data.NewBuilder(3, 2)
		if err != nil {
			t.Fatal(err)
		}
		for u := range units {
			for range 2 {
				row := []float64{1, 0, 0}
				if u == 5 {
					row = []float64{0, 1, 0}
				}
				if err := b.Add(int64(u), row, float64(u%2)); err != nil {
					t.Fatal(err)
				}
			}
		}
		return b.Table()
	}
	var at [2][]float64
	for i, units := range []int{5, 6} {
		p := &problem{table: rows(units), loss: o.Loss, lambda: o.Lambda, linear: make([]float64, 3)}
		if at[i], err = p.solve(1e-9, never); err != nil {
			t.Fatal(err)
		}
	}
	floats.Sub(at[0], at[1])
	multiplier := account.GaussianSigma(1, 1e-6)
	if moved := floats.Norm(at[0], 2); moved > o.Sigma/multiplier || moved < o.Sigma/multiplier/4 {
		t.Errorf("the minimum moves by %g, the noise is for %g", moved, o.Sigma/multiplier)
	}
}

// TestMoments: with much data the noisy moments give the regression, and one unit changes them by at most what the noise is for.
func TestMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	b, err := data.NewBuilder(3, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40000 {
		x := []float64{0.5, rng.Float64() - 0.5, rng.Float64() - 0.5}
		if err := b.Add(int64(i), x, 0.4*x[0]-0.8*x[1]+0.3*x[2]+0.1*rng.NormFloat64()); err != nil {
			t.Fatal(err)
		}
	}
	m, err := NewMoments(3, 1, 1, 4, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Train(b.Table(), noise.NewSource(), func(y float64) float64 { return y }, never)
	if err != nil {
		t.Fatal(err)
	}
	for j, want := range []float64{0.4, -0.8, 0.3} { // the noise moves them by about 0.001
		if math.Abs(out.Theta[j]-want) > 0.05 {
			t.Errorf("coefficients %v", out.Theta)
		}
	}
	if want := account.GaussianSigma(4, 1e-6) * math.Sqrt2; math.Abs(m.Sigma/want-1) > 1e-6 {
		t.Errorf("sigma %g, want %g", m.Sigma, want)
	}
}
