package prooftest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// shapesOverJoins are shapes of statements over rows FROM that have columns a.K (of public values), a.U (of unknown ones), a.X (with a range) and a.S (a small number).
var shapesOverJoins = []string{
	"select a.K from FROM group by 1",
	"select distinct a.K from FROM",
	"select distinct on (a.K) a.K from FROM",
	"select a.U from FROM group by 1",
	"select distinct a.U from FROM",
	"select 1 from FROM group by ()",
	"select 1 from FROM having true",
	"select 1 from FROM having count(*) > 1",
	"select a.K is null from FROM group by 1",
	"select a.K from FROM group by a.K, a.X > 2",
	"select case when a.X > 3 then 'long' else 'short' end from FROM group by 1",
	"select 'all' from FROM group by 1",
	"select a.K from FROM group by grouping sets ((a.K), ())",
	"select a.K from FROM group by rollup (a.K)",
	"select a.K, count(*) from FROM group by rollup (a.K)",
	"select a.K from FROM group by 1 having count(*) > 3",
	"select a.K from FROM group by 1 order by count(*) desc limit 1",
	"select a.K from FROM group by 1 limit 0",
	"select a.K, row_number() over (order by a.K) from FROM group by 1",
	"select a.K, sum(count(*)) over () from FROM group by 1",
	"select a.K, count(*), dp_error(count(*)) from FROM group by 1",
	"select count(*) from FROM",
	"select count(*) from FROM limit 0",
	"select count(*) from FROM where false",
	"select count(*) filter (where a.X > 2), count(a.X), count(distinct a.X), sum(a.X), avg(a.X) from FROM",
	"select count(*) + 1, sum(a.X) / nullif(count(*), 0) from FROM",
	"select sum(distinct a.X) from FROM",
	"select min(a.X) from FROM", "select median(a.X) from FROM", "select variance(a.X) from FROM", "select corr(a.X, a.S) from FROM", "select bool_or(a.X > 2) from FROM",
	"select mode() within group (order by a.K) from FROM", "select dp_top_k(a.K, 2) from FROM", "select array_agg(a.X) from FROM", "select string_agg(a.K::text, ',') from FROM",
	"select percentile_cont(0.5) within group (order by a.X) from FROM",
	"select * from FROM", "select a.X from FROM limit 1", "select rank() over (order by a.X) from FROM",
	"select count(*) from (select distinct a.K from FROM) t",
	"select count(*) from (select a.K from FROM group by 1) t",
	"select count(*) from (select a.K, count(*) from FROM group by 1) t",
	"select sum(n) from (select a.K, count(*) as n from FROM group by 1) t",
	"select t.n from (select count(*) as n from FROM) t",
	"select * from (select count(*) from FROM) t",
	"with t as (select a.K from FROM group by 1) select count(*) from t x join t y on x.K = y.K",
	"select distinct count(*) from FROM",
	"select (select count(*) from FROM)",
	"select exists (select 1 from FROM)",
	"select 1 where exists (select a.K from FROM group by 1)",
	"select 1 where 1 in (select a.S from FROM)",
	"select (select 1 from FROM group by ())",
	"select a.K from FROM group by 1 union select a.K from FROM group by 1",
	"select a.K from FROM union select a.K from FROM",
	"select a.K from FROM group by 1 except select a.K from FROM group by 1",
	"select count(*) from (select a.X from FROM union all select a.X from FROM) t",
	"select count(*) from (select a.X from FROM limit 3) t",
	"select count(*) from (select a.K, max(a.X) as m from FROM group by 1) t where m > 2",
	"select count(*) from (select row_number() over (order by a.X) as r from FROM) t where r < 3",
	"select p.K, t.n from PUBLIC p left join (select a.K as k, count(*) as n from FROM group by 1) t on t.k = p.K",
	"select p.K from PUBLIC p where exists (select 1 from FROM where a.K = p.K)",
	"select p.K, (select count(*) from FROM where a.K = p.K) from PUBLIC p",
	"select count(*) from FROM where a.X > (select avg(a.X) from FROM)",
	"select count(*) from FROM where a.K in (select a.K from FROM group by 1)",
}

