package session_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestReleaseGroups: too many public groups are refused before the charge. Of groups that are chosen with noise nobody may know
// before it how many there are; the statement that finds too many keeps its charge.
func TestReleaseGroups(t *testing.T) {
	s := enginetest.Limited(t, func(p *policy.Policy) { p.Limits.ReleaseGroups = 2 })
	enginetest.MustTry(t, s, "select gender, count(*) from patients group by 1")
	enginetest.Refused(t, s, "select ward, count(*) from patients group by 1", sqlerr.TooManyGroups, 0)
	enginetest.Refused(t, s, "select ward from patients group by 1", sqlerr.TooManyGroups, 0)
	s = enginetest.Limited(t, func(p *policy.Policy) { p.Limits.ReleaseGroups = 2 }, "max_query_price: 5", "max_query_price: 20")
	enginetest.Set(t, s, "dpsql.max_groups", "1")
	enginetest.Set(t, s, "dpsql.price", "19") // four cities of 8 to 11 people: all are chosen, but for one time in 10^40
	enginetest.Refused(t, s, "select city_id, count(*) from patients group by 1", sqlerr.ResourceFailure, 1)
}

// TestReleaseBytes: public groups that are too long for the ledger are refused before the charge. A release of groups that were chosen is not shown if it is; it keeps its charge, for it was made.
func TestReleaseBytes(t *testing.T) {
	s := enginetest.Limited(t, func(p *policy.Policy) { p.Limits.ReleaseBytes = 1000 })
	enginetest.Refused(t, s, "select kind_id, readmitted, count(*), sum(days), sum(cost), sum(medications), sum(big) from encounters group by 1, 2", sqlerr.TooManyGroups, 0)
	enginetest.Refused(t, s, "select kind_id, median(days) from encounters group by 1", sqlerr.TooManyGroups, 0)
	s = enginetest.Limited(t, func(p *policy.Policy) { p.Limits.ReleaseBytes = 1000 }, "max_query_price: 5", "max_query_price: 20")
	enginetest.Set(t, s, "dpsql.max_groups", "1")
	enginetest.Set(t, s, "dpsql.price", "19")
	enginetest.Refused(t, s, "select city_id, count(*), count(gender), count(ward), count(distinct ward) from patients group by 1", sqlerr.ResourceFailure, 1)
}

// TestAnalysisIsCanceled: a statement whose client has gone is not analysed to its end; it is a cancel, and costs nothing.
func TestAnalysisIsCanceled(t *testing.T) {
	s := enginetest.Limited(t, func(*policy.Policy) {})
	ctx, cancel := context.WithCancel(context.Background())
	for _, sql := range []string{"select sum(days), count(*) filter (where days > 3) from encounters", "explain verbose select sum(days) from encounters"} {
		st, err := pgsyntax.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Prepare(ctx, s, st[0], nil); err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := engine.Prepare(ctx, s, st[0], nil); sqlerr.ID(err) != sqlerr.QueryCanceled.ID {
			t.Errorf("%s: %v", sql, err)
		}
		ctx, cancel = context.WithCancel(context.Background())
		defer cancel()
	}
	if n := len(enginetest.Charges(t, s.Engine)); n != 0 {
		t.Errorf("%d charges", n)
	}
}

// TestPublicRows: an answer over public tables that is too long is an error and costs nothing.
func TestPublicRows(t *testing.T) {
	rows := len(enginetest.MustTry(t, enginetest.Limited(t, func(*policy.Policy) {}), "select * from cities"))
	enginetest.MustTry(t, enginetest.Limited(t, func(p *policy.Policy) { p.Limits.PublicRows = int64(rows) }), "select * from cities")
	enginetest.Refused(t, enginetest.Limited(t, func(p *policy.Policy) { p.Limits.PublicRows = int64(rows) - 1 }), "select * from cities", sqlerr.ResourceFailure, 0)
}

