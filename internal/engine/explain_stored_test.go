package engine_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestExplainStored: EXPLAIN tells of a release what those may know who would be answered from it.
func TestExplainStored(t *testing.T) {
	const sql = "select readmitted, count(*), avg(free) from encounters group by 1"
	for scope, shared := range map[string]bool{"data_set": true, "analyst": false} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append([]string{"statement_timeout: 20s\n", "cache: {scope: " + scope + "}\n"}, enginetest.AutoEdits...)...)
		enginetest.Set(t, s, "dpsql.mechanism", "laplace")
		other := enginetest.NewSession(s.Engine, t, "bob")
		enginetest.Set(t, other, "dpsql.mechanism", "laplace")
		fresh := enginetest.Explained(t, s, sql)
		if !strings.Contains(fresh, "Charge: price 0.5") || enginetest.Explained(t, other, sql) != fresh {
			t.Errorf("%s, and as bob %s", fresh, enginetest.Explained(t, other, sql))
		}
		enginetest.Ask(t, s, sql)
		if told := enginetest.Explained(t, s, sql); !strings.Contains(told, "Charge: nothing (answered from the release made at price 0.5)") || strings.Contains(told, "Noise 1") {
			t.Errorf("own: %s", told)
		}
		if told := enginetest.Explained(t, other, sql); strings.Contains(told, "answered from the release") != shared || strings.Contains(told, "Charge: price 0.5") == shared {
			t.Errorf("%s: %s", scope, told)
		}
		for _, s := range []*session.Session{s, other} {
			enginetest.Set(t, s, "dpsql.price", "1.5")
		}
		told := enginetest.Explained(t, s, sql)
		for _, want := range []string{"Top-up: of the release made at price 0.5", "Charge: the difference from price 0.5: price 1.5 (Laplace, epsilon 1,", " statements at this charge after it\n", "95% error"} {
			if !strings.Contains(told, want) {
				t.Errorf("%s is not in %s", want, told)
			}
		}
		if told := enginetest.Explained(t, other, sql); strings.Contains(told, "Top-up") != shared {
			t.Errorf("%s: %s", scope, told)
		}
	}
}

// TestExplainStoredBounds: of a statement that is stored EXPLAIN tells the bounds and the threshold of the release that answers, whatever price is asked for, and not those of a release that there is not.
func TestExplainStoredBounds(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...), 22)
	enginetest.Set(t, s, "dpsql.notices", "brief")
	enginetest.Set(t, s, "dpsql.max_groups", "auto")
	brief := func(sql string) string {
		_, a := enginetest.Ask(t, s, "explain "+sql)
		lines := ""
		for _, r := range a.Rows {
			lines += r[0].(string) + "\n"
		}
		return lines
	}
	for _, sql := range []string{"select diag, count(*), sum(cost) from encounters group by 1", "select readmitted, sum(level) from encounters group by 1"} {
		enginetest.Set(t, s, "dpsql.price", "2")
		enginetest.Ask(t, s, sql)
		r := s.Last.(*private.LastAnswer).Releases[0]
		edges := r.Release.Edges(r.An)
		var want []string
		for _, c := range r.An.Choices {
			switch {
			case c.IsCap():
				want = append(want, fmt.Sprintf("A person counts in at most %d\n", edges[c.Index]))
			case r.Release.Chosen.HasTooFewPeople(c):
				want = append(want, "too few people to choose a bound for ")
			default:
				want = append(want, fmt.Sprintf("at most %s ", server.Number(r.An.Edge(c, edges[c.Index]).InexactFloat64())))
			}
		}
		if !r.An.Groups.Public {
			want = append(want, fmt.Sprintf("Groups: those with more than about %d people", r.Release.Run.Selection.Threshold))
		}
		outliers := private.OutlierNote(r.Release.Plan)
		for _, p := range []string{"2", "0.5", "1.9", "4"} {
			enginetest.Set(t, s, "dpsql.price", p)
			told := brief(sql)
			for _, words := range want {
				if !strings.Contains(told, words) {
					t.Errorf("at price %s: %q is not in\n%s", p, words, told)
				}
			}
			if strings.Contains(told, "chooses privately") || strings.Contains(told, "that fails") {
				t.Errorf("at price %s: bounds that are not chosen again:\n%s", p, told)
			}
			if told := enginetest.Explained(t, s, sql); !strings.Contains(told, outliers) {
				t.Errorf("at price %s: %q is not in\n%s", p, outliers, told)
			}
		}
		if _, a := enginetest.Ask(t, s, sql); !strings.Contains(a.Notice, outliers) { // measured again
			t.Errorf("%q is not in %s", outliers, a.Notice)
		}
	}
}

