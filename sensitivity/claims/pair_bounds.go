package claims

import (
	"math/bits"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// pairBound gives a measure the edges that its flow's cap is chosen among: those at which a flow is looked at. They are chosen by how much more flow there is at twice a cap, about the number of units that it cuts something of. Those of sums begin where a cap is a small part of one row's value.
func (z *Measurer) pairBound(m *sensitivity.Measure, g plan.AggItem) error {
	row := uint64(1)
	last := uint64(sensitivity.MostRows)
	if m.Kind == sensitivity.SumValues {
		iv, narrow := z.Filtered(m.Arg, m.Filter)
		switch {
		case iv == nil:
			return z.noRange(m.Arg, g)
		case iv.Lo.IsNegative():
			return unit.TwoUnits("a sum of values that may be negative", g.Pos).
				WithHint("Take a part that is not: greatest(x, 0), or the distance from the range's lower end. The flow that bounds what a unit adds has no negative part.")
		}
		if err := z.rowRange(m, iv, narrow, g); err != nil {
			return err
		} else if m.RowLo < 0 {
			return interval.TooWide().At(g.Pos)
		}
		row = max(1, uint64(m.RowHi))
		if hi, lo := bits.Mul64(row, sensitivity.MostRows); hi != 0 || lo > sensitivity.MostSteps {
			last = sensitivity.MostSteps
		} else {
			last = lo
		}
	} else {
		m.RowHi = 1
	}
	if row > sensitivity.MostSteps {
		return interval.TooWide().At(g.Pos)
	}
	first := uint64(1)
	for first < row/sensitivity.CapParts {
		first *= 2
	}
	m.Bound = &sensitivity.Choice{By: sensitivity.ByFlow, Edges: sensitivity.CandidateCaps(first, last)}
	if m.Bound.Edges = m.Fitting(m.Bound.Edges); len(m.Bound.Edges) == 0 {
		return interval.TooWide().At(g.Pos)
	}
	m.Single = true
	m.Contribution = m.AtLast()
	return nil
}

// CheckPairs is check's last line for flows.
func CheckPairs(a *sensitivity.Analysis) error {
	bad := a.Body == nil || a.Body.UnitCol != 0 || a.Pairs.Cols[0] == 0 || a.Pairs.Cols[1] == 0 || a.Pairs.Cols[0] == a.Pairs.Cols[1] || !a.Groups.Public || a.Limit.Capped || a.Limit.Norm > 0 || a.Limit.Cap != nil || a.People >= 0
	for _, m := range a.Measures {
		if m.Bound == nil {
			bad = true
			break
		}
		bad = bad || !m.Single || m.Follows || m.RowLo < 0 || m.Lo < 0 || m.Factor != 1 || m.Subdivision != 1 || m.Kind != sensitivity.CountRows && m.Kind != sensitivity.CountValues && m.Kind != sensitivity.SumValues
	}
	if bad || len(a.Choices) != len(a.Measures) {
		return sqlerr.New(sqlerr.Internal, "rows of two units are not bounded")
	}
	return nil
}
