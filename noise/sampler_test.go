package noise

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Each check below has a false-alarm rate of 1e-12; a run makes less than 500 of them: 5e-10 in all. Checks of counts use exact
// binomial tails or chi-square with at least 200 expected in each bin.
const falseAlarm = 1e-12

// normalLimit bounds a mean of very many samples: the two-sided normal quantile of falseAlarm, and as much again for the
// mean's not being normal.
var normalLimit = 1.1 * distuv.UnitNormal.Quantile(1-falseAlarm/2)

const samples = 300_000

// checkLaw tells how samples differ from a stated law, or nil.
func checkLaw(out []int64, e exact) error {
	for _, x := range out {
		if math.Abs(float64(x)) > e.limit {
			return fmt.Errorf("sample %d outside the support", x)
		}
	}
	for _, check := range []func([]int64, exact) error{checkPMF, checkZero, checkSymmetry, checkMoments, checkTails, checkEdge, checkLowBits} {
		if err := check(out, e); err != nil {
			return err
		}
	}
	return nil
}

// checkPMF is Pearson's test over bins that are single integers where they hold enough, and at most 64 wide ones
// otherwise.
func checkPMF(out []int64, e exact) error {
	n := float64(len(out))
	most := math.Max(200/n, 1.0/64)
	var edges []float64 // bin i is (edges[i-1], edges[i]]
	last := 0.0
	for last < 1-most {
		x := quantileOf(e, last+most)
		if x == math.MaxInt64 || 1-e.below(x) < 200/n {
			break
		}
		for _, y := range []float64{x - 1, x} { // a heavy integer is a bin of its own
			if p := e.below(y); p-last >= 200/n {
				edges, last = append(edges, y), p
			}
		}
	}
	counts := make([]float64, len(edges)+1)
	for _, x := range out {
		i, _ := slices.BinarySearch(edges, float64(x))
		counts[i]++
	}
	chi, before := 0.0, 0.0
	for i, c := range counts {
		p := 1.0
		if i < len(edges) {
			p = e.below(edges[i])
		}
		want := n * (p - before)
		if want < 100 {
			return fmt.Errorf("bin %d expects only %g", i, want)
		}
		chi += (c - want) * (c - want) / want
		before = p
	}
	if len(edges) == 0 {
		return nil
	}
	// At 200 expected a bin the statistic's far tail is a little heavier than chi-square's: 15% more is allowed.
	if limit := 1.15 * (distuv.ChiSquared{K: float64(len(edges))}).Quantile(1-falseAlarm); chi > limit {
		return fmt.Errorf("chi-square %.1f over %d bins, limit %.1f", chi, len(counts), limit)
	}
	return nil
}

