package mlext

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// size is of a training: values of its one feature, rows of a person, classes of its target.
type size struct{ features, rows, classes int }

// TestExtremeSizes: of every method and model, at both ends of epsilon, of delta and of lambda, with few or many features, classes and rows of a person, what Plan lets pass ends over one person, and what it refuses has a hint. What it lets pass was charged when noise turned out to be none that there is.
func TestExtremeSizes(t *testing.T) {
	all := os.Getenv("DPSQL_LONG") != ""
	ran, refused := 0, 0
	for _, c := range trained() {
		for fi := range families {
			f := &families[fi]
			if c.method.refuses(f) != "" {
				continue
			}
			for i, s := range []size{{1, 1, 3}, {60, 1, 40}, {120, 1 << 20, 3}, {1000, 1000, 250}, {1, 1000, 250}, {1 << 14, 1, 3}} {
				if wide := s.features > 500; wide && !all && (s.features > 1000 || c.method.name != "sufficient_statistics") {
					continue
				}
				for _, epsilon := range []float64{1e-5, 1e-3, 1000} {
					for _, delta := range []float64{1e-30, 1e-6, 1 - 1e-9} {
						if slow := i == 3 && epsilon > 1e-5 && c.method.name == "sufficient_statistics"; slow || c.pure && delta != 1e-6 || !all && (delta > 0.1 || i > 0 && delta < 1e-20) { // eigenvalues take seconds
							continue
						}
						for _, lambda := range []string{"", ", lambda = 1e-6", ", lambda = 1e12"} {
							if lambda != "" && (!all || delta != 1e-6 || !slices.Contains(c.method.options, "lambda")) {
								continue
							}
							if trainOne(t, c, f, s, fmt.Sprintf("epsilon = %g, delta = %.17g", epsilon, c.delta(delta))+lambda) {
								ran++
							} else {
								refused++
							}
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
func trainOne(t *testing.T, c way, f *family, s size, with string) bool {
	t.Helper()
	if slices.Contains(c.method.options, "steps") {
		with += ", steps = 2"
	}
	if slices.Contains(c.method.options, "sampling_rate") {
		with += ", sampling_rate = 1"
	}
	target := map[outcome]Feature{oneOfTwo: {Levels: []string{"a", "b"}}, aNumber: {Hi: 1, To: 1}, aCount: {Hi: 20, To: 20}}[f.target]
	for k := 0; (f.target == oneOfSeveral || f.network) && k < s.classes; k++ {
		target.Levels = append(target.Levels, fmt.Sprint(k))
	}
	target.Name = "y"
	x := Feature{Name: "x"}
	for k := range s.features {
		x.Levels = append(x.Levels, fmt.Sprint(k))
	}
	what := fmt.Sprintf("%s by %s of %+v with %s", f.name, c.name, s, with)
	sts, err := pgsyntax.Parse(fmt.Sprintf("TRAIN DP MODEL m USING %s METHOD %s TARGET y WITH (%s) AS SELECT 1", f.name, c.method.name, with))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Read(sts[0].Node.(*pgsyntax.Train))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Plan(spec, []Feature{x}, target, s.rows, 1000)
	if err != nil {
		var refusal *sqlerr.Error
		if !errors.As(err, &refusal) || refusal.Hint == "" {
			t.Errorf("%s: refused without a hint: %v", what, err)
		}
		return false
	}
	rows, err := p.Collect()
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Add(0, []int64{0, 1}); err != nil {
		t.Fatal(err)
	}
	m, err := p.Train(rows, audit.Source(7), never)
	switch {
	case errors.Is(err, ErrDiverged):
	case err != nil:
		t.Errorf("%s: %v", what, err)
	case math.IsNaN(m.Scores[0].Intercept) || math.IsInf(m.Scores[0].Intercept, 0):
		t.Errorf("%s: intercept %v", what, m.Scores[0].Intercept)
	}
	return true
}
