package finish

import (
	"math"
	"math/big"
	"slices"

	"github.com/dpsql/dpsql/sensitivity"
)

// moment gives a statistic's value and the ends of its 95% interval, by what noise does to the released moments: e.deviations x sqrt(sum of (derivative by a measure)^2 times its
// variance), and by the rows that bounds may have left out (lostRange). Of a deviation it is the variance's interval, rooted, and of R^2 the correlation's, squared, where the derivative would say nothing. No end is farther away than what the
// statistic can be is wide; that is its interval, or nothing where it has no bounds, where the number of rows or a sum of squares that it divides by is less than two of its deviations.
func (e *Errors) moment(i int, v []*big.Int) (val, low, high float64) {
	f := e.a.Formulas[i]
	stat := statisticOf(f.Moments.Stat)
	none := math.NaN()
	if v[f.Count].Cmp(big.NewInt(stat.least)) < 0 {
		return none, none, none
	}
	c, wide := e.figures(f, centralOf(e.a, f, v), v), e.deviations(f)
	out, ok := stat.value(c)
	if !ok {
		return none, none, none
	}
	low, high = math.Inf(-1), math.Inf(1)
	if !slices.ContainsFunc(stat.divisors(c), func(d dual) bool { return d.v < math.Max(2, wide)*e.deviation(f, d) }) {
		low, high = e.momentEnds(f, v, c, wide)
	}
	widest := stat.width(c)
	return out.v, math.Max(finite(math.Max(low, out.v-widest)), stat.ends.lo), math.Min(finite(math.Min(high, out.v+widest)), stat.ends.hi)
}

// momentEnds are the ends of the interval before they are held to what the statistic can be.
func (e *Errors) momentEnds(f sensitivity.Formula, v []*big.Int, c figures, wide float64) (low, high float64) {
	stat := statisticOf(f.Moments.Stat)
	base := stat.base()
	of, _ := base.value(c)
	width, all := wide*e.deviation(f, of), span{of.v, of.v}
	if base.isVariance {
		width += e.square(f, c)
	}
	if lost := e.lostRows(f.Count, float(v[f.Count])); lost > 0 {
		all = all.or(lostRange(base, c, lost, e.middleOf(f.Moments.X), e.middleOf(f.Moments.Y)))
	}
	made := stat.ofBase(all.lo-width, all.hi+width)
	return made.lo, made.hi
}

// lostRows is how many rows of a group of this value bounds may have left out.
func (e *Errors) lostRows(i int, value float64) float64 {
	l := e.lost[i].above
	if e.together {
		l.span = l.rare
	}
	return e.lost[i].part(value, e.sums) * (l.middle + l.span)
}

// middleOf is the middle of a measure's range.
func (e *Errors) middleOf(i int) (x float64) {
	if i >= 0 {
		mid, _ := middle(e.a.Measures[i])
		x, _ = mid.Float64()
	}
	return x
}

// square is what the first order leaves out of a variance: the mean of the squares about the released mean is larger than about the true one by the square of their distance.
func (e *Errors) square(f sensitivity.Formula, c figures) float64 {
	d := e.deviations(f) * e.deviation(f, c.x)
	return d * d
}

func finite(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}

// deviation is that of a number's noise, to the first order.
func (e *Errors) deviation(f sensitivity.Formula, x dual) float64 {
	sum := 0.0
	for k, i := range f.Uses() {
		if i >= 0 && k < len(x.d) {
			sum += x.d[k] * x.d[k] * e.values[i].variance
		}
	}
	return math.Sqrt(sum)
}

// The places of the derivatives: those of Formula.Uses.
const (
	byN = iota
	_
	byX
	byY
	byXX
	byYY
	byXY
	places
)

