package account

import (
	"errors"
	"math"
	"runtime"
	"testing"
)

// TestMostSum: sums on more cells than are held are bounded by nothing, and not computed: noise of next to none takes little memory, and means no epsilon.
func TestMostSum(t *testing.T) {
	c, err := Compose(Step{Gaussian{0.01}, 0.5, 1000000})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if e := c.Epsilon(1e-6); e < 1e6 {
		t.Errorf("epsilon %g", e)
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 1000 { // of 2^26 cells several thousand
		t.Errorf("%d MB", took)
	}
	parts := c.directions[0]
	parts[0].loss.Step /= 1 << 26
	if sum := compose(parts, 0, 1e-16); len(sum.Mass) > mostSum || sum.delta(1) < 0.5 {
		t.Errorf("%d cells, delta %g", len(sum.Mass), sum.delta(1))
	}
	for _, e := range []float64{0, 1, 1e9} {
		if n := nowhere(0.1); n.delta(e) != 1 || !math.IsInf(n.epsilon(0.5), 1) {
			t.Errorf("delta %g at %g, epsilon %g", n.delta(e), e, n.epsilon(0.5))
		}
	}
}

// TestCalibrateStops: a calibration asks before each of its trials whether to go on.
func TestCalibrateStops(t *testing.T) {
	no, asked := errors.New("no"), 0
	_, err := SampledGaussianSigma(0.1, 100, 1, 1e-6, func() error {
		if asked++; asked == 4 {
			return no
		}
		return nil
	})
	if !errors.Is(err, no) || asked != 4 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}
