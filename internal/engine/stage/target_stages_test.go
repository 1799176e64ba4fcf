package stage_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTargetStages: each release of a statement costs the least price that gives the target in each column that is its aggregate; EXPLAIN tells of all before, and they are charged together.
func TestTargetStages(t *testing.T) {
	for _, c := range []struct {
		sql, target string
		releases    int
		max         string
	}{
		{"select readmitted, count(*), dp_error(count(*)) from encounters group by rollup(readmitted)", "40", 2, "5"},
		{"select kind_id, count(*), avg(days) from encounters group by grouping sets ((kind_id), ())", "60", 2, "5"},
		{"select (select count(*) from patients), (select avg(days) from encounters)", "3", 2, "50"},
		{"select count(*), sum(days), avg(days) from encounters", "20%", 1, "50"},
		{"select (select count(*) from encounters) a, (select count(*) from encounters) b", "20", 1, "5"},
	} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append([]string{"max_query_price: 5", "max_query_price: " + c.max}, enginetest.AutoEdits[4:]...)...)
		enginetest.Set(t, s, "dpsql.expected_size", "400")
		enginetest.SetTarget(t, s, c.target)
		told := enginetest.Explained(t, s, c.sql)
		if n := strings.Count(told, "Target: a 95% error of at most "+c.target); n != c.releases {
			t.Errorf("%s: %d releases are told of:\n%s", c.sql, n, told)
		}
		p, err := enginetest.Prepare(s, c.sql)
		if err != nil {
			t.Fatal(err)
		}
		aimed, _, err := p.Staged().SolveForTargetError(t.Context(), p.Staged().Stages, nil)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		want, _ := session.ParseTarget("", c.target)
		sum := 0.0
		for i, st := range p.Staged().Stages {
			if st.As != i {
				continue
			}
			w, err := p.Staged().Widths(t.Context(), st, want, 400, p.Staged().NamedOf(i), nil)
			if err != nil {
				t.Fatal(err)
			}
			price := aimed[i].Request.Epsilon
			sum += price
			if ok, err := w.Within(price); !ok || err != nil {
				t.Errorf("%s: stage %d: price %g does not give the target: %v", c.sql, i, price, err)
			}
			if ok, err := w.Within(0.95 * price); (ok || err != nil) && price > st.Request.Least {
				t.Errorf("%s: stage %d: price %g is not the least: %v", c.sql, i, price, err)
			}
		}
		enginetest.Ask(t, s, c.sql)
		charged := 0.0
		all := enginetest.Charges(t, s.Engine)
		for _, one := range all {
			charged += one.Price
		}
		if len(all) != c.releases || math.Abs(charged-sum) > 1e-9 {
			t.Errorf("%s: %d charges of %g, not %d of %g", c.sql, len(all), charged, c.releases, sum)
		}
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits[4:]...)
	enginetest.Set(t, s, "dpsql.expected_size", "400")
	enginetest.SetTarget(t, s, "1.5")
	_, err := enginetest.Try(s, "select (select count(*) from patients), (select count(distinct ward) from patients), (select count(*) from patients where ward is not null)")
	if sqlerr.ID(err) != sqlerr.PriceTooLarge.ID || !strings.Contains(err.Error(), "all releases") || len(enginetest.Charges(t, s.Engine)) != 0 {
		t.Errorf("more than one may spend, together: %v", err)
	}
}

// TestTargetOfAllGroups: where the intervals of all groups hold together, a target is reached in the groups of all releases of a statement, as EXPLAIN says.
func TestTargetOfAllGroups(t *testing.T) {
	for _, order := range []string{"", " order by 2 desc limit 3"} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,", "max_query_price: 5", "max_query_price: 50")
		enginetest.Set(t, s, "dpsql.consistent", "off")
		if order == "" {
			enginetest.Set(t, s, "dpsql.simultaneous", "on")
		}
		enginetest.Set(t, s, "dpsql.price", "50")
		enginetest.SetTarget(t, s, "20")
		_, a := enginetest.Ask(t, s, "select gender, count(*), dp_error(count(*)) from patients group by rollup(gender)"+order)
		for _, r := range a.Rows {
			if x := r[2].(float64); x > 20 || x < 10 {
				t.Errorf("%q: an error of %g: %v", order, x, a.Warnings)
			}
		}
	}
}