// figures are a group's moments with their derivatives.
func (e *Errors) figures(f sensitivity.Formula, exact central, v []*big.Int) figures {
	c := exact.numbers()
	n := c.n.v
	by := func(x *dual, place int, slope float64) {
		if x.d == nil {
			x.d = make([]float64, places)
		}
		x.d[place] += slope
	}
	by(&c.n, byN, 1)
	step := func(i int) (step, from float64) { // of a mean: what a step of its sum is worth, and how far it is from the middle
		if i < 0 {
			return 0, 0
		}
		_, s := middle(e.a.Measures[i])
		step, _ = s.Float64()
		total, _ := new(big.Float).SetInt(v[i]).Float64()
		return step, step * total / n
	}
	stepX, dx := step(f.Moments.X)
	stepY, dy := step(f.Moments.Y)
	by(&c.x, byX, stepX/n)
	by(&c.x, byN, -dx/n)
	by(&c.y, byY, stepY/n)
	by(&c.y, byN, -dy/n)
	sum := func(x *dual, i, place int, dx, dy float64) { // perStep M + perRow n - n dx dy
		if i < 0 {
			return
		}
		perStep, perRow := e.a.Measures[i].UnitValue()
		p, _ := perStep.Float64()
		r, _ := perRow.Float64()
		by(x, place, p)
		by(x, byN, r+dx*dy)
	}
	sum(&c.sxx, f.Moments.XX, byXX, dx, dx)
	by(&c.sxx, byX, -2*stepX*dx)
	sum(&c.syy, f.Moments.YY, byYY, dy, dy)
	by(&c.syy, byY, -2*stepY*dy)
	sum(&c.sxy, f.Moments.XY, byXY, dx, dy)
	by(&c.sxy, byX, -stepX*dy)
	by(&c.sxy, byY, -stepY*dx)
	return c
}

// The parts of its range by which a value is expected to differ from others (its standard deviation), and its mean from the range's middle.
const (
	usualSpread = 0.125
	usualOffset = 0.2
)

// expectedMoment is the half width among n rows whose values have usualSpread and usualOffset in their ranges, and of two columns a correlation of a half.
func (e *Errors) expectedMoment(i int, n float64) float64 {
	return e.momentOfSpread(i, n, usualSpread)
}

// ExpectedOfEqual is the half width of a standard deviation among n rows whose values are all equal, the most that it may be; NaN of other aggregates.
func (e *Errors) ExpectedOfEqual(i int, n float64) float64 {
	if f := e.a.Formulas[i]; f.Kind == sensitivity.IsMoment && statisticOf(f.Moments.Stat).isRoot {
		return e.momentOfSpread(i, n, 0)
	}
	return math.NaN()
}

// momentOfSpread is the half width of a statistic among n rows whose values have this standard deviation, in their ranges.
func (e *Errors) momentOfSpread(i int, n, spread float64) float64 {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return math.NaN()
	}
	v, m := e.nothing(), e.a.Formulas[i].Moments
	set := func(at int, x float64) { new(big.Float).SetFloat64(x).Int(v[at]) }
	mean := func(at int) (size float64) { // of the range
		if at >= 0 {
			size = e.a.Measures[at].RangeHi.Sub(e.a.Measures[at].RangeLo).InexactFloat64()
			_, step := middle(e.a.Measures[at])
			each, _ := step.Float64()
			set(at, n*usualOffset*size/each)
		}
		return size
	}
	x, y := mean(m.X), mean(m.Y)
	sum := func(at int, square, correlation float64) {
		if at >= 0 {
			perStep, perRow := e.a.Measures[at].UnitValue()
			step, _ := perStep.Float64()
			row, _ := perRow.Float64()
			set(at, n*(square*(usualOffset*usualOffset+correlation*spread*spread)-row)/step)
		}
	}
	sum(m.XX, x*x, 1)
	sum(m.YY, y*y, 1)
	sum(m.XY, x*y, 0.5)
	set(e.a.Formulas[i].Count, n)
	val, low, high := e.moment(i, v)
	return math.Max(val-low, high-val)
}
