package sensitivity

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Leaves counts a unit's rows by the leaf that their value is in; the numbers of rows in a tree over the leaves are what is measured (Measure.Tree). The measure's own
// total is the number of rows with a value, and is not released.
const Leaves MeasureKind = "rows by value"

// Formulas of order statistics: Formula.Sum is a Leaves measure.
const (
	IsDiscrete   FormulaKind = "discrete quantile"   // a value of the grid: percentile_disc, min (0), max (1)
	IsContinuous FormulaKind = "continuous quantile" // between two of them: percentile_cont, median
)

// IsOrderStatistic reports that it is computed from a tree of counts instead of the group's integers.
func (f Formula) IsOrderStatistic() bool { return f.Kind == IsDiscrete || f.Kind == IsContinuous }

// IsEnd reports that it is the least or the greatest value.
func (f Formula) IsEnd() bool {
	return f.IsOrderStatistic() && len(f.Quantiles) == 1 && (f.Quantiles[0].Fraction == 0 || f.Quantiles[0].Fraction == 1)
}

// IsGreatest reports the greatest value.
func (f Formula) IsGreatest() bool {
	return f.IsEnd() && f.Quantiles[0].Fraction == 1 != f.Quantiles[0].Descending
}

// Tree is the shape of a tree of counts over an expression's declared range, in steps of Grid: leaf b holds the values from Lo + b Width on. Fans are the numbers of
// children of a node, level by level from the root, whose product is the number of leaves or more. See openTree for those without a range.
type Tree struct {
	Type    sqltype.Type
	Grid    decimal.Decimal
	Rounded bool     // values are rounded to the grid
	Narrow  bool     // FILTER makes the range less than what the column is read through
	Own     Own      // which of a unit's values in a group count
	Open    bool     // no range is declared: values beyond Lo and Hi count there, and nothing bounds the true extreme
	NoRange []string // of an open one: the columns without a declared range that its values come from
	Digits  uint     // binary digits of a value that its leaf shows, which is the wider the larger the value; 0: all leaves are Width wide
	Lo, Hi  int64
	Width   int64
	Count   int64 // leaves
	Fans    []int64
	Asked   []Quantile // what the statement asks for, in order
}

// Own says which of a unit's own values in a group a tree counts.
type Own string

// The values of a unit that count.
const (
	OwnAll      Own = ""         // those of as many rows as the bound keeps
	OwnLeast    Own = "least"    // of MIN
	OwnGreatest Own = "greatest" // of MAX
)

// Quantile is one that is asked for: of the rows in order a Fraction comes before it; from the largest one on where Descending. Continuous is between two rows' values.
type Quantile struct {
	Fraction               float64
	Continuous, Descending bool
}

// Vectors is in how many vectors with one entry a group or more the measure's totals come: a tree's levels, in each of which a unit's rows are counted once, or the picks, for each of which they are.
func (m *Measure) Vectors() uint64 {
	switch {
	case m.Tree != nil:
		return uint64(len(m.Tree.Fans))
	case m.Pick != nil:
		return m.Pick.Most
	}
	return 1
}

// IsOwnExtreme reports that it counts units by their own least or greatest value.
func (m *Measure) IsOwnExtreme() bool { return m.Tree != nil && m.Tree.Own != OwnAll }

// IsTree reports that the measure is released from a scan of its own (sqlgen.TreeLeaves).
func (m *Measure) IsTree() bool { return m.Tree != nil || m.Pick != nil }

// HasTrees reports that some of what is measured are trees or picks.
func (a *Analysis) HasTrees() bool {
	return slices.ContainsFunc(a.Measures, func(m Measure) bool { return m.IsTree() })
}

// hasOrderStatistics: some of the aggregates are read off trees, or picked.
func hasOrderStatistics(agg *plan.Aggregate) bool {
	return slices.ContainsFunc(agg.Aggs, func(g plan.AggItem) bool {
		return slices.Contains([]plan.AggFunc{plan.Min, plan.Max, "percentile_cont", "percentile_disc", "mode", plan.TopK}, g.Fn)
	})
}

// mostLeaves bounds what one group may return and what the proxy holds of it.
const mostLeaves = 1 << 16

