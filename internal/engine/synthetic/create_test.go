package synthetic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/synthetic"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext/synth"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

func property(rows [][]sqltype.Value, name string) string {
	for _, r := range rows {
		if r[0] == name {
			return fmt.Sprint(r[1])
		}
	}
	return ""
}

// refused says whether an error has words in its message or hint.
func refused(t *testing.T, s *session.Session, sql, want string) {
	t.Helper()
	_, err := enginetest.Try(s, sql)
	var e *sqlerr.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message+" "+e.Hint, want) || e.Hint == "" {
		t.Errorf("%s: %v", sql, err)
	}
}

// TestCreate: each form is made on both backends, is charged once what EXPLAIN says, and is queried for nothing, by values of the columns' types within their bounds.
func TestCreate(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d)
		for i, query := range creations {
			create := fmt.Sprintf("CREATE DP SYNTHETIC TABLE s%d AS %s", i, query)
			var explained [][]sqltype.Value
			if n := enginetest.Charged(t, s.Engine, func() { explained = enginetest.MustTry(t, s, "EXPLAIN "+create) }); n != 0 {
				t.Errorf("%s: EXPLAIN of %s is charged", d, query)
			}
			if n := enginetest.Charged(t, s.Engine, func() { enginetest.MustTry(t, s, create) }); n != 1 {
				t.Errorf("%s: %d charges of %s", d, n, query)
			}
			charges := enginetest.Charges(t, s.Engine)
			last := charges[len(charges)-1]
			if got := property(explained, "price"); got != server.Number(last.Price) {
				t.Errorf("%s: %s is charged %g, explained as %s", d, query, last.Price, got)
			}
			if n := enginetest.Charged(t, s.Engine, func() {
				enginetest.MustTry(t, s, fmt.Sprintf("SELECT * FROM s%d", i))
				enginetest.MustTry(t, s, fmt.Sprintf("SELECT count(*) FROM synthetic.s%d", i))
				refused(t, s, create, "already exists")
			}); n != 0 {
				t.Errorf("%s: queries of %s are charged", d, query)
			}
		}
		for _, r := range enginetest.MustTry(t, s, "SELECT gender, trim(ward), weight, active, account FROM s0") {
			gender, ward, weight := r[0], r[1], r[2]
			if gender != nil && gender != "Male" && gender != "Female" || ward != nil && ward != "A" && ward != "B" || weight != nil && (weight.(float64) < 0 || weight.(float64) > 300) {
				t.Errorf("%s: a row is %v", d, r)
			}
			if _, ok := r[3].(bool); !ok && r[3] != nil {
				t.Errorf("%s: active is %v", d, r[3])
			}
		}
		if rows := enginetest.MustTry(t, s, "SELECT count(*) FROM s6 WHERE admitted BETWEEN '2018-03-01' AND '2020-12-31' OR admitted IS NULL"); fmt.Sprint(rows) != fmt.Sprint(enginetest.MustTry(t, s, "SELECT count(*) FROM s6")) {
			t.Errorf("%s: dates out of their range: %v", d, rows)
		}
		if rows := enginetest.MustTry(t, s, "SHOW DP SYNTHETIC TABLES"); len(rows) != len(creations) {
			t.Errorf("%s: %v", d, rows)
		}
		enginetest.MustTry(t, s, "DROP DP SYNTHETIC TABLE s0")
		enginetest.MustTry(t, s, "DROP DP SYNTHETIC TABLE IF EXISTS s0")
		refused(t, s, "DROP DP SYNTHETIC TABLE s0", "does not exist")
		if _, err := enginetest.Try(s, "SELECT * FROM s0"); sqlerr.ID(err) != sqlerr.UndefinedTable.ID {
			t.Errorf("%s: after DROP: %v", d, err)
		}
		enginetest.MustTry(t, s, "CREATE OR REPLACE DP SYNTHETIC TABLE s1 AS SELECT gender FROM patients")
		if p, _ := enginetest.Ask(t, s, "SELECT * FROM s1"); len(p.Columns()) != 1 {
			t.Errorf("%s: s1 was not replaced", d)
		}
	}
}

