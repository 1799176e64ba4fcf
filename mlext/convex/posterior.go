package convex

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// Posterior is a training of linear regression by one draw from its posterior: of one row a unit, targets in [-1, 1].
type Posterior struct {
	Width          int
	Epsilon, Delta float64
	Lambda         float64 // 0: by the rule of lambda
	count          float64 // the epsilon of the number of rows
	mu             float64 // of what hides how exactly the minimum is found
	main           float64 // the epsilon and delta of the draw
	mainDelta      float64
	shift          float64 // that Lambda has, where it is given
}

const (
	countShare = 1.0 / 50 // of epsilon, for the number of rows
	countDelta = 1.0 / 50 // of delta, that it is larger than was said
)

// NewPosterior calibrates it.
//
// Proof: claim: what Train releases is (epsilon, delta)-DP for tables whose rows have norm at most 1, one row a unit. (1) A number N is released by Laplace noise on the number of rows, (count, 0)-DP, so far above that with either database it is at least the number of both but for a probability of countDelta delta. (2) Given N,
// lambda and gamma are public. The minimum theta^ of a database of n <= N rows has |theta^| <= |(X'X + lambda)^-1 X'| |y| <= sqrt(n)/(2 sqrt(lambda)), as s/(s^2 + lambda) <= 1/(2 sqrt(lambda)); so a row's residual at the other's minimum is at most R = 1 + sqrt(N/lambda)/2, and a draw from the posterior is (main, mainDelta)-DP where gamma R^2 is at most
// account.PosteriorShift. (3) The draw is the minimum of the same objective with targets y_i + n_i/sqrt(gamma) and a linear term -sqrt(lambda/gamma) z, n_i and z standard normal: its covariance is H^-1 (X'X + lambda) H^-1/gamma = H^-1/gamma. (4) What is found differs from it by at most near/lambda, for every database and every noise: the gradient is
// below the tolerance, the linear term is computed from rounded normals and in float64 (linear). Given the draw, what is found is at most so far from it; noise of deviation OutSigma on top makes two mixtures of normals whose centres differ by at most twice that: a Gaussian mechanism of that sensitivity (its hockey-stick divergence is jointly convex).
// (5) All three together by basic composition, which is adaptive.
func NewPosterior(width int, epsilon, delta, lambda float64) (*Posterior, error) {
	if width < 1 || !(epsilon > 0) || !(delta > 0 && delta < 1) || !(lambda >= 0) {
		return nil, errors.New("convex: a training needs features, epsilon and delta")
	}
	p := &Posterior{Width: width, Epsilon: epsilon, Delta: delta, Lambda: lambda, count: epsilon * countShare, mu: epsilon * outShare}
	p.main = (epsilon - p.count - account.GaussianEpsilon(p.mu, delta*outDelta)) * (1 - 1e-9)
	p.mainDelta = delta * (1 - countDelta - 2*outDelta) // the second outDelta is for errFar and for noise beyond its bounds
	if lambda == 0 {
		if account.PosteriorShift(p.main, p.mainDelta, 1/mostLambda) == 0 {
			return nil, fmt.Errorf("convex: at epsilon %g and delta %g no draw is computed", epsilon, delta)
		}
		return p, nil
	}
	if p.shift = account.PosteriorShift(p.main, p.mainDelta, 1/lambda); p.shift == 0 {
		return nil, fmt.Errorf("convex: lambda %g is so small that any draw from the posterior costs more than epsilon %g", lambda, epsilon)
	}
	return p, nil
}

// lambda is the rule, from public numbers: sqrt(N/(2 mu)), mu that of one Gaussian mechanism, where about as much is lost to shrinking as to noise; and no smaller than lets a draw be made at all.
func (p *Posterior) lambda(most float64) (lambda, shift float64) {
	if p.Lambda > 0 {
		return p.Lambda, p.shift
	}
	lambda = math.Max(1, math.Sqrt(most*account.GaussianSigma(p.main, p.mainDelta)/2))
	for shift = account.PosteriorShift(p.main, p.mainDelta, 1/lambda); shift == 0 && lambda < mostLambda; shift = account.PosteriorShift(p.main, p.mainDelta, 1/lambda) {
		lambda *= 2
	}
	return lambda, shift
}

// mostLambda is one at which a draw can be made, as NewPosterior looks: at larger ones as well, since the loss grows with the leverage.
const mostLambda = 1e12

// drawn is a draw before it is released, and what it was computed with.
type drawn struct {
	theta               []float64
	most, lambda, gamma float64
	tolerance, off      float64 // of the gradient, and of its linear term
	sigma, step         float64 // of what hides both
}

// Train draws and releases.
func (p *Posterior) Train(t *data.Table, src *noise.Source, stop func() error) (*Model, error) {
	d, err := p.draw(t, src, stop)
	if err != nil {
		return nil, err
	}
	return release(d.theta, src, d.sigma, d.step)
}

