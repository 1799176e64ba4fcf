package mlext

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// outcome is what a kind of model predicts.
type outcome string

const (
	oneOfTwo     outcome = "two"     // on which side of 0 one score is
	oneOfSeveral outcome = "classes" // the largest of a score each
	aNumber      outcome = "number"  // of the target's range, which a score from -1 to 1 is brought to
	aCount       outcome = "count"   // the exponential of a score
)

func (o outcome) classes() bool { return o == oneOfTwo || o == oneOfSeveral }

// family is the model's kind; a stored one may be of a kind that is not known here.
func (m *Model) family() (*family, error) {
	if f := familyOf(m.Kind); f != nil && f.name == m.Kind {
		return f, nil
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "model %s is a %s, which this dpsql does not know", m.Name, m.Kind).WithHint("A newer dpsql trained it: use that, or train it anew.")
}

// form is how models are stored now: 0 had no Fill, 1 no Sources.
const form = 2

// MissingMiddle is what a card says of a model that reads NULL numbers as the middle of their range.
const MissingMiddle = "missing numbers are read as the middle of their range, rows with another missing value are left out"

// renew brings a stored model of an older form to the present one, or refuses it.
func (m *Model) renew() error {
	if m.Form > form {
		return sqlerr.New(sqlerr.Unsupported, "model %s is stored in a form that this dpsql does not know", m.Name).WithHint("A newer dpsql trained it: use that, or train it anew.")
	}
	if m.Form == 0 {
		m.Fill = m.Fill || slices.Contains(m.Card, Fact{"missing", MissingMiddle})
	}
	m.Form = form
	return nil
}

// whole refuses a stored model that is not what training makes: everything that is computed of one relies on it.
func (m *Model) whole() error {
	of, err := m.family()
	if err != nil {
		return err
	}
	if err := m.Target.suits(of.target); err != nil {
		return fmt.Errorf("mlext: a stored model's target is none: %s", err.Error())
	}
	scores := 1
	if of.target == oneOfSeveral {
		scores = len(m.Target.Levels)
	}
	if len(m.Scores) != scores || len(m.Features) == 0 {
		return fmt.Errorf("mlext: a stored model has %d scores of %d, %d features", len(m.Scores), scores, len(m.Features))
	}
	for i := range m.Scores {
		list := m.Scores[i].Coefficients
		if len(list) != len(m.Features) {
			return fmt.Errorf("mlext: a stored model is not whole")
		}
		for j := range m.Features {
			if n := max(len(m.Features[j].Levels), m.Features[j].cells()); len(list[j]) != n {
				return fmt.Errorf("mlext: a stored model has %d coefficients of %d for a feature", len(list[j]), n)
			}
		}
	}
	return nil
}
