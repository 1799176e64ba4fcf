package mlext

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// fewClasses refuses more classes than a prediction has scores.
func (t *Training) fewClasses() error {
	if t.Loss.Outputs > plan.MostScores {
		return sqlerr.New(sqlerr.TooComplex, "the target %s is one of %d values, a model says at most %d", t.Of.Name, t.Loss.Outputs, plan.MostScores).At(int(t.Spec.targetAt)).WithHint("logistic_regression predicts whether it is one of some: %[1]s IN (...) AS %[1]s.", plan.QuoteIdent(t.Of.Name))
	}
	return nil
}

// alwaysShort is how many parameters any prediction and evaluation is short enough for.
const alwaysShort = 200

// Predictable refuses, before anything is spent, a training whose model no statement could predict by or evaluate: most is how long the text of one expression may be, and products how many the database computes of a row of a network. It writes the expressions of a model whose coefficients have all their digits.
func (t *Training) Predictable(most, products int) error {
	if t.size() <= alwaysShort && !t.family.network || t.family.images { // what no statement writes is not too long
		return nil
	}
	if n := t.products(); t.family.network && n > products {
		err := sqlerr.New(sqlerr.TooComplex, "the network multiplies %d numbers for each row, and the data set's database evaluates networks of at most %d in time", n, products)
		if units := products / (t.width + t.Loss.Outputs); units > 0 {
			return err.WithHint("Use fewer units: hidden = (%d).", min(units, mostUnits))
		}
		return err.WithHint("Use fewer features, or columns with fewer values.")
	}
	theta := make([]float64, t.size())
	for j := range theta {
		theta[j] = -1 / (3 + float64(j)/7)
	}
	m := t.model(theta, 0)
	args := make([]string, len(t.Features))
	for i := range args {
		args[i] = fmt.Sprintf("(c%d)", i+1)
	}
	scoring, err := m.Scoring(args, "c0", false)
	if err != nil {
		return err
	}
	said, err := m.Predict(args, false)
	if err != nil {
		return err
	}
	texts := append([]string{said}, scoring.Columns...)
	for _, text := range texts {
		if len(text) > most-most/10 {
			return t.unpredictable()
		}
	}
	for _, text := range []string{said, strings.Join(scoring.Columns, ", ")} {
		if _, err := pgsyntax.Parse("SELECT " + text); err != nil {
			return t.unpredictable().WithCause(err)
		}
	}
	return nil
}

// products are the multiplications of a network's prediction of a row.
func (t *Training) products() (n int) {
	before := t.width
	for _, units := range append(slices.Clone(t.Spec.hidden), t.Loss.Outputs) {
		n += before * units
		before = units
	}
	return n
}

func (t *Training) unpredictable() *sqlerr.Error {
	return sqlerr.New(sqlerr.TooComplex, "the model has %d parameters, more than a statement could predict or be evaluated by", t.size()).WithHint("Use fewer features, or columns with fewer values.")
}
