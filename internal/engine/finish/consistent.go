package finish

import (
	"cmp"
	"context"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Level is the release of one grouping set, which is adjusted together with those of others.
type Level struct {
	An       *sensitivity.Analysis
	Release  *release.Release
	Keys     []int // of each of An's keys: which one of the statement it is
	Measures []int // of each quantity that is adjusted: An's measure
}

// Adjusted is a release whose groups add up to those of others, with the errors of its new values.
type Adjusted struct {
	release *release.Release
	errors  *Errors
	moved   map[int]bool // measures
}

// AddsUp reports that aggregate i is a count or a sum whose values add up.
func (d *Adjusted) AddsUp(i int) bool {
	f := d.errors.a.Formulas[i]
	if f.Kind != sensitivity.IsCount && f.Kind != sensitivity.IsSum && f.Kind != sensitivity.IsSumFromPair {
		return false
	}
	return !slices.ContainsFunc(f.Uses(), func(at int) bool { return at >= 0 && !d.moved[at] })
}

// Shown is Shown of the adjusted values.
func (d *Adjusted) Shown(ctx context.Context, minPeople int64, together int, none func(of plan.AggItem, ranged bool)) (*eval.Relation, error) {
	return d.errors.shown(ctx, d.release, minPeople, together, none)
}

// The limits of an adjustment: groups of all levels together, and products of numbers that it takes.
const (
	mostAdjusted  = 1 << 12
	mostProducts  = 1 << 29
	mostMagnitude = 1 << 50 // of a value, so that float64 holds it with parts
	mostTurns     = 400     // of the search for values that are not negative
	mostErrors    = 1 << 12 // of pairs of measures, which take a millisecond each
)

// Errors are those of a release's largest group, without its groups.
func (d *Adjusted) Errors() *Errors {
	e := d.errors.adjusted[nil].fresh()
	e.release = e.release.WithoutGroups()
	return e
}

// leastGain is how much of a value's variance an adjustment takes away at least, in squared steps: more than whole numbers that add up cost (TestConsistent).
const leastGain = 0.25

// Consistent adjusts the values of levels so that a group's are the sums of those of its parts: weighted least squares over all released numbers. With notNegative counts are not below 0. nil: they stay as they are, as the limits do not allow it, or whole numbers would cost more than they gain.
//
// counts says of each quantity which earlier one counts the rows of a centred sum from which SUM is computed: of the two SUM is a whole number of steps in each group, so that SUMs add up too; -1: none.
//
// Proof: claim: the same guarantee as the releases have, and intervals that hold as often. (1) All that is read are released values and their public laws: post-processing. (2) Of each quantity the true values fulfil every constraint, parent = sum of children (private.Run.hierarchyOf says of which analyses: the children are a partition of the parent's rows, and
// nothing is clipped, or all alike). y = true + noise, with independent noises of variances V, so y' = y - V C'(C V C')^-1 C y fulfils C y' = 0, differs from the true values by a linear combination of the noises (C true = 0), and its variances are V less squares: none is larger than before (Gauss and Markov). Constraints that follow from others are left out. (3) The interval of a value is that of
// its linear combination, by the laws of the noises (mixture), so it holds whatever they are. (4) Whole numbers that add up are taken near y' (rounded), and so are those that are not negative. Whatever they are, their distance from y' is known once y' is, and widens the interval (|shown - true| <= |shown - y'| + |y' - true|), whose ends are whole again as true values are. Whether a quantity is adjusted follows from the laws alone (isWorth, isNarrower) but for the limits, so it chooses no noise. (5) Quantities have noise independent of each other's,
// and an adjusted one is made of its own noise alone, so formulas of several measures stay as they are.
func Consistent(ctx context.Context, levels []Level, counts []int, notNegative bool) ([]*Adjusted, error) {
	t, ok := hierarchyOf(levels)
	if !ok {
		return nil, nil
	}
	out := make([]*Adjusted, len(levels))
	for l, v := range levels {
		e, err := Of(ctx, v.An, v.Release)
		if err != nil {
			return nil, err
		}
		e.adjusted = map[*release.Group]*Errors{}
		r := *v.Release
		r.Groups = slices.Clone(r.Groups)
		for i := range r.Groups {
			r.Groups[i].Values = slices.Clone(r.Groups[i].Values)
		}
		out[l] = &Adjusted{&r, e, map[int]bool{}}
	}
	laws := make([][]string, len(t.cells)) // of each cell, what tells its mixtures from others'
	found := make([]map[string]mixture, len(levels[0].Measures))
	several := 1 // errors of pairs that each group has of its own
	for _, d := range out {
		several = max(several, d.errors.pairsOf())
	}
	widest, isMoved := make([][]mixture, len(levels)), false
	for l, d := range out {
		widest[l] = slices.Clone(d.errors.values)
		for _, at := range levels[l].Measures {
			widest[l][at].variance = 0
		}
	}
	shown := make([][]int64, len(levels[0].Measures)) // of each quantity and cell
	for q := range levels[0].Measures {
		m := &levels[0].An.Measures[levels[0].Measures[q]]
		fit, ok := t.fit(ctx, levels, out, q)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		found[q] = map[string]mixture{}
		if ok = ok && t.isWorth(fit) && (notNegative || t.isNarrower(fit)); ok {
			shown[q], ok = t.shown(fit, m, notNegative, shownOf(shown, counts[q]))
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !ok {
			for j, c := range t.cells {
				at := levels[c.level].Measures[q]
				level := strconv.Itoa(c.level)
				laws[j], found[q][level] = append(laws[j], level), out[c.level].errors.values[at]
				widest[c.level][at] = out[c.level].errors.values[at]
			}
			continue
		}
		isMoved = true
		for l, d := range out {
			d.moved[levels[l].Measures[q]] = true
		}
		for j, c := range t.cells {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			out[c.level].release.Groups[c.group].Values[levels[c.level].Measures[q]] = big.NewInt(shown[q][j])
			m := fit.mean(t, j)
			m.movedBy(math.Abs(float64(shown[q][j]-fit.value[j]) - fit.moved[j])) // (4) known once y' is
			key := strconv.FormatFloat(m.away, 'g', -1, 64) + " " + m.key
			laws[j] = append(laws[j], key)
			found[q][key] = m.mixture
			if w := &widest[c.level][levels[c.level].Measures[q]]; m.variance > w.variance {
				*w = m.mixture
			}
		}
	}
	if !isMoved {
		return nil, nil
	}
	for l, d := range out {
		largest := d.errors.fresh()
		largest.adjusted, largest.values = nil, widest[l]
		d.errors.adjusted[nil] = largest // of no group named
	}
	same, different := make([]map[string]*Errors, len(levels)), 0
	for j, c := range t.cells {
		key := strings.Join(laws[j], "; ")
		d := out[c.level]
		of := same[c.level][key]
		if of == nil {
			of = d.errors.fresh()
			of.adjusted, of.values = nil, slices.Clone(of.values)
			for q, at := range levels[c.level].Measures {
				of.values[at] = found[q][laws[j][q]]
			}
			if same[c.level] == nil {
				same[c.level] = map[string]*Errors{}
			}
			same[c.level][key] = of
			if different++; different*several > mostErrors {
				return nil, nil
			}
		}
		d.errors.adjusted[&d.release.Groups[c.group]] = of
	}
	return out, nil
}

func isCountMeasure(k sensitivity.MeasureKind) bool {
	return k == sensitivity.CountRows || k == sensitivity.CountValues || k == sensitivity.Units || k == sensitivity.SomeUnits
}

// levelCell is a group of a level.
type levelCell struct{ level, group int }

// hierarchy says which groups are the sums of which others.
type hierarchy struct {
	cells   []levelCell
	first   []int    // of a level: its first cell
	order   []int    // levels, those of few keys first
	above   [][]int  // of a level: the next ones of fewer keys
	parents [][]int  // of a cell: its cell in each of above
	sums    []sumsOf // constraints
}

// sumsOf: a cell is the sum of its children.
type sumsOf struct {
	parent   int
	children []int
}

// hierarchyOf finds the groups' places; false: some group has no parent, or no children, or the limits do not allow it.
func hierarchyOf(levels []Level) (*hierarchy, bool) {
	t := &hierarchy{above: make([][]int, len(levels))}
	for l, v := range levels {
		t.first = append(t.first, len(t.cells))
		for g := range v.Release.Groups {
			t.cells = append(t.cells, levelCell{l, g})
		}
		t.order = append(t.order, l)
	}
	if len(t.cells) > mostAdjusted {
		return nil, false
	}
	slices.SortStableFunc(t.order, func(a, b int) int { return len(levels[a].Keys) - len(levels[b].Keys) })
	within := func(a, b int) bool { return IsCoarser(levels[a].Keys, levels[b].Keys) }
	for l := range levels {
		for up := range levels {
			if within(up, l) && !slices.ContainsFunc(t.order, func(m int) bool { return within(up, m) && within(m, l) }) {
				t.above[l] = append(t.above[l], up)
			}
		}
	}
	t.parents = make([][]int, len(t.cells))
	for l, v := range levels {
		for _, up := range t.above[l] {
			keys := levels[up].Keys
			at := map[string]int{}
			for g := range levels[up].Release.Groups {
				at[textOf(levels[up].Release.Groups[g].Keys)] = len(t.sums)
				t.sums = append(t.sums, sumsOf{parent: t.first[up] + g})
			}
			begin := len(t.sums) - len(levels[up].Release.Groups)
			for g := range v.Release.Groups {
				own := make([]sqltype.Value, len(keys))
				for i, k := range keys {
					own[i] = v.Release.Groups[g].Keys[slices.Index(v.Keys, k)]
				}
				s, ok := at[textOf(own)]
				if !ok {
					return nil, false
				}
				j := t.first[l] + g
				t.sums[s].children = append(t.sums[s].children, j)
				t.parents[j] = append(t.parents[j], t.sums[s].parent)
			}
			if slices.ContainsFunc(t.sums[begin:], func(s sumsOf) bool { return len(s.children) == 0 }) {
				return nil, false
			}
		}
	}
	last := levels[t.order[len(t.order)-1]].Keys
	if t.overlaps() && slices.ContainsFunc(levels, func(v Level) bool {
		return slices.ContainsFunc(v.Keys, func(k int) bool { return !slices.Contains(last, k) })
	}) {
		return nil, false
	}
	n, m := float64(len(t.cells)), float64(len(t.sums))
	return t, n*m*(n+m) <= mostProducts
}

// IsCoarser reports a grouping set of some of another's keys, but not all.
func IsCoarser(a, b []int) bool {
	return len(a) < len(b) && !slices.ContainsFunc(a, func(k int) bool { return !slices.Contains(b, k) })
}

// overlaps: a group is a part of groups of several levels of which none is a part of another.
func (t *hierarchy) overlaps() bool {
	return slices.ContainsFunc(t.above, func(up []int) bool { return len(up) > 1 })
}

func textOf(keys []sqltype.Value) string {
	var text []byte
	for _, k := range keys {
		text = sqltype.AppendKey(text, k)
	}
	return string(text)
}

// fit is the adjustment of one quantity.
type fit struct {
	value    []int64 // of each cell, as it was released
	variance []float64
	moved    []float64                      // by how much a value is adjusted
	laws     []mixture                      // a level: what its values have
	released []float64                      // and the half width of one of them
	means    []adjustedLaw                  // a cell: the noise of its adjusted value before that is made whole
	widths   map[string]map[float64]float64 // a law: mixture.widths
	forms    []form                         // orthogonal to each other where variances weigh
}

// form is a linear form of the cells that is 0 of the true values.
type form struct {
	of     []float64
	size   float64 // its variance
	rest   float64 // what it is of the released values
	factor []float64
}

// fit adjusts quantity q; false: some noise is not known, or a value is too large.
func (t *hierarchy) fit(ctx context.Context, levels []Level, out []*Adjusted, q int) (*fit, bool) {
	f := &fit{}
	for l, v := range levels {
		m := out[l].errors.values[v.Measures[q]]
		if !(m.variance > tolerance) || math.IsInf(m.variance, 0) {
			return nil, false
		}
		f.laws, f.released = append(f.laws, m), append(f.released, out[l].errors.Measure(v.Measures[q]))
	}
	for _, c := range t.cells {
		x := levels[c.level].Release.Groups[c.group].Values[levels[c.level].Measures[q]]
		if !x.IsInt64() || x.CmpAbs(big.NewInt(mostMagnitude)) > 0 {
			return nil, false
		}
		f.value, f.variance = append(f.value, x.Int64()), append(f.variance, f.laws[c.level].variance)
	}
	f.moved = make([]float64, len(t.cells))
	for _, s := range t.sums {
		if ctx.Err() != nil {
			return nil, false
		}
		next := form{of: make([]float64, len(t.cells))}
		next.of[s.parent] = 1
		rest, size := f.value[s.parent], f.variance[s.parent]
		for _, j := range s.children {
			next.of[j] = -1
			rest -= f.value[j]
			size += f.variance[j]
		}
		next.rest = float64(rest)
		for _, k := range f.forms {
			share := 0.0
			for j, x := range k.factor {
				share += x * next.of[j]
			}
			if share == 0 {
				continue
			}
			next.rest -= share * k.rest
			for j, x := range k.of {
				next.of[j] -= share * x
			}
		}
		for j, x := range next.of {
			next.size += f.variance[j] * x * x
		}
		if next.size < 1e-9*size { // it follows from the others
			continue
		}
		next.factor = make([]float64, len(t.cells))
		for j, x := range next.of {
			next.factor[j] = f.variance[j] * x / next.size
			f.moved[j] -= next.factor[j] * next.rest
		}
		f.forms = append(f.forms, next)
	}
	return f, true
}

// isWorth: no value of a quantity becomes less exact by whole numbers that add up. Those of levels that none is above are rounded to the nearest, which costs nothing.
func (t *hierarchy) isWorth(f *fit) bool {
	for j, c := range t.cells {
		gain := 0.0
		for _, k := range f.forms {
			gain += k.factor[j] * k.factor[j] * k.size
		}
		if len(t.above[c.level]) > 0 && gain < leastGain {
			return false
		}
	}
	return true
}

// isNarrower: no interval of a quantity becomes wider by it, by the laws alone. Whole numbers that add up are less than 1 from the adjusted ones, where a group is a part of one group of each level; those with none above are at most a half. Else they are rarely 2 from them.
func (t *hierarchy) isNarrower(f *fit) bool {
	for j, c := range t.cells {
		away := math.Nextafter(1, 0)
		switch {
		case t.overlaps():
			away = 2
		case len(t.above[c.level]) == 0:
			away = 0.5
		}
		m := f.mean(t, j)
		if !(math.Floor(math.Sqrt(m.square)+m.rounding+away) <= f.released[c.level]) {
			return false
		}
	}
	return true
}

// projected brings numbers to the nearest of those that add up.
func (f *fit) projected(x []float64) {
	for _, k := range f.forms {
		rest := 0.0
		for j, c := range k.of {
			rest += c * x[j]
		}
		for j, c := range k.factor {
			x[j] -= c * rest
		}
	}
}

// adjustedLaw is a mixture, and what tells it from others.
type adjustedLaw struct {
	mixture
	key    string
	square float64 // of the half width, by those of its parts (TestSquaresOfWidths)
}

// part is how finely weights are told apart; they are rounded up to it.
const part = 1e-9

// steps are how many parts of its noise's deviation a value's distance from its mean is told in, upwards, so that groups have errors in common.
const steps = 8

// movedBy is the noise where the value is away from the mean.
func (m *adjustedLaw) movedBy(away float64) {
	step := math.Max(0.25, math.Sqrt(m.variance)/steps)
	m.away = step * math.Ceil(away/step)
	if away < 1 {
		m.away = math.Min(m.away, math.Nextafter(1, 0))
	}
	m.rounding += m.away
	m.variance += m.away * m.away
}

// mean is the noise of a cell's adjusted value before it is made whole.
func (f *fit) mean(t *hierarchy, j int) adjustedLaw {
	if f.means == nil {
		f.means, f.widths = make([]adjustedLaw, len(t.cells)), map[string]map[float64]float64{}
	}
	if f.means[j].terms != nil {
		return f.means[j]
	}
	weights := make([]float64, len(t.cells))
	weights[j] = 1
	for _, k := range f.forms {
		if by := k.factor[j]; by != 0 {
			for i, x := range k.of {
				weights[i] -= by * x
			}
		}
	}
	times := map[[2]int64]int64{}
	for i, w := range weights {
		if size := math.Abs(w); size > part {
			times[[2]int64{int64(t.cells[i].level), int64(math.Ceil(size / part))}]++
		}
	}
	var out adjustedLaw
	var parts [][3]int64 // level, weight, and how often
	for k, n := range times {
		parts = append(parts, [3]int64{k[0], k[1], n})
	}
	slices.SortFunc(parts, func(a, b [3]int64) int { return slices.Compare(a[:], b[:]) })
	var key []byte
	m := &out.mixture
	m.parts = true
	for _, k := range parts {
		for _, x := range k {
			key = append(strconv.AppendInt(key, x, 36), ' ')
		}
		base, w, n := f.laws[k[0]], float64(k[1])*part, float64(k[2])
		for _, b := range base.terms {
			b.weight *= w
			b.times = int(k[2])
			m.terms = append(m.terms, b)
		}
		m.rounding += w * n * base.rounding
		m.variance += w * w * n * base.variance
		width := w * deviationsOf(base.laplace(), usualMiss)
		out.square += width * width * n * base.variance
	}
	slices.SortStableFunc(m.terms, func(a, b term) int { // the widest first: where they leave nothing, dither asks no other
		return cmp.Compare(b.of()*b.weight*b.weight*b.law.variance(), a.of()*a.weight*a.weight*a.law.variance())
	})
	out.key = string(key)
	if f.widths[out.key] == nil {
		f.widths[out.key] = map[float64]float64{}
	}
	m.widths = f.widths[out.key]
	f.means[j] = out
	return out
}

// besideRows are the numbers of rows that a centred sum goes with.
type besideRows struct {
	none bool
	of   []int64 // nil: they are not adjusted
}

func shownOf(shown [][]int64, count int) besideRows {
	if count < 0 {
		return besideRows{none: true}
	}
	return besideRows{of: shown[count]}
}

// shown are the values of a quantity as they are shown; false: they stay as they are. Of a centred sum s beside c rows it is (s + DoubledCentre c)/2 that is made whole, which is SUM in steps.
func (t *hierarchy) shown(f *fit, m *sensitivity.Measure, notNegative bool, beside besideRows) ([]int64, bool) {
	notNegative = notNegative && isCountMeasure(m.Kind)
	from, to := slices.Clone(f.value), slices.Clone(f.moved)
	if notNegative {
		to = f.notNegative()
	}
	if beside.none {
		whole := t.rounded(from, to, notNegative)
		for j := range from {
			from[j] += whole[j]
		}
		return from, true
	}
	centre := m.DoubledCentre()
	if beside.of == nil {
		return nil, false
	}
	for j, c := range beside.of {
		if c != 0 && magnitude(centre) > mostMagnitude/magnitude(c) {
			return nil, false
		}
		twice := from[j] + centre*c
		from[j] = twice >> 1
		to[j] = to[j]/2 + float64(twice&1)/2
	}
	whole := t.rounded(from, to, false)
	for j, c := range beside.of {
		from[j] = 2*(from[j]+whole[j]) - centre*c
	}
	return from, true
}

func magnitude(x int64) int64 { return max(x, -x) }

// rounded is by how much each value is moved in whole numbers near to, so that they add up. Where each level has one above, a group's rest is spread over its parts, so that each number is less than 1 from the adjusted one. Else the finest level is made so along one way up, and the others are its sums.
func (t *hierarchy) rounded(from []int64, to []float64, notNegative bool) []int64 {
	r := &rounding{t, from, to, make([]int64, len(from)), make([]float64, len(from)), notNegative}
	done := make([]bool, len(t.cells))
	last := t.order[len(t.order)-1]
	several := t.overlaps()
	way := []int{last} // up from the finest level
	for l := last; len(t.above[l]) > 0; {
		l = t.above[l][0]
		way = append(way, l)
	}
	for _, l := range t.order {
		if several && !slices.Contains(way, l) {
			continue
		}
		if len(t.above[l]) == 0 {
			for j := t.first[l]; j < len(t.cells) && t.cells[j].level == l; j++ {
				r.whole[j], done[j] = max(int64(math.Round(to[j])), r.least(j)), true
			}
			continue
		}
		for _, s := range t.sums {
			if t.cells[s.children[0]].level != l || t.cells[s.parent].level != t.above[l][0] {
				continue
			}
			r.spread(s)
			for _, j := range s.children {
				done[j] = true
				if several && l == last {
					for _, up := range t.others(j, way) {
						r.owed[up] += to[j] - float64(r.whole[j])
					}
				}
			}
		}
	}
	for _, l := range slices.Backward(t.order) {
		for _, s := range t.sums {
			if t.cells[s.parent].level != l || done[s.parent] {
				continue
			}
			r.whole[s.parent], done[s.parent] = -from[s.parent], true
			for _, j := range s.children {
				r.whole[s.parent] += from[j] + r.whole[j]
			}
		}
	}
	return r.whole
}

// rounding is the state of one search for whole numbers.
type rounding struct {
	*hierarchy
	from        []int64
	to          []float64
	whole       []int64
	owed        []float64 // of cells that are sums: what their parts lost so far
	notNegative bool
}

// least is how far a cell may be moved down.
func (r *rounding) least(j int) int64 {
	if r.notNegative {
		return -r.from[j]
	}
	return math.MinInt64
}

// others are the cells that j is a part of, but for those of some levels.
func (t *hierarchy) others(j int, but []int) (list []int) {
	for _, up := range t.parents[j] {
		for _, a := range append(t.others(up, but), up) {
			if !slices.Contains(but, t.cells[a].level) && !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}

// spread makes whole numbers of a group's parts that add up to it: all rounded down, and the rest to those that lost most by it, or whose other sums did.
func (r *rounding) spread(s sumsOf) {
	rest := r.from[s.parent] + r.whole[s.parent]
	by, lost := slices.Clone(s.children), map[int]float64{}
	for _, j := range by {
		r.whole[j] = max(int64(math.Floor(r.to[j])), r.least(j))
		rest -= r.from[j] + r.whole[j]
		lost[j] = r.to[j] - float64(r.whole[j])
		for _, up := range r.others(j, nil) {
			lost[j] += r.owed[up]
		}
	}
	slices.SortStableFunc(by, func(a, b int) int { return cmp.Compare(lost[b], lost[a]) })
	for ; rest > 0; rest-- {
		r.whole[by[int(rest-1)%len(by)]]++
	}
	for k := len(by) - 1; rest < 0; k = (k + len(by) - 1) % len(by) {
		if j := by[k]; r.whole[j] > r.least(j) {
			r.whole[j]--
			rest++
		}
	}
}

// notNegative is by how much values are moved so that they add up and none is negative: the least squares of those, by Dykstra's projections in turn (Boyle and Dykstra 1986).
func (f *fit) notNegative() []float64 {
	x, off := make([]float64, len(f.value)), make([]float64, len(f.value))
	for j, v := range f.value {
		x[j] = float64(v) + f.moved[j]
	}
	for range mostTurns {
		worst := 0.0
		for j := range x {
			y := x[j] + off[j]
			worst = math.Max(worst, -x[j])
			x[j] = math.Max(0, y)
			off[j] = y - x[j]
		}
		f.projected(x)
		if worst < 1e-3 {
			break
		}
	}
	for j, v := range f.value {
		x[j] = math.Max(0, x[j]) - float64(v)
	}
	return x
}
