package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// finished are statements that compute from released rows.
var finished = []string{
	// windows
	"select readmitted, count(*), rank() over (order by count(*) desc), 100.0 * count(*) / sum(count(*)) over () from encounters group by 1",
	"select diag, count(*), dense_rank() over (order by count(*)), percent_rank() over (order by count(*)), cume_dist() over (order by count(*) desc), ntile(3) over (order by count(*), diag) from encounters group by 1",
	"select kind_id, sum(cost), lag(sum(cost)) over (order by kind_id), lead(sum(cost), 1, 0) over (order by kind_id), sum(sum(cost)) over (order by kind_id rows between 1 preceding and current row) from encounters group by 1",
	"select kind_id, readmitted, count(*), round(avg(count(*)) over (partition by readmitted order by kind_id rows between 1 preceding and 1 following), 2) from encounters group by 1, 2",
	"select kind_id, readmitted, sum(days), first_value(readmitted) over (partition by kind_id order by sum(days) desc, readmitted), max(sum(days)) over (partition by kind_id), count(*) filter (where readmitted = 'NO') over () from encounters group by 1, 2",
	"select kind_id, avg(cost), avg(cost) - avg(avg(cost)) over () from encounters group by 1",
	"select diag, n, stddev(n) over (), sum(n) over (order by n range between 2 preceding and 2 following exclude current row) from (select diag, count(*) n from encounters group by 1) t",
	"select readmitted, n from (select readmitted, kind_id, count(*) n, row_number() over (partition by readmitted order by count(*) desc, kind_id) r from encounters group by 1, 2) t where r = 1",
	// DISTINCT ON, ties
	"select distinct on (readmitted) readmitted, kind_id, count(*) from encounters group by 1, 2 order by readmitted, count(*) desc, kind_id",
	"select count(*) from encounters group by diag order by 1 desc fetch first 2 rows with ties",
	// aggregates over released rows
	"select avg(n), max(n), min(n), sum(n), count(*), stddev(n), count(distinct n), string_agg(kind_id::text, ',' order by kind_id) from (select kind_id, count(*) n from encounters group by 1) t",
	"select readmitted, sum(n), max(s), percentile_cont(0.5) within group (order by n) from (select readmitted, kind_id, count(*) n, sum(cost) s from encounters group by 1, 2) t group by 1",
	"select readmitted, kind_id, grouping(readmitted, kind_id), sum(n) from (select readmitted, kind_id, count(*) n from encounters group by 1, 2) t group by rollup (1, 2)",
	"select array_agg(n order by n desc, diag) from (select diag, count(*) n from encounters group by 1 having count(*) > 1) t where diag is not null",
	"with g as (select gender, avg(days) a from encounters join patients using (patient_id) group by 1) select max(a) - min(a) from g",
	"select max(k) from (select n, count(*) k from (select patient_id, count(*) n from encounters group by 1) t group by 1) h",
	"select count(*) from (select distinct count(*) n from encounters group by diag) t",
	"select sum(n) from (select diag, count(*) n from encounters group by 1 order by 2 desc, 1 limit 3) t",
	// literals beside the answer
	"select readmitted, n, word from (select readmitted, count(*) n from encounters group by 1) t full join (values ('NO', 'none'), ('<30', 'soon'), ('x', 'never')) w (r, word) on r = readmitted",
	"select readmitted, n * k from (select readmitted, count(*) n from encounters group by 1) t, lateral (values (t.n), (1)) v (k)",
	"select readmitted, count(*) from encounters group by 1 union all select 'all', null",
	"select readmitted from encounters group by 1 having count(*) > 2 intersect (values ('NO'), ('never'))",
	"select n, n in (select v from (values (1), (2)) w (v)), exists (select from (values (3)) w (v) where v < n), (select max(v) from (values (1), (5), (9)) w (v) where v <= n), n > all (values (1), (0)) from (select diag, count(*) n from encounters group by 1) t",
}

// TestFinishing: what is computed from released rows is what PostgreSQL computes for the text, where noise of scale nothing was added.
func TestFinishing(t *testing.T) {
	enginetest.SameAsTexts(t, enginetest.Dialects, finished...)
}

// TestFinishingAnswers: through the session, with noise: answers of any shape come of one release, and the second is free.
func TestFinishingAnswers(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	first, err := enginetest.Try(s, "select readmitted, count(*), rank() over (order by count(*) desc) from encounters group by 1")
	if err != nil || len(first) != 3 {
		t.Fatalf("%v %v", first, err)
	}
	ranks := map[sqltype.Value]bool{}
	for _, r := range first {
		ranks[r[2]] = true
	}
	if !ranks[int64(1)] {
		t.Errorf("nobody is first: %v", first)
	}
	before := len(enginetest.Charges(t, s.Engine))
	again, err := enginetest.Try(s, "select max(n), sum(n) from (select readmitted, count(*) n from encounters group by 1) t")
	if err != nil || len(again) != 1 {
		t.Fatalf("%v %v", again, err)
	}
	if n := len(enginetest.Charges(t, s.Engine)); n != before {
		t.Errorf("the same release was charged again: %d charges, then %d", before, n)
	}
}

// TestFinishingErrors: an error of released values is PostgreSQL's own.
func TestFinishingErrors(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for sql, code := range map[string]string{
		"select 1 / (count(*) - count(*)) from encounters":                                                              "22012",
		"select sum(1 / (n - n)) over () from (select count(*) n from encounters) t":                                    "22012",
		"select (select v from (values (1), (2)) w (v) where n is not null) from (select count(*) n from encounters) t": "21000",
		"select ntile((n - n)::int) over () from (select count(*) n from encounters) t":                                 "22014",
	} {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		_, err = enginetest.Answer(context.Background(), p.Analysis(), enginetest.Unnoised(t, p))
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v, want %s", sql, err, code)
		}
	}
	// What has no evaluation is refused before anything is charged.
	for sql, want := range map[string]string{
		"select readmitted, json_agg(count(*)) over () from encounters group by 1":                    "window function json_agg",
		"select json_agg(n) from (select count(*) n from encounters) t":                               "aggregate json_agg",
		"select avg(n), dp_error(avg(n)) from (select diag, count(*) n from encounters group by 1) t": "dp_error is of an aggregate over private rows",
	} {
		if _, err := enginetest.Try(s, sql); sqlerr.ID(err) != "unsupported" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if n := len(enginetest.Charges(t, s.Engine)); n != 0 {
		t.Errorf("%d charges", n)
	}
}

// TestFinishingMayFail: what released values make fail, and has no NULL in its place, is an error of post-processing: it is paid for once, and the same each time.
func TestFinishingMayFail(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	n := enginetest.Charged(t, s.Engine, func() {
		for range 2 {
			if _, err := enginetest.Try(s, "select ntile((n - n)::int) over () from (select count(*) n from encounters) t"); sqlerr.ID(err) != "invalid_ntile_argument" {
				t.Errorf("%v", err)
			}
		}
		enginetest.Ask(t, s, "select count(*) from encounters")
	})
	if n != 1 {
		t.Errorf("%d charges", n)
	}
}
