package prooftest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// The attacks of design/attacks.md that analysis and print must stop, by their numbers.

func totals(t *testing.T, sql string, groups uint64) *neighbour.Totals {
	t.Helper()
	st, err := sqlgen.Private(neighbour.Analyze(t, sql, neighbour.OutsideClinic, groups), funcs.Postgres, 42)
	if err != nil {
		t.Fatal(err)
	}
	out, err := neighbour.ReadTotals(context.Background(), neighbour.OutsideClinic, st)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func refusedAs(t *testing.T, id, sql string) {
	t.Helper()
	q := neighbour.BindText(t, sql, neighbour.ClinicCatalog())
	_, err := neighbour.AnalyzeQuery(context.Background(), q, sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000})
	if sqlerr.ID(err) != id {
		t.Errorf("%s: %v, want %s", sql, err, id)
	}
}

// TestAttack04: sums of values at the ends of their types stay integers and neither wrap nor raise. (Order: TestNeighbours.)
func TestAttack04(t *testing.T) {
	ctx := context.Background()
	extreme := []string{
		`UPDATE public.encounters SET big = 9223372036854775807, score = CASE encounter_id % 3 WHEN 0 THEN 1e308 WHEN 1 THEN -1e308 ELSE 1e-308 END`,
		`UPDATE public.encounters SET medications = 32767, days = 2147483647`,
	}
	err := neighbour.Change(ctx, neighbour.OutsideClinic, extreme, func() error {
		for _, sql := range []string{"select sum(big), sum(score), sum(medications), sum(days) from encounters", "select avg(big), avg(score), avg(days) from encounters"} {
			totals(t, sql, 4)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAttack05: no stored value makes a statement raise.
func TestAttack05(t *testing.T) {
	for _, where := range []string{"1 / (days - 14) > 0", "days / (medications - medications) = 1", "big * big > 0", "days * 100000000 > 0", "-medications > 0",
		"abs(medications) > 3", "cost / (cost - 500) > 1", "score / 0 > 1", "score * 1e308 > 1", "days::int2 > 3", "big::float8::int4 > 3", "level::int4 > 3",
		"diag like '4%'", "upper(diag) < 'V'"} {
		totals(t, "select count(*), sum(days) from encounters where "+where, 4)
	}
	totals(t, "select count(*) filter (where days / (days - 3) > 1 or 1 / (medications - 7) > 0), sum(days / (days - 3)), sum(case when days > 2 then 1 / (days - 2) else 0 end) from encounters", 4)
}

// TestAttack10: groups that are not public come with their number of units, for the selection to decide.
func TestAttack10(t *testing.T) {
	for sql, want := range map[string]bool{"select diag, count(*) from encounters group by 1": true, "select readmitted, count(*) from encounters group by 1": false} {
		st, err := sqlgen.Private(neighbour.Analyze(t, sql, neighbour.OutsideClinic, 4), funcs.Postgres, 42)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(st.Columns, func(c sqlgen.Column) bool { return c.Role == sqlgen.RoleUnits }); got != want {
			t.Errorf("%s: number of units %t", sql, got)
		}
	}
}

// TestAttack11: nobody gives one row of zeros, like somebody would.
func TestAttack11(t *testing.T) {
	for _, sql := range []string{"select count(*), avg(days), sum(cost), count(distinct patient_id) from encounters where days > 2000000000",
		"select count(*), avg(weight), sum(account) from patients where race = 'nobody'"} {
		if got := totals(t, sql, 4); len(got.Groups) != 1 {
			t.Errorf("%s: %d rows", sql, len(got.Groups))
		}
	}
}

// publicOnly fails on a private table.
type publicOnly struct{ neighbour.Reader }

func (r publicOnly) Distinct(ctx context.Context, tab *plan.Table, columns []int, limit int) ([][]sqltype.Value, error) {
	if !tab.Public {
		return nil, fmt.Errorf("private table %s is read", tab.Name)
	}
	return r.Reader.Distinct(ctx, tab, columns, limit)
}

// TestAttack12: the analysis, and so every scale, reads nothing but public tables.
func TestAttack12(t *testing.T) {
	for _, sql := range neighbour.Statements {
		q := neighbour.BindText(t, sql, neighbour.ClinicCatalog())
		_, err := neighbour.AnalyzeQuery(context.Background(), q, sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000,
			Public: publicOnly{neighbour.Reader{DB: neighbour.OutsideClinic, Dialect: funcs.Postgres}}})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestAttack13: what follows from which values people have, and is bounded by no number of them, is refused.
func TestAttack13(t *testing.T) {
	refusedAs(t, "private_shape", "select variance(distinct days) from encounters")
	refusedAs(t, "private_shape", "select array_agg(distinct diag) from encounters")
}

// TestAttack23: which rows are kept never depends on other people's.
func TestAttack23(t *testing.T) {
	refusedAs(t, "private_shape", "select count(*) from (select days from encounters order by days limit 10) d")
	refusedAs(t, "private_shape", "select sum(days) from (select distinct on (diag) days from encounters) d")
	refusedAs(t, "raw_rows", "select days from encounters order by days limit 1")
}

// TestAttack25: a group has one spelling, whichever row comes first. (Attack 24, physical order: TestNeighbours.)
func TestAttack25(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ sql, first, second string }{
		{"select ratio, count(*) from encounters group by 1", "ratio = 1.0", "ratio = 1.000"},
		{"select score, count(*) from encounters group by 1", "score = '-0'", "score = '0'"},
		{"select level, count(*) from encounters group by 1", "level = '-0'", "level = '0'"},
	} {
		var got [2]*neighbour.Totals
		for i, set := range []string{c.first, c.second} {
			err := neighbour.Change(ctx, neighbour.OutsideClinic, []string{"UPDATE public.encounters SET " + set}, func() error {
				got[i] = totals(t, c.sql, 4)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := neighbour.Equal(got[0], got[1]); err != nil {
			t.Errorf("%s: %v", c.sql, err)
		}
	}
}

// TestAttack26: public rows do not stay or go because of private ones.
func TestAttack26(t *testing.T) {
	refusedAs(t, "private_shape", "select sum(k.id) from kinds k left join encounters e on e.kind_id = k.id where e.encounter_id is null")
	refusedAs(t, "private_shape", "select k.id, count(*) from kinds k left join (cities c join encounters e on e.kind_id = c.id) on c.id = k.id group by 1")
}

// TestAttack27: a row of two units is refused, or bounded for both of them; never for one alone.
func TestAttack27(t *testing.T) {
	cat := neighbour.ClinicCatalog()
	tab, _ := cat.Table("", "encounters")
	for _, units := range []dp.Units{{"patients.patient_id", "doctors.id"}, {"doctors.id"}} {
		tab.Units = units
		q := neighbour.BindText(t, "select count(*) from encounters e join patients p on p.patient_id = e.patient_id", cat)
		a, err := neighbour.AnalyzeQuery(context.Background(), q, sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000})
		if len(units) > 1 && err == nil || err == nil && a.Pairs == nil || err != nil && sqlerr.ID(err) != "private_shape" {
			t.Errorf("%v: %v", units, err)
		}
	}
}