// source is what a shape is over: rows, and their columns' names.
type source struct{ from, k, u, x, s, public string }

func (f source) of(sql string) string {
	return strings.NewReplacer("FROM", f.from, "a.K", "a."+f.k, "p.K", "p."+f.k, "x.K", "x."+f.k, "y.K", "y."+f.k, "a.U", "a."+f.u, "a.X", "a."+f.x, "a.S", "a."+f.s, "PUBLIC", f.public).Replace(sql)
}

func ofClinic(from string) source { return source{from, "kind_id", "diag", "days", "free", "rates"} }

func ofShop(from string) source {
	return source{from, "l_shipmode", "l_partkey", "l_quantity", "l_linenumber", "(select 'AIR' as l_shipmode) "}
}

// internalErrors asks each shape over a source, and its EXPLAIN, under every bounding, and tells of the internal errors.
func internalErrors(t *testing.T, name string, s *session.Session, f source, boundings ...string) {
	t.Helper()
	answered, refused, known := 0, map[string]int{}, map[string]int{}
	for _, bounding := range boundings {
		enginetest.Set(t, s, "dpsql.bounding", bounding)
		for _, shape := range shapesOverJoins {
			for _, how := range []string{"", "explain "} {
				sql := how + f.of(shape)
				_, err := enginetest.Try(s, sql)
				if err == nil {
					answered++
				} else if id := sqlerr.ID(err); id != sqlerr.Internal.ID && id != "" {
					refused[id]++
				} else if known[shape]++; known[shape] == 1 { // one bounding tells
					t.Errorf("%s, %s: %s: %v", name, bounding, sql, err)
				}
			}
		}
	}
	if answered == 0 {
		t.Errorf("%s: nothing is answered over %s", name, f.from)
	}
	t.Logf("%s: %s: %d answered, refused %v", name, f.from, answered, refused)
}

