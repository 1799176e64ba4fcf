package elastic

import (
	"errors"
	"math"
)

// Smooth is the smooth bound max over k of e^(-beta k) At(k): at least the change that any one unit makes, or 2^64-1, and its logarithm moves by at most beta with any one unit. It is rounded up, by less than 1e-9 of itself.
// Where ended gives an error (nil: never), so does Smooth.
//
// Proof: smoothness: At(k) here <= At(k+1) there (Rows), so e^(-beta k) At(k) here <= e^beta e^(-beta (k+1)) At(k+1) there (Nissim, Raskhodnikova, Smith 2007, Lemma 2.3). How far: for k >= 1 each frequency and
// each minimum, sum or product of such grows from k to k+1 by at most ((k+1)/k)^degree <= e^(degree/k), which e^-beta outweighs from k = degree/beta on. Numbers stay at M = 2^64-1: what is added,
// multiplied or compared is a whole number, so At is the smaller of M and the bound in exact numbers, and all of the above holds of that too, as x <= y gives min(x, M) <= min(y, M) and x <= r y gives min(x, M) <= r min(y, M) for r >= 1. So nothing may depend on whether some At(k) is cut: with a beta of the analyst's
// choice one at k and not one at k-1 is, thus one here and none there. Where At(0) is cut, the bound may be too small, but is M, above which there is no edge (Grid.Step).
//
// Which distances: every one up to the last is looked at, or lies inside an interval from a to b that was left out since e^(-beta (a+1)) At(b) is no more than some e^(-beta k) At(k) that was looked at: At is nondecreasing, so nothing between a and b exceeds it. No other property of At is used, as the sum of products and minima that it is need have one hump alone.
// How many: at most one look at each distance, degree/beta + 3 of them. Of an At whose e^(-beta k) At(k) falls off from its largest value at k0 as that of a power does, by at least beta^2 (k-k0)^2 / (4 degree) of its logarithm, intervals of length w stay only within 2 sqrt(degree w/beta) of k0: some 15 sqrt(degree/beta) looks in all, of all lengths 1, 2, 4, ....
// How many there are follows the frequencies, and so does how long the database takes to measure them (docs/threat-model.md, Time).
func (f *Formula) Smooth(values []uint64, beta float64, ended func() error) (float64, error) {
	if !(beta >= leastBeta && beta <= mostBeta) {
		return 0, errors.New("elastic: a beta that no grid has")
	}
	s := &search{f: f, values: values, beta: beta, ended: ended, room: make([]uint64, len(f.steps))}
	if s.max(); s.err != nil {
		return 0, s.err
	}
	return s.best * (1 + 1e-10), nil
}

// search looks for the largest e^(-beta k) At(k).
type search struct {
	f      *Formula
	values []uint64
	beta   float64
	ended  func() error
	room   []uint64
	best   float64 // of those looked at
	looks  int
	err    error
}

func (s *search) max() {
	last := uint64(math.Ceil(float64(s.f.steps[s.f.root].degree)/s.beta)) + 1
	s.look(0)
	s.within(0, last, s.look(last))
}

// look is At(k).
func (s *search) look(k uint64) float64 {
	if s.ended != nil && s.err == nil {
		s.err = s.ended()
	}
	if s.err != nil {
		return 0
	}
	s.looks++
	at := float64(s.f.compute(s.room, s.values, k))
	s.best = math.Max(s.best, s.weighed(k, at))
	return at
}

func (s *search) weighed(k uint64, at float64) float64 { return math.Exp(-s.beta*float64(k)) * at }

// within looks between a and b, where At is atB; first where more can be.
func (s *search) within(a, b uint64, atB float64) {
	if s.err != nil || b-a < 2 || s.weighed(a+1, atB) <= s.best {
		return
	}
	mid := a + (b-a)/2
	atMid := s.look(mid)
	if s.weighed(a+1, atMid) > s.weighed(mid+1, atB) {
		s.within(a, mid, atMid)
		s.within(mid, b, atB)
	} else {
		s.within(mid, b, atB)
		s.within(a, mid, atMid)
	}
}

// FrequencyBounds is about the least number at which, were it each of the frequencies, the smooth bound would be as large as that: what such a bound tells of them. It is at most a sixteenth too large.
func (f *Formula) FrequencyBounds(smooth, beta float64, ended func() error) (uint64, error) {
	values := make([]uint64, len(f.Frequencies))
	var err error
	reaches := func(often uint64) bool {
		for i := range values {
			values[i] = often
		}
		var at float64
		if err == nil {
			at, err = f.Smooth(values, beta, ended)
		}
		return err != nil || at >= smooth
	}
	const most = 1 << 60
	low, high := uint64(0), uint64(1)
	if reaches(low) {
		return 0, err
	}
	for ; high < most && !reaches(high); low, high = high, 4*high {
	}
	for high-low > 1+low/16 {
		if mid := low + (high-low)/2; reaches(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, err
}