// orderStatistic gives MIN, MAX and percentiles their tree; several of the same values of the same rows have one.
//
// Proof: claim: whatever a unit's rows are, the numbers of rows in the nodes of one level differ, without the unit, by at most PerGroup = m in all of a group
// together (sum of magnitudes), in at most Limit.PerUnit groups, since the print keeps at most m of a unit's rows in a group, each in one leaf (sqlgen.Leaves), and each
// leaf is under one node of a level. So over all L levels the L1 norm of the difference is at most L m PerUnit, and the squared L2 norm at most L m^2
// PerUnit: those of a dp.Sensitivity with PerGroup m in Groups = L PerUnit entries (Vectors). What is lost is at most what a change of m in one entry of each level and group loses: the pure and the Gaussian loss follow from the norms; the Renyi loss of Laplace
// noise is superadditive in the shift d, being a convex function of it that is 0 at 0 (the logarithm of A e^((a-1)d/b) + B e^(-ad/b), A, B > 0, for whole d >= 0; package budget, shiftedLaplace), so
// one entry that changes by m loses at least as much as several that change by m together. The shape follows from declared ranges and types. Sources: Dwork, Naor, Pitassi, Rothblum, STOC 2010; Chan, Shi, Song 2011 (trees of counts); that a
// unit's rows are limited first: Wilson et al. 2020.
//
// Of MIN and MAX the tree counts people in place of rows: the least of all values is the least of each unit's own least one, and so for the greatest. (10) The print keeps one value of a unit in a
// group, its own extreme (sqlgen.TreeLeaves), so m is 1, whatever max_rows_per_unit says. Example: max(days) counts a patient with stays of 2, 9 and 4 days once, at 9.
func (z *analyzer) orderStatistic(g plan.AggItem, f *Formula) error {
	x, err := z.orderCall(g, f)
	if err != nil {
		return err
	}
	x = lengthOf(x)
	if t := x.Type(); !t.IsNumber() && !isDay(t) {
		order := "1"
		if g.Fn == plan.Max {
			order = "1 DESC NULLS LAST"
		}
		return sqlerr.New(sqlerr.PrivateShape, "%s of %s over private rows is not supported", g.Fn, t).At(g.Pos).
			WithHint("Take a number of it, such as extract(epoch FROM x) of a time; of a text, group by it: SELECT x, count(*) FROM t GROUP BY 1 ORDER BY %s LIMIT 1.", order)
	}
	t, err := z.tree(x, g)
	if err != nil {
		return err
	}
	switch {
	case z.single: // its one value is all there is, and quantiles may share the tree
	case g.Fn == plan.Min:
		t.Own = OwnLeast
	case g.Fn == plan.Max:
		t.Own = OwnGreatest
	}
	if f.Sum, err = z.measure(Measure{Kind: Leaves, Arg: x, Tree: t}, g); err != nil {
		return err
	}
	t = z.out.Measures[f.Sum].Tree // an equal one, if there was one
	for _, q := range f.Quantiles {
		if !math.IsNaN(q.Fraction) && !slices.Contains(t.Asked, q) {
			t.Asked = append(t.Asked, q)
		}
	}
	slices.SortFunc(t.Asked, func(p, q Quantile) int { return strings.Compare(fmt.Sprint(p), fmt.Sprint(q)) }) // any order that the select list does not change
	return nil
}

// orderCall gives what an order statistic is of, and notes which quantiles it is; NaN stands for a fraction that is NULL.
func (z *analyzer) orderCall(g plan.AggItem, f *Formula) (plan.Scalar, error) {
	f.Kind = IsDiscrete
	switch g.Fn {
	case plan.Min:
		f.Quantiles = []Quantile{{Fraction: 0}}
		return g.Arg, nil
	case plan.Max:
		f.Quantiles = []Quantile{{Fraction: 1}}
		return g.Arg, nil
	}
	if len(g.Order) != 1 || !g.Within {
		return nil, sqlerr.New(sqlerr.PrivateShape, "this form of %s over private rows is not supported", g.Fn).At(g.Pos)
	}
	v, err := constantOf(g.Arg)
	if err != nil {
		return nil, sqlerr.New(sqlerr.PrivateShape, "the fraction of %s over private rows must be a constant", g.Fn).At(g.Pos).WithHint("Write the number, as in %s(0.9).", g.Fn)
	}
	x := g.Order[0].Expr
	if g.Fn == "percentile_cont" {
		x, f.Kind = uncast(x), IsContinuous
	}
	list := []sqltype.Value{v}
	if a, ok := v.(*sqltype.Array); ok {
		f.Array, list = a, a.Values
	} else if g.Type.IsArray() { // a NULL array: its answer is NULL
		f.Array, list = &sqltype.Array{}, nil
	}
	if len(list) > mostFractions {
		return nil, sqlerr.New(sqlerr.TooComplex, "%s over private rows takes at most %d fractions", g.Fn, mostFractions).At(g.Pos).WithHint("Ask for fewer.")
	}
	for _, v := range list {
		q := Quantile{Fraction: math.NaN(), Continuous: f.Kind == IsContinuous, Descending: g.Order[0].Desc}
		if v != nil {
			p, ok := v.(float64)
			if !ok || !(p >= 0 && p <= 1) {
				return nil, sqlerr.New(sqlerr.NumericRange, "percentile value %v is not between 0 and 1", v).At(g.Pos)
			}
			q.Fraction = p
		}
		f.Quantiles = append(f.Quantiles, q)
	}
	return x, nil
}

// mostFractions of one call: each visits nodes of its own.
const mostFractions = 100

