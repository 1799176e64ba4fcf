package finish

import "math"

// span is all numbers from lo to hi.
type span struct{ lo, hi float64 }

func (a span) or(b span) span   { return span{min(a.lo, b.lo), max(a.hi, b.hi)} }
func (a span) less(b span) span { return span{a.lo - b.hi, a.hi - b.lo} }

func (a span) times(b span) span {
	p, q, r, s := a.lo*b.lo, a.lo*b.hi, a.hi*b.lo, a.hi*b.hi
	return span{min(p, q, r, s), max(p, q, r, s)}
}

// over divides by what is not negative. Where it may be 0 the quotient is anything.
func (a span) over(b span) span {
	if !(b.lo > 0) {
		return span{math.Inf(-1), math.Inf(1)}
	}
	return a.times(span{1 / b.hi, 1 / b.lo})
}

func (a span) root() span { return span{math.Sqrt(a.lo), math.Sqrt(a.hi)} }

// lostRange is what a statistic of all rows may be, c being the moments of what bounds left, and lost the most rows that they may have left out.
//
// Proof: the sums are about the middles of the ranges, whose half widths are hx and hy. (1) A unit that loses r rows to a clip, a cap, a clamp or a norm loses at most r hx of its sum of x, r hx^2/2 of that of x^2 - hx^2/2, and r hx hy of that of x y: no row counts for more than that, and each sum is
// cut at its most for the rows that the count keeps, or scaled by no less than the count, as all measures of a statistic follow its count's bound (sensitivity/claims gives an average beside a statistic no choice of its own). (2) So with n rows left, r lost and q = r/(n + r), the mean of all is 1 - q times the mean that is left, but for q hx of x, q hy of y,
// q hx hy of x y, and 0 to q hx^2 of x^2. These are linear in q, so farthest at q = 0 or at the largest q. (3) A variance is the mean square less the squared mean, a covariance the mean product less the product of the means: interval arithmetic holds these, and what is computed from them.
func lostRange(stat statistic, c figures, lost, middleX, middleY float64) span {
	n, q := c.n.v, lost/(c.n.v+lost)
	mean := func(left, least, most float64) span { // (2)
		return span{min(left, (1-q)*left+q*least), max(left, (1-q)*left+q*most)}
	}
	variance := func(left, d, h float64, x span) span { // (3)
		square := mean(left/n+d*d, 0, h*h)
		farthest := max(-x.lo, x.hi)
		nearest := max(0, x.lo, -x.hi)
		return span{max(0, square.lo-farthest*farthest), max(0, square.hi-nearest*nearest)}
	}
	hx, hy, dx, dy := math.Sqrt(c.mostX), math.Sqrt(c.mostY), c.x.v-middleX, c.y.v-middleY
	x, y := mean(dx, -hx, hx), mean(dy, -hy, hy)
	xx, yy := variance(c.sxx.v, dx, hx, x), variance(c.syy.v, dy, hy, y)
	xy := mean(c.sxy.v/n+dx*dy, -hx*hy, hx*hy).less(x.times(y))
	return stat.lost(lostMoments{xx, yy, xy, span{middleX + x.lo, middleX + x.hi}, span{middleY + y.lo, middleY + y.hi}, span{n, n + lost}, span{1 + 1/(n+lost-1), 1 + 1/(n-1)}})
}

// lostMoments is what the moments of all rows may be: variances and covariance, means, the number of rows, and what a sample's variance is larger by.
type lostMoments struct{ xx, yy, xy, x, y, rows, sample span }
