package convex

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/noise"
)

// Moments is a training by sufficient statistics: X'X and X'y with noise, and the ridge regression that they say.
type Moments struct {
	Width, Rows int
	Target      float64 // the largest target's size
	Sigma       float64 // of each entry, in squared features
	Lambda      float64 // 0: by the noise
	pure        bool    // Laplace noise, of deviation Sigma
}

// NewPureMoments calibrates Laplace noise, for a delta of 0.
//
// Proof: one row adds xx' and xy, |x| <= 1, its absolute entries add up to at most row, |y| <= Target: the absolute entries of xx' on and above the diagonal add up to (|x|_1^2 + |x|^2)/2, those of xy/Target to |x|_1; m rows of a unit to m times that. All of them are
// whole multiples of data.Step^2, summed up exactly (NewMoments), and take Laplace noise of that sum over epsilon, rounded exactly (noise.RoundedLaplace).
func NewPureMoments(width, rows int, row, target, epsilon float64) (*Moments, error) {
	if width < 1 || rows < 1 || !(row > 0) || !(target > 0) || !(epsilon > 0) {
		return nil, errPure
	}
	m := &Moments{Width: width, Rows: rows, Target: target, Sigma: math.Sqrt2 * float64(rows) * ((row*row+1)/2 + row) / epsilon * (1 + 1e-9), pure: true}
	return m, m.check(m.Sigma/math.Sqrt2, noise.MaxLaplaceScale)
}

// NewMoments calibrates the noise.
//
// Proof: one row adds the matrix xx' and the vector xy, |x| <= 1, |y| <= Target. As a vector of the diagonal, sqrt 2 times what is above it and xy/Target it has the norm sqrt(|x|^4 + |x|^2) <= sqrt 2; m rows of a unit m sqrt 2. Each entry's
// noise is of deviation Sigma on that scale (entries above the diagonal have Sigma/sqrt 2, those of X'y Target Sigma), rounded exactly to the lattice on which all products of features lie (noise.Normal: entries are whole multiples of data.Step^2 and sums of them exact up to 2^53 steps). Solving is post-processing.
// X'y has targets that are rounded to 2^-14 of Target. Source: Vu, Slavkovic 2009; Wang 2018 ("Revisiting differentially private linear regression"), with Gaussian noise (Balle, Wang 2018).
func NewMoments(width, rows int, target, epsilon, delta float64) (*Moments, error) {
	if width < 1 || rows < 1 || !(target > 0) || !(epsilon > 0) || !(delta > 0 && delta < 1) {
		return nil, errors.New("convex: a training needs features, rows, epsilon and delta")
	}
	m := &Moments{Width: width, Rows: rows, Target: target, Sigma: account.GaussianSigma(epsilon, delta) * math.Sqrt2 * float64(rows) * (1 + 1e-9)}
	return m, m.check(m.Sigma, noise.MaxNormalSigma)
}

// check refuses noise of so many steps that none is made: the moments' lattice cannot be coarser.
func (m *Moments) check(scale float64, most uint64) error {
	if !(math.Ceil(scale/unit) <= float64(most)) {
		return fmt.Errorf("convex: noise of %g on moments is out of range", scale)
	}
	return nil
}

// Composed is what Train runs with normal noise, by its Renyi loss: one Gaussian mechanism, of noise that Sigma is no less than for a norm of sqrt 2 a row (NewMoments' proof).
func (m *Moments) Composed() dp.Composed {
	return dp.Composed{Multiplier: m.Sigma / (math.Sqrt2 * float64(m.Rows)) * (1 - 1e-9), Rate: 1, Steps: 1}
}

// unit is a step of products.
const unit = data.Step * data.Step

var errSums = errors.New("convex: sums of products are too large to be exact")

// MostMoments is the largest width: each of the parts has a matrix of products, and eigenvalues take the third power of it.
const MostMoments = 1024

// MostMomentRows is how many rows have sums that are exact.
const MostMomentRows = parts << 24

