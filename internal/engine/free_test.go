package engine_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// freeSteps are asked one after the other; those that begin with "free " must cost nothing, the others something.
var freeSteps = []string{
	"select readmitted, count(*), sum(days), count(distinct diag) from encounters group by readmitted",
	"free select readmitted, count(*) from encounters group by readmitted",
	"free select sum(days), readmitted from encounters e group by 2 having sum(days) > 0 order by 1 limit 1",
	"free select count(distinct diag), readmitted from (select * from encounters) e group by readmitted",
	"free select count(*) from encounters where readmitted = 'NO'",
	"free select readmitted, sum(days) * 2 - count(*) from encounters where readmitted in ('NO', '<30') group by readmitted",
	"free select readmitted, count(*) from encounters where readmitted <> 'NO' group by readmitted",
	"free select count(distinct diag) from encounters where '>30' = readmitted",
	"select case when readmitted = 'NO' then 'no' else 'yes' end, count(*) from encounters where not readmitted = '>30' and readmitted <> '<30' group by 1", // values that the policy does not list too
	"select readmitted, sum(cost) from encounters group by readmitted",
	"select count(*) from encounters", // a person may be in several groups, and counts less in one
	"select count(*) from encounters where readmitted in ('NO', '<30')",
	"select count(*) from encounters where readmitted = 'NO' and days > 3",
	"select readmitted, count(*) from encounters where days > 3 group by readmitted",
	"free select count(*) from encounters where days > 3 and readmitted = '>30'",
	"select active, ward is null, count(*), sum(weight) from patients group by 1, 2",
	"free select ward is null, active, sum(weight), count(*) from patients group by 1, 2",
	"free select count(*) from patients",
	"free select active, count(*), sum(weight) from patients group by active",
	"free select ward is null, count(*) from patients group by 1",
	"free select sum(weight) from patients where active",
	"select active, ward, count(*) from patients group by active, ward",
	"free select ward, count(*) from patients group by ward",
	"free with p as (select * from patients where ward in ('A', 'B')) select ward, count(*) from p group by rollup (ward)",
	"select gender, active, count(*) from patients group by gender, active",
	"free select gender, count(*) from patients group by gender",
	"free select gender, count(*) from patients where gender = 'Male' group by gender",
	"select active, count(*) from patients where city_id < 3 group by active",
	"select race, count(*), sum(weight) from patients group by race", // chosen groups
	"free select race, count(*) from patients group by race",
	"select count(*) from patients where race = 'x'", // that it was not chosen says nothing
	"select kind_id, count(*) from encounters group by kind_id",
	"free select kind_id, count(*) from encounters where kind_id between 1 and 2 group by kind_id",
	"free select count(*) from encounters where kind_id = 2",
}

// TestFreeQuestions: questions that a stored release of another one says cost nothing, also of another analyst's, and EXPLAIN and the NOTICE tell so; others are charged.
func TestFreeQuestions(t *testing.T) {
	for _, d := range enginetest.Dialects {
		if d == funcs.Postgres && os.Getenv("DPSQL_LONG") == "" { // nothing here depends on it but the releases' totals
			continue
		}
		s := enginetest.ClinicSession(t, enginetest.Tame, d, "epsilon: 20,", "epsilon: 1000,")
		bob := enginetest.NewSession(s.Engine, t, "bob")
		enginetest.Set(t, s, "dpsql.notices", "brief")
		for _, step := range freeSteps {
			sql, free := strings.CutPrefix(step, "free ")
			told := enginetest.Explained(t, s, sql)
			before := enginetest.PaidFor(t, s)
			_, a := enginetest.Ask(t, s, sql)
			if after := enginetest.PaidFor(t, s); free != (after == before) {
				t.Errorf("%s: %s: %d charges", d, sql, after-before)
				continue
			}
			other := strings.Contains(told, "computed from a release of another question")
			if alone := !strings.Contains(sql, "rollup"); free && !other || !free && other || free && alone && !strings.Contains(a.Notice, "SET dpsql.fresh = on asks anew") {
				t.Errorf("%s: %s:\n%s\n%s", d, sql, told, a.Notice)
			}
			if free {
				if enginetest.Ask(t, bob, sql); enginetest.PaidFor(t, s) != before {
					t.Errorf("%s: bob: %s: charged", d, sql)
				}
			}
		}
	}
}

