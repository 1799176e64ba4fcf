package finish

import (
	"math"

	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/engine/release"
)

// selected is the selection whose noisy number a measure's value is: a group is shown only where that number is above the threshold.
type selected struct {
	law       *law
	threshold float64
	toppedUp  bool // the value is the mean of that number and of fresh ones
}

// selectedBy is nil for a measure whose value has no noise of a selection.
func selectedBy(run *measure.Run, r *release.Release, i int) (*selected, error) {
	if run.Measures[i] != nil || run.Selection == nil {
		return nil, nil
	}
	first, of, err := (&release.Release{Run: run, Tops: r.Tops}).Noise(i)
	if err != nil {
		return nil, err
	}
	ev, ok := first.(dp.Selection)
	if !ok {
		return nil, nil
	}
	l, err := lawOf(ev)
	return &selected{l, float64(ev.Threshold), of > 1}, err
}

// shown is at most the probability that a group of n people is shown, which is P(noise >= k), k = threshold + 1 - n.
//
// Proof: for k <= 0 it is 1 - P(noise >= 1 - k), and law.tail is never too small. For k >= 1 and truncated Laplace noise it is (p - t)/(1 - 2t) >= p - t, p = P(Laplace noise >= k), t = P(Laplace noise > threshold). For Gaussian noise the sum of exp(-j^2/2s^2) from k on is at
// least its integral, and the sum over all j is at most s sqrt(2 pi)(1 + 3 exp(-2 pi^2 s^2)).
func (s *selected) shown(n float64) float64 {
	k, l := s.threshold+1-n, s.law
	switch {
	case k < 1:
		return 1 - l.tail(1-k)
	case l.laplace:
		return -math.Exp(-k/l.scale) * math.Expm1(-n/l.scale) / l.both
	}
	return math.Erfc(k/(l.scale*math.Sqrt2)) / 2 / (1 + 3*math.Exp(-2*math.Pi*math.Pi*l.scale*l.scale)) * (1 - doubt)
}

// reaches is at least the probability that the noisy number of n people is y or more, y > threshold and y >= n; in parts of the same whole as shown.
//
// Proof: Gaussian noise: law.tail without its table, whose error is absolute. Truncated Laplace noise: (p - t)/(1 - 2t), as in shown; up to the threshold 1 - 2t is left out of both, and above it p is not less.
func (s *selected) reaches(y, n float64) float64 {
	d, l := y-n, s.law
	switch {
	case !l.laplace:
		return (&law{scale: l.scale}).tail(d) * (1 + doubt)
	case n > s.threshold:
		return l.tail(d)
	}
	return math.Exp(-d/l.scale) * math.Max(0, -math.Expm1((d-s.threshold-1)/l.scale)) / l.both
}

// lowest is the lower end of the interval of measure i, whose released value is y, given that its group is shown.
//
// Proof: claim: of groups of n people that are shown, at most miss/2 have a lower end above n, for every n. The end is at most the least n >= 1 (nobody's group is never shown) of which P(y' >= y | shown) may be above miss/2, y' being the value of such a group: where n is below
// the end, y is among its rarest miss/2. (1) y is the selection's own number: whatever reaches y is shown, so it is reaches/shown. (2) y was topped up: it is at most P(noise of the mean >= y - n)/shown, bounded by reach, or where half of the groups are shown, above the
// threshold, by the quantile at half of miss. (3) Halving finds the least n: (1) rises with n, as the tails' ratio does; in (2) reach may grow by more than a person a person where n is near 1 alone, which is looked at first. Upper ends need nothing: P(y' <= y | shown) <= P(y' <= y).
func (e *Errors) lowest(i int, y float64) float64 {
	s, width := e.selected[i], e.Measure(i)
	if s == nil || e.sums > 1 || 1-s.shown(y-width) < doubt {
		return y - width
	}
	to := y
	may := func(n float64) bool { return s.reaches(y, n) >= e.miss/2*s.shown(n) } // (1)
	if s.toppedUp {                                                               // (2)
		all := []addend{{1, e.values[i]}}
		may = func(n float64) bool {
			return y-n <= reach(all, -math.Log(e.miss/2*s.shown(n)))+e.values[i].rounding
		}
		if to = math.Min(y, s.threshold); !may(to) {
			return y - math.Max(width, e.Together(2).Measure(i))
		}
	}
	from := 0.0
	if may(1) { // (3)
		to = math.Min(to, 1)
	}
	for to-from > 1 {
		if mid := math.Floor((from + to) / 2); may(mid) {
			to = mid
		} else {
			from = mid
		}
	}
	return math.Min(to, y-width)
}
