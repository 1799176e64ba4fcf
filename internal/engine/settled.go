package engine

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/release"
)

// settled are the stages with the bounds that they have now. A stage that reads other releases is bounded by policy and settings alone, since what it reads may not be there yet.
//
// Proof: claim: which bound a stage has follows from the statement, the policy, the settings and earlier releases that this analyst may be given. tells reads those alone, and of them scales, which are released; the rest is the analyses' own. So it is post-processing, chosen adaptively as the filter allows (budget.NewFilter),
// before anything is reserved; each bound is private by itself, at its own price.
func (p *stagedStatement) settled(ctx context.Context, args []sqltype.Value) ([]*stage, error) {
	out, known := slices.Clone(p.stages), make([]decided, len(p.stages))
	for i, st := range out {
		if st.ways == nil {
			continue
		}
		if known[i] = known[st.as]; st.as == i {
			by, err := p.lookUpEarlier(ctx, st, args)
			if err != nil {
				return nil, err
			}
			if known[i], err = st.ways.decide(ctx, by); err != nil {
				return nil, comparisonError(ctx, p.session, err)
			}
		}
		own := *st
		own.an, own.rival = st.ways.bounded(known[i])
		out[i] = &own
	}
	return out, nil
}

// minEarlierShare is the part of the usual price below which an earlier release is not looked at: the less it was made at, the more of its bound is smoothing, which hides how often values occur.
const minEarlierShare = 0.1

// lookUpEarlier is what the dearest earlier release of the same joins says, whatever it is of else; nil: there is none.
func (p *stagedStatement) lookUpEarlier(ctx context.Context, st *stage, args []sqltype.Value) (*earlier, error) {
	if st.ways.elastic.an == nil || len(st.inputs) > 0 {
		return nil, nil
	}
	text, ok := st.ways.elastic.an.ScaleText(args)
	if !ok {
		return nil, nil
	}
	own, err := p.ownRelease(ctx, &stage{an: st.ways.elastic.an}, args) // which brings what others stored
	if err == nil && own != nil {
		err = own.Close()
	}
	if err != nil {
		return nil, err
	}
	list, err := p.session.engine.ledger.Related(ctx, []ledger.Hash{p.family(scaleFamily + text)}, p.session.analyst.Name, 1)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, p.session.uncharged(ctx, err)
	case err != nil:
		return nil, p.session.ledgerFailed(err)
	case len(list) == 0 || list[0].Price < minEarlierShare*st.ways.price:
		return nil, nil
	}
	if err := p.reading(ctx, len(list[0].Payload)); err != nil {
		return nil, err
	}
	scale, err := release.DecodeScale(list[0].Payload)
	if err != nil {
		return nil, p.session.ledgerFailed(err)
	}
	return &earlier{scale, list[0].Price}, nil
}

// scaleFamily begins the family of releases whose scale is of the same joins.
const scaleFamily = "scale of joined rows\n"

// scaleOf names it for a release; zero: it has no scale.
func (p *stagedStatement) scaleOf(st *stage, args []sqltype.Value) ledger.Hash {
	if text, ok := st.an.ScaleText(args); ok && len(st.inputs) == 0 {
		return p.family(scaleFamily + text)
	}
	return ledger.Hash{}
}
