package mlext

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// extremes are the ends of what a number may be.
func extremes(name string) []float64 {
	in := numbersAllowed[name]
	if in.below {
		in.hi *= 1 - 1e-9
	}
	if name == "steps" { // more of them take minutes; Plan counts them before
		in.hi = 50
	}
	return []float64{in.lo, in.hi}
}

// TestOptionExtremes: of every method, model and option, a training at the ends of what the option may be is either refused by Plan, which sees no row, or ends alike over none, one and two people: were it to fail for one person's row, that it failed would tell of them. (That parameters diverged is a function of what is released.)
func TestOptionExtremes(t *testing.T) {
	all := os.Getenv("DPSQL_LONG") != ""
	run := 0
	for _, c := range trained() {
		for fi := range families {
			f := &families[fi]
			if c.method.refuses(f) != "" {
				continue
			}
			names := append(append([]string{"epsilon", "delta"}, f.options...), c.method.options...)
			sort.Strings(names)
			for at, name := range names {
				if _, number := numbersAllowed[name]; !number || name == "delta" && c.pure || name == "noise_multiplier" && c.pure {
					continue
				}
				if !all && (at+fi)%5 != 0 && !slices.Contains([]string{"epsilon", "clip", "residual_clip", "width", "lambda"}, name) {
					continue
				}
				for _, x := range extremes(name) {
					if name == "sampling_rate" && x < 1 && (!all || f.name != "svm") || name == "noise_multiplier" && f.target == "classes" && !all { // seconds each, to calibrate
						continue
					}
					for _, rows := range []int{1, 2} {
						if !all && rows == 2 && name != "clip" && (at+fi)%2 == 0 {
							continue
						}
						for _, clipping := range []string{"", "fixed", "automatic", "adaptive"} {
							if (clipping == "") == slices.Contains(names, "clipping") || clipping != "adaptive" && clipping != "" && (name == "clip_quantile" || name == "clip_rate" || name != "clip" && (!all || name == "sampling_rate")) {
								continue
							}
							if extreme(t, c, f, name, x, rows, clipping) {
								run++
							}
						}
					}
				}
			}
		}
	}
	if run < 100 {
		t.Errorf("%d trainings ran", run)
	}
}

// extreme trains with one option at an end; false: Plan refused it.
func extreme(t *testing.T, c way, f *family, name string, x float64, rows int, clipping string) bool {
	t.Helper()
	set := map[string]string{"epsilon": "1", "delta": fmt.Sprint(c.delta(1e-6))}
	if slices.Contains(c.method.options, "steps") {
		set["steps"], set["clipping"] = "3", "'"+clipping+"'"
	}
	if slices.Contains(c.method.options, "sampling_rate") { // others than 1 take long to calibrate
		set["sampling_rate"] = "1"
	}
	if set[name] = fmt.Sprintf("%.17g", x); name == "noise_multiplier" {
		delete(set, "epsilon")
	}
	var with []string
	for option, value := range set {
		with = append(with, option+" = "+value)
	}
	sort.Strings(with)
	what := fmt.Sprintf("%s by %s of %d rows with %s", f.name, c.name, rows, strings.Join(with, ", "))
	sts, err := pgsyntax.Parse(fmt.Sprintf("TRAIN DP MODEL m USING %s METHOD %s TARGET y WITH (%s) AS SELECT 1", f.name, c.method.name, strings.Join(with, ", ")))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Read(sts[0].Node.(*pgsyntax.Train))
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return false
	}
	target := map[outcome]Feature{"two": {Levels: []string{"a", "b"}, To: 1}, "classes": {Levels: []string{"a", "b", "c"}, To: 2}, "number": {Hi: 0.001, To: 1}, "count": {Hi: 20, To: 20}, "": {Levels: []string{"a", "b", "c"}, To: 2}}[f.target]
	target.Name = "y"
	p, err := Plan(spec, []Feature{{Name: "x", Hi: 1, To: 1}}, target, rows, 1000)
	if err != nil {
		return false
	}
	top := max(target.To, int64(len(target.Levels)-1))
	for _, labels := range [][]int64{nil, {top}, {0}, {top, top}, {0, top}} {
		collected, err := p.Collect()
		if err != nil {
			t.Fatal(err)
		}
		for u, y := range labels {
			for r := range rows {
				if err := collected.Add(int64(u), []int64{int64(r+u) % 2, y}); err != nil {
					t.Fatal(err)
				}
			}
		}
		m, err := p.Train(collected, audit.Source(7), never)
		if errors.Is(err, ErrDiverged) {
			continue
		}
		if err != nil {
			t.Errorf("%s: people with targets %v: %v", what, labels, err)
			return true
		}
		for _, s := range m.Scores {
			if math.IsNaN(s.Intercept) || math.IsInf(s.Intercept, 0) {
				t.Errorf("%s: people with targets %v: %v", what, labels, s)
			}
		}
	}
	return true
}

