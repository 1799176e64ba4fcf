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
)

// What a rehearsal says is computed from another question's release: the engine's own rules, on releases without numbers. Of groups that are chosen, and bounds, a rehearsal knows none:
// one for one is how those are computed, and each choice is taken to be its least edge.

// rehearsedReusable is a release that others may be computed from.
type rehearsedReusable struct {
	family  ledger.Hash
	release *release.Release
	stage   *stage.Stage // what it is of
}

// reusableOf is what a stage's release is to others; nil where none is computed from it.
func reusableOf(p *stage.Staged, st *stage.Stage, mp *price.Quote) (*rehearsedReusable, error) {
	k := p.ReuseCandidate(st, noArgs(p))
	if k == nil || st.An.Groups.Public && st.An.Groups.Count > stage.MaxReusableGroups {
		return nil, nil
	}
	r, err := release.NewPlaceholder(st.An, mp)
	if err != nil {
		return nil, err
	}
	r.Shape = k.Shape()
	return &rehearsedReusable{p.Family(k.Family()), r, st}, nil
}

// topUp is done to a release of that price, if it becomes more exact by it.
func (k *rehearsedReusable) topUp(st *stage.Stage, epsilon float64) error {
	top, err := price.TopUp(st.An, k.release.Run, epsilon, st.Request)
	if err != nil || top == nil {
		return err
	}
	more, err := k.release.With(st.An, top)
	if more != nil {
		k.release = more
	}
	return err
}

// rehearsedRelative is a release that another one is computed from.
type rehearsedRelative struct {
	of       ledger.Hash
	made     int
	snapshot int
}

// computed is what a stage is computed from, at no charge, where asked is its own release at a smaller price, or nil; nil: it is charged. Run.computed's rules.
func (r *Rehearsal) computed(ctx context.Context, p *stage.Staged, st *stage.Stage, earlier *rehearsedRelease) (*rehearsedRelative, error) {
	k := p.ReuseCandidate(st, noArgs(p))
	if k == nil {
		return nil, nil
	}
	families := map[ledger.Hash]bool{}
	for _, text := range k.Families() {
		families[p.Family(text)] = true
	}
	for _, key := range slices.SortedFunc(maps.Keys(r.releases), func(a, b ledger.Hash) int { return slices.Compare(a[:], b[:]) }) {
		one := r.releases[key]
		if one == earlier || one.reusable == nil || !families[one.reusable.family] || st.Request.IsWorthTopUp(one.price) || !p.CanRead(one.reusable.release.Shape.Reads) {
			continue
		}
		text, err := release.Encode(one.reusable.stage.An, one.reusable.release)
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
		if noise, err := stage.LogNoise(ctx, an, made); err != nil || math.IsInf(noise, 1) {
			return nil, err
		}
		enough := earlier == nil
		if !enough && an == st.An && earlier.reusable != nil {
			if enough, err = private.ErrsLess(ctx, st.An, made, earlier.reusable.release); err != nil {
				return nil, err
			}
		}
		if enough {
			return &rehearsedRelative{key, one.made, one.snapshot}, nil
		}
	}
	return nil, nil
}

// noArgs are a script's parameters, which it has none for.
func noArgs(p *stage.Staged) []sqltype.Value { return make([]sqltype.Value, len(p.Query.Params)) }
