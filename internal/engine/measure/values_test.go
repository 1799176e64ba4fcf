package measure

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/budget"
)

// TestChoiceValues: the share and the slope of a few public facts, number by number: docs/accuracy.md's errors were measured with these, and another constant is another measurement.
func TestChoiceValues(t *testing.T) {
	one := shape{public: true, groups: 1, perUnit: 1, parts: []measured{chosenCount}}
	groups := one
	groups.groups = 25
	for _, c := range []struct {
		name         string
		of           shape
		epsilon      float64
		population   int64
		share, slope float64 // the slope in units
	}{
		{"hospital-demo", one, 1, 1000, 0.4, 8.1875},
		{"online-retail-2", one, 1, 4000, 0.2969, 11},
		{"diabetes-demo", one, 1, 70_000, 0.1537, 21.125},
		{"TPC-H, scale factor 1", one, 0.8, 150_000, 0.1358, 29.875},
		{"25 groups, hospital-demo", groups, 1, 1000, 0.1021, 50},
		{"25 groups, TPC-H", groups, 4, 150_000, 0.05, 96.625},
		{"25 groups, online-retail-2", groups, 4, 4000, 0.054, 95.0625},
	} {
		a := c.of.analysis()
		if got := Share(a, c.epsilon, c.population); math.Abs(got-c.share) > 5e-4 {
			t.Errorf("%s: share %.4f", c.name, got)
		}
		p, err := New(a, Ask{Filter: filter(t, 20, 1e-6, 0.5, budget.AccountantRDP), Epsilon: c.epsilon, QueryDelta: 1e-9, Mechanism: Laplace, Population: c.population})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Choices[0].Slope.Float(); math.Abs(got-c.slope) > 0.1 {
			t.Errorf("%s: slope %.4f, scale %.4f", c.name, got, p.Choices[0].Scale.Float())
		}
	}
}
