package mlext

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// reference is a section of the file of other tools' numbers; DPSQL_REFERENCE names another of its form.
func reference(t *testing.T, section string, into any) {
	t.Helper()
	path := os.Getenv("DPSQL_REFERENCE")
	if path == "" {
		path = "../budget/account/testdata/accounting.json"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(all[section], into); err != nil {
		t.Fatalf("%s: %v", section, err)
	}
}

// planned is the training that a statement with these options is planned as.
func planned(model, method, with string) (*Training, error) {
	sts, err := pgsyntax.Parse(fmt.Sprintf("TRAIN DP MODEL m USING %s METHOD %s TARGET y WITH (%s) AS SELECT 1", model, method, with))
	if err != nil {
		return nil, err
	}
	spec, err := Read(sts[0].Node.(*pgsyntax.Train))
	if err != nil {
		return nil, err
	}
	target := Feature{Name: "y", Levels: []string{"a", "b", "c"}}
	switch model {
	case "linear_regression":
		target = Feature{Name: "y", Hi: 1, To: 1}
	case "logistic_regression":
		target = Feature{Name: "y", Boolean: true, Levels: []string{"false", "true"}}
	}
	return Plan(spec, []Feature{{Name: "x", Hi: 1, To: 1}}, target, 1, 1000)
}

// TestNoiseMultiplier: the epsilon of a statement's sampling rate, noise multiplier and steps is between the reference's two bounds, at most half a percent above the pessimistic one; planned with that epsilon instead, the noise is the one that was given. So too for the published trainings of 2019
// that the issue names, whose epsilons are never below.
func TestNoiseMultiplier(t *testing.T) {
	var sgd struct{ Rows [][]float64 }
	reference(t, "dpsgd", &sgd)
	var seed struct {
		Table2 struct{ Rows [][]any } `json:"seed_table2"`
		Needed struct{ Rows [][]any } `json:"seed_table2_sigma_under_pld"`
		Logreg struct {
			Q, Delta float64
			Rows     [][]float64
		} `json:"seed_logreg"`
	}
	reference(t, "seed", &seed)
	type row struct{ rate, noise, steps, delta, lo, hi, published float64 }
	var rows []row
	for _, r := range sgd.Rows {
		rows = append(rows, row{r[0], r[1], r[2], r[3], math.Max(r[9], r[12]), r[13], math.Inf(1)})
	}
	for _, r := range seed.Table2.Rows {
		n := func(i int) float64 { return r[i].(float64) }
		published := n(8)
		if r[6] == "configured_epochs" { // they say that theirs are of other numbers of steps
			published = math.Inf(1)
		}
		rows = append(rows, row{n(1), n(2), n(7), n(3), n(11), n(12), published})
	}
	for _, r := range seed.Logreg.Rows {
		for _, at := range []int{4, 7, 10} {
			rows = append(rows, row{seed.Logreg.Q, math.Sqrt(r[0]), r[at], seed.Logreg.Delta, r[at+2] * 0.99, r[at+2], r[1]})
		}
	}
	if len(rows) < 40 {
		t.Fatalf("the reference has %d rows", len(rows))
	}
	all := os.Getenv("DPSQL_LONG") != "" || os.Getenv("DPSQL_REFERENCE") != ""
	for i, r := range rows {
		if i%6 != 0 && !all {
			continue
		}
		p, err := planned("softmax_regression", "dp_sgd", fmt.Sprintf("sampling_rate = %g, noise_multiplier = %g, steps = %g, delta = %g", r.rate, r.noise, r.steps, r.delta))
		if err != nil {
			t.Errorf("%+v: %v", r, err)
			continue
		}
		if p.Epsilon < r.lo*(1-1e-6) || p.Epsilon > r.hi*1.005 || p.Epsilon > r.published {
			t.Errorf("%+v: epsilon %.8g", r, p.Epsilon)
		}
	}
	for i, r := range seed.Needed.Rows {
		if i%4 != 0 && !all {
			continue
		}
		p, err := planned("softmax_regression", "dp_sgd", fmt.Sprintf("sampling_rate = %v, epsilon = %v, steps = %v, delta = %v", r[1], r[4], r[2], r[3]))
		if err != nil {
			t.Fatal(err)
		}
		var z float64
		if _, err := fmt.Sscan(fact(p, "noise multiplier"), &z); err != nil || z < r[5].(float64)*0.997 || z > r[5].(float64)*1.005 {
			t.Errorf("%v: noise multiplier %g, %v", r, z, err)
		}
	}
}

func fact(t *Training, name string) string {
	for _, f := range t.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// TestNoiseSaysEpsilon: of every method with Gaussian noise a noise multiplier and the epsilon that follows from it are two words for one training.
func TestNoiseSaysEpsilon(t *testing.T) {
	for _, m := range methods {
		model := "logistic_regression"
		if m.refuses(familyOf(model)) != "" { // posterior_sample, whose noise is of two kinds
			continue
		}
		with := "noise_multiplier = 6.5, delta = 1e-6"
		if strings.HasPrefix(m.name, "dp_") {
			with += ", steps = 50"
		}
		a, err := planned(model, m.name, with)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		b, err := planned(model, m.name, strings.Replace(with, "noise_multiplier = 6.5", fmt.Sprintf("epsilon = %.15g", a.Epsilon), 1))
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if len(a.Facts) != len(b.Facts) {
			t.Fatalf("%s: %v\n%v", m.name, a.Facts, b.Facts)
		}
		for i, f := range a.Facts {
			var x, y float64
			if _, err := fmt.Sscan(f.Value+" "+b.Facts[i].Value, &x, &y); err == nil && math.Abs(x-y) > 2e-4*math.Abs(x) {
				t.Errorf("%s: %v by its noise, %v by its epsilon", m.name, f, b.Facts[i])
			}
		}
		more, err := planned(model, m.name, strings.Replace(with, "6.5", "13", 1))
		if err != nil || more.Epsilon > a.Epsilon/1.8 {
			t.Errorf("%s: epsilon %g; at twice the noise %g, %v", m.name, a.Epsilon, more.Epsilon, err)
		}
	}
}

// TestNoiseRefused: beside an epsilon, without a delta, and where no epsilon is meant.
func TestNoiseRefused(t *testing.T) {
	for with, says := range map[string]string{
		"noise_multiplier = 3, epsilon = 1":               "say the same",
		"noise_multiplier = 3, delta = 0":                 "its noise is Gaussian",
		"noise_multiplier = 0":                            "cannot be 0",
		"noise_multiplier = 0.01, delta = 1e-6":           "not between",
		"noise_multiplier = 9e5, delta = 1e-6, steps = 1": "not between",
	} {
		if _, err := planned("logistic_regression", "dp_gd", with); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", with, err)
		}
	}
	if _, err := planned("logistic_regression", "output_perturbation", "noise_multiplier = 3, delta = 0"); err == nil || !strings.Contains(err.Error(), "needs a delta") {
		t.Errorf("a noise multiplier of no Gaussian noise: %v", err)
	}
	if _, err := planned("logistic_regression", "sufficient_statistics", "noise_multiplier = 0.01, delta = 1e-6"); err == nil {
		t.Error("noise that hides nothing is taken")
	}
}

// TestClippingOptions: what is asked for is on the card; options that say nothing are refused.
func TestClippingOptions(t *testing.T) {
	p, err := planned("softmax_regression", "dp_sgd", "epsilon = 1, delta = 1e-6, steps = 20, clipping = 'adaptive', clip_quantile = 0.7, schedule = 'cosine', momentum = 0.4, decay = 0.1, average = 0.2")
	if err != nil || fact(p, "clipping") != "adaptive" || fact(p, "schedule") != "cosine" || fact(p, "momentum") != "0.4" || fact(p, "decay") != "0.1" || fact(p, "averaged") != "the last 4 steps" {
		t.Errorf("%v, %v", p, err)
	}
	for with, says := range map[string]string{
		"clipping = 'layers'":                      "fixed or adaptive or automatic",
		"schedule = 3":                             "constant or linear or cosine",
		"clip_quantile = 0.5":                      "follows a quantile",
		"clip_rate = 0.5, clipping = 'automatic'":  "follows a quantile",
		"clip_quantile = 1, clipping = 'adaptive'": "cannot be 1",
	} {
		if _, err := planned("logistic_regression", "dp_gd", with); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", with, err)
		}
	}
}

