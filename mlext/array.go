package mlext

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// hasArrays says that a feature is one.
func (m *Model) hasArrays() bool {
	for i := range m.Features {
		if m.Features[i].Length > 0 {
			return true
		}
	}
	return false
}

// predictScores writes what a model of several scores, or with arrays among its features, predicts: one call, which computes each score and reads each array once.
func (m *Model) predictScores(of *family, args []string, probability bool) (string, error) {
	if probability {
		return m.scores(plan.Scores{Of: plan.ScoreShare}, args, "")
	}
	switch of.target {
	case aNumber:
		return m.scores(plan.Scores{Of: plan.ScoreValue, Lo: m.Target.Lo, Hi: m.Target.Hi}, args, "")
	case aCount:
		return m.scores(plan.Scores{Of: plan.ScoreCount, Hi: m.Target.Hi}, args, "")
	case oneOfTwo, oneOfSeveral:
		text, err := m.scores(plan.Scores{Of: plan.ScoreClass}, args, "")
		return m.Target.of(text), err
	}
	return "", of.unread()
}

// scores writes what is computed of the scores: the arrays' coefficients are one text, what the other features add an argument for each score.
func (m *Model) scores(what plan.Scores, args []string, class string) (string, error) {
	what.K = m.outputs()
	var list, arrays []string
	if len(m.Layers) > 0 {
		list = m.network(&what, args)
	} else {
		for i := range m.Scores {
			list = append(list, m.score(&m.Scores[i], args))
		}
	}
	if class != "" {
		list = append(list, class)
	}
	for i := range m.Features {
		f := &m.Features[i]
		if f.Length == 0 {
			continue
		}
		a := plan.ScoreArray{Length: f.Length, Lo: f.Lo, Hi: f.Hi}
		for j := range m.Scores {
			a.Coefficients = append(a.Coefficients, m.Scores[j].Coefficients[i])
		}
		what.Arrays, arrays = append(what.Arrays, a), append(arrays, args[i])
	}
	text, err := json.Marshal(what)
	if err != nil {
		return "", sqlerr.New(sqlerr.NumericRange, "the coefficients of model %s are too large to predict by", m.Name).WithCause(err)
	}
	return fmt.Sprintf("%s('%s', %s)", plan.ScoresCall, text, strings.Join(append(list, arrays...), ", ")), nil
}

// untyped is an argument that has no type by itself: a string, a parameter or NULL, in parentheses or not.
var untyped = regexp.MustCompile(`(?is)^\(*(e?'(?:[^']|'')*'|\$\d+|null)\)*$`)

// typed gives arguments without a type that of their features, which PostgreSQL would find beside what they are compared with, but not where they are columns of a subquery. Numbers are converted wherever they stand.
func (m *Model) typed(args []string) []string {
	out := append([]string(nil), args...)
	for i := range out {
		f := &m.Features[i]
		if number := f.Length == 0 && f.Levels == nil && !f.isTime(); !number && untyped.MatchString(out[i]) {
			out[i] = "CAST(" + out[i] + " AS " + f.Type + ")"
		}
	}
	return out
}

// isTime says that it is a date or a timestamp.
func (f *Feature) isTime() bool { return f.Type == "date" || strings.HasPrefix(f.Type, "timestamp") }