// TestShapesNotInternal: no statement's shape over rows of one person, of several who are joined off the unit, or of a pair falls to an internal error, under any bounding, asked or explained, whatever else is set. (1 second of CPU; under DPSQL_LONG 10.)
func TestShapesNotInternal(t *testing.T) {
	rich := []string{"budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 10000, delta: 1e-6}"}
	every := []string{"auto", "linf", "l2", "elastic", "truncate", "weighted", "flow"}
	clinic := func(lists ...[]string) *session.Session {
		return enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, slices.Concat(lists...)...)
	}
	shop := func(edits ...string) *session.Session {
		return enginetest.NewSession(enginetest.EngineOn(t, enginetest.ShopPolicyFor(t, funcs.DuckDB, append(edits, rich...)...), enginetest.AllShop.Open(t, funcs.DuckDB)), t, "ann")
	}
	usual, declared := clinic(enginetest.AnyJoins, rich), clinic(enginetest.DeclaredKeys, rich)
	one, self := ofClinic("encounters a"), ofClinic("encounters a join encounters b on a.days = b.days")
	internalErrors(t, "one unit", usual, one, "l2")
	internalErrors(t, "joined", usual, self, "auto", "weighted")
	internalErrors(t, "no equality", usual, ofClinic("encounters a, encounters b"), "elastic")
	internalErrors(t, "declared", declared, self, "truncate")
	internalErrors(t, "pairs", shop(), ofShop("lineitem a"), "auto")
	if os.Getenv("DPSQL_LONG") == "" {
		return
	}
	internalErrors(t, "one unit", usual, one, every...)
	for _, from := range []string{self.from, "encounters a left join encounters b on a.days = b.days", "encounters a join patients b on a.kind_id = b.city_id", "encounters a join rates r on r.kind_id = a.kind_id join encounters b on b.kind_id = r.kind_id", "encounters a join encounters b on a.encounter_id = b.encounter_id"} {
		internalErrors(t, "joined", usual, ofClinic(from), every...)
		internalErrors(t, "declared", declared, ofClinic(from), every...)
	}
	internalErrors(t, "pairs", shop(), ofShop("lineitem a"), every...)
	internalErrors(t, "pairs, any joins", shop("query:  {price: 0.5}", "query:  {price: 0.5, joins: any}"), ofShop("lineitem a join lineitem b on a.l_orderkey = b.l_orderkey"), every...)
	for name, value := range map[string]string{"max_groups": "auto", "mechanism": "laplace", "target_error": "50", "clip": "2", "fresh": "on"} {
		for _, s := range []*session.Session{usual, declared} {
			enginetest.Set(t, s, "dpsql."+name, value)
			internalErrors(t, name+" "+value, s, self, "auto")
			internalErrors(t, name+" "+value, s, one, "auto")
			if err := s.Reset("dpsql." + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, edits := range map[string][]string{"delta 0": {rich[0], "budget: {epsilon: 10000, delta: 0}"}, "min_people": append([]string{"joins: any}", "joins: any, min_people: 3}"}, rich...)} {
		internalErrors(t, name, clinic(enginetest.AnyJoins, edits), one, "auto", "l2")
		internalErrors(t, name, clinic(enginetest.AnyJoins, edits), self, "auto", "elastic", "weighted")
		internalErrors(t, name, clinic(enginetest.DeclaredKeys, edits), self, "truncate")
	}
}

// TestJoinedNothingMeasured: groups of joined rows that are public, and of which nothing is asked, are answered free in full, as over one person's rows, whatever the bounding and without what a bound needs; groups that are not public are refused.
func TestJoinedNothingMeasured(t *testing.T) {
	for _, edits := range [][]string{enginetest.AnyJoins, append([]string{"budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 20, delta: 0}"}, enginetest.AnyJoins...)} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, edits...)
		enginetest.Set(t, s, "dpsql.notices", "brief")
		for _, bounding := range []string{"auto", "linf", "l2", "elastic", "truncate", "weighted"} {
			enginetest.Set(t, s, "dpsql.bounding", bounding)
			for _, sql := range []string{
				"SELECT a.kind_id FROM encounters a GROUP BY 1",
				"SELECT a.kind_id FROM encounters a JOIN encounters b ON a.days = b.days GROUP BY 1",
				"SELECT DISTINCT a.kind_id FROM encounters a JOIN encounters b ON a.days = b.days WHERE b.days > 2",
				"SELECT a.kind_id FROM visits v JOIN encounters a ON v.minutes = a.days GROUP BY 1", // visits has no max_rows_per_unit
				"SELECT a.kind_id FROM encounters a, encounters b GROUP BY 1 ORDER BY 1",
			} {
				p, err := enginetest.Prepare(s, sql)
				if err != nil {
					t.Fatalf("%s: %s: %v", bounding, sql, err)
				}
				answer, err := p.Run(context.Background(), nil)
				if err != nil {
					t.Fatalf("%s: %s: %v", bounding, sql, err)
				}
				rows, err := answer.All(context.Background())
				if err != nil || fmt.Sprint(rows) != "[[1] [2] [3] [4]]" || answer.Notice != "spent: nothing (public groups, nothing measured, or no group left)" {
					t.Errorf("%s: %s: %v, %v, %s", bounding, sql, rows, err, answer.Notice)
				}
			}
			for _, sql := range []string{"SELECT a.diag FROM encounters a JOIN encounters b ON a.days = b.days GROUP BY 1", "SELECT DISTINCT a.diag, a.kind_id FROM encounters a JOIN encounters b ON a.days = b.days"} {
				if _, err := enginetest.Try(s, sql); sqlerr.ID(err) != sqlerr.UnknownGroups.ID {
					t.Errorf("%s: %s: %v", bounding, sql, err)
				}
			}
		}
		if n := len(enginetest.Charges(t, s.Engine)); n != 0 {
			t.Errorf("%d charges", n)
		}
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "query:  {price: 0.5}", "query:  {price: 0.5, joins: any, min_people: 3}") // who would be counted
	if _, err := enginetest.Try(s, "SELECT a.kind_id FROM encounters a JOIN encounters b ON a.days = b.days GROUP BY 1"); sqlerr.ID(err) != sqlerr.JoinOffUnit.ID {
		t.Error(err)
	}
}
