package convex

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// Tolerance is the norm of the gradient, in units of the loss's Lipschitz bound, below which a minimum counts as found, where there are few rows (toleranceFor).
const Tolerance = 1e-6

// outShare is how much of epsilon is spent on hiding how far the found minimum is from the true one, about: its noise has a multiplier of 1/(outShare epsilon); and
// outDelta the part of delta.
const (
	outShare = 1.0 / 5000
	outDelta = 1.0 / 1000
)

// noiseBits says how fine the lattices are: a deviation is 2^noiseBits steps.
const (
	noiseBits = 40
	outBits   = 12
)

// Theorem is what a training's noise and lambda are calibrated by.
type Theorem string

// The theorems. Kifer's and Iyengar's are older bounds of the same mechanism, for one row a unit and one score.
const (
	Redberg Theorem = "Redberg, Koskela, Wang 2023"
	Kifer   Theorem = "Kifer, Smith, Thakurta 2012"
	Iyengar Theorem = "Iyengar, Near, Song, Thakkar, Thakurta, Wang 2019"
)

// Objective is a training by objective perturbation, from public numbers alone.
type Objective struct {
	Theorem        Theorem
	Loss           *loss.Loss
	Width, Rows    int // features, rows of one unit
	Epsilon, Delta float64
	Lambda         float64
	Sigma          float64 // of the linear term
	OutSigma       float64 // of what is added to the minimum
	step, outStep  float64
	mu, tolerance  float64 // of the outer noise; of what a minimum is found to
	most           int     // rows
}

// NewObjective calibrates the noise of both kinds. lambda 0: by the rule of Lambda.
//
// Proof: claim: what Train releases is (epsilon, delta)-DP for tables whose rows have norm at most 1 and whose units have at most rows rows. (1) The true minimum theta of the objective with a
// continuous normal linear term b is (e1, delta - d2)-DP: account.Objective, whose conditions are the loss's (package loss). (2) What Train finds, theta', has with the rounded linear term b' a
// gradient of norm at most t (solve proves it); with b it is at most t + |b - b'|, so that |theta' - theta| <= (t + |b - b'|)/lambda by strong convexity. Rounded to the outer lattice it is moved by at most sqrt(n)/2 steps more. Given
// the data, b, b' and so theta' are functions of theta (and of b's digits, which are independent given b): adding theta' - theta, whose norm is at most r for every data set, with normal noise of deviation OutSigma is a Gaussian mechanism of
// sensitivity 2r, which is (e2, d2)-DP whatever theta is. (3) Both together are (e1 + e2, delta)-DP (basic composition, which holds for adaptive choice). (4) Rounding theta' plus noise to the lattice is post-processing (noise.Normal).
// "Approximate minima" so covered: Iyengar, Near, Song, Thakkar, Thakurta, Wang, "Towards Practical Differentially Private Convex Optimization", S&P 2019.
func NewObjective(by Theorem, l *loss.Loss, width, rows int, epsilon, delta, lambda float64) (*Objective, error) {
	if width < 1 || rows < 1 || !(epsilon > 0) || !(delta > 0 && delta < 1) || lambda < 0 {
		return nil, errors.New("convex: a training needs features, rows, epsilon and delta")
	}
	if by != Redberg && (rows > 1 || l.Outputs > 1) {
		return nil, fmt.Errorf("convex: %s is of one row a person and one score", by)
	}
	o := &Objective{Theorem: by, Loss: l, Width: width, Rows: rows, Epsilon: epsilon, Delta: delta, Lambda: lambda}
	mu := epsilon * outShare
	rest := epsilon - account.GaussianEpsilon(mu, delta*outDelta)
	o.calibrate(rest, delta*(1-outDelta))
	if math.IsInf(o.Sigma, 1) {
		return nil, fmt.Errorf("convex: with lambda = %g no noise gives epsilon %g: a larger lambda does", o.Lambda, epsilon)
	}
	o.step = math.Ldexp(1, int(math.Ceil(math.Log2(o.Sigma)))-noiseBits)
	o.mu = mu
	return o, o.ForRows(UsualRows)
}

