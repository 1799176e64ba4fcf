package engine_test

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestPriceIsALimit: a statement at a price is charged at most what one Laplace count at that price is, on either side of the budget, as EXPLAIN tells. A count of one part takes all of it, on one side at least; a statement of several parts may take less.
func TestPriceIsALimit(t *testing.T) {
	s := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst", func(p *policy.Policy) { p.Query.Bounding, p.Query.MaxGroups = "auto", 0 })
	charge := regexp.MustCompile(`(?m)^Charge(?: in all)?: price ([0-9.]+) \([^)]*?(?:epsilon ([0-9.e-]+), )?Renyi ([0-9.e-]+)`)
	told := func(sql string) (pure, renyi float64) {
		m := charge.FindStringSubmatch(enginetest.Explained(t, s, sql))
		if m == nil || m[1] != "0.5" {
			t.Fatalf("%s: %s", sql, enginetest.Explained(t, s, sql))
		}
		number := func(text string) float64 {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		if m[2] != "" {
			pure = number(m[2])
		}
		return pure, number(m[3])
	}
	const one = "select count(*) from patients"
	enginetest.Set(t, s, "dpsql.price", "0.5")
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	mostPure, mostRenyi := told(one)
	if mostPure > 0.5 || mostPure < 0.45 {
		t.Errorf("a Laplace count at price 0.5 takes epsilon %g", mostPure)
	}
	less := 0
	for _, mechanism := range []string{"laplace", "gaussian"} {
		enginetest.Set(t, s, "dpsql.mechanism", mechanism)
		for _, sql := range []string{
			one, "select count(*) from encounters", "select avg(days_in_hospital), count(*), count(distinct patient_id) from encounters", "select diag_1, count(*) from encounters group by 1",
			"select readmitted, count(*) from encounters group by rollup(readmitted)", "select (select count(*) from patients), (select avg(medications) from encounters)",
		} {
			pure, renyi := told(sql)
			if pure > 0.5*1.001 || renyi > mostRenyi*1.01 || pure > 0 && mechanism == "gaussian" {
				t.Errorf("%s, %s: epsilon %g, Renyi %g; a Laplace count takes %g and %g", mechanism, sql, pure, renyi, mostPure, mostRenyi)
			}
			if sql == one && math.Abs(renyi/mostRenyi-1) > 0.05 {
				t.Errorf("%s: Renyi %g, not %g", mechanism, renyi, mostRenyi)
			}
			if renyi < 0.8*mostRenyi {
				less++
			}
		}
	}
	if less == 0 {
		t.Error("none takes less")
	}
}