// Train releases the moments, and solves.
func (m *Moments) Train(t *data.Table, src *noise.Source, centre func(y float64) float64, stop func() error) (*Model, error) {
	d := m.Width
	if t.Width() != d || d > MostMoments || t.Rows() > MostMomentRows {
		return nil, errSums
	}
	upper, diagonal := make([]int64, d*(d-1)/2), make([]int64, d)
	asked := data.Ask(stop)
	grams := (&problem{table: t, continueCheck: asked}).parted(1, func(int, []float32) float64 { return 1 })
	if err := asked.Err(); err != nil {
		return nil, err
	}
	for _, gram := range grams { // of multiples of data.Step with |x| <= 1: a part's sums are exact up to 2^24 rows, which are 2^52 steps of unit
		at := 0
		for i := range d {
			diagonal[i] += int64(math.Round(gram.At(i, i) / unit))
			for j := i + 1; j < d; j++ {
				upper[at] += int64(math.Round(gram.At(i, j) / unit))
				at++
			}
		}
	}
	cross, cursor := make([]int64, d), t.Cursor()
	defer cursor.Close()
	for r := range t.Rows() {
		if r%(1<<16) == 0 {
			if err := stop(); err != nil {
				return nil, err
			}
		}
		y := math.Trunc(math.Max(-1, math.Min(1, centre(t.Target(r))/m.Target)) / data.Step)
		for j, x := range cursor.Row(r) {
			cross[j] += int64(float64(x) * y / data.Step) // of whole steps, at most 2^28
		}
	}
	above := m.Sigma / math.Sqrt2 // what is above the diagonal counts twice in the norm
	if m.pure {
		above = m.Sigma
	}
	for _, of := range []struct {
		list  []int64
		sigma float64
	}{{upper, above}, {diagonal, m.Sigma}, {cross, m.Sigma}} {
		n, err := m.noise(src, of.sigma/unit)
		if err != nil {
			return nil, err
		}
		if err := n.Add(of.list); err != nil {
			return nil, err
		}
	}
	lambda := m.Lambda
	if lambda == 0 { // what the noise's largest eigenvalue is below, nearly always: the noisy matrix stays positive
		lambda = 2 * above * math.Sqrt(float64(d))
	}
	a, b := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	at := 0
	for i := range d {
		a.SetSym(i, i, float64(diagonal[i])*unit+lambda)
		b.SetVec(i, float64(cross[i])*unit*m.Target)
		for j := i + 1; j < d; j++ {
			a.SetSym(i, j, float64(upper[at])*unit)
			at++
		}
	}
	var theta []float64
	var err error
	if stopped := data.Aside(stop, func() { theta, err = positiveSolve(a, b) }); stopped != nil {
		return nil, stopped
	}
	return &Model{Theta: theta}, err
}

// noise is of a deviation in steps.
func (m *Moments) noise(src *noise.Source, deviation float64) (adder, error) {
	if m.pure {
		return src.RoundedLaplace(uint64(math.Ceil(deviation / math.Sqrt2)))
	}
	return src.Normal(uint64(math.Ceil(deviation)))
}

// positiveSolve solves with the matrix's eigenvalues raised to at least a small part of the largest.
func positiveSolve(a *mat.SymDense, b *mat.VecDense) ([]float64, error) {
	var e mat.EigenSym
	if !e.Factorize(a, true) {
		return nil, errors.New("convex: the moments have no eigenvalues")
	}
	var v mat.Dense
	e.VectorsTo(&v)
	values := e.Values(nil)
	d := len(values)
	least := math.Max(values[d-1]*1e-6, 1e-9)
	c := mat.NewVecDense(d, nil)
	c.MulVec(v.T(), b)
	for i := range d {
		c.SetVec(i, c.AtVec(i)/math.Max(values[i], least))
	}
	out := mat.NewVecDense(d, nil)
	out.MulVec(&v, c)
	return out.RawVector().Data, nil
}