// TestRefused: what has no bins, no bound or no private rows is refused before anything is spent, with what to do instead.
func TestRefused(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.MustTry(t, s, "CREATE DP SYNTHETIC TABLE s AS SELECT gender, weight FROM patients")
	if n := enginetest.Charged(t, s.Engine, func() {
		for query, want := range map[string]string{
			"SELECT diag, days FROM encounters":                               "column diag of type text has no domain",
			"SELECT free, days FROM encounters":                               "column free have no declared range",
			"SELECT days AS a, days AS b FROM encounters":                     "two columns of the query are the same",
			"SELECT days AS a, cost AS a FROM encounters":                     "is named twice",
			"SELECT name FROM cities":                                         "has no domain",
			"SELECT region = 'x' AS a FROM cities":                            "reads no private table",
			"SELECT count(*) AS n FROM encounters":                            "cannot be computed from releases",
			"SELECT minutes FROM visits":                                      "max_rows_per_unit = 1",
			"SELECT gender FROM patients WITH (price = 50)":                   "more than this analyst may spend",
			"SELECT gender FROM patients WITH (price = 1, epsilon = 1)":       "not both",
			"SELECT gender FROM patients WITH (cost = 1)":                     "no option",
			"SELECT gender FROM patients WITH (price = -1)":                   "price cannot be -1",
			"SELECT gender FROM patients WITH (max_rows_per_unit = 1.5)":      "whole number",
			"SELECT gender FROM patients WITH (price = 1) WHERE active":       "syntax error",
			"SELECT dp_predict('m', weight) AS p FROM patients":               "not supported",
			"SELECT array_agg(days) AS a FROM encounters GROUP BY patient_id": "leave it out",
			"SELECT gender FROM patients WITH (price = 1, price = 2)":         "takes one value",
			"SELECT weight FROM patients WHERE patient_id = $1":               "parameters",
		} {
			_, err := enginetest.Try(s, "CREATE DP SYNTHETIC TABLE x AS "+query)
			var e *sqlerr.Error
			if !errors.As(err, &e) || !strings.Contains(strings.ToLower(e.Message+" "+e.Hint), strings.ToLower(want)) {
				t.Errorf("%s: %v", query, err)
			}
		}
		many := "SELECT active"
		for i := range 64 {
			many += fmt.Sprintf(", weight + %d AS w%d", i, i)
		}
		refused(t, s, "CREATE DP SYNTHETIC TABLE x AS "+many+" FROM patients", "Name fewer columns")
		refused(t, s, "CREATE DP SYNTHETIC TABLE patients AS SELECT gender FROM patients", "Take another name")
		refused(t, s, `CREATE DP SYNTHETIC TABLE "a.b" AS SELECT gender FROM patients`, "Take a name without one")
		for sql, want := range map[string]string{
			"SELECT dp_low(count(*)) FROM s": "is not measured", "SELECT dp_error(avg(weight)) FROM (SELECT * FROM s) AS q": "is not measured",
			"SELECT count(*) FROM s JOIN patients USING (gender)": "cannot be read together", "SELECT count(*) FROM patients WHERE gender IN (SELECT gender FROM s)": "cannot be read together",
			"SELECT * FROM s, cities": "cannot be read together", "SELECT * FROM s, dpsql.budget": "cannot be read together", "SELECT gender, (SELECT max(weight) FROM s) FROM patients": "cannot be read together",
		} {
			refused(t, s, sql, want)
		}
	}); n != 0 {
		t.Errorf("%d charges of what is refused", n)
	}
}

