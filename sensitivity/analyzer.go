package sensitivity

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// analyzer holds one statement's way through the conditions.
type analyzer struct{ *measurer }

// newAnalyzer begins the analysis of one aggregate of a query.
func newAnalyzer(ctx context.Context, q *plan.Query, agg *plan.Aggregate, opts Options) *analyzer {
	return &analyzer{newMeasurer(newGrouper(newLinker(ctx, q, agg, opts)))}
}

// run calls the passes in order; the numbers are those of Analyze's conditions.
func (z *analyzer) run() error {
	agg := z.pulled(z.out.Agg)
	z.aggs, z.whole = agg.Aggs, true
	if pairs, err := z.pairs(agg.Input); err != nil {
		return err
	} else if !pairs {
		if err := z.body(agg.Input); err != nil {
			return err
		}
	}
	if z.several {
		if err := joinedBody(z.linker); err != nil {
			return err
		}
		if err := z.scaled(); err != nil {
			return err
		}
	}
	if err := z.checkOwnerless(); err != nil { // (4) no public row depends on private ones
		return err
	}
	if err := z.groups(); err != nil { // (7) a unit is in few groups, (8) groups are public or chosen with noise
		return err
	}
	if z.out.Joined != nil {
		if err := z.knownGroups(); err != nil {
			return err
		}
	} else if err := z.refusePerUnitGroups(); err != nil {
		return err
	}
	if err := z.measures(); err != nil { // (6) a unit's partial is clamped, (9) bounds are exact and fit a mechanism
		return err
	}
	if z.out.Joined == nil && z.out.Pairs == nil {
		if err := z.follow(); err != nil {
			return err
		}
	}
	z.settle()
	sortMeasures(z.out, z.smooth)
	z.warnLost()
	z.warnNoValues()
	return z.check()
}

// check is the last line of Analyze's (6) clamped partials, (7) few groups of a unit and (9) exact bounds: nothing leaves that a mechanism could not take.
func (z *analyzer) check() error {
	a := z.out
	if a.Pairs != nil {
		if err := checkPairs(a); err != nil {
			return err
		}
	} else if a.Unit == "" || a.Body == nil || (a.Body.UnitCol == 0) != (a.Joined != nil) {
		return sqlerr.New(sqlerr.Internal, "the statement has no unit")
	}
	if !a.Groups.Public && z.opts.DeltaZero {
		return z.unknownGroups()
	}
	if s := (dp.Sensitivity{PerGroup: 1, Groups: a.Limit.PerUnit}); s.Validate() != nil {
		return sqlerr.New(sqlerr.TooManyGroups, "the groups that one person may be in are not bounded").At(a.Agg.Pos).WithCause(s.Validate())
	}
	for _, m := range a.Measures {
		s := dp.Sensitivity{PerGroup: m.PerGroup, Groups: a.Limit.PerUnit}
		if err := s.Validate(); err != nil || relation.Magnitude(m.Lo) > m.PerGroup || relation.Magnitude(m.Hi) > m.PerGroup {
			return tooWide().WithCause(err)
		}
		if m.Bound == nil {
			continue
		}
		if !isCandidateBounds(m.Bound.Edges) {
			return sqlerr.New(sqlerr.Internal, "a bound is chosen among edges that do not increase")
		}
		if (m.Bound.By == ByFlow) != (a.Pairs != nil) || (m.Bound.By == BySmooth) != m.Joined {
			return sqlerr.New(sqlerr.Internal, "a bound is chosen by what the rows do not have")
		}
		if last := m.Clip(m.Bound.Edges[len(m.Bound.Edges)-1]); last > dp.MaxSensitivity || a.Limit.Norm == 0 && last != m.PerGroup {
			return tooWide()
		}
	}
	if c := a.Limit.Cap; c != nil && (!isCandidateBounds(c.Edges) || c.Edges[len(c.Edges)-1] != a.Limit.PerUnit) {
		return sqlerr.New(sqlerr.Internal, "the cap is chosen among numbers that do not increase to the limit")
	}
	return nil
}
