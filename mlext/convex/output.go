package convex

import (
	"errors"
	"math"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// Output is a training by output perturbation: the minimum of the sum of losses + Lambda/2 |theta|^2, plus normal noise.
type Output struct {
	Loss        *loss.Loss
	Width, Rows int
	Lambda      float64
	Sigma       float64
	step        float64
	multiplier  float64
	tolerance   float64
	most        int
}

// NewOutput calibrates the noise.
//
// Proof: claim: Train is (epsilon, delta)-DP. (1) The objective is lambda-strongly convex, so its minimum moves by at most |g|/lambda if a unit is added, g the unit's gradient at the new minimum: |g| <= m L (Chaudhuri, Monteleoni, Sarwate 2011, Lemma 7, for sums). (2) What is found is
// within t/lambda of it, t the tolerance, for either database, and rounded to the lattice within sqrt(n)/2 steps: the sensitivity is m L/lambda and twice these. (3) account.GaussianSigma is the exact bound of the Gaussian mechanism (Balle, Wang 2018); noise.Normal rounds it.
func NewOutput(l *loss.Loss, width, rows int, epsilon, delta, lambda float64) (*Output, error) {
	if width < 1 || rows < 1 || !(epsilon > 0) || !(delta > 0 && delta < 1) || lambda < 0 {
		return nil, errors.New("convex: a training needs features, rows, epsilon and delta")
	}
	o := &Output{Loss: l, Width: width, Rows: rows, Lambda: lambda}
	o.multiplier = account.GaussianSigma(epsilon, delta)
	n := math.Sqrt(float64(width * l.Outputs))
	if o.Lambda == 0 {
		o.Lambda = outputLambda(o.multiplier * float64(rows) * l.Lipschitz * n)
	}
	return o, o.ForRows(UsualRows)
}

// ForRows is Objective.ForRows.
func (o *Output) ForRows(most int) (err error) {
	n, moved := math.Sqrt(float64(o.Width*o.Loss.Outputs)), float64(o.Rows)*o.Loss.Lipschitz/o.Lambda
	var size float64
	if o.tolerance, size, err = toleranceFor(o.Loss, most, o.Lambda, 0); err != nil {
		return err
	}
	o.most = most
	moved += 2 * o.tolerance / o.Lambda
	o.step = lattice(moved/n, outBits+8, size, o.multiplier*moved/noise.MaxNormalSigma)
	o.Sigma = o.multiplier * (moved + n*o.step) * (1 + 1e-9)
	return nil
}

// Multiplier is the noise multiplier of one Gaussian mechanism that is (epsilon, delta)-DP: that of output perturbation and of moments.
func Multiplier(epsilon, delta float64) float64 { return account.GaussianSigma(epsilon, delta) }

// Composed is what Train runs, by its Renyi loss: one Gaussian mechanism, of the multiplier that Sigma was made of (NewOutput's proof).
func (o *Output) Composed() dp.Composed {
	return dp.Composed{Multiplier: o.multiplier, Rate: 1, Steps: 1}
}

// outputLambda is the rule for lambda: for which the noise has a norm of about 5, well below that of a good model's parameters.
func outputLambda(norm float64) float64 { return norm / 5 }

// Train finds the minimum and releases it with noise.
func (o *Output) Train(t *data.Table, src *noise.Source, stop func() error) (*Model, error) {
	if t.Width() != o.Width || t.HasUnitPerRow() != (o.Rows == 1) {
		return nil, errors.New("convex: the table is not as was planned")
	}
	if t.Rows() > o.most {
		return nil, ErrTooManyRows
	}
	p := &problem{table: t, loss: o.Loss, lambda: o.Lambda, linear: make([]float64, o.Width*o.Loss.Outputs)}
	theta, err := p.solve(o.tolerance, stop)
	if err != nil {
		return nil, err
	}
	return release(theta, src, o.Sigma, o.step)
}
