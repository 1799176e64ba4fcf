package convex

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/noise"
)

// regression is a table of one row a unit with targets in [-1, 1], and the same as plain numbers.
func regression(t testing.TB, rng *rand.Rand, rows, width int) (*data.Table, *mat.Dense, *mat.VecDense) {
	t.Helper()
	b, err := data.NewBuilder(width, 1)
	if err != nil {
		t.Fatal(err)
	}
	y := mat.NewVecDense(rows, nil)
	for i := range rows {
		row := make([]float64, width)
		for j := range row {
			row[j] = rng.Float64()*2 - 1
		}
		y.SetVec(i, float64(float32(max(-1, min(1, 0.6*row[0]-0.3*row[1]+0.2*rng.NormFloat64())))))
		if err := b.Add(int64(i), row, y.AtVec(i)); err != nil {
			t.Fatal(err)
		}
	}
	table := b.Table()
	x, cursor := mat.NewDense(rows, width, nil), table.Cursor()
	defer cursor.Close()
	for i := range rows {
		for j, v := range cursor.Row(i) {
			x.Set(i, j, float64(v))
		}
	}
	return table, x, y
}

// posterior is the minimum and the Hessian.
func posterior(x *mat.Dense, y *mat.VecDense, lambda float64) (*mat.VecDense, *mat.SymDense) {
	_, d := x.Dims()
	h, xy, theta := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
	h.SymOuterK(1, x.T())
	for j := range d {
		h.SetSym(j, j, h.At(j, j)+lambda)
	}
	xy.MulVec(x.T(), y)
	if err := theta.SolveVec(h, xy); err != nil {
		panic(err)
	}
	return theta, h
}

// TestPosteriorDraws: over 2,000 trainings of a problem of two features the draws have the mean and the covariance that the posterior is said to have; half of the noise is not taken for it. Each
// variance's estimate has a deviation of sqrt(2/2000) of itself, so 20% are 6.3 of them (false alarms below 1e-9), the mean's distance is compared with 6.5 deviations.
func TestPosteriorDraws(t *testing.T) {
	table, x, y := regression(t, rand.New(rand.NewPCG(31, 32)), 200, 2)
	const draws, lambda = 2000, 40.0
	p, err := NewPosterior(2, 2, 1e-5, lambda)
	if err != nil {
		t.Fatal(err)
	}
	p.count = 1e3 // the number of rows is as good as known: 201 or so, and 2 more
	src := noise.NewSource()
	most, err := p.most(table, src)
	if err != nil {
		t.Fatal(err)
	}
	gamma := p.shift / math.Pow(1+math.Sqrt(most/lambda)/2, 2)
	mean, h := posterior(x, y, lambda)
	var want mat.Dense
	if err := want.Inverse(h); err != nil {
		t.Fatal(err)
	}
	want.Scale(1/gamma, &want)
	sum, squares := [2]float64{}, [3]float64{}
	for range draws {
		m, err := p.Train(table, src, never)
		if err != nil {
			t.Fatal(err)
		}
		a, b := m.Theta[0]-mean.AtVec(0), m.Theta[1]-mean.AtVec(1)
		sum[0], sum[1] = sum[0]+a/draws, sum[1]+b/draws
		squares[0], squares[1], squares[2] = squares[0]+a*a/draws, squares[1]+b*b/draws, squares[2]+(a-b)*(a-b)/draws
	}
	for i, w := range []float64{want.At(0, 0), want.At(1, 1), want.At(0, 0) + want.At(1, 1) - 2*want.At(0, 1)} {
		if math.Abs(squares[i]/w-1) > 0.2 {
			t.Errorf("variance %d is %g, the posterior's %g", i, squares[i], w)
		}
		if squares[i]/(w*4) > 0.8 {
			t.Errorf("half of the noise would pass")
		}
	}
	for j := range sum {
		if math.Abs(sum[j]) > 6.5*math.Sqrt(want.At(j, j)/draws) {
			t.Errorf("coefficient %d is off by %g", j, sum[j])
		}
	}
}

// hockey is the delta at an epsilon of N(s, h) against N(s/(1+h), h/(1+h)), or the other way, by the trapezoid rule.
func hockey(s, h, epsilon float64, other bool) (sum float64) {
	density := func(x, mean, variance float64) float64 {
		return math.Exp(-(x-mean)*(x-mean)/(2*variance)) / math.Sqrt(2*math.Pi*variance)
	}
	step := math.Sqrt(h) / 200
	for x := s - 12*math.Sqrt(h); x < s+12*math.Sqrt(h); x += step {
		p, q := density(x, s, h), density(x, s/(1+h), h/(1+h))
		if other {
			p, q = q, p
		}
		sum += step * math.Max(0, p-math.Exp(epsilon)*q)
	}
	return sum
}

// TestPosteriorNeighbours: for databases and one row more, the heaviest that there is, the two posteriors' delta at the epsilon that was planned is at most the planned one; at the residual that bounds it, not far below; at four times gamma it is above.
func TestPosteriorNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for _, c := range []struct {
		rows            int
		epsilon, lambda float64
	}{{10, 1, 0}, {300, 1, 0}, {300, 0.2, 0}, {300, 3, 30}, {2000, 1, 0}} {
		p, err := NewPosterior(3, c.epsilon, 1e-5, c.lambda)
		if err != nil {
			t.Fatal(err)
		}
		table, x, y := regression(t, rng, c.rows, 3)
		most, err := p.most(table, noise.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		if most < float64(c.rows)+1 {
			t.Fatalf("%d rows and one more, said to be at most %g", c.rows, most)
		}
		lambda, shift := p.lambda(most)
		bound := 1 + math.Sqrt(most/lambda)/2
		gamma := shift / (bound * bound)
		theta, h := posterior(x, y, lambda)
		norm := mat.Norm(theta, 2)
		row := mat.NewVecDense(3, nil)
		row.ScaleVec(-1/norm, theta)
		var hx mat.VecDense
		if err := hx.SolveVec(h, row); err != nil {
			t.Fatal(err)
		}
		leverage, residual := mat.Dot(row, &hx), 1+norm
		if residual > bound || leverage > 1/lambda {
			t.Errorf("%+v: a residual of %g and leverage of %g, bounded by %g and %g", c, residual, leverage, bound, 1/lambda)
		}
		for _, other := range []bool{false, true} {
			if d := hockey(math.Sqrt(gamma)*residual, leverage, p.main, other); d > p.mainDelta {
				t.Errorf("%+v: delta %g, planned %g", c, d, p.mainDelta)
			}
			worst := hockey(math.Sqrt(shift), 1/lambda, p.main, other)
			if worst > p.mainDelta {
				t.Errorf("%+v: of the worst row delta %g, planned %g", c, worst, p.mainDelta)
			}
			if d := hockey(2*math.Sqrt(shift), 1/lambda, p.main, other); d < 5*p.mainDelta {
				t.Errorf("%+v: at four times gamma delta %g", c, d)
			}
		}
	}
	if _, err := NewPosterior(3, 0.1, 1e-6, 1); err == nil {
		t.Error("a lambda of which one row has all the leverage is taken")
	}
}
