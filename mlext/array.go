package mlext

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// arrays says that a feature is one.
func (m *Model) arrays() bool {
	for i := range m.Features {
		if m.Features[i].Length > 0 {
			return true
		}
	}
	return false
}

// predictScores writes what a model of several scores, or with arrays among its features, predicts: one call, which computes each score and reads each array once.
func (m *Model) predictScores(args []string, probability bool) (string, error) {
	switch {
	case probability && m.Kind == "svm":
		return "", noMargin()
	case probability && m.Kind != "logistic_regression" && m.Kind != "softmax_regression":
		return "", noProbability(m)
	case probability:
		return m.scores(plan.ScoreShare, args, "")
	case m.Kind == "linear_regression":
		return m.scores(plan.ScoreValue, args, "")
	case m.Kind == "poisson_regression":
		return m.scores(plan.ScoreCount, args, "")
	}
	text, err := m.scores(plan.ScoreClass, args, "")
	return m.Target.of(text), err
}

// scoringClasses is how a model is evaluated that predicts classes.
func (m *Model) scoringClasses(s *Scoring, features []string, target string) error {
	of, cells, loss := plan.ScoreBin, bins, ""
	if m.Kind == "softmax_regression" {
		of, cells = plan.ScoreClass, len(m.Scores)
	}
	text, err := m.scores(of, features, "")
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("CASE " + text)
	for i := range cells {
		fmt.Fprintf(&b, " WHEN %d THEN %d", i, i)
	}
	s.Columns = []string{m.Target.index(target), b.String() + " END"}
	s.Keys, s.Values = []string{"v1", "v2"}, []string{unclamped}
	if m.Kind == "softmax_regression" {
		if loss, err = m.scores(plan.ScoreLoss, features, m.Target.index(target)); err != nil {
			return err
		}
		s.Columns = append(s.Columns, loss)
		s.Values = append(s.Values, "sum(v3)")
	}
	return nil
}

// scores writes what is computed of the scores: the arrays' coefficients are one text, what the other features add an argument for each score.
func (m *Model) scores(of string, args []string, class string) (string, error) {
	what := plan.Scores{Of: of, K: len(m.Scores), Lo: m.Target.Lo, Hi: m.Target.Hi}
	if m.Kind == "poisson_regression" {
		what.Lo = 0
	}
	args = m.typed(args)
	var list, arrays []string
	for i := range m.Scores {
		list = append(list, m.score(&m.Scores[i], args))
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

// typed gives arrays their type that have none by themselves: strings, NULL and parameters.
func (m *Model) typed(args []string) []string {
	out := append([]string(nil), args...)
	for i := range out {
		f, x := &m.Features[i], strings.Trim(out[i], "()")
		if f.Length > 0 && !strings.Contains(x, "::") && (strings.HasPrefix(x, "'") || strings.HasPrefix(x, "$") || strings.EqualFold(x, "null")) {
			out[i] = "CAST(" + out[i] + " AS " + f.Type + ")"
		}
	}
	return out
}
