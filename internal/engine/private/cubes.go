package private

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// fromCube is the release of a cube's level that answers a stage; nil: none does. One's own cube answers whatever price is asked for, another analyst's where its price is no less, and is no wider than rival, the stored release that answers at no charge: nobody's cheap cube replaces what others pay for.
// A question that was released anew since a cube was made is not answered from it. dpsql.fresh leaves cubes alone, and so does dpsql.target_error, which looked at releases itself.
//
// Proof: post-processing of a release that was charged when its cube was made. (1) It answers whom stored releases answer: who made the cube, and others where cache.scope allows it; nobody who is frozen, as the ledger has been asked first (stored). (2) It is the same question: its key is, which has the policy's version, bounds and settings, or it has
// the stage's measures in groups of which each is one of the level's (release.Release.Computed), of columns that the analyst may read. (3) Which cube answers follows from names, times and scales alone.
func (r *Run) fromCube(ctx context.Context, a *StageRun, rival *release.Release, since time.Time) (best *release.Release, of int64, err error) {
	s := r.Session
	if a.TargetNote != "" {
		return nil, 0, nil
	}
	list, err := s.Engine.Models.Cubes().Recent(ctx)
	if err != nil {
		return nil, 0, s.ModelsFailed(ctx, err)
	}
	if len(list) == 0 {
		return nil, 0, nil
	}
	var families []ledger.Hash
	if k := r.ReuseCandidate(a.Stage, a.Args); k != nil {
		for _, text := range k.Families() {
			families = append(families, r.Family(text))
		}
	}
	least, others := math.Inf(1), math.Inf(1)
	if rival != nil {
		if others, err = stage.LogNoise(ctx, a.An, rival); err != nil {
			return nil, 0, err
		}
	}
	for i := range list {
		x := &list[i]
		if x.Cube == nil || x.Cube.Epoch != s.World.Catalogs.Epoch() || x.Owner != s.Analyst.Name && s.World.Policy.Cache.Scope != string(ledger.ScopeDataset) { // (1)
			continue
		}
		own := x.Owner == s.Analyst.Name
		if since.After(x.Cube.Made) || !own && a.Request.IsWorthTopUp(x.Cube.Price) {
			continue
		}
		var made *mlext.Cube
		for l, level := range x.Cube.Levels {
			exact := level.Key == a.key
			if !exact && (level.Family == ledger.Hash{} || !slices.Contains(families, level.Family)) { // (2)
				continue
			}
			if made == nil {
				if made, err = s.Engine.Models.Cubes().Load(ctx, x); err != nil {
					return nil, 0, s.ModelsFailed(ctx, err)
				}
				if made == nil { // it was dropped
					break
				}
			}
			found, noise, err := r.ofLevel(ctx, a, &made.Levels[l], exact)
			if err != nil {
				return nil, 0, err
			}
			if found != nil && noise < least && (own || noise < others) && (r.state == "" || r.state == found.Data) {
				found.Cube = x.Name + " of " + x.Cube.Made.Format("2006-01-02 15:04") + " UTC"
				if !own {
					found.Cube = x.Owner + "." + found.Cube
				}
				best, of, least = found, level.Reservation, noise
			}
		}
	}
	return best, of, nil
}

// ofLevel is a stage's release by a level of a cube, and how wide its noise is; nil where the level does not say it.
func (r *Run) ofLevel(ctx context.Context, a *StageRun, level *mlext.CubeLevel, exact bool) (*release.Release, float64, error) {
	if exact {
		out, err := release.Decode(a.An, level.Release, nil)
		if err != nil {
			return nil, 0, r.Session.LedgerFailed(err)
		}
		noise, err := stage.LogNoise(ctx, a.An, out)
		return out, noise, err
	}
	old, err := release.DecodeRelated(level.Release)
	if err != nil {
		return nil, 0, r.Session.LedgerFailed(err)
	}
	if old == nil || !r.CanRead(old.Shape.Reads) {
		return nil, 0, nil
	}
	out, an := stage.ComputedFrom(r.ReuseCandidate(a.Stage, a.Args), old)
	if out == nil || out.MostCells() > 1 || !stage.HasPublicGroups(an, out) {
		return nil, 0, nil
	}
	noise, err := stage.LogNoise(ctx, an, out)
	return out, noise, err
}

// adjustedByCube are the numbers of the answer's releases among those of their cube's other levels, by stage; nil: they are shown as they were released.
//
// Proof: intervals hold as finish.Consistent says for each number by itself. (1) Adjusted numbers share noise. So all that is shown is of one aggregate, whose rows nothing adds up or compares but grouping sets, whose intervals do not count on independent noise (plan.term.once).
// (2) Nobody else reads them. (3) All are of one cube, so numbers of grouping sets add up.
func (r *Run) adjustedByCube(ctx context.Context) (out map[int]*finish.Adjusted, sums map[plan.ColID]bool, err error) {
	leaves := r.Program.Answer.Leaves
	if r.Session.Now.Consistent == session.ConsistentOff || len(leaves) != 1 || leaves[0].Parts == nil {
		return nil, nil, nil
	}
	n, ok := leaves[0].At.(*plan.Aggregate)
	if !ok || len(n.Sets) == 0 && !isRowByRow(r.Program.Answer.Root, n) { // (1)
		return nil, nil, nil
	}
	out, sums = map[int]*finish.Adjusted{}, map[plan.ColID]bool{}
	first := ""
	for _, part := range leaves[0].Parts {
		a := r.StageRuns[r.StageRuns[part.Stage].As]
		if first == "" && a.Release != nil {
			first = a.Release.Cube
		}
		if a.Release == nil || a.Release.Adjusted == nil || a.Release.Cube != first || r.readers(part.Stage) > 1 { // (2) (3)
			return nil, nil, nil
		}
		d, err := finish.AdjustedOf(ctx, a.An, a.Release)
		if err != nil {
			return nil, nil, err
		}
		out[part.Stage] = d
		for i, g := range n.Aggs {
			sums[g.ID] = d.AddsUp(i)
		}
	}
	return out, sums, nil
}

// isRowByRow: each row of a computation is made of one row of a leaf, and no other.
func isRowByRow(root plan.Rel, leaf plan.Rel) bool {
	for root != leaf {
		switch root.(type) {
		case *plan.Project, *plan.Filter, *plan.Sort, *plan.Limit:
			root = plan.Inputs(root)[0]
		default:
			return false
		}
	}
	return true
}

// Levels are what a run released, one a grouping set, with its numbers after they were made to add up.
func (r *Run) Levels(ctx context.Context) (list []mlext.CubeLevel, err error) {
	adjusted, err := r.adjusted(ctx)
	if err != nil {
		return nil, err
	}
	for _, part := range r.Program.Answer.Leaves[0].Parts {
		a := r.StageRuns[part.Stage]
		one := mlext.CubeLevel{Key: a.key, Groups: len(a.Release.Groups), Reservation: a.stored}
		for _, k := range a.An.Keys {
			one.Columns = append(one.Columns, a.An.VisibleName(k.Col))
		}
		own := *a.Release
		if d := adjusted[part.Stage]; d != nil {
			own.Adjusted = d.Stored()
		}
		if k := r.ReuseCandidate(a.Stage, a.Args); k != nil {
			own.Shape, one.Family = k.Shape(), r.Family(k.Family())
		}
		if one.Release, err = release.Encode(a.An, &own); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}
