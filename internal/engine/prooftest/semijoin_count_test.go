package prooftest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestNobodyNeighbours: of public rows that private ones keep or leave out, without one unit the number of those with a match changes by no more than is claimed.
func TestNobodyNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		full := 0
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		for _, clip := range []string{"auto", "1"} {
			enginetest.Set(t, s, "dpsql.clip", clip)
			for _, sql := range neighbour.Nobody {
				p, err := enginetest.Prepare(s, sql)
				if err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				share, err := compareDistinct(t, p, nil)
				if err != nil {
					t.Errorf("%s: %s: %v", d, sql, err)
				}
				if share == 1 {
					full++
				}
			}
		}
		if full < 2 {
			t.Errorf("%s: only %d statements use their whole claim: the data is too tame", d, full)
		}
	}
}

// TestNobodyBugs: the test finds a print that keeps all of a person's keys, whatever shape they are asked in, and one that counts public rows without their people.
func TestNobodyBugs(t *testing.T) {
	const rows = "(select distinct 10 * k.id + c.id as v from kinds k, cities c where k.id + c.id is not null) x"
	capped := regexp.MustCompile(` WHERE "g"."vn" <= \d+`)
	uncapped := func(sql string) string { return capped.ReplaceAllString(sql, "") }
	careless := func(string) string {
		return "SELECT count(*) FROM (SELECT DISTINCT 10 * k.id + c.id AS v FROM public.kinds k, public.cities c) x WHERE NOT EXISTS (SELECT FROM public.encounters e WHERE e.encounter_id = v)"
	}
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.Postgres)
	enginetest.Set(t, s, "dpsql.clip", "1")
	for _, c := range []struct {
		sql    string
		mangle func(string) string
	}{
		{"select count(*) from " + rows + " where v is not null and exists (select 1 from encounters e where e.encounter_id = v)", uncapped},
		{"select count(*) from " + rows + " where v is not null and not exists (select 1 from encounters e where e.encounter_id = v)", uncapped},
		{"select count(*) from " + rows + " where v is not null and not exists (select 1 from encounters e where e.encounter_id = v)", careless},
		{"select count(*) from " + rows + " left join encounters e on e.encounter_id = v where v is not null and e.encounter_id is null", uncapped},
		{"select count(*) from (select v from " + rows + " where v is not null except select encounter_id from encounters) t", uncapped},
	} {
		p, err := enginetest.Prepare(s, c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if _, err := compareDistinct(t, p, nil); err != nil {
			t.Errorf("%s: without the bug: %v", c.sql, err)
		}
		if _, err := compareDistinct(t, p, c.mangle); err == nil || strings.Contains(err.Error(), "SQLSTATE") {
			t.Errorf("%s: %.1500v", c.sql, err)
		}
	}
}

// TestNobodyOracle: with room for all keys and noise of scale nothing, answers are PostgreSQL's.
func TestNobodyOracle(t *testing.T) {
	ctx := context.Background()
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres, enginetest.Roomy...)
	enginetest.Set(t, s, "dpsql.max_groups", "1000")
	conn, err := pgconn.Connect(ctx, enginetest.SharedServer(t).URL("clinic_tame"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range neighbour.Nobody {
		if !strings.Contains(sql, "dp_error") {
			enginetest.SameAsText(t, &neighbour.Postgres{Conn: conn}, s, sql, false)
		}
	}
}

// TestNobodyAnswers: the whole way on both backends, and free when it is asked again.
func TestNobodyAnswers(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d)
		enginetest.Set(t, s, "dpsql.price", "0.05")
		ask := through(s)
		for _, sql := range neighbour.Nobody {
			first, again := ask(sql), ask(sql)
			if first.err != "" || fmt.Sprint(first) != fmt.Sprint(again) {
				t.Errorf("%s: %s: %v, then %v", d, sql, first, again)
			}
			if got := ask("explain verbose " + sql); got.err != "" || !strings.Contains(fmt.Sprint(got.rows), "distinct values") {
				t.Errorf("%s: explain %s: %v", d, sql, got)
			}
		}
	}
}
