package engine

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// roomy lets every row and group of the tame clinic in, so that nothing is cut.
var roomy = []string{"max_rows_per_unit: 4", "max_rows_per_unit: 1000", "max_rows_per_unit: 6", "max_rows_per_unit: 1000", "max_rows_per_unit: 3", "max_rows_per_unit: 1000"}

// unnoised is the release that noise of scale nothing would give: every total as it is. Groups are those that rows came for, so
// that zero groups, which the text does not answer, are not there.
func unnoised(t testing.TB, p *prepared) *release.Release {
	t.Helper()
	return unnoisedStage(t, p.Statement, p.analysis(), nil)
}

func unnoisedStage(t testing.TB, p *session.Statement, an *sensitivity.Analysis, params []sqltype.Value) *release.Release {
	t.Helper()
	st, covered := scanStage(t, p, an, params)
	rows := make([][]sqltype.Value, len(covered))
	for i, row := range covered {
		for _, v := range row {
			rows[i] = append(rows[i], secret.Open(v))
		}
	}
	r := releaseOf(an, st, rows)
	for i, m := range an.Measures {
		if m.IsTree() || !m.NeedsOwnScan() {
			continue
		}
		distinct, err := sqlgen.Distinct(an, p.Session.Engine.Dialect, i, sqlgen.Kept{Rows: max(m.PerGroup, m.Values), Groups: an.Limit.PerUnit}, 7)
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]*big.Int{}
		for _, row := range secretRows(t, p, distinct, params) {
			keys := make([]sqltype.Value, len(an.Keys))
			for k := range keys {
				keys[k] = secret.Open(row[k])
			}
			at[fmt.Sprint(keys)] = whole(secret.Open(row[len(keys)]))
		}
		for _, g := range r.Groups {
			g.Values[i] = at[fmt.Sprint(g.Keys)]
		}
	}
	return r
}

// releaseOf is that release, of a scan's rows.
func releaseOf(an *sensitivity.Analysis, st *sqlgen.Statement, rows [][]sqltype.Value) *release.Release {
	r := &release.Release{Run: &price.Run{}}
	for range an.Measures {
		r.Run.Measures = append(r.Run.Measures, dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: 1, Den: 1 << 20}})
	}
	for _, row := range rows {
		g := release.Group{Keys: make([]sqltype.Value, len(an.Keys)), Values: make([]*big.Int, len(an.Measures))}
		for i, c := range st.Columns {
			switch c.Role {
			case sqlgen.RoleKey:
				g.Keys[c.Index] = row[i]
			case sqlgen.RoleMeasure:
				g.Values[c.Index] = whole(row[i])
			}
		}
		r.Groups = append(r.Groups, g)
	}
	return r
}

func whole(v sqltype.Value) *big.Int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v)
	case decimal.Decimal:
		return v.BigInt()
	}
	return new(big.Int)
}

// TestOracle: with noise of scale nothing and room for all rows, an answer is what PostgreSQL gives for the text: values, scales of
// numerics, NULL, HAVING, ORDER BY. Only sums over rounded values may differ, by half a step a row.
func TestOracle(t *testing.T) {
	sameAsTexts(t, []dialect.Dialect{funcs.Postgres}, slices.Concat(neighbour.Statements, neighbour.Subqueries, neighbour.PostgresOnly, []string{
		"select avg(days), sum(days) * 1.5, count(*) / 7, count(*) % 7 from encounters",
		"select diag, sum(cost) / count(*), avg(cost) - 1 from encounters group by 1 order by 2 desc, 1 nulls first limit 3 offset 1",
		"select distinct count(*) > 5 from encounters group by diag",
		"select case when count(*) > 5 then 'many' else 'few' end, avg(big) from encounters group by readmitted order by 2",
		"select kind_id + 1, coalesce(avg(days), 0)::int, (sum(cost) * 2)::numeric(12, 1) from encounters group by kind_id",
	})...)
}

// sameAsText compares the un-noised answer with PostgreSQL's for the text, row by row where it is sorted.
func sameAsText(t testing.TB, db *neighbour.Postgres, s *session.Session, sql string, sorted bool) {
	t.Helper()
	ctx := context.Background()
	p, err := prepare(s, sql)
	if err != nil {
		t.Errorf("%s: %v", sql, err)
		return
	}
	got, err := computed(t, p)
	if err != nil {
		t.Errorf("%s: %v", sql, err)
		return
	}
	var types []sqltype.Type
	for _, c := range p.Columns() {
		types = append(types, c.Type)
	}
	want, err := db.Text(ctx, sql, types)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	tolerance := decimal.Zero
	for _, m := range measuresOf(p) {
		if m.Rounded {
			tolerance = decimal.Max(tolerance, m.Grid.Mul(decimal.NewFromInt(200)))
		}
	}
	if !sorted {
		sortRows(got, types)
		sortRows(want, types)
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d rows, PostgreSQL has %d\n%v\n%v", sql, len(got), len(want), got, want)
		return
	}
	for i := range got {
		for j := range got[i] {
			if !near(got[i][j], want[i][j], types[j], tolerance) {
				t.Errorf("%s: row %d, column %d is %s, PostgreSQL has %s", sql, i+1, j+1, spelled(got[i][j], types[j]), spelled(want[i][j], types[j]))
			}
		}
	}
}

func sortRows(rows [][]sqltype.Value, types []sqltype.Type) {
	slices.SortFunc(rows, func(a, b []sqltype.Value) int { return strings.Compare(spelledRow(a, types), spelledRow(b, types)) })
}

func spelledRow(r []sqltype.Value, types []sqltype.Type) string {
	var out []string
	for i, v := range r {
		out = append(out, spelled(v, types[i]))
	}
	return strings.Join(out, "|")
}

func spelled(v sqltype.Value, t sqltype.Type) string {
	if v == nil {
		return "NULL"
	}
	return sqltype.FormatText(v, t)
}

func near(a, b sqltype.Value, t sqltype.Type, tolerance decimal.Decimal) bool {
	if spelled(a, t) == spelled(b, t) {
		return true
	}
	x, ok1 := asDecimal(a)
	y, ok2 := asDecimal(b)
	if f, ok := b.(float64); ok { // a float's last digits are the order of PostgreSQL's own additions
		tolerance = tolerance.Add(decimal.NewFromFloat(1e-12 * (1 + max(f, -f))))
	}
	return ok1 && ok2 && x.Sub(y).Abs().LessThanOrEqual(tolerance)
}

// asDecimal is a number's value, or an interval's seconds with months of 30 days, by which PostgreSQL compares intervals.
func asDecimal(v sqltype.Value) (decimal.Decimal, bool) {
	if i, ok := v.(sqltype.Interval); ok {
		days := int64(i.Months)*30 + int64(i.Days)
		return decimal.New(i.Micros, -6).Add(decimal.NewFromInt(days * 86400)), true
	}
	d, err := decimal.NewFromString(fmt.Sprint(v))
	return d, err == nil
}