// TestComposed: what a training says of its parts is no less than its epsilon by the Renyi accountant, whose conversion loses a little, and hardly more; noise that is said twice as large would be less. Field by field it is what the card says, and as many steps are taken.
func TestComposed(t *testing.T) {
	for _, m := range methods {
		with := "epsilon = 1, delta = 1e-6"
		if strings.HasPrefix(m.name, "dp_") {
			with += ", steps = 20"
		}
		model := "logistic_regression"
		if m.refuses(familyOf(model)) != "" {
			model = "linear_regression"
		}
		p, err := planned(model, m.name, with)
		if err != nil {
			t.Fatal(err)
		}
		if m.name == "kifer_2012" || m.name == "amp" || m.name == "posterior_sample" {
			if p.Composed != nil {
				t.Errorf("%s has parts: %+v", m.name, p.Composed)
			}
			continue
		}
		of := func(c dp.Composed) float64 {
			list, err := budget.Charges([]dp.Event{c}, 1e-6)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range list {
				if c.Accountant == "Renyi" {
					return c.Epsilon
				}
			}
			return 0
		}
		if got := of(*p.Composed); got < 1 || got > 1.35 || p.Composed.Method != m.name {
			t.Errorf("%s: %+v has epsilon %g", m.name, p.Composed, got)
		}
		loud := *p.Composed
		loud.Multiplier, loud.Shift = 2*loud.Multiplier, loud.Shift/2
		if got := of(loud); got > 0.9 {
			t.Errorf("%s: at twice the noise %+v has epsilon %g", m.name, loud, got)
		}
		want := ranBy(t, p)
		if got := p.Composed; got.Steps != want.Steps || !near(got.Rate, want.Rate) || !near(got.Multiplier, want.Multiplier) || !near(got.Shift, want.Shift) || !near(got.Determinants, want.Determinants) {
			t.Errorf("%s: %+v, the card says %+v", m.name, got, want)
		}
		if strings.HasPrefix(m.name, "dp_") {
			taken := uint64(0)
			b, err := data.NewBuilder(p.width, p.Rows)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := p.run(b.Table(), noise.NewSource(), func(int, int) error { taken++; return nil }); err != nil || taken != p.Composed.Steps {
				t.Errorf("%s: takes %d steps, %v; said are %+v", m.name, taken, err, p.Composed)
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-5*math.Abs(b) } // of a card's six digits

// ranBy is what a training of one row a person says of its parts by its card alone.
func ranBy(t *testing.T, p *Training) dp.Composed {
	t.Helper()
	f := func(name string) float64 {
		v, err := strconv.ParseFloat(fact(p, name), 64)
		if err != nil {
			t.Fatalf("%s: the card has no number for %s: %v", p.Method, name, p.Facts)
		}
		return v
	}
	switch p.Method {
	case "objective_perturbation":
		return dp.Composed{Multiplier: 5000 / p.Epsilon, Rate: 1, Steps: 1, Shift: p.Loss.Lipschitz / f("sigma"), Determinants: -math.Log1p(-p.Loss.Smooth / f("lambda"))}
	case "output_perturbation":
		return dp.Composed{Multiplier: f("output sigma") * f("lambda") / p.Loss.Lipschitz, Rate: 1, Steps: 1}
	case "sufficient_statistics":
		return dp.Composed{Multiplier: f("sigma") / math.Sqrt2, Rate: 1, Steps: 1}
	}
	return dp.Composed{Multiplier: f("noise multiplier"), Rate: f("sampling rate"), Steps: uint64(f("steps"))}
}