// TestQueriesSaySynthetic: each answer over a synthetic table says in a notice that its rows are synthetic, and so does EXPLAIN.
func TestQueriesSaySynthetic(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.notices", "brief")
	enginetest.MustTry(t, s, "CREATE DP SYNTHETIC TABLE s AS SELECT gender, weight, ward FROM patients WITH (price = 5)")
	for _, sql := range []string{"SELECT * FROM s", "SELECT gender, avg(weight) FROM synthetic.s GROUP BY 1", "WITH q AS (SELECT * FROM s) SELECT count(*) FROM q a JOIN q b USING (gender)", "SELECT (SELECT count(*) FROM s)",
		"SELECT ward, rank() OVER (ORDER BY count(*)) FROM s GROUP BY ward", "TABLE s"} {
		if _, a := enginetest.Ask(t, s, sql); !strings.Contains(a.Notice, "synthetic.s are synthetic") || !strings.Contains(a.Notice, "no interval") {
			t.Errorf("%s: %q", sql, a.Notice)
		}
		if text := fmt.Sprint(enginetest.MustTry(t, s, "EXPLAIN "+sql)); !strings.Contains(text, "are synthetic") || strings.Contains(text, "exact") {
			t.Errorf("EXPLAIN %s: %s", sql, text)
		}
	}
	if _, a := enginetest.Ask(t, s, "SELECT count(*) FROM cities"); a.Notice != "" {
		t.Errorf("of public rows %q", a.Notice)
	}
}

// chargeError says how a charge is less than what a table measures.
func chargeError(d *synth.Design, order float64, events []dp.Event) error {
	if one, ok := events[0].(dp.Training); ok && len(events) == 1 {
		if least := d.Epsilon(one.Delta); one.Epsilon < least*(1-1e-12) {
			return fmt.Errorf("epsilon %g is charged, and %g is released", one.Epsilon, least)
		}
		return nil
	}
	paid, cost := 0.0, 0.0
	for _, ev := range events {
		if c, ok := ev.(dp.Composed); ok && c.Rate == 1 && c.Steps == 1 && c.Shift == 0 {
			paid += order / (2 * c.Multiplier * c.Multiplier)
		}
	}
	for _, p := range d.Parts() {
		cost += order / (2 * p.Multiplier * p.Multiplier)
	}
	if paid < cost*(1-1e-12) {
		return fmt.Errorf("a Renyi loss of %g is charged, and %g is released", paid, cost)
	}
	return nil
}

// TestChargeOfAllReleases: the reservation, which is made before a row is read, charges every release of the table, by parts or as one event, and no more than its price; an event that is left out or too small is found.
func TestChargeOfAllReleases(t *testing.T) {
	seen := map[string]bool{}
	for _, edits := range [][]string{nil, {"query:  {price: 0.5}", "query:  {price: 20}"}, {"delta: 1e-6}", "delta: 1e-6, accountant: pure}"}} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, edits...)
		for _, with := range []string{"price = 0.5", "price = 3", "epsilon = 1", "epsilon = 0.2, delta = 1e-9", "price = 1, delta = 1e-12"} {
			c := creationOf(t, s, "SELECT gender, weight, ward FROM patients WITH ("+with+")")
			r := c.Reservation()
			events := []dp.Event(r.Events)
			if err := chargeError(c.Design(), s.Filter.Order, events); err != nil {
				t.Errorf("%s: %v", with, err)
			}
			seen[events[0].Name()] = true
			if sum, err := s.Filter.Sum(events); err != nil || sum != r.Loss {
				t.Errorf("%s: loss %v of events that lose %v, %v", with, r.Loss, sum, err)
			}
			most := s.Filter.Limit(r.Price)
			if s.Filter.Order > 0 && r.Loss.Renyi > most.Renyi*(1+1e-9) || !math.IsInf(r.Loss.Pure, 1) && r.Loss.Pure > most.Epsilon*(1+1e-9) {
				t.Errorf("%s: price %g does not pay for %+v", with, r.Price, r.Loss)
			}
			if len(events) == 3 {
				for i := range events {
					if chargeError(c.Design(), s.Filter.Order, append(append([]dp.Event(nil), events[:i]...), events[i+1:]...)) == nil {
						t.Errorf("%s: release %d uncharged: not found", with, i)
					}
				}
			} else {
				one := events[0].(dp.Training)
				one.Epsilon *= 0.99
				if chargeError(c.Design(), s.Filter.Order, []dp.Event{one}) == nil {
					t.Errorf("%s: a smaller epsilon: not found", with)
				}
			}
			if d := c.Design(); strings.Contains(with, "epsilon = 1") && math.Abs(d.Epsilon(5e-8)-1) > 1e-6 {
				t.Errorf("epsilon 1 is %g", d.Epsilon(5e-8))
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("only these are charged: %v", seen)
	}
	refused(t, enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "delta: 1e-6}", "delta: 0}"), "CREATE DP SYNTHETIC TABLE s AS SELECT gender FROM patients", "the budget has no delta")
}

