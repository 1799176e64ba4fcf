package account

import (
	"math"
	"testing"
)

// TestPosteriorCurve: at each order the curve is the larger of both directions' Renyi loss, by an integral of the test's own: not below, and no more than 2% above where rows have little leverage.
func TestPosteriorCurve(t *testing.T) {
	for _, h := range []float64{1e-4, 0.01, 0.2} {
		for _, shift := range []float64{0, 1, 30} {
			curve := PosteriorCurve(shift, h)
			s := math.Sqrt(shift)
			for _, a := range []float64{1.5, 3, 5.5} {
				most := 0.0
				for _, other := range []bool{false, true} {
					p, q := [2]float64{s, h}, [2]float64{s / (1 + h), h / (1 + h)}
					if other {
						p, q = q, p
					}
					log := func(x float64, n [2]float64) float64 { return -(x-n[0])*(x-n[0])/(2*n[1]) - math.Log(2*math.Pi*n[1])/2 }
					sum, step := 0.0, math.Sqrt(h)/100
					for x := s - 40*math.Sqrt(h); x < s+40*math.Sqrt(h); x += step {
						sum += step * math.Exp(a*log(x, p)-(a-1)*log(x, q))
					}
					most = math.Max(most, math.Log(sum)/(a-1))
				}
				if got := curve(a); got < most-1e-12 || got > most*(1.02+a*h)+1e-10 {
					t.Errorf("leverage %g, shift %g, order %g: %g, the integral is %g", h, shift, a, got, most)
				}
			}
		}
	}
	if !math.IsInf(PosteriorCurve(1, 0.5)(3), 1) || PosteriorShift(0.1, 1e-6, 1) != 0 || PosteriorShift(1, 0, 0.01) != 0 {
		t.Error("what has no bound has one")
	}
}