// TestTargetChoosesAnew: where a target is aimed at, bounds are chosen and what they take away is told again, at the whole new price.
func TestTargetChoosesAnew(t *testing.T) {
	const sql = "select count(*), dp_error(count(*)) from visits"
	many := enginetest.Clinic{Name: "many visits", Data: neighbour.Inside, Change: append(strings.Split(enginetest.Emptied, "; "), enginetest.Visits(1, 20_000, 3, 1))} // at a tiny price few people are too few
	for first, part := range map[string]float64{"0.02": 4, "0.5": 2} {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, many, funcs.DuckDB, enginetest.AutoEdits...), 22)
		enginetest.Set(t, s, "dpsql.mechanism", "laplace")
		enginetest.Set(t, s, "dpsql.price", first)
		enginetest.Ask(t, s, sql)
		_, text, _ := strings.Cut(enginetest.Explained(t, s, sql), "95% error (largest group): count ")
		var noisy float64
		if _, err := fmt.Sscan(text, &noisy); err != nil {
			t.Fatal(err)
		}
		enginetest.SetTarget(t, s, session.Target{Most: noisy / part}.String())
		if told := enginetest.Explained(t, s, sql); !strings.Contains(told, "asked anew") || strings.Contains(told, "Top-up") {
			t.Errorf("%s: told: %s", first, told)
		}
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		aimed, _, err := p.Staged().SolveForTargetError(t.Context(), p.Staged().Stages, nil)
		if err != nil {
			t.Fatal(err)
		}
		enginetest.Ask(t, s, sql)
		all := enginetest.Charges(t, s.Engine)
		last := all[len(all)-1]
		chosen := slices.ContainsFunc(last.Events, func(ev dp.Event) bool { _, ok := ev.(dp.AboveThreshold); return ok })
		if len(all) != 2 || !chosen || last.Price != aimed[0].Request.Epsilon {
			t.Errorf("%s: %d charges, the last at price %g, chosen %t, aimed at price %g: %+v", first, len(all), last.Price, chosen, aimed[0].Request.Epsilon, all)
		}
		own, err := enginetest.FilterOf(s.Engine).Sum(last.Events)
		if tag := enginetest.FilterOf(s.Engine).Limit(last.Price); err != nil || !(own.Pure > 0.9999*tag.Epsilon) {
			t.Errorf("%s: a new release is charged %+v of %+v: %v", first, own, tag, err)
		}
		enginetest.Set(t, s, "dpsql.target_error", "off")
		enginetest.Set(t, s, "dpsql.price", fmt.Sprint(last.Price))
		if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, sql) }); n != 0 {
			t.Errorf("%s: asked again it is charged %d times", first, n)
		}
	}
}

// TestTargetObserved: at the price that a target comes to, the answers are within it 95 times in 100, and at a third of that price they are not. False alarms: 6 deviations, 1e-9.
func TestTargetObserved(t *testing.T) {
	const n, sql = 300, "select count(*), sum(days) from encounters"
	edits := append([]string{"max_query_price: 5", "max_query_price: 50"}, enginetest.AutoEdits[4:5]...)
	edits = append(edits, "epsilon: 10000,")
	for _, mechanism := range []string{"laplace", "gaussian"} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, edits...)
		enginetest.Set(t, s, "dpsql.mechanism", mechanism)
		enginetest.Set(t, s, "dpsql.expected_size", "100")
		enginetest.SetTarget(t, s, "300")
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		aimed, _, err := p.Staged().SolveForTargetError(t.Context(), p.Staged().Stages, nil)
		if err != nil {
			t.Fatal(err)
		}
		enginetest.Set(t, s, "dpsql.target_error", "off")
		enginetest.Set(t, s, "dpsql.fresh", "on")
		for part, within := range map[float64]bool{1: true, 1.0 / 3: false} {
			if mechanism == "gaussian" && !within {
				continue
			}
			enginetest.Set(t, s, "dpsql.price", fmt.Sprint(part*aimed[0].Request.Epsilon))
			var drawn [2][]float64
			for range n {
				_, a := enginetest.Ask(t, s, sql)
				for i := range drawn {
					drawn[i] = append(drawn[i], float64(a.Rows[0][i].(int64)))
				}
			}
			most := 0.0
			for _, x := range drawn {
				middle, beyond := slices.Sorted(slices.Values(x))[n/2], 0.0
				for _, v := range x {
					if math.Abs(v-middle) > 300 {
						beyond++
					}
				}
				most = max(most, beyond/n)
			}
			if alarm := 0.05 + 6*math.Sqrt(0.05*0.95/n); within != (most <= alarm) {
				t.Errorf("%s at %g of the price: %.3f of the answers are beyond the target", mechanism, part, most)
			}
		}
	}
}