// constantOf is an expression's value, where it has one whatever the rows.
func constantOf(x plan.Scalar) (sqltype.Value, error) {
	f, err := eval.Compile(x, nil)
	if err != nil {
		return nil, err
	}
	return f(nil)
}

// tree shapes the tree of an expression's values.
func (z *analyzer) tree(x plan.Scalar, g plan.AggItem) (*Tree, error) {
	iv, narrow := z.filtered(x, g.Filter)
	switch {
	case iv == nil && (g.Fn == plan.Min || g.Fn == plan.Max):
		t := z.openTree(x)
		t.NoRange = z.withoutRange(x)
		return t, nil
	case iv == nil:
		return nil, z.noRange(x, g)
	}
	t := &Tree{Type: x.Type(), Narrow: narrow, Grid: decimal.NewFromInt(1)}
	ok := true
	if !isDay(x.Type()) {
		if t.Grid, t.Rounded, ok = z.gridOf(x, iv); !ok {
			return nil, beyondDoubles(iv, g)
		}
	}
	if t.Lo, t.Hi, ok = ends(iv, t.Grid); !ok {
		return nil, tooWide().At(g.Pos)
	}
	t.Width = 1 + (t.Hi-t.Lo)/mostLeaves
	t.Count = (t.Hi-t.Lo)/t.Width + 1
	t.Fans = fans(t.Count)
	return t, nil
}

// ends are an interval's in steps of the grid: inward, so that no answer is outside of the range, and outward where no step is inside; ok is false beyond 2^61.
func ends(iv *num.Interval, grid decimal.Decimal) (lo, hi int64, ok bool) {
	a, b := gridSteps(iv.Lo, grid, 1), gridSteps(iv.Hi, grid, -1)
	if a.Cmp(b) > 0 {
		a, b = gridSteps(iv.Lo, grid, -1), gridSteps(iv.Hi, grid, 1)
	}
	if a.BitLen() > 61 || b.BitLen() > 61 {
		return 0, 0, false
	}
	return a.Int64(), b.Int64(), true
}

// fans are the numbers of children, level by level, for which the rank of a value errs least: with Laplace noise, whose deviation grows with the number L of levels, a
// rank sums about k/2 noisy counts a level, so that its variance goes with k L^3. Levels are alike, as the product of their fans is at least the number of leaves.
func fans(leaves int64) []int64 {
	best, least := []int64{leaves}, float64(leaves)
	for levels := 2; levels <= 8; levels++ {
		k := int64(2)
		for power(k, levels) < leaves {
			k++
		}
		if cost := float64(k) * math.Pow(float64(levels), 3); cost < least {
			best, least = slices.Repeat([]int64{k}, levels), cost
		}
	}
	return best
}

func power(k int64, n int) int64 {
	p := int64(1)
	for range n {
		p *= k
	}
	return p
}

// text is a tree's shape, for the canonical text.
func (t *Tree) text() string {
	text := fmt.Sprintf("tree grid %s rounded %t from %d to %d by %d fans %v asked %v", t.Grid, t.Rounded, t.Lo, t.Hi, t.Width, t.Fans, t.Asked)
	if t.Own != OwnAll {
		text += " own " + string(t.Own)
	}
	if t.Open {
		text += fmt.Sprintf(" open digits %d", t.Digits)
	}
	return text
}

// line says a tree's shape in words.
func (t *Tree) line() string {
	at := func(n int64) string { return t.Grid.Mul(decimal.NewFromInt(n)).String() }
	grid, wide := "grid "+t.Grid.String(), at(t.Width)
	switch t.Type.OID {
	case sqltype.OIDDate:
		at = func(n int64) string { return sqltype.FormatText(sqltype.Days(n), t.Type) } //nolint:gosec // within the dates
		grid, wide = "days", wide+" days"
	case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		at = func(n int64) string { return sqltype.FormatText(sqltype.Micros(n), t.Type) }
		grid, wide = "microseconds", (time.Duration(min(t.Width, math.MaxInt64/1000)) * time.Microsecond).String()
	}
	leaf, levels := "a value each", "1 level"
	switch {
	case t.Digits > 0:
		leaf = "up to " + t.leafPercent() + " of a value wide"
	case t.Width > 1:
		leaf = wide + " wide"
	}
	if n := len(t.Fans); n > 1 {
		levels = fmt.Sprintf("%d levels", n)
	}
	counted := "rows by value"
	if t.Own != OwnAll {
		counted = fmt.Sprintf("units by their %s value", t.Own)
	}
	line := fmt.Sprintf("%s in [%s, %s] on %s: a tree of %d leaves, %s, in %s", counted, at(t.Lo), at(t.Hi), grid, t.Count, leaf, levels)
	if t.Rounded {
		line += ", rounded row by row"
	}
	if t.Open {
		line += ", as no range is declared"
	}
	return line
}

// HasPicks reports that some of what is measured are picks.
func (a *Analysis) HasPicks() bool {
	return slices.ContainsFunc(a.Measures, func(m Measure) bool { return m.Pick != nil })
}
