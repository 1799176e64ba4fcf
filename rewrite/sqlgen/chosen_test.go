package sqlgen_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// chosenStatements are all over that catalog.
var chosenStatements = slices.Concat(neighbour.Statements, neighbour.FanOut, neighbour.PostgresOnly, neighbour.ChosenStatements)

// refused says that a statement needs a declared range: its grid does not follow from types and steps.
func refused(err error) bool {
	var e *sqlerr.Error
	return errors.As(err, &e) && e.ID == sqlerr.NoRange.ID
}

// TestChosenNeighbours: nobody declared a bound, and without one unit no number of units beyond any edge and no total at any edge, at any cap of
// groups, changes by more than is claimed; rows without an owner and physical order change nothing at all.
func TestChosenNeighbours(t *testing.T) {
	ctx := context.Background()
	db, cat := neighbour.Undeclared(t, "undeclared_outside", neighbour.Outside), neighbour.ChosenCatalog()
	full, fixed := 0, map[string]bool{}
	for _, sql := range chosenStatements {
		capped := true // where groups need no cap, another cap is the same statement
		for _, by := range []struct{ groups, rows uint64 }{{0, 0}, {2, 0}, {2, 3}} {
			if by.groups > 0 && by.rows == 0 && !capped {
				continue
			}
			if by.rows > 0 && !slices.Contains(neighbour.ChosenStatements, sql) {
				continue
			}
			a, err := neighbour.ChooseOn(t, sql, db, by.groups, by.rows)
			if refused(err) {
				fixed[sql] = true
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			if by.groups == 0 {
				capped = a.Limit.Capped
			}
			if len(a.Choices) == 0 {
				if by.rows == 0 {
					fixed[sql] = true
				}
				continue
			}
			share, err := neighbour.CheckChosen(ctx, db, cat, a, funcs.Postgres, neighbour.ChosenUnits, neighbour.Bug{})
			if err != nil {
				t.Errorf("%s, %+v: %v", sql, by, err)
			}
			if share == 1 {
				full++
			}
		}
	}
	if full < 60 || len(fixed) > 20 {
		t.Errorf("%d checks use their whole claim; %d statements choose nothing: %v", full, len(fixed), slices.Sorted(maps.Keys(fixed)))
	}
}

// parts reads the (unit, group) partials of an analysis by its text's own un-noised print: no clamp, no bucket. known says of which measures:
// sums whose rows are rounded or not numbers are not compared.
func parts(t testing.TB, db *neighbour.Postgres, a *sensitivity.Analysis) (out []neighbour.Part, known func(int) bool) {
	t.Helper()
	q := *a.Query
	q.Columns = slices.Clone(q.Columns)
	agg := &plan.Aggregate{Input: a.Body.Rel, Keys: []plan.ColID{a.Body.UnitCol}}
	q.Outputs = []plan.Output{{Col: a.Body.UnitCol, Type: q.Columns[a.Body.UnitCol].Type}}
	for _, k := range a.Keys {
		agg.Keys = append(agg.Keys, k.Col)
		q.Outputs = append(q.Outputs, plan.Output{Col: k.Col, Type: q.Columns[k.Col].Type})
	}
	item := func(fn plan.AggFunc, arg, filter plan.Scalar, typ sqltype.Type) {
		id := plan.ColID(len(q.Columns))
		q.Columns = append(q.Columns, plan.ColumnInfo{Name: "x", Type: typ})
		agg.Aggs = append(agg.Aggs, plan.AggItem{ID: id, Fn: fn, Arg: arg, Filter: filter, Type: typ})
		q.Outputs = append(q.Outputs, plan.Output{Col: id, Type: typ})
	}
	for _, m := range a.Measures { // a count and a sum each
		if m.Arg == nil || !known0(m) {
			item(plan.CountRows, nil, m.Filter, sqltype.Int8)
			item(plan.CountRows, nil, m.Filter, sqltype.Int8)
			continue
		}
		item(plan.Count, m.Arg, m.Filter, sqltype.Int8)
		typ := sqltype.Numeric
		if t := m.Arg.Type(); t.IsInteger() && t.Len() < 8 {
			typ = sqltype.Int8
		}
		if m.Kind == sensitivity.CountValues {
			item(plan.Count, m.Arg, m.Filter, sqltype.Int8)
		} else {
			item(plan.Sum, m.Arg, m.Filter, typ)
		}
	}
	q.Root = agg
	st, err := sqlgen.PlainQuery(&q, funcs.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(context.Background(), st)
	if err != nil {
		t.Fatalf("%v\n%s", err, st.SQL)
	}
	for _, r := range rows {
		if r[0] == nil {
			continue
		}
		p := neighbour.Part{Unit: fmt.Sprint(r[0]), Group: neighbour.Group(r[1 : 1+len(a.Keys)])}
		for i, m := range a.Measures {
			at := 1 + len(a.Keys) + 2*i
			count, sum := neighbour.Decimal(r[at]), neighbour.Decimal(r[at+1])
			var x *big.Int
			switch {
			case m.Kind == sensitivity.CountRows, m.Kind == sensitivity.CountValues:
				x = count.BigInt()
			case count.IsZero() || !known0(m):
			case m.Kind == sensitivity.SumValues:
				x = sum.Div(m.Grid).BigInt()
				if k := count.BigInt(); m.Rows > 0 && k.Cmp(new(big.Int).SetUint64(m.Rows)) > 0 {
					x.Quo(x.Mul(x, new(big.Int).SetUint64(m.Rows)), k)
				}
			case m.Kind == sensitivity.CentredSum:
				twice := decimal.NewFromInt(m.DoubledCentre())
				x = sum.Div(m.Grid).Mul(decimal.NewFromInt(2)).Sub(twice.Mul(count)).BigInt()
			}
			p.Values = append(p.Values, x)
		}
		out = append(out, p)
	}
	return out, func(i int) bool { return known0(a.Measures[i]) }
}

func known0(m sensitivity.Measure) bool {
	return !m.Rounded && (m.Arg == nil || !m.Arg.Type().IsFloat())
}

// tameUndeclared lacks what only a clamp can read.
func tameUndeclared(t testing.TB, name string) *neighbour.Postgres {
	t.Helper()
	db := neighbour.Undeclared(t, name, neighbour.Inside)
	for _, sql := range []string{"UPDATE charges SET wide = 7, fee = 7, rate = 7 WHERE wide = 'NaN' OR rate = 'NaN'", "UPDATE encounters SET cost = 1 WHERE cost = 'NaN'",
		"UPDATE charges SET amount = 9 WHERE abs(amount::numeric) > 1e15", // whose products are no bigint
		"UPDATE encounters SET ratio = 1 WHERE ratio IN ('NaN', 'Infinity', '-Infinity')"} {
		if err := db.Exec(context.Background(), "SET search_path = public; "+sql+"; SET search_path = ''"); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// TestChosenOracle: on data without what only a clamp can read, every number of units beyond an edge and every total at an edge is what comes of the
// (unit, group) sums themselves.
func TestChosenOracle(t *testing.T) {
	db := tameUndeclared(t, "undeclared_inside")
	checked := 0
	for _, sql := range chosenStatements {
		for _, groups := range []uint64{0, 100} { // the oracle does not know which groups a cap cuts off
			for _, rows := range []uint64{0, 3} {
				if groups == 0 && slices.Contains(neighbour.ChosenStatements, sql) && strings.Contains(sql, "select item, ") {
					continue
				}
				n, err := against(t, db, sql, groups, rows, neighbour.Bug{})
				if err != nil {
					t.Errorf("%s, cap %d, rows %d: %v", sql, groups, rows, err)
				}
				checked += n
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d measures were compared", checked)
	}
}

// against compares one statement's histogram with the parts; it gives the number of measures that were.
func against(t testing.TB, db *neighbour.Postgres, sql string, groups, rows uint64, bug neighbour.Bug) (checked int, err error) {
	t.Helper()
	a, err := neighbour.ChooseOn(t, sql, db, groups, rows)
	if refused(err) || err == nil && len(a.Choices) == 0 {
		return 0, nil
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	h, err := bug.Ask(context.Background(), db, a, funcs.Postgres)
	if err != nil {
		return 0, err
	}
	list, known := parts(t, db, a)
	for i, m := range a.Measures {
		if m.Bound != nil && known(i) {
			checked++
		}
	}
	return checked, h.Against(list, known)
}

// TestChosenPlantedBugs: the neighbour test fails on each of these; those that only make the answer wrong fail the oracle's.
func TestChosenPlantedBugs(t *testing.T) {
	replace := func(pairs ...string) func(string) string {
		return func(sql string) string {
			for i := 0; i < len(pairs); i += 2 {
				sql = regexp.MustCompile(pairs[i]).ReplaceAllString(sql, pairs[i+1])
			}
			return sql
		}
	}
	cases := []struct {
		name, sql string
		groups    uint64
		bug       neighbour.Bug
		oracle    bool
		rows      uint64
	}{
		{"edges off the grid", "select count(*), sum(amount) from charges", 0, neighbour.Bug{SQL: replace(`("h"\."x2"\)?) - 1, (CAST\('\{[\d,]+\}' AS pg_catalog\.)int8`, "$1 / 1.1, ${2}numeric")}, false, 0},
		{"partials counted instead of units", "select item, count(*), sum(fee) from charges group by 1", 2, neighbour.Bug{SQL: replace(`"h"\."first" AND `, "")}, false, 0},
		{"ranks counted instead of units", "select item, count(*) from charges group by 1", 0, neighbour.Bug{SQL: replace(`"h"\."first" AND `, "")}, false, 0},
		{"groups of one unit dropped", "select item, count(*), sum(fee) from charges group by 1", 100, neighbour.Bug{Read: func(h *neighbour.Histogram) {
			few := map[string]bool{}
			for s, b := range h.Rows {
				few[s.Group] = few[s.Group] || s.Part == sqlgen.PartTotals && b.Count < 2
			}
			maps.DeleteFunc(h.Rows, func(s neighbour.Slot, _ *neighbour.Bucket) bool { return s.Part >= 0 && few[s.Group] })
		}}, false, 0},
		{"sign of the size dropped", "select sum(amount) from charges", 2, neighbour.Bug{SQL: replace(`pg_catalog\.abs\(("h"\."x1")\) - 1`, "$1 - 1")}, false, 0},
		{"sign of an average's size dropped", "select avg(least(greatest(amount, -30), 30)) from charges", 2, neighbour.Bug{SQL: replace(`pg_catalog\.abs\(("h"\."x1")\) - 1`, "$1 - 1")}, false, 0},
		{"an average about another centre", "select avg(days) from encounters where days >= 2 and days < 13", 2, neighbour.Bug{SQL: replace(`- \(8\) \*`, "- (14) *")}, true, 0},
		{"cap of groups dropped", "select item, count(*) from charges group by 1", 2, neighbour.Bug{SQL: replace(` WHERE "g"\."rn" <= \d+`, "")}, false, 0},
		{"ranks one too low", "select item, count(*) from charges group by 1", 0, neighbour.Bug{SQL: replace(`"h"\."rn" - 1,`, `"h"."rn" - 2,`)}, false, 0},
		{"ranks over all units", "select item, count(*) from charges group by 1", 0, neighbour.Bug{SQL: replace(`PARTITION BY "g"\."u" `, "")}, false, 0},
		{"rows without an owner kept", "select sum(amount) from charges", 2, neighbour.Bug{SQL: replace(`"t1"\."patient_id" IS NOT NULL`, "TRUE")}, false, 0},
		{"largest partial over all units", "select item, sum(fee) from charges group by 1", 2, neighbour.Bug{SQL: replace(`OVER \(PARTITION BY "h"\."u"\) AS "y`, `OVER () AS "y`)}, false, 0},
		{"sum of the bucket for the parts beyond", "select sum(amount) from charges", 2, neighbour.Bug{Read: func(h *neighbour.Histogram) {
			for _, b := range h.Rows {
				b.Signed *= 2
			}
		}}, false, 0},
		{"the smallest partial counts", "select item, sum(fee) from charges group by 1", 100, neighbour.Bug{SQL: replace(`max\(pg_catalog\.abs`, "min(pg_catalog.abs")}, true, 0},
		{"sign of the parts beyond dropped", "select sum(amount) from charges", 100, neighbour.Bug{SQL: replace(`CASE WHEN "h"\."x1" < 0 THEN -1 ELSE 1 END`, "1")}, true, 0},
		{"NULL is beyond all", "select item, sum(amount) from charges group by 1", 100, neighbour.Bug{SQL: replace(`"h"\."x1" <> 0`, "TRUE", `(pg_catalog\.abs\("h"\."x1"\) - 1),`, "coalesce($1, 9223372036854775807),")}, true, 0},
		{"ranks one too high", "select diag, count(*) from encounters group by 1", 0, neighbour.Bug{SQL: replace(`"h"\."rn" - 1,`, `"h"."rn",`)}, true, 0},
		{"a sum of all rows beside a count of some", "select avg(amount) from charges", 2, neighbour.Bug{SQL: replace(`pg_catalog\.div\(\((.*?)\) \* 3, .*?\)`, "$1")}, true, 3},
		{"an edge counts as beyond", "select count(*) from charges", 100, neighbour.Bug{SQL: replace(`"h"\."x1" - 1,`, `"h"."x1",`)}, true, 0},
	}
	outside, inside, cat := neighbour.Undeclared(t, "undeclared_bugs", neighbour.Outside), tameUndeclared(t, "undeclared_bugs_inside"), neighbour.ChosenCatalog()
	for _, c := range cases {
		var err error
		if c.oracle {
			_, err = against(t, inside, c.sql, c.groups, c.rows, c.bug)
		} else {
			a, e := neighbour.ChooseOn(t, c.sql, outside, c.groups, c.rows)
			if e != nil {
				t.Fatalf("%s: %v", c.name, e)
			}
			_, err = neighbour.CheckChosen(context.Background(), outside, cat, a, funcs.Postgres, neighbour.ChosenUnits, c.bug)
		}
		if err == nil || strings.Contains(err.Error(), "changes nothing in") || strings.Contains(err.Error(), "SQLSTATE") {
			t.Errorf("%s: %.300v", c.name, err)
		}
	}
}
