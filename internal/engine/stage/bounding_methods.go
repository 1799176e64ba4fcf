package stage

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/elastic"
)

// BoundingMethods are the bounds that a stage of joined rows may have where the session's word leaves it open. Which one it has goes by their expected errors, at the usual price.
type BoundingMethods struct {
	truncate, elastic boundingMethod
	price             float64 // the usual one
	population        func(*sensitivity.Analysis) uint64
	public            plan.PublicReader
	declared          float64 // 95% error of truncate
}

// boundingMethod is one of them, priced; without an analysis the stage cannot have it, for that reason.
type boundingMethod struct {
	an   *sensitivity.Analysis
	plan *price.Quote
	no   string
}

func pricedWay(a *sensitivity.Analysis, err error, usual price.Request) boundingMethod {
	if err != nil {
		return boundingMethod{no: message(err)}
	}
	mp, err := price.New(a, usual)
	if err != nil { // too much noise
		return boundingMethod{no: message(err)}
	}
	return boundingMethod{a, mp, ""}
}

// errorOf is the expected 95% error of the first measure, whose noise goes by the bound as all others' does.
func (w *boundingMethod) errorOf(run *price.Run) (float64, error) {
	v, err := run.Variance(0)
	return InUnits(1.96*math.Sqrt(v), ValueStep(w.an.Measures[0])), err
}

// earlier is what an earlier release says of how many joined rows one unit changes.
type earlier struct {
	release.Scale
	price float64
}

// frequencies is how often values of the same formula's keys occur, were all keys alike.
//
// What was released is the smooth bound on its own grid, raised, with noise. Without the raise, and with as much more as hides its noise nineteen times of twenty, it tells that (elastic.Formula.FrequencyBounds): at another price, another beta, the formula is the same and so are these.
func (e *earlier) frequencies(ctx context.Context, f *elastic.Formula, edges []uint64) ([]uint64, error) {
	own, err := elastic.GridOf(e.Event, edges)
	if err != nil || e.Edge >= len(edges) {
		return nil, errors.Join(err, errors.New("engine: a stored scale is no edge"))
	}
	found := float64(edges[e.Edge]) * own.Factor(e.Event.Scale.Float()*math.Log(10)-float64(e.Event.Margin))
	each, err := f.FrequencyBounds(found, own.Beta, ctx.Err)
	often := make([]uint64, len(f.Frequencies))
	for i := range often {
		often[i] = each
	}
	return often, err
}

// ExpectedEdge is where the bound of the rows that one unit changes is expected, raised, among a plan's edges, were values so frequent. The less a plan's price, the more of the bound is smoothing.
func ExpectedEdge(ctx context.Context, a *sensitivity.Analysis, mp *price.Quote, often []uint64) (int, error) {
	g, err := mp.Grid(a.Choices[0])
	if err != nil {
		return 0, err
	}
	rows, err := a.Joined.Formula.Smooth(often, g.Beta, ctx.Err)
	return g.Edge(g.Step(rows) + int64(mp.Scale.Event.Margin)), err //nolint:gosec // at most dp.MaxScale
}

// expectedError is the error that elastic is expected to have, and by what; 0: nothing public tells.
func (w *BoundingMethods) expectedError(ctx context.Context, by *earlier) (width float64, from string, err error) {
	a, mp := w.elastic.an, w.elastic.plan
	var often []uint64
	if by != nil {
		from = fmt.Sprintf("by an earlier release over these joins, made at price %s", server.Number(by.price))
		if often, err = by.frequencies(ctx, a.Joined.Formula, sensitivity.CandidateScales()); err != nil {
			return 0, "", err
		}
	} else {
		people := w.population(a)
		spread, ok, err := a.Spread(ctx, people, w.public)
		if err != nil || !ok {
			return 0, "", err
		}
		often = spread
		from = fmt.Sprintf("were the rows of %d people spread evenly over the values", people)
	}
	at, err := ExpectedEdge(ctx, a, mp, often)
	if err != nil {
		return 0, "", err
	}
	run, err := mp.Resolve(a, price.Chosen{at})
	if err != nil {
		return 0, "", err
	}
	width, err = w.elastic.errorOf(run)
	return width, from, err
}

// declare works out what truncate errs by.
func (w *BoundingMethods) declare() (err error) {
	if w.truncate.an != nil {
		w.declared, err = w.truncate.errorOf(w.truncate.plan.Run())
	}
	return err
}

// decided is which of the ways is taken.
type decided struct {
	measured bool
	why      string // EXPLAIN's words: the ways with their errors
}

// decide compares the errors. by is what an earlier release tells; nil: there is none. Where nothing tells elastic's error truncate is taken, whose own is known.
func (w *BoundingMethods) decide(ctx context.Context, by *earlier) (decided, error) {
	cut, measured := "truncate (declared frequencies) "+server.Number(w.declared), "elastic (measured frequencies) "
	if w.truncate.an == nil {
		cut = "not truncate (declared frequencies): " + w.truncate.no
	}
	var width float64
	if w.elastic.an == nil {
		measured = "not elastic (measured frequencies): " + w.elastic.no
	} else {
		var from string
		var err error
		if width, from, err = w.expectedError(ctx, by); err != nil {
			return decided{}, err
		}
		if measured += fmt.Sprintf("about %s, %s", server.Number(width), from); width == 0 {
			measured = "elastic (measured frequencies) not known beforehand, without an earlier release over these joins, or a population and the number of values of each key in the policy"
		}
	}
	d, how := decided{}, "expected to err less"
	switch {
	case w.elastic.an == nil:
		how = "the only one"
	case w.truncate.an == nil:
		d.measured, how = true, "the only one"
	case width == 0:
		how = "whose error is known"
	default:
		d.measured = width < w.declared
	}
	of, also := w.analysis(d.measured), ""
	if len(of.Measures) > 1 {
		also = " of measure 1"
	}
	d.why = fmt.Sprintf("%s, %s. The 95%% errors%s at price %s are: %s, %s", w.settingName(d.measured), how, also, server.Number(w.price), cut, measured)
	if of.Joined.Counted != nil {
		d.why += ". SET dpsql.bounding = weighted answers another number"
	}
	return d, nil
}

// comparisonError is a failure to compare, which the statement's end is the only reason for.
func comparisonError(ctx context.Context, s *session.Session, err error) error {
	if ctx.Err() != nil {
		return s.Uncharged(ctx, err)
	}
	return err
}

// settingName is the setting that asks for one of them.
func (w *BoundingMethods) settingName(measured bool) string {
	if measured {
		return session.ByElastic
	}
	return session.ByTruncate
}

func (w *BoundingMethods) analysis(measured bool) *sensitivity.Analysis {
	if measured {
		return w.elastic.an
	}
	return w.truncate.an
}

// bounded are the analysis that is taken and the other one, nil if there is none, each with the reason.
func (w *BoundingMethods) bounded(d decided) (taken, other *sensitivity.Analysis) {
	if other = w.analysis(!d.measured); other != nil {
		other = withReason(other, fmt.Sprintf("%s, of which there is a release. Asked anew it is %s", w.settingName(!d.measured), d.why))
	}
	return withReason(w.analysis(d.measured), d.why), other
}

// withReason is an analysis with a reason, which changes nothing.
func withReason(a *sensitivity.Analysis, why string) *sensitivity.Analysis {
	out, joined := *a, *a.Joined
	joined.Why = why
	out.Joined = &joined
	return &out
}

// message is a user error's.
func message(err error) string {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return "it cannot be used"
}
