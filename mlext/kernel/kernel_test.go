package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Rows taken together add what they add one by one, to the bit, on the lattice; and the product in single precision is that in double but for rounding.
func TestKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, width := range []int{1, 3, 4, 31, 100} {
		var xs [Rows][]float32
		var rs [Rows]float64
		one, all := make([]float64, width), make([]float64, width)
		for i := range xs {
			xs[i], rs[i] = make([]float32, width), float64(rng.IntN(1<<17)-1<<16)
			for j := range xs[i] {
				xs[i][j] = float32(rng.IntN(1<<15)-1<<14) / (1 << 14)
			}
			Axpy(rs[i], xs[i], one)
		}
		AxpyRows(&rs, &xs, all)
		w, single, size := make([]float64, width), make([]float32, width), 0.0
		for j := range w {
			if one[j] != all[j] {
				t.Fatalf("width %d: %v one by one, %v together", width, one[j], all[j])
			}
			w[j] = rng.NormFloat64()
			single[j] = float32(w[j])
			size += math.Abs(w[j])
		}
		if a, b := Dot(xs[0], w), DotSingle(xs[0], single); math.Abs(a-b) > size*float64(width+2)*0x1p-24 {
			t.Fatalf("width %d: %v and %v", width, a, b)
		}
	}
}

// TestSingle: a product depends on its numbers alone, not on where they lie: else one unit's gradient would change with the rows before it.
func TestSingle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 100; n++ {
		x, w := make([]float32, n), make([]float64, n)
		for j := range x {
			x[j], w[j] = float32(r.NormFloat64()), r.NormFloat64()
		}
		want := DotSingle(x, Single(w))
		var held [][]float32 // so that each is elsewhere
		for off := range 8 {
			moved := append(make([]float32, off), x...)
			held = append(held, make([]float32, 1+off), Single(w))
			if got := DotSingle(moved[off:], held[len(held)-1]); got != want {
				t.Fatalf("%d numbers: %g, then %g", n, want, got)
			}
		}
	}
}