// TestExplainPartlyPaid: where stored releases are a part of the answer, EXPLAIN says of its guarantees that they are the new part's, as an answer with nothing stored guarantees more than that.
func TestExplainPartlyPaid(t *testing.T) {
	const one, both = "select count(*) from patients", "select count(*) from patients union all select count(*) from encounters"
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.mechanism", "gaussian")
	check := func(sql string, whole bool) {
		t.Helper()
		brief, verbose := "", enginetest.Explained(t, s, sql)
		for _, r := range enginetest.MustTry(t, s, "explain "+sql) {
			brief += r[0].(string) + "\n"
		}
		for words, want := range map[string]bool{"As the only answer it would guarantee epsilon ": whole, "The new part alone would guarantee epsilon ": !whole} {
			if strings.Contains(brief, words) != want {
				t.Errorf("%s: is %q there: %t\n%s", sql, words, !want, brief)
			}
		}
		for words, want := range map[string]bool{"By each accountant, this statement alone": whole, "By each accountant, the new part alone": !whole, "Group privacy: this statement alone": whole} {
			if strings.Contains(verbose, words) != want {
				t.Errorf("%s: is %q there: %t\n%s", sql, words, !want, verbose)
			}
		}
	}
	enginetest.Set(t, s, "dpsql.price", "0.2")
	check(one, true)
	check(both, true)
	enginetest.Ask(t, s, one)
	enginetest.Set(t, s, "dpsql.price", "0.5")
	check(one, false)  // it is topped up
	check(both, false) // half of it is
	enginetest.Ask(t, s, one)
	check(both, false) // half of it is stored
}

// TestExplainTopUpOverBudget: what the budget does not hold is said before it is asked.
func TestExplainTopUpOverBudget(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 1, delta: 0}")
	const sql = "select count(*) from encounters"
	enginetest.Ask(t, s, sql)
	enginetest.Set(t, s, "dpsql.price", "1")
	if told := enginetest.Explained(t, s, sql); !strings.Contains(told, "Left: 0 statements at this charge after it") {
		t.Error(told)
	}
	enginetest.Set(t, s, "dpsql.price", "1.5")
	if told := enginetest.Explained(t, s, sql); !strings.Contains(told, "Left: the budget does not hold this charge") {
		t.Error(told)
	}
}

// TestNoticeOfRatio: the NOTICE has the error of an average without a range too: dp_error's, in the largest group.
func TestNoticeOfRatio(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...), 22)
	enginetest.Set(t, s, "dpsql.notices", "brief")
	enginetest.Set(t, s, "dpsql.price", "5")
	_, a := enginetest.Ask(t, s, "select avg(free) as f, dp_error(avg(free)), avg(days) as d, dp_error(avg(days)), count(*) as c from encounters")
	for i, name := range []string{"f", "d"} {
		width, ok := a.Rows[0][2*i+1].(float64)
		if want := name + " " + server.Number(width); !ok || !strings.Contains(a.Notice, want) {
			t.Errorf("%v has not %s: %v", a.Notice, want, a.Rows)
		}
	}
}

// TestNoticeOfChosenRows: where rows are chosen by noisy numbers the largest group may not be among them, so the NOTICE, and EXPLAIN afterwards, have the widest error of all groups.
func TestNoticeOfChosenRows(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...), 22)
	enginetest.Set(t, s, "dpsql.notices", "brief")
	enginetest.Set(t, s, "dpsql.price", "5")
	told := regexp.MustCompile(`95% error \(widest of all groups[^)]*\): x ([0-9.e+]+)`)
	for _, agg := range []string{"avg(days)", "count(*)", "median(days)", "stddev(days)"} {
		for limit := 1; limit <= 3; limit++ {
			sql := fmt.Sprintf("select kind_id, %s as x, dp_error(%[1]s) from encounters group by 1 order by 2 limit %d", agg, limit)
			_, a := enginetest.Ask(t, s, sql)
			for _, text := range []string{a.Notice, enginetest.Explained(t, s, sql)} {
				of := told.FindStringSubmatch(text)
				if of == nil {
					t.Errorf("%s: %s", sql, text)
					continue
				}
				most, _ := strconv.ParseFloat(of[1], 64)
				for _, r := range a.Rows {
					if x, ok := r[2].(float64); !ok || x > 1.01*most { // of three digits
						t.Errorf("%s: %v has more than %g", sql, r, most)
					}
				}
			}
		}
	}
}

