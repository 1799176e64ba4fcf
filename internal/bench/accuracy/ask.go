package main

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/bench/baseline"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/secret"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// raw asks PostgreSQL past the proxy; values come as text.
func (b *bench) raw(db, sql string) (out [][]string, err error) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, b.pg.URL(db))
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, "SET work_mem = '"+workMem+"'"); err != nil {
		return nil, err
	}
	results, err := c.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, sql)
	}
	for _, row := range results[len(results)-1].Rows {
		text := make([]string, len(row))
		for i, v := range row {
			text[i] = string(v)
		}
		out = append(out, text)
	}
	return out, nil
}

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

// world is a data set under a policy, as the engine sees it.
type world struct {
	policy  *policy.Policy
	backend backend.Backend
	catalog plan.Catalog
	filter  *budget.Filter
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
	return b.openAs(ctx, datasetOf(q.data), budget, fmt.Sprintf("epsilon: %g", q.epsilon))
}

func (b *bench) openAs(ctx context.Context, d *dataset, budget, query string) (*world, error) {
	p, err := b.policyOf(d, "postgres", b.pg.ReaderURL(d.name), budget, query)
	if err != nil {
		return nil, err
	}
	w := &world{policy: p}
	if w.backend, err = postgres.Open(ctx, p.Backend.Postgres, postgres.Options{Settings: p.Backend.Settings}); err != nil {
		return nil, err
	}
	rels, err := engine.Describe(ctx, w.backend, p)
	if err != nil {
		return nil, err
	}
	catalogs, err := p.Bind(rels)
	if err != nil {
		return nil, err
	}
	if w.catalog, err = catalogs.For("bench"); err != nil {
		return nil, err
	}
	head, err := engine.Head(p, catalogs.Epoch())
	if err != nil {
		return nil, err
	}
	w.filter = head.Filter
	return w, nil
}

func (w *world) close() error { return w.backend.Close() }

func (w *world) dialect() funcs.Dialect { return funcs.Dialect(w.backend.Dialect()) }

// Distinct reads a public table's values.
func (w *world) Distinct(ctx context.Context, t *plan.Table, columns []int, limit int) ([][]sqltype.Value, error) {
	st, err := sqlgen.DistinctTuples(t, columns, limit, w.dialect())
	if err != nil {
		return nil, err
	}
	rows, err := w.read(ctx, st)
	if err != nil {
		return nil, err
	}
	out := make([][]sqltype.Value, len(rows))
	for i, r := range rows {
		for _, v := range r {
			out[i] = append(out[i], secret.Open(v))
		}
	}
	return out, nil
}

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

// scan is a statement whose rows were read once: answers can be drawn from it again and again.
type scan struct {
	world *world
	query *plan.Query
	an    *sensitivity.Analysis
	plan  *measure.Plan
	st    *sqlgen.Statement
	rows  [][]secret.Value
	took  time.Duration
}

func (w *world) scan(ctx context.Context, sql string) (*scan, error) {
	list, err := pgsyntax.Parse(sql)
	if err != nil {
		return nil, err
	}
	sel, ok := list[0].Node.(*pgsyntax.Select)
	if !ok {
		return nil, fmt.Errorf("no SELECT: %s", sql)
	}
	s := &scan{world: w}
	if s.query, err = plan.Bind(sel, w.catalog, plan.BindOptions{}); err != nil {
		return nil, err
	}
	p := w.policy
	if s.an, err = sensitivity.Analyze(ctx, s.query, sensitivity.Options{MaxGroups: p.Query.MaxGroups, ChooseGroups: p.Query.MaxGroups == 0, MaxPublicGroups: uint64(p.Query.MaxPublicGroups),
		Public: w, DeltaZero: p.Budget.Delta == 0}); err != nil {
		return nil, err
	}
	if s.plan, err = measure.New(s.an, measure.Ask{Filter: w.filter, Epsilon: p.Query.Epsilon, QueryDelta: p.Query.Delta,
		Mechanism: measure.Mechanism(p.Query.Mechanism), Population: int64(p.Population)}); err != nil {
		return nil, err
	}
	if s.st, err = sqlgen.Private(s.an, w.dialect(), 1); err != nil {
		return nil, err
	}
	begin := time.Now()
	s.rows, err = w.read(ctx, s.st)
	s.took = time.Since(begin)
	return s, err
}

// replay gives rows that were kept as a backend would.
type replay struct {
	rows [][]secret.Value
	at   int
}

func (r *replay) Next() bool          { r.at++; return r.at <= len(r.rows) }
func (r *replay) Row() []secret.Value { return r.rows[r.at-1] }
func (r *replay) Err() error          { return nil }
func (r *replay) Close()              {}

// answer holds values by group as text, and the bounds that were chosen for it.
type answer struct {
	values map[string]float64
	clips  []float64
}

// draw chooses and adds noise anew.
func (s *scan) draw(ctx context.Context, src *noise.Source) (answer, error) {
	maker, err := release.New(s.an, s.plan, src, int(s.world.policy.Limits.ReleaseGroups))
	if err != nil {
		return answer{}, err
	}
	r, err := maker.Read(s.st.Columns, &replay{rows: s.rows})
	if err != nil {
		return answer{}, err
	}
	rows, err := finish.Run(ctx, s.an, r, nil, 0)
	if err != nil {
		return answer{}, err
	}
	out := answer{values: map[string]float64{}, clips: chosen(s.an, r)}
	for _, row := range rows {
		last := len(row) - 1
		key := ""
		if last > 0 {
			key = sqltype.FormatText(row[0], s.query.Outputs[0].Type)
		}
		if out.values[key], err = number(row[last]); err != nil {
			return answer{}, err
		}
	}
	return out, nil
}

// chosen are the bounds that a release chose, in the aggregate's own unit: of each choice the largest partial that counts, or, for
// the cap of groups, the number of groups.
func chosen(a *sensitivity.Analysis, r *release.Release) []float64 {
	out := make([]float64, len(a.Choices))
	for i, c := range a.Choices {
		_, edge := r.Plan.Clip(c, r.Chosen)
		out[i] = float64(edge)
		if c.Measure >= 0 && a.Measures[c.Measure].Kind == sensitivity.SumValues {
			out[i] *= a.Measures[c.Measure].Grid.InexactFloat64()
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
