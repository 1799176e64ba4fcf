package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// partials reads what each person adds, once.
func (b *bench) partials(q *question) (*baseline.Partials, error) {
	rows, err := b.raw(q.data, q.partials)
	if err != nil {
		return nil, err
	}
	p := baseline.NewPartials()
	for _, r := range rows {
		var v float64
		if _, err := fmt.Sscan(r[2], &v); err != nil {
			return nil, err
		}
		p.Add(r[0], r[1], v)
	}
	return p, nil
}

// world is a data set under a policy, before an engine.
type world struct {
	policy  *policy.Policy
	backend backend.Backend
	session *session.Session
	stop    func() error
}

func (b *bench) policyOf(d *dataset, kind, where, budget, query string) (*policy.Policy, error) {
	text := policyText(d, kind, where, b.fixed, budget, query, b.verifier)
	p, err := policy.Parse(d.name+".yaml", []byte(text))
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return p, nil
}

// open gives the world in which a question is priced as its row says: epsilon alone by the pure accountant, or all of (epsilon,
// delta) for one statement.
func (b *bench) open(ctx context.Context, q *question) (*world, error) {
	budget := "epsilon: 1000, delta: 0, accountant: pure"
	if q.delta > 0 {
		budget = fmt.Sprintf("epsilon: %g, delta: %g", q.epsilon, q.delta)
	}
	d := datasetOf(q.data)
	p, err := b.policyOf(d, "postgres", b.pg.ReaderURL(d.name), budget, fmt.Sprintf("epsilon: %g%s", q.epsilon, q.query))
	if err != nil {
		return nil, err
	}
	over, err := postgres.Open(ctx, p.Backend.Postgres, postgres.Options{Settings: p.Backend.Settings})
	if err != nil {
		return nil, err
	}
	session, stop, err := b.session(ctx, p, over)
	if err != nil {
		return nil, errors.Join(err, over.Close())
	}
	return &world{policy: p, backend: over, session: session, stop: stop}, nil
}

// session is one before an engine of its own, on an empty ledger; stop ends the backend too.
func (b *bench) session(ctx context.Context, p *policy.Policy, over backend.Backend) (s *session.Session, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "dpsql-bench-")
	if err != nil {
		return nil, nil, err
	}
	e, err := server.Open(ctx, server.Options{Policy: p, Backend: over, LedgerPath: filepath.Join(dir, "bench.ledger"),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	if s, err = session.NewSession(e, "bench", ""); err != nil {
		return nil, nil, errors.Join(err, e.Close(), os.RemoveAll(dir))
	}
	return s, func() error { return errors.Join(e.Close(), over.Close(), os.RemoveAll(dir)) }, nil
}

func (w *world) close() error { return w.stop() }

func (w *world) dialect() dialect.Dialect { return w.backend.Dialect() }

// read runs a print without parameters of its own and keeps its rows.
func (w *world) read(ctx context.Context, st *sqlgen.Statement) (out [][]secret.Value, err error) {
	args := make([]backend.Arg, len(st.Args))
	for i, a := range st.Args {
		args[i] = backend.Arg{Type: a.Type, Value: a.Value}
	}
	want := make([]sqltype.Type, len(st.Columns))
	for i, c := range st.Columns {
		want[i] = c.Type
	}
	tx, err := w.backend.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Close()
	rows, err := tx.Query(ctx, st.SQL, args, want)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		out = append(out, append([]secret.Value(nil), rows.Row()...))
	}
	return out, rows.Err()
}

// scan is a statement whose rows were read once: answers can be drawn from it again and again. Where vectors are scaled there is a second scan for each norm
// that was chosen so far.
type scan struct {
	Query    *plan.Query
	Analysis *sensitivity.Analysis
	Plan     *price.Quote
	world    *world
	often    *printed // of rows joined off the unit: how often their keys occur, read before the totals
	first    printed
	scaled   map[string]printed
	flows    *release.Flows // of rows of two units, in place of first's rows
	took     time.Duration
}

// printed is a statement as the backend was asked it, and what it gave.
type printed struct {
	st   *sqlgen.Statement
	rows [][]secret.Value
}

func (p printed) replay() *enginetest.Replay { return enginetest.NewReplay(p.rows) }

func (w *world) scan(ctx context.Context, sql string) (*scan, error) {
	s, err := w.unread(ctx, sql)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if s.often != nil {
		if s.often.rows, err = w.read(ctx, s.often.st); err != nil {
			return nil, err
		}
	}
	if s.first.rows, err = w.read(ctx, s.first.st); err != nil {
		return nil, err
	}
	s.took = time.Since(begin)
	return s, s.paired()
}

