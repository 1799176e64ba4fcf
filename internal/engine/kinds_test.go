package engine

import (
	"fmt"
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