// TestMaxPublicGroups: beyond it public groups are chosen with noise, and without delta they are refused.
func TestMaxPublicGroups(t *testing.T) {
	for most, public := range map[string]bool{"2": false, "3": true} {
		s := enginetest.Limited(t, func(*policy.Policy) {}, "query:  {price: 0.5}", "query:  {price: 0.5, max_groups: 1, max_public_groups: "+most+"}")
		p, err := enginetest.Prepare(s, "select ward, count(*) from patients group by 1")
		if err != nil || p.Analysis().Groups.Public != public {
			t.Errorf("max_public_groups %s: %v", most, err)
		}
	}
	s := enginetest.Limited(t, func(*policy.Policy) {}, "query:  {price: 0.5}", "query:  {price: 0.5, max_groups: 1, max_public_groups: 2}", "delta: 1e-6", "delta: 0")
	enginetest.Refused(t, s, "select ward, count(*) from patients group by 1", sqlerr.UnknownGroups, 0)
}

// TestDocumentedSettings: docs/configuration.md has the settings that there are, with the values that they take.
func TestDocumentedSettings(t *testing.T) {
	text, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	s := enginetest.Limited(t, func(*policy.Policy) {})
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		name := strings.Trim(cells[0], "| `")
		if !strings.HasPrefix(name, "dpsql.") || len(cells) != 4 {
			continue
		}
		documented = append(documented, name)
		if cells[2][0] != '`' { // a range in words
			continue
		}
		for v := range strings.SplitSeq(cells[2], ", ") {
			enginetest.Set(t, s, name, strings.Trim(v, "`"))
		}
		now, _, err := s.Show(name)
		if err != nil || !strings.HasSuffix(cells[2], "`"+now+"`") {
			t.Errorf("%s is %s: %v", name, now, err)
		}
	}
	slices.Sort(documented)
	if !slices.Equal(documented, session.SettingNames()) {
		t.Errorf("documented: %v", documented)
	}
	for _, c := range []struct {
		name, value string
		want        sqlerr.Kind
	}{
		{"dpsql.price", "0.0004", sqlerr.InvalidParam}, {"dpsql.price", "5.01", sqlerr.PriceTooLarge},
		{"dpsql.max_groups", "0", sqlerr.InvalidParam}, {"dpsql.max_groups", "100001", sqlerr.InvalidParam},
	} {
		if err := s.Set(c.name, []string{c.value}); sqlerr.ID(err) != c.want.ID {
			t.Errorf("%s = %s: %v", c.name, c.value, err)
		}
	}
	if ledger.MaxFailures != 5 {
		t.Error("docs/configuration.md says that five resource failures stop an analyst")
	}
	for application, want := range map[string]string{"psql": "brief", "other": "off"} {
		o, err := session.NewSession(s.Engine, "ann", application)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := o.Show("dpsql.notices"); got != want {
			t.Errorf("%s: %s", application, got)
		}
	}
}

