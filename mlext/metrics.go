package mlext

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// bins is how many intervals of a probability are told, exactBins into how many the score of two classes is cut where rows are public. Of private rows see oddsLevels.
const (
	bins      = plan.ScoreBins
	perBin    = plan.MostScoreBins / bins
	exactBins = bins * perBin
)

// mostCells is how many groups the probabilities of several classes may make of an evaluation: the noise of what is summed over all of them grows by the root of their number.
const mostCells = 400

// unclamped is a count that noise may make negative: sums of it are not biased.
const unclamped = "count(*) + 0"

// Scoring says what EVALUATE asks of a query's rows, as SQL over the texts of its features and its target: columns v1 and on, of each row once, and keys and values over them. From the released answer of this one statement all metrics are computed.
type Scoring struct {
	Columns []string
	Where   string   // of which rows; empty: of all
	Keys    []string // group by these; nil: Values are aggregates over all rows
	Levels  int      // of so many keys after the first each is a level of its own, and has groups of its own; 0: there are none
	Values  []string
	Names   []string // of the values, for EXPLAIN
	Errors  []string // what the values' 95% half-widths are, where rows are private
	model   *Model
	of      *family
	bins    int // into how many intervals the probability of the second of two classes is cut, or of the said one of several; 0: it is not
}

// Scoring is how the model is evaluated, of public rows with nothing left out.
func (m *Model) Scoring(features []string, target string, public bool) (*Scoring, error) {
	of, err := m.family()
	if err != nil {
		return nil, err
	}
	s := &Scoring{model: m, of: of}
	if of.images {
		return nil, m.notInSQL()
	}
	if of.target.classes() {
		return s, s.classes(features, target, public)
	}
	p, err := m.Predict(features, false)
	if err != nil {
		return nil, err
	}
	y := fmt.Sprintf("CAST(%s AS double precision)", target)
	lo, hi := number(m.Target.Lo), number(m.Target.Hi)
	y = fmt.Sprintf("(CASE WHEN %s > %s THEN %s WHEN %s < %s THEN %s ELSE %s END)", y, hi, hi, y, lo, lo, y)
	mid := number((m.Target.Lo + m.Target.Hi) / 2)
	width := m.Target.Hi - m.Target.Lo
	square := func(x string, most float64) string { // within its bounds, whatever the planner makes of the product
		return fmt.Sprintf("avg(greatest(%s, least(%s, (%s) * (%s))))", number(0), number(most), x, x)
	}
	s.Columns, s.Where = []string{y, p}, "v1 IS NOT NULL AND v2 IS NOT NULL"
	s.Values, s.Names = []string{"count(*)", square("v1 - v2", width*width), "avg(v1 - " + mid + ")", square("v1 - "+mid, width*width/4)}, []string{"rows", "MSE", "target's mean", "target's spread"}
	if of.target == aCount {
		s.Values, s.Names = append(s.Values, "avg("+deviance("v1", "v2", m.Target.Hi)+")"), append(s.Names, "deviance")
	}
	for _, v := range s.Values {
		s.Errors = append(s.Errors, "dp_error("+v+")")
	}
	return s, nil
}

// classes is how a model is evaluated that predicts classes: rows are counted by their class and by their score, of several by the class that is said and how sure of it the model is.
func (s *Scoring) classes(features []string, target string, public bool) error {
	m := s.model
	var what plan.Scores
	switch s.of.target {
	case oneOfTwo:
		if !public {
			return s.odds(features, target)
		}
		s.bins = exactBins
		what = plan.Scores{Of: plan.ScoreBin, Bins: s.bins}
	case oneOfSeveral:
		if s.bins = sureness(m.outputs()); s.bins == 0 {
			what = plan.Scores{Of: plan.ScoreClass}
			break
		}
		what = plan.Scores{Of: plan.ScoreSure, Bins: s.bins}
	default:
		return s.of.unread()
	}
	text, err := m.scores(what, features, "")
	if err != nil {
		return err
	}
	s.Columns = []string{m.Target.index(target), text}
	s.Keys, s.Values, s.Names, s.Errors = []string{"v1", "v2"}, []string{unclamped}, []string{"rows"}, []string{"dp_error(count(*))"}
	if s.of.shares {
		loss, err := m.scores(plan.Scores{Of: plan.ScoreLoss}, features, m.Target.index(target))
		if err != nil {
			return err
		}
		s.Columns = append(s.Columns, loss)
		s.Values, s.Names, s.Errors = append(s.Values, "sum(v3)"), append(s.Names, "sum of a group's log-loss"), append(s.Errors, "dp_error(sum(v3))")
	}
	return nil
}

