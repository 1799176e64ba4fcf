package claims

import (
	"math/bits"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// Scaled says what bounds the rows that one unit changes: a number, where the formula has no frequency, or one that is chosen.
func (z *Measurer) Scaled() error {
	j := z.Out.Joined
	if j.Formula == nil {
		return nil
	}
	if len(j.Frequencies) == 0 {
		if z.steady = j.Formula.At(nil, 0); z.steady > dp.MaxSensitivity {
			return interval.TooWide().At(z.Out.Agg.Pos)
		}
		z.steady = max(1, z.steady)
		return nil
	}
	z.Smooth = &sensitivity.Choice{By: sensitivity.BySmooth, Measure: -1, Edges: sensitivity.CandidateScales()}
	return nil
}

// KnownGroups refuses groups of rows of several units that are not public, and says how many groups one unit changes.
//
// Proof: of (7) for joined rows. PerUnit is 1 and PerGroup the bound on the sum of what one unit changes in all groups together: (boundRow), so that the vector of totals changes by at most PerGroup in L1 norm and, since those are whole numbers, in L2 norm too. dp.Sensitivity with one group has these two norms, and
// mechanisms on vectors ask for no other.
func (z *Measurer) KnownGroups() error {
	a := z.Out
	for i := range a.Keys {
		a.Keys[i].OfUnit = false
	}
	a.Limit = sensitivity.GroupLimit{PerUnit: 1, Why: "all groups together change as one does: each joined row is in one"}
	if z.Opts.Norm == sensitivity.L2 {
		a.Limit.NotL2 = "the noise goes by joined rows, which are several people's"
	}
	if a.Groups.Public {
		return nil
	}
	err := sqlerr.New(sqlerr.UnknownGroups, "the groups of rows that are joined off the privacy unit must be public").At(a.Agg.Pos)
	if slices.ContainsFunc(a.Keys, func(k sensitivity.Key) bool { return !k.Public }) {
		return z.PublicGroups(err)
	}
	return err.WithHint("There are more of them than query.max_public_groups: group by fewer columns.")
}

// boundRow sets a measure's row range and sensitivity where rows are joined off the unit.
//
// Proof: claim: one unit changes the vector of totals of all groups by at most S b in L1 norm, S the rows of the body that it changes and b = Factor. Each row is in one group and adds one integer there, in [RowLo, RowHi] or of magnitude at most b (1 for counts, RowHi - RowLo for a centred sum), whatever the row holds, since the
// print clamps it (sqlgen, rowTotals); a number of distinct values changes by at most one for each row that comes or goes. With S at most the edge that Bound chooses, or the formula's own number: at most that times Factor.
func (z *Measurer) boundRow(m *sensitivity.Measure, g plan.AggItem) error {
	if z.Out.Joined.Weighted != nil {
		return z.boundWeighted(m)
	}
	m.Grid, m.Factor, m.Single, m.Joined = decimal.NewFromInt(1), 1, true, true
	switch m.Kind {
	case sensitivity.CountRows, sensitivity.CountValues, sensitivity.DistinctValues:
	case sensitivity.SumValues, sensitivity.CentredSum:
		iv, narrow := z.Filtered(m.Arg, m.Filter)
		if iv == nil {
			return z.noRange(m.Arg, g)
		}
		if err := z.rowRange(m, iv, narrow, g); err != nil {
			return err
		}
		m.Factor = max(1, relation.Magnitude(m.RowLo), relation.Magnitude(m.RowHi))
		if m.Kind == sensitivity.CentredSum {
			m.Factor = max(1, uint64(m.RowHi-m.RowLo))
		}
	default:
		return sqlerr.New(sqlerr.Internal, "measure %s of joined rows", m.Kind)
	}
	if z.Smooth == nil {
		if m.PerGroup = m.Clip(z.steady); m.PerGroup > dp.MaxSensitivity {
			return interval.TooWide().At(g.Pos)
		}
		m.Hi = int64(m.PerGroup)
		if m.Kind == sensitivity.CentredSum || m.Kind == sensitivity.SumValues && m.RowLo < 0 {
			m.Lo = -m.Hi
		}
		return nil
	}
	m.Bound = z.Smooth
	return z.choose(m, 0, 0)
}

// boundWeighted sets the sensitivity of a count by weights.
func (z *Measurer) boundWeighted(m *sensitivity.Measure) error {
	w := z.Out.Joined.Weighted
	over, most := bits.Mul64(w.Rows[0]+w.Rows[1], sensitivity.WeightParts+1) // each at most dp.MaxSensitivity
	if m.PerGroup = most; over > 0 || most > dp.MaxSensitivity {
		return interval.TooWide().At(z.Out.Agg.Pos)
	}
	m.Kind, m.Grid, m.Factor, m.Single, m.Joined, m.Subdivision, m.Hi = sensitivity.WeightedRows, decimal.NewFromInt(1), 1, true, true, sensitivity.WeightParts, int64(most) //nolint:gosec // within it
	return nil
}