// TestStatementsAtOnce: an analyst's statements wait for one another beyond limits.statements_at_once, others' do not, and waiting
// costs nothing: a flood takes neither all connections nor anybody's budget.
func TestStatementsAtOnce(t *testing.T) {
	var turns server.Turns
	ctx := context.Background()
	var held []func()
	for range 2 {
		done, err := turns.Take(ctx, "ann", 2)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, done)
	}
	if done, err := turns.Take(ctx, "bob", 2); err != nil {
		t.Fatal(err)
	} else {
		done()
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := turns.Take(short, "ann", 2); err == nil {
		t.Fatal("a third turn was given")
	}
	third := make(chan func())
	go func() {
		done, err := turns.Take(ctx, "ann", 2)
		if err != nil {
			t.Error(err)
		}
		third <- done
	}()
	held[0]()
	(<-third)()
	held[1]()
	if analysts, _ := turns.Held(); analysts != 0 {
		t.Errorf("turns of %d analysts are kept", analysts)
	}

	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB, "statement_timeout: 20s", "statement_timeout: 1s", "query:  {price: 0.5}", "query:  {price: 0.5}\nlimits: {statements_at_once: 1}"), enginetest.Tame.Open(t, funcs.DuckDB))
	done, err := e.Queues.Turns.Take(ctx, "ann", 1)
	if err != nil {
		t.Fatal(err)
	}
	n := enginetest.Charged(t, e, func() {
		for _, q := range []string{"select count(*) from encounters", "select name from cities"} {
			if _, err := enginetest.Try(enginetest.NewSession(e, t, "ann"), q); sqlerr.ID(err) != sqlerr.ResourceFailure.ID {
				t.Errorf("%s: %v", q, err)
			}
		}
	})
	if n != 0 || enginetest.Blamed(t, e) != 0 {
		t.Errorf("waiting was charged %d times, and blamed %d times", n, enginetest.Blamed(t, e))
	}
	enginetest.MustTry(t, enginetest.NewSession(e, t, "bob"), "select count(*) from encounters")
	more := enginetest.ClinicPolicyFor(t, funcs.DuckDB, "query:  {price: 0.5}", "query:  {price: 0.5}\nlimits: {statements_at_once: 2}")
	if err := e.Reload(ctx, more); err != nil { // it takes the limit over, beside a turn that is taken
		t.Fatal(err)
	}
	enginetest.MustTry(t, enginetest.NewSession(e, t, "ann"), "select count(*) from encounters where days > 3")
	done()
	enginetest.MustTry(t, enginetest.NewSession(e, t, "ann"), "select count(*) from encounters")
}

