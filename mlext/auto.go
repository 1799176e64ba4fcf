package mlext

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// autos are the methods that METHOD auto chooses from. The others' options are all one of theirs', so none of them would come to its turn.
var autos = []string{"objective_perturbation", "dp_gd", "dp_sgd"}

// tuned is from where on noisy gradients come before objective perturbation: more scores, or more rows of a person.
const (
	tunedScores = 3
	tunedRows   = 4
)

// usualBins are those of METHOD auto.
const usualBins = 16

// mostBinned is how many multiplications METHOD auto takes for bins at most: they are done within half a minute, where statement_time is a minute.
const mostBinned = 3e10

// bins is into how many the training cuts numbers.
func (t *Training) bins() int {
	usual := 0
	if t.Spec.Method == "auto" && t.Method == "dp_gd" && t.wantsBins() {
		usual = usualBins
	}
	return int(t.Spec.number(binsOption, float64(usual)))
}

// wantsBins says that METHOD auto would cut some number into bins, were dp_gd to train: for a logistic regression, where it was measured (docs/training.md), of so many people and features that it ends in time. A noise multiplier means another epsilon of each method, so it is left to the usual one.
func (t *Training) wantsBins() bool {
	bins, width, some := int(t.Spec.number(binsOption, usualBins)), 1, false
	for i := range t.Features {
		p := t.Features[i].partitions(bins)
		width, some = width+t.Features[i].width()+binWidth(p), some || p != nil
	}
	rows := t.Spec.number("population", t.Population) * float64(t.Rows)
	return some && t.family.name == logisticRegression && t.Spec.Noise() == 0 && rows*float64(width)*t.Spec.number("steps", usualSteps) <= mostBinned
}

// choose is METHOD auto, and why it chose. It goes by the model, the rows of a person, the declared population, delta and which options are given, all of them public: the first of its list that has all options that are given.
//
// The list begins with objective perturbation: one solve without anything to tune, which has a pure form too. Its noise grows with the number of scores and of a person's rows, where noisy gradients are clipped as a whole: for models of more than three scores and for more than four rows a person dp_gd comes first, where a
// population is declared, and delta is not 0. There it also comes first for a logistic regression that has numbers, which it cuts into bins: at equal charge that is 1.2 points more accurate on Adult, and within 0.1 points on Bank and diabetes130, where the area under the curve is 0.006 less with one row a person and 0.006 more with two. Epsilon does not change the order (at equal charge both are within 0.2% of each other on Adult, from epsilon 0.1 to 2), but the steps of dp_gd.
func choose(t *Training) (method, why string, err error) {
	list := append([]string(nil), autos...)
	if t.family.network {
		list = []string{"dp_adam", "dp_sgd", "dp_gd"}
	}
	given, many := t.Spec.ofMethods(), t.Loss.Outputs > tunedScores || t.Rows > tunedRows
	people := t.Spec.number("population", t.Population) > 0
	switch {
	case t.family.network:
		why = list[0] + " comes first for networks"
	case many && t.Spec.Pure:
		why = "a delta of 0 leaves no other"
	case many && !people:
		why = list[1] + " would err less, but needs a declared population"
	case !many && people && !t.Spec.Pure && t.wantsBins():
		list[0], list[1] = list[1], list[0]
		why = fmt.Sprintf("%s with numbers cut into bins errs less", list[0])
	case many:
		list[0], list[1] = list[1], list[0]
		why = fmt.Sprintf("%s errs less above %d scores or %d rows", list[0], tunedScores, tunedRows)
	default:
		why = fmt.Sprintf("%s needs no tuning up to %d scores and %d rows", list[0], tunedScores, tunedRows)
	}
	for i, name := range list {
		m := methodOf(name)
		if m.refuses(t.family) != "" || t.Spec.Pure && m.pure == nil || slices.ContainsFunc(given, func(o string) bool { return !slices.Contains(m.options, o) }) {
			continue
		}
		switch {
		case i > 0 && len(given) > 0:
			why = name + " is the first that takes " + strings.Join(given, ", ")
		case i > 0:
			why = name + " is the first that trains such a model"
		}
		return name, why, nil
	}
	if t.Spec.Pure && len(given) == 0 {
		return "", "", sqlerr.New(sqlerr.InvalidParam, "no method trains a %s with a delta of 0", t.family.name).At(int(t.Spec.at["delta"])).WithHint("Give a delta: WITH (delta = 1e-9). Linear models have methods without.")
	}
	what := strings.Join(given, " and ")
	if t.Spec.Pure {
		what += " and a delta of 0"
	}
	if len(given) == 1 && !t.Spec.Pure {
		return "", "", sqlerr.New(sqlerr.InvalidParam, "no method of a %s has the option %s", t.family.name, what).At(int(t.Spec.at[given[0]])).WithHint("Leave it out.")
	}
	return "", "", sqlerr.New(sqlerr.InvalidParam, "no method has %s together", what).At(int(t.Spec.at[given[0]])).WithHint("Leave one of them out.")
}

// WhyMethod says why METHOD auto chose the method, and which public facts it went by; empty where the statement names the method.
func (t *Training) WhyMethod() string {
	if t.why == "" {
		return ""
	}
	number := func(n int, of string) string {
		if n != 1 {
			of += "s"
		}
		return fmt.Sprintf("%d %s", n, of)
	}
	people := "no declared population"
	if n := t.Spec.number("population", t.Population); n > 0 {
		people = fmt.Sprintf("a population of %.0f", n)
	}
	return fmt.Sprintf("%s. It went by: %s, %s, %s, at most %s a person, %s. Epsilon %.3g did not matter", t.why, t.Spec.Model, number(t.Loss.Outputs, "score"), number(len(t.Features), "feature"), number(t.Rows, "row"), people, t.Epsilon)
}

// ofMethods are the options given that only some methods have.
func (s *Spec) ofMethods() (out []string) {
	for name := range s.at {
		if slices.ContainsFunc(methods, func(m method) bool { return slices.Contains(m.options, name) }) {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

// refusedMethods are known by name and not done, with the reason.
var refusedMethods = map[string]string{
	"pate": "it needs unlabelled public rows, which TRAIN does not take",
}

func refusedMethod(w pgsyntax.Word) error {
	why := refusedMethods[w.Text]
	if why == "" {
		return nil
	}
	return sqlerr.New(sqlerr.Unsupported, "method %s is not supported: %s", w.Text, why).At(int(w.Pos)).WithHint("Leave METHOD out for the usual one.")
}
