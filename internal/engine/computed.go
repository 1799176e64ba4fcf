package engine

import (
	"context"
	"fmt"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/sensitivity"
)

// related puts into a release that will be stored what others need to be computed from it, and names its family, or that of its scale; zero: none.
func (r *run) related(a *stageRun) ledger.Hash {
	if a.release.IsOnDisk() || len(a.release.Groups) > maxReusableGroups {
		return ledger.Hash{}
	}
	k := r.reuseCandidate(a.stage, a.args)
	if k == nil {
		return r.scaleOf(a.stage, a.args)
	}
	a.release.Shape = k.Shape()
	return r.family(k.Family())
}

// computed is a release that is computed from a stored one of another question: of those that were made at a price that the question asks for, that with the least noise; nil if there is none. exact is a
// release of the question itself, made at less, that has to err more. Where an error was asked for there is none: solveForTargetError has looked.
func (p *run) computed(ctx context.Context, a *stageRun, exact *release.Release) (*release.Release, int64, error) {
	if a.targetNote != "" {
		return nil, 0, nil
	}
	list, err := p.relatives(ctx, a.stage, a.args, func(price float64) bool { return !a.request.IsWorthTopUp(price) })
	if err != nil {
		return nil, 0, err
	}
	for _, one := range list {
		if one.paired {
			if exact != nil {
				continue
			}
			return one.release, one.of, nil
		}
		enough, err := errsLess(a.an, one.release, exact)
		if err != nil {
			return nil, 0, err
		}
		if enough {
			return one.release, one.of, nil
		}
	}
	return nil, 0, nil
}

// inForm gives a stage whose release was computed from another one, and those that share it, the analysis that it is of.
func (r *run) inForm(of int) {
	from := r.stageRuns[of].release
	if from == nil || from.Of == nil {
		return
	}
	for _, a := range r.stageRuns {
		if a.as != of {
			continue
		}
		if made, ok := r.reuseCandidate(a.stage, a.args).From(from.Of.Shape); ok {
			st := *a.stage
			st.an, a.stage = made.Analysis, &st
		}
	}
}

// errsLess: no measure errs more than in a release of the question itself.
func errsLess(a *sensitivity.Analysis, r, exact *release.Release) (bool, error) {
	for i := range a.Measures {
		if exact == nil {
			break
		}
		v, err := r.Variance(a, i)
		if err != nil {
			return false, err
		}
		limit, err := exact.Variance(a, i)
		if err != nil || v > limit*(1+1e-9) {
			return false, err
		}
	}
	return true, nil
}

// computedNote says of a release that it is computed from another one, and how to be asked anew.
func computedNote(r *release.Release) string {
	if r.Of == nil {
		return ""
	}
	words := "computed from a release of another question"
	if n := r.MostCells(); n > 1 {
		words += fmt.Sprintf(", as sums of up to %d of its groups", n)
	}
	return words + "; SET dpsql.fresh = on asks anew"
}
