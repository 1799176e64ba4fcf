package noise

import (
	_ "embed"
	"encoding/json"
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

//go:embed testdata/reference.json
var referenceJSON []byte

// reference holds numbers of other implementations (mpmath, Google's Go library), to 12 digits.
type reference struct {
	DiscreteGaussian []struct {
		Sigma, Variance float64
		PMF             []float64    `json:"pmf_0_to_4"`
		TailGE          [][2]float64 `json:"tail_ge"`
	} `json:"discrete_gaussian"`
	DiscreteLaplace []struct {
		A, Variance float64
		PMF         []float64 `json:"pmf_0_to_4"`
	} `json:"discrete_laplace"`
	TruncatedGeometric []struct {
		Eps, Delta float64
		L0         uint64
		Hard       int64        `json:"hard_threshold"`
		Keep       [][2]float64 `json:"keep_probability"`
	} `json:"truncated_geometric"`
}

func readReference(t *testing.T) (r reference) {
	t.Helper()
	if err := json.Unmarshal(referenceJSON, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.DiscreteGaussian) != 5 || len(r.DiscreteLaplace) != 5 || len(r.TruncatedGeometric) != 30 {
		t.Fatalf("reference of %d, %d, %d rows", len(r.DiscreteGaussian), len(r.DiscreteLaplace), len(r.TruncatedGeometric))
	}
	return r
}

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s: %.13g, reference %.13g", what, got, want)
	}
}

func twentieths(x float64) dp.Scale { return dp.Scale{Num: uint64(math.Round(x * 20)), Den: 20} }

// The laws that samples are compared with, and the variances, are the reference's; the samplers follow it too.
func TestLawsAgreeWithReference(t *testing.T) {
	for _, r := range readReference(t).DiscreteGaussian {
		s := twentieths(r.Sigma)
		e, l := exactGaussian(s), newGaussian(s)
		for x, p := range r.PMF {
			near(t, "gaussian pmf", e.pmf(float64(x)), p, 1e-11)
		}
		for _, tail := range r.TailGE {
			if tail[1] > 0 {
				near(t, "gaussian tail", e.cdf(-tail[0]), tail[1], 1e-8)
			}
		}
		near(t, "gaussian variance", l.variance(), r.Variance, 1e-11)
		againstPMF(t, draw(t, fixed(t), l, samples), r.PMF)
	}
	for _, r := range readReference(t).DiscreteLaplace {
		s := twentieths(1 / r.A)
		e, l := exactLaplace(s), newLaplace(s)
		for x, p := range r.PMF {
			near(t, "laplace pmf", e.pmf(float64(x)), p, 1e-11)
		}
		near(t, "laplace variance", l.variance(), r.Variance, 1e-11)
		againstPMF(t, draw(t, fixed(t), l, samples), r.PMF)
	}
}

func againstPMF(t *testing.T, out []int64, pmf []float64) {
	t.Helper()
	for x, p := range pmf {
		for _, sign := range []int64{1, -1} {
			n := count(out, func(y int64) bool { return y == sign*int64(x) })
			if err := binomial("reference pmf", n, len(out), p); err != nil {
				t.Error(x, err)
			}
		}
	}
}

// keepProbability is the chance that a group of n units is kept: P(noise > T - n).
func keepProbability(e exact, n float64) float64 { return e.below(n - e.limit - 1) }

// optimal is the largest chance of keeping a group of n units that (epsilon, delta) allows, by Desfontaines et al., PoPETs 2022:
// each is bounded by the one for n-1.
func optimal(epsilon, delta float64, n int) []float64 {
	p := make([]float64, n+1)
	for i := 1; i <= n; i++ {
		p[i] = min(math.Exp(epsilon)*p[i-1]+delta, 1-math.Exp(-epsilon)*(1-p[i-1]-delta), 1)
	}
	return p
}

// The least threshold by the paper's closed form is the one that pays; the chances of being kept are the optimum of
// (1/scale, pmf(threshold)) exactly, and so at most the reference's for the whole delta.
func TestSelectionAgreesWithReference(t *testing.T) {
	for _, r := range readReference(t).TruncatedGeometric {
		epsilon, delta := r.Eps/float64(r.L0), r.Delta/float64(r.L0)
		threshold := uint64(math.Ceil(math.Log((math.Expm1(epsilon)+2*delta)/(delta*(math.Exp(epsilon)+1))) / epsilon))
		ev := dp.Selection{Groups: r.L0, Scale: dp.Scale{Num: 10 * r.L0, Den: uint64(r.Eps * 10)}, Threshold: threshold, Delta: r.Delta}
		sel, err := fixed(t).Selector(ev)
		if err != nil {
			t.Fatalf("%+v: %v", ev, err)
		}
		roundTrip(t, sel.Event(), ev, new(dp.Selection))
		less := ev
		less.Threshold--
		if _, err := fixed(t).Selector(less); err == nil {
			t.Errorf("%+v: one less pays too", ev)
		}
		if d := 2*int64(threshold) + 1 - r.Hard; d < 0 || d > 2 {
			t.Errorf("%+v: kept for certain from %d on, reference %d", ev, 2*threshold+1, r.Hard)
		}
		e := exactTruncated(ev.Scale, threshold)
		whole, own := optimal(epsilon, delta, 2*int(threshold)+1), optimal(epsilon, e.pmf(float64(threshold)), 2*int(threshold)+1)
		for n, p := range own {
			near(t, "optimal for the pmf at the threshold", keepProbability(e, float64(n)), p, 1e-7)
			if p > whole[n]*(1+1e-9) {
				t.Errorf("%+v: %d units are kept too often", ev, n)
			}
		}
		for _, k := range r.Keep {
			if n := int(k[0]); n < len(whole) {
				near(t, "reference's chance of being kept", whole[n], k[1], 1e-7)
			}
		}
	}
}