// TestOptionsRefused: what is outside of an option's ends is refused, with them.
func TestOptionsRefused(t *testing.T) {
	for name, in := range numbersAllowed {
		for _, x := range []float64{math.Nextafter(in.lo, -1), -1, 1e-305, math.Nextafter(in.hi, math.Inf(1)), 1e300, math.Inf(1), math.NaN()} {
			if in.has(x) {
				continue
			}
			s := &Spec{numbers: map[string]float64{}, words: map[string]string{}, at: map[string]pgsyntax.Pos{}, Method: "dp_sgd"}
			f := &family{options: []string{name}}
			err := s.read([]pgsyntax.Option{{Name: pgsyntax.Word{Text: name}, Values: []pgsyntax.Word{{Text: fmt.Sprint(x)}}}}, f)
			if err == nil || !strings.Contains(err.Error(), name+" cannot be") {
				t.Errorf("%s = %g: %v", name, x, err)
			}
		}
	}
}

// TestOptionsDoc: docs/training.md has the ends of every option.
func TestOptionsDoc(t *testing.T) {
	text, err := os.ReadFile("../docs/training.md")
	if err != nil {
		t.Fatal(err)
	}
	said := func(name string, in interval) {
		below := map[bool]string{true: "below "}[in.below]
		if want := fmt.Sprintf("`%s` %g to %s%g", name, in.lo, below, in.hi); !strings.Contains(string(text), want+",") && !strings.Contains(string(text), want+".") && !strings.Contains(string(text), want+" and ") {
			t.Errorf("docs/training.md does not say %s", want)
		}
	}
	for name, in := range numbersAllowed {
		said(name, in)
	}
}

// TestOptionsOfOthers: an option of another method, or of another model, is refused with those that have it.
func TestOptionsOfOthers(t *testing.T) {
	for text, want := range map[string]string{
		"logistic_regression METHOD dp_gd TARGET y WITH (sampling_rate = 0.1)":                   "dp_sgd",
		"softmax_regression METHOD objective_perturbation TARGET y WITH (steps = 3)":             "dp_gd, dp_adam, dp_sgd",
		"logistic_regression TARGET y WITH (residual_clip = 1)":                                  "linear_regression",
		"logistic_regression METHOD dp_gd TARGET y WITH (sampling_rat = 0.1, sampling_rate = 1)": "",
	} {
		sts, err := pgsyntax.Parse("TRAIN DP MODEL m USING " + text + " AS SELECT 1")
		if err != nil {
			t.Fatal(err)
		}
		_, err = Read(sts[0].Node.(*pgsyntax.Train))
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, want) || (want == "") == strings.Contains(e.Message, "has no option") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestUsualClip: all that a row's gradient can be, and half of it where noise would outweigh that.
func TestUsualClip(t *testing.T) {
	for with, want := range map[string]string{
		"epsilon = 1, population = 1e6":                       "1",
		"epsilon = 1, population = 1e2":                       "0.5",
		"epsilon = 0.001, population = 1e4":                   "0.5",
		"noise_multiplier = 9, population = 1e6":              "1",
		"noise_multiplier = 9, population = 1e6, steps = 1":   "1",
		"noise_multiplier = 9, population = 4000, steps = 1":  "0.5",
		"noise_multiplier = 9, population = 4000, clip = 0.7": "0.7",
	} {
		p, err := planned("logistic_regression", "dp_gd", "delta = 1e-6, bins = 0, "+with)
		if err != nil {
			t.Errorf("%s: %v", with, err)
		} else if !slices.Contains(p.Facts, Fact{"clip", want}) {
			t.Errorf("%s: not a clip of %s: %v", with, want, p.Facts)
		}
	}
}
