package prooftest

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestJoinedReleases: a joined statement is stored and answers again; at a higher price it is released anew, scale and all, since an older scale bounds no later snapshot; dp_error is the noise's at the released scale; a target is kept by a new release.
func TestJoinedReleases(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AnyJoins...)
	const sql = "select count(*), dp_error(count(*)) from encounters a join encounters b on a.days = b.days"
	ask := func(sql string) (*enginetest.Prepared, string) {
		t.Helper()
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := enginetest.Try(s, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return p, fmt.Sprint(rows)
	}
	p, first := ask(sql)
	spent := func() (pure float64) {
		b, err := s.Balance()
		if err != nil {
			t.Fatal(err)
		}
		return b.Analyst.Spent.Renyi
	}
	was := spent()
	if _, again := ask("select count(*), dp_error(count(*)) from encounters y join encounters x on y.days = x.days"); again != first || spent() != was {
		t.Errorf("asked again, it answers %s after %s, for %g", again, first, spent()-was)
	}
	if _, last := ask("select * from dpsql.last"); !regexp.MustCompile(`(?s)^\[\[1 1 rows chosen \d+ 1 gaussian .* 0\.5 true as released <nil> rows in which encounters\.patient_id is NULL lead to no person .*\]\]$`).MatchString(last) {
		t.Errorf("of the last answer it is said: %s", last)
	}
	mp, err := p.Staged().Stages[0].Price()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := mp.Events()[0].(dp.SmoothScale); !ok || mp.Loss.Delta != s.Request().QueryDelta {
		t.Errorf("the first event is %v, delta %g", mp.Events()[0], mp.Loss.Delta)
	}
	enginetest.Set(t, s, "dpsql.price", "1")
	before := spent()
	if _, more := ask(sql); more == first || spent()-before < was { // the whole price, no difference
		t.Errorf("at a higher price it answers %s after %s, for %g after %g", more, first, spent()-before, was)
	}
	rows, err := enginetest.Try(s, sql)
	if err != nil {
		t.Fatal(err)
	}
	half := asNumber(t, rows[0][1]) / 2
	const count = "select count(*) from encounters a join encounters b on a.days = b.days"
	enginetest.Set(t, s, "dpsql.price", "0.5")
	enginetest.SetTarget(t, s, fmt.Sprint(3*half))
	before = spent()
	if ask(count); spent() != before {
		t.Errorf("a target that the release keeps costs %g", spent()-before)
	}
	enginetest.SetTarget(t, s, fmt.Sprint(half))
	_, releases := enginetest.ExplainedJSON(t, s, count)
	charge := releases[0]["Charge"].(map[string]any)
	epsilon, _ := charge["Price"].(float64)
	renyi, _ := charge["Renyi"].(float64)
	enginetest.Set(t, s, "dpsql.target_error", "off")
	enginetest.Set(t, s, "dpsql.price", "0.5")
	p, _ = ask(count)
	st := p.Staged().Stages[0]
	old, err := p.Staged().OwnRelease(context.Background(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	bounds := stage.BoundsOf(context.Background(), st.An, old)
	anew := func(epsilon float64) float64 { // the error of a release at a price with the bound that is expected by the one that was released
		ask := st.Request
		ask.Epsilon = epsilon
		mp, err := price.New(st.An, ask)
		if err != nil {
			t.Fatal(err)
		}
		at, err := bounds(mp)
		if err != nil {
			t.Fatal(err)
		}
		run, err := mp.Resolve(st.An, at)
		if err != nil {
			t.Fatal(err)
		}
		e, err := finish.NewErrors(st.An, run)
		if err != nil {
			t.Fatal(err)
		}
		return e.Expected(0, math.NaN())
	}
	if epsilon <= 1 || charge["From Price"] != nil || anew(epsilon) > half || anew(epsilon/1.02) <= half {
		t.Errorf("a target's charge is %v: at its price a new release has an error of %g, at 2%% less %g, the target is %g", charge, anew(epsilon), anew(epsilon/1.02), half)
	}
	enginetest.SetTarget(t, s, fmt.Sprint(half))
	if ask(count); math.Abs(spent()-before-renyi) > 1e-6*renyi {
		t.Errorf("a new release for a target costs %g, EXPLAIN said %g", spent()-before, renyi)
	}
}

// TestJoinedRefusals: what is refused is refused before anything is charged, whatever the rows are: with and without them, on both backends.
func TestJoinedRefusals(t *testing.T) {
	empty := enginetest.Clinic{Name: "nobody", Change: nil}
	for _, table := range []string{"patients", "encounters", "prescriptions", "labs", "visits", "stays"} {
		empty.Change = append(empty.Change, fmt.Sprintf(`DELETE FROM "public".%q`, table))
	}
	for _, d := range enginetest.Dialects {
		for _, c := range []enginetest.Clinic{enginetest.Wild, empty} {
			s := enginetest.ClinicSession(t, c, d, enginetest.AnyJoins...)
			for _, sql := range append([]string{
				"select sum(a.free) from encounters a join encounters b on a.days = b.days",
				"select count(*) from encounters a join encounters b on a.days = b.cost",
				"select a.diag, count(*) from encounters a join encounters b on a.days = b.days group by 1",
			}, joinedStatements[2:5]...) {
				_, err := enginetest.Try(s, sql)
				refused := strings.Contains(sql, "free) from encounters") || strings.Contains(sql, "b.cost") || strings.HasPrefix(sql, "select a.diag")
				if (err != nil) != refused || sqlerr.ID(err) == sqlerr.ResourceFailure.ID {
					t.Errorf("%s %s: %s: %v", d, c.Name, sql, err)
				}
			}
		}
	}
}

// TestJoinedParameters: constants and parameters stand in conditions of one leaf and of several, which the scan of frequencies does not have, and in keys; a released number may be one.
func TestJoinedParameters(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, enginetest.AnyJoins...)
		for _, c := range []struct {
			sql  string
			args []sqltype.Value
		}{
			{"select count(*) from encounters a join encounters b on a.days = b.days where a.cost + b.cost > $1", []sqltype.Value{decimal.NewFromInt(3)}},
			{"select count(*) from encounters a join encounters b on a.days = b.days where a.cost > $1 and b.diag <> $2 and a.cost < b.cost + $3", []sqltype.Value{decimal.NewFromInt(3), "x", decimal.NewFromInt(4)}},
			{"select case when a.days > $1 then 'long' else 'short' end, sum(a.days) from encounters a join encounters b on a.days = b.days where a.diag || b.diag <> 'xyz' group by 1", []sqltype.Value{int64(3)}},
			{"select count(*) from encounters a join encounters b on a.diag = b.diag where a.days > (select avg(days) from encounters) and a.days + b.days > 4", nil},
			{"select count(*) from encounters a join encounters b using (days) where a.kind_id in (select id from kinds where label <> 'x')", nil},
			{"select count(*) from encounters a join encounters b using (days) join (values (1, 'x'), (2, 'y')) v (k, l) on v.k = a.kind_id where v.l = 'x'", nil},
		} {
			if _, err := enginetest.Try(s, c.sql, c.args...); err != nil {
				t.Errorf("%s: %s: %v", d, c.sql, err)
			}
		}
	}
}

// TestJoinedGuessEnds: a cancel ends the guess of what elastic would err, which needs no more than the statement and the policy, and says that it did.
func TestJoinedGuessEnds(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB, append(enginetest.AnyJoins[:2:2], "dataset: clinic\n", "dataset: clinic\npopulation: 1000\n",
		"    max_rows_per_unit: 4\n    columns:\n      encounter_id: {}\n", "    max_rows_per_unit: 4\n    max_frequency: {days: 300}\n    columns:\n      encounter_id: {}\n")...)
	const sql = "select count(*) from encounters a join encounters b on a.days = b.days"
	p, err := enginetest.Prepare(s, sql)
	if err != nil || !strings.Contains(p.Analysis().Joined.Why, "elastic (measured frequencies) about") {
		t.Fatalf("%v", err)
	}
	st, err := pgsyntax.Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := engine.Prepare(ctx, s, st[0], nil); sqlerr.ID(err) != sqlerr.QueryCanceled.ID {
		t.Errorf("canceled, it gives %v", err)
	}
}
