package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Uncovered is a backend as package neighbour wants it: printed statements in, rows out of their cover.
type Uncovered struct{ backend.Backend }

// Exec refuses: a backend runs printed statements only.
func (Uncovered) Exec(context.Context, string) error { return errors.ErrUnsupported }

// Query gives a printed statement's rows.
func (u Uncovered) Query(ctx context.Context, st *sqlgen.Statement) (out [][]sqltype.Value, err error) {
	e := &server.Engine{Backend: u.Backend}
	err = e.InSnapshot(ctx, &server.World{}, st, nil, func(rows secret.Rows) error {
		for rows.Next() {
			var row []sqltype.Value
			for _, v := range rows.Row() {
				row = append(row, secret.Open(v))
			}
			out = append(out, row)
		}
		return rows.Err()
	})
	var failed *backend.Error
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("%w: %w", err, failed.Unwrap())
	}
	return out, err
}

// Kept is a scan's rows, to be released more than once.
type Kept struct {
	Rows [][]secret.Value
	at   int
}

// Next implements secret.Rows.
func (k *Kept) Next() bool { k.at++; return k.at <= len(k.Rows) }

// Row implements secret.Rows.
func (k *Kept) Row() []secret.Value { return k.Rows[k.at-1] }

// Err implements secret.Rows.
func (k *Kept) Err() error { return nil }

// Close implements secret.Rows.
func (k *Kept) Close() {}

// Scan runs a statement's print once, before any noise.
func Scan(t testing.TB, p *Prepared) (*sqlgen.Statement, [][]secret.Value) {
	t.Helper()
	return scanStage(t, p.Statement, p.Analysis(), nil)
}

func scanStage(t testing.TB, p *session.Statement, an *sensitivity.Analysis, params []sqltype.Value) (*sqlgen.Statement, [][]secret.Value) {
	t.Helper()
	st, err := sqlgen.Private(an, p.Session.Engine.Dialect, 7)
	if err != nil {
		t.Fatal(err)
	}
	return st, SecretRows(t, p, st, params)
}

// SecretRows runs a printed statement.
func SecretRows(t testing.TB, p *session.Statement, st *sqlgen.Statement, params []sqltype.Value) [][]secret.Value {
	t.Helper()
	e := p.Session.Engine
	tx, err := e.Backend.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	args, want := server.BindArgs(st, params)
	rows, err := tx.Query(context.Background(), st.SQL, args, want)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out [][]secret.Value
	for rows.Next() {
		out = append(out, slices.Clone(rows.Row()))
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return out
}

// ReleaseOnce is one release of rows that are kept.
func ReleaseOnce(p *Prepared, mp *price.Quote, cols []sqlgen.Column, rows secret.Rows, src *noise.Source) (*release.Release, error) {
	m, err := release.New(p.Analysis(), mp, src, 1_000_000)
	if err != nil {
		return nil, err
	}
	return m.Read(cols, rows)
}

// Totals are a scan's integers by key text.
func Totals(t testing.TB, p *Prepared) map[string][]*big.Int {
	t.Helper()
	st, rows := Scan(t, p)
	out := map[string][]*big.Int{}
	for _, r := range rows {
		var key []string
		vals := make([]*big.Int, len(p.Analysis().Measures))
		for i, c := range st.Columns {
			v := secret.Open(r[i])
			switch c.Role {
			case sqlgen.RoleKey:
				if v == nil {
					v = "NULL"
				}
				key = append(key, fmt.Sprint(v))
			case sqlgen.RoleMeasure:
				switch v := v.(type) {
				case nil:
					vals[c.Index] = new(big.Int)
				case int64:
					vals[c.Index] = big.NewInt(v)
				case decimal.Decimal:
					vals[c.Index] = v.BigInt()
				}
			}
		}
		out[strings.Join(key, "|")] = vals
	}
	return out
}

// Unnoised is the release that noise of scale nothing would give: every total as it is. Groups are those that rows came for, so
// that zero groups, which the text does not answer, are not there.
func Unnoised(t testing.TB, p *Prepared) *release.Release {
	t.Helper()
	return UnnoisedStage(t, p.Statement, p.Analysis(), nil)
}

// UnnoisedStage is that release of one stage.
func UnnoisedStage(t testing.TB, p *session.Statement, an *sensitivity.Analysis, params []sqltype.Value) *release.Release {
	t.Helper()
	st, covered := scanStage(t, p, an, params)
	rows := make([][]sqltype.Value, len(covered))
	for i, row := range covered {
		for _, v := range row {
			rows[i] = append(rows[i], secret.Open(v))
		}
	}
	r := ReleaseOf(an, st, rows)
	for i, m := range an.Measures {
		if m.IsTree() || !m.NeedsOwnScan() {
			continue
		}
		distinct, err := sqlgen.Distinct(an, p.Session.Engine.Dialect, i, sqlgen.Kept{Rows: max(m.PerGroup, m.Values), Groups: an.Limit.PerUnit}, 7)
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]*big.Int{}
		for _, row := range SecretRows(t, p, distinct, params) {
			keys := make([]sqltype.Value, len(an.Keys))
			for k := range keys {
				keys[k] = secret.Open(row[k])
			}
			at[fmt.Sprint(keys)] = Whole(secret.Open(row[len(keys)]))
		}
		for _, g := range r.Groups {
			g.Values[i] = at[fmt.Sprint(g.Keys)]
		}
	}
	return r
}

