package mlext

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// bins is into how many intervals a score is cut: enough for AUC within a part of 2/bins^2 or so, few enough that each is counted well.
const bins = plan.ScoreBins

// unclamped is a count that noise may make negative: sums of it are not biased.
const unclamped = "count(*) + 0"

// Scoring says what EVALUATE asks of a query's rows, as SQL over the texts of its features and its target: columns v1 and on, of each row once, and keys and values over them. From the released answer of this one statement all metrics are computed.
type Scoring struct {
	Columns []string
	Where   string   // of which rows; empty: of all
	Keys    []string // group by these; nil: Values are aggregates over all rows
	Values  []string
	model   *Model
}

// Scoring is how the model is evaluated.
func (m *Model) Scoring(features []string, target string) (*Scoring, error) {
	s := &Scoring{model: m}
	switch m.Kind {
	case "logistic_regression", "svm", "softmax_regression":
		return s, m.scoringClasses(s, features, target)
	}
	p, err := m.Predict(features, false)
	if err != nil {
		return nil, err
	}
	y := fmt.Sprintf("CAST(%s AS double precision)", target)
	lo, hi := number(m.Target.Lo), number(m.Target.Hi)
	y = fmt.Sprintf("(CASE WHEN %s > %s THEN %s WHEN %s < %s THEN %s ELSE %s END)", y, hi, hi, y, lo, lo, y)
	mid := number((m.Target.Lo + m.Target.Hi) / 2)
	most := number((m.Target.Hi - m.Target.Lo) * (m.Target.Hi - m.Target.Lo))
	square := func(x string) string { return fmt.Sprintf("least((%s) * (%s), %s)", x, x, most) } // its bound, whatever the planner makes of the product
	s.Columns, s.Where = []string{y, p}, "v1 IS NOT NULL AND v2 IS NOT NULL"
	s.Values = []string{"count(*)", "avg(" + square("v1 - v2") + ")", "avg(v1 - " + mid + ")", "avg(" + square("v1 - "+mid) + ")"}
	if m.Kind == "poisson_regression" {
		s.Values = append(s.Values, "avg("+deviance("v1", "v2", m.Target.Hi)+")")
	}
	return s, nil
}

// deviance writes a Poisson count's unit deviance, 2 (y ln(y/p) - (y - p)), which counts up to four times the largest count. Predictions under a millionth are read as that.
func deviance(y, p string, most float64) string {
	mean := "greatest(" + p + ", 0.000001)"
	x := fmt.Sprintf("2 * ((CASE WHEN %s > 0 THEN %s * (ln(%s) - ln(%s)) ELSE 0 END) - %s + %s)", y, y, y, mean, y, mean)
	return fmt.Sprintf("greatest(%s, least(%s, %s))", number(0), number(4*most), x)
}

// index writes which of a target's levels a text is.
func (f *Feature) index(x string) string {
	if f.Levels == nil {
		return fmt.Sprintf("CASE WHEN %s = 0 THEN 0 WHEN %s = 1 THEN 1 END", x, x)
	}
	var b strings.Builder
	b.WriteString("CASE")
	for i := range f.Levels {
		fmt.Fprintf(&b, " WHEN %s = %s THEN %d", x, f.level(i), i)
	}
	return b.String() + " END"
}

// Cell is a row of the answer: its keys, and its count. Of NULL keys there is none.
type Cell struct {
	Keys  []int
	Count float64
	Loss  float64 // the sum of several classes' log-loss
}

// Classes tells the metrics of counts by true class and score. errors is the 95% half-width of one count, 0 where they are exact.
func (s *Scoring) Classes(cells []Cell, errors float64) []Fact {
	m := s.model
	k := max(2, len(m.Target.Levels))
	score := m.Kind != "softmax_regression"
	confusion, hist := make([][]float64, k), make([][2]float64, bins)
	for i := range confusion {
		confusion[i] = make([]float64, k)
	}
	total, right, loss := 0.0, 0.0, 0.0
	for _, c := range cells {
		y, at, n := c.Keys[0], c.Keys[1], c.Count
		says := at
		if score {
			hist[at][y] += n
			if says = 0; at >= bins/2 {
				says = 1
			}
		}
		confusion[y][says] += n
		loss += c.Loss
		if total += n; y == says {
			right += n
		}
	}
	if total <= 0 {
		return []Fact{{"rows", "0"}}
	}
	out := []Fact{{"rows", fmt.Sprintf("%.0f", total)}, {"accuracy", share(math.Max(0, math.Min(1, right/total)))}}
	if errors > 0 {
		out = append(out, Fact{"accuracy, 95% error", share(errors * math.Sqrt(float64(len(cells))) / total)})
	}
	if !score {
		out = append(out, Fact{"log-loss", share(math.Max(0, loss/total))})
	} else {
		out = append(out, s.scored(hist, total, errors)...)
	}
	for y, row := range confusion {
		for says, n := range row {
			out = append(out, Fact{fmt.Sprintf("%s predicted as %s", m.Target.name(y), m.Target.name(says)), fmt.Sprintf("%.0f", math.Max(0, n))})
		}
	}
	return out
}

// scored are the metrics of a histogram of scores by class.
func (s *Scoring) scored(hist [][2]float64, total, errors float64) (out []Fact) {
	below, pairs, loss, negatives, positives := 0.0, 0.0, 0.0, 0.0, 0.0
	for b, n := range hist {
		pairs += n[1] * (below + n[0]/2)
		below += n[0]
		p := (float64(b) + 0.5) / bins
		loss -= n[1]*math.Log(p) + n[0]*math.Log(1-p)
		negatives, positives = negatives+n[0], positives+n[1]
	}
	if negatives > 0 && positives > 0 {
		out = append(out, Fact{"AUC", share(math.Max(0, math.Min(1, pairs/(negatives*positives))))})
	}
	if s.model.Kind == "svm" {
		return out
	}
	out = append(out, Fact{"log-loss", share(loss / total)})
	for b, n := range hist {
		if all := n[0] + n[1]; all > errors { // else it is noise
			out = append(out, Fact{fmt.Sprintf("predicted %.2f to %.2f", float64(b)/bins, float64(b+1)/bins), fmt.Sprintf("%.0f rows, observed %s", all, share(math.Max(0, math.Min(1, n[1]/all))))})
		}
	}
	return out
}

// Numbers tells the metrics of a regression, from its values.
func (s *Scoring) Numbers(v []float64) []Fact {
	out := []Fact{{"rows", fmt.Sprintf("%.0f", math.Max(0, v[0]))}, {"MSE", share(v[1])}, {"RMSE", share(math.Sqrt(math.Max(0, v[1])))}}
	if variance := v[3] - v[2]*v[2]; variance > 0 {
		out = append(out, Fact{"R2", share(1 - v[1]/variance)})
	}
	if len(v) > 4 {
		out = append(out, Fact{"deviance", share(math.Max(0, v[4]))})
	}
	return out
}

// name is a level as it is told.
func (f *Feature) name(i int) string {
	if f.Levels == nil {
		return strconv.Itoa(i)
	}
	return f.Levels[i]
}

func share(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
