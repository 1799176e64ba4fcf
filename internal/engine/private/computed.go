package private

import (
	"context"
	"fmt"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/sensitivity"
)

// related puts into a release that will be stored what others need to be computed from it, and names its family, or that of its scale; zero: none.
func (r *Run) related(a *StageRun) ledger.Hash {
	if a.Release.IsOnDisk() || len(a.Release.Groups) > stage.MaxReusableGroups {
		return ledger.Hash{}
	}
	k := r.ReuseCandidate(a.Stage, a.Args)
	if k == nil {
		return r.ScaleOf(a.Stage, a.Args)
	}
	a.Release.Shape = k.Shape()
	return r.Family(k.Family())
}

// computed is a release that is computed from a stored one of another question: of those that were made at a price that the question asks for, that with the least noise; nil if there is none. exact is a
// release of the question itself, made at less, that has to err more: the other one errs at most that part of it. Where an error was asked for there is none: SolveForTargetError has looked.
func (p *Run) computed(ctx context.Context, a *StageRun, exact *release.Release, part float64) (*release.Release, int64, error) {
	if a.TargetNote != "" {
		return nil, 0, nil
	}
	list, err := p.Relatives(ctx, a.Stage, a.Args, func(price float64) bool { return !a.Request.IsWorthTopUp(price) })
	if err != nil {
		return nil, 0, err
	}
	for _, one := range list {
		if one.Paired {
			if exact != nil {
				continue
			}
			return one.Release, one.Of, nil
		}
		enough, err := errsUpTo(ctx, a.An, one.Release, exact, part)
		if err != nil {
			return nil, 0, err
		}
		if enough {
			return one.Release, one.Of, nil
		}
	}
	return nil, 0, nil
}

// inForm gives a stage whose release was computed from another one, and those that share it, the analysis that it is of.
func (r *Run) inForm(of int) {
	from := r.StageRuns[of].Release
	if from == nil || from.Of == nil {
		return
	}
	for _, a := range r.StageRuns {
		if a.As != of {
			continue
		}
		if made, ok := r.ReuseCandidate(a.Stage, a.Args).From(from.Of.Shape); ok {
			st := *a.Stage
			st.An, a.Stage = made.Analysis, &st
		}
	}
}

// ErrsLess says whether no measure errs more than in a release of the question itself: noise, and what bounds may have taken away. exact may be nil.
func ErrsLess(ctx context.Context, a *sensitivity.Analysis, r, exact *release.Release) (bool, error) {
	return errsUpTo(ctx, a, r, exact, 1+1e-9)
}

// errsUpTo: no measure errs more than that part of what it errs in another release.
func errsUpTo(ctx context.Context, a *sensitivity.Analysis, r, exact *release.Release, part float64) (bool, error) {
	if exact == nil {
		return true, nil
	}
	widths, err := stage.MeasureWidths(ctx, a, r)
	if err != nil {
		return false, err
	}
	limits, err := stage.MeasureWidths(ctx, a, exact)
	if err != nil {
		return false, err
	}
	for i, w := range widths {
		if !(w <= limits[i]*part) {
			return false, nil
		}
	}
	return true, nil
}

// ComputedNote says of a release that it is computed from another one, or of a cube, and how to be asked anew; "": neither.
func ComputedNote(r *release.Release) string {
	words := "computed from a release of another question"
	switch n := r.MostCells(); {
	case r.Cube != "":
		words = "from cube " + r.Cube
	case r.Of == nil:
		return ""
	case n > 1:
		words += fmt.Sprintf(", as sums of up to %d of its groups", n)
	}
	return words + "; SET dpsql.fresh = on asks anew"
}
