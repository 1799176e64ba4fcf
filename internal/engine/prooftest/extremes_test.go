package prooftest

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// extremes are statements of MIN and MAX alone, whose groups are public.
var extremes = []string{
	"select min(days), max(days), max(distinct days), min(medications + days) from encounters",
	"select readmitted, max(days), min(days) filter (where kind_id < 3) from encounters group by 1 order by 1",
	"select max(n), min(n) from (select patient_id, days * 2 + 1 as n from encounters where days > 2) t",
	"select p.gender, max(e.days), min(e.medications) from patients p join encounters e on p.patient_id = e.patient_id group by 1 order by 1",
	"select max(case when days > 5 then 10 - days end), min(admitted), max(admitted) from encounters left join stays using (patient_id)",
}

// TestExtremesOfEveryRow: MIN and MAX are PostgreSQL's over all rows of everybody, also of people with more rows than max_rows_per_unit says, where it is declared and where it is not. No bound on rows is chosen for them, nor charged.
func TestExtremesOfEveryRow(t *testing.T) {
	db := enginetest.ClinicText(t)
	for _, d := range enginetest.Dialects {
		for _, edits := range [][]string{nil, pairEdits} {
			s := enginetest.ClinicSession(t, enginetest.Tame, d, edits...)
			enginetest.Set(t, s, "dpsql.max_groups", "1000")
			for _, sql := range extremes {
				p, got := nearlyExact(t, s, sql)
				if len(p.Analysis().Choices) > 0 {
					t.Errorf("%s: %s: a bound is chosen", d, sql)
				}
				for i, m := range p.Analysis().Measures {
					if m.PerGroup != 1 {
						t.Errorf("%s: %s: measure %d changes by %d", d, sql, i+1, m.PerGroup)
					}
				}
				var types []sqltype.Type
				for _, c := range p.Columns() {
					types = append(types, c.Type)
				}
				want, err := db.Text(context.Background(), sql, types)
				if err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				for i, r := range got {
					if len(got) != len(want) || enginetest.SpelledRow(r, types) != enginetest.SpelledRow(want[i], types) {
						t.Errorf("%s: %s: %v, PostgreSQL has %v", d, sql, got, want)
						break
					}
				}
			}
		}
	}
}
