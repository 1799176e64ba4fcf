package stage_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestFactorsAsAsked asks counts until the budget refuses one: of epsilon 10, delta 1e-6, with statements of 0.1, the pure sum answers 100 of Laplace noise, the pair at least three times as many, and auto at least five
// times as many at the same root mean square error.
func TestFactorsAsAsked(t *testing.T) {
	const sql = "select count(*) from patients"
	// answered is how many statements at a price are, and their error: the same for all, as the plan has it. A price of 0 is the least whose error is at most that.
	answered := func(accountant, mechanism string, price, most float64) (n int, rmse float64) {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 10, delta: 1e-6, accountant: "+accountant+"}", "query:  {price: 0.5}", "query:  {price: 0.1}", "max_query_price: 5", "max_query_price: 1")
		enginetest.Set(t, s, "dpsql.mechanism", mechanism)
		enginetest.Set(t, s, "dpsql.fresh", "on")
		at := func(price float64) float64 {
			enginetest.Set(t, s, "dpsql.price", fmt.Sprint(price))
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				t.Fatal(err)
			}
			mp, err := p.Staged().Stages[0].Price()
			if err != nil {
				t.Fatal(err)
			}
			d, err := noise.DistributionOf(mp.Measures[0])
			if err != nil {
				t.Fatal(err)
			}
			return math.Sqrt(d.Variance())
		}
		if price == 0 {
			low, high := 0.01, 1.0
			for high/low > 1.0001 {
				if mid := math.Sqrt(low * high); at(mid) <= most {
					high = mid
				} else {
					low = mid
				}
			}
			price = high
		}
		rmse = at(price)
		for ; ; n++ {
			if _, err := enginetest.Try(s, sql); sqlerr.ID(err) == sqlerr.BudgetExhausted.ID {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if all := enginetest.Charges(t, s.Engine); len(all) != n {
			t.Errorf("%s, %s: %d answers, %d charges", accountant, mechanism, n, len(all))
		}
		return n, rmse
	}
	pure, exact := answered("pure", "laplace", 0.1, 0)
	pair, laplace := answered("rdp", "laplace", 0.1, 0)
	auto, gaussian := answered("rdp", "auto", 0, laplace)
	t.Logf("pure %d of error %.2f, pair %d of %.2f, auto %d of %.2f", pure, exact, pair, laplace, auto, gaussian)
	if pure != 100 || math.Abs(exact-10*math.Sqrt2) > 0.1 {
		t.Errorf("the pure sum answers %d of error %g", pure, exact)
	}
	if pair < 3*pure || auto < 5*pure || gaussian > 1.001*laplace || math.Abs(laplace/exact-1) > 0.03 {
		t.Errorf("the pair answers %d of error %g, auto %d of error %g", pair, laplace, auto, gaussian)
	}
}