// TestFreeIsTheSum: what is computed are the stored numbers and their sums, with the error of a sum; asked for more, or anew, it is measured.
func TestFreeIsTheSum(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	_, stored := enginetest.Ask(t, s, "select active, ward is null, count(*) + 0, sum(weight), dp_error(count(*)) from patients group by 1, 2")
	before := enginetest.PaidFor(t, s)
	people, weight, one := int64(0), map[string]float64{}, 0.0
	for _, r := range stored.Rows {
		people += r[2].(int64)
		weight[fmt.Sprint(r[1])] += r[3].(float64)
		one = r[4].(float64)
	}
	_, all := enginetest.Ask(t, s, "select count(*) + 0, dp_error(count(*)) from patients")
	if n := all.Rows[0][0]; n != people {
		t.Errorf("%v people, not %d", n, people)
	}
	if wide := all.Rows[0][1].(float64); wide < 1.6*one || wide > 2.1*one { // the root of 4 is 2; tails are thinner, and one is rounded
		t.Errorf("of four numbers with an error of %v the sum has %v", one, wide)
	}
	_, wards := enginetest.Ask(t, s, "select ward is null, sum(weight), dp_error(sum(weight)) from patients group by 1")
	for _, r := range wards.Rows {
		if w := weight[fmt.Sprint(r[0])]; math.Abs(w-r[1].(float64)) > 1e-6*math.Abs(w) {
			t.Errorf("ward %v: %v, not %v", r[0], r[1], w)
		}
	}
	if free := enginetest.PaidFor(t, s); free != before {
		t.Fatalf("%d charges", free-before)
	}
	_, last := enginetest.Ask(t, s, "select noise, price, free from dpsql.last")
	if r := last.Rows[0]; !strings.HasSuffix(r[0].(string), "sum of 2") || r[1] != 0.5 || r[2] != true {
		t.Errorf("dpsql.last: %v", last.Rows)
	}
	for name, value := range map[string]string{"dpsql.price": "0.7", "dpsql.fresh": "on"} {
		was, before := map[string]string{"dpsql.price": "0.5", "dpsql.fresh": "off"}[name], enginetest.PaidFor(t, s)
		enginetest.Set(t, s, name, value)
		if enginetest.Ask(t, s, "select ward is null, sum(weight) from patients where active group by 1"); enginetest.PaidFor(t, s) == before {
			t.Errorf("%s = %s: not charged", name, value)
		}
		enginetest.Set(t, s, name, was)
	}
}

// TestFreeNeedsRights: who may not read a column of the release's question is not answered from it.
func TestFreeNeedsRights(t *testing.T) {
	ann := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	clerk := enginetest.NewSession(ann.Engine, t, "clerk")
	enginetest.Ask(t, ann, "select gender, active, count(*) from patients group by 1, 2")
	before := enginetest.PaidFor(t, ann)
	const sql = "select gender, count(*) from patients group by gender"
	if told := enginetest.Explained(t, clerk, sql); strings.Contains(told, "another question") {
		t.Errorf("clerk is told of a release over a hidden column:\n%s", told)
	}
	if enginetest.Ask(t, clerk, sql); enginetest.PaidFor(t, ann) != before+1 {
		t.Error("clerk was answered from a release over a hidden column")
	}
	if enginetest.Ask(t, ann, "select gender, count(*) from patients where gender = 'Male' group by gender"); enginetest.PaidFor(t, ann) != before+1 {
		t.Error("ann was charged for a part of clerk's")
	}
}

// TestFreeNeedsRightsToNames: a column of a table whose name has a dot is not taken for another table's column whose name has one.
func TestFreeNeedsRightsToNames(t *testing.T) {
	pol, err := policy.Parse("dots.yaml", []byte(`
dataset: dots
backend: {duckdb: dots.duckdb}
unit: people.id
tables:
  people: {columns: {id: {}}}
  '"v.x"': {unit: id -> people.id, columns: {id: {}, g: {}, c: {}}}
  v: {unit: id -> people.id, columns: {id: {}, x.c: {}}}
budget: {epsilon: 1000, delta: 1e-6}
query: {price: 1}
analysts:
  ann: {password: `+enginetest.Verifier+`, may: ['"v.x"']}
  bob: {password: `+enginetest.Verifier+`, may: ['"v.x".id', '"v.x".g', 'v."x.c"']}
`))
	if err != nil {
		t.Fatal(err)
	}
	ann := enginetest.SessionOver(t, funcs.DuckDB, "dots", []string{"CREATE TABLE people (id int PRIMARY KEY)", `CREATE TABLE "v.x" (id int PRIMARY KEY REFERENCES people, g bool NOT NULL, c bool NOT NULL)`,
		`CREATE TABLE v (id int PRIMARY KEY REFERENCES people, "x.c" bool NOT NULL)`}, pol)
	bob := enginetest.NewSession(ann.Engine, t, "bob")
	enginetest.Ask(t, ann, `select g, c, count(*) from "v.x" group by 1, 2`)
	const sql = `select g, count(*) from "v.x" group by g`
	before := enginetest.PaidFor(t, ann)
	if told := enginetest.Explained(t, bob, sql); strings.Contains(told, "another question") {
		t.Errorf("bob is told of a release over a hidden column:\n%s", told)
	}
	if told := enginetest.Explained(t, ann, sql); !strings.Contains(told, "another question") {
		t.Errorf("ann is not told of her own release:\n%s", told)
	}
	if enginetest.Ask(t, bob, sql); enginetest.PaidFor(t, ann) != before+1 {
		t.Error("bob was answered from a release over a hidden column")
	}
}

// TestFreeParameters: values of parameters are as good as literals.
func TestFreeParameters(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Ask(t, s, "select readmitted, count(*) from encounters where cost > 10 group by readmitted")
	before := enginetest.PaidFor(t, s)
	const sql = "select count(*) from encounters where readmitted = $1 and cost > $2"
	run := func(args ...sqltype.Value) {
		t.Helper()
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Run(context.Background(), args); err != nil {
			t.Fatal(err)
		}
	}
	ten, eleven := sqltype.Value(decimal.NewFromInt(10)), sqltype.Value(decimal.NewFromInt(11))
	if run("NO", ten); enginetest.PaidFor(t, s) != before {
		t.Error("the same by parameters: charged")
	}
	if run("NO", eleven); enginetest.PaidFor(t, s) != before+1 {
		t.Error("another value: not charged")
	}
	if run(nil, ten); enginetest.PaidFor(t, s) != before+1 {
		t.Error("equal to NULL is nothing, and known: charged")
	}
}
