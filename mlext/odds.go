package mlext

import (
	"fmt"
	"math"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// Private rows of two classes are counted by class and by the interval of log-odds that their score is in, in three levels: 10 intervals, each of them 10, each of these 10. All metrics are read off the counts of the
// finest, brought together with those above them by least squares, so that a sum over many intervals takes the noise of few counts.
const (
	oddsFan    = 10
	oddsLevels = 3
)

// oddsKeys are the levels' numbers of intervals.
var oddsKeys = [oddsLevels]int{oddsFan, oddsFan * oddsFan, plan.OddsBins}

// oddsCounts are the rows of each class in the finest intervals, from released counts.
type oddsCounts struct {
	n      [2][]float64
	all    [2]float64
	half   [oddsLevels]float64 // 95% of a released count's noise
	square [oddsLevels]float64 // of half a width of a count brought together with those below it
	lost   [2]float64          // rows that bounds may have taken
}

// perRow is how much something changes with a row of a class in an interval.
type perRow [2][]float64

func newPerRow(f func(y, b int) float64) (out perRow) {
	for y := range out {
		out[y] = make([]float64, plan.OddsBins)
		for b := range out[y] {
			out[y][b] = f(y, b)
		}
	}
	return out
}

// oddsOf brings the levels' counts together.
func oddsOf(cells []Cell) *oddsCounts {
	o := &oddsCounts{}
	var z [2][oddsLevels][]float64
	for y := range z {
		for l, k := range oddsKeys {
			z[y][l] = make([]float64, k)
		}
	}
	for _, c := range cells {
		y, at := c.Keys[0], c.Keys[1]
		z[y][c.Level][at] = c.Count
		o.half[c.Level] = math.Max(o.half[c.Level], c.Noise)
		if c.Level == 0 {
			o.lost[y] += c.Lost
		}
	}
	// Upwards: a count and the sum of those below it are two measurements of one number.
	own := [oddsLevels]float64{} // the count's weight
	o.square[oddsLevels-1] = o.half[oddsLevels-1] * o.half[oddsLevels-1]
	for l := oddsLevels - 2; l >= 0; l-- {
		below, here := oddsFan*o.square[l+1], o.half[l]*o.half[l]
		if own[l] = 1; here > 0 {
			own[l] = below / (here + below)
		}
		o.square[l] = own[l] * here
	}
	for y := range z {
		sums := [oddsLevels][]float64{}
		for l := oddsLevels - 2; l >= 0; l-- {
			sums[l] = make([]float64, oddsKeys[l])
			for k, v := range z[y][l+1] {
				sums[l][k/oddsFan] += v
			}
			for k := range z[y][l] {
				z[y][l][k] = own[l]*z[y][l][k] + (1-own[l])*sums[l][k]
			}
		}
		for l := 1; l < oddsLevels; l++ { // downwards: what is missing is shared alike
			for k := range z[y][l] {
				z[y][l][k] += (z[y][l-1][k/oddsFan] - sums[l-1][k/oddsFan]) / oddsFan
			}
		}
		o.n[y] = z[y][oddsLevels-1]
		for _, v := range o.n[y] {
			o.all[y] += v
		}
	}
	return o
}

// sum is a number that changes by d with each row.
func (o *oddsCounts) sum(d perRow) (s float64) {
	for y := range d {
		for b, v := range o.n[y] {
			s += v * d[y][b]
		}
	}
	return s
}

// error is the 95% half-width of a number that changes by d with each row: of noise, and what the rows that bounds took would change if theirs were as usual as a deviation of d among the rows of their class.
//
// Proof: of the noise. In a node of children whose counts came out as z, with sum S, and whose own count comes out as X, a child's is z + (X - S)/fan. So a number that changes by a with a child's count changes by the mean m of a with X, and by a - m with z, and as the sum of
// (a - m) is 0 that is independent of S and of X: the squares add up, level by level.
func (o *oddsCounts) error(d perRow) float64 {
	square, lost := 0.0, 0.0
	for y := range d {
		among, rows := 0.0, 0.0
		for b, v := range o.n[y] {
			among, rows = among+math.Max(0, v)*d[y][b]*d[y][b], rows+math.Max(0, v)
		}
		if rows > 0 {
			lost += o.lost[y] * math.Sqrt(among/rows)
		}
		a := d[y]
		for l := oddsLevels - 1; l > 0; l-- {
			means := make([]float64, oddsKeys[l-1])
			for k, v := range a {
				means[k/oddsFan] += v / oddsFan
			}
			for k, v := range a {
				square += (v - means[k/oddsFan]) * (v - means[k/oddsFan]) * o.square[l]
			}
			a = means
		}
		for _, v := range a {
			square += v * v * o.square[0]
		}
	}
	return math.Sqrt(square) + lost
}

// auc is the area under the ROC curve where rows of one interval count as a half, and its error. Rows of one interval may be in any order, so the exact one is at most half of the pairs of rows of one interval away: that is part of the error. ok is false where there may be nobody in a class.
func (o *oddsCounts) auc() (auc, half float64, ok bool) {
	for y := range o.all {
		if o.all[y] <= o.error(newPerRow(func(of, _ int) float64 { return is(of == y) })) {
			return 0, 0, false
		}
	}
	below, pairs, ties, squares := 0.0, 0.0, 0.0, [2]float64{}
	for b := range plan.OddsBins {
		n0, n1 := o.n[0][b], o.n[1][b]
		pairs += n1 * (below + n0/2)
		below += n0
		ties += n0 * n1
		squares[0], squares[1] = squares[0]+n0*n0, squares[1]+n1*n1
	}
	auc = pairs / (o.all[0] * o.all[1])
	v := o.half[oddsLevels-1] * o.half[oddsLevels-1] / (1.96 * 1.96)
	noise := v * (math.Max(0, squares[0]-plan.OddsBins*v) + math.Max(0, squares[1]-plan.OddsBins*v) + plan.OddsBins*v)
	ties = math.Max(0, ties) + 1.64*math.Sqrt(noise)
	d, below, above := newPerRow(func(int, int) float64 { return 0 }), 0.0, o.all[1]
	for b := range plan.OddsBins {
		n0, n1 := o.n[0][b], o.n[1][b]
		above -= n1
		d[1][b], d[0][b] = ((below+n0/2)/o.all[0]-auc)/o.all[1], ((above+n1/2)/o.all[1]-auc)/o.all[0]
		below += n0
	}
	return math.Max(0, math.Min(1, auc)), math.Min(1, o.error(d)+ties/(2*o.all[0]*o.all[1])), true
}

// oddsEdges are where an interval of log-odds begins and ends; the first and the last have no end outwards.
func oddsEdges(b int) (from, to float64) {
	const width = 2. * plan.MostOdds / plan.OddsBins
	from = -plan.MostOdds + width*float64(b)
	if to = from + width; b == plan.OddsBins-1 {
		to = math.Inf(1)
	}
	if b == 0 {
		from = math.Inf(-1)
	}
	return from, to
}

// oddsLoss is the log-loss of rows of a class in an interval: its middle, and how far from that it may be.
func oddsLoss(y, b int) (middle, reach float64) {
	at := func(z float64) float64 {
		if y == 1 {
			z = -z
		}
		return math.Min(plan.MostScoreLoss, math.Log1p(math.Exp(math.Min(z, 700))))
	}
	from, to := oddsEdges(b)
	return (at(from) + at(to)) / 2, math.Abs(at(to)-at(from)) / 2
}

func is(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// byOdds tells the metrics of a model of two classes, of private rows.
func (s *Scoring) byOdds(cells []Cell) []Fact {
	o := oddsOf(cells)
	total := o.all[0] + o.all[1]
	switch {
	case math.IsNaN(total): // NULL, for lack of people to choose a bound by
		return []Fact{{"rows", "NULL"}}
	case total <= 0:
		return []Fact{{"rows", "0"}}
	}
	says := func(b int) int { return b / (plan.OddsBins / 2) }
	right := newPerRow(func(y, b int) float64 { return is(says(b) == y) })
	a := math.Max(0, math.Min(1, o.sum(right)/total))
	out := append([]Fact{{"rows", fmt.Sprintf("%.0f", total)}}, metric("accuracy", a, math.Min(1, o.error(newPerRow(func(y, b int) float64 { return (right[y][b] - a) / total }))))...)
	if auc, half, ok := o.auc(); ok {
		out = append(out, metric("AUC", auc, half)...)
	}
	if s.of.shares {
		loss, reach := newPerRow(func(int, int) float64 { return 0 }), newPerRow(func(int, int) float64 { return 0 })
		for y := range loss {
			for b := range loss[y] {
				loss[y][b], reach[y][b] = oddsLoss(y, b)
			}
		}
		mean := o.sum(loss) / total
		half := o.error(newPerRow(func(y, b int) float64 { return (loss[y][b] - mean) / total })) + math.Max(0, o.sum(reach))/total
		out = append(out, metric("log-loss", math.Max(0, mean), half)...)
		out = append(out, o.calibration()...)
	}
	most := 0.0
	for y := range 2 {
		for as := range 2 {
			cell := newPerRow(func(of, b int) float64 { return is(of == y && says(b) == as) })
			most = math.Max(most, o.error(cell))
			out = append(out, Fact{fmt.Sprintf("%s predicted as %s", s.model.Target.value(y), s.model.Target.value(as)), fmt.Sprintf("%.0f", math.Max(0, o.sum(cell)))})
		}
	}
	return append(out, Fact{"predicted as" + errorOf, fmt.Sprintf("%.0f", math.Ceil(most))})
}

// calibration is how many rows of each interval of the probability are of the second class.
func (o *oddsCounts) calibration() (out []Fact) {
	within := make([]int, plan.OddsBins) // by the middle of the log-odds
	for b := range within {
		from, to := oddsEdges(b)
		within[b] = min(bins-1, int(bins/(1+math.Exp(-(math.Max(from, -plan.MostOdds)+math.Min(to, plan.MostOdds))/2))))
	}
	for i := range bins {
		in := newPerRow(func(_, b int) float64 { return is(within[b] == i) })
		all, second := o.sum(in), o.sum(newPerRow(func(y, b int) float64 { return float64(y) * in[y][b] }))
		if all > o.error(in) { // else it is noise
			out = append(out, Fact{fmt.Sprintf("predicted %.2f to %.2f", float64(i)/bins, float64(i+1)/bins), fmt.Sprintf("%.0f rows, observed %s", all, share(math.Max(0, math.Min(1, second/all))))})
		}
	}
	return out
}
