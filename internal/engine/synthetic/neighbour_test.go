package synthetic_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/synthetic"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// creations are the forms that the query of a synthetic table has: tables of one row a unit and of several, joins, derived tables, each type of column, columns that may be NULL, and values that break their declarations.
var creations = []string{
	"SELECT gender, weight, account, active, ward FROM patients",
	"SELECT days, medications, score, cost, kind_id, readmitted = '<30' AS soon FROM encounters",
	"SELECT days, ratio, big, level, readmitted = 'NO' AS back FROM encounters WITH (max_rows_per_unit = 2)",
	"SELECT gender, days * 2 AS twice, readmitted FROM patients JOIN encounters USING (patient_id) WITH (max_rows_per_unit = 1)",
	"SELECT days, change, dose FROM encounters JOIN prescriptions USING (encounter_id) WHERE days > 2",
	"SELECT weight, CASE WHEN (SELECT count(*) FROM encounters e WHERE e.patient_id = p.patient_id) > 2 THEN 1 ELSE 0 END AS many FROM patients p",
	"SELECT admitted, came, discharged - admitted AS days FROM stays",
	"SELECT minutes FROM visits WITH (max_rows_per_unit = 3)",
}

func creationOf(tb testing.TB, s *session.Session, query string) *synthetic.Creation {
	tb.Helper()
	p, err := enginetest.Prepare(s, "CREATE DP SYNTHETIC TABLE s AS "+query)
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return p.Kind().(*synthetic.Creation)
}

// marginals are exact counts, by the columns and bins that they are of.
type marginals map[string]map[string]int

func readMarginals(tb testing.TB, c *synthetic.Creation, b backend.Backend, mangle func(string) string) (marginals, error) {
	tx, err := b.Begin(context.Background())
	if err != nil {
		return nil, err
	}
	defer tx.Close()
	st, err := c.Printed()
	if err != nil {
		return nil, err
	}
	st = enginetest.Mangled(tb, st, mangle)
	out := marginals{}
	add := func(of, cell string) {
		if out[of] == nil {
			out[of] = map[string]int{}
		}
		out[of][cell]++
	}
	err = c.ReadBins(tx, st, func(_ int64, bins []int) {
		for i, x := range bins {
			add(fmt.Sprint(i), fmt.Sprint(x))
			for j, y := range bins[:i] {
				add(fmt.Sprint(j, i), fmt.Sprint(y, x))
			}
		}
	})
	return out, err
}

// compareMarginals holds the exact marginals against the wild clinic's neighbours: without one unit no count grows, and each marginal falls by at most the rows that one unit has.
func compareMarginals(tb testing.TB, c *synthetic.Creation, mangle func(string) string) (float64, error) {
	tb.Helper()
	return enginetest.Comparison[marginals]{
		Read: func(b backend.Backend) (marginals, error) { return readMarginals(tb, c, b, mangle) },
		Changed: func(before, after marginals) (share float64, err error) {
			for of, cells := range before {
				norm := 0
				for cell, n := range cells {
					d := n - after[of][cell]
					if d < 0 {
						return 0, fmt.Errorf("marginal %s has %d more of %s", of, -d, cell)
					}
					norm += d
				}
				for cell := range after[of] {
					if cells[cell] == 0 {
						return 0, fmt.Errorf("marginal %s has %s without the unit alone", of, cell)
					}
				}
				if norm > c.Rows() {
					return 0, fmt.Errorf("marginal %s has changed by %d, %d are claimed", of, norm, c.Rows())
				}
				share = max(share, float64(norm)/float64(c.Rows()))
			}
			return share, nil
		},
		Same: func(before, after marginals) error {
			if fmt.Sprint(before) != fmt.Sprint(after) {
				return fmt.Errorf("other marginals")
			}
			return nil
		},
	}.Across(tb, c.Session.Engine.Backend.Dialect())
}

// TestMarginalsOfNeighbours: without one unit, the heaviest among them, each exact marginal of a synthetic table changes by at most what its noise is scaled to; they do not depend on ownerless rows or on the order of rows.
func TestMarginalsOfNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s, full := enginetest.ClinicSession(t, enginetest.Wild, d), 0
		for _, query := range creations {
			share, err := compareMarginals(t, creationOf(t, s, query), nil)
			if err != nil {
				t.Errorf("%s: %s: %v", d, query, err)
			}
			if share == 1 {
				full++
			}
		}
		if full < 4 {
			t.Errorf("%s: only %d tables use their whole claim: the data is too tame", d, full)
		}
	}
}

// TestMarginalsBugs: each of these is found.
func TestMarginalsBugs(t *testing.T) {
	replace := func(pattern, with string) func(string) string {
		re := regexp.MustCompile(pattern)
		return func(sql string) string { return re.ReplaceAllString(sql, with) }
	}
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.Postgres)
	for name, c := range map[string]struct {
		query  string
		mangle func(string) string
	}{
		"rows not capped together": {creations[2], replace(` WHERE "g"."rn" <= \d+`, "")},
		"all units are one":        {creations[1], replace(`pg_catalog.dense_rank\(\) OVER \(ORDER BY "g"."u"\)`, "1::bigint")},
		"each row is a unit":       {creations[2], replace(`PARTITION BY "g"."u" `, `PARTITION BY "g"."u", "g"."b1" `)},
		"numbered over all":        {creations[2], replace(`PARTITION BY "g"."u" `, "")},
		"ownerless rows stay":      {creations[1], replace(`"[a-z0-9]+"."(?:c_)?patient_id" IS NOT NULL AND |WHERE "[a-z0-9]+"."(?:c_)?patient_id" IS NOT NULL`, "")},
	} {
		if _, err := compareMarginals(t, creationOf(t, s, c.query), c.mangle); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
}
