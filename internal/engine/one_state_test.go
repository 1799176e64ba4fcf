package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestOneStateOfTheData: an answer of several releases is of one state of the data. Where the data may have changed since some of them were stored, all are asked anew in one snapshot; what one snapshot gave is free again, whatever was asked since. Noise alone makes it fail with a probability below 1e-9: each number has 25 scales of room.
func TestOneStateOfTheData(t *testing.T) {
	do, b, p := buyersDB(t, "one_state")
	e := enginetest.EngineOn(t, p, b)
	s := enginetest.NewSession(e, t, "ann")
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	enginetest.Set(t, s, "dpsql.notices", "brief")
	enginetest.Set(t, s, "dpsql.price", "10")
	const note = "releases are asked anew in one snapshot, though"
	ask := func(sql string, charges int) [][]sqltype.Value {
		t.Helper()
		plan := fmt.Sprint(enginetest.MustTry(t, s, "explain "+sql), enginetest.MustTry(t, s, "explain verbose "+sql))
		if free := strings.Contains(plan, "Price: nothing"); free != (charges == 0) || charges > 1 && !strings.Contains(plan, fmt.Sprintf("for %d releases", charges)) {
			t.Errorf("%s: %d charges; EXPLAIN: %s", sql, charges, plan)
		}
		before := len(enginetest.Charges(t, e))
		st, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		ans, err := st.Run(t.Context(), nil)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		rows, err := ans.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(enginetest.Charges(t, e)) - before; n != charges {
			t.Errorf("%s: %d charges, not %d; %s", sql, n, charges, ans.Notice)
		}
		if strings.Contains(plan, note) != strings.Contains(ans.Notice, note) {
			t.Errorf("%s: EXPLAIN says %s, the answer %s", sql, plan, ans.Notice)
		}
		return rows
	}
	number := func(v sqltype.Value) (x float64) {
		t.Helper()
		if _, err := fmt.Sscan(fmt.Sprint(v), &x); err != nil {
			t.Fatal(v, err)
		}
		return x
	}
	inside := func(what string, v sqltype.Value, lo, hi float64) {
		t.Helper()
		if x := number(v); x < lo || x > hi {
			t.Errorf("%s: %g is not in [%g, %g]", what, x, lo, hi)
		}
	}
	change := func() { // to 500 rows of 5 each, from 2000
		t.Helper()
		do(`delete from bought where id > 500`)
	}
	back := func() {
		t.Helper()
		do(`insert into bought select i, i, 5, 7 from generate_series(501, 2000) i`)
	}

	const ratio = "select (select sum(total) from bought) / (select count(*) from bought)"
	inside("a count", ask("select count(*) from bought", 1)[0][0], 1900, 2100)
	change()
	first := ask(ratio, 2)
	inside("a quotient over a change", first[0][0], 3.5, 7)
	if again := ask(ratio, 0); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("a repeat: %v, not %v", again, first)
	}
	inside("the same releases", ask("select (select count(*) from bought) * 1.0 / (select sum(total) from bought)", 0)[0][0], 0.14, 0.3)
	ask("select count(*) from bought", 0)
	back()
	enginetest.Set(t, s, "dpsql.fresh", "on")
	ask("select count(*) from bought", 1)
	enginetest.Set(t, s, "dpsql.fresh", "off")
	if again := ask(ratio, 0); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("a repeat after one part was asked anew: %v, not %v", again, first)
	}
	ask("select sum(total) from bought", 1) // at twice the price of the quotient's part
	if again := ask(ratio, 0); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("a repeat after the other part was asked for more: %v, not %v", again, first)
	}
	inside("with a part that is new", ask("select (select sum(total) from bought) / (select count(*) from bought where id > 1)", 2)[0][0], 4, 6)

	// Both parts are stored, of two states.
	ask("select count(*) from bought where id > 2", 1)
	change()
	ask("select sum(total) from bought where id > 2", 1)
	inside("two states", ask("select (select sum(total) from bought where id > 2) / (select count(*) from bought where id > 2)", 2)[0][0], 3.5, 7)
	back()

	// Grouping sets, and what one release reads of another.
	ask("select total > 3, count(*) from bought where id > 3 group by 1", 1)
	change()
	sum, whole := 0.0, 0.0
	for _, row := range ask("select total > 3, grouping(total > 3), count(*) from bought where id > 3 group by rollup (total > 3)", 2) {
		if number(row[1]) == 1 {
			whole = number(row[2])
		} else {
			sum += number(row[2])
		}
	}
	if whole < 450 || whole > 550 || sum < 450 || sum > 550 {
		t.Errorf("%g rows in the groups, %g in all of them", sum, whole)
	}
	back()
	const above = "select count(*) from bought where id > 4 and total >= (select avg(total) - 1 from bought where id > 4)"
	ask("select avg(total) from bought where id > 4", 1)
	change()
	inside("what reads another release", ask(above, 2)[0][0], 450, 550)
	inside("its repeat", ask(above, 0)[0][0], 450, 550)
	back()

	// A target.
	const both = "select (select count(*) from bought where id > 5) as n, (select sum(total) from bought where id > 5) as s"
	enginetest.SetTarget(t, s, "30")
	ask("select count(*) as n from bought where id > 5", 1)
	change()
	inside("a target", ask(both, 2)[0][0], 250, 1000)
	ask(both, 0)
	enginetest.Set(t, s, "dpsql.target_error", "off")
	back()

	// The owner's word that the data do not change keeps the parts.
	if err := e.Reload(t.Context(), buyersPolicyFor(t, `{postgres: "postgres://reader@127.0.0.1/shop"}`, "dataset: shop", "dataset: shop\ndata_version: one")); err != nil {
		t.Fatal(err)
	}
	ask("select count(*) from bought", 1)
	inside("of one version", ask(ratio, 1)[0][0], 3.5, 7)
	ask(ratio, 0)
}
