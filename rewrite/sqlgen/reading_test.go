package sqlgen

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestReading: whatever a cell is, it becomes a number within the bounds; a number within the range the nearest step; NULL is left out or the middle.
func TestReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Int64Range(-1<<62, 1<<62).Draw(t, "lo")
		hi := rapid.Int64Range(lo, 1<<62).Draw(t, "hi")
		r := Reading{Float: rapid.Bool().Draw(t, "float"), Lo: lo, Hi: hi, Fill: rapid.Bool().Draw(t, "fill"),
			Grid: math.Pow(10, float64(rapid.IntRange(-9, 9).Draw(t, "grid"))), From: rapid.Float64Range(-1e6, 1e6).Draw(t, "from")}
		cell := rapid.Int64().Draw(t, "cell")
		if odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 0}; rapid.Bool().Draw(t, "odd") {
			cell = int64(math.Float64bits(rapid.SampledFrom(odd).Draw(t, "value"))) //nolint:gosec // bits
		}
		n, ok := r.Steps(cell, false)
		if !ok || n < lo || n > hi {
			t.Fatalf("%+v: %d becomes %d, %v", r, cell, n, ok)
		}
		if x := (math.Float64frombits(uint64(cell)) - r.From) / r.Grid; r.Float && math.Abs(x) < 1<<50 && x > float64(lo)+1 && x < float64(hi)-1 && math.Abs(float64(n)-x) > 0.5 { //nolint:gosec // bits
			t.Fatalf("%+v: %g becomes %d", r, x, n)
		}
		if n, ok := r.Steps(cell, true); ok != r.Fill || n < lo || n > hi {
			t.Fatalf("%+v: NULL becomes %d, %v", r, n, ok)
		}
	})
}
