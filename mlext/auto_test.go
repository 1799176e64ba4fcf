package mlext

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestAuto: which method METHOD auto is, by what the rules go by; an option is never ignored.
func TestAuto(t *testing.T) {
	chosen := map[string]bool{}
	for _, c := range []struct {
		model                 string
		levels, rows          int
		population            float64
		with, want, says, why string
	}{
		{"logistic_regression", 2, 1, 1000, "epsilon = 1, delta = 1e-6", "dp_gd", "", "dp_gd with numbers cut into bins errs less"},
		{"logistic_regression", 2, 1, 1e9, "epsilon = 1, delta = 1e-6", "objective_perturbation", "", "needs no tuning"},
		{"logistic_regression", 2, 5, 1e9, "epsilon = 1, delta = 1e-6", "dp_gd", "", "dp_gd errs less above"},
		{"logistic_regression", 2, 1, 1000, "epsilon = 1, delta = 1e-6, bins = 0", "objective_perturbation", "", "needs no tuning up to 3 scores and 4 rows. It went by: logistic_regression, 1 score, 1 feature, at most 1 row a person, a population of 1000. Epsilon 1 did not matter"},
		{"logistic_regression", 2, 4, 1000, "epsilon = 0.1, delta = 1e-6, bins = 0", "objective_perturbation", "", "needs no tuning"},
		{"logistic_regression", 2, 5, 1000, "epsilon = 1, delta = 1e-6, bins = 0", "dp_gd", "", "dp_gd errs less above 3 scores or 4 rows. It went by: logistic_regression, 1 score, 1 feature, at most 5 rows a person"},
		{"svm", 2, 1, 1000, "epsilon = 1, delta = 1e-6", "objective_perturbation", "", ""},
		{"logistic_regression", 2, 5, 0, "epsilon = 1, delta = 1e-6", "objective_perturbation", "", "dp_gd would err less, but needs a declared population"},
		{"logistic_regression", 2, 5, 0, "epsilon = 1, delta = 1e-6, population = 500", "dp_gd", "", "dp_gd errs less"},
		{"logistic_regression", 2, 5, 1000, "epsilon = 1, delta = 0", "objective_perturbation", "", "a delta of 0 leaves no other"},
		{"softmax_regression", 3, 1, 1000, "epsilon = 1, delta = 1e-6", "objective_perturbation", "", "needs no tuning"},
		{"softmax_regression", 4, 1, 1000, "epsilon = 1, delta = 1e-6", "dp_gd", "", "dp_gd errs less above 3 scores or 4 rows. It went by: softmax_regression, 4 scores"},
		{"softmax_regression", 4, 1, 1000, "epsilon = 1, delta = 1e-6, lambda = 90", "objective_perturbation", "", "is the first that takes lambda"},
		{"logistic_regression", 2, 1, 1000, "epsilon = 1, delta = 1e-6, steps = 50", "dp_gd", "", "dp_gd with numbers cut into bins errs less"},
		{"logistic_regression", 2, 1, 1000, "noise_multiplier = 9, delta = 1e-6, sampling_rate = 0.2", "dp_sgd", "", "dp_sgd is the first that takes noise_multiplier, sampling_rate"},
		{"logistic_regression", 2, 1, 1000, "epsilon = 1, delta = 1e-6, bins = 4", "dp_gd", "", "dp_gd with numbers cut into bins errs less"},
		{"logistic_regression", 2, 1, 0, "epsilon = 1, delta = 1e-6, bins = 4", "objective_perturbation", "", ""},
		{"logistic_regression", 2, 1, 1000, "epsilon = 1, delta = 1e-6, bins = 4, lambda = 3", "objective_perturbation", "", ""},
		{"logistic_regression", 2, 1, 1000, "noise_multiplier = 9, delta = 1e-6", "objective_perturbation", "", "needs no tuning"},
		{"logistic_regression", 2, 1, 0, "epsilon = 1, delta = 1e-6, steps = 50", "", "must declare its population", ""},
		{"logistic_regression", 2, 1, 1000, "epsilon = 1, delta = 1e-6, steps = 50, lambda = 3", "", "no method has lambda and steps together", ""},
		{"logistic_regression", 2, 1, 1000, "epsilon = 1, delta = 0, steps = 50", "", "no method has steps and a delta of 0 together", ""},
	} {
		sts, err := pgsyntax.Parse(fmt.Sprintf("TRAIN DP MODEL m USING %s TARGET y WITH (%s) AS SELECT 1", c.model, c.with))
		if err != nil {
			t.Fatal(err)
		}
		spec, err := Read(sts[0].Node.(*pgsyntax.Train))
		if err != nil {
			t.Fatal(err)
		}
		target := Feature{Name: "y", Boolean: c.levels == 2}
		for i := range c.levels {
			target.Levels = append(target.Levels, fmt.Sprint(i))
		}
		p, err := Plan(spec, []Feature{{Name: "x", Hi: 1, To: 10}}, target, c.rows, c.population)
		switch {
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%+v: %v", c, err)
		case c.says == "" && (err != nil || p.Method != c.want):
			t.Errorf("%+v: %+v, %v", c, p, err)
		case c.says == "" && !strings.Contains(p.WhyMethod(), c.why):
			t.Errorf("%+v: %s", c, p.WhyMethod())
		}
		chosen[c.want] = true
	}
	for _, name := range autos {
		if !chosen[name] {
			t.Errorf("nothing chooses %s", name)
		}
	}
	for _, m := range methods {
		if !slices.Contains(autos, m.name) && !slices.ContainsFunc(autos, func(name string) bool {
			return !slices.ContainsFunc(m.options, func(o string) bool { return !slices.Contains(methodOf(name).options, o) })
		}) {
			t.Errorf("options of %s are of no method that METHOD auto chooses", m.name)
		}
	}
}

// TestRefusedMethods: they are refused by name, with the reason.
func TestRefusedMethods(t *testing.T) {
	for name, why := range refusedMethods {
		if _, err := planned("linear_regression", name, "epsilon = 1"); err == nil || !strings.Contains(err.Error(), why) || methodOf(name) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMethodsDoc: docs/training.md's table has a row of each method.
func TestMethodsDoc(t *testing.T) {
	text, err := os.ReadFile("../docs/training.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, line := range strings.Split(string(text), "\n") {
		if first, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.Split(first, ", ")...)
		}
	}
	for _, m := range methods {
		if !slices.Contains(rows, "`"+m.name+"`") {
			t.Errorf("no row of %s", m.name)
		}
	}
}