// TestDenied: where the budget ends, the hint names a price that passes, until the last one, and nothing is read.
func TestDenied(t *testing.T) {
	s := enginetest.NewSession(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB).Engine, t, "guest")
	hinted, passes := regexp.MustCompile(`WITH \(price = (\S+)\) passes now`), 0
	price := "2"
	for i := range 40 {
		_, err := enginetest.Try(s, fmt.Sprintf("CREATE DP SYNTHETIC TABLE s%d AS SELECT gender, ward FROM patients WITH (price = %s)", i, price))
		if err == nil {
			passes++
			continue
		}
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.ID != sqlerr.BudgetExhausted.ID {
			t.Fatal(err)
		}
		m := hinted.FindStringSubmatch(e.Hint)
		if m == nil {
			break
		}
		if _, err := enginetest.Try(s, fmt.Sprintf("CREATE DP SYNTHETIC TABLE h%d AS SELECT gender, ward FROM patients WITH (price = %s)", i, m[1])); err != nil {
			t.Fatalf("price %s was to pass: %v", m[1], err)
		}
		passes++
	}
	if passes == 0 {
		t.Error("nothing passed")
	}
	if text := fmt.Sprint(enginetest.MustTry(t, s, "EXPLAIN CREATE DP SYNTHETIC TABLE e AS SELECT gender FROM patients WITH (price = 2)")); !strings.Contains(text, "refused") {
		t.Errorf("EXPLAIN says nothing of it: %s", text)
	}
}

