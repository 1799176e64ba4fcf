package stage

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/sensitivity"
)

// boundStage analyses a stage under the session's bounding. A number of groups that drops none of the public ones says nothing, so auto then does what it does without one. auto scales whole vectors where that costs less than a cap or a bound for each group (normFor); it is no error that vectors or their noise would be too large for that. The plan is the one that was priced to see that, nil where there was none or the stage has another price.
func boundStage(ctx context.Context, s *session.Session, epsilon float64, analyze func(sensitivity.Options) (*sensitivity.Analysis, error)) (*Stage, error) {
	opts, usual := s.Options(), s.UsualRequest()
	a, ways, err := boundJoins(ctx, s, usual, opts, analyze)
	st := &Stage{An: a, Ways: ways}
	if err != nil || s.Now.Bounding != "auto" {
		return st, err
	}
	if !opts.ChooseGroups && a.Joined == nil && a.Pairs == nil && a.Groups.Public && a.Limit.PerUnit > 1 && !a.Limit.Capped {
		opts.ChooseGroups, opts.MaxGroups = true, 0
		if st.An, err = analyzeSharing(usual, opts, analyze); err != nil {
			return nil, err
		}
		a = st.An
	}
	if opts.Norm = normFor(a, usual); opts.Norm == sensitivity.NoNorm {
		return st, nil
	}
	scaled, err := analyzeSharing(usual, opts, analyze)
	var priced *price.Quote
	if err == nil && scaled.Limit.Norm != sensitivity.NoNorm {
		if priced, err = price.New(scaled, usual); err == nil {
			if st.An = scaled; epsilon == usual.Epsilon {
				st.Priced = priced
			}
		}
	}
	if err != nil && sqlerr.ID(err) != sqlerr.NoiseTooLarge.ID {
		return nil, err
	}
	return st, nil
}

// normFor is the norm that auto scales vectors to, under Gaussian noise where a cap would drop some of a person's groups. Under Laplace noise it is where the cap would be chosen, or each measure's bound would be, for several groups: the
// L1 norm is then chosen in their place. Of somebody who is in no more groups than a declared cap it is at most the bound times the cap, so a declared cap is kept only beside declared bounds, and where it is of few groups.
func normFor(a *sensitivity.Analysis, usual price.Request) sensitivity.Norm {
	switch {
	case !a.Groups.Public || len(a.Measures) == 0:
	case usual.CanHaveL2Scale():
		if a.Limit.Capped {
			return sensitivity.L2
		}
	case a.Limit.Cap != nil || a.Limit.PerUnit > sensitivity.FewGroups || a.Limit.PerUnit > 1 && !slices.ContainsFunc(a.Measures, func(m sensitivity.Measure) bool { return m.Bound == nil }):
		return sensitivity.L1
	}
	return sensitivity.NoNorm
}

// analyzeSharing analyses once more where that a choice is dear lets a filtered measure share another's.
func analyzeSharing(usual price.Request, opts sensitivity.Options, analyze func(sensitivity.Options) (*sensitivity.Analysis, error)) (*sensitivity.Analysis, error) {
	a, err := analyze(opts)
	if err != nil || a.Kept == 0 {
		return a, err
	}
	if opts.LeastKept = price.LeastKept(a, usual); a.Kept < opts.LeastKept {
		return a, nil
	}
	return analyze(opts)
}
