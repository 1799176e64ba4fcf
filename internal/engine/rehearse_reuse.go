package engine

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/sensitivity"
)

// What a rehearsal says is computed from another question's release: the engine's own rules, on releases without numbers. Of groups that are chosen, and bounds, a rehearsal knows none:
// one for one is how those are computed, and each choice is taken to be its least edge.

// rehearsed is the release of a stage at that quote.
func rehearsed(p *stage.Staged, st *stage.Stage, mp *price.Quote) (one *rehearsedRelease, err error) {
	one = &rehearsedRelease{first: mp, whole: mp, price: mp.Price, stage: st}
	k := p.ReuseCandidate(st, noArgs(p))
	if k == nil || st.An.Groups.Public && st.An.Groups.Count > stage.MaxReusableGroups {
		if len(st.An.Choices) == 0 {
			one.release = &release.Release{Plan: mp, Run: mp.Run()}
		}
		return one, nil
	}
	if one.release, err = release.NewPlaceholder(st.An, mp); err != nil {
		return one, err
	}
	one.release.Shape, one.family = k.Shape(), p.Family(k.Family())
	return one, nil
}

// toppedUp is its release once a stage has topped it up, or as it is where it would not become more exact.
func (one *rehearsedRelease) toppedUp(st *stage.Stage) (*release.Release, error) {
	if one.release == nil {
		return nil, nil
	}
	top, err := price.TopUp(st.An, one.release.Run, one.price, st.Request)
	if err != nil || top == nil {
		return one.release, err
	}
	more, err := one.release.With(st.An, top)
	if more == nil {
		return one.release, err
	}
	return more, err
}

// rehearsedRelative is a release that is computed from another question's.
type rehearsedRelative struct {
	of       ledger.Hash
	made     int
	snapshot int
	release  *release.Release
	analysis *sensitivity.Analysis // what it is of
}

// computed is what a stage is computed from, at no charge, where asked is its own release at a smaller price, or nil; nil: it is charged. Run.computed's rules: of those that will do, that with the least noise.
func (r *Rehearsal) computed(ctx context.Context, p *stage.Staged, st *stage.Stage, earlier *rehearsedRelease) (best *rehearsedRelative, err error) {
	k := p.ReuseCandidate(st, noArgs(p))
	if k == nil {
		return nil, nil
	}
	families := map[ledger.Hash]bool{}
	for _, text := range k.Families() {
		families[p.Family(text)] = true
	}
	least := math.Inf(1)
	for _, key := range slices.SortedFunc(maps.Keys(r.releases), func(a, b ledger.Hash) int { return slices.Compare(a[:], b[:]) }) {
		one := r.releases[key]
		if one == earlier || one.family == (ledger.Hash{}) || !families[one.family] || st.Request.IsWorthTopUp(one.price) || !p.CanRead(one.release.Shape.Reads) {
			continue
		}
		text, err := release.Encode(one.stage.An, one.release)
		if err != nil {
			return nil, err
		}
		old, err := release.DecodeRelated(text)
		if err != nil || old == nil {
			return nil, err
		}
		made, an := stage.ComputedFrom(k, old)
		if made == nil {
			continue
		}
		noise, err := stage.LogNoise(ctx, an, made)
		if err != nil {
			return nil, err
		}
		if noise >= least {
			continue
		}
		enough := earlier == nil
		if !enough && an == st.An && earlier.release != nil {
			if enough, err = private.ErrsLess(ctx, st.An, made, earlier.release); err != nil {
				return nil, err
			}
		}
		if enough {
			best, least = &rehearsedRelative{key, one.made, one.snapshot, made, an}, noise
		}
	}
	return best, nil
}

// noArgs are a script's parameters, which it has none for.
func noArgs(p *stage.Staged) []sqltype.Value { return make([]sqltype.Value, len(p.Query.Params)) }
