package stage

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// TestTogetherLaw: numbers with noise that is added are shown with one noise of their deviation. It is that of the mechanism, and never another's.
func TestTogetherLaw(t *testing.T) {
	for k := range noiseWords {
		if _, _, ok := TogetherLaw(k, 1); ok != k.IsAdded() {
			t.Errorf("%s: %v", k, ok)
		}
	}
	for k, want := range map[dp.NoiseKind]float64{dp.LaplaceNoise: 10 / math.Sqrt2, dp.GaussianNoise: 10} {
		if word, scale, _ := TogetherLaw(k, 10); word != string(k) || math.Abs(scale-want) > 1e-9 {
			t.Errorf("%s: %s %g", k, word, scale)
		}
	}
	if word, _, ok := TogetherLaw("twin", 10); ok {
		t.Errorf("a twin is %s", word)
	}
}