// odds is how a model of two classes is evaluated on private rows.
func (s *Scoring) odds(features []string, target string) error {
	s.Columns, s.Keys, s.Levels = []string{s.model.Target.index(target)}, []string{"v1"}, oddsLevels
	for _, k := range oddsKeys {
		text, err := s.model.scores(plan.Scores{Of: plan.ScoreOdds, Bins: k}, features, "")
		if err != nil {
			return err
		}
		s.Columns = append(s.Columns, text)
		s.Keys = append(s.Keys, fmt.Sprintf("v%d", len(s.Columns)))
	}
	s.Values, s.Names, s.Errors = []string{unclamped}, []string{"rows"}, []string{"dp_low(" + unclamped + ")", "dp_high(" + unclamped + ")"}
	return nil
}

// sureness is into how many intervals the probability of the said one of k classes is cut; 0: there are too many classes. It is 1/k at least, so those below are left out.
func sureness(k int) int {
	for _, n := range []int{bins, 10, 5, 4, 2} {
		if k*k*(n-n/k) <= mostCells {
			return n
		}
	}
	return 0
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
	Level int // which key the second one is of
	Count float64
	Loss  float64 // the sum of the log-loss
	Noise float64 // 95% of the count's, where there are levels
	Lost  float64 // what bounds may have taken from it, where there are levels
}

// errorOf ends the names of metrics' errors.
const errorOf = ", 95% error"

// Errs gives the metrics whose errors a list tells, and these.
func Errs(list []Fact) (out []Fact) {
	for _, f := range list {
		if name, ok := strings.CutSuffix(f.Name, errorOf); ok {
			out = append(out, Fact{name, f.Value})
		}
	}
	return out
}

// metric is a metric and, where its values are noisy, its error: 95% half-widths of the values times how much the metric changes with each, as if they were independent. Of exact values there is none.
func metric(name string, v, half float64) []Fact {
	out := []Fact{{name, share(v)}}
	if half > 0 && !math.IsInf(half, 1) {
		out = append(out, Fact{name + errorOf, share(half)})
	}
	return out
}

