package stage_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// TestStageNeighbours: given what was released before, a stage's totals hold its claim: what it reads of others is the same on neighbours. Where that is computed in its own print,
// from the rows, they do not.
func TestStageNeighbours(t *testing.T) {
	ctx := context.Background()
	const parity = "select count(*) from encounters where (select count(*) from patients) % 2 = 0"
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		changed := map[string]backend.Backend{}
		for _, c := range enginetest.Without {
			changed[c.Name] = c.Open(t, d)
		}
		for _, sql := range slices.Concat([]string{parity}, reading, lookedUp) {
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				t.Errorf("%s: %v", sql, err)
				continue
			}
			r := &private.Run{Staged: p.Staged(), PublicRows: map[plan.Rel]*eval.Relation{}}
			if err := r.InOwnSnapshot(ctx); err != nil {
				t.Fatal(err)
			}
			if err := enginetest.ReleaseAll(t, r); err != nil {
				t.Errorf("%s: %v", sql, err)
				continue
			}
			for _, a := range r.StageRuns {
				st, err := sqlgen.Private(enginetest.With(a), s.Engine.Dialect, 42)
				if err != nil {
					t.Fatal(err)
				}
				for i, arg := range st.Args {
					if arg.Param > 0 {
						st.Args[i] = sqlgen.Arg{Type: arg.Type, Value: a.Args[arg.Param-1]}
					}
				}
				if _, err := enginetest.Holds(a.An, st, enginetest.Wild.Open(t, d), changed, nil); err != nil {
					t.Errorf("%s: %s: %v", d, sql, err)
				}
				if sql != parity || len(a.Inputs) == 0 {
					continue
				}
				careless := *st
				careless.SQL = regexp.MustCompile(`CAST\(\$1 AS [a-zA-Z0-9_."]*\)`).ReplaceAllString(st.SQL, `(SELECT 2 - count(*) % 2 FROM "public"."patients" WHERE $1 IS NOT NULL)`)
				if _, err := enginetest.Holds(a.An, &careless, enginetest.Wild.Open(t, d), changed, nil); err == nil || careless.SQL == st.SQL {
					t.Errorf("%s: a count in the print of %s is not found: %v", d, careless.SQL, err)
				}
			}
		}
	}
}

// reading are statements with releases that others read.
var reading = []string{
	"select kind_id, count(*) from encounters where days > (select avg(days) from encounters) group by 1",
	"select count(*), sum(days) from encounters e join (select readmitted, avg(days) a from encounters group by 1) k using (readmitted) where days >= a",
	"select readmitted, count(*) from encounters where readmitted in (select readmitted from (select readmitted, count(*) n from encounters group by 1) t where n > (select count(*) / 4 from encounters)) group by 1",
	"select count(*) from (select patient_id, count(*) n from encounters group by 1) t where n > (select avg(n) from (select patient_id, count(*) n from encounters group by 1) u)",
	"select count(*), sum(days) from encounters e join kinds k on k.id = e.kind_id where e.days < (select 1.2 * avg(x.days) from encounters x where x.kind_id = k.id and x.days > 1)",
	"select n > 3, n * 2 = 0, sum(days) from (select days, (select count(*) from encounters x where x.kind_id = k.id and x.days > 1000) n from encounters e join kinds k on k.id = e.kind_id) t group by 1, 2",
	"select k.n > 5, count(*) from encounters e join (select kind_id, count(*) n from encounters group by 1) k on k.kind_id = e.kind_id group by 1",
	"select k.n > 5, count(*) from patients p join (select city_id, count(*) n from patients group by 1) k on k.city_id = p.city_id group by 1",
}

