package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/sensitivity"
)

// PlanText is EXPLAIN's text.
func PlanText(t testing.TB, s *session.Session, sql string, args ...sqltype.Value) string {
	t.Helper()
	rows, err := Try(s, "explain verbose "+sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var lines []string
	for _, r := range rows {
		lines = append(lines, r[0].(string))
	}
	return strings.Join(lines, "\n")
}

// Charges are the reservations of a ledger so far.
func Charges(t testing.TB, e *server.Engine) []ledger.Charge {
	t.Helper()
	var out []ledger.Charge
	for r, err := range e.Ledger.Records(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Reserve != nil {
			out = append(out, *r.Reserve)
		}
	}
	return out
}

// Charged says how many reservations do makes.
func Charged(t testing.TB, e *server.Engine, do func()) int {
	t.Helper()
	before := len(Charges(t, e))
	do()
	return len(Charges(t, e)) - before
}

// Try prepares and runs a statement.
func Try(s *session.Session, sql string, args ...sqltype.Value) ([][]sqltype.Value, error) {
	p, err := Prepare(s, sql)
	if err != nil {
		return nil, err
	}
	a, err := p.Run(context.Background(), args)
	if err != nil {
		return nil, err
	}
	return a.All(context.Background())
}

// BesideLost are warnings but those that nearly every statement of the clinic has: of encounters without a patient, and of intervals that are wide as its patients are few.
func BesideLost(warnings []string) []string {
	return slices.DeleteFunc(slices.Clone(warnings), func(w string) bool {
		return strings.HasSuffix(w, " is a value that the policy does not list are in no group") || strings.Contains(w, ": the interval of each group is wider than its value") || strings.Contains(w, ": the interval is wider than the value") || w == "rows in which encounters.patient_id is NULL lead to no person and are left out (the policy's rows_without_unit)"
	})
}

// Set changes a setting.
func Set(t testing.TB, s *session.Session, name, value string) {
	t.Helper()
	if err := s.Set(name, []string{value}); err != nil {
		t.Fatal(err)
	}
}

// SetTarget asks for an error, at whatever price the analyst may ask for.
func SetTarget(t testing.TB, s *session.Session, target string) {
	t.Helper()
	Set(t, s, "dpsql.price", fmt.Sprint(s.Analyst.MaxQueryEpsilon))
	Set(t, s, "dpsql.target_error", target)
}

// Prepare prepares a statement.
func Prepare(s *session.Session, sql string, params ...sqltype.OID) (*Prepared, error) {
	st, err := pgsyntax.Parse(sql)
	if err != nil {
		return nil, err
	}
	p, err := engine.Prepare(context.Background(), s, st[0], params)
	if err != nil {
		return nil, err
	}
	return &Prepared{Prepared: p}, nil
}

// Ask prepares a statement and runs it.
func Ask(t testing.TB, s *session.Session, sql string) (*Prepared, *answer.Answer) {
	t.Helper()
	p, err := Prepare(s, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	a, err := p.Run(context.Background(), nil)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return p, a
}

// ExplainedJSON is EXPLAIN (FORMAT JSON)'s plan and its releases.
func ExplainedJSON(t *testing.T, s *session.Session, sql string) (plan map[string]any, releases []map[string]any) {
	t.Helper()
	var all []struct{ Plan map[string]any }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(Explained(t, s, "(format json) "+sql), "explain ")), &all); err != nil || len(all) != 1 {
		t.Fatalf("%s: %v", sql, err)
	}
	list, _ := all[0].Plan["Releases"].([]any)
	for _, r := range list {
		releases = append(releases, r.(map[string]any))
	}
	return all[0].Plan, releases
}

// KeepModel stores a model that was made by hand, as ann's: of a table that everybody may see.
func KeepModel(t testing.TB, e *server.Engine, m *mlext.Model) {
	t.Helper()
	m.Sources = []mlext.Source{{Schema: server.Own, Table: session.BudgetTable.Name}}
	if err := e.Models.Keep(context.Background(), "ann", m, true); err != nil {
		t.Fatal(err)
	}
}

