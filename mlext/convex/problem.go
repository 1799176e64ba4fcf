// Package convex trains linear learners by minimising a perturbed objective.
package convex

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/kernel"
	"github.com/dpsql/dpsql/mlext/loss"
)

// problem is to minimise the sum of losses + lambda/2 |theta|^2 + linear . theta. theta has Outputs numbers for each feature, feature after feature.
type problem struct {
	table         *data.Table
	loss          *loss.Loss
	lambda        float64
	linear        []float64
	continueCheck *data.ContinueCheck // within passes over the rows: after a no, what they give is worth nothing
}

func (p *problem) size() int { return p.table.Width() * p.loss.Outputs }

// blockRows are summed up in one go; the sums of blocks are added with compensation, so that rounding grows with a block and not with
// the number of rows.
const blockRows = 64

// parts is into how many ranges the rows are split: fixed, so that a result does not depend on the machine.
const parts = 8

// gradient puts the gradient at theta into g.
func (p *problem) gradient(theta, g []float64) {
	size := p.size()
	sums := make([][]float64, parts)
	rows := p.table.Rows()
	blocks := (rows + blockRows - 1) / blockRows
	coarse, fine := split(theta)
	data.Parts(parts, func(part int) {
		sums[part] = p.sum(coarse, fine, size, part*blocks/parts*blockRows, min(rows, (part+1)*blocks/parts*blockRows))
	})
	for j := range g {
		g[j] = p.lambda*theta[j] + p.linear[j]
	}
	for _, s := range sums {
		floats.Add(g, s)
	}
}

// split gives theta as a sum of two: of each entry what is a multiple of q, a power of 2, and the rest.
//
// Proof: claim: scalar products of the coarse part and rows are computed without rounding. Features are multiples of data.Step = 2^-14 with |x| <= 1, q is at least 2^-38 |theta|, so products and all sums of them are multiples of q 2^-14 of size at most |x| (|theta| + sqrt(d) q/2) < 2^39 q, below 2^53 of these.
// The rest is exact too: a multiple of an entry's last place, of size at most q/2.
func split(theta []float64) (coarse, fine []float64) {
	coarse, fine = make([]float64, len(theta)), make([]float64, len(theta))
	norm := floats.Norm(theta, 2)
	if !(norm > 1e-200) || math.IsInf(norm, 1) { // as good as 0, or no number
		copy(coarse, theta)
		return coarse, fine
	}
	q := math.Ldexp(1, int(math.Ceil(math.Log2(norm)))-38)
	for j, v := range theta {
		coarse[j] = math.RoundToEven(v/q) * q
		fine[j] = v - coarse[j]
	}
	return coarse, fine
}

// sum adds the gradients of a range of rows up, at parameters that are split.
func (p *problem) sum(coarse, fine []float64, size, from, to int) []float64 {
	total, lost, block := make([]float64, size), make([]float64, size), make([]float64, size)
	z, rest, cursor := make([]float64, p.loss.Outputs), make([]float64, p.loss.Outputs), p.table.Cursor()
	defer cursor.Close()
	between, left := max(1, data.Between(2*size)/blockRows), 0
	for at := from; at < to; at += blockRows {
		if left--; left < 0 {
			if left = between - 1; !p.continueCheck.CanContinue() {
				break
			}
		}
		clear(block)
		for i := at; i < min(at+blockRows, to); i++ {
			x, y := cursor.Row(i), p.table.Target(i)
			if len(z) == 1 {
				kernel.Axpy(p.loss.Residual(kernel.Dot(x, coarse)+kernel.Dot(x, fine), y), x, block)
				continue
			}
			kernel.Scores(x, coarse, z)
			kernel.Scores(x, fine, rest)
			floats.Add(z, rest)
			p.loss.Residuals(z, y)
			kernel.Outer(x, z, block)
		}
		for j, v := range block { // Kahan's sum
			v -= lost[j]
			s := total[j] + v
			lost[j] = (s - total[j]) - v
			total[j] = s
		}
	}
	return total
}

// rounding bounds the norm of what rounding has changed in a gradient.
//
// Proof: u = 2^-53. A score is off by at most 2 u |theta|: by u of itself, as it is added up of two of which one is exact (split) and the other is of parameters of norm at most sqrt(d) 2^-38 |theta|, so that it is off by less than (d+2) sqrt(d) 2^-38 u |theta| < u |theta|/1000, d <= 2^18 (|x| <= 1; Higham 2002, section 3.1),
// which moves the residual's norm by Smooth times that; its own evaluation by at most 16 u Lipschitz + 4 u Smooth (exp within an ulp and
// four operations, for Outputs scores a sum of as many; of what is clamped, e^z of Poisson is at most Smooth where it is not, the hinge's 1 + width - m is off by u (1 + width), which it divides by 2 width); products and a block's sum by (blockRows+2) u Lipschitz a row, compensated sums by 3u, the parts by parts u, of the sum of norms. Everything is
// taken twice. The multiples of theta and the linear term are off by 2u of themselves.
func (p *problem) rounding(theta []float64) float64 {
	return rounded(p.loss, p.table.Rows(), p.lambda, floats.Norm(theta, 2), floats.Norm(p.linear, 2))
}

