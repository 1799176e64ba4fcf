package convex

import (
	"errors"
	"math"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// Pure is a training with a delta of 0, by objective perturbation or, without Objective, by output perturbation: all noise is Laplace noise in each coordinate.
type Pure struct {
	Loss           *loss.Loss
	Width, Rows    int // features, rows of one unit
	Epsilon        float64
	Objective      bool
	Lambda         float64
	Scale          float64 // of the linear term
	OutScale       float64 // of what is added to the minimum
	step, outStep  float64
	tolerance      float64
	most           int     // rows
	parameters     float64 // how many
	change, settle float64 // of a unit's gradient, by absolute entries; the epsilon that hides how exactly the minimum is found
}

const (
	pureOutShare = 1.0 / 300 // of epsilon, for how exactly the minimum is found
	pureOutBits  = 6
)

var errPure = errors.New("convex: a training needs features, rows and epsilon")

// NewPureObjective calibrates objective perturbation. lambda 0: by the rule for it.
//
// Proof: claim: what Train releases is (epsilon, 0)-DP for tables whose rows have norm at most 1 and absolute entries of at most row in sum, of units of at most rows rows. (1) The true minimum theta with a continuous linear term b is (epsilon - e2, 0)-DP:
// account.PureObjective; a row's gradient is the product of x and the residual, whose absolute entries add up to at most row Absolute, so a unit's to rows row Absolute (the product of sums; triangle inequality). (2) What is found, theta', is within
// r = (t + |b - b'|)/lambda of theta, as in NewObjective's proof, and |b - b'| <= sqrt(n) steps. Given theta, two databases' theta' differ by at most 2r, whose absolute entries add up to at most 2 r sqrt(n), and by n outer steps more when they are rounded to the outer lattice. Laplace noise of
// scale OutScale makes that an (e2, 0)-DP function of theta. (3) Basic composition. (4) Rounding is post-processing (noise.RoundedLaplace, for b too: b' is a function of b).
func NewPureObjective(l *loss.Loss, width, rows int, row, epsilon, lambda float64) (*Pure, error) {
	p, err := newPure(l, width, rows, epsilon, lambda)
	if err != nil {
		return nil, err
	}
	if p.change = float64(rows) * row * l.Absolute * (1 + 1e-9); !(p.change > 0) {
		return nil, errPure
	}
	p.Objective, p.settle = true, epsilon*pureOutShare
	rest := (epsilon - p.settle) * (1 - 1e-9)
	o := account.Objective{Lipschitz: l.Lipschitz, Smooth: l.Smooth, Lambda: lambda, Rows: rows, Outputs: l.Outputs}
	if lambda == 0 {
		o.Lambda = o.LambdaFor(rest * determinantShare)
	}
	p.Lambda = o.Lambda
	left := rest - o.Determinants()
	if !(left > rest/1000) {
		return nil, errors.New("convex: lambda is so small that the determinants cost more than epsilon")
	}
	p.Scale = p.change / left * (1 + 1e-9)
	if !(account.PureObjective(o, p.change, p.Scale) <= epsilon-p.settle) {
		return nil, errPure
	}
	p.step = math.Ldexp(1, int(math.Ceil(math.Log2(p.Scale)))-noiseBits)
	return p, p.ForRows(UsualRows)
}

// NewPureOutput calibrates output perturbation.
//
// Proof: claim: as NewPureObjective's. The minimum moves by at most rows Lipschitz/lambda if a unit is added (NewOutput (1)); what is found is within t/lambda of it; so in the sum of absolute entries by sqrt(n) times as much, and by n steps where it is rounded. The Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006; Chaudhuri, Monteleoni, Sarwate 2011,
// Theorem 6, with their noise by norm).
func NewPureOutput(l *loss.Loss, width, rows int, epsilon, lambda float64) (*Pure, error) {
	p, err := newPure(l, width, rows, epsilon, lambda)
	if err != nil {
		return nil, err
	}
	n := math.Sqrt(p.parameters)
	if p.Lambda == 0 { // noise of each coordinate has the deviation sqrt 2 scale
		p.Lambda = outputLambda(math.Sqrt2 * n * n * float64(rows) * l.Lipschitz / epsilon)
	}
	return p, p.ForRows(UsualRows)
}

// ForRows is Objective.ForRows.
func (p *Pure) ForRows(most int) (err error) {
	var size float64
	n := math.Sqrt(p.parameters)
	if p.most = most; p.Objective {
		if p.tolerance, size, err = toleranceFor(p.Loss, most, p.Lambda, p.Scale*(2*n+80)); err != nil { // but for a probability of e^-70
			return err
		}
		p.out(2*(p.tolerance+n*p.step)/p.Lambda*n, p.settle, size)
		return nil
	}
	if p.tolerance, size, err = toleranceFor(p.Loss, most, p.Lambda, 0); err != nil {
		return err
	}
	p.out((float64(p.Rows)*p.Loss.Lipschitz+2*p.tolerance)/p.Lambda*n, p.Epsilon, size)
	return nil
}

func newPure(l *loss.Loss, width, rows int, epsilon, lambda float64) (*Pure, error) {
	if width < 1 || rows < 1 || !(epsilon > 0) || !(lambda >= 0) {
		return nil, errPure
	}
	return &Pure{Loss: l, Width: width, Rows: rows, Epsilon: epsilon, Lambda: lambda, parameters: float64(width * l.Outputs)}, nil
}

// out sets the noise of what is released: moved bounds by how much it moves, in the sum of absolute entries, before it is rounded; each parameter is of a size at most.
func (p *Pure) out(moved, epsilon, size float64) {
	p.outStep = lattice(moved/p.parameters, pureOutBits, size, moved/epsilon/noise.MaxLaplaceScale)
	p.OutScale = (moved + p.parameters*p.outStep) / epsilon * (1 + 1e-9)
}

// Train finds and releases the minimum.
func (p *Pure) Train(t *data.Table, src *noise.Source, stop func() error) (*Model, error) {
	if t.Width() != p.Width || t.HasUnitPerRow() != (p.Rows == 1) {
		return nil, errors.New("convex: the table is not as was planned")
	}
	if t.Rows() > p.most {
		return nil, ErrTooManyRows
	}
	linear := make([]float64, int(p.parameters))
	if p.Objective {
		steps := make([]int64, len(linear))
		m, err := src.RoundedLaplace(uint64(math.Ceil(p.Scale / p.step)))
		if err != nil {
			return nil, err
		}
		if err := m.Add(steps); err != nil {
			return nil, err
		}
		for j, v := range steps {
			linear[j] = float64(v) * p.step
		}
	}
	m, err := src.RoundedLaplace(uint64(math.Ceil(p.OutScale / p.outStep)))
	if err != nil {
		return nil, err
	}
	theta, err := (&problem{table: t, loss: p.Loss, lambda: p.Lambda, linear: linear}).solve(p.tolerance, stop)
	if err != nil {
		return nil, err
	}
	return releaseBy(theta, m, p.outStep)
}
