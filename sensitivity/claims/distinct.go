package claims

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/groups"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// countDistinct counts units, or the distinct values of anything else.
func (z *Measurer) countDistinct(g plan.AggItem) (int, error) {
	switch {
	case z.IsUnitCount(g) && z.IsComputed() && z.CanBeNull(g.Arg, interval.Stored): // a row without a person is not counted as one
		person := &plan.Is{X: g.Arg, What: "NULL", Not: true}
		if g.Filter != nil {
			g.Filter = &plan.Logic{Op: plan.And, Args: []plan.Scalar{g.Filter, person}}
		} else {
			g.Filter = person
		}
		return z.measure(sensitivity.Measure{Kind: sensitivity.SomeUnits}, g)
	case z.IsUnitCount(g) && g.Filter != nil:
		return z.measure(sensitivity.Measure{Kind: sensitivity.SomeUnits}, g)
	case z.IsUnitCount(g):
		return z.measure(sensitivity.Measure{Kind: sensitivity.Units}, g)
	}
	return z.measure(sensitivity.Measure{Kind: sensitivity.DistinctValues, Arg: g.Arg}, g)
}

// fewValues: with so few values that a unit can have none is worth choosing among.
const fewValues = 4

// fewOf is how many values an expression can have in a unit's rows, by what policy and statement say of the one column that it is computed from; 0: nothing is known.
func (z *Measurer) fewOf(x plan.Scalar) uint64 {
	if z.IsUnitDetermined(x) {
		return 1
	}
	return z.listed(x)
}

// listed is how many values an expression can have, by what policy and statement say of the one column that it is computed from; 0: nothing is known.
func (z *Measurer) listed(x plan.Scalar) uint64 {
	list, ok := z.values(x)
	if !ok {
		return 0
	}
	return uint64(max(1, len(list)))
}

// values are those that an expression can have, by what policy and statement say of the one column that it is computed from, NULL apart; false: nothing is known.
func (z *Measurer) values(x plan.Scalar) (list []sqltype.Value, ok bool) {
	id, ok := z.OnlyColumn(x)
	if !ok {
		return nil, false
	}
	values, _, ok := z.ValuesOf(z.Owner[id], id, x)
	f, err := z.Function(x, id)
	if !ok || err != nil || len(values) > groups.MostTried {
		return nil, false
	}
	seen := map[string]bool{}
	for _, v := range values {
		if y, err := f(v); err == nil && y != nil {
			y = groups.Literal(y, x.Type())
			if text := groups.TupleText([]sqltype.Value{y}); !seen[text] {
				seen[text], list = true, append(list, y)
			}
		}
	}
	return list, true
}

// sums are what different values of a measure's argument can add up to, as they count in its range: all that are below 0, and all that are above; nil: nothing is known.
func (z *Measurer) sums(m *sensitivity.Measure) *sensitivity.Sums {
	list, ok := z.values(m.Arg)
	if !ok {
		return nil
	}
	var inRange []decimal.Decimal
	for _, v := range list {
		x, ok := relation.ExactDecimal(v)
		if !ok {
			return nil
		}
		if x = decimal.Max(m.RangeLo, decimal.Min(m.RangeHi, x)); !slices.ContainsFunc(inRange, x.Equal) {
			inRange = append(inRange, x)
		}
	}
	out := &sensitivity.Sums{}
	for _, x := range inRange {
		if x.Sign() < 0 {
			out.Least = out.Least.Add(x)
		} else {
			out.Most = out.Most.Add(x)
		}
	}
	return out
}

