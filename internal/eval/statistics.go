package eval

import (
	"math"
	"math/big"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// statisticOf has variances, deviations, covariances and regressions.
func statisticOf(fn plan.AggFunc, args []sqltype.Type) func() accumulator {
	t := args[0]
	if f, ok := pairStats[fn]; ok && len(args) == 2 && t.IsFloat() {
		return strict(func() accumulator { return &pairStat{last: f} })
	}
	name := string(fn.Full())
	pop, root := strings.HasSuffix(name, "_pop"), strings.HasPrefix(name, "stddev_")
	switch name {
	case "var_pop", "var_samp", "stddev_pop", "stddev_samp":
	default:
		return nil
	}
	switch {
	case t.IsInteger() || t.OID == sqltype.OIDNumeric:
		return strict(func() accumulator { return &numericStat{pop: pop, root: root} })
	case t.IsFloat():
		least := 2.0
		if pop {
			least = 1
		}
		return strict(func() accumulator {
			return &floatStat{least: least, last: func(s *floatStat) sqltype.Value {
				v := s.xx / (s.n - (least - 1))
				if root {
					v = math.Sqrt(v)
				}
				return v
			}}
		})
	}
	return nil
}

// numericStat is a variance or deviation of numbers that are exact (numeric.c, numeric_stddev_internal): one division, at the scale of
// PostgreSQL's quotients, and the root of what that gave.
type numericStat struct {
	pop, root bool
	n         int64
	sum, sum2 decimal.Decimal
}

func (a *numericStat) add(_ *machine, args []sqltype.Value) error {
	x := exactly(args[0])
	a.n++
	a.sum, a.sum2 = a.sum.Add(x), a.sum2.Add(x.Mul(x))
	return nil
}

func (a *numericStat) result(*machine) (sqltype.Value, error) {
	if a.n == 0 || a.n == 1 && !a.pop {
		return nil, nil
	}
	n := decimal.NewFromInt(a.n)
	over := n.Mul(n.Sub(decimal.NewFromInt(1)))
	if a.pop {
		over = n.Mul(n)
	}
	top := n.Mul(a.sum2).Sub(a.sum.Mul(a.sum))
	if top.Sign() <= 0 {
		return decimal.Decimal{}, nil
	}
	v, err := funcs.NumericDiv(top, over)
	if err != nil || !a.root {
		return v, err
	}
	return NumericRoot(v.(decimal.Decimal)), nil
}

// NumericRoot is the square root at the scale of x, rounded to the nearest.
func NumericRoot(x decimal.Decimal) decimal.Decimal {
	scale := -x.Exponent()
	n := new(big.Int).Mul(x.Coefficient(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)) // x 10^(2 scale)
	n.Sqrt(n.Lsh(n, 2))                                                                                     // of 4n: twice the root, rounded down
	n.Rsh(n.Add(n, big.NewInt(1)), 1)
	return decimal.NewFromBigInt(n, -scale)
}

// floatStat has the moments of doubles by Youngs and Cramer, step by step as float8_accum does. Products are converted, so that no
// processor fuses them with the addition that follows.
type floatStat struct {
	n, x, xx float64
	least    float64 // rows without which there is no value
	last     func(*floatStat) sqltype.Value
}

func (a *floatStat) add(_ *machine, args []sqltype.Value) error {
	v, was := args[0].(float64), *a
	a.n++
	a.x += v
	if was.n == 0 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			a.xx = math.NaN()
		}
		return nil
	}
	d := float64(v*a.n) - a.x
	a.xx += float64(d*d) / float64(a.n*was.n)
	if math.IsInf(a.x, 0) || math.IsInf(a.xx, 0) {
		if !math.IsInf(was.x, 0) && !math.IsInf(v, 0) {
			return outOfRange("value out of range: overflow")
		}
		a.xx = math.NaN()
	}
	return nil
}