// TestRights: a table is its maker's and of all who may read what it was made from; for others, and for all when the policy takes that right away, it is not there. Of several of a name the own one is meant.
func TestRights(t *testing.T) {
	ann := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	of := func(user string) *session.Session { return enginetest.NewSession(ann.Engine, t, user) }
	enginetest.MustTry(t, ann, "CREATE DP SYNTHETIC TABLE s AS SELECT gender, ward FROM patients WITH (price = 1)")
	enginetest.MustTry(t, ann, "CREATE DP SYNTHETIC TABLE g AS SELECT gender FROM patients WHERE patient_id > 0 WITH (price = 1)")
	for _, sql := range []string{"SELECT * FROM s", "SELECT * FROM synthetic.s", `SELECT * FROM synthetic."ann.s"`, "SELECT * FROM g"} {
		enginetest.MustTry(t, of("bob"), sql)
	}
	clerk := of("clerk") // who may read gender and patient_id alone
	for sql, ok := range map[string]bool{"SELECT * FROM s": false, `SELECT * FROM synthetic."ann.s"`: false, "SELECT * FROM g": true, `SELECT * FROM synthetic."ann.g"`: true} {
		if _, err := enginetest.Try(clerk, sql); (err == nil) != ok || err != nil && sqlerr.ID(err) != sqlerr.UndefinedTable.ID {
			t.Errorf("clerk: %s: %v", sql, err)
		}
	}
	if rows := enginetest.MustTry(t, clerk, "SHOW DP SYNTHETIC TABLES"); len(rows) != 1 || rows[0][0] != "g" {
		t.Errorf("clerk: %v", rows)
	}
	// Catalogs show what may be read.
	const catalog = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'synthetic' ORDER BY 1"
	for user, want := range map[string]string{"bob": "[[g] [s]]", "clerk": "[[g]]", "nobody": "[]"} {
		if got := fmt.Sprint(enginetest.MustTry(t, of(user), catalog)); got != want {
			t.Errorf("%s finds %s in the catalogs, not %s", user, got, want)
		}
	}
	if rows := enginetest.MustTry(t, clerk, "SELECT a.attname, format_type(a.atttypid, a.atttypmod), obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = 'synthetic.g'::regclass AND a.attnum > 0"); fmt.Sprint(rows) != "[[gender text synthetic rows, made by ann]]" {
		t.Errorf("clerk finds %v", rows)
	}
	refused(t, of("bob"), "DROP DP SYNTHETIC TABLE s", "drops their own")
	bob := of("bob")
	enginetest.MustTry(t, bob, "CREATE DP SYNTHETIC TABLE s AS SELECT weight FROM patients WITH (price = 1)")
	if p, _ := enginetest.Ask(t, bob, "SELECT * FROM s"); p.Columns()[0].Name != "weight" {
		t.Error("bob's own s is not meant")
	}
	if p, _ := enginetest.Ask(t, ann, "SELECT * FROM s"); p.Columns()[0].Name != "gender" {
		t.Error("ann's own s is not meant")
	}
	refused(t, of("guest"), "SELECT * FROM s", `synthetic."ann.s" or synthetic."bob.s"`)

	// The policy takes ward from ann and bob: s is gone for both, also for a statement that is prepared.
	prepared, err := enginetest.Prepare(bob, `SELECT * FROM synthetic."ann.s"`)
	if err != nil {
		t.Fatal(err)
	}
	less := enginetest.ClinicPolicyFor(t, funcs.DuckDB, "may: [patients, encounters", "may: [patients.gender, patients.weight, encounters")
	if err := ann.Engine.Reload(context.Background(), less); err != nil {
		t.Fatal(err)
	}
	if _, err := prepared.Run(context.Background(), nil); sqlerr.ID(err) != sqlerr.UndefinedTable.ID {
		t.Errorf("prepared before: %v", err)
	}
	refused(t, ann, "SELECT * FROM s", "made from columns that you may not read")
	enginetest.MustTry(t, bob, "SELECT * FROM s")
	for _, r := range enginetest.MustTry(t, ann, "SHOW DP SYNTHETIC TABLES") {
		if r[3] == "ann" && r[1] != nil {
			t.Errorf("ann is told of %v", r)
		}
	}
}