// TestUnseenWords: the NOTICE, and EXPLAIN before, say of about how many people with far more than all others no interval holds what they have: the most that a choice of bounds may not see. Where bounds are declared they say nothing of it.
func TestUnseenWords(t *testing.T) {
	unseen := regexp.MustCompile(`; it is larger if a few people \(fewer than about (\d+)\) have far more than all others`)
	one := dp.Scale{Num: 1, Den: 1}
	plans := []*price.Quote{{}, {Choices: []dp.Event{dp.AboveThreshold{Threshold: 7, Scale: one, Margin: 30}, dp.Choice{Edges: 3}, dp.AboveThreshold{Threshold: 5, Scale: one}}}, {Choices: []dp.Event{dp.AboveThreshold{Threshold: 6, Scale: one}}}}
	for n, of := range map[string][]*price.Quote{"": plans[:1], "10": plans, "9": plans[2:]} {
		if told := unseen.FindStringSubmatch(private.OutlierNote(of...)); (told == nil) != (n == "") || told != nil && told[1] != n {
			t.Errorf("%v, not %s", told, n)
		}
	}
	for _, c := range []struct {
		sql, clip string
		choices   int
	}{{"select sum(cost) from encounters", "auto", 1}, {"select readmitted, count(*), sum(level) from encounters group by 1", "auto", 2}, {"select count(*) from encounters", "2", 0}} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
		enginetest.Set(t, s, "dpsql.notices", "brief")
		enginetest.Set(t, s, "dpsql.clip", c.clip)
		enginetest.Set(t, s, "dpsql.price", "5") // else all values are NULL, of which nothing is said
		before := enginetest.Explained(t, s, c.sql)
		_, a := enginetest.Ask(t, s, c.sql)
		most, choices := uint64(0), 0
		for _, ev := range s.Last.(*private.LastAnswer).Releases[0].Release.Plan.Choices {
			if ev, ok := ev.(dp.AboveThreshold); ok {
				most = max(most, ev.Threshold+uint64(math.Ceil(3*ev.Scale.Float())))
				choices++
			}
		}
		want := fmt.Sprintf("; it is larger if a few people (fewer than about %d) have far more than all others", most)
		for _, text := range []string{a.Notice, before} {
			if choices != c.choices || strings.Contains(text, want) != (choices > 0) || choices == 0 && unseen.MatchString(text) {
				t.Errorf("%s, %d choices: %s not in %s", c.sql, choices, want, text)
			}
		}
	}
}

// TestExplainUnits: EXPLAIN's spans and its errors in multiples of a choice are in the units of dpsql.last's clip, whichever way parts are bounded.
func TestExplainUnits(t *testing.T) {
	span := regexp.MustCompile(`edges from ([0-9.]+) to ([0-9.]+)\)`)
	times := regexp.MustCompile(`x ([0-9.e+]+) x choice 1`)
	for _, bounding := range []string{"linf", "l2"} {
		for _, sql := range []string{"count(*)", "sum(cost)", "sum(level)", "sum(free)", "count(distinct patient_id)"} {
			s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...), 22)
			enginetest.Set(t, s, "dpsql.bounding", bounding)
			enginetest.Set(t, s, "dpsql.mechanism", "gaussian")
			sql = "select readmitted, " + sql + " as x from encounters group by 1"
			told := enginetest.Explained(t, s, sql)
			enginetest.Ask(t, s, sql)
			_, a := enginetest.Ask(t, s, "select clip, error_95, bound, scale from dpsql.last")
			clip := a.Rows[0][0].(float64)
			width, known := a.Rows[0][1].(float64) // NULL where the value is
			if a.Rows[0][2] == "declared" {
				continue
			}
			ends, factor := span.FindStringSubmatch(told), times.FindStringSubmatch(told)
			if ends == nil || factor == nil {
				t.Fatalf("%s: %s", sql, told)
			}
			var lo, hi, x float64
			if _, err := fmt.Sscan(ends[1]+" "+ends[2]+" "+factor[1], &lo, &hi, &x); err != nil {
				t.Fatal(err)
			}
			if clip < lo || clip > hi {
				t.Errorf("%s: %s: %g was chosen, told: %s", bounding, sql, clip, ends[0])
			}
			noise := 1.96 * a.Rows[0][3].(float64)
			// EXPLAIN expects something to be lost, too; of these few people a thousand bounds are, so the width has no upper limit. A part of a step is 256 times too much or too little, which the noise alone shows.
			if want := x * clip; noise < want/6 || noise > want || known && width < want/2 {
				t.Errorf("%s: %s: the error is %g, of noise alone %g, at %g, told: %s", bounding, sql, width, noise, clip, factor[0])
			}
		}
	}
}