func (a *floatStat) result(*machine) (sqltype.Value, error) {
	if a.n < a.least {
		return nil, nil
	}
	return a.last(a), nil
}

// pairStat has the moments of pairs (y, x), as float8_regr_accum does.
type pairStat struct {
	n, x, xx, y, yy, xy float64
	last                func(*pairStat) sqltype.Value
}

// pairStats are the values that are made of the moments; nil is NULL.
var pairStats = map[plan.AggFunc]func(*pairStat) sqltype.Value{
	"regr_count": func(s *pairStat) sqltype.Value { return int64(s.n) },
	"regr_sxx":   atLeast(1, func(s *pairStat) sqltype.Value { return s.xx }),
	"regr_syy":   atLeast(1, func(s *pairStat) sqltype.Value { return s.yy }),
	"regr_sxy":   atLeast(1, func(s *pairStat) sqltype.Value { return s.xy }),
	"regr_avgx":  atLeast(1, func(s *pairStat) sqltype.Value { return s.x / s.n }),
	"regr_avgy":  atLeast(1, func(s *pairStat) sqltype.Value { return s.y / s.n }),
	"covar_pop":  atLeast(1, func(s *pairStat) sqltype.Value { return s.xy / s.n }),
	"covar_samp": atLeast(2, func(s *pairStat) sqltype.Value { return s.xy / (s.n - 1) }),
	"corr": atLeast(1, func(s *pairStat) sqltype.Value {
		if s.xx == 0 || s.yy == 0 {
			return nil
		}
		return s.xy / math.Sqrt(s.xx*s.yy)
	}),
	"regr_r2": atLeast(1, func(s *pairStat) sqltype.Value {
		switch {
		case s.xx == 0:
			return nil
		case s.yy == 0:
			return 1.0
		}
		return float64(s.xy*s.xy) / float64(s.xx*s.yy)
	}),
	"regr_slope": atLeast(1, func(s *pairStat) sqltype.Value {
		if s.xx == 0 {
			return nil
		}
		return s.xy / s.xx
	}),
	"regr_intercept": atLeast(1, func(s *pairStat) sqltype.Value {
		if s.xx == 0 {
			return nil
		}
		return (s.y - float64(s.x*s.xy)/s.xx) / s.n
	}),
}

func atLeast(n float64, f func(*pairStat) sqltype.Value) func(*pairStat) sqltype.Value {
	return func(s *pairStat) sqltype.Value {
		if s.n < n {
			return nil
		}
		return f(s)
	}
}

func (a *pairStat) add(_ *machine, args []sqltype.Value) error {
	y, x, was := args[0].(float64), args[1].(float64), *a
	a.n++
	a.x += x
	a.y += y
	odd := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	inf := func(v float64) bool { return math.IsInf(v, 0) }
	if was.n == 0 {
		if odd(x) {
			a.xx, a.xy = math.NaN(), math.NaN()
		}
		if odd(y) {
			a.yy, a.xy = math.NaN(), math.NaN()
		}
		return nil
	}
	dx, dy, scale := float64(x*a.n)-a.x, float64(y*a.n)-a.y, 1/float64(a.n*was.n)
	a.xx += float64(float64(dx*dx) * scale)
	a.yy += float64(float64(dy*dy) * scale)
	a.xy += float64(float64(dx*dy) * scale)
	finiteX, finiteY := !inf(was.x) && !inf(x), !inf(was.y) && !inf(y)
	if (inf(a.x) || inf(a.xx)) && finiteX || (inf(a.y) || inf(a.yy)) && finiteY || inf(a.xy) && finiteX && finiteY {
		return outOfRange("value out of range: overflow")
	}
	for _, v := range []*float64{&a.xx, &a.yy, &a.xy} {
		if inf(*v) {
			*v = math.NaN()
		}
	}
	return nil
}

func (a *pairStat) result(*machine) (sqltype.Value, error) { return a.last(a), nil }