// root is the root of a sum of squares.
func root(list ...float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// Classes tells the metrics of counts by true class and score. errors are the 95% half-widths of one cell's values, nil where they are exact.
func (s *Scoring) Classes(cells []Cell, errors []float64) []Fact {
	if s.Levels > 0 {
		return s.byOdds(cells)
	}
	m := s.model
	k := max(2, len(m.Target.Levels))
	confusion, hist := make([][]float64, k), make([][2]float64, s.bins)
	for i := range confusion {
		confusion[i] = make([]float64, k)
	}
	half, lossHalf := 0.0, 0.0
	if len(errors) > 0 {
		half, lossHalf = errors[0], errors[len(errors)-1]
	}
	total, right, loss, rights := 0.0, 0.0, 0.0, 0.0
	for _, c := range cells {
		y, at, n := c.Keys[0], c.Keys[1], c.Count
		says, wrong := at, 0
		switch {
		case s.of.target == oneOfTwo:
			hist[at][y] += n
			if says = 0; at >= s.bins/2 {
				says = 1
			}
		case s.bins > 0:
			if says = at / s.bins; says != y {
				wrong = 1
			}
			hist[at%s.bins][1-wrong] += n
		}
		confusion[y][says] += n
		loss += c.Loss
		if total += n; y == says {
			right += n
			rights++
		}
	}
	if total <= 0 {
		return []Fact{{"rows", "0"}}
	}
	a := math.Max(0, math.Min(1, right/total))
	all := float64(len(cells))
	out := append([]Fact{{"rows", fmt.Sprintf("%.0f", total)}}, metric("accuracy", a, math.Min(1, half*root((1-a)*math.Sqrt(rights), a*math.Sqrt(all-rights))/total))...)
	mean := math.Max(0, loss/total)
	surprise := metric("log-loss", mean, root(lossHalf, mean*half)*math.Sqrt(all)/total)
	switch {
	case s.of.target == oneOfSeveral:
		out = append(append(out, surprise...), s.sure(hist, half)...)
	case s.of.shares:
		out = append(append(append(out, ranked(hist)...), surprise...), calibration(hist)...)
	default:
		out = append(out, ranked(hist)...)
	}
	for y, row := range confusion {
		for says, n := range row {
			out = append(out, Fact{fmt.Sprintf("%s predicted as %s", m.Target.value(y), m.Target.value(says)), fmt.Sprintf("%.0f", math.Max(0, n))})
		}
	}
	if half > 0 {
		out = append(out, Fact{"predicted as" + errorOf, fmt.Sprintf("%.0f", math.Ceil(half*math.Sqrt(all/float64(k*k))))})
	}
	return out
}

// ranked is the AUC of an exact histogram of scores by class: rows of one interval count as a half.
func ranked(hist [][2]float64) []Fact {
	below, pairs, negatives, positives := 0.0, 0.0, 0.0, 0.0
	for _, n := range hist {
		pairs += n[1] * (below + n[0]/2)
		below += n[0]
		negatives, positives = negatives+n[0], positives+n[1]
	}
	if negatives <= 0 || positives <= 0 {
		return nil
	}
	return metric("AUC", pairs/(negatives*positives), 0)
}

// calibration is how many rows of each interval are of the second class.
func calibration(hist [][2]float64) (out []Fact) {
	for b := range bins {
		var n [2]float64
		for _, h := range hist[b*perBin : (b+1)*perBin] {
			n[0], n[1] = n[0]+h[0], n[1]+h[1]
		}
		if all := n[0] + n[1]; all > 0 {
			out = append(out, Fact{fmt.Sprintf("predicted %.2f to %.2f", float64(b)/bins, float64(b+1)/bins), fmt.Sprintf("%.0f rows, observed %s", all, share(math.Max(0, math.Min(1, n[1]/all))))})
		}
	}
	return out
}

// sure is how often the model is right of several classes, by how sure it says to be.
func (s *Scoring) sure(hist [][2]float64, half float64) (out []Fact) {
	k := s.model.outputs()
	for b, n := range hist[:s.bins] {
		if all := n[0] + n[1]; all > half*float64(k) { // of k^2 cells; else it is noise
			out = append(out, Fact{fmt.Sprintf("probability %.2f to %.2f", float64(b)/float64(s.bins), float64(b+1)/float64(s.bins)), fmt.Sprintf("%.0f rows, right %s", all, share(math.Max(0, math.Min(1, n[1]/all))))})
		}
	}
	return out
}

// Numbers tells the metrics of a regression, from its values and their 95% half-widths, nil where they are exact.
func (s *Scoring) Numbers(v, errors []float64) []Fact {
	rows := Fact{"rows", fmt.Sprintf("%.0f", math.Max(0, v[0]))}
	if !(v[0] > 0) || slices.ContainsFunc(v, math.IsNaN) { // means of nothing are NULL
		return []Fact{rows}
	}
	if errors == nil {
		errors = make([]float64, len(v))
	}
	rmse := math.Sqrt(math.Max(0, v[1]))
	out := append([]Fact{rows}, metric("MSE", v[1], errors[1])...)
	out = append(out, metric("RMSE", rmse, errors[1]/(2*rmse))...)
	if variance := v[3] - v[2]*v[2]; variance > 0 {
		part := v[1] / variance
		out = append(out, metric("R2", 1-part, root(errors[1], 2*v[2]*part*errors[2], part*errors[3])/variance)...)
	}
	if len(v) > 4 {
		out = append(out, metric("deviance", math.Max(0, v[4]), errors[4])...)
	}
	return out
}

func share(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
