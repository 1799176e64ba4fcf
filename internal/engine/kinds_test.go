package engine

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/sqlerr"
)

// TestPopulationOfKinds: a statement over tables of one kind is priced by that kind's population, one over rows of two by the lesser, as if the policy had said that number alone; what a group holds of rows of two people goes by the larger.
func TestPopulationOfKinds(t *testing.T) {
	rich := []string{"budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 20, delta: 1e-9}"} // no delta is too large for so many
	of := func(population, text string) (string, float64) {
		t.Helper()
		p, err := prepare(shopSession(t, allShop, backend.DuckDB, append(rich, "population: 40", "population: "+population)...), text)
		if err != nil {
			t.Fatal(err)
		}
		mp, err := p.stages[0].price()
		if err != nil {
			t.Fatal(err)
		}
		if len(mp.Choices) == 0 {
			t.Fatalf("%s chooses nothing", text)
		}
		return fmt.Sprintf("%+v %+v", mp.Choices, mp.Measures), p.session.declaredRows(p.an)
	}
	each := "{customer: 150000, supplier.s_suppkey: 200}"
	for text, by := range map[string][2]string{ // priced by, and its rows
		"SELECT count(*) FROM orders":   {"150000", "150000"},
		"SELECT count(*) FROM partsupp": {"200", "200"},
		"SELECT count(*) FROM lineitem": {"200", "150000"},
	} {
		got, rows := of(each, text)
		if want, _ := of(by[0], text); got != want {
			t.Errorf("%s is priced as %s, it is\n%s", text, want, got)
		}
		if other, _ := of(map[string]string{"200": "150000", "150000": "200"}[by[0]], text); got == other {
			t.Errorf("%s: the populations make no difference", text)
		}
		if fmt.Sprint(int(rows)) != by[1] {
			t.Errorf("%s has %g rows, not %s", text, rows, by[1])
		}
	}
}

// TestPopulationOfKindsTrains: a training divides by the number of its own kind's people.
func TestPopulationOfKindsTrains(t *testing.T) {
	train := "TRAIN DP MODEL m USING linear_regression METHOD dp_gd TARGET ps_availqty WITH (epsilon = 1, steps = 10, max_rows_per_unit = 2) AS SELECT ps_availqty, ps_partkey = 1 AS one FROM partsupp"
	s := shopSession(t, allShop, backend.DuckDB, "population: 40", "population: {supplier: 300, customer: 900}")
	of := trainingOf(t, s, train)
	if of.plan.Population != 300 {
		t.Errorf("planned for %g people", of.plan.Population)
	}
	none := shopSession(t, allShop, backend.DuckDB, "population: 40\n", "")
	if _, err := prepare(none, train); sqlerr.ID(err) != sqlerr.InvalidParam.ID || !strings.Contains(err.Error(), "must declare its population") {
		t.Errorf("without a population: %v", err)
	}
}

// TestReachTold: EXPLAIN tells, from the population and the price alone, above which cap of a flow none is likely to be found; of many people it tells nothing. A larger price reaches further.
func TestReachTold(t *testing.T) {
	tells := regexp.MustCompile(`with so few people one above about ([0-9.e+]+) is hardly found`)
	reach := func(population, epsilon, sql string) float64 {
		t.Helper()
		s := shopSession(t, allShop, backend.DuckDB, "population: 40", "population: "+population)
		set(t, s, "dpsql.epsilon", epsilon)
		m := tells.FindStringSubmatch(explained(t, s, sql))
		if m == nil {
			return math.Inf(1)
		}
		x, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	const rows, sum = "SELECT count(*) FROM lineitem", "SELECT sum(l_price) FROM lineitem"
	few, more, dear := reach("{customer: 5000, supplier: 20}", "0.5", rows), reach("{customer: 5000, supplier: 60}", "0.5", rows), reach("{customer: 5000, supplier: 20}", "1.5", rows)
	if !(few > 50 && few < 1000 && more > 10*few && dear > 10*few) {
		t.Errorf("caps up to %g are found, of more people %g, at a larger price %g", few, more, dear)
	}
	if got := reach("{customer: 20, supplier: 5000}", "0.5", rows); got != few {
		t.Errorf("of few customers %g", got)
	}
	if in := reach("{customer: 5000, supplier: 20}", "0.5", sum); !(in > 5*few && in < 5.2*few) { // the first cap is 5.12, the first power of 2 of cents above a 256th of 1000.00
		t.Errorf("of sums %g, of rows %g", in, few)
	}
	if got := reach("{customer: 5000, supplier: 5000}", "0.5", rows); !math.IsInf(got, 1) {
		t.Errorf("of many people %g", got)
	}
	if got := reach("{customer: 5000, supplier: 20}", "0.5", "SELECT count(*) FROM orders"); !math.IsInf(got, 1) {
		t.Errorf("of rows of one kind %g", got)
	}
}
