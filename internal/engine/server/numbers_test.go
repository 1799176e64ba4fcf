package server

import (
	"math"
	"testing"
)

// TestThreeDown: what has three digits stays, all else is rounded down to them, by one of the last at most.
func TestThreeDown(t *testing.T) {
	for x, want := range map[float64]float64{1.08e-7: 1.08e-7, 1.0799999999e-7: 1.07e-7, math.Nextafter(5.7e-8, 0): 5.69e-8, 1: 1, math.Nextafter(1, 0): 0.999, math.Nextafter(100, 0): 99.9, 0.12349: 0.123, 1234: 1230} {
		if got := RoundDown3(x); math.Abs(got/want-1) > 1e-12 || got > x {
			t.Errorf("%v: %v, want %v", x, got, want)
		}
	}
}
