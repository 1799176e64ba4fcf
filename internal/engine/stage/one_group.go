package stage

import (
	"context"
	"math"

	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/sensitivity"
)

// assumedRows is of how many rows errors of averages are compared: of so many that they are proportional to the noise.
const assumedRows = 1e9

// OneGroupGain is how many times less noise a stage of unknown groups would have in one group that a condition names: there is no part of the price for the selection of groups, and a person counts in one. By the bounds that it has; nil: by the largest number of a person's groups that it may choose. 1 where nothing is gained, or not known. atMost: what bounds cut is left out, and in one group too they may cut, so that intervals gain less.
//
// Proof: claim: it follows from the statement, the policy and public tables, and from bounds that were released. Of rows it reads none.
func (p *Staged) OneGroupGain(ctx context.Context, i int, mp *price.Quote, chosen price.Chosen) (times float64, atMost bool) {
	a := p.Stages[i].An
	if a.Groups.Public || a.Joined != nil || a.Pairs != nil || a.HasTrees() {
		return 1, false
	}
	one, err := p.Program.InOneGroup(ctx, i, p.Session.Options())
	if err != nil || len(one.Formulas) != len(a.Formulas) {
		return 1, false
	}
	ask := p.Stages[i].Request
	ask.Epsilon = mp.Price
	alone, err := price.New(one, ask)
	if err != nil {
		return 1, false
	}
	if chosen == nil {
		if _, chosen, err = mp.Reference(a); err != nil {
			return 1, false
		}
		if c := a.Limit.Cap; c != nil {
			atMost = true
			chosen[c.Index] = int(mp.CandidateCount(c)) - 1 //nolint:gosec // candidates are few
		}
	}
	return gain(a, one, mp, alone, chosen), atMost || one.CanAnyBeClipped()
}

// gain compares the noise of both at the same bounds on rows and values: the least quotient of an aggregate's.
func gain(a, one *sensitivity.Analysis, mp, alone *price.Quote, chosen price.Chosen) float64 {
	at := make(price.Chosen, len(one.Choices))
	for i, c := range one.Choices {
		for k, of := range a.Choices {
			if of.IsCap() || of.Measure != c.Measure || chosen[k] < 0 {
				continue
			}
			for most := int(alone.CandidateCount(c)) - 1; at[i] < most && c.Edges[at[i]] < of.Edges[chosen[k]]; { //nolint:gosec // candidates are few
				at[i]++
			}
		}
	}
	run, err := mp.Resolve(a, chosen)
	if err != nil {
		return 1
	}
	other, err := alone.Resolve(one, at)
	if err != nil {
		return 1
	}
	run.Lost, other.Lost = nil, nil // what bounds cut is another matter
	with, err := finish.NewErrors(a, run)
	if err != nil {
		return 1
	}
	without, err := finish.NewErrors(one, other)
	if err != nil {
		return 1
	}
	out := math.Inf(1)
	for f := range a.Formulas {
		if x := with.Expected(f, assumedRows) / without.Expected(f, assumedRows); x > 0 {
			out = min(out, x)
		}
	}
	if math.IsInf(out, 1) {
		return 1
	}
	return out
}
