package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// run is one execution of a private statement.
type run struct {
	*stagedStatement
	args      []sqltype.Value
	stageRuns []*stageRun // one a stage
	public    map[plan.Rel]*eval.Relation
	waits     int      // how often it waited for others who asked the same
	nulls     []string // of what values are NULL that PostgreSQL would have, or would raise for
}

// stageRun is a stage that is run.
type stageRun struct {
	*stage
	targetNote   string              // of dpsql.target_error: what it comes to
	args         []sqltype.Value     // the statement's, then its inputs'
	given        [][][]sqltype.Value // its inputs' rows
	known        bool                // its inputs are, and with them its key
	key          ledger.Hash         // of an unknown one: without its inputs
	plan         *price.Quote        // the whole
	release      *release.Release    // what there is, or was made
	staleRelease *release.Release    // what it would have topped up, were it not asked anew
	stalePrice   float64             // the price of what it would have topped up, were that not of data that may have changed; 0: nothing
	stored       int64               // its reservation, where it was stored
	free         bool                // it answers as it was stored

	charge   *price.Quote // what is charged: the whole, or a top-up
	releaser *release.Releaser
	openCharge
}

// seed varies which groups of a unit a cap keeps.
func (a *stageRun) seed() int64 { return int64(binary.BigEndian.Uint64(a.key[:8])) }

// newRun prices the stages, and knows the keys of those that read no other.
func newRun(ctx context.Context, p *stagedStatement, args []sqltype.Value) (*run, error) {
	r := &run{stagedStatement: p, args: args, public: map[plan.Rel]*eval.Relation{}}
	stages, err := p.settled(ctx, args)
	if err != nil {
		return nil, err
	}
	stages, words, err := p.solveForTargetError(ctx, stages, args)
	if err != nil {
		return nil, err
	}
	for i, st := range stages {
		mp, err := st.price()
		if err != nil {
			return nil, err
		}
		r.stageRuns = append(r.stageRuns, &stageRun{stage: st, targetNote: words[i], args: args, known: len(st.inputs) == 0 || !st.isCharged(), key: p.key(st, args, nil), plan: mp})
	}
	return r, nil
}

// auditEvent is what the owner will hear, of the statement before it is run.
func (r *run) auditEvent() *AuditEvent {
	h := &AuditEvent{Analyst: r.session.analyst.Name, Statement: r.stageRuns[0].key, Order: r.filter.Order, Outcome: Answered}
	for i, a := range r.stageRuns {
		if i > 0 {
			h.Plan += "\n"
		}
		h.Plan += reuse.Canonical(a.an)
	}
	return h
}

// open are the stages that have to be asked.
func (r *run) open() []*stageRun {
	var out []*stageRun
	for i, a := range r.stageRuns {
		if a.as == i && !a.free {
			out = append(out, a)
		}
	}
	return out
}

// releases are the run's, each once.
func (r *run) releases() []*stageRun {
	var out []*stageRun
	for i, a := range r.stageRuns {
		if a.as == i && a.isCharged() {
			out = append(out, a)
		}
	}
	return out
}

// closeReleases gives the disk of all releases free.
func (r *run) closeReleases() {
	for _, a := range r.stageRuns {
		if err := a.release.Close(); err != nil {
			r.session.engine.log.Error("a spool was not closed", logged(err)...)
		}
	}
}

// hasReleaseOnDisk says whether some release is on disk.
func (r *run) hasReleaseOnDisk() bool {
	return slices.ContainsFunc(r.stageRuns, func(a *stageRun) bool { return a.release != nil && a.release.IsOnDisk() })
}

// mostNulls are the sorts of NULL that one answer warns of.
const mostNulls = 16

// isNull notes once that a value is NULL.
func (r *run) isNull(words string) {
	if len(r.nulls) < mostNulls && !slices.Contains(r.nulls, words) {
		r.nulls = append(r.nulls, words)
	}
}

// raised notes an error of released numbers in whose place NULL is.
func (r *run) raised(err error) {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		r.isNull("NULL stands in place of an error that noise may have caused: " + e.Message)
	}
}

// noValue notes an average or a statistic that a group's noisy number of rows does not allow.
func (r *run) noValue(fn plan.AggFunc) {
	words := "rows after noise, or values that do not differ"
	noValues := slices.ContainsFunc(r.stages, func(st *stage) bool { return len(st.an.NoValues) > 0 })
	switch fn {
	case plan.Avg:
		words = "rows after noise, as no interval could hold it. A range of the column in the policy gives it one"
	case plan.Min, plan.Max:
		if words = "people after noise to show a value of any, as no range is declared"; !noValues {
			words += ". A larger dpsql.price needs fewer"
		}
	}
	r.isNull(fmt.Sprintf("%s is NULL where a group has too few %s", fn, words))
}

// noInterval notes a computed value of which nothing can be said.
func (r *run) noInterval(name string, m displayColumn) {
	why := "a part of it is NULL, or may be outside of what a function takes. A larger dpsql.price helps, or a condition that leaves small groups out"
	if m.divides {
		why = "noise does not tell a divisor from 0. A larger dpsql.price helps, or a condition that leaves small groups out"
	}
	switch {
	case m.totals && slices.ContainsFunc(r.stages, func(st *stage) bool { return finish.HidesGroups(st.an) }):
		why = r.totalsHide()
	case m.isExact:
		why = "one of its aggregates has no dp_low or dp_high. For min(x) and max(x), greatest(lo, least(x, hi)) in place of x, with constants lo and hi and the condition x IS NOT NULL, gives both"
	}
	r.isNull(name + " is NULL where no interval could hold it, as where " + why)
}