// TestSealed: with cache.key nothing of a table's text is in its file, and it is read again by the same key alone.
func TestSealed(t *testing.T) {
	ctx, ledger := context.Background(), filepath.Join(t.TempDir(), "ledger")
	for i, key := range []string{strings.Repeat("1f", 32), strings.Repeat("1f", 32), strings.Repeat("2e", 32)} {
		t.Setenv("TABLES_KEY", key)
		p := enginetest.ClinicPolicyFor(t, funcs.DuckDB, "unit: patients.patient_id\n", "unit: patients.patient_id\ncache: {key: env:TABLES_KEY}\n")
		e, err := server.Open(ctx, server.Options{Policy: p, Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: ledger})
		if err != nil {
			t.Fatal(err)
		}
		s := enginetest.NewSession(e, t, "ann")
		if i == 0 {
			enginetest.MustTry(t, s, "CREATE DP SYNTHETIC TABLE kept AS SELECT gender, medications FROM patients JOIN encounters USING (patient_id)")
		}
		if _, err := enginetest.Try(s, "SELECT * FROM kept"); (err == nil) != (i < 2) || err != nil && sqlerr.ID(err) != sqlerr.ResourceFailure.ID {
			t.Errorf("key %d: %v", i, err)
		}
		if rows := enginetest.MustTry(t, s, "SHOW DP SYNTHETIC TABLES"); len(rows) != 1 || rows[0][0] != "kept" {
			t.Errorf("key %d: %v", i, rows)
		}
		if i == 2 {
			enginetest.MustTry(t, s, "DROP DP SYNTHETIC TABLE kept")
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if file, err := os.ReadFile(ledger + server.ModelsSuffix); err != nil || bytes.Contains(file, []byte("medications")) {
			t.Errorf("the file has the table's text: %v", err)
		}
	}
}

// TestMemoryOfQueries: the catalogs, SHOW and EXPLAIN read no synthetic rows. Of one analyst one statement at a time holds some, of all analysts as many as there are cores, and each at most MostSyntheticCells cells.
func TestMemoryOfQueries(t *testing.T) {
	ann := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	e, ctx := ann.Engine, context.Background()
	enginetest.MustTry(t, ann, "CREATE DP SYNTHETIC TABLE s AS SELECT gender FROM patients WITH (price = 1)")
	take := func(turns *server.Turns, of string, most int) func() {
		done, err := turns.Take(ctx, of, most)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	waits := func(turns *server.Turns, user string, want bool) {
		t.Helper()
		s := enginetest.NewSession(e, t, user)
		for _, sql := range []string{"EXPLAIN SELECT * FROM s", "SHOW DP SYNTHETIC TABLES", "SELECT relname FROM pg_class WHERE relname = 's'", "SELECT epsilon FROM dpsql.budget"} {
			enginetest.MustTry(t, s, sql)
		}
		p, err := enginetest.Prepare(s, "SELECT count(*) FROM s")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, err := p.Run(ctx, nil)
			ended <- err
		}()
		for {
			select {
			case err := <-ended:
				if waited := errors.Is(err, context.Canceled); waited != want || err != nil && !waited {
					t.Errorf("%s: waits %v: %v", user, waited, err)
				}
				return
			case <-time.After(time.Millisecond):
				if _, waiting := turns.Held(); waiting > 0 {
					cancel()
				}
			}
		}
	}
	own := take(&e.Queues.Synthetic, "ann", 1)
	waits(&e.Queues.Synthetic, "ann", true)
	waits(&e.Queues.Synthetic, "bob", false)
	own()
	var all []func()
	for range runtime.GOMAXPROCS(0) {
		all = append(all, take(&e.Queues.AllSynthetic, "", runtime.GOMAXPROCS(0)))
	}
	waits(&e.Queues.AllSynthetic, "ann", true)
	for _, done := range all {
		done()
	}
	waits(&e.Queues.AllSynthetic, "ann", false)
	for _, turns := range []*server.Turns{&e.Queues.Synthetic, &e.Queues.AllSynthetic} {
		if held, _ := turns.Held(); held != 0 {
			t.Errorf("%d turns are kept", held)
		}
	}
	for columns := 1; columns <= 64; columns++ {
		if rows := synthetic.MostRows(columns); rows*columns > session.MostSyntheticCells || rows < 31_000 {
			t.Errorf("%d columns: %d rows", columns, rows)
		}
	}
}

// TestHiddenNames: what an analyst makes is shown to others, so its names have no characters that are not seen, or that reorder others.
func TestHiddenNames(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for _, name := range []string{"x\u202estneitap", "x\u200by", "x\x1b[2J", "x\ny", "x\u00a0y", "x\u3164", "x\u2800", "x\ufe0f"} {
		for _, form := range []string{
			`CREATE DP SYNTHETIC TABLE "%s" AS SELECT gender FROM patients`, `CREATE DP SYNTHETIC TABLE s AS SELECT gender AS "%s" FROM patients`, `CREATE DP WATCH "%s" AS SELECT count(*) FROM patients THRESHOLD 10 EVERY '1 day'`,
			`TRAIN DP MODEL "%s" USING softmax_regression TARGET gender WITH (max_rows_per_unit = 1) AS SELECT gender, race FROM patients`, `TRAIN DP MODEL m USING softmax_regression TARGET gender WITH (max_rows_per_unit = 1) AS SELECT gender, race AS "%s" FROM patients`,
			`ALTER DP MODEL m RENAME TO "%s"`,
		} {
			refused(t, s, fmt.Sprintf(form, name), "has characters that are not seen Take a name without them: ")
		}
	}
}
