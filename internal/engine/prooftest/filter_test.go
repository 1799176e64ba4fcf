package prooftest

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
)

// pairEdits leave the rows of a unit to each statement, not the ranges; of few people a choice is dear.
var pairEdits = []string{"    max_rows_per_unit: 4\n", "    max_rows_per_unit: auto\n", "unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 60\n", "epsilon: 20,", "epsilon: 1000,"}

// pairStatements have filtered measures that take the bound of all rows.
var pairStatements = []string{
	"select count(*), count(*) filter (where days > 1), avg(days) filter (where days < 14), avg(days) from encounters",
	"select diag, count(*) filter (where days between 2 and 14), count(*) from encounters group by 1",
	"select readmitted, sum(days), sum(days) filter (where days > 1), count(distinct patient_id) filter (where days > 1) from encounters group by 1",
	"select case when days > 3 then 1 end, sum(medications) filter (where medications > 2), sum(medications), count(medications), avg(medications) filter (where medications < 95) from encounters group by 1",
}

// followers are the measures that take another's bound.
func followers(a *sensitivity.Analysis) (n int) {
	for _, m := range a.Measures {
		if m.Follows {
			n++
		}
	}
	return n
}

// TestPairNeighbours: one bound for both parts: without one unit nothing changes by more than is claimed, at any edge, on both backends, also where the cap is chosen.
func TestPairNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d, pairEdits...)
		full := 0
		for _, sql := range pairStatements {
			for _, groups := range []string{"2", "auto"} {
				enginetest.Set(t, s, "dpsql.max_groups", groups)
				p, err := enginetest.Prepare(s, sql)
				if err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				if followers(p.Analysis()) == 0 {
					t.Errorf("%s, %s groups: each part has a bound of its own", sql, groups)
				}
				share, err := chosenHolds(t, p, neighbour.Bug{})
				if err != nil {
					t.Errorf("%s: %s, %s groups: %v", d, sql, groups, err)
				}
				if share == 1 {
					full++
				}
			}
		}
		if full < 4 {
			t.Errorf("%s: only %d checks use their whole claim", d, full)
		}
	}
}

// TestPairFollowsTheWhole: where a filter keeps one row in fifty of each of 20,000 units, the common bound is that of all rows, so neither part is cut. With a
// choice by the filtered part the whole would lose nearly all of its rows. A bound x times too large has a probability of about x^-3.25, and noise of scale 50x at most then: off
// by 250,000 is less than 1e-9 for all x together.
func TestPairFollowsTheWhole(t *testing.T) {
	rows := append(strings.Split(enginetest.Emptied, "; "), enginetest.Visits(1, 20_000, 49, 1), enginetest.Visits(1, 20_000, 1, 500))
	db := enginetest.Clinic{Name: "one of fifty", Data: neighbour.Inside, Change: rows}
	s := enginetest.ClinicSession(t, db, funcs.DuckDB, "unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 20\n")
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	enginetest.Set(t, s, "dpsql.price", "4")
	p, err := enginetest.Prepare(s, "select count(*), count(*) filter (where minutes >= 100) from visits")
	if err != nil {
		t.Fatal(err)
	}
	if followers(p.Analysis()) != 1 || len(p.Analysis().Choices) != 1 {
		t.Fatalf("%d measures follow", followers(p.Analysis()))
	}
	answer := func() (all, filtered int64) {
		st, rows := enginetest.Scan(t, p)
		mp, err := enginetest.PriceOf(s, p.Analysis())
		if err != nil {
			t.Fatal(err)
		}
		r, err := enginetest.ReleaseOnce(p, mp, st.Columns, &enginetest.Kept{Rows: rows}, noise.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		f := p.Analysis().Formulas
		at := func(g release.Group, i int) *big.Int { return g.Values[f[i].Count] }
		return at(r.Groups[0], 0).Int64(), at(r.Groups[0], 1).Int64()
	}
	if all, filtered := answer(); all < 750_000 || all > 1_250_000 || filtered < -230_000 || filtered > 270_000 {
		t.Errorf("%d rows and %d of them, in place of 1,000,000 and 20,000", all, filtered)
	}
	p.Analysis().Choices[0].Measure = p.Analysis().Formulas[1].Count // the planted bug
	if all, _ := answer(); all > 750_000 {
		t.Errorf("a choice by the filtered part keeps %d rows", all)
	}
}

// TestFilterIsOneRelease: the same condition in another order is the same statement; another one is not. min_people counts all of a group's people.
func TestFilterIsOneRelease(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append([]string{"query:  {price: 0.5}", "query:  {price: 0.5, min_people: 1}"}, enginetest.AutoEdits...)...)
	for i, sql := range []string{
		"select readmitted, count(*) filter (where days > 2 and cost > 1), dp_error(count(*) filter (where days > 2 and cost > 1)) from encounters group by 1",
		"select count(*) filter (where cost > 1 and days > 2), readmitted from encounters group by 2",
		"select readmitted, count(*) filter (where days > 2 or cost > 1) from encounters group by 1",
	} {
		if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, sql) }); n != []int{1, 0, 1}[i] {
			t.Errorf("%s: charged %d times", sql, n)
		}
	}
	const asked = "select count(*) filter (where days > $1) from encounters"
	for i, arg := range []int64{3, 3, 4} {
		n := enginetest.Charged(t, s.Engine, func() {
			if _, err := enginetest.Try(s, asked, arg); err != nil {
				t.Errorf("%s with %d: %v", asked, arg, err)
			}
		})
		if n != []int{1, 0, 1}[i] {
			t.Errorf("%s with %d: charged %d times", asked, arg, n)
		}
	}
	p, err := enginetest.Prepare(s, "select readmitted, count(*) filter (where false) from encounters group by 1")
	if err != nil {
		t.Fatal(err)
	}
	if m := p.Analysis().Measures[p.Analysis().People]; m.Kind != sensitivity.Units || m.Filter != nil {
		t.Errorf("people are counted as %+v", m)
	}
}

