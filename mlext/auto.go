package mlext

import (
	"slices"
	"sort"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// autos are the methods that METHOD auto chooses from. The others' options are all one of theirs', so none of them would come to its turn.
var autos = []string{"objective_perturbation", "dp_gd", "dp_sgd"}

// choose is METHOD auto. It goes by the model, the rows of a person, the declared population, delta and which options are given, all of them public: the first of its list that has all options that are given.
//
// The list begins with objective perturbation: one solve without anything to tune, which has a pure form too. Its noise grows with the number of scores and of a person's rows, where noisy gradients are clipped as a whole: for models of more than three scores and for more than four rows a person dp_gd comes first, where a
// population is declared, and delta is not 0. Epsilon does not change the order (at equal charge both are within 0.2% of each other on Adult, from epsilon 0.1 to 2), but the steps of dp_gd.
func choose(t *Training) (string, error) {
	list := append([]string(nil), autos...)
	if t.family.network {
		list = []string{"dp_adam", "dp_sgd", "dp_gd"}
	}
	if people := t.Spec.number("population", t.Population) > 0; people && !t.Spec.Pure && !t.family.network && (t.Loss.Outputs > 3 || t.Rows > 4) {
		list[0], list[1] = list[1], list[0]
	}
	given := t.Spec.ofMethods()
	for _, name := range list {
		m := methodOf(name)
		if m.refuses(t.family) != "" || t.Spec.Pure && m.pure == nil || slices.ContainsFunc(given, func(o string) bool { return !slices.Contains(m.options, o) }) {
			continue
		}
		return name, nil
	}
	if t.Spec.Pure && len(given) == 0 {
		return "", sqlerr.New(sqlerr.InvalidParam, "no method trains a %s with a delta of 0", t.family.name).At(int(t.Spec.at["delta"])).WithHint("Give a delta: WITH (delta = 1e-9). Linear models have methods without.")
	}
	what := strings.Join(given, " and ")
	if t.Spec.Pure {
		what += " and a delta of 0"
	}
	if len(given) == 1 && !t.Spec.Pure {
		return "", sqlerr.New(sqlerr.InvalidParam, "no method of a %s has the option %s", t.family.name, what).At(int(t.Spec.at[given[0]])).WithHint("Leave it out.")
	}
	return "", sqlerr.New(sqlerr.InvalidParam, "no method has %s together", what).At(int(t.Spec.at[given[0]])).WithHint("Leave one of them out.")
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
