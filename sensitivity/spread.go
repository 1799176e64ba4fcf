package sensitivity

import (
	"context"
	"math/bits"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// IsSmoothed reports that what one unit changes of joined rows is chosen by a smooth bound that is measured.
func (a *Analysis) IsSmoothed() bool {
	return a.Joined != nil && len(a.Choices) > 0 && a.Choices[0].By == BySmooth
}

// mostSpread is how many values of a public table's column are read to be counted.
const mostSpread = 100_000

// Spread guesses a joined statement's frequencies by public facts: of so many units each has as many rows in a leaf as count, spread evenly over the values that its key may have by the policy (values of public tables are read, and how often they occur there). false: these are not known. Nothing but which of several bounds is taken goes by it.
func (a *Analysis) Spread(ctx context.Context, population uint64, public plan.PublicReader) ([]uint64, bool, error) {
	var out []uint64
	for i, q := range a.Joined.Frequencies {
		if often, ok, err := a.ofPublic(ctx, q.Columns, public); err != nil {
			return nil, false, err
		} else if ok {
			out = append(out, often)
			continue
		}
		over, rows := bits.Mul64(population, a.Joined.Formula.Frequencies[i].Side.Rows)
		if over > 0 || rows == 0 {
			return nil, false, nil
		}
		values := uint64(1)
		for _, id := range q.Columns {
			n, ok, err := valuesOf(ctx, a.Query.Columns[id], public)
			over, product := bits.Mul64(values, n)
			if err != nil || !ok || over > 0 {
				return nil, false, err
			}
			values = product
		}
		out = append(out, (rows-1)/values+1)
	}
	return out, true, nil
}

// ofPublic is how often a value of a public table's columns occurs at most, which is read; false: they are none.
func (a *Analysis) ofPublic(ctx context.Context, ids []plan.ColID, public plan.PublicReader) (uint64, bool, error) {
	reader, ok := public.(plan.FrequencyReader)
	var by []plan.ColID
	var conds []plan.Scalar
	t := a.Query.Columns[ids[0]].Table
	for _, id := range ids {
		c := a.Query.Columns[id]
		ok = ok && t != nil && t.Public && c.Table == t
		by, conds = append(by, plan.ColID(c.Attr+1)), append(conds, relation.IsNotNull(plan.ColID(c.Attr+1), c.Type))
	}
	if !ok {
		return 0, false, nil
	}
	s := &plan.Scan{Table: t, Pos: -1}
	for i := range t.Columns {
		s.Columns = append(s.Columns, plan.ColID(i+1))
	}
	n, err := reader.MostOften(ctx, relation.Filter(s, conds), by)
	return n, err == nil, err
}

// valuesOf is how many values a column may have by its domain, or by its range.
func valuesOf(ctx context.Context, c plan.ColumnInfo, public plan.PublicReader) (uint64, bool, error) {
	if c.Table == nil {
		return 0, false, nil
	}
	col := &c.Table.Columns[c.Attr]
	if d := col.Domain; d != nil && d.From != nil && public != nil {
		tuples, err := public.Distinct(ctx, d.From, []int{d.FromColumn}, mostSpread)
		return uint64(len(tuples)), len(tuples) > 0 && len(tuples) <= mostSpread, err
	}
	n, ok := col.Values()
	return n, ok, nil
}