// TestEnds: a bound that is the first or the last of its candidates is told as such, with the cure, in a warning; one between them is not, nor one row a person. dpsql.last says the same, and after a
// release EXPLAIN says the bound in place of the candidates.
func TestEnds(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	enginetest.Set(t, s, "dpsql.notices", "brief")
	const sql = "select sum(free) as x from encounters"
	_, a := enginetest.Ask(t, s, sql)
	an, r := s.Last.(*private.LastAnswer).Releases[0].An, s.Last.(*private.LastAnswer).Releases[0].Release
	c := an.Choices[0]
	told := func(at, n int) string {
		fake := *r
		plan := *r.Plan
		plan.Choices = slices.Clone(plan.Choices)
		choice := plan.Choices[0].(dp.AboveThreshold)
		choice.Edges = uint64(n)
		plan.Choices[0] = choice
		fake.Plan, fake.Chosen = &plan, price.Chosen{at}
		fake.Lost = nil // the few people of this table may be found far beyond the bound, which is another line
		return strings.Join(stage.EndLines(an, &fake, nil), "\n")
	}
	n := len(c.Edges)
	for at, want := range map[int]string{0: "the least possible one", n / 2: "", n - 1: "the largest possible one"} {
		if got := told(at, n); !strings.Contains(got, want) || want != "" && !strings.Contains(got, an.Edge(c, c.Edges[at]).String()+" is the chosen bound") || (want == "") != (got == "") || want != "" && !strings.Contains(got, "a range in the policy") {
			t.Errorf("edge %d of %d: %q", at, n, got)
		}
	}
	if got := told(0, 1); !strings.Contains(got, "the only possible one") {
		t.Errorf("of one: %q", got)
	}
	if got := told(noise.TooFew, n); !strings.Contains(got, "too few people") {
		t.Errorf("too few: %q", got)
	}
	for _, l := range stage.EndLines(an, r, nil) {
		if !slices.Contains(a.Warnings, l) {
			t.Errorf("%q is not in %q", l, a.Warnings)
		}
	}
	want := "chosen"
	if end := stage.AtEnd(r, c); end != "" {
		want += ", " + end
	}
	_, last := enginetest.Ask(t, s, "select bound, clip from dpsql.last")
	if last.Rows[0][0] != want {
		t.Errorf("dpsql.last has %v, not %s", last.Rows[0][0], want)
	}
	_, edge := r.Plan.Edge(c, r.Chosen)
	if text := enginetest.Explained(t, s, sql); !strings.Contains(text, "what choice 1 gives (it was "+an.Edge(c, edge).String()+")") || strings.Contains(text, "edges from") {
		t.Error(text)
	}
}

