package stage_test

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestCandidatesCanBeRun: whichever candidates are chosen, what was priced can be run there. Otherwise a statement fails after its charge. Products of decimals have bounds on either side of sensitivity.LostCoarse.
func TestCandidatesCanBeRun(t *testing.T) {
	for _, mechanism := range []string{"laplace", "gaussian"} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append([]string{"cost:         {range: [0, 500]}", "cost:         {range: [0, 5000]}"}, enginetest.AutoEdits...)...)
		enginetest.Set(t, s, "dpsql.mechanism", mechanism)
		tried := 0
		for _, at := range []string{"0.1", "1"} {
			enginetest.Set(t, s, "dpsql.price", at)
			for _, sql := range []string{"stddev(cost)", "avg(cost), stddev(cost)", "corr(cost, days)", "variance(least(greatest(cost, 0), 1000))", "sum(cost), count(*)", "regr_slope(cost, days)"} {
				for _, of := range []string{"select %s from encounters", "select readmitted, %s from encounters group by 1"} {
					p, err := enginetest.Prepare(s, fmt.Sprintf(of, sql))
					if err != nil {
						t.Fatalf("%s: %v", sql, err)
					}
					mp, err := p.Price()
					if err != nil {
						continue // the price is too small
					}
					for k := range 200 {
						chosen, some := make(price.Chosen, len(p.Analysis().Choices)), false
						for i, c := range p.Analysis().Choices {
							most := int(mp.CandidateCount(c)) - 1 //nolint:gosec // few
							chosen[i] = min(k, most)
							some = some || k <= most
						}
						if !some {
							break
						}
						tried++
						if _, err := mp.Resolve(p.Analysis(), chosen); err != nil {
							t.Errorf("%s, %s at %s: %v: %v", mechanism, sql, at, chosen, err)
						}
					}
				}
			}
		}
		if tried < 500 {
			t.Errorf("only %d choices", tried)
		}
	}
}
