package noise

import (
	"math/big"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// truncatedLaw is the discrete Laplace law given |x| <= limit: pmf(x) = q^|x| (1-q)/(1+q-2q^(limit+1)).
type truncatedLaw struct {
	laplaceLaw
	limit uint64
}

func newTruncated(s dp.Scale, limit uint64) truncatedLaw {
	return truncatedLaw{newLaplace(s), limit}
}

// draw samples the law exactly.
//
// Proof: a sample of the discrete Laplace, drawn again while it is outside [-limit, limit], has the law given the event. Where limit
// is below the scale, that would take long, and a uniform x from [-limit, limit] is kept with probability q^|x|
// instead (at least exp(-1); |x| den <= num), drawn exactly: the same law.
func (l truncatedLaw) draw(s *stream) int64 {
	limit := int64(l.limit)
	wide := l.limit <= l.num/l.den
	for s.err == nil {
		if wide {
			x := int64(s.below(2*l.limit+1)) - limit
			if s.expMinus(uint64(max(x, -x))*l.den, l.num) {
				return x
			}
		} else if x := l.laplaceLaw.draw(s); -limit <= x && x <= limit {
			return x
		}
	}
	return 0
}

// variance is V - p (limit^2 + 2 limit m + M), over the mass 1-p in the limit: V is the discrete Laplace's variance, p its mass
// outside, and m = 1/(1-q), M = (1+q)/(1-q)^2 the first moments of how far outside.
func (l truncatedLaw) variance() float64 {
	const prec = 512 // cancellation costs up to 150 bits
	float := func(n uint64) *big.Float { return new(big.Float).SetPrec(prec).SetUint64(n) }
	op := func() *big.Float { return float(0) }
	q := boundExp(l.power(1), prec).lo
	q.SetMode(big.ToNearestEven)
	plus, minus := op().Add(float(1), q), op().Sub(float(1), q)
	p := op().Quo(op().Mul(float(2), boundExp(l.power(l.limit+1), prec).lo), plus)
	square := op().Mul(minus, minus)
	v := op().Quo(op().Mul(float(2), q), square)
	outside := op().Add(op().Mul(float(l.limit), float(l.limit)), op().Quo(float(2*l.limit), minus))
	outside.Add(outside, op().Quo(plus, square))
	v.Sub(v, outside.Mul(outside, p))
	v.Quo(v, op().Sub(float(1), p))
	answer, _ := v.Float64()
	return answer
}

func (l truncatedLaw) quantile975() int64 { return l.quantileWithin(l.limit) }
