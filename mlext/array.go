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
	what.K = len(m.Scores)
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