// MustTry is Try of a statement that is answered.
func MustTry(t testing.TB, s *session.Session, sql string) [][]sqltype.Value {
	t.Helper()
	rows, err := Try(s, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// FilterOf is the filter of an engine's ledger.
func FilterOf(e *server.Engine) *budget.Filter { return e.Ledger.Filter() }

// FailFor counts resource failures of an analyst that the ledger could not note, as many as stop one.
func FailFor(e *server.Engine, analyst string) {
	for range ledger.MaxFailures {
		e.Unnoted.Add(analyst)
	}
}

// Prepared is a prepared statement whose stages tests look at, and change.
type Prepared struct {
	*engine.Prepared
	changed *stage.Staged // by WithAnalysis
}

// Staged is a private statement, also behind EXPLAIN; one without stages for others.
func (p *Prepared) Staged() *stage.Staged {
	if p.changed != nil {
		return p.changed
	}
	if staged := p.Prepared.Staged(); staged != nil {
		return staged
	}
	return &stage.Staged{Statement: p.Statement}
}

// Analysis is that of the first stage; of a statement that is not private, that it is not.
func (p *Prepared) Analysis() *sensitivity.Analysis {
	if list := p.Staged().Stages; len(list) > 0 {
		return list[0].An
	}
	return &sensitivity.Analysis{Query: p.Query}
}

// WithAnalysis is a private statement of one stage with another analysis, which is printed and released, and not run.
func (p *Prepared) WithAnalysis(an *sensitivity.Analysis) *Prepared {
	staged, st := *p.Staged(), *p.Staged().Stages[0]
	st.An, staged.Stages = an, append([]*stage.Stage{&st}, staged.Stages[1:]...)
	return &Prepared{p.Prepared, &staged}
}

// Price is the first stage's.
func (p *Prepared) Price() (*price.Quote, error) { return p.Staged().Stages[0].Price() }

// PriceOf prices an analysis under a session's settings.
func PriceOf(s *session.Session, a *sensitivity.Analysis) (*price.Quote, error) {
	return price.New(a, s.Request())
}

// RunOf is an execution that has not begun.
func RunOf(p *Prepared) *private.Run { return &private.Run{Staged: p.Staged()} }

// PublicFacts are the charge and the expected errors of a statement.
func PublicFacts(t testing.TB, p *Prepared) string {
	t.Helper()
	mp, err := PriceOf(p.Session, p.Analysis())
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("%v %+v %s %v", mp.Events(), mp.Loss, mp.Mechanism, p.Analysis().Limit)
	e, err := finish.NewErrors(p.Analysis(), mp.Run())
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range p.Analysis().Formulas {
		count := math.NaN()
		if f.Kind == sensitivity.IsAvg {
			count = 1000
		}
		out += fmt.Sprintf(" %g", e.Expected(i, count))
	}
	return out
}

// LastAnswered is dpsql.last, without what a top-up changes: measure, kind, bound, clip, groups; and each measure's error. A declared bound's error is that of the noise
// beside it; a chosen bound's error also holds what clipping may lose.
func LastAnswered(t testing.TB, s *session.Session) (bounds string, errs []float64, free bool) {
	t.Helper()
	_, a := Ask(t, s, "select measure, kind, bound, clip, groups, noise, scale, error_95, price, free from dpsql.last order by measure")
	for _, r := range a.Rows {
		bounds += fmt.Sprint(r[:5])
		free = r[9].(bool)
		if r[7] == nil { // the value is NULL: the noise says how exact it would be
			errs = append(errs, r[6].(float64))
			continue
		}
		errs = append(errs, r[7].(float64))
		wide := map[bool]float64{true: 1.96, false: 3}[strings.HasPrefix(r[5].(string), "gaussian")] * r[6].(float64)
		if e := r[7].(float64); e < 0.9*wide-1 || r[2] == "declared" && e > 1.05*wide+1 { // means of Laplace's have thinner tails; all is rounded to steps
			t.Errorf("measure %v: %v of scale %v has an error of %v", r[0], r[5], r[6], e)
		}
	}
	return bounds, errs, free
}

// Explained is EXPLAIN's text.
func Explained(t testing.TB, s *session.Session, sql string) string {
	t.Helper()
	how := "explain verbose "
	if strings.HasPrefix(sql, "(") {
		how = "explain "
	}
	rows, err := Try(s, how+sql)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&b, r[0])
	}
	return b.String()
}
