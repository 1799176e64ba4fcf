package prooftest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

var noticedStatements = []string{
	"select count(*), sum(free) from encounters",
	"select diag, count(*), sum(free) from encounters group by 1",
	"select diag, days, count(*) from encounters group by 1, 2",
	"select kind_id, stddev_samp(days), count(*) / (count(*) - count(*)) from encounters group by 1",
	"select readmitted, avg(cost), 100 / count(*) from encounters where days + 0 > 1000 group by 1",
	"select n, count(*) from (select city_id, count(*) as n from patients group by 1) t group by 1",
	"select count(*) from encounters where days > (select 10 / (count(*) - count(*)) from encounters)",
	"select kind_id, max(free), min(days), max(days) from encounters group by 1",
	"select readmitted, count(*), sum(free) from encounters where readmitted = 'no' group by 1",
	"select * from (select diag, sum(cost), count(*) from encounters group by 1) t where diag = 'a'",
	"select kind_id, diag, sum(free), avg(free) from encounters group by 1, 2",
	"select gender, readmitted, count(*) from patients p join encounters e on e.patient_id = p.patient_id group by 1, 2",
	"select kind_id, sum(free) from encounters where days + 0 > 12 group by 1",
	"select date_part('month', admitted), admitted, sum(count(*)) over () from stays group by 1, 2",
	"select * from (select admitted, sum(count(*)) over (order by admitted) n from stays group by 1) t where admitted between '2019-01-01' and '2019-01-05'",
}

// saidOf runs a statement and gives all that is said beside its rows. given, if not nil, are releases that take the place of those that were made.
func saidOf(t *testing.T, s *session.Session, sql string, given []*release.Release) (words []string, made []*release.Release) {
	t.Helper()
	ctx := context.Background()
	p, err := enginetest.Prepare(s, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	r, err := private.NewRun(ctx, p.Staged(), nil)
	if err == nil {
		r, err = r.AskOnce(ctx, r.AuditEvent())
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	for i, a := range r.StageRuns {
		made = append(made, a.Release)
		if given != nil {
			a.Release = given[i]
		}
	}
	r.Nulls = nil
	for _, a := range r.StageRuns { // what a stage reads is of given releases too
		a.Given = nil
		if err := r.Inputs(ctx, a); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	s.Last = r.LastAnswer(ctx)
	notice := r.Notice(ctx)
	if _, err := r.Answer(ctx); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	last, err := s.LastRows(ctx)
	if err != nil {
		t.Fatal(err)
	}
	now, all := r.Warnings(ctx)
	return append(now, r.Mark(), notice, fmt.Sprint(last, all)), made
}

// TestNoticesNeighbours: warnings, the notice and dpsql.last are a function of the statement, the policy and what was released: over a database without one unit they are the same where the released numbers are. Where those are
// the other database's own, which is the bug that the test would have to find, they differ.
func TestNoticesNeighbours(t *testing.T) {
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		session := func(c enginetest.Clinic) *session.Session {
			s := enginetest.ClinicSession(t, c, d, append([]string{"{price: 0.5}", "{price: 0.5, min_people: 3}"}, enginetest.AutoEdits...)...)
			enginetest.Set(t, s, "dpsql.notices", "full")
			return s
		}
		warned, differ := 0, 0
		for i, sql := range noticedStatements {
			want, releases := saidOf(t, session(enginetest.Wild), sql, nil)
			if len(want) > 3 {
				warned++
			}
			c := enginetest.Without[i%len(enginetest.Without)]
			if got, _ := saidOf(t, session(c), sql, releases); !slices.Equal(got, want) {
				t.Errorf("%s: %s without %s:\n%q\n%q", d, sql, c.Name, got, want)
			}
			if got, _ := saidOf(t, session(c), sql, nil); !slices.Equal(got, want) {
				differ++
			}
		}
		if warned < 7 || differ == 0 {
			t.Errorf("%s: of %d statements %d warn, and %d say what follows from releases", d, len(noticedStatements), warned, differ)
		}
	}
}

// decidedBefore are statements that are answered free, warned of or refused before any row is read.
var decidedBefore = []string{
	"select count(*), sum(days) from encounters where days between 10 and 5",
	"select count(*) from encounters where readmitted = 'odd'",
	"select readmitted, count(*) from encounters where readmitted in ('odd', '>3') group by 1",
	"select gender, count(*) from patients where gender = 'Mail' group by rollup(gender)",
	"select (select count(*) from encounters), n from (select readmitted, count(*) n from encounters where readmitted = 'odd' group by 1) t",
	"select gender, readmitted, count(*) from patients p join encounters e on e.patient_id = p.patient_id group by 1, 2",
	"select count(*) from encounters where days > (select id from kinds)",
	"select k.id, count(*) from encounters e join kinds k on k.id = e.kind_id where e.kind_id > 1000 group by 1",
	"select * from (select admitted, count(*) n from stays group by 1) t where admitted between '2019-01-01' and '2019-01-05'",
}

// saidBefore is what is said of statements before a row is read: EXPLAIN with its charge and warnings, the refusal, and the whole answer where nothing is charged.
func saidBefore(t *testing.T, s *session.Session) (said []string) {
	t.Helper()
	for _, sql := range decidedBefore {
		rows, err := enginetest.Try(s, "explain "+sql)
		words := fmt.Sprint(rows, err)
		if p, err := enginetest.Prepare(s, sql); err == nil && !slices.ContainsFunc(p.Staged().Stages, (*stage.Stage).IsCharged) {
			a, err := p.Run(t.Context(), nil)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			words += fmt.Sprint(a.Rows, a.Notice, a.Warnings)
		}
		said = append(said, sql+": "+words)
	}
	return said
}

// TestDecidedBeforeNeighbours: what is free, warned of or refused before a row is read is the same over a database without one unit. Were the policy's values those that the rows have, which is the bug that the test would have to find, it would not be.
func TestDecidedBeforeNeighbours(t *testing.T) {
	const listed, seen = `values: ["NO", "<30", ">30"]`, `values: ["NO", "<30", ">30", "odd"]`
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		want := saidBefore(t, enginetest.ClinicSession(t, enginetest.Wild, d, enginetest.AutoEdits...))
		for _, c := range enginetest.Without {
			if got := saidBefore(t, enginetest.ClinicSession(t, c, d, enginetest.AutoEdits...)); !slices.Equal(got, want) {
				t.Errorf("%s: without %s:\n%q\n%q", d, c.Name, got, want)
			}
		}
		if planted := saidBefore(t, enginetest.ClinicSession(t, enginetest.Without[0], d, slices.Concat([]string{listed, seen}, enginetest.AutoEdits)...)); slices.Equal(planted, want) {
			t.Errorf("%s: values that are read from rows are not found", d)
		}
	}
}
