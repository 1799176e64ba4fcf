package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// wide are statements whose stages read numerics that DuckDB, where a column has 38 digits and one scale, could only round to what other values are: a column of them, and a value.
var wide = []string{
	`select count(*) from (select patient_id, max(case when patient_id = 1 then 5.0 else 9.0 end) x from encounters group by 1) t join (select x, sum(n) s from
	(select case when days = 1 then 1e37 else 5 + (days * 1000 + medications) / 1000000.0 end x, n from (select days, medications, count(*) n from encounters group by 1, 2) a) b group by x) r on r.x = t.x`,
	"select count(*) from encounters where days = (select 5 + count(*) * 1e-39 from patients)",
}

// narrow are some that it holds all digits of, also where they are more than any parameter has room for.
var narrow = []string{
	"select count(*) from encounters where days = (select 5 + count(*) * 1e-36 from patients)",
	"select count(*) from encounters where days > (select 5 - count(*) * 1e-36 from patients)",
	"select count(*) from encounters where case when days > 5 then 5.0 else 0.25 end > (select 5 - count(*) * 1e-30 from patients)",
	"select count(*), sum(days) from encounters e join (select readmitted, avg(days) / 1000000 a, 6 - count(*) * 1e-30 b from encounters group by 1) k using (readmitted) where days * 0.000001 > a and case when days > 2 then 6.0 else 5.0 end > b",
	"select count(*) from encounters where days * 1e20 > (select avg(days) * 1e20 from encounters)",
}

// TestStageDigits: numerics that a stage reads have all their digits on both backends, or are refused on DuckDB, once they are released.
func TestStageDigits(t *testing.T) {
	enginetest.SameAsTexts(t, []dialect.Dialect{funcs.Postgres}, wide...)
	enginetest.SameAsTexts(t, enginetest.Dialects, narrow...)
	for _, sql := range wide {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
		_, err := enginetest.Try(s, sql)
		if sqlerr.ID(err) != sqlerr.NumericRange.ID || len(enginetest.Charges(t, s.Engine)) != 2 || enginetest.Blamed(t, s.Engine) != 0 {
			t.Errorf("%s: %v, %d charges, %d failures", sql, err, len(enginetest.Charges(t, s.Engine)), enginetest.Blamed(t, s.Engine))
		}
		if again, told := enginetest.Try(s, sql); told == nil || told.Error() != err.Error() || len(enginetest.Charges(t, s.Engine)) != 2 { // what is read is stored, so that nothing is charged for what cannot read it
			t.Errorf("%s: again: %v, %v, %d charges", sql, again, told, len(enginetest.Charges(t, s.Engine)))
		}
	}
}

// TestParameterDigits: so it is with an analyst's numerics, which are refused before anything is charged.
func TestParameterDigits(t *testing.T) {
	ctx := context.Background()
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, enginetest.Roomy...)
		p, err := enginetest.Prepare(s, "select count(*) from encounters where days > $1::numeric")
		if err != nil {
			t.Fatal(err)
		}
		count := func(text string) (string, error) {
			v := sqltype.Value(decimal.RequireFromString(text))
			r, err := private.NewRun(ctx, p.Staged(), []sqltype.Value{v})
			if err != nil {
				t.Fatal(err)
			}
			a := r.StageRuns[0]
			return enginetest.UnnoisedStage(t, p.Statement, enginetest.With(a), a.Args).Groups[0].Values[0].String(), nil
		}
		below, _ := count("4.9999999999999999999999999999999999")
		at, _ := count("5.0000000000000000000000")
		above, _ := count("5.0000000000000000000000000000000001")
		if below == at || at != above {
			t.Errorf("%s: %s above 5 less a bit, %s above 5, %s above 5 and a bit", d, below, at, above)
		}
		_, err = p.Run(ctx, []sqltype.Value{decimal.RequireFromString("5." + strings.Repeat("0", 40) + "1")})
		if refused := sqlerr.ID(err) == sqlerr.NumericRange.ID && len(enginetest.Charges(t, s.Engine)) == 0; refused != (d == funcs.DuckDB) {
			t.Errorf("%s: %v, %d charges", d, err, len(enginetest.Charges(t, s.Engine)))
		}
	}
}