// quantileOf is the least integer x with P(X <= x) >= p.
func quantileOf(e exact, p float64) float64 {
	lo, hi := -math.Min(e.limit, 60*math.Sqrt(e.variance)+2), math.Min(e.limit, 60*math.Sqrt(e.variance)+2)
	lo, hi = math.Floor(lo), math.Ceil(hi)
	for i := 0; i < 70 && lo < hi; i++ { // beyond 2^53 floats have no next integer
		if mid := math.Floor(lo + (hi-lo)/2); e.below(mid) >= p {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return hi
}

// binomial tells whether count out of n is far from probability p: the exact tail, as a regularised beta function.
func binomial(what string, count, n int, p float64) error {
	d := distuv.Binomial{N: float64(n), P: p}
	low, high := d.CDF(float64(count)), 1.0
	if count > 0 {
		high = d.Survival(float64(count - 1))
	}
	if low < falseAlarm/2 || high < falseAlarm/2 {
		return fmt.Errorf("%s: %d of %d, expected %.1f", what, count, n, p*float64(n))
	}
	return nil
}

func checkZero(out []int64, e exact) error {
	return binomial("zeros", count(out, func(x int64) bool { return x == 0 }), len(out), e.pmf(0))
}

func checkSymmetry(out []int64, _ exact) error {
	up := count(out, func(x int64) bool { return x > 0 })
	down := count(out, func(x int64) bool { return x < 0 })
	if up+down == 0 {
		return nil
	}
	return binomial("positive samples", up, up+down, 0.5)
}

func checkMoments(out []int64, e exact) error {
	n := float64(len(out))
	if e.pmf(1)*n < 200 {
		return nil // too few samples off 0 for normal limits; the binomial checks see them
	}
	sum, squares := 0.0, 0.0
	for _, x := range out {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	if z := sum / math.Sqrt(n*e.variance); math.Abs(z) > normalLimit {
		return fmt.Errorf("mean is %.1f deviations off", z)
	}
	if z := (squares/n - e.variance) / math.Sqrt((e.fourth-e.variance*e.variance)/n); math.Abs(z) > normalLimit {
		return fmt.Errorf("variance is %.1f deviations off", z)
	}
	return nil
}

func checkTails(out []int64, e exact) error {
	for _, p := range []float64{0.1, 0.01, 0.001, 0.0001} {
		t := quantileOf(e, 1-p)
		outside := count(out, func(x int64) bool { return math.Abs(float64(x)) > t })
		if err := binomial(fmt.Sprintf("beyond %g", t), outside, len(out), min(1, 2*(1-e.below(t)))); err != nil {
			return err
		}
	}
	return nil
}

// checkEdge counts the two last integers of a truncated law.
func checkEdge(out []int64, e exact) error {
	if e.limit == math.MaxInt64 {
		return nil
	}
	at := count(out, func(x int64) bool { return math.Abs(float64(x)) == e.limit })
	return binomial("samples at the limit", at, len(out), 2*e.pmf(e.limit))
}

// checkLowBits looks at the last four bits of wide noise, which are uniform but for 1e-6: every integer can come.
func checkLowBits(out []int64, e exact) error {
	if e.variance < 1e8 {
		return nil
	}
	var counts [16]int
	for _, x := range out {
		counts[x&15]++
	}
	for bits, c := range counts {
		if err := binomial(fmt.Sprintf("last bits %04b", bits), c, len(out), 1.0/16); err != nil {
			return err
		}
	}
	return nil
}

func count(out []int64, is func(int64) bool) (n int) {
	for _, x := range out {
		if is(x) {
			n++
		}
	}
	return n
}

func draw(t *testing.T, src *Source, l law, n int) []int64 {
	t.Helper()
	out := make([]int64, n)
	if err := src.fill(l, out); err != nil {
		t.Fatal(err)
	}
	return out
}

var testScales = []dp.Scale{
	{Num: 3, Den: 10}, {Num: 1, Den: 2}, {Num: 1, Den: 1}, {Num: 5, Den: 2}, {Num: 22, Den: 7}, {Num: 60, Den: 1},
	{Num: 1000003, Den: 17}, {Num: 1e12, Den: 1}, {Num: 1<<50 - 1, Den: 1}, {Num: 1<<63 - 25, Den: 1 << 20},
}

func TestLaplaceFollowsItsLaw(t *testing.T) {
	for _, s := range testScales {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			if err := checkLaw(draw(t, fixed(t), newLaplace(s), samples), exactLaplace(s)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestGaussianFollowsItsLaw(t *testing.T) {
	for _, s := range testScales {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			if err := checkLaw(draw(t, fixed(t), newGaussian(s), samples), exactGaussian(s)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestTruncatedFollowsItsLaw(t *testing.T) {
	for _, c := range []struct {
		scale dp.Scale
		limit uint64
	}{
		{dp.Scale{Num: 1, Den: 1}, 1}, {dp.Scale{Num: 1, Den: 1}, 13}, {dp.Scale{Num: 5, Den: 2}, 2}, {dp.Scale{Num: 5, Den: 2}, 3},
		{dp.Scale{Num: 40, Den: 1}, 200}, {dp.Scale{Num: 100, Den: 1}, 7}, {dp.Scale{Num: 1e12, Den: 3}, 40},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			out := draw(t, fixed(t), newTruncated(c.scale, c.limit), samples)
			if err := checkLaw(out, exactTruncated(c.scale, c.limit)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Where float64 can't tell, the exact digits decide: the law is the same when they always do.
func TestGaussianByExactDigitsAlone(t *testing.T) {
	s := dp.Scale{Num: 22, Den: 7}
	l := newGaussian(s)
	l.inverse = math.NaN() // bracket knows nothing then
	if _, lo, hi, ok := l.bracket(3); ok || lo != 0 || hi != math.MaxUint64 {
		t.Fatal("bracket claims something about NaN")
	}
	if err := checkLaw(draw(t, fixed(t), l, 60_000), exactGaussian(s)); err != nil {
		t.Fatal(err)
	}
}

// planted is a broken sampler.
type planted struct {
	law
	change func(s *stream) int64
}

func (p planted) draw(s *stream) int64 { return p.change(s) }

// A test of the tests: each broken sampler is found.
func TestChecksFindPlantedBugs(t *testing.T) {
	tenth := func(s dp.Scale) dp.Scale { return dp.Scale{Num: s.Num * 9, Den: s.Den * 10} }
	for _, s := range []dp.Scale{{Num: 1, Den: 1}, {Num: 5, Den: 2}, {Num: 60, Den: 1}, {Num: 1e12, Den: 1}} {
		lap, gau := newLaplace(s), newGaussian(s)
		wide := s.Float() > 1e6
		for _, c := range []struct {
			name string
			law  law
			e    exact
			wide bool // visible at wide scales too
		}{
			{"laplace scaled by 0.9", newLaplace(tenth(s)), exactLaplace(s), true},
			{"gaussian scaled by 0.9", newGaussian(tenth(s)), exactGaussian(s), true},
			{"laplace as gaussian", lap, exactGaussian(s), true},
			{"gaussian without rejection", gau.proposal, exactGaussian(s), true},
			{"minus zero kept", planted{lap, func(s *stream) int64 {
				x := lap.draw(s)
				for x < 0 { // magnitudes of the positive side, then a sign: 0 has twice its mass
					x = lap.draw(s)
				}
				if s.word()&1 == 1 {
					return -x
				}
				return x
			}}, exactLaplace(s), false},
			{"minus zero is minus one", planted{lap, func(s *stream) int64 {
				if x := lap.draw(s); x != 0 || s.word()&1 == 1 {
					return x
				}
				return -1
			}}, exactLaplace(s), false},
			{"only even numbers", planted{gau, func(s *stream) int64 { return gau.draw(s) / 2 * 2 }}, exactGaussian(s), true},
			{"truncated one too far", newTruncated(s, 9), exactTruncated(s, 8), true},
			{"truncated one too near", newTruncated(s, 7), exactTruncated(s, 8), true},
			{"not truncated", lap, exactTruncated(s, 8), true},
		} {
			if wide && !c.wide {
				continue
			}
			t.Run(fmt.Sprint(c.name, s), func(t *testing.T) {
				if err := checkLaw(draw(t, fixed(t), c.law, samples/3), c.e); err == nil { // fewer samples see less
					t.Fatal("not found")
				}
			})
		}
	}
}