// TestEndsOfCaps: of a cap the last candidate is told only where a person may be in more groups. What makes unknown groups public is named first, the setting with what must be true of it, and a price only where a larger one has more candidates.
func TestEndsOfCaps(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	enginetest.Set(t, s, "dpsql.bounding", "linf")
	enginetest.Set(t, s, "dpsql.max_groups", "auto")
	for _, c := range []struct {
		sql    string
		public string
		all    bool
	}{{"select readmitted, kind_id, count(*) from encounters group by 1, 2", "", true}, {"select days, diag, count(*) from encounters group by 1, 2", "diag IN (a, b) in WHERE, values of the grouping columns in the policy", false},
		{"select days, diag || readmitted, count(*) from encounters group by 1, 2", "", false}, {"select days, upper(diag), count(*) from encounters group by 1, 2", "diag IN (a, b) in WHERE", false}} {
		p, _ := enginetest.Ask(t, s, c.sql)
		staged := p.Staged()
		public := func() []string { return staged.Program.PublicConditions(context.Background(), 0, s.Options()) }
		an, r := s.Last.(*private.LastAnswer).Releases[0].An, s.Last.(*private.LastAnswer).Releases[0].Release
		at := an.Limit.Cap
		if at == nil {
			t.Fatalf("%s: no cap is chosen: %+v", c.sql, an.Limit)
		}
		told := func(n int) string {
			fake, plan := *r, *r.Plan
			plan.Choices = slices.Clone(plan.Choices)
			choice := plan.Choices[at.Index].(dp.AboveThreshold)
			choice.Edges = uint64(n)
			plan.Choices[at.Index] = choice
			fake.Plan, fake.Chosen = &plan, slices.Clone(r.Chosen)
			fake.Chosen[at.Index] = n - 1
			lines := slices.DeleteFunc(stage.EndLines(an, &fake, public), func(l string) bool { return !strings.Contains(l, "groups that one person") })
			return strings.Join(lines, "\n")
		}
		const few = "SET dpsql.max_groups = N or query.max_groups in the policy if nobody is in more than N groups"
		setting, more := ". What mends that: "+few, ". What mends that: "+few+", or a larger dpsql.price with SET dpsql.fresh = on"
		if c.public != "" {
			setting, more = ". What mends that: "+c.public+", or "+few, ". What mends that: "+c.public+", "+few+", or a larger dpsql.price with SET dpsql.fresh = on"
		}
		if got := told(len(at.Edges)); c.all && got != "" || !c.all && !strings.HasSuffix(got, setting) {
			t.Errorf("%s: the last: %q", c.sql, got)
		}
		if got := told(len(at.Edges) - 1); !strings.HasSuffix(got, more) {
			t.Errorf("%s: the last but one: %q", c.sql, got)
		}
	}
}

// TestEndsOfNorms: a norm that holds whatever a person may have in the public groups cuts nothing, so nothing is said of it; of rows that no key bounds the last candidate is told.
func TestEndsOfNorms(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	enginetest.Set(t, s, "dpsql.bounding", "l2")
	for sql, most := range map[string]uint64{"select kind_id, count(distinct patient_id) from encounters group by 1": 512, "select kind_id, count(*) from encounters group by 1": 0} {
		enginetest.Ask(t, s, sql)
		an, r := s.Last.(*private.LastAnswer).Releases[0].An, s.Last.(*private.LastAnswer).Releases[0].Release
		if an.Limit.Norm == 0 || len(an.Choices) != 1 || an.Choices[0].Most != most {
			t.Fatalf("%s: %+v, %+v", sql, an.Limit, an.Choices)
		}
		fake := *r
		fake.Chosen, fake.Lost = price.Chosen{int(r.Plan.CandidateCount(an.Choices[0])) - 1}, nil
		if got := strings.Join(stage.EndLines(an, &fake, nil), "\n"); strings.Contains(got, "and the largest possible one") != (most == 0) || strings.Contains(got, "and and") {
			t.Errorf("%s: %q", sql, got)
		}
	}
}

// TestEndsOfTimes: what is made of times, or of texts, has no range in the policy, so the cure is in the statement.
func TestEndsOfTimes(t *testing.T) {
	s := tickets(t, funcs.DuckDB)
	const times, others = "hi)) with constants and ", "greatest(lo, least(length(queue), hi)) with constants and length(queue) IS NOT NULL"
	for sql, cure := range map[string]string{
		"select sum(closed_at - opened_at) from tickets":                                               times,
		"select avg(extract(epoch from d)) from (select closed_at - opened_at as d from tickets) as t": times,
		"select sum(length(queue)) from tickets":                                                       others,
	} {
		enginetest.Ask(t, s, sql)
		an, r := s.Last.(*private.LastAnswer).Releases[0].An, s.Last.(*private.LastAnswer).Releases[0].Release
		for _, c := range an.Choices {
			if c.Measure < 0 {
				continue
			}
			fake := *r
			fake.Chosen = slices.Clone(r.Chosen)
			fake.Chosen[c.Index] = int(r.Plan.CandidateCount(c)) - 1
			got := strings.Join(stage.EndLines(an, &fake, nil), "\n")
			if strings.Contains(got, "a range in the policy") || !strings.Contains(got, cure) || !strings.Contains(got, "the largest") {
				t.Errorf("%s: %q", sql, got)
			}
		}
	}
}
