package mlext

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/audit"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestExtremeSizes: of every method and model, at both ends of epsilon and of delta, with few or many features, classes and rows of a person, what Plan lets pass ends over one person, and what it refuses has a hint. What it lets pass was charged when noise turned out to be none that there is.
func TestExtremeSizes(t *testing.T) {
	all := os.Getenv("DPSQL_LONG") != ""
	ran, refused := 0, 0
	for _, c := range trained() {
		for fi := range families {
			f := &families[fi]
			if c.method.refuses(f.name) != "" {
				continue
			}
			for i, shape := range []struct{ features, rows, classes int }{{1, 1, 3}, {60, 1, 40}, {120, 1 << 20, 3}, {1000, 1000, 250}, {1, 1000, 250}, {1 << 14, 1, 3}} {
				if wide := shape.features > 500; wide && !all && (shape.features > 1000 || c.method.name != "sufficient_statistics") {
					continue
				}
				for _, epsilon := range []float64{1e-5, 1e-3, 1000} {
					for _, delta := range []float64{1e-30, 1e-6, 1 - 1e-9} {
						if c.pure && delta != 1e-6 || !all && (delta > 0.1 || i > 0 && delta < 1e-20 || i == 3 && epsilon > 1e-5) { // eigenvalues take seconds
							continue
						}
						with := []string{fmt.Sprintf("epsilon = %g, delta = %.17g", epsilon, c.delta(delta))}
						if slices.Contains(c.method.options, "steps") {
							with = append(with, "steps = 2")
						}
						if slices.Contains(c.method.options, "sampling_rate") {
							with = append(with, "sampling_rate = 1")
						}
						what := fmt.Sprintf("%s by %s of %+v with %s", f.name, c.name, shape, strings.Join(with, ", "))
						target := map[outcome]Feature{oneOfTwo: {Levels: []string{"a", "b"}}, aNumber: {Hi: 1, To: 1}, aCount: {Hi: 20, To: 20}}[f.target]
						if f.target == oneOfSeveral {
							for k := range shape.classes {
								target.Levels = append(target.Levels, fmt.Sprint(k))
							}
						}
						target.Name = "y"
						x := Feature{Name: "x"}
						for k := range shape.features {
							x.Levels = append(x.Levels, fmt.Sprint(k))
						}
						ok, err := trainOne(t, fmt.Sprintf("USING %s METHOD %s TARGET y WITH (%s)", f.name, c.method.name, strings.Join(with, ", ")), x, target, shape.rows)
						if err != nil {
							t.Errorf("%s: %v", what, err)
						}
						if refused++; ok {
							ran, refused = ran+1, refused-1
						}
					}
				}
			}
		}
	}
	if ran < 50 || refused < 5 {
		t.Errorf("%d trainings ran, %d were refused", ran, refused)
	}
}

// trainOne trains on one person; false: Plan refused it, with a hint.
func trainOne(t *testing.T, text string, x, target Feature, rows int) (bool, error) {
	t.Helper()
	sts, err := pgsyntax.Parse("TRAIN DP MODEL m " + text + " AS SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Read(sts[0].Node.(*pgsyntax.Train))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Plan(spec, []Feature{x}, target, rows, 1000)
	var refusal *sqlerr.Error
	if errors.As(err, &refusal) && refusal.Hint != "" {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("refused without a hint: %w", err)
	}
	c, err := p.Collect()
	if err != nil {
		return true, err
	}
	if err := c.Add(0, []int64{0, 1}); err != nil {
		return true, err
	}
	m, err := p.Train(c, audit.Source(7), never)
	if errors.Is(err, ErrDiverged) {
		return true, nil
	}
	if err != nil {
		return true, err
	}
	if s := m.Scores[0].Intercept; math.IsNaN(s) || math.IsInf(s, 0) {
		return true, fmt.Errorf("intercept %v", s)
	}
	return true, nil
}