func rounded(l *loss.Loss, rows int, lambda, norm, linear float64) float64 {
	const u = 0x1p-53
	lipschitz := l.Lipschitz
	if math.IsInf(lipschitz, 1) { // loss.Quadratic, |x| <= 1 and |y| <= 1
		lipschitz = 1 + norm
	}
	row := l.Smooth*(2*norm+4) + (16+float64(l.Outputs)+blockRows+2+3+parts)*lipschitz
	return 2 * u * (float64(rows)*row + 2*(lambda*norm+linear))
}

// toleranceFor is the norm of the gradient below which a minimum counts as found, from public numbers alone: linear bounds the norm of the linear term. It is Tolerance times the Lipschitz bound, but no less than lets a table of so many rows prove it.
//
// Proof: claim: near the minimum of any problem of at most most rows rounding takes at most two thirds of the tolerance. The objective at the minimum is at most the one at 0, so lambda/2 |theta|^2 <= most AtZero + linear |theta|, which bounds |theta|; what is a tenth further away has a larger gradient than the tolerance, by strong convexity.
// Whether a training ends well then does not turn on rounding in any table that it takes. It gives that bound on what is found too.
func toleranceFor(l *loss.Loss, most int, lambda, linear float64) (t, size float64, err error) {
	far := (linear + math.Sqrt(linear*linear+2*lambda*float64(most)*l.AtZero)) / lambda
	t = math.Max(Tolerance*math.Min(l.Lipschitz, 1+far), 1.5*rounded(l, most, lambda, 1.1*far, linear))
	if !(t <= lambda*far/10) {
		return 0, 0, errInexact
	}
	return t, 1.1 * far, nil
}

var errInexact = errors.New("convex: lambda is too small for how exactly a minimum can be found")

// UsualRows is how many rows a training takes where nobody said it (ForRows).
const UsualRows = 1 << 24

// ErrTooManyRows is an error of trainings over more rows than they were planned for.
var ErrTooManyRows = errors.New("convex: more rows than the training was planned for")

var errStuck = errors.New("convex: the minimum was not found to the promised exactness")

// mostSteps ends a search that does not come near.
const mostSteps = 1000

// solve finds theta at which the true gradient's norm is at most tolerance, which it proves, or gives errStuck.
// It is a limited-memory quasi-Newton method; a step is as long as makes the slope along it at most half as steep, so that no
// difference of values is needed, which rounding would swallow near the minimum.
func (p *problem) solve(tolerance float64, stop func() error) ([]float64, error) {
	size := p.size()
	p.continueCheck = data.Ask(stop)
	theta, g := make([]float64, size), make([]float64, size)
	next, gNext := make([]float64, size), make([]float64, size)
	invert := p.inverse(theta)
	memory := &history{size: size}
	p.gradient(theta, g)
	for step := range mostSteps {
		if !p.continueCheck.CanContinue() {
			return nil, p.continueCheck.Err()
		}
		if n := floats.Norm(g, 2)*(1+1e-12) + p.rounding(theta); n <= tolerance {
			return theta, nil
		} else if math.IsNaN(n) {
			return nil, errStuck
		}
		if step > 0 && step%refresh == 0 && len(p.linear) == p.table.Width() {
			invert = p.inverse(theta)
		}
		way := memory.direction(g, invert)
		slope := floats.Dot(way, g)
		if !(slope < 0) {
			memory.forget()
			way = append([]float64(nil), g...)
			invert(way)
			floats.Scale(-1, way)
			slope = floats.Dot(way, g)
		}
		lo, hi, length := 0.0, math.Inf(1), 1.0
		for range 40 {
			floats.AddScaledTo(next, theta, length, way)
			if p.gradient(next, gNext); !p.continueCheck.CanContinue() {
				return nil, p.continueCheck.Err()
			}
			s := floats.Dot(way, gNext)
			if math.Abs(s) <= 0.5*math.Abs(slope) {
				break
			}
			if s > 0 {
				hi = length
			} else {
				lo = length
			}
			if math.IsInf(hi, 1) {
				length *= 2
			} else {
				length = (lo + hi) / 2
			}
		}
		memory.add(theta, next, g, gNext)
		theta, next, g, gNext = next, theta, gNext, g
	}
	return nil, errStuck
}

// history holds the last steps and changes of gradient (Nocedal, Wright 2006, algorithm 7.4).
type history struct {
	size  int
	s, y  [][]float64
	slope []float64
}

const remembered = 12

func (h *history) forget() { h.s, h.y, h.slope = nil, nil, nil }

func (h *history) add(from, to, g, gTo []float64) {
	s, y := make([]float64, h.size), make([]float64, h.size)
	floats.SubTo(s, to, from)
	floats.SubTo(y, gTo, g)
	sy := floats.Dot(s, y)
	if !(sy > 0) {
		return
	}
	h.s, h.y, h.slope = append(h.s, s), append(h.y, y), append(h.slope, sy)
	if len(h.s) > remembered {
		h.s, h.y, h.slope = h.s[1:], h.y[1:], h.slope[1:]
	}
}

// direction is minus the approximate inverse Hessian times the gradient.
func (h *history) direction(g []float64, invert func([]float64)) []float64 {
	q := append([]float64(nil), g...)
	a := make([]float64, len(h.s))
	for i := len(h.s) - 1; i >= 0; i-- {
		a[i] = floats.Dot(h.s[i], q) / h.slope[i]
		floats.AddScaled(q, -a[i], h.y[i])
	}
	invert(q)
	for i := range h.s {
		floats.AddScaled(q, a[i]-floats.Dot(h.y[i], q)/h.slope[i], h.s[i])
	}
	floats.Scale(-1, q)
	return q
}
