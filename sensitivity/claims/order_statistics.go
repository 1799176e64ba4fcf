package claims

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// MostLeaves bounds what one group may return and what the proxy holds of it.
const MostLeaves = 1 << 16

// orderStatistic gives MIN, MAX and percentiles their tree; several of the same values of the same rows have one.
//
// Proof: claim: whatever a unit's rows are, the numbers of rows in the nodes of one level differ, without the unit, by at most PerGroup = m in all of a group
// together (sum of magnitudes), in at most Limit.PerUnit groups, since the print keeps at most m of a unit's rows in a group, each in one leaf (sqlgen.TreeLeaves), and each
// leaf is under one node of a level. So over all L levels the L1 norm of the difference is at most L m PerUnit, and the squared L2 norm at most L m^2
// PerUnit: those of a dp.Sensitivity with PerGroup m in Groups = L PerUnit entries (Vectors). What is lost is at most what a change of m in one entry of each level and group loses: the pure and the Gaussian loss follow from the norms; the Renyi loss of Laplace
// noise is superadditive in the shift d, being a convex function of it that is 0 at 0 (the logarithm of A e^((a-1)d/b) + B e^(-ad/b), A, B > 0, for whole d >= 0; package budget, shiftedLaplace), so
// one entry that changes by m loses at least as much as several that change by m together. The shape follows from declared ranges and types. Sources: Dwork, Naor, Pitassi, Rothblum, STOC 2010; Chan, Shi, Song 2011 (trees of counts); that a
// unit's rows are limited first: Wilson et al. 2020.
//
// Of MIN and MAX the tree counts people in place of rows: the least of all values is the least of each unit's own least one, and so for the greatest. (10) The print keeps one value of a unit in a
// group, its own extreme (sqlgen.TreeLeaves), so m is 1, whatever max_rows_per_unit says. Example: max(days) counts a patient with stays of 2, 9 and 4 days once, at 9.
func (z *Measurer) orderStatistic(g plan.AggItem, f *sensitivity.Formula) error {
	x, err := z.orderCall(g, f)
	if err != nil {
		return err
	}
	x = lengthOf(x)
	if t := x.Type(); !t.IsNumber() && !relation.IsDay(t) {
		order := "1"
		if g.Fn == plan.Max {
			order = "1 DESC NULLS LAST"
		}
		text := plan.Readable(z.Out.Query, x)
		return sqlerr.New(sqlerr.PrivateShape, "%s of %s over private rows is not supported", g.Name(), t).At(g.Pos).
			WithHint("Group by it: SELECT %s, count(*) FROM %s GROUP BY 1 ORDER BY %s LIMIT 1. Of a time, take a number: extract(epoch FROM x).", text, z.FromText(), order)
	}
	t, err := z.tree(x, g)
	if err != nil {
		return err
	}
	switch {
	case z.Single: // its one value is all there is, and quantiles may share the tree
	case g.Fn == plan.Min:
		t.Own = sensitivity.OwnLeast
	case g.Fn == plan.Max:
		t.Own = sensitivity.OwnGreatest
	}
	if f.Sum, err = z.measure(sensitivity.Measure{Kind: sensitivity.Leaves, Arg: x, Tree: t}, g); err != nil {
		return err
	}
	t = z.Out.Measures[f.Sum].Tree // an equal one, if there was one
	for _, q := range f.Quantiles {
		if !math.IsNaN(q.Fraction) && !slices.Contains(t.Quantiles, q) {
			t.Quantiles = append(t.Quantiles, q)
		}
	}
	slices.SortFunc(t.Quantiles, func(p, q sensitivity.Quantile) int { return strings.Compare(fmt.Sprint(p), fmt.Sprint(q)) }) // any order that the select list does not change
	return nil
}

// orderCall gives what an order statistic is of, and notes which quantiles it is; NaN stands for a fraction that is NULL.
func (z *Measurer) orderCall(g plan.AggItem, f *sensitivity.Formula) (plan.Scalar, error) {
	f.Kind = sensitivity.IsDiscrete
	switch g.Fn {
	case plan.Min:
		f.Quantiles = []sensitivity.Quantile{{Fraction: 0}}
		return g.Arg, nil
	case plan.Max:
		f.Quantiles = []sensitivity.Quantile{{Fraction: 1}}
		return g.Arg, nil
	}
	if len(g.Order) != 1 || !g.Within {
		return nil, sqlerr.New(sqlerr.PrivateShape, "this form of %s over private rows is not supported", g.Name()).At(g.Pos)
	}
	v, err := relation.Constant(g.Arg)
	if err != nil {
		return nil, sqlerr.New(sqlerr.PrivateShape, "the fraction of %s over private rows must be a constant", g.Fn).At(g.Pos).WithHint("Write the number, as in %s(0.9).", g.Fn)
	}
	x := g.Order[0].Expr
	if g.Fn == "percentile_cont" {
		x, f.Kind = relation.Uncast(x), sensitivity.IsContinuous
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
		q := sensitivity.Quantile{Fraction: math.NaN(), Continuous: f.Kind == sensitivity.IsContinuous, Descending: g.Order[0].Desc}
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

// tree shapes the tree of an expression's values.
func (z *Measurer) tree(x plan.Scalar, g plan.AggItem) (*sensitivity.Tree, error) {
	iv, narrow := z.Filtered(x, g.Filter)
	switch {
	case iv == nil && (g.Fn == plan.Min || g.Fn == plan.Max):
		t := z.OpenTree(x)
		t.NoRange = z.withoutRange(x)
		return t, nil
	case iv == nil:
		return nil, z.noRange(x, g)
	}
	t := &sensitivity.Tree{Type: x.Type(), Narrow: narrow, Grid: decimal.NewFromInt(1)}
	var ok bool
	if !relation.IsDay(x.Type()) {
		if t.Grid, t.Rounded, ok = z.GridOf(x, iv, 1); !ok {
			return nil, interval.BeyondDoubles(iv, g)
		}
	}
	if t.Lo, t.Hi, ok = ends(iv, t.Grid); !ok {
		return nil, interval.TooWide().At(g.Pos)
	}
	t.Width = 1 + (t.Hi-t.Lo)/MostLeaves
	t.Count = (t.Hi-t.Lo)/t.Width + 1
	t.Fans = fans(t.Count)
	return t, nil
}

// ends are an interval's in steps of the grid: inward, so that no answer is outside of the range, and outward where no step is inside; ok is false beyond 2^61.
func ends(iv *num.Interval, grid decimal.Decimal) (lo, hi int64, ok bool) {
	a, b := interval.GridSteps(iv.Lo, grid, 1), interval.GridSteps(iv.Hi, grid, -1)
	if a.Cmp(b) > 0 {
		a, b = interval.GridSteps(iv.Lo, grid, -1), interval.GridSteps(iv.Hi, grid, 1)
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
