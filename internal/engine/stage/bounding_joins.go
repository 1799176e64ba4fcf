package stage

import (
	"cmp"
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/sensitivity"
)

// boundJoins analyses a stage whose rows may be joined off the unit under the session's bounding: by measured frequencies, by declared ones, or by whichever is expected to err less at the usual price. Where that is open the analysis is what policy and settings say, and ways what
// earlier releases may change it to when the statement is asked (Staged.Settled).
func boundJoins(ctx context.Context, s *session.Session, usual price.Request, opts sensitivity.Options, analyze func(sensitivity.Options) (*sensitivity.Analysis, error)) (*sensitivity.Analysis, *BoundingMethods, error) {
	opts.Truncate, opts.Weighted = s.Now.Bounding == session.ByTruncate, s.Now.Bounding == session.ByWeights
	if opts.Truncate || opts.Weighted {
		a, err := analyzeSharing(usual, opts, analyze)
		return a, nil, err
	}
	measured, err := analyzeSharing(usual, opts, analyze)
	switch {
	case err != nil && sqlerr.ID(err) != sqlerr.JoinOffUnit.ID, s.Now.Bounding == session.ByElastic, err == nil && !measured.IsSmoothed():
		return measured, nil, err
	}
	opts.Truncate = true
	cut, why := analyzeSharing(usual, opts, analyze)
	if err != nil && why != nil {
		return nil, nil, err
	}
	w := &BoundingMethods{elastic: pricedWay(measured, err, usual), truncate: pricedWay(cut, why, usual), price: usual.Epsilon, public: s.World.Public, population: func(a *sensitivity.Analysis) uint64 { return s.World.Policy.Population.Of(a.Unit) }}
	if w.elastic.an == nil && w.truncate.an == nil { // noise too large for both: as it is told when it is asked
		return cmp.Or(measured, cut), nil, nil
	}
	if err := w.declare(); err != nil {
		return nil, nil, err
	}
	d, err := w.decide(ctx, nil)
	if err != nil {
		return nil, nil, comparisonError(ctx, s, err)
	}
	taken, _ := w.bounded(d)
	return taken, w, nil
}