func (p *Posterior) draw(t *data.Table, src *noise.Source, stop func() error) (*drawn, error) {
	if t.Width() != p.Width || !t.HasUnitPerRow() {
		return nil, errors.New("convex: the table is not as was planned")
	}
	most, err := p.most(t, src)
	if err != nil {
		return nil, err
	}
	lambda, shift := p.lambda(most)
	d := &drawn{most: most, lambda: lambda, gamma: shift / math.Pow(1+math.Sqrt(most/lambda)/2, 2) * (1 - 1e-9)}
	linear, off, err := p.linear(t, src, most, lambda, d.gamma, stop)
	if err != nil {
		return nil, err
	}
	// |theta| is at most that of the minimum and of noise of covariance at most 1/(lambda gamma), and their linear term's at most sqrt((most + lambda)/gamma) of such.
	width := math.Sqrt(float64(p.Width)) + 12
	norm := math.Sqrt(most/lambda)/2 + width/math.Sqrt(lambda*d.gamma)
	d.off, d.tolerance = off, math.Max(math.Max(Tolerance, lambda*1e-9), 1.5*rounded(loss.Quadratic(), int(most), lambda, 1.1*norm, width*math.Sqrt((most+lambda)/d.gamma)))
	d.sigma, d.step = cover((d.tolerance+off)/lambda, math.Sqrt(float64(p.Width)), p.mu, 1.1*norm+d.tolerance/lambda)
	d.theta, err = (&problem{table: t, loss: loss.Quadratic(), lambda: lambda, linear: linear}).solve(d.tolerance, stop)
	return d, err
}

// most is the released bound on the number of rows.
func (p *Posterior) most(t *data.Table, src *noise.Source) (float64, error) {
	l, err := src.RoundedLaplace(p.countScale())
	if err != nil {
		return 0, err
	}
	n := []int64{int64(t.Rows())}
	if err := l.Add(n); err != nil {
		return 0, err
	}
	return p.above(n[0]), nil
}

// countScale is the scale of the noise on the number of rows.
func (p *Posterior) countScale() uint64 { return uint64(math.Ceil(1 / p.count)) }

// above is the bound, given the noisy number of rows: one row more is the neighbour's, one is rounding's; the tail beyond b scales has the probability e^-b/2.
func (p *Posterior) above(noisy int64) float64 {
	return math.Max(1, float64(noisy)+2+math.Ceil(float64(p.countScale())*-math.Log(2*p.Delta*countDelta)))
}

// linear is minus the noise in the gradient: X'n/sqrt(gamma) + sqrt(lambda/gamma) z, and a bound on how far it is from that of the normals that were rounded.
//
// Proof: of the bound: each normal is rounded by at most half a step, |x| <= 1: at most most and sqrt(d) of them. Compensated sums are off by at most 3u of the sum of sizes, products and the factors by 3u; that sum is at most 2 most + 200, and each of z at most 40, but for a probability below 1e-30, where the training fails.
func (p *Posterior) linear(t *data.Table, src *noise.Source, most, lambda, gamma float64, stop func() error) (linear []float64, off float64, err error) {
	const step, u = 1.0 / (1 << noiseBits), 0x1p-53
	normal, err := src.Normal(1 << noiseBits)
	if err != nil {
		return nil, 0, err
	}
	d := p.Width
	sum, lost := make([]float64, d), make([]float64, d)
	draws, sizes := make([]int64, 1024), 0.0
	cursor := t.Cursor()
	defer cursor.Close()
	for i := range t.Rows() {
		at := i % len(draws)
		if at == 0 {
			if err := stop(); err != nil {
				return nil, 0, err
			}
			clear(draws)
			if err := normal.Add(draws); err != nil {
				return nil, 0, err
			}
		}
		n := float64(draws[at]) * step
		sizes += math.Abs(n)
		for j, x := range cursor.Row(i) { // Kahan's sum
			v := float64(x)*n - lost[j]
			s := sum[j] + v
			lost[j] = (s - sum[j]) - v
			sum[j] = s
		}
	}
	z := make([]int64, d)
	if err := normal.Add(z); err != nil {
		return nil, 0, err
	}
	linear = make([]float64, d)
	for j := range linear {
		n := float64(z[j]) * step
		if math.Abs(n) > 40 {
			return nil, 0, errFar
		}
		linear[j] = -(sum[j] + math.Sqrt(lambda)*n) / math.Sqrt(gamma)
	}
	if sizes > 2*most+200 {
		return nil, 0, errFar
	}
	root := math.Sqrt(lambda * float64(d))
	return linear, ((most+root)*step + 16*u*(2*most+200+40*root)) / math.Sqrt(gamma), nil
}
