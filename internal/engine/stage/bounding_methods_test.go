package stage_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// doubtful is a policy by which joins on days are expected to err less by declared frequencies: it knows of far more people than there are. So the measured ones err less, once a release has told.
var doubtful = append(enginetest.AnyJoins[:2:2], "budget: {epsilon: 20,", "population: 6000\nbudget: {epsilon: 200,",
	"    max_rows_per_unit: 4\n    columns:\n      encounter_id: {}\n", "    max_rows_per_unit: 4\n    max_frequency: {days: 1500}\n    columns:\n      encounter_id: {}\n")

const (
	onDays  = "select count(*) from encounters a join encounters b on a.days = b.days"
	sumDays = "select sum(x.medications) from encounters y join encounters x on x.days = y.days where x.cost + y.cost > 3" // the same joins
)

// What EXPLAIN says of the bound of joins on days: by the policy's numbers, and by an earlier release.
const (
	byGuess   = `truncate, expected to err less. The 95% errors at price 0.5 are: truncate \(declared frequencies\) 51600, elastic \(measured frequencies\) about 119000, were the rows of 6000 people spread evenly over the values. SET dpsql.bounding = weighted answers another number`
	byRelease = `elastic, expected to err less. The 95% errors at price 0.5 are: truncate \(declared frequencies\) [57]\d{4}, elastic \(measured frequencies\) about [12]\d{4}, by an earlier release over these joins, made at price 0.\d+(. SET dpsql.bounding = weighted answers another number)?`
)

// bounds holds EXPLAIN's word on a statement's bound against a pattern.
func bounds(t testing.TB, s *session.Session, sql, want string, args ...sqltype.Value) {
	t.Helper()
	if text := enginetest.PlanText(t, s, sql, args...); !regexp.MustCompile(`\nBounding: ` + want + `\n`).MatchString(text) {
		t.Errorf("%s asks %s: want %s in\n%s", s.Analyst.Name, sql, want, text)
	}
}

// TestJoinsByEarlierReleases: what a release by elastic found is what other statements over the same joins are expected to err by, and those alone; a repeat of what was paid for is free, whatever was released since and by whichever bound it was paid. Noise of the scale that would choose otherwise has a probability below 1e-9: it
// would have to be e^0.5 where its parameter is 0.024.
func TestJoinsByEarlierReleases(t *testing.T) {
	e := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, doubtful...).Engine
	s, bob := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "bob")
	enginetest.Set(t, s, "dpsql.bounding", "auto")
	of := func(sql string, want int, args ...sqltype.Value) (out string) {
		t.Helper()
		if n := enginetest.Charged(t, e, func() {
			rows, err := enginetest.Try(s, sql, args...)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			out = fmt.Sprint(rows)
		}); n != want {
			t.Errorf("%s: %d charges, not %d", sql, n, want)
		}
		return out
	}
	const grouped = "select readmitted, count(*) from (select a.readmitted from encounters b join encounters a using (days)) t group by 1"
	const some = "select count(*) from encounters a join encounters b on a.days = b.days where a.kind_id = $1"
	bounds(t, s, onDays, byGuess)
	cut := of(onDays, 1)
	enginetest.Set(t, s, "dpsql.bounding", "elastic")
	of(sumDays, 1)
	enginetest.Set(t, s, "dpsql.bounding", "auto")

	if text := enginetest.PlanText(t, s, onDays); !strings.Contains(text, "answered from the release made at price 0.5") || !strings.Contains(text, "Bounding: truncate, of which there is a release. Asked anew it is elastic, expected to err less") {
		t.Errorf("once another bound is better EXPLAIN of what is stored says\n%s", text)
	}
	if again := of(onDays, 0); again != cut {
		t.Errorf("once another bound is better a repeat says %s after %s", again, cut)
	}
	of(sumDays, 0) // by the bound that was asked for by name
	for _, other := range []*session.Session{s, bob} {
		bounds(t, other, grouped, byRelease)
		bounds(t, other, some, byGuess, int64(1))
		bounds(t, other, "select count(*) from encounters a join encounters b on a.days = b.days where a.days > 2", byGuess)
		bounds(t, other, "select count(*) from encounters a join encounters b on a.days = b.days join encounters c on c.days = b.days", "truncate, .* were the rows of 6000.*")
	}
	if text := enginetest.PlanText(t, s, grouped); !strings.Contains(text, "by an earlier release over these joins, made at price 0.5") || !strings.Contains(text, "Choice 1:") {
		t.Errorf("EXPLAIN says\n%s", text)
	}
	first := of(grouped, 1)
	if again := of(grouped, 0); again != first {
		t.Errorf("a repeat says %s after %s", again, first)
	}
	of("select p.readmitted, count(*) from encounters p join encounters q on q.days = p.days group by p.readmitted", 0)

	enginetest.Set(t, s, "dpsql.fresh", "on") // it is not answered by what is stored, and goes by it
	bounds(t, s, onDays, byRelease)
	measured := of(onDays, 1)
	enginetest.Set(t, s, "dpsql.fresh", "off")
	if again := of(onDays, 0); again != measured { // of two the one that errs less
		t.Errorf("of releases by both bounds %s answers, not %s", again, measured)
	}
	enginetest.Set(t, s, "dpsql.price", "1") // measured ones are not topped up
	bounds(t, s, onDays, byRelease)
	of(onDays, 1)
	of(onDays, 0)
	enginetest.Set(t, s, "dpsql.price", "0.5")
	of(onDays, 0)

	enginetest.Set(t, s, "dpsql.price", "0.4")
	enginetest.Set(t, s, "dpsql.bounding", "elastic")
	of(some, 1, int64(1))
	enginetest.Set(t, s, "dpsql.bounding", "auto")
	enginetest.Set(t, s, "dpsql.price", "0.5")
	bounds(t, s, some, byRelease, int64(1))
	bounds(t, s, some, byGuess, int64(2))
	of(some, 1, int64(2))
	of(some, 0, int64(2))

	const third, sumThird = onDays + " where a.kind_id = 3", "select sum(b.cost), count(distinct a.diag) from encounters a join encounters b on a.days = b.days where b.kind_id = 3"
	of(third, 1)
	enginetest.Set(t, s, "dpsql.bounding", "elastic")
	of(sumThird, 1)
	enginetest.Set(t, s, "dpsql.bounding", "auto")
	bounds(t, s, third, "truncate, of which there is a release. Asked anew it is elastic, .*")
	enginetest.SetTarget(t, s, "60000")
	if text := enginetest.PlanText(t, s, third); !strings.Contains(text, "kept by the release made at price 0.5") {
		t.Errorf("an error that a release by the other bound has is not kept:\n%s", text)
	}
	of(third, 0)
	of("select readmitted, count(*) from encounters join (select days from encounters where kind_id = 3) b using (days) group by 1", 1) // truncate's price is known, elastic's is not
}

