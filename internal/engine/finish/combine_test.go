package finish

import (
	"math"
	"testing"
)

// coverage is P(|x N1 + y N2| <= z), summed over both laws one number at a time.
func coverage(x float64, n1 integerNoise, y float64, n2 integerNoise, z float64) float64 {
	pmf := func(n integerNoise) (p []float64, most int) {
		most = int(40*n.scale) + 3
		sum := 0.0
		for k := -most; k <= most; k++ {
			w := math.Exp(-math.Abs(float64(k)) / n.scale)
			if !n.laplace {
				w = math.Exp(-float64(k) * float64(k) / (2 * n.scale * n.scale))
			}
			p = append(p, w)
			sum += w
		}
		for i := range p {
			p[i] /= sum
		}
		return p, most
	}
	p1, m1 := pmf(n1)
	p2, m2 := pmf(n2)
	total := 0.0
	for i, a := range p1 {
		for j, b := range p2 {
			if math.Abs(x*float64(i-m1)+y*float64(j-m2)) <= z+1e-9*z {
				total += a * b
			}
		}
	}
	return total
}

// TestCombinedCovers: the error of a SUM beside an AVG, middle*N1 + half a grid step*N2, covers 95% and no less, also where the
// middle is large against the width (years, codes) and the lattice coarse; and it is the least that does. The continuous law,
// which was taken before, does not.
func TestCombinedCovers(t *testing.T) {
	careless := 0
	for _, laplace := range []bool{true, false} {
		for _, scales := range [][2]float64{{0.3, 0.4}, {1, 1}, {2, 2}, {2, 26}, {20, 20}, {7, 70}} {
			for _, steps := range [][2]float64{{1000.5, 0.5}, {7.5, 0.5}, {50, 0.5}, {0, 0.5}, {1.5, 0.5}, {0.5, 0.5}, {3, 0}} {
				n1, n2 := integerNoise{laplace, scales[0]}, integerNoise{laplace, scales[1]}
				z := combined(steps[0], n1, steps[1], n2)
				if z != combined(steps[1], n2, steps[0], n1) {
					t.Errorf("%v %v: not symmetric", scales, steps)
				}
				if c := coverage(steps[0], n1, steps[1], n2, z); c < 0.95 {
					t.Errorf("laplace %t, scales %v, steps %v: %g covers %.4f", laplace, scales, steps, z, c)
				}
				if c := coverage(steps[0], n1, steps[1], n2, z*(1-1e-6)-1e-6); c >= 0.95+1e-9 {
					t.Errorf("laplace %t, scales %v, steps %v: less than %g would cover", laplace, scales, steps, z)
				}
				if laplace && coverage(steps[0], n1, steps[1], n2, twoLaplace(steps[0]*scales[0], steps[1]*scales[1])) < 0.945 {
					careless++
				}
			}
		}
	}
	if careless == 0 {
		t.Error("the continuous law would have done")
	}
}

// TestCombinedWide: wide laws are bounded by continuous ones, closely.
func TestCombinedWide(t *testing.T) {
	for _, c := range []struct{ x, s1, y, s2 float64 }{{7.5, 1e6, 0.5, 1e7}, {7.5, 300, 0.5, 100}, {7.5, 100, 0.5, 1e5}} {
		z := combined(c.x, integerNoise{true, c.s1}, c.y, integerNoise{true, c.s2})
		if about := twoLaplace(c.x*c.s1, c.y*c.s2); z < about || z > about*1.01+c.x {
			t.Errorf("%+v: %g, the continuous one is %g", c, z, about)
		}
		z = combined(c.x, integerNoise{false, c.s1}, c.y, integerNoise{false, c.s2})
		if about := 1.96 * math.Hypot(c.x*c.s1, c.y*c.s2); z < about*(1-1e-4) || z > about*1.01+c.x {
			t.Errorf("Gaussian %+v: %g, the continuous one is %g", c, z, about)
		}
	}
}