// possible is how many values a measure's argument can have in all rows, by the policy; 0: nothing is known.
func (z *Measurer) possible(m *sensitivity.Measure) (least uint64, of *plan.Table, err error) {
	inTable, of, err := z.valuesInTable(m.Arg)
	for _, n := range []uint64{z.listed(m.Arg), z.ranged(m), inTable} {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least, of, err
}

// valuesInTable is how many values the public table has that the policy lists the one column's by from which an expression is computed; 0: it is listed by none.
func (z *Measurer) valuesInTable(x plan.Scalar) (uint64, *plan.Table, error) {
	id, ok := z.OnlyColumn(x)
	if !ok || z.Opts.Public == nil {
		return 0, nil, nil
	}
	scan := z.Owner[id].Scan
	d := scan.Table.Columns[slices.Index(scan.Columns, id)].Domain
	if d == nil || d.From == nil {
		return 0, nil, nil
	}
	limit := int(z.Opts.MaxPublicGroups) //nolint:gosec // a limit of the policy
	values, err := z.Opts.Public.Distinct(z.Ctx, d.From, []int{d.FromColumn}, limit)
	if err != nil || len(values) > limit {
		return 0, nil, err
	}
	return uint64(max(1, len(values))), d.From, nil
}

// ranged is how many whole numbers the range of a measure's argument has; 0: nothing is known.
func (z *Measurer) ranged(m *sensitivity.Measure) uint64 {
	iv, _ := z.Filtered(m.Arg, m.Filter)
	if _, isTuple := m.Arg.(*plan.Tuple); isTuple || iv == nil || !m.Arg.Type().IsInteger() {
		return 0
	}
	n := iv.Hi.Sub(iv.Lo).Add(decimal.NewFromInt(1))
	if n.Sign() <= 0 || n.GreaterThan(decimal.NewFromInt(dp.MaxSensitivity)) {
		return 0
	}
	return uint64(n.IntPart()) //nolint:gosec // positive
}

// kept is how many values an expression of one whole number can have in rows that WHERE keeps; 0: nothing is known.
func (z *Measurer) kept(x plan.Scalar) uint64 {
	id, ok := z.OnlyColumn(x)
	if !ok || !z.TypeOf(id).IsInteger() {
		return 0
	}
	in := z.Narrowed(id)
	if in.Lo == nil || in.Hi == nil {
		return 0
	}
	n := in.Hi.Floor().Sub(in.Lo.Ceil()).Add(decimal.NewFromInt(1))
	if n.Sign() <= 0 || n.GreaterThan(decimal.NewFromInt(dp.MaxSensitivity)) {
		return 0
	}
	return uint64(n.IntPart()) //nolint:gosec // positive
}

// distinct bounds how many distinct values of a unit count in a group.
//
// Proof: claim: whatever the rows are, without one unit the total of a group changes by at most PerGroup, or the edge that Bound chooses, = m, and in at most Limit.PerUnit groups. The print keeps at
// most m values of each unit in each of at most PerUnit groups, by an order of the unit's own values (sqlgen.Distinct): sets S(u, g) that depend on rows of u alone. The total is the number of elements of the
// union over all u. Without one unit the union loses those elements of its S(u, g) that no other one has: at most m. Capped first: if values were told apart first, each by one owner, and owners capped
// then, the owner that leaves would hand its values to others, whose cap would drop others of theirs, and a total could change by any number. For the choice: the number of units with more than t
// distinct values changes by at most 1 for each t, in one direction, as in choose. What is known of the values, that the unit determines them or that there are few, only says where the cap
// stands. Of a set operation (plan.Held: EXCEPT, INTERSECT) what is kept are values with their sides, and a value counts as its kept pairs say, so that the total is no monotone function of them and may rise without the unit. Only values
// among those of its S(u, g) change whether they count, and of these m at most, since the print ranks a unit's values, each with all of its sides, and not its pairs (sqlgen.Distinct). Source: Knop, Steinke, "Counting Distinct Elements Under Person-Level Differential Privacy", 2023, section 2 (one unit's values bounded first).
func (z *Measurer) distinct(m *sensitivity.Measure, g plan.AggItem) error {
	most := z.Out.MaxRows
	few := z.fewOf(m.Arg)
	var err error
	m.AtMost = z.kept(m.Arg)
	if m.Possible, m.ValuesOf, err = z.possible(m); err != nil {
		return err
	}
	switch {
	case few > 0 && (most == 0 && few <= fewValues || most > few):
		most = few
	case most == 0 && few > 0:
		return z.choose(m, 1, few)
	case most == 0:
		return z.choose(m, 1, sensitivity.MostRows)
	}
	if most > dp.MaxSensitivity {
		return interval.TooWide().At(g.Pos)
	}
	m.Hi, m.PerGroup = int64(most), most
	return nil
}

// distinctPair measures the number of distinct values that x has in its range, and the sum of the distances of the same values from the middle of the range: SUM is that and the number times the middle, so both have to be of the same
// values. Values are told apart before they are brought to the grid (sqlgen.Distinct), else those that it makes one would count once: each is wrong by half a grid step at most, as in a sum of rows.
//
// Proof: claim: without one unit the centred sum of a group changes by at most Values, or the edge that the count's choice gives, times RowHi - RowLo, in at most Limit.PerUnit groups. As in distinct: the union of the units' kept sets, each of
// at most so many values, loses those that no other unit kept. Each comes to one integer v in [RowLo, RowHi] (sqlgen, steps), and adds 2v - (RowLo + RowHi), which is within +-(RowHi - RowLo). Of the count: as in distinct, of values as
// they are read through the range, which are functions of the row.
func (z *Measurer) distinctPair(g plan.AggItem) (count, sum int, err error) {
	if count, err = z.measure(sensitivity.Measure{Kind: sensitivity.DistinctValues, Arg: g.Arg, InRange: true}, g); err != nil {
		return
	}
	c := z.Out.Measures[count]
	m := sensitivity.Measure{Kind: sensitivity.CentredSum, Arg: g.Arg, Distinct: true, ContributionChoice: sensitivity.ContributionChoice{Bound: c.Bound}}
	if c.Bound == nil {
		m.Values = c.PerGroup
	}
	if sum, err = z.measure(m, g); err == nil {
		z.Out.Measures[sum].Sums = z.sums(&z.Out.Measures[sum])
	}
	return
}
