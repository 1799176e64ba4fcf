package divide

import (
	"context"

	"github.com/dpsql/dpsql/sensitivity"
)

// Analyze says what may be measured of a stage, or refuses it. It reads public tables through Options.Public, never private rows.
//
// Proof: claim: for databases that differ in all rows of one unit, the vector of group totals of each Measure differs in at most
// Limit.PerUnit groups, and in each by at most PerGroup. The unit and the bounds are enforced by the printed SQL, from nothing
// but what this function returns. Conditions, whose numbers stand at the lines that enforce them:
//
//	(1) Private rows reach the release through exactly one Aggregate; above it only nodes over its released columns, literals and
//	    parameters (Divide).
//	(2) Below it only Scan, Filter, Project, inner and left Join: each output row is made of one row of every scan (or padding),
//	    and nothing depends on the order or number of other rows. (2') A Scan may be one of a relation that derive made: each of its
//	    rows is a function of the rows of one unit, whose value it has, or of public tables alone.
//	(3) Every private row in an output row belongs to one and the same unit: two private scans are linked by equality of their
//	    unit columns, or along the foreign key by which the child reaches its unit; where both carry the unit's column its
//	    equality is added, and where the child does not the parent's columns are a key of the database. Several scans of the parent that a
//	    child is so linked with are of one row.
//	(4) No private scan stands on the padded side of a public one: a public row's presence does not depend on private rows. Where the statement says so, it is read as an inner join.
//	    Between private scans padding depends on rows of the same unit only, since (3) holds in the ON condition.
//	(5) Rows whose unit is NULL are dropped (by the print), so every counted row has exactly one unit. Where the policy says rows_without_unit: own, a row that leads to no person
//	    is, with everything that hangs on it, a unit of its own, and under unit: coalesce(column, other) of the unit that other names (rowunits.go).
//	(6) A unit's partial in a group is an integer in [Lo, Hi], clamped after all of its rows were taken in, hence
//	    PerGroup = max(|Lo|, |Hi|) bounds what adding or removing the unit changes (Wilson et al. 2020, section 3: the
//	    per-user clamp). It holds whatever MaxRows, ranges and grids are; those only say where the clamp stands. (6') Where keys
//	    that the database enforces say that a unit has one row (Measure.Single), that row's integer is clamped instead, to
//	    [RowLo, RowHi] after any rounding. MaxRows is 1, so what is made of it (it, 1, or 2x - (RowLo + RowHi)) is in [Lo, Hi].
//	(7) A unit is in at most PerUnit groups: by functional dependency on the unit, by the number of values of public keys that
//	    the print filters or the keys' form fixes, or by the printed cap (Wilson et al. 2020, section 3; Desfontaines,
//	    Voss, Gipson, Mandayam, PoPETs 2022, for selecting the groups afterwards).
//	(8) Public groups follow from policy, literals and public tables alone; all others are selected with noise.
//	(9) Bounds are exact decimals rounded outward to grid steps, all int64 arithmetic is checked, and both factors are at most
//	    dp.MaxSensitivity; what does not fit is refused.
//
// Sources: Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson, "Differentially Private SQL with Bounded User
// Contribution", PoPETs 2020; Desfontaines, "Lowering the cost of anonymization", 2020, chapter 4.
func (p *Program) Analyze(ctx context.Context, stage int, opts sensitivity.Options) (*sensitivity.Analysis, error) {
	q, s := *p.Query, p.Stages[stage]
	q.Params = s.Params
	z := newAnalyzer(ctx, &q, s.Agg, opts)
	z.Near = &p.near
	if err := z.run(); err != nil {
		return nil, err
	}
	return z.Out, nil
}
