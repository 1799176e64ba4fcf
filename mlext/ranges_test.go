package mlext

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestRanges: features and targets of extreme ranges are refused before a charge; what is taken gives coefficients, a text and metrics that are finite, however large the parameters that are released.
func TestRanges(t *testing.T) {
	number := func(name string, lo, hi float64) Feature {
		return Feature{Name: name, Lo: lo, Hi: hi, To: 1 << 20, Type: "double precision"}
	}
	for _, c := range []struct {
		lo, hi float64
		taken  bool
	}{
		{0, 1, true}, {-1e100, 1e100, true}, {0, 1e-100, true}, {1, 1 + 0x1p-40, true}, {1e100, 1e100 * (1 + 0x1p-40), false}, {5, 5, true}, {0, 0, true},
		{1e308, 1.5e308, false}, {-1.5e308, 1.5e308, false}, {0, 1.1e100, false}, {1e-310, 1e-309, false}, {0, 5e-324, false}, {0, math.Inf(1), false}, {math.Inf(-1), 0, false}, {math.Inf(1), math.Inf(1), false}, {math.NaN(), 1, false},
	} {
		x, flag := number("x", c.lo, c.hi), Feature{Name: "b", Boolean: true, Levels: []string{"false", "true"}}
		array := x
		array.Type, array.Length = "double precision[]", 3
		for _, way := range []struct {
			model            string
			features, target Feature
		}{{"logistic_regression", x, flag}, {"logistic_regression", array, flag}, {"linear_regression", x, number("y", 0, 1)}, {"linear_regression", flag, x}} {
			spec := &Spec{Model: way.model, Method: "objective_perturbation", Epsilon: 1, Delta: 1e-6, at: map[string]pgsyntax.Pos{}}
			p, err := Plan(spec, []Feature{way.features}, way.target, 1, 1000)
			what := fmt.Sprintf("%s of %s from %g to %g", way.model, way.features.Name, c.lo, c.hi)
			if one := c.lo == c.hi && way.target.Name == "x"; one && c.taken { // nothing to predict
				if err == nil {
					t.Errorf("%s is taken", what)
				}
				continue
			}
			if (err == nil) != c.taken || err != nil && sqlerr.ID(err) != sqlerr.NumericRange.ID {
				t.Errorf("%s: %v", what, err)
			}
			if err != nil {
				continue
			}
			theta := make([]float64, p.width)
			for j := range theta {
				theta[j] = 1e12 * float64(1-2*(j%2)) // package descent: no more are released
			}
			m := p.model(theta, 0)
			if _, err := m.Encode(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if _, err := m.Predict([]string{"c1"}, false); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if _, err := m.Scoring([]string{"c1"}, "c2", false); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