// ForRows plans for tables of at most so many rows: more of them take more noise, since their minima are found less exactly. Train gives ErrTooManyRows above it. What is calibrated is planned for UsualRows; where those are too many, fewer may do.
func (o *Objective) ForRows(most int) error {
	n := math.Sqrt(float64(o.Width * o.Loss.Outputs))
	var size float64
	var err error
	if o.tolerance, size, err = toleranceFor(o.Loss, most, o.Lambda, o.Sigma*(n+12)); err != nil { // but for a probability of e^-72
		return err
	}
	o.most = most
	o.OutSigma, o.outStep = cover((o.tolerance+n*o.step)/o.Lambda, n, o.mu, size)
	return nil
}

// cover is the noise that hides where within a radius of the true minimum the found one is: a Gaussian mechanism of mu, of the radius twice and of rounding to a lattice in n^2 coordinates. Each is of a size at most.
func cover(radius, n, mu, size float64) (sigma, step float64) {
	// The step is of the noise before it is widened for its own rounding, which is a part of 2^-outBits of it, mostly.
	step = lattice(2*radius/n, outBits, size, 2*radius/mu/noise.MaxNormalSigma)
	return 2 * (radius + n*step/2) / mu, step
}

// lattice is a step of a part of 2^-bits of what is to be hidden, but no smaller than lets numbers of a size be whole multiples of it, nor than twice another: noise takes so many steps at most (and more by what the step adds to it, of which there is room).
func lattice(hidden float64, bits int, size, least float64) float64 {
	step := math.Ldexp(1, int(math.Floor(math.Log2(hidden)))-bits)
	if least = math.Max(2*least, size/(1<<51)); step < least {
		step = math.Ldexp(1, int(math.Ceil(math.Log2(least))))
	}
	return step
}

func (o *Objective) part() account.Objective {
	return account.Objective{Lipschitz: o.Loss.Lipschitz, Smooth: o.Loss.Smooth, Lambda: o.Lambda, Sigma: o.Sigma, Rows: o.Rows, Outputs: o.Loss.Outputs}
}

// Composed is what is run, by its Renyi loss; false where no theorem gives it.
//
// Proof: Train releases a function of two mechanisms (NewObjective's proof): the true minimum, whose loss is account.ObjectiveCurve, and given that a Gaussian mechanism of sensitivity 2r and deviation OutSigma = 2r/mu.
func (o *Objective) Composed() (dp.Composed, bool) {
	shift, determinants, ok := o.part().Curve()
	return dp.Composed{Multiplier: 1 / (o.Epsilon * outShare), Rate: 1, Steps: 1, Shift: shift, Determinants: determinants}, ok && o.Theorem == Redberg
}

// Model is what a training releases: parameters that are whole multiples of a power of 2.
type Model struct {
	Theta []float64 // Outputs numbers a feature
	Step  float64
}

// Train finds and releases the minimum.
func (o *Objective) Train(t *data.Table, src *noise.Source, stop func() error) (*Model, error) {
	if t.Width() != o.Width || t.HasUnitPerRow() != (o.Rows == 1) {
		return nil, errors.New("convex: the table is not as was planned")
	}
	if t.Rows() > o.most {
		return nil, ErrTooManyRows
	}
	n := o.Width * o.Loss.Outputs
	linear, err := draw(src, n, o.Sigma/o.step)
	if err != nil {
		return nil, err
	}
	for j := range linear {
		linear[j] *= o.step
	}
	p := &problem{table: t, loss: o.Loss, lambda: o.Lambda, linear: linear}
	theta, err := p.solve(o.tolerance, stop)
	if err != nil {
		return nil, err
	}
	return release(theta, src, o.OutSigma, o.outStep)
}

// draw gives rounded normal deviates, in steps, of a deviation that is rounded up.
func draw(src *noise.Source, n int, sigma float64) ([]float64, error) {
	m, err := src.Normal(uint64(math.Ceil(sigma)))
	if err != nil {
		return nil, err
	}
	steps := make([]int64, n)
	if err := m.Add(steps); err != nil {
		return nil, err
	}
	out := make([]float64, n)
	for j, s := range steps {
		out[j] = float64(s)
	}
	return out, nil
}

var errFar = errors.New("convex: a parameter is out of range")

// release rounds parameters to the lattice and adds noise of a deviation to them.
func release(theta []float64, src *noise.Source, sigma, step float64) (*Model, error) {
	m, err := src.Normal(uint64(math.Ceil(sigma / step)))
	if err != nil {
		return nil, err
	}
	return releaseBy(theta, m, step)
}

