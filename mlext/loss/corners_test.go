package loss

import (
	"math"
	"testing"
)

// TestCorners: at the places where a loss changes its form, beside them and far out, its value is continuous, its slope the residual from either side, and nothing is infinite or no number.
func TestCorners(t *testing.T) {
	poisson, err := Poisson(20, 5)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := Poisson(4, 30) // counts are never so far above the mean that it is cut there
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loss    *Loss
		y       float64
		corners []float64
	}{
		{Squared(1), 0.3, []float64{-0.7, 1.3}}, {Squared(0.25), -1, []float64{-1.25, -0.75}},
		{Hinge(0.5), 1, []float64{0.5, 1.5}}, {Hinge(0.5), 0, []float64{-0.5, -1.5}}, {Hinge(0.01), 1, []float64{0.99, 1.01}},
		{poisson, 0, []float64{math.Log(5)}}, {poisson, 3, []float64{math.Log(8)}}, {poisson, 5, []float64{math.Log(10)}}, {poisson, 20, []float64{math.Log(15), math.Log(25)}}, {wide, 4, []float64{math.Log(34)}},
		{Logistic(), 0, []float64{0}}, {Logistic(), 1, []float64{0}},
	} {
		const h = 1e-6
		value := func(z float64) float64 { return c.loss.Value([]float64{z}, c.y) }
		for _, corner := range c.corners {
			for _, z := range []float64{corner - 3*h, corner - h, corner, corner + h, corner + 3*h} {
				slope, r := (value(z+h)-value(z-h))/(2*h), c.loss.Residual(z, c.y)
				if math.Abs(slope-r) > 2*h*c.loss.Smooth+1e-8 { // a slope changes by at most Smooth a step
					t.Errorf("%s, target %g, at %g: slope %g, residual %g", c.loss.Name, c.y, z, slope, r)
				}
			}
		}
		for _, z := range []float64{-1e6, -800, -40, 40, 800, 1e6, 1e300} {
			r, v := c.loss.Residual(z, c.y), value(z)
			if !(math.Abs(r) <= c.loss.Lipschitz) || math.IsNaN(v) || math.IsInf(v, 0) && math.Abs(z) < 1e300 {
				t.Errorf("%s, target %g, at %g: residual %g, value %g", c.loss.Name, c.y, z, r, v)
			}
		}
	}
	many := Softmax(3)
	for _, z := range [][]float64{{1e6, -1e6, 0}, {-1e6, -1e6, -1e6}, {800, 800, 800}, {0, 1e300, -1e300}} {
		for y := range 3 {
			v := many.Value(z, float64(y))
			r := append([]float64(nil), z...)
			many.Residuals(r, float64(y))
			sum, norm := 0.0, 0.0
			for _, x := range r {
				sum, norm = sum+x, norm+x*x
			}
			if !(math.Abs(sum) < 1e-12) || !(math.Sqrt(norm) <= many.Lipschitz*(1+1e-12)) || math.IsNaN(v) || v < 0 {
				t.Errorf("softmax at %v, target %d: residuals %v, value %g", z, y, r, v)
			}
		}
	}
}
