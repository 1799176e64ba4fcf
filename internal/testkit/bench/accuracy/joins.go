package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
	"github.com/dpsql/dpsql/internal/testkit/bench/tpc"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// joinedDraws is how many answers are drawn from each scan.
const joinedDraws = 200

func (b *bench) joined(ctx context.Context) (*joinReport, error) {
	r := &joinReport{}
	for _, q := range joinedQuestions {
		if b.only.MatchString(q.id) {
			r.rows = append(r.rows, q)
		}
	}
	if len(r.rows) == 0 {
		return r, nil
	}
	path, err := tpc.Bench{Name: "tpch", SF: 1}.DuckDB()
	if err != nil {
		return nil, err
	}
	if err := b.joinedRaw(ctx, path, r.rows); err != nil {
		return nil, err
	}
	for _, q := range r.rows {
		if err := b.joinedAsked(ctx, path, q); err != nil {
			return nil, fmt.Errorf("%s: %w", q.id, err)
		}
		b.say("%s: %s %s, R2T %s", q.id, percent(q.median), q.refused, percent(math.Min(q.raced[0][0], q.raced[1][0])))
	}
	return r, nil
}

// joinedRaw reads exact answers and what each person has of them, past the proxy: before the file is opened for it.
func (b *bench) joinedRaw(ctx context.Context, path string, list []*joined) (err error) {
	db, err := sql.Open("duckdb", path+"?access_mode=READ_ONLY")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, q := range list {
		if err := q.raw(ctx, db, b.random); err != nil {
			return fmt.Errorf("%s: %w", q.id, err)
		}
		b.say("%s: exactly %.0f", q.id, q.answer)
	}
	return nil
}

func (q *joined) raw(ctx context.Context, db *sql.DB, random *baseline.Random) error {
	for i := range q.raced {
		q.raced[i] = [2]float64{math.NaN(), math.NaN()}
	}
	q.median, q.p95, q.p995, q.best.Median = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	var race func(base float64) *baseline.Race
	switch {
	case q.values != "":
		var values []float64
		var v float64
		if err := each(ctx, db, q.values, []any{&v}, func() error { values = append(values, v); return nil }); err != nil {
			return err
		}
		q.answer = baseline.Clipped(values, math.Inf(1))
		q.best = baseline.BestFixed(values, q.epsilon)
		race = func(base float64) *baseline.Race {
			return baseline.NewRace(values, q.epsilon, q.gs, baseline.Beta, base)
		}
	case q.pairs != "":
		var p flow.Pairs
		var left, right int32
		var w int64
		if err := each(ctx, db, q.pairs, []any{&left, &right, &w}, func() error { return p.Add(left, right, w) }); err != nil {
			return err
		}
		graphs, err := p.Graphs()
		if err != nil || len(graphs) != 1 {
			return fmt.Errorf("%d graphs: %w", len(graphs), err)
		}
		g := graphs[0]
		q.answer = float64(g.Total()) / q.steps * q.unitOf()
		race = func(base float64) *baseline.Race {
			return baseline.NewPairRace(g, q.steps, q.epsilon, q.gs, baseline.Beta, base)
		}
	case q.weights != "":
		return each(ctx, db, q.weights, []any{&q.answer}, func() error { return nil })
	default:
		var often float64
		err := each(ctx, db, q.exact, []any{&q.answer, &often}, func() error { return nil })
		q.published = "FLEX, of one row: " + percent(baseline.FlexSelfJoin(often, q.epsilon, q.delta)/q.answer)
		return err
	}
	for i, base := range bases {
		errors := race(base).Errors(q.answer/q.unitOf(), 2000, random)
		q.raced[i] = [2]float64{baseline.Quantile(errors, 0.5), baseline.Quantile(errors, 0.95)}
	}
	return nil
}

func each(ctx context.Context, db *sql.DB, text string, into []any, do func() error) (err error) {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := errors.Join(rows.Scan(into...), do()); err != nil {
			return err
		}
	}
	return rows.Err()
}

// joinedWorld is the file under a question's policy, of which one statement may spend all.
func (b *bench) joinedWorld(ctx context.Context, path string, q *joined) (*world, error) {
	budget := "epsilon: 1000, delta: 0, accountant: pure"
	query := fmt.Sprintf("epsilon: %g", q.epsilon)
	if q.delta > 0 { // a half of the budget's delta is for approximate ones
		budget = fmt.Sprintf("epsilon: 1000, delta: %g, accountant: pure", 2*q.delta)
		query += fmt.Sprintf(", delta: %g", q.delta)
	}
	query += q.query
	text := fmt.Sprintf("dataset: bench\nbackend: {duckdb: %q}\n%sbudget: {%s}\nquery: {%s}\nanalysts:\n  bench: {password: %q, may: [%s], max_query_price: 100}\nlimits: {statement_time: 10m}\n",
		path, q.policy, budget, query, b.verifier, q.tables)
	p, err := policy.Parse(q.id+".yaml", []byte(text))
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	over, err := duckdb.Open(ctx, path, duckdb.Options{})
	if err != nil {
		return nil, err
	}
	session, stop, err := b.session(ctx, p, over)
	if err != nil {
		return nil, errors.Join(err, over.Close())
	}
	return &world{policy: p, backend: over, session: session, stop: stop}, nil
}

// joinedAsked explains the question and draws answers. A refusal is a row too.
func (b *bench) joinedAsked(ctx context.Context, path string, q *joined) (err error) {
	w, err := b.joinedWorld(ctx, path, q)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	for name, value := range q.settings {
		if err := w.session.Set(name, []string{value}); err != nil {
			return q.refusal(err)
		}
	}
	if q.explained, err = w.run(ctx, "EXPLAIN VERBOSE "+q.sql); err != nil {
		return q.refusal(err)
	}
	s, err := w.scan(ctx, q.sql)
	if err != nil {
		return err
	}
	q.took = s.took
	var r result
	if err := s.redraw(ctx, joinedDraws, map[string]float64{"": q.answer}, &r); err != nil {
		return err
	}
	q.median, q.p95, q.p995, q.errors, q.clips = r.median, r.p95, r.p995, r.errors, r.clips
	return nil
}

// refusal keeps an error that is meant for the analyst.
func (q *joined) refusal(err error) error {
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) && e.ID != sqlerr.Internal.ID {
		q.refused = e.Message
		return nil
	}
	return err
}

// run asks one statement and gives the first column of its answer as text.
func (w *world) run(ctx context.Context, text string) ([]string, error) {
	list, err := pgsyntax.Parse(text)
	if err != nil {
		return nil, err
	}
	st, err := engine.Prepare(ctx, w.session, list[0], nil)
	if err != nil {
		return nil, err
	}
	a, err := st.Run(ctx, nil)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range a.Rows {
		out = append(out, strings.TrimRight(fmt.Sprint(r[0]), " "))
	}
	return out, nil
}
