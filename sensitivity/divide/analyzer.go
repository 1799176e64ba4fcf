package divide

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/claims"
	"github.com/dpsql/dpsql/sensitivity/groups"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/joins"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/reuse"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// analyzer holds one statement's way through the conditions.
type analyzer struct{ *claims.Measurer }

// newAnalyzer begins the analysis of one aggregate of a query.
func newAnalyzer(ctx context.Context, q *plan.Query, agg *plan.Aggregate, opts sensitivity.Options) *analyzer {
	return &analyzer{claims.NewMeasurer(groups.NewGrouper(unit.NewLinker(ctx, q, agg, opts)))}
}

// run calls the passes in order; the numbers are those of Analyze's conditions.
func (z *analyzer) run() error {
	agg := z.Pulled(z.Out.Agg)
	z.Aggs, z.Whole = agg.Aggs, true
	return steps(z.Ctx,
		func() error {
			if pairs, err := z.Pairs(agg.Input); err != nil || pairs {
				return err
			}
			return z.Body(agg.Input)
		},
		func() error {
			if !z.Several {
				return nil
			}
			return steps(z.Ctx, func() error { return joins.JoinedBody(z.Linker) }, z.Scaled)
		},
		z.CheckOwnerless, // (4) no public row depends on private ones
		z.Groups,         // (7) a unit is in few groups, (8) groups are public or chosen with noise
		func() error {
			if z.Out.Joined != nil {
				return z.KnownGroups()
			}
			return z.RefusePerUnitGroups()
		},
		z.Measures, // (6) a unit's partial is clamped, (9) bounds are exact and fit a mechanism
		func() error {
			if z.Out.Joined != nil || z.Out.Pairs != nil {
				return nil
			}
			return z.Follow()
		},
		func() error {
			z.Settle()
			reuse.SortMeasures(z.Out, z.Smooth)
			z.WarnLost()
			z.WarnNoValues()
			z.WarnClipped()
			z.FindUnmet()
			return z.check()
		})
}

// check is the last line of Analyze's (6) clamped partials, (7) few groups of a unit and (9) exact bounds: nothing leaves that a mechanism could not take.
func (z *analyzer) check() error {
	a := z.Out
	if a.Pairs != nil {
		if err := claims.CheckPairs(a); err != nil {
			return err
		}
	} else if a.Unit == "" || a.Body == nil || (a.Body.UnitCol == 0) != (a.Joined != nil) {
		return sqlerr.New(sqlerr.Internal, "the statement has no unit")
	}
	if !a.Groups.Public && z.Opts.DeltaZero {
		return z.UnknownGroups()
	}
	if s := (dp.Sensitivity{PerGroup: 1, Groups: a.Limit.PerUnit}); s.Validate() != nil {
		return sqlerr.New(sqlerr.TooManyGroups, "the groups that one person may be in are not bounded").At(a.Agg.Pos).WithCause(s.Validate())
	}
	for _, m := range a.Measures {
		s := dp.Sensitivity{PerGroup: m.PerGroup, Groups: a.Limit.PerUnit}
		if err := s.Validate(); err != nil || relation.Magnitude(m.Lo) > m.PerGroup || relation.Magnitude(m.Hi) > m.PerGroup {
			return interval.TooWide().WithCause(err)
		}
		if m.Bound == nil {
			continue
		}
		if !sensitivity.IsCandidateBounds(m.Bound.Edges) {
			return sqlerr.New(sqlerr.Internal, "a bound is chosen among edges that do not increase")
		}
		if (m.Bound.By == sensitivity.ByFlow) != (a.Pairs != nil) || (m.Bound.By == sensitivity.BySmooth) != m.Joined {
			return sqlerr.New(sqlerr.Internal, "a bound is chosen by what the rows do not have")
		}
		if last := m.Clip(m.Bound.Edges[len(m.Bound.Edges)-1]); last > dp.MaxSensitivity || a.Limit.Norm == 0 && last != m.PerGroup {
			return interval.TooWide()
		}
	}
	if c := a.Limit.Cap; c != nil && (!sensitivity.IsCandidateBounds(c.Edges) || c.Edges[len(c.Edges)-1] != a.Limit.PerUnit) {
		return sqlerr.New(sqlerr.Internal, "the cap is chosen among numbers that do not increase to the limit")
	}
	return nil
}
