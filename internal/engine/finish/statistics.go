package finish

import (
	"fmt"
	"math"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// statistic is how a statistic follows from centred moments. One that is made of another has no lost of its own.
type statistic struct {
	least      int64                        // rows from which on it has a value
	value      func(c figures) (dual, bool) // by PostgreSQL's formulas (float.c); false: it is NULL
	divisors   func(c figures) []dual       // what it divides by
	ofBase     func(low, high float64) span // its interval, from that of the statistic that it is made of
	width      func(c figures) float64      // of the values that it can have
	ends       span                         // the least and the largest value that one of any rows has
	lost       func(m lostMoments) span     // what it may be of all rows (lostRange)
	of         plan.AggFunc                 // the statistic that it is made of; "": itself
	isRoot     bool                         // a standard deviation
	isVariance bool                         // noise in the mean adds the square of its distance (Errors.square)
}

// statistics has a row for each statistic of moments, by its full name (sensitivity.Moments.Stat).
var statistics = map[plan.AggFunc]statistic{
	"var_pop": {1, func(c figures) (dual, bool) { return c.sxx.over(c.n), true }, byRows, same,
		func(c figures) float64 { return c.mostX }, fromZero, func(m lostMoments) span { return m.xx }, "", false, true},
	"var_samp": {2, func(c figures) (dual, bool) { return c.sxx.over(c.others()), true }, byRows, same,
		func(c figures) float64 { return c.mostX * c.sample() }, fromZero, func(m lostMoments) span { return m.xx.times(m.sample) }, "", false, true},
	"stddev_pop": {1, func(c figures) (dual, bool) { return c.sxx.over(c.n).root(), true }, byRows, rooted,
		func(c figures) float64 { return math.Sqrt(c.mostX) }, fromZero, nil, "var_pop", true, false},
	"stddev_samp": {2, func(c figures) (dual, bool) { return c.sxx.over(c.others()).root(), true }, byRows, rooted,
		func(c figures) float64 { return math.Sqrt(c.mostX * c.sample()) }, fromZero, nil, "var_samp", true, false},
	"regr_sxx": {1, func(c figures) (dual, bool) { return c.sxx, true }, byRows, same,
		anyWidth, fromZero, func(m lostMoments) span { return m.xx.times(m.rows) }, "", false, false},
	"regr_syy": {1, func(c figures) (dual, bool) { return c.syy, true }, byRows, same,
		anyWidth, fromZero, func(m lostMoments) span { return m.yy.times(m.rows) }, "", false, false},
	"regr_sxy": {1, func(c figures) (dual, bool) { return c.sxy.within(c.mostXY() * c.n.v), true }, byRows, same,
		anyWidth, everything, func(m lostMoments) span { return m.xy.times(m.rows) }, "", false, false},
	"covar_pop": {1, func(c figures) (dual, bool) { return c.sxy.over(c.n).within(c.mostXY()), true }, byRows, same,
		func(c figures) float64 { return 2 * c.mostXY() }, everything, func(m lostMoments) span { return m.xy }, "", false, false},
	"covar_samp": {2, func(c figures) (dual, bool) { return c.sxy.over(c.others()).within(c.mostXY() * c.sample()), true }, byRows, same,
		func(c figures) float64 { return 2 * c.mostXY() * c.sample() }, everything, func(m lostMoments) span { return m.xy.times(m.sample) }, "", false, false},
	"regr_slope": {1, slope, func(c figures) []dual { return []dual{c.n, c.sxx} }, same,
		anyWidth, everything, func(m lostMoments) span { return m.xy.over(m.xx) }, "", false, false},
	"regr_intercept": {1, intercept, func(c figures) []dual { return []dual{c.n, c.sxx} }, same,
		anyWidth, everything, func(m lostMoments) span { return m.y.less(m.x.times(m.xy.over(m.xx))) }, "", false, false},
	"corr": {1, correlation, bySquares, same,
		func(figures) float64 { return 2 }, span{-1, 1}, func(m lostMoments) span { return m.xy.over(m.xx.times(m.yy).root()) }, "", false, false},
	"regr_r2": {1, determination, bySquares, squared,
		func(figures) float64 { return 1 }, span{0, 1}, nil, "corr", false, false},
}

var everything, fromZero = span{math.Inf(-1), math.Inf(1)}, span{0, math.Inf(1)}

// statisticOf is a statistic's row. One without a row is a mistake of the program: it has no value and no interval.
func statisticOf(stat plan.AggFunc) statistic {
	row, ok := statistics[stat]
	if !ok {
		panic(fmt.Sprintf("finish: no statistic is called %q", string(stat)))
	}
	return row
}

// base is the statistic that it is made of, or itself.
func (s statistic) base() statistic {
	if s.of == "" {
		return s
	}
	return statisticOf(s.of)
}

func byRows(c figures) []dual    { return []dual{c.n} }
func bySquares(c figures) []dual { return []dual{c.n, c.sxx, c.syy} }

func anyWidth(figures) float64 { return math.Inf(1) }

func same(low, high float64) span { return span{low, high} }

// rooted is the interval of a deviation, from that of its variance.
func rooted(low, high float64) span { return span{math.Sqrt(max(0, low)), math.Sqrt(high)} }

// squared is the interval of a square.
func squared(low, high float64) span {
	nearest := max(0, low, -high)
	return span{nearest * nearest, max(low*low, high*high)}
}

func slope(c figures) (dual, bool) {
	if c.sxx.v == 0 {
		return dual{}, false
	}
	return c.sxy.over(c.sxx), true
}

func intercept(c figures) (dual, bool) {
	s, ok := slope(c)
	if !ok {
		return dual{}, false
	}
	return c.y.less(c.x.times(s)), true
}

func correlation(c figures) (dual, bool) {
	if c.sxx.v == 0 || c.syy.v == 0 {
		return dual{}, false
	}
	return c.sxy.over(c.sxx.root()).over(c.syy.root()).within(1), true
}

// determination is R^2: 1 where y is a constant, which x explains.
func determination(c figures) (dual, bool) {
	if c.sxx.v != 0 && c.syy.v == 0 {
		return dual{v: 1}, true
	}
	r, ok := correlation(c)
	if !ok {
		return dual{}, false
	}
	return r.times(r), true
}
