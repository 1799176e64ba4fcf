package mlext

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// leastWeight is of the largest: what weighs less is nothing to learn from, and numbers near 0 are no weights once they are divided.
const leastWeight = 1e-6

// readWeights takes the weights of classes in. They are divided by the largest: what counts is how they compare, and no row then weighs more than without them.
func (s *Spec) readWeights(o pgsyntax.Option) error {
	if !o.List {
		return sqlerr.New(sqlerr.InvalidParam, "class_weights cannot be %s", o.Values[0].Text).At(int(o.Values[0].Pos)).
			WithHint("Shares of classes are private: name a weight for each value of the target, in their order: class_weights = (1, 5).")
	}
	most := 0.0
	for _, v := range o.Values {
		x, err := strconv.ParseFloat(v.Text, 64)
		if err != nil || !(x > 0) || x > 1e6 {
			return sqlerr.New(sqlerr.InvalidParam, "class_weights cannot be %s", v.Text).At(int(v.Pos)).WithHint("Weights are numbers above 0 and at most 1000000.")
		}
		s.weights, most = append(s.weights, x), max(most, x)
	}
	for i := range s.weights {
		if s.weights[i] /= most; s.weights[i] < leastWeight {
			return sqlerr.New(sqlerr.InvalidParam, "class_weights cannot be %s beside %g", o.Values[i].Text, most).At(int(o.Values[i].Pos)).WithHint("The least is %g of the largest. A class that does not count is left out by the query's WHERE.", leastWeight)
		}
	}
	return nil
}

// weigh puts the weights into the loss.
func (t *Training) weigh() error {
	w := t.Spec.weights
	if w == nil {
		return nil
	}
	at := int(t.Spec.at[classWeights])
	if !t.classes() {
		return sqlerr.New(sqlerr.InvalidParam, "class_weights are of classes, and the target %s is a number", t.Of.Name).At(at).WithHint("Leave class_weights out.")
	}
	if n := max(2, len(t.Of.Levels)); len(w) != n {
		return sqlerr.New(sqlerr.InvalidParam, "class_weights has %d weights, the target %s has %d values", len(w), t.Of.Name, n).At(at).WithHint("Name one for each value, in their order.")
	}
	if t.Spec.Method == "sufficient_statistics" {
		return sqlerr.New(sqlerr.InvalidParam, "method sufficient_statistics has no weights").At(at).WithHint("Leave METHOD out for the usual one.")
	}
	t.Loss = t.Loss.Weighted(w)
	said := make([]string, len(w))
	for i, v := range w {
		said[i] = fmt.Sprintf("%s %.6g", t.Of.value(i), v)
	}
	t.fact("class weights", "%s", strings.Join(said, ", "))
	return nil
}