// TestPairFollowsWhereItErrsLess: a filtered count takes the bound of all rows where its noise is then less: that of a bound 1/q as large, whose choice it does
// not pay. Laplace noise and Gaussian noise change their minds at different filters.
func TestPairFollowsWhereItErrsLess(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ name, mechanism, bounding, epsilon, sql string }{
		{"Laplace", "laplace", "linf", "0.5", "select count(*), count(*) filter (where days > %d) from encounters"},
		{"Gaussian", "gaussian", "linf", "0.5", "select count(*), count(*) filter (where days > %d) from encounters"},
		{"Gaussian, as the policy has it", "auto", "linf", "0.5", "select count(*), count(*) filter (where days > %d), sum(days) from encounters"},
		{"scaled vectors", "gaussian", "l2", "0.5", "select kind_id, count(*), count(*) filter (where days > %d) from encounters group by 1"},
		{"at another price", "gaussian", "linf", "5", "select count(*), count(*) filter (where days > %d) from encounters"},
	} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, pairEdits...)
		enginetest.Set(t, s, "dpsql.mechanism", c.mechanism)
		enginetest.Set(t, s, "dpsql.bounding", c.bounding)
		enginetest.Set(t, s, "dpsql.price", c.epsilon)
		seen := map[bool]int{}
		for days := 1; days <= 13; days++ {
			p, err := enginetest.Prepare(s, fmt.Sprintf(c.sql, days))
			if err != nil {
				t.Fatal(err)
			}
			kept := float64(14-days) / 14
			noise := func(least float64) float64 { // of the filtered count, in its bound
				a, err := neighbour.AnalyzeQuery(ctx, p.Query, sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000, Public: s.World.Public, Norm: map[bool]sensitivity.Norm{true: sensitivity.L2}[c.bounding == "l2"], LeastKept: least})
				if err != nil {
					t.Fatal(err)
				}
				mp, err := price.New(a, s.UsualRequest())
				if err != nil {
					t.Fatal(err)
				}
				if want := map[bool]price.Mechanism{true: price.Laplace, false: price.Gaussian}[c.mechanism == "laplace"]; mp.Mechanism != want {
					t.Fatalf("%s: %s noise", c.name, mp.Mechanism)
				}
				run, chosen, err := mp.Reference(a)
				if err != nil {
					t.Fatal(err)
				}
				i := a.Formulas[1].Count
				v, err := run.Variance(i)
				if err != nil {
					t.Fatal(err)
				}
				_, edge := mp.Edge(a.Measures[i].Bound, chosen)
				return math.Sqrt(v) / float64(edge)
			}
			follow, own := noise(1e-9)/kept, noise(1)
			follows := followers(p.Analysis()) == 1
			if seen[follows]++; follows != (follow < own) {
				t.Errorf("%s, days > %d: follows %t, with noise of %.3f bounds; a bound of its own has %.3f", c.name, days, follows, follow, own)
			}
		}
		if seen[true] == 0 || seen[false] == 0 {
			t.Errorf("%s: %v", c.name, seen)
		}
	}
}
