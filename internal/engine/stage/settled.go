package stage

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/release"
)

// Settled are the stages with the bounds that they have now. A stage that reads other releases is bounded by policy and settings alone, since what it reads may not be there yet.
//
// Proof: claim: which bound a stage has follows from the statement, the policy, the settings and earlier releases that this analyst may be given. lookUpEarlier reads those alone, and of them scales, which are released; the rest is the analyses' own. So it is post-processing, chosen adaptively as the filter allows (budget.NewFilter),
// before anything is reserved; each bound is private by itself, at its own price.
func (p *Staged) Settled(ctx context.Context, args []sqltype.Value) ([]*Stage, error) {
	out, known := slices.Clone(p.Stages), make([]decided, len(p.Stages))
	for i, st := range out {
		if st.Ways == nil {
			continue
		}
		if known[i] = known[st.As]; st.As == i {
			by, err := p.lookUpEarlier(ctx, st, args)
			if err != nil {
				return nil, err
			}
			if known[i], err = st.Ways.decide(ctx, by); err != nil {
				return nil, comparisonError(ctx, p.Session, err)
			}
		}
		own := *st
		own.An, own.rival = st.Ways.bounded(known[i])
		out[i] = &own
	}
	return out, nil
}

// minEarlierShare is the part of the usual price below which an earlier release is not looked at: the less it was made at, the more of its bound is smoothing, which hides how often values occur.
const minEarlierShare = 0.1

// lookUpEarlier is what the dearest earlier release of the same joins says, whatever it is of else; nil: there is none.
func (p *Staged) lookUpEarlier(ctx context.Context, st *Stage, args []sqltype.Value) (*earlier, error) {
	if st.Ways.elastic.an == nil || len(st.Inputs) > 0 {
		return nil, nil
	}
	text, ok := st.Ways.elastic.an.ScaleText(args)
	if !ok {
		return nil, nil
	}
	own, err := p.OwnRelease(ctx, &Stage{An: st.Ways.elastic.an}, args) // which brings what others stored
	if err == nil && own != nil {
		err = own.Close()
	}
	if err != nil {
		return nil, err
	}
	list, err := p.Session.Engine.Ledger.Related(ctx, []ledger.Hash{p.Family(scaleFamily + text)}, p.Session.Analyst.Name, 1)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, p.Session.Uncharged(ctx, err)
	case err != nil:
		return nil, p.Session.LedgerFailed(err)
	case len(list) == 0 || list[0].Price < minEarlierShare*st.Ways.price:
		return nil, nil
	}
	if err := p.Reading(ctx, len(list[0].Payload)); err != nil {
		return nil, err
	}
	scale, err := release.DecodeScale(list[0].Payload)
	if err != nil {
		return nil, p.Session.LedgerFailed(err)
	}
	return &earlier{scale, list[0].Price}, nil
}

// scaleFamily begins the family of releases whose scale is of the same joins.
const scaleFamily = "scale of joined rows\n"

// ScaleOf names it for a release; zero: it has no scale.
func (p *Staged) ScaleOf(st *Stage, args []sqltype.Value) ledger.Hash {
	if text, ok := st.An.ScaleText(args); ok && len(st.Inputs) == 0 {
		return p.Family(scaleFamily + text)
	}
	return ledger.Hash{}
}