// staged are statements of several releases, or of one beside public tables.
var staged = []string{
	"select (select count(*) from patients)::numeric / (select count(*) from encounters)",
	"select count(*) from patients union all select count(*) from encounters union all select 7",
	"select readmitted, count(*) from encounters group by 1 having count(*) > (select count(*) / 20 from encounters)",
	"with a as (select gender, count(*) n from patients group by 1), b as (select gender, sum(days) d from encounters join patients using (patient_id) group by 1) select gender, a.n, d::numeric / n from a full join b using (gender)",
	"with t as (select readmitted, count(*) n from encounters group by 1) select a.readmitted, a.n, b.n - a.n from t a join t b on b.readmitted > a.readmitted where b.n >= (select min(n) from t)",
	"select readmitted, n, n * 100.0 / (select sum(n) from (select count(*) n from encounters group by readmitted) s), exists (select from (select count(*) c from patients) u where c > n) from (select readmitted, count(*) n from encounters group by 1) t",
	"(select readmitted k, count(*) from encounters group by 1) intersect (select readmitted, count(*) from encounters where days > 0 group by 1)",
	"select avg(n) from (select count(*) n from encounters group by readmitted union all select count(*) from patients group by gender) t",
	// public tables
	"select label, n from kinds left join (select kind_id, count(*) n from encounters group by 1) t on t.kind_id = kinds.id",
	"select id, (select n from (select kind_id, count(*) n from encounters group by 1) t where t.kind_id = k.id), (select max(rate) from rates r where r.kind_id = k.id) from kinds k",
	"select readmitted, count(*), (select count(*) from kinds) from encounters group by 1 having count(*) > (select min(id) from kinds)",
	"select label, sum(n) from (select kind_id, count(*) n from encounters group by 1) t join kinds k on k.id = t.kind_id group by 1",
	"select id from kinds except select kind_id from (select kind_id, count(*) n from encounters group by 1 having count(*) > 1000000) t",
	"select (select count(*) from patients), case when (select count(*) from encounters) > 3 then (select sum(days) from encounters) end from kinds where id = 1", // no column of kinds is read
	"select distinct c.region from cities c, (select count(*) n from patients) t where c.id < t.n",
	"select t.k, rank() over (partition by t.k order by t.n desc) from (select kind_id k, count(*) n from encounters group by 1) t join rates r on t.k = r.kind_id",
	// releases that others read
	"select count(*) from encounters where days > (select max(n) from (select count(*) n from patients where false) t)",
	"select region, count(*) from patients p left join cities c on c.id = p.city_id where p.city_id not in (select id from cities join (select city_id, count(*) n from patients group by 1) t on t.city_id = id where n > 20) group by 1",
	"select count(*) from encounters e left join (select kind_id, readmitted, sum(days) s from (select kind_id, readmitted, days from encounters) x group by 1, 2) k on k.kind_id = e.kind_id and k.readmitted = e.readmitted where k.s > 10 or k.s is null",
	"select gender, count(*) filter (where days > (select avg(days) from encounters)) from encounters join patients using (patient_id) group by 1",
	"select kind_id, n, (select count(*) from encounters where days > (select avg(days) from encounters)) from (select kind_id, count(*) n from encounters where days > (select avg(days) from encounters) group by 1) t",
	// grouping sets
	"select readmitted, gender, count(*), grouping(readmitted, gender) from encounters join patients using (patient_id) group by rollup (1, 2)",
	"select readmitted, gender, sum(days), avg(days) from encounters join patients using (patient_id) group by cube (1, 2) having count(*) > 3",
	"select readmitted, kind_id, count(*) from encounters group by grouping sets ((1), (2), (1), (1, 2), ())",
	"select coalesce(readmitted, 'all'), case when grouping(readmitted) = 1 then 'total' else 'part' end, count(*) from encounters group by rollup (readmitted)",
	"select readmitted, sum(n) from (select readmitted, kind_id, count(*) n from encounters group by cube (1, 2)) t where kind_id is null group by 1",
	"select gender, grouping(gender), count(*) from patients group by gender",
}

// lookedUp are statements with aggregates that are correlated with released or public rows.
var lookedUp = []string{
	"select c.name, (select count(*) from patients p where p.city_id = c.id) from cities c",
	"select k.label, (select avg(days) from encounters e where k.id = e.kind_id and e.days > 2) a, (select 10 + count(*) from encounters e where e.kind_id = k.id + 1) from kinds k where k.label is not null",
	"select kind_id, count(*), (select sum(days) from encounters x where x.kind_id = e.kind_id and x.readmitted = e.readmitted) from encounters e group by kind_id, readmitted",
	"select k.id, s.* from kinds k left join lateral (select readmitted, count(*) n, avg(cost) from encounters e where e.kind_id = k.id group by 1 having count(*) > 3) s on s.n > k.id",
	"select max(n), sum(n) from (select (select count(*) from encounters e where e.kind_id = k.id) n from kinds k where k.id < 3) t",
	"select c.name from cities c where (select count(*) from patients p where p.city_id = c.id) > 5 or exists (select 1 from patients p where p.city_id = c.id having count(*) > 7)",
	"select v, (select count(*) from encounters e where e.days = v::bigint and days > 1), (select max(n) from (select kind_id, count(*) n from encounters e where e.days = v group by 1) t) from (values (1), (3), (5), (null), (77)) w (v)",
	"select id, rank() over (order by (select count(*) from encounters e where e.kind_id = k.id) desc), coalesce((select sum(rate) from rates r where r.kind_id = k.id), 0) from kinds k",
}