// adder is noise of a lattice: noise.Normal or noise.RoundedLaplace.
type adder interface{ Add(totals []int64) error }

func releaseBy(theta []float64, m adder, step float64) (*Model, error) {
	steps := make([]int64, len(theta))
	for j, v := range theta {
		if v = math.RoundToEven(v / step); !(math.Abs(v) < 1<<52) {
			return nil, errFar
		}
		steps[j] = int64(v)
	}
	if err := m.Add(steps); err != nil {
		return nil, err
	}
	out := &Model{Theta: make([]float64, len(theta)), Step: step}
	for j, s := range steps {
		out.Theta[j] = float64(s) * step
	}
	return out, nil
}

// calibrate sets lambda, where it was not given, and Sigma.
//
// Proof: of Kifer's, Theorem 2 there: Sigma^2 >= L^2 (8 ln(2/delta) + 4 epsilon)/epsilon^2 and lambda >= 2 beta/epsilon, for losses whose Hessian has rank 1. Of Iyengar's, Theorem 1 there for the exact minimum: of epsilon a part
// e pays for the noise, Sigma >= 2L (1 + sqrt(2 ln(1/delta)))/e, the rest for the determinants, lambda >= 2 beta/(epsilon - e); nine tenths are theirs. Both are of neighbours that differ in one row that is replaced; one that is
// added or removed changes the sum of gradients by no more than that (a row without gradient in its place). lambda is never below what they ask for. Redberg's: account.Objective.
// Iyengar's Sigma is of a Gaussian tail bound that holds for small epsilons only: by it alone the shift of a row of constant gradient has, at epsilon 300, a delta of 7e-4 for 1e-6. So Sigma is, for either of the older theorems, no less than one that hides a row by the arithmetic of account.Objective too, which needs neither of them.
func (o *Objective) calibrate(epsilon, delta float64) {
	l := o.Loss.Lipschitz
	switch o.Theorem {
	case Kifer:
		o.Lambda = math.Max(o.Lambda, 2*o.Loss.Smooth/epsilon)
		o.Sigma = l * math.Sqrt(8*math.Log(2/delta)+4*epsilon) / epsilon * (1 + 1e-12)
	case Iyengar:
		const part = 0.9
		o.Lambda = math.Max(o.Lambda, 2*o.Loss.Smooth/(epsilon*(1-part)))
		o.Sigma = 2 * l * (1 + math.Sqrt(2*math.Log(1/delta))) / (part * epsilon) * (1 + 1e-12)
	default:
		if o.Lambda == 0 {
			o.Lambda = o.choose(epsilon)
		}
		o.Sigma = account.ObjectiveSigma(o.part(), epsilon, delta)
		return
	}
	for !o.hides(epsilon, delta) {
		o.Sigma *= 1 + 1e-3
	}
}

// hides says that Sigma and Lambda make the exact minimum (epsilon, delta)-DP, of one row a unit and one score. It does for every Sigma that is large enough where epsilon > ln(1 + Smooth/Lambda), as with either older theorem's lambda: ln(1 + x/2) < x.
//
// Proof: account.Objective.Delta's: the loss is at most c + mu |v| + mu^2/2, mu = Lipschitz/Sigma and v standard normal, c = ln(1 + Smooth/Lambda) the determinants'; so twice the Gaussian mechanism's delta at epsilon - c bounds it, where that is at least mu^2/2.
func (o *Objective) hides(epsilon, delta float64) bool {
	mu, rest := o.Loss.Lipschitz/o.Sigma, epsilon-math.Log1p(o.Loss.Smooth/o.Lambda)
	return rest >= mu*mu/2 && 2*account.GaussianDelta(mu, rest) <= delta*(1-1e-9)
}

// determinantShare is the part of epsilon that the determinants take by the rule for lambda.
const determinantShare = 1.0 / 8

// choose is the rule for lambda: the least for which the determinants of the Hessians (which lambda bounds) take an eighth of epsilon. A smaller one would take noise that grows fast with it, a larger one only pulls
// the parameters to 0. It is above what the theorem asks for, the smoothness of a unit's rows, for large epsilons too. It knows nothing of the data.
func (o *Objective) choose(epsilon float64) float64 {
	all := o.Loss.Smooth * float64(o.Rows)
	return math.Max(1.01*all, all*float64(max(1, o.Loss.Outputs-1))/-math.Expm1(-epsilon*determinantShare))
}