// TestPlanningIsCanceled: planning of no kind of statement goes on for a client that has gone, neither when it is prepared nor when it is run, and nothing is charged.
func TestPlanningIsCanceled(t *testing.T) {
	s := enginetest.WideSession(t, 20)
	enginetest.MustTry(t, s, "TRAIN DP MODEL m USING logistic_regression TARGET yes WITH (epsilon = 1) AS SELECT kind, yes FROM people")
	charged := len(enginetest.Charges(t, s.Engine))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, sql := range []string{
		"SELECT 1", "SELECT kind, count(*) FROM people GROUP BY 1", "SELECT relname FROM pg_class", "EXPLAIN SELECT count(*) FROM people", "SELECT avg(dp_predict_proba('m', kind)) FROM people",
		"EVALUATE DP MODEL m ON SELECT kind, yes FROM people", "EXPLAIN EVALUATE DP MODEL m ON SELECT kind, yes FROM people",
		"TRAIN DP MODEL other USING svm TARGET yes AS SELECT kind, yes FROM people", "EXPLAIN TRAIN DP MODEL other USING svm TARGET yes AS SELECT kind, yes FROM people",
	} {
		st, err := pgsyntax.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Prepare(gone, s, st[0], nil); sqlerr.ID(err) != sqlerr.QueryCanceled.ID {
			t.Errorf("%s: prepared: %v", sql, err)
		}
		p, err := engine.Prepare(t.Context(), s, st[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Now.Size++ // so that it is planned again
		if _, err := p.Run(gone, nil); sqlerr.ID(err) != sqlerr.QueryCanceled.ID {
			t.Errorf("%s: run: %v", sql, err)
		}
	}
	if n := len(enginetest.Charges(t, s.Engine)); n != charged {
		t.Errorf("%d charges, not %d", n, charged)
	}
}

// asked counts how often a context was looked at.
type asked struct {
	context.Context
	times int
}

func (a *asked) Err() error {
	a.times++
	return nil
}

// TestPlanningLooksAtTheContext: planning looks at the statement's context after each SQL statement that it prints (medians of different rows are read apart, each with a statement of its own), and at each output column whose interval it makes. Windows, each with an interval of its own, are planned in proportion to their number: by allocations, of which each pair of windows had some.
func TestPlanningLooksAtTheContext(t *testing.T) {
	s := enginetest.Limited(t, func(p *policy.Policy) { p.Limits.StatementTime = 0 })
	prepare := func(ctx context.Context, column, from string, n int) {
		list := make([]string, n)
		for i := range list {
			list[i] = strings.ReplaceAll(column, "N", strconv.Itoa(i))
		}
		st, err := pgsyntax.Parse("select " + strings.Join(list, ", ") + " from " + from)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Prepare(ctx, s, st[0], nil); err != nil {
			t.Fatal(err)
		}
	}
	const window = "sum(count(*)) over (order by readmitted rows between N preceding and N following)"
	for column, from := range map[string]string{"median(days) filter (where medications > N)": "encounters", window: "encounters group by readmitted"} {
		looks := func(n int) int {
			ctx := &asked{Context: t.Context()}
			prepare(ctx, column, from, n)
			return ctx.times
		}
		if a, b := looks(1), looks(11); b-a < 10 {
			t.Errorf("%s: %d looks, and %d", column, a, b)
		}
	}
	allocations := func(n int) float64 {
		return testing.AllocsPerRun(1, func() { prepare(t.Context(), window, "encounters group by readmitted", n) })
	}
	if few, many := allocations(40), allocations(160); many > 8*few {
		t.Errorf("%g allocations for 40 windows, %g for 160", few, many)
	}
}

// TestLongSums: the intervals of a long sum are planned with the square of its length at most, by allocations: each part is worked out once, also where the noises' parts take more room than the box of intervals.
func TestLongSums(t *testing.T) {
	s := enginetest.Limited(t, func(p *policy.Policy) { p.Limits.StatementTime = 0 })
	allocations := func(term string, n int) float64 {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(term, i)
		}
		st, err := pgsyntax.Parse("select " + strings.Join(list, " + ") + " from encounters")
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(1, func() {
			if _, err := engine.Prepare(t.Context(), s, st[0], nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, term := range []string{"abs(count(*) - %d)", "sum(days) / nullif(count(*) - %d, 0)"} {
		if few, many := allocations(term, 60), allocations(term, 240); many > 8*few {
			t.Errorf("%s: %g allocations for 60, %g for 240", term, few, many)
		}
	}
}

// TestPlanningTakesStatementTime: statement_time ends the planning of any statement. A millisecond is too short for a hundred times as long.
func TestPlanningTakesStatementTime(t *testing.T) {
	s := enginetest.WideSession(t, 250)
	enginetest.MustTry(t, s, "TRAIN DP MODEL m USING mlp TARGET yes WITH (epsilon = 1) AS SELECT kind, yes FROM people")
	s.World.Policy.Limits.StatementTime = time.Millisecond
	for _, sql := range []string{"EVALUATE DP MODEL m ON SELECT kind, yes FROM people", "EXPLAIN EVALUATE DP MODEL m ON SELECT kind, yes FROM people", "EXPLAIN SELECT avg(dp_predict_proba('m', kind)) FROM people"} {
		if _, err := enginetest.Prepare(s, sql); sqlerr.ID(err) != sqlerr.ResourceFailure.ID {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestWalkable: a statement that repeats a prediction before each of many WHENs is refused before a pass walks over all of them. With few of them it is answered.
func TestWalkable(t *testing.T) {
	s := enginetest.WideSession(t, 250)
	s.World.Policy.Limits.StatementTime = time.Hour // a busy machine under the race detector took over a minute
	enginetest.MustTry(t, s, "TRAIN DP MODEL m USING linear_regression TARGET n WITH (epsilon = 1) AS SELECT kind, n FROM people")
	for whens, want := range map[int]string{2: "", 1000: sqlerr.TooComplex.ID} {
		_, err := enginetest.Prepare(s, "SELECT sum(CASE dp_predict('m', kind)"+strings.Repeat(" WHEN 1 THEN 1", whens)+" END) FROM people")
		if sqlerr.ID(err) != want || want != "" && !strings.Contains(err.Error(), "repeat long parts") {
			t.Errorf("%d: %v", whens, err)
		}
	}
}
