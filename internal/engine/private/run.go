package private

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// Run is one execution of a private statement.
type Run struct {
	*stage.Staged
	args       []sqltype.Value
	StageRuns  []*StageRun // one a stage
	PublicRows map[plan.Rel]*eval.Relation
	waits      int // how often it waited for others who asked the same
	settled    []*stage.Stage
	notes      []string                 // of dpsql.target_error, one a stage
	first      int64                    // the first of its reservations, which name the snapshot that it reads
	state      string                   // stored releases of this state of the data alone answer; "": of any
	setAside   int                      // stored releases that would answer, were those of the other stages of the same state of the data
	consistent map[int]*finish.Adjusted // by stage; nil: not looked at yet
	sums       map[plan.ColID]bool      // aggregates whose numbers are made to add up
	widest     map[int]float64          // the largest 95% errors of computed output columns, in the rows that are shown
	whyNull    map[plan.ColID]string    // why an aggregate is NULL in some group, in short
	hasRaised  bool                     // NULL stands in place of an error of released numbers
	Nulls      []string                 // of what values are NULL that PostgreSQL would have, or would raise for
}

// StageRun is a stage that is run.
type StageRun struct {
	*stage.Stage
	TargetNote   string              // of dpsql.target_error: what it comes to
	Args         []sqltype.Value     // the statement's, then its inputs'
	Given        [][][]sqltype.Value // its inputs' rows
	known        bool                // its inputs are, and with them its key
	key          ledger.Hash         // of an unknown one: without its inputs
	Plan         *price.Quote        // the whole
	Release      *release.Release    // what there is, or was made
	staleRelease *release.Release    // what it would have topped up, were it not asked anew
	keptStale    bool                // that is shown, as the new one errs more
	StalePrice   float64             // the price of what it would have topped up, were that not of data that may have changed; 0: nothing
	stored       int64               // its reservation, where it was stored
	best         int64               // the reservation of the dearest release of its key; 0: there is none
	Free         bool                // it answers as it was stored

	charge   *price.Quote // what is charged: the whole, or a top-up
	Releaser *release.Releaser
	session.OpenCharge
}

// seed varies which groups of a unit a cap keeps.
func (a *StageRun) seed() int64 { return int64(binary.BigEndian.Uint64(a.key[:8])) }

// NewRun prices the stages, and knows the keys of those that read no other.
func NewRun(ctx context.Context, p *stage.Staged, args []sqltype.Value) (*Run, error) {
	r := &Run{Staged: p, args: args, PublicRows: map[plan.Rel]*eval.Relation{}}
	stages, err := p.Settled(ctx, args)
	if err != nil {
		return nil, err
	}
	stages, words, err := p.SolveForTargetError(ctx, stages, args)
	if err != nil {
		return nil, err
	}
	r.settled, r.notes = stages, words
	return r, r.start()
}

// start begins all stages, with nothing looked up.
func (r *Run) start() error {
	r.StageRuns = nil
	for i, st := range r.settled {
		mp, err := st.Price()
		if err != nil {
			return err
		}
		r.StageRuns = append(r.StageRuns, &StageRun{Stage: st, TargetNote: r.notes[i], Args: r.args, known: len(st.Inputs) == 0 || !st.IsCharged(), key: r.Key(st, r.args, nil), Plan: mp})
	}
	return nil
}

// AuditEvent is what the owner will hear, of the statement before it is run.
func (r *Run) AuditEvent() *server.AuditEvent {
	h := &server.AuditEvent{Analyst: r.Session.Analyst.Name, Statement: r.StageRuns[0].key, Order: r.Filter.Order, Outcome: server.Answered}
	for i, a := range r.StageRuns {
		if i > 0 {
			h.Plan += "\n"
		}
		h.Plan += reuse.Canonical(a.An)
	}
	return h
}

// open are the stages that have to be asked.
func (r *Run) open() []*StageRun {
	var out []*StageRun
	for i, a := range r.StageRuns {
		if a.As == i && !a.Free {
			out = append(out, a)
		}
	}
	return out
}

// Releases are the run's, each once.
func (r *Run) Releases() []*StageRun {
	var out []*StageRun
	for i, a := range r.StageRuns {
		if a.As == i && a.IsCharged() {
			out = append(out, a)
		}
	}
	return out
}

// CloseReleases gives the disk of all releases free.
func (r *Run) CloseReleases() {
	for _, a := range r.StageRuns {
		if err := a.Release.Close(); err != nil {
			r.Session.Engine.Log.Error("a spool was not closed", server.Logged(err)...)
		}
	}
}

// hasReleaseOnDisk says whether some release is on disk.
func (r *Run) hasReleaseOnDisk() bool {
	return slices.ContainsFunc(r.StageRuns, func(a *StageRun) bool { return a.Release != nil && a.Release.IsOnDisk() })
}

// mostNulls are the sorts of NULL that one answer warns of.
const mostNulls = 16

// isNull notes once that a value is NULL.
func (r *Run) isNull(words string) {
	if len(r.Nulls) < mostNulls && !slices.Contains(r.Nulls, words) {
		r.Nulls = append(r.Nulls, words)
	}
}

// raised notes an error of released numbers in whose place NULL is.
func (r *Run) raised(err error) {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		r.hasRaised = true
		r.isNull("NULL stands in place of an error that noise may have caused: " + e.Message)
	}
}

