package divide_test

import (
	"context"
	"math/bits"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// TestCanonical: texts on one line are one release, texts on different lines are not.
func TestCanonical(t *testing.T) {
	lines := [][]string{
		{"select count(*) from encounters", "select count(*) as n from encounters e", "select count(*) + 1 from encounters order by 1",
			"select count(days) from encounters"},
		{"select count(*) from encounters where days > 2 and cost > 1", "select count(*) from encounters where cost > 1 and days > 2"},
		{"select count(*) from encounters where days > 3 and cost > 1"},
		{"select count(*) from encounters where days > $1"},
		{"select count(*) from encounters where days > $1 * 2"},
		{"select count(*) filter (where days > 2 and cost > 1) from encounters", "select count(days) filter (where cost > 1 and days > 2) from encounters e",
			"select count(*) filter (where days > 2 and cost > 1), count(days order by cost) filter (where cost > 1 and days > 2) from encounters"},
		{"select count(*) filter (where days > 2) from encounters"},
		{"select count(*) filter (where days > $1) from encounters"},
		{"select count(distinct patient_id) filter (where days > 2) from encounters"},
		{"select avg(days) filter (where cost > 1), sum(days) filter (where cost > 1) from encounters", "select count(*) filter (where cost > 1), avg(days) filter (where cost > 1) from encounters"},
		{"select avg(days) filter (where cost > 1), count(*) from encounters"},
		{"select count(medications) from encounters"},
		{"select avg(days), count(*) from encounters", "select count(*), sum(days), avg(days) from encounters x"},
		{"select sum(days) from encounters"},
		{"select readmitted, count(*) from encounters group by 1", "select count(*) as n, readmitted from encounters group by readmitted having count(*) > 1 limit 3"},
		{"select diag, count(*) from encounters group by 1"},
		{"select count(distinct patient_id) from encounters"},
		{"select count(*) from patients p left join encounters e on e.patient_id = p.patient_id"},
		{"select count(*) from patients p join encounters e on e.patient_id = p.patient_id"},
	}
	seen := map[string]int{}
	for i, line := range lines {
		for _, sql := range line {
			a, err := analyze(sql, options())
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			text := reuse.Canonical(a)
			if j, ok := seen[text]; ok && j != i {
				t.Errorf("%s has the text of %s", sql, lines[j][0])
			} else if !ok && sql != line[0] {
				t.Errorf("%s has not the text of %s:\n%s", sql, line[0], text)
			}
			seen[text] = i
		}
	}
	a, err := analyze("select diag, count(*) from encounters group by 1", sensitivity.Options{MaxGroups: 3, MaxPublicGroups: 1000, Public: public})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := seen[reuse.Canonical(a)]; ok {
		t.Error("another cap has the same text")
	}
}

// strange is a node that nobody knows.
type strange struct{ plan.Rel }

// TestFailClosed: what is not known is refused, and zero options refuse.
func TestFailClosed(t *testing.T) {
	ctx := context.Background()
	base := func() *plan.Query {
		q, err := bind("select diag, count(*) from encounters group by 1", neighbour.ClinicCatalog())
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	aggregate := func(q *plan.Query) *plan.Aggregate {
		for r := q.Root; ; r = plan.Inputs(r)[0] {
			if a, ok := r.(*plan.Aggregate); ok {
				return a
			}
		}
	}
	for name, spoil := range map[string]func(*plan.Query){
		"an unknown node above": func(q *plan.Query) { q.Root = strange{q.Root} },
		"an unknown node below": func(q *plan.Query) { a := aggregate(q); a.Input = strange{a.Input} },
		"an unknown join": func(q *plan.Query) {
			a := aggregate(q)
			a.Input = &plan.Join{Kind: "full", Left: a.Input, Right: &plan.OneRow{}}
		},
		"an unknown aggregate":  func(q *plan.Query) { aggregate(q).Aggs[0].Fn = "median" },
		"rows of nobody":        func(q *plan.Query) { scan(q).Table.Units = nil },
		"rows of two":           func(q *plan.Query) { scan(q).Table.Units = dp.Units{"a", "b"} },
		"a table without a way": func(q *plan.Query) { s := scan(q); s.Table.UnitCol, s.Table.Path = -1, nil },
		"a way by no key":       func(q *plan.Query) { s := scan(q); s.Table.UnitCol = -1; s.Table.Path.Parent.Keys = nil },
		"a way in a circle": func(q *plan.Query) {
			s := scan(q)
			s.Table.UnitCol = -1
			s.Table.Path.Parent = s.Table
			s.Table.Path.ParentColumns = []int{0}
		},
		"too many rows": func(q *plan.Query) { scan(q).Table.MaxRows = dp.MaxSensitivity + 1 },
		"a join with what nobody knows": func(q *plan.Query) {
			q.Root = &plan.Join{Kind: plan.InnerJoin, Left: q.Root, Right: strange{&plan.OneRow{}}}
		},
		"a join with private rows": func(q *plan.Query) { q.Root = &plan.Join{Kind: plan.InnerJoin, Left: q.Root, Right: scan(q)} },
		"a set operation with private rows": func(q *plan.Query) {
			q.Root = &plan.SetOp{Op: "EXCEPT", Left: scan(q), Right: q.Root, LeftCols: q.Root.Cols(), RightCols: q.Root.Cols(), Columns: q.Root.Cols()}
		},
		"a set operation with what nobody knows": func(q *plan.Query) {
			q.Root = &plan.SetOp{Op: "EXCEPT", Left: strange{&plan.OneRow{}}, Right: q.Root, LeftCols: q.Root.Cols(), RightCols: q.Root.Cols(), Columns: q.Root.Cols()}
		},
		"private rows in a subquery above": func(q *plan.Query) {
			q.Root = &plan.Filter{Input: q.Root, Cond: &plan.Subquery{Kind: plan.ExistsQuery, Query: scan(q)}}
		},
		"private rows in a subquery of a subquery": func(q *plan.Query) {
			q.Root = &plan.Filter{Input: q.Root, Cond: &plan.Subquery{Kind: plan.ExistsQuery, Query: &plan.Filter{Input: &plan.OneRow{}, Cond: &plan.Subquery{Kind: plan.ExistsQuery, Query: scan(q)}}}}
		},
	} {
		q := base()
		spoil(q)
		if p, err := divide.Divide(ctx, q, options()); err == nil {
			for i := 0; i < len(p.Stages) && err == nil; i++ {
				_, err = p.Analyze(ctx, i, options())
			}
			if err == nil {
				t.Errorf("%s is accepted", name)
			}
		} else if sqlerr.ID(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := neighbour.AnalyzeQuery(ctx, base(), sensitivity.Options{}); sqlerr.ID(err) != "too_many_groups" {
		t.Errorf("zero options: %v", err)
	}
	// Without a reader the values of public tables are unknown, not public.
	a, err := analyze("select kind_id, count(*) from encounters group by 1", sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000})
	if err != nil || a.Groups.Public {
		t.Errorf("without a reader: %v", err)
	}
}

func scan(q *plan.Query) *plan.Scan {
	var found *plan.Scan
	var walk func(plan.Rel)
	walk = func(r plan.Rel) {
		if s, ok := r.(*plan.Scan); ok {
			found = s
		}
		for _, in := range plan.Inputs(r) {
			walk(in)
		}
	}
	walk(q.Root)
	return found
}

// TestPlanStaysAsItIs: paths and equalities go into a copy.
func TestPlanStaysAsItIs(t *testing.T) {
	q, err := bind("select count(*) from prescriptions r left join encounters e on e.encounter_id = r.encounter_id", neighbour.ClinicCatalog())
	if err != nil {
		t.Fatal(err)
	}
	before, columns := plan.Format(q), len(q.Columns)
	a, err := neighbour.AnalyzeQuery(context.Background(), q, options())
	if err != nil {
		t.Fatal(err)
	}
	if plan.Format(q) != before || len(q.Columns) != columns {
		t.Error("the caller's plan was changed")
	}
	if len(a.Query.Columns) == columns {
		t.Error("no path was joined")
	}
}

// TestBoundsHold: whatever the declared range, type and rows, the claims fit a mechanism and contain every partial that m rows in
// range can have.
func TestBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom([]string{"int2", "int4", "int8", "float4", "float8", "numeric", "numeric(9,3)"}).Draw(t, "type")
		lo := rapid.Int64Range(-1e12, 1e12).Draw(t, "lo")
		hi := rapid.Int64Range(lo, lo+rapid.SampledFrom([]int64{0, 1, 100, 1e6, 1e13, 1 << 51, 1 << 54}).Draw(t, "width")).Draw(t, "hi")
		m := rapid.Uint64Range(1, 1<<40).Draw(t, "m")
		rows := rapid.SampledFrom([]string{"m=" + strconv.FormatUint(m, 10), ""}).Draw(t, "rows") // or chosen
		cat, err := neighbour.ParseCatalog(strings.NewReplacer("TYPE", typ, "LO", strconv.FormatInt(lo, 10), "HI", strconv.FormatInt(hi, 10), "ROWS", rows).Replace(`
p unit=id key=id m=1
  id int4 notnull
e unit=id path=id->p.id ROWS
  id int4
  x TYPE range=LO..HI
`))
		if err != nil {
			t.Fatal(err)
		}
		q, err := bind(rapid.SampledFrom([]string{"select sum(x) from e", "select avg(x) from e"}).Draw(t, "sql"), cat)
		if err != nil {
			t.Fatal(err)
		}
		a, err := neighbour.AnalyzeQuery(context.Background(), q, options())
		if err != nil {
			if id := sqlerr.ID(err); id != "noise_too_large" && id != "no_range" {
				t.Fatal(err)
			}
			return
		}
		for _, x := range a.Measures {
			if err := (dp.Sensitivity{PerGroup: x.PerGroup, Groups: a.Limit.PerUnit}).Validate(); err != nil {
				t.Fatal(err)
			}
			if x.Bound != nil { // the clamp is where the choice puts it
				last := x.Bound.Edges[len(x.Bound.Edges)-1]
				if over, most := bits.Mul64(last, x.Factor); over != 0 || most != x.PerGroup {
					t.Fatalf("edge %d times %d is not %d", last, x.Factor, x.PerGroup)
				}
				continue
			}
			worst := []int64{x.RowLo, x.RowHi}
			if x.Kind == sensitivity.CentredSum {
				worst = []int64{x.RowLo - x.RowHi, x.RowHi - x.RowLo}
			}
			for _, row := range worst { // within dp.MaxSensitivity nothing of this overflows
				if x.Kind != sensitivity.CountRows && x.Kind != sensitivity.CountValues && (row*int64(m) < x.Lo || row*int64(m) > x.Hi) {
					t.Fatalf("%d rows of %d are outside [%d, %d]", m, row, x.Lo, x.Hi)
				}
			}
			if x.Lo < -int64(x.PerGroup) || x.Hi > int64(x.PerGroup) {
				t.Fatalf("[%d, %d] is not within %d", x.Lo, x.Hi, x.PerGroup)
			}
		}
	})
}