// ReleaseOf is that release, of a scan's rows.
func ReleaseOf(an *sensitivity.Analysis, st *sqlgen.Statement, rows [][]sqltype.Value) *release.Release {
	r := &release.Release{Run: &price.Run{}}
	for range an.Measures {
		r.Run.Measures = append(r.Run.Measures, dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: 1, Den: 1 << 20}})
	}
	for _, row := range rows {
		g := release.Group{Keys: make([]sqltype.Value, len(an.Keys)), Values: make([]*big.Int, len(an.Measures))}
		for i, c := range st.Columns {
			switch c.Role {
			case sqlgen.RoleKey:
				g.Keys[c.Index] = row[i]
			case sqlgen.RoleMeasure:
				g.Values[c.Index] = Whole(row[i])
			}
		}
		r.Groups = append(r.Groups, g)
	}
	return r
}

// Whole is a total's integer.
func Whole(v sqltype.Value) *big.Int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v)
	case decimal.Decimal:
		return v.BigInt()
	}
	return new(big.Int)
}

// Computed is the answer of noise of scale nothing.
func Computed(t testing.TB, p *Prepared) ([][]sqltype.Value, error) {
	t.Helper()
	ctx := context.Background()
	r := &private.Run{Staged: p.Staged(), PublicRows: map[plan.Rel]*eval.Relation{}}
	tx, err := p.Session.Engine.Begin(ctx, p.World)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	if err := r.ReadPublic(ctx, tx); err != nil {
		return nil, err
	}
	if err := ReleaseAll(t, r); err != nil {
		return nil, err
	}
	return FinishRun(r, ctx)
}

// FinishRun gives the whole answer.
func FinishRun(r *private.Run, ctx context.Context) ([][]sqltype.Value, error) {
	a, err := r.Answer(ctx)
	if err != nil {
		return nil, err
	}
	return a.All(ctx)
}

// ReleaseAll releases a run's stages with noise of scale nothing.
func ReleaseAll(t testing.TB, r *private.Run) error {
	t.Helper()
	for _, st := range r.Stages {
		a := &private.StageRun{Stage: st}
		r.StageRuns = append(r.StageRuns, a)
		if err := r.Inputs(context.Background(), a); err != nil {
			return err
		}
		a.Release = UnnoisedStage(t, r.Statement, With(a), a.Args)
	}
	return nil
}

// With is a stage's analysis with the rows that it reads.
func With(a *private.StageRun) *sensitivity.Analysis {
	an := *a.An
	an.Given, an.Args = a.Given, a.Args
	return &an
}

// MeasuresOf are the measures of all stages.
func MeasuresOf(p *Prepared) (out []sensitivity.Measure) {
	for _, st := range p.Staged().Stages {
		out = append(out, st.An.Measures...)
	}
	return out
}

// SensitivityOf is what an event's noise covers.
func SensitivityOf(t testing.TB, ev dp.Event) dp.Sensitivity {
	t.Helper()
	switch ev := ev.(type) {
	case dp.Laplace:
		return ev.Sensitivity
	case dp.Gaussian:
		return ev.Sensitivity
	case dp.Selection:
		return dp.Sensitivity{PerGroup: 1, Groups: ev.Groups}
	}
	t.Fatalf("%T has no sensitivity", ev)
	return dp.Sensitivity{}
}

// PrintedRows runs a printed statement.
func PrintedRows(t testing.TB, b backend.Backend, st *sqlgen.Statement) [][]sqltype.Value {
	t.Helper()
	rows, err := (Uncovered{Backend: b}).Query(context.Background(), st)
	if err != nil {
		t.Fatalf("%v\n%s", err, st.SQL)
	}
	return rows
}