// TestJoinsByTurns: who asks a statement again while it is being asked waits for it, also where by now the other bound would be taken.
func TestJoinsByTurns(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, doubtful...)
	ask := func(bounding string) *private.Run {
		t.Helper()
		enginetest.Set(t, s, "dpsql.bounding", bounding)
		p, err := enginetest.Prepare(s, onDays)
		if err != nil {
			t.Fatal(err)
		}
		r, err := private.NewRun(context.Background(), p.Staged(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := ask("auto")
	enginetest.Set(t, s, "dpsql.bounding", "elastic")
	if _, err := enginetest.Try(s, sumDays); err != nil {
		t.Fatal(err)
	}
	second := ask("auto")
	if first.StageRuns[0].An.IsSmoothed() || !second.StageRuns[0].An.IsSmoothed() {
		t.Fatal("both have one bound")
	}
	unlock, err := first.Lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := second.Lock(ended); err == nil {
		t.Error("two ask one statement at once")
	}
	unlock()
	unlock, err = second.Lock(ended)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// TestJoinsByWhoseReleases: who may not have a release, its data set's, its time's or its policy's, hears nothing of its scale: neither does what they ask have another bound, nor does EXPLAIN say another word.
func TestJoinsByWhoseReleases(t *testing.T) {
	now := time.Now()
	for _, scope := range []string{"analyst", "data_set"} {
		p := enginetest.ClinicPolicyFor(t, funcs.DuckDB, append(doubtful, "statement_timeout", "cache: {ttl: 24h, scope: "+scope+"}\nstatement_timeout")...)
		e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: filepath.Join(t.TempDir(), "ledger"), Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		ann, bob := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "bob")
		bounds(t, bob, onDays, byGuess)
		enginetest.Set(t, ann, "dpsql.bounding", "elastic")
		if _, err := enginetest.Try(ann, sumDays); err != nil {
			t.Fatal(err)
		}
		enginetest.Set(t, ann, "dpsql.bounding", "auto")
		bounds(t, ann, onDays, byRelease)
		if scope == "analyst" {
			bounds(t, bob, onDays, byGuess)
		}
		if _, err := enginetest.Try(bob, onDays); err != nil {
			t.Fatal(err)
		}
		if scope == "analyst" {
			bounds(t, bob, onDays, byGuess)
			now = now.Add(25 * time.Hour)
			bounds(t, ann, onDays, byGuess)
			continue
		}
		bounds(t, bob, onDays, byRelease)
		if err := e.Reload(context.Background(), enginetest.ClinicPolicyFor(t, funcs.DuckDB, append(doubtful, "medications:  {range: [0, 100]}", "medications:  {range: [0, 99]}")...)); err != nil {
			t.Fatal(err)
		}
		bounds(t, ann, onDays, byGuess)
		bounds(t, bob, onDays, byGuess)
	}
}
