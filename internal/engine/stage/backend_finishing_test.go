package stage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// beyondGo are statements whose answers only the database can compute from released rows: functions and aggregates without an evaluation.
var beyondGo = []string{
	"select diag, round(power(count(*)::numeric, 0.5), 6), to_char(sum(days), 'FM999,990'), ln(count(*)::numeric + 1) from encounters group by 1",
	"select json_agg(n order by n, diag) from (select diag, count(*) n from encounters group by 1) t",
	"select readmitted, jsonb_object_agg(kind_id, n order by kind_id) from (select readmitted, kind_id, count(*) n from encounters group by 1, 2) t group by 1 having count(*) > 1",
	"select readmitted, count(*), json_agg(count(*)) over (order by readmitted) from encounters group by 1 order by sind(count(*)), 1",
	"select k.label, e.n, exp(e.n::numeric / 100) > (select log(avg(n)) from (select kind_id, count(*) n from encounters group by 1) t where t.kind_id <= k.id) from kinds k left join (select kind_id, count(*) n from encounters group by 1) e on e.kind_id = k.id",
	"select distinct on (readmitted) readmitted, kind_id, cosd(count(*)) from encounters group by 1, 2 order by 1, count(*) desc, 2",
	"select ward, power(avg(weight)::numeric(12, 3), 2)::numeric(20, 2), ward || '!', ward = 'A' from patients group by 1",
	"select log(2, 1 + count(*)) from encounters union all select tand(45)::numeric union all (select pow(2.0, id) from kinds order by id limit 2)",
	"select c.name, power((select count(*) from patients p where p.city_id = c.id)::numeric, 2) from cities c",
}

// TestFinishingBeyond: on PostgreSQL the database computes them from the released rows, as it does from the text; DuckDB's functions are others, and they are refused there.
func TestFinishingBeyond(t *testing.T) {
	enginetest.SameAsTexts(t, []dialect.Dialect{funcs.Postgres}, beyondGo...)
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres, enginetest.Roomy...)
	duck := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.Roomy...)
	for _, sql := range beyondGo {
		if p, err := enginetest.Prepare(s, sql); err != nil || p.Staged().InBackend == nil {
			t.Errorf("%s is not computed by the database: %v", sql, err)
		}
		if _, err := enginetest.Prepare(duck, sql); sqlerr.ID(err) != sqlerr.Unsupported.ID {
			t.Errorf("%s on DuckDB: %v", sql, err)
		}
	}
}

// TestFinishingBeyondTwice: the answer is of the stored release: free, equal, and where the database fails it is asked again for nothing.
func TestFinishingBeyondTwice(t *testing.T) {
	const sql = "select readmitted, count(*), power(count(*)::numeric, 2) from encounters group by 1 order by 1"
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres)
	_, a := enginetest.Ask(t, s, sql)
	for _, r := range a.Rows {
		if n := decimal.NewFromInt(r[1].(int64)); !r[2].(decimal.Decimal).Round(0).Equal(n.Mul(n)) && n.Sign() > 0 {
			t.Errorf("%v: the power is of another value", r)
		}
	}
	_, b := enginetest.Ask(t, s, sql)
	if fmt.Sprint(a.Rows) != fmt.Sprint(b.Rows) || len(enginetest.Charges(t, s.Engine)) != 1 || !strings.Contains(b.Notice, "spent: nothing") && b.Notice != "" {
		t.Errorf("%v, then %v: %d charges", a, b, len(enginetest.Charges(t, s.Engine)))
	}
	if told := enginetest.Explained(t, s, sql); !strings.Contains(told, "Finishing is done by the database") {
		t.Error(told)
	}
	s = enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres)
	s.Engine.Backend = &failingAt{s.Engine.Backend, 2}
	if _, err := enginetest.Try(s, sql); sqlerr.ID(err) != sqlerr.ResourceFailure.ID || !strings.Contains(fmt.Sprint(err), "from what was released") {
		t.Errorf("the database fails: %v", err)
	}
	if _, err := enginetest.Try(s, sql); err != nil || len(enginetest.Charges(t, s.Engine)) != 1 {
		t.Errorf("asked again: %v, %d charges", err, len(enginetest.Charges(t, s.Engine)))
	}
}
