package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/elastic"
)

// The words of dpsql.bounding for rows that are joined off the unit; under any other one of them is taken, by expected error.
const (
	byElastic  = "elastic"  // how often values occur is measured
	byTruncate = "truncate" // it is declared, and enforced
	byWeights  = "weighted" // it does not matter: joined rows are not counted, but weighed

	byFlow = "flow" // of rows of two units, which nothing else answers: all other words do it too
)

// joined analyses a stage whose rows may be joined off the unit under the session's bounding: by measured frequencies, by declared ones, or by whichever is expected to err less at the usual price. What decides is public: the policy, the statement, the settings, and a policy's population
// and domains, as if all rows of all people were spread evenly over the values of a key. Where no such guess can be made declared frequencies are taken, if the policy has them: their error is known.
func (s *Session) joined(ctx context.Context, usual measure.Ask, opts sensitivity.Options, analyze func(sensitivity.Options) (*sensitivity.Analysis, error)) (*sensitivity.Analysis, error) {
	opts.Truncate, opts.Weighted = s.now.bounding == byTruncate, s.now.bounding == byWeights
	if opts.Truncate || opts.Weighted {
		return analyzeSharing(usual, opts, analyze)
	}
	measured, err := analyzeSharing(usual, opts, analyze)
	switch {
	case err != nil && sqlerr.ID(err) != sqlerr.JoinOffUnit.ID, s.now.bounding == byElastic, err == nil && !measured.Smoothed():
		return measured, err
	}
	opts.Truncate = true
	cut, why := analyzeSharing(usual, opts, analyze)
	switch {
	case why != nil && err == nil:
		measured.Joined.Why = "measured frequencies (elastic); not declared ones (truncate): " + message(why)
		return measured, nil
	case why != nil:
		return nil, err
	case err != nil: // as without a delta
		return cut, nil
	}
	return s.lessOf(ctx, usual, measured, cut)
}

// label is an output column's name: a count that is none, but of weights, says so where the statement gives it no name of its own.
func (p *Prepared) label(o plan.Output) string {
	if o.Count && o.Name == string(plan.Count) && p.an != nil && p.an.Joined != nil && p.an.Joined.Weighted != nil {
		return "weighted_" + o.Name
	}
	return o.Name
}

// message is a user error's.
func message(err error) string {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return "they cannot be used"
}

// lessOf is the one of two analyses that is expected to err less, with the reason.
func (s *Session) lessOf(ctx context.Context, usual measure.Ask, measured, cut *sensitivity.Analysis) (*sensitivity.Analysis, error) {
	p, err := measure.New(cut, usual)
	if err != nil { // its noise is too large: what is measured may have less, or is refused when it is asked
		return measured, nil //nolint:nilerr // as it says
	}
	declared, err := p.Run().Variance(0)
	if err != nil {
		return nil, err
	}
	q, err := measure.New(measured, usual)
	if err != nil {
		return cut, nil //nolint:nilerr // there is no other
	}
	ways := fmt.Sprintf("by the expected error, at price %s: declared frequencies (truncate) %s", number(usual.Epsilon), number(1.96*math.Sqrt(declared)))
	people := s.world.policy.Population.Of(measured.Unit)
	at, ok, err := expectedEdge(ctx, measured, q, people)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, s.uncharged(ctx, err)
	case err != nil:
		return nil, err
	}
	if !ok {
		cut.Joined.Why = ways + "; measured ones (elastic) not known beforehand, without a population and the number of values of each key in the policy"
		return cut, nil
	}
	run, err := q.Resolve(measured, measure.Chosen{at})
	if err != nil {
		return nil, err
	}
	guess, err := run.Variance(0)
	if err != nil {
		return nil, err
	}
	ways += fmt.Sprintf("; measured ones (elastic) about %s, were the rows of %d people spread evenly over the values", number(1.96*math.Sqrt(guess)), people)
	cut.Joined.Why, measured.Joined.Why = ways, ways
	if guess < declared {
		return measured, nil
	}
	return cut, nil
}

// expectedEdge is where the scale of joined rows is expected among its edges; false: nothing public tells.
func expectedEdge(ctx context.Context, a *sensitivity.Analysis, p *measure.Plan, population uint64) (at int, ok bool, err error) {
	often, ok := a.Spread(population)
	if !ok {
		return 0, false, nil
	}
	g, err := p.Grid(a.Choices[0])
	if err != nil {
		return 0, false, err
	}
	rows, err := a.Joined.Formula.Smooth(often, g.Beta, ctx.Err)
	if err != nil {
		return 0, false, err
	}
	if ev, ok := p.Others[0].Event.(dp.SmoothScale); ok {
		rows *= raised(ev, g)
	}
	for at = 0; at < len(g.Edges)-1 && float64(g.Edges[at]) < rows; at++ {
	}
	return at, true, nil
}

// raised is the factor by which the margin raises a scale.
func raised(ev dp.SmoothScale, g elastic.Grid) float64 {
	return math.Exp(g.Beta / (elastic.Moves - 1) * float64(ev.Margin))
}