// paired makes flows of rows of two units.
func (s *scan) paired() (err error) {
	if s.Analysis.Pairs != nil {
		s.flows, err = release.ReadFlows(s.Analysis, s.first.st.Columns, s.first.replay())
		s.first.rows = nil // millions
	}
	return err
}

// unread is a scan without its rows.
func (w *world) unread(ctx context.Context, sql string) (*scan, error) {
	list, err := pgsyntax.Parse(sql)
	if err != nil {
		return nil, err
	}
	prepared, err := engine.Prepare(ctx, w.session, list[0], nil)
	if err != nil {
		return nil, err
	}
	staged := prepared.Staged()
	if staged == nil || len(staged.Stages) != 1 {
		return nil, errors.New("the statement is not one release")
	}
	s := &scan{world: w, Query: prepared.Query, Analysis: staged.Stages[0].An, scaled: map[string]printed{}}
	if s.Plan, err = staged.Stages[0].Price(); err != nil {
		return nil, err
	}
	if s.first.st, err = sqlgen.Private(s.Analysis, w.dialect(), 1); err != nil {
		return nil, err
	}
	if s.Analysis.IsSmoothed() {
		s.often = &printed{}
		s.often.st, err = sqlgen.Frequencies(s.Analysis, w.dialect(), 1)
	}
	return s, err
}

// at is the scan from which the values come: at norms that were chosen, the second; of joined rows, after the scale was released.
func (s *scan) at(ctx context.Context, m *release.Releaser) (printed, error) {
	if s.often != nil {
		return s.first, m.Scale(s.often.st.Columns, s.often.replay())
	}
	if s.Analysis.Limit.Norm == 0 {
		return s.first, nil
	}
	norms, err := m.Bounds(s.first.st.Columns, s.first.replay())
	if err != nil {
		return printed{}, err
	}
	key := fmt.Sprint(norms)
	p, ok := s.scaled[key]
	if !ok {
		if p.st, err = sqlgen.Scaled(s.Analysis, s.world.dialect(), norms); err != nil {
			return p, err
		}
		if p.rows, err = s.world.read(ctx, p.st); err != nil {
			return p, err
		}
		s.scaled[key] = p
	}
	return p, nil
}

// answer holds values by group as text, and the bounds that were chosen for it.
type answer struct {
	values map[string]float64
	clips  []float64
}

// release chooses and adds noise anew: all of it is the product's.
func (s *scan) release(ctx context.Context, src *noise.Source) (*release.Release, error) {
	maker, err := release.New(s.Analysis, s.Plan, src, int(s.world.policy.Limits.ReleaseGroups))
	if err != nil {
		return nil, err
	}
	if s.flows != nil {
		return maker.Draw(s.flows)
	}
	from, err := s.at(ctx, maker)
	if err != nil {
		return nil, err
	}
	return maker.Read(from.st.Columns, from.replay())
}

// draw is a release and what is computed of it.
func (s *scan) draw(ctx context.Context, src *noise.Source) (answer, error) {
	r, err := s.release(ctx, src)
	if err != nil {
		return answer{}, err
	}
	rows, err := enginetest.Answer(ctx, s.Analysis, r)
	if err != nil {
		return answer{}, err
	}
	out := answer{values: map[string]float64{}, clips: chosen(s.Analysis, r)}
	for _, row := range rows {
		last := len(row) - 1
		key := ""
		if last > 0 {
			key = sqltype.FormatText(row[0], s.Query.Outputs[0].Type)
		}
		if out.values[key], err = number(row[last]); err != nil {
			return answer{}, err
		}
	}
	return out, nil
}

// chosen are the bounds that a release chose, in the aggregate's own unit: of each choice the largest partial, or norm, that counts, or, for
// the cap of groups, the number of groups.
func chosen(a *sensitivity.Analysis, r *release.Release) []float64 {
	out := make([]float64, len(a.Choices))
	for i, c := range a.Choices {
		_, edge := r.Plan.Edge(c, r.Chosen)
		out[i] = float64(edge)
		if c.Measure < 0 {
			continue
		}
		m := a.Measures[c.Measure]
		if m.Kind == sensitivity.SumValues {
			out[i] *= m.Grid.InexactFloat64()
		}
		if a.Limit.Norm > 0 {
			out[i] /= float64(m.Subdivision)
		}
	}
	return out
}

func number(v sqltype.Value) (float64, error) {
	switch v := v.(type) {
	case int64:
		return float64(v), nil
	case float64:
		return v, nil
	case decimal.Decimal:
		return v.InexactFloat64(), nil
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, nil
	}
	return 0, fmt.Errorf("an answer of type %T is no number", v)
}