// TestStages: an answer from several releases is what PostgreSQL gives for the text, where noise of scale nothing was added.
func TestStages(t *testing.T) {
	enginetest.SameAsTexts(t, enginetest.Dialects, slices.Concat(staged, reading, lookedUp)...)
}

// TestStagesCharge: stages cost their parts of the price, together the price; what is canonically equal is one release; what is stored is free, alone and in other statements;
// EXPLAIN says it before and spends nothing.
func TestStagesCharge(t *testing.T) {
	for _, c := range []struct {
		sql    string
		stages int
	}{
		{"select (select count(*) from patients)::numeric / (select count(*) from encounters)", 2},
		{"with t as (select readmitted, count(*) n from encounters group by 1) select a.n from t a, t b where a.n = (select max(n) from t)", 1},
		{"select count(*), sum(days) from encounters union all select sum(days), count(*) from encounters", 1},
		{"select readmitted, count(*) from encounters group by grouping sets ((1), (1), ())", 2},
		{"select readmitted, kind_id, count(*) from encounters group by cube (1, 2) limit 1", 4},
		{"select (select count(*) from patients), (select count(*) from kinds), id from kinds", 1},
		{"select kind from (select readmitted kind from encounters group by 1) t union all select count(*)::text from patients", 1},
	} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
		told := enginetest.Explained(t, s, c.sql)
		if all := enginetest.Charges(t, s.Engine); len(all) != 0 {
			t.Fatalf("%s: EXPLAIN charged %+v", c.sql, all)
		}
		enginetest.Set(t, s, "dpsql.notices", "brief")
		_, a := enginetest.Ask(t, s, c.sql)
		all := enginetest.Charges(t, s.Engine)
		price := 0.0
		for _, r := range all {
			price += r.Price
		}
		if len(all) != c.stages || math.Abs(price-0.5) > 1e-9 {
			t.Errorf("%s: charged %+v", c.sql, all)
		}
		want := "price 0.5 ("
		if !strings.Contains(told, want) || !strings.HasPrefix(a.Notice, "spent: price 0.5") {
			t.Errorf("%s: %s and %s do not say %s", c.sql, told, a.Notice, want)
		}
		if n := strings.Count(told, "Unit: "); c.stages > 1 && n != c.stages {
			t.Errorf("%s: %s tells of %d releases", c.sql, told, n)
		}
		_, again := enginetest.Ask(t, s, c.sql)
		if len(enginetest.Charges(t, s.Engine)) != len(all) || fmt.Sprint(again.Rows) != fmt.Sprint(a.Rows) || !strings.Contains(again.Notice, "spent: nothing") {
			t.Errorf("%s again: %v, %v", c.sql, again, a)
		}
		b, err := s.Engine.Ledger.Balance(s.Payer())
		if err != nil || b.Dataset.Spent.Pure > 0.5+1e-9 && b.Dataset.Spent.Renyi > enginetest.FilterOf(s.Engine).RenyiLimit(0.5)*(1+1e-9) {
			t.Errorf("%s: %+v, %v", c.sql, b, err)
		}
		if facts, err := enginetest.Try(s, "select release, measure from dpsql.last"); err != nil || len(facts) < c.stages || facts[len(facts)-1][0] != int64(c.stages) {
			t.Errorf("%s: dpsql.last has %v, %v", c.sql, facts, err)
		}
	}
	// A part of what is stored at its price or a larger one is free; at a smaller one it is topped up.
	// What reads another release is asked after it, at its own part, and is free where that is.
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for i, sql := range reading {
		before := len(enginetest.Charges(t, s.Engine))
		p, a := enginetest.Ask(t, s, sql)
		again, b := enginetest.Ask(t, s, sql)
		if all := enginetest.Charges(t, s.Engine); len(all) > before+len(p.Staged().Stages) || len(all) == before || fmt.Sprint(a.Rows) != fmt.Sprint(b.Rows) || len(again.Staged().Stages) != len(p.Staged().Stages) || len(p.Staged().Stages) < 2 {
			t.Errorf("%d: %s: %d charges, %v and %v", i, sql, len(all)-before, a.Rows, b.Rows)
		}
		if told := enginetest.Explained(t, s, sql); !strings.Contains(told, "Charge in all: nothing") || !strings.Contains(told, "reads release 1") {
			t.Error(told)
		}
	}
	s = enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	_, one := enginetest.Ask(t, s, "select count(*) from patients")
	p, _ := enginetest.Ask(t, s, "select (select count(*) from patients) a, (select count(*) from encounters) b")
	if all := enginetest.Charges(t, s.Engine); len(all) != 2 || all[0].Price != 0.5 || all[1].Price != 0.25 || all[1].Statement != p.Staged().Key(p.Staged().Stages[1], nil, nil) {
		t.Errorf("%+v", all)
	}
	if _, again := enginetest.Ask(t, s, "select (select count(*) from patients)"); fmt.Sprint(again.Rows) != fmt.Sprint(one.Rows) {
		t.Errorf("%v is not %v", again.Rows, one.Rows)
	}
	enginetest.Ask(t, s, "select count(*) from encounters")
	if all, f := enginetest.Charges(t, s.Engine), enginetest.FilterOf(s.Engine); len(all) != 3 || all[2].Loss.Renyi > (f.RenyiLimit(0.5)-f.RenyiLimit(0.25))*(1+1e-9) {
		t.Errorf("the top-up is %+v", all)
	}
}