// noValue notes an average or a statistic that a group's noisy number of rows does not allow.
func (r *Run) noValue(of plan.AggItem, ranged bool) {
	where, larger := ", as there are", r.larger()
	noValues := slices.ContainsFunc(r.Stages, func(st *stage.Stage) bool { return len(st.An.NoValues) > 0 })
	if r.isGrouped() {
		where = " where a group has"
	}
	if r.comesFirst(of.ID) {
		larger = nullsLast + ". " + larger
	}
	words := "rows, or values that differ too little, beside the noise. " + larger
	switch fn := of.Fn; {
	case fn == plan.Avg && of.Distinct:
		words = "different values after noise, so its interval would be the whole range and is NULL too. " + larger
		if !r.isGrouped() {
			words += ". SELECT avg(x) FROM (SELECT x FROM t GROUP BY 1 HAVING dp_low(count(*)) > 0) AS v averages the values that surely have rows"
		}
	case fn == plan.Avg && ranged:
		words = "rows after noise, so its interval would be the whole range and is NULL too. " + larger
	case fn == plan.Avg:
		words = "rows after noise, so no interval could hold it. " + larger + ". A range of the column in the policy helps if it is narrow"
	case fn == plan.Min, fn == plan.Max:
		if words = "people after noise to show a value of any"; !ranged {
			words += " without a declared range"
		}
		if r.comesFirst(of.ID) {
			words += ". " + nullsLast
		}
		if !noValues {
			words += ". A larger dpsql.price needs fewer"
		}
	case fn.Facts().IsPick:
		words = "rows after noise to be told from none. " + larger
	}
	short, _, _ := strings.Cut(words, ". ")
	r.because(of.ID, "too few "+short)
	r.isNull(fmt.Sprintf("%s is NULL%s too few %s", of.Name(), where, words))
}

// because notes why an aggregate is NULL.
func (r *Run) because(id plan.ColID, why string) {
	if r.whyNull == nil {
		r.whyNull = map[plan.ColID]string{}
	}
	r.whyNull[id] = why
}

// nullsLast is what shows other rows where NULL comes first.
const nullsLast = "ORDER BY puts NULL first here: with NULLS LAST the LIMIT shows other groups, free from the stored release"

// comesFirst says whether a LIMIT takes the groups first in which an aggregate is NULL.
func (r *Run) comesFirst(aggregate plan.ColID) bool {
	isLimited := false
	for rel := r.Program.Query.Root; ; {
		switch n := rel.(type) {
		case *plan.Limit:
			isLimited, rel = true, n.Input
		case *plan.Project:
			rel = n.Input
		case *plan.Sort:
			return isLimited && slices.ContainsFunc(n.Keys, func(k plan.SortKey) bool { return k.NullsFirst && isComputedFrom(n.Input, k.Col, aggregate) })
		default:
			return false
		}
	}
}

// isComputedFrom says whether a column of a relation is an aggregate, or an expression over it.
func isComputedFrom(rel plan.Rel, col, aggregate plan.ColID) bool {
	if col == aggregate {
		return true
	}
	if p, ok := rel.(*plan.Project); ok {
		if i := slices.IndexFunc(p.Items, func(it plan.Item) bool { return it.ID == col }); i >= 0 {
			found := false
			plan.VisitCols(p.Items[i].Expr, func(c *plan.Col) { found = found || isComputedFrom(p.Input, c.ID, aggregate) })
			return found
		}
	}
	return slices.ContainsFunc(plan.Inputs(rel), func(in plan.Rel) bool { return slices.Contains(in.Cols(), col) && isComputedFrom(in, col, aggregate) })
}

// seeWarnings is why a value is NULL, where a warning of the answer says it at length.
const seeWarnings = "see the warnings"

// noBounds notes the aggregates that are NULL as a bound of theirs could not be chosen (stage.EndLines warns of it).
func (r *Run) noBounds(ctx context.Context, a *sensitivity.Analysis, of *release.Release) error {
	e, err := finish.Of(ctx, a, of)
	if err != nil {
		return err
	}
	for i, g := range a.Agg.Aggs {
		if e.HasTooFewPeople(i) {
			r.because(g.ID, seeWarnings)
		}
	}
	return nil
}

// whyIsNull is why a value is NULL that is computed from aggregates; "" where no warning of the answer is about them. Without any it is not known what the value is computed from.
func (r *Run) whyIsNull(of ...plan.ColID) string {
	for _, id := range of {
		if why := r.whyNull[id]; why != "" {
			return why
		}
	}
	if r.hasRaised || len(of) == 0 && len(r.whyNull) > 0 {
		return seeWarnings
	}
	return ""
}

// isGrouped says whether any release of the run has groups.
func (r *Run) isGrouped() bool {
	return slices.ContainsFunc(r.Stages, func(st *stage.Stage) bool { return len(st.An.Agg.Keys) > 0 })
}

// larger is what helps where noise is too large beside a value.
func (r *Run) larger() string {
	if r.isGrouped() {
		return "A larger dpsql.price helps, or a condition that leaves small groups out"
	}
	return "A larger dpsql.price helps, or a condition that more people meet"
}

// noInterval notes a computed value of which nothing can be said, and gives the reason.
func (r *Run) noInterval(name string, m stage.DisplayColumn) string {
	why := "a part of it is NULL, or may be outside of what a function takes. " + r.larger()
	if m.Divides {
		why = "noise does not tell a divisor from 0. " + r.larger()
	}
	switch {
	case m.Totals && slices.ContainsFunc(r.Stages, func(st *stage.Stage) bool { return finish.HidesGroups(st.An) }):
		why = r.TotalsHide()
	case m.IsExact:
		why = "one of its aggregates has no dp_low or dp_high. For min(x) and max(x), greatest(lo, least(x, hi)) in place of x, with constants lo and hi and the condition x IS NOT NULL, gives both"
	}
	r.isNull(name + " is NULL where no interval could hold it, as where " + why)
	return why
}
