package prooftest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestHiddenColumnsAreNotNamed: no EXPLAIN, notice, warning or refusal names a column that the analyst may not see, unless the statement does. The privacy unit is public.
func TestHiddenColumnsAreNotNamed(t *testing.T) {
	const all = "may: [patients, encounters, prescriptions, labs, visits, stays, cities, kinds, rates]"
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.Postgres, all, "may: [encounters.days, encounters.readmitted, encounters.diag, encounters.cost, encounters.free, encounters.kind_id, stays.admitted, prescriptions.dose, visits.minutes]")
	enginetest.Set(t, s, "dpsql.notices", "full")
	hidden := regexp.MustCompile(`\b(patient_id|encounter_id|medications|score|ratio|big|level|gender|race|account|weight)\b`)
	for _, sql := range []string{
		"select count(*) from encounters where days between 10 and 5",
		"select * from encounters where days between 10 and 5 or days > 6 and days < 5",
		"select count(*) from encounters e left join stays s on true where false",
		"select k.label, count(*) from kinds k left join (select kind_id from encounters limit 0) e on e.kind_id = k.id group by 1",
		"select count(*) from (select diag, days from encounters where kind_id = 1 except select distinct diag, days from encounters where kind_id = 2) t",
		"select count(*) from (select diag from encounters where kind_id = 1 intersect select diag from encounters where kind_id = 2) t",
		"select count(*) from (select diag, days from encounters union all select diag, days from encounters) t",
		"select sum(days) from (select days from encounters union select minutes from visits) t",
		"select count(*) from encounters union select count(*) from visits",
		"select count(distinct diag) from encounters",
		"select count(*) from (select diag, days, row_number() over (order by days) r from encounters) x where r = 1",
		"select count(*) from encounters, stays", "select count(*) from encounters e, lateral (select 1 from stays s where s.admitted > e.days::text::date) x",
		"select encounters.* from encounters", "select count(encounters) from encounters",
	} {
		for _, before := range []string{"", "explain ", "explain verbose ", "explain (format json) ", "explain (verbose, format json) "} {
			var said []string
			p, err := enginetest.Prepare(s, before+sql)
			if err == nil {
				a, ran := p.Run(context.Background(), nil)
				if err = ran; err == nil {
					rows, _ := a.All(context.Background())
					said = append(append(said, a.Notice, a.Mark), a.Warnings...)
					if before != "" {
						said = append(said, fmt.Sprint(rows))
					}
				}
			}
			if err != nil {
				said = append(said, everything(err))
			}
			for _, text := range said {
				text = strings.ReplaceAll(text, "patients.patient_id", "the unit")
				if at := hidden.FindStringIndex(text); at != nil {
					t.Errorf("%s%s names %s: ...%s...", before, sql, text[at[0]:at[1]], text[max(0, at[0]-80):min(len(text), at[1]+40)])
				}
			}
		}
	}
}