// failingAt is a backend whose n-th statement fails.
type failingAt struct {
	backend.Backend
	at int
}

type failingAtTx struct {
	backend.Tx
	of *failingAt
}

func (f *failingAt) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := f.Backend.Begin(ctx)
	return failingAtTx{tx, f}, err
}

func (f failingAtTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	if f.of.at--; f.of.at == 0 {
		return nil, backend.NewError(backend.FailResource, "memory", errors.New("no"))
	}
	return f.Tx.Query(ctx, sql, args, want)
}

// TestStageFails: where a later stage fails, all charges stay, nothing is answered, and what was read of the others is not stored: it is asked and paid again.
func TestStageFails(t *testing.T) {
	const sql = "select (select count(*) from patients) + (select count(*) from encounters)"
	for at := 1; at <= 2; at++ {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
		s.Engine.Backend = &failingAt{s.Engine.Backend, at}
		if _, err := enginetest.Try(s, sql); sqlerr.ID(err) != sqlerr.ResourceFailure.ID {
			t.Fatalf("stage %d fails: %v", at, err)
		}
		b, err := s.Engine.Ledger.Balance(s.Payer())
		if all := enginetest.Charges(t, s.Engine); err != nil || len(all) != 2 || b.Analyst.Failures != 2 || enginetest.Blamed(t, s.Engine) != 1 {
			t.Errorf("stage %d: %+v, %+v, %v", at, all, b, err)
		}
		if _, err := enginetest.Try(s, sql); err != nil || len(enginetest.Charges(t, s.Engine)) != 4 {
			t.Errorf("asked again after stage %d: %v, %+v", at, err, enginetest.Charges(t, s.Engine))
		}
	}
	// What the budget holds one of is charged for none.
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 0.6, delta: 0}")
	enginetest.Ask(t, s, "select count(*) from patients where gender = 'Male'")
	enginetest.Set(t, s, "dpsql.price", "0.15")
	if _, err := enginetest.Try(s, sql); sqlerr.ID(err) != sqlerr.BudgetExhausted.ID {
		t.Errorf("beyond the budget: %v", err)
	}
	if all := enginetest.Charges(t, s.Engine); len(all) != 1 {
		t.Errorf("beyond the budget: %+v", all)
	}
}
