package stage_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// few declares a small population: a choice then takes two fifths of the price.
var few = []string{"query:  {price: 0.5}", "query:  {price: 0.5}\npopulation: 100"}

// many declares a large one, of which a choice takes little.
var many = []string{"query:  {price: 0.5}", "query:  {price: 0.5}\npopulation: 90000"}

// TestBoundingAuto: vectors are scaled where that is expected to err less and Gaussian noise may be had, and nowhere else; what is run is what was
// compared, and the same as if it had been asked for by name.
func TestBoundingAuto(t *testing.T) {
	const (
		twelve = "select kind_id, readmitted, count(*), sum(days) from encounters group by 1, 2"
		some   = "select kind_id, readmitted, count(*), count(*) filter (where days <= 13) from encounters group by 1, 2"
		two    = "select days > 3 is true, count(*) from encounters group by 1"
	)
	for _, c := range []struct {
		name, sql, mechanism string
		l2                   bool
		edits                []string
	}{
		{"many groups", twelve, "auto", true, nil},
		{"many groups, Gaussian", twelve, "gaussian", true, nil},
		{"many groups, some of their rows", some, "auto", true, nil},
		{"two groups", two, "auto", false, many},
		{"two groups, a dear choice", two, "auto", false, few},
		{"two groups, a dear choice, Gaussian", two, "gaussian", false, few},
		{"a number of people", "select readmitted, count(distinct patient_id) from encounters group by 1", "gaussian", false, nil},
		{"Laplace", twelve, "laplace", false, nil},
		{"no Renyi side", twelve, "auto", false, []string{"delta: 1e-6", "delta: 0"}},
		{"the pure side has more room", twelve, "auto", false, []string{"budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 1, delta: 1e-9}"}},
		{"one group of a unit", "select gender, count(*) from patients group by 1", "gaussian", false, nil},
		{"one group", "select count(*) from encounters", "gaussian", false, nil},
		{"unknown groups", "select diag, count(*) from encounters group by 1", "gaussian", false, nil},
		{"partials too large for a norm", "select readmitted, avg(big * 10) from encounters group by 1", "gaussian", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, c.edits...)
			enginetest.Set(t, s, "dpsql.mechanism", c.mechanism)
			plans := map[string]*enginetest.Prepared{}
			for _, bounding := range []string{"linf", "auto"} {
				enginetest.Set(t, s, "dpsql.bounding", bounding)
				p, err := enginetest.Prepare(s, c.sql)
				if err != nil {
					t.Fatal(err)
				}
				plans[bounding] = p
			}
			auto := plans["auto"]
			if (auto.Analysis().Limit.Norm == sensitivity.L2) != c.l2 {
				t.Fatalf("scaled: %t", auto.Analysis().Limit.Norm > 0)
			}
			if strings.HasPrefix(c.name, "partials") { // of a wide range auto chooses a bound, where linf takes the product
				if len(auto.Analysis().Choices) != 1 || len(plans["linf"].Analysis().Choices) != 0 {
					t.Errorf("%d and %d choices", len(auto.Analysis().Choices), len(plans["linf"].Analysis().Choices))
				}
				return
			}
			same := "linf"
			if c.l2 {
				same = "l2"
				enginetest.Set(t, s, "dpsql.bounding", same)
				p, err := enginetest.Prepare(s, c.sql)
				if err != nil {
					t.Fatal(err)
				}
				plans[same] = p
			}
			mp, err := auto.Price()
			if err != nil {
				t.Fatal(err)
			}
			was, err := plans[same].Price()
			if err != nil || !reflect.DeepEqual(was, mp) {
				t.Errorf("%+v is not that of %s, %+v, %v", mp, same, was, err)
			}
			enginetest.Set(t, s, "dpsql.bounding", "auto")
			if auto, err = enginetest.Prepare(s, c.sql); err != nil {
				t.Fatal(err)
			}
			priced := auto.Staged().Stages[0].Priced
			if _, err := auto.Run(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			if priced != nil && s.Last.(*private.LastAnswer).Releases[0].Release.Plan != priced {
				t.Error("another plan than that which was compared is run")
			}
			if all := enginetest.Charges(t, s.Engine); len(all) != 1 || all[0].Loss != mp.Loss {
				t.Errorf("%+v is charged, not %+v", all, mp.Loss)
			}
			enginetest.Set(t, s, "dpsql.bounding", same)
			if told := enginetest.Explained(t, s, c.sql); !strings.Contains(told, "answered from the release") {
				t.Errorf("asked again by name: %s", told)
			}
		})
	}
}

// TestBoundingAutoL1: under Laplace noise vectors over public groups are scaled to an L1 norm where a cap, or bounds of several groups, would be chosen, and nowhere else. No cap is paid for, each measure has one choice, and noise goes by the norm.
func TestBoundingAutoL1(t *testing.T) {
	const (
		twelve = "select kind_id, readmitted, count(*), sum(cost), count(distinct patient_id) from encounters group by 1, 2"
		three  = "select readmitted, count(*), avg(days) from encounters group by 1"
	)
	pure, auto := []string{"delta: 1e-6", "delta: 0"}, []string{"    max_rows_per_unit: 4\n", ""}
	for _, c := range []struct {
		name, sql, mechanism, groups string
		l1                           bool
		edits                        []string
	}{
		{"many groups", twelve, "laplace", "auto", true, nil},
		{"no Renyi side", twelve, "auto", "auto", true, pure},
		{"the pure side has more room", twelve, "auto", "auto", true, []string{"budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 1, delta: 1e-9}"}},
		{"a declared cap of few groups", twelve, "laplace", "4", false, nil},
		{"bounds of three groups are chosen", three, "laplace", "auto", true, auto},
		{"bounds of three groups are declared", three, "laplace", "auto", false, nil},
		{"a cap that keeps them all", three, "laplace", "4", true, auto},
		{"a cap of few groups, whose bounds are chosen", three, "laplace", "2", true, auto},
		{"a cap of one group", three, "laplace", "1", false, auto},
		{"a declared cap of many groups", twelve, "laplace", "9", true, nil},
		{"one group of a unit", "select gender, count(*) from patients group by 1", "laplace", "auto", false, auto},
		{"one group", "select count(*) from encounters", "laplace", "auto", false, auto},
		{"unknown groups", "select diag, count(*) from encounters group by 1", "laplace", "auto", false, nil},
		{"ranks", "select kind_id, readmitted, max(days) from encounters group by 1, 2", "laplace", "auto", false, nil},
		{"Gaussian noise", twelve, "auto", "auto", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, c.edits...)
			enginetest.Set(t, s, "dpsql.mechanism", c.mechanism)
			enginetest.Set(t, s, "dpsql.max_groups", c.groups)
			enginetest.Set(t, s, "dpsql.bounding", "auto")
			p, err := enginetest.Prepare(s, c.sql)
			if err != nil {
				t.Fatal(err)
			}
			if l1 := p.Analysis().Limit.Norm == sensitivity.L1; l1 != c.l1 {
				t.Fatalf("scaled: %t", l1)
			}
			if !c.l1 {
				return
			}
			mp, err := p.Price()
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range p.Analysis().Measures {
				if ev, ok := mp.Measures[i].(dp.Clipped); !ok || m.Bound == nil || m.Bound.IsCap() || ev.Noise != dp.LaplaceNoise || !reflect.DeepEqual(ev.Groups, []uint64{1}) {
					t.Errorf("measure %d: %+v", i+1, mp.Measures[i])
				}
			}
			told := enginetest.Explained(t, s, c.sql)
			if _, err := p.Run(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			for i, m := range p.Analysis().Measures {
				ev, _, err := s.Last.(*private.LastAnswer).Releases[0].Release.Noise(i)
				if err != nil {
					t.Fatal(err)
				}
				_, edge := s.Last.(*private.LastAnswer).Releases[0].Release.Plan.Edge(m.Bound, s.Last.(*private.LastAnswer).Releases[0].Release.Chosen)
				if ev, ok := ev.(dp.Laplace); !ok || ev.Sensitivity != (dp.Sensitivity{PerGroup: m.Clip(edge), Groups: 1}) {
					t.Errorf("measure %d has %+v at the norm %d", i+1, ev, edge)
				}
			}
			if all := enginetest.Charges(t, s.Engine); len(all) != 1 || all[0].Loss != mp.Loss {
				t.Errorf("%+v is charged, not %+v", all, mp.Loss)
			}
			if !strings.Contains(told, "scaled to the norm of choice 1") || !strings.Contains(told, "discrete Laplace, scale") || !strings.Contains(told, "times the norm") {
				t.Error(told)
			}
			enginetest.Set(t, s, "dpsql.price", fmt.Sprint(s.Now.Epsilon*2))
			if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, c.sql) }); n != 1 {
				t.Errorf("%d charges of a top-up", n)
			}
			if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, c.sql) }); n != 0 {
				t.Errorf("%d charges of what was asked", n)
			}
		})
	}
}

// TestBoundingAutoErrsLess: of two ways to bound the statements above, the one with the smaller expected error is taken: at the norm that is expected, the ratio
// of the ends' noise says so.
func TestBoundingAutoErrsLess(t *testing.T) {
	for _, edits := range [][]string{nil, few} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, edits...)
		enginetest.Set(t, s, "dpsql.mechanism", "gaussian")
		for sql, groups := range map[string]float64{"select days > 3 is true, count(*) from encounters group by 1": 2, "select readmitted, count(*) from encounters group by 1": 3} {
			ratio := map[string]float64{}
			taken := ""
			for _, bounding := range []string{"linf", "l2", "auto"} {
				enginetest.Set(t, s, "dpsql.bounding", bounding)
				p, err := enginetest.Prepare(s, sql)
				if err != nil {
					t.Fatal(err)
				}
				if bounding == "auto" {
					taken = map[bool]string{true: "l2", false: "linf"}[p.Analysis().Limit.Norm == sensitivity.L2]
					continue
				}
				mp, err := p.Price()
				if err != nil {
					t.Fatal(err)
				}
				run, chosen, err := mp.Reference(p.Analysis())
				if err != nil {
					t.Fatal(err)
				}
				v, err := run.Variance(0)
				if err != nil {
					t.Fatal(err)
				}
				norm := 4 * math.Sqrt(groups) // four rows in each
				if len(chosen) > 0 {
					norm = float64(p.Analysis().Choices[0].Edges[chosen[0]])
				}
				ratio[bounding] = math.Sqrt(v) / norm
			}
			want := "linf"
			if ratio["l2"]*4*math.Pow(groups, 0.25) < ratio["linf"]*4*math.Sqrt(groups) {
				want = "l2"
			}
			if taken != want {
				t.Errorf("%v: %s is taken, %v", edits, taken, ratio)
			}
		}
	}
}

// forgetful reads public values once.
type forgetful struct {
	plan.PublicReader
	left int
}

func (f *forgetful) Distinct(ctx context.Context, t *plan.Table, columns []int, limit int) ([][]sqltype.Value, error) {
	if f.left--; f.left < 0 {
		return nil, errForgotten
	}
	return f.PublicReader.Distinct(ctx, t, columns, limit)
}

var errForgotten = errors.New("the public table is gone")

// TestBoundingAutoFails: where the second analysis fails the statement does, and does not take another bound in silence.
func TestBoundingAutoFails(t *testing.T) {
	const sql = "select kind_id, readmitted, count(*) from encounters group by 1, 2"
	for reads, want := range []error{errForgotten, errForgotten, nil} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
		w := s.Engine.World.Load()
		w.Public = &forgetful{w.Public, reads}
		enginetest.Set(t, s, "dpsql.bounding", "auto")
		if _, err := enginetest.Prepare(s, sql); !errors.Is(err, want) {
			t.Errorf("after %d reads: %v", reads, err)
		}
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB) // what cannot be priced is refused as ever, when it is asked
	enginetest.Set(t, s, "dpsql.mechanism", "gaussian")
	enginetest.Set(t, s, "dpsql.price", "0.0005")
	for _, bounding := range []string{"linf", "auto"} {
		enginetest.Set(t, s, "dpsql.bounding", bounding)
		p, err := enginetest.Prepare(s, "select readmitted, sum(big * 1000) from encounters group by 1")
		if err != nil || p.Analysis().Limit.Norm > 0 {
			t.Fatalf("%s: %v", bounding, err)
		}
		if _, err := p.Run(context.Background(), nil); sqlerr.ID(err) != sqlerr.NoiseTooLarge.ID {
			t.Errorf("%s: %v", bounding, err)
		}
	}
}

// TestBoundingOfStages: a release of a statement of several has the bounding that it has alone, so each answers the other, and at another price.
func TestBoundingOfStages(t *testing.T) {
	const alone = "select kind_id, readmitted, count(*) from encounters group by 1, 2"
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 3000\n")
	enginetest.Set(t, s, "dpsql.bounding", "auto")
	if n := enginetest.Charged(t, s.Engine, func() {
		enginetest.Ask(t, s, alone+" union all select kind_id, readmitted, count(*) filter (where days > 3) from encounters group by 1, 2")
	}); n != 2 {
		t.Fatalf("%d charges for two releases", n)
	}
	enginetest.Set(t, s, "dpsql.price", "0.25")
	if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, alone) }); n != 0 {
		t.Error("alone it is charged again")
	}
	if told := enginetest.Explained(t, s, alone); !strings.Contains(told, "vector") {
		t.Errorf("its vectors are not scaled: %s", told)
	}
}

// TestMaxGroupsCostNothing: a dpsql.max_groups that drops no public group has the noise of none, whatever is measured: the plans are equal, and the same release answers.
func TestMaxGroupsCostNothing(t *testing.T) {
	for _, edits := range [][]string{nil, {"    max_rows_per_unit: 4\n", ""}} {
		for _, mechanism := range []string{"gaussian", "laplace"} {
			s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, edits...)
			enginetest.Set(t, s, "dpsql.mechanism", mechanism)
			enginetest.Set(t, s, "dpsql.bounding", "auto")
			for _, sql := range []string{
				"select kind_id, readmitted, count(*), sum(cost) from encounters group by 1, 2",
				"select kind_id, readmitted, avg(days) from encounters group by 1, 2",
				"select readmitted, count(*), count(*) filter (where days <= 13) from encounters group by 1",
				"select days > 3 is true, count(*) from encounters group by 1",
				"select kind_id, readmitted, max(days), count(distinct days) from encounters group by 1, 2",
			} {
				var plans []*price.Quote
				for _, groups := range []string{"auto", "12", "1000"} {
					enginetest.Set(t, s, "dpsql.max_groups", groups)
					p, err := enginetest.Prepare(s, sql)
					if err != nil {
						t.Fatal(err)
					}
					plan, err := p.Price()
					if err != nil {
						t.Fatal(err)
					}
					plans = append(plans, plan)
					if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, sql) }); (n == 1) != (groups == "auto") {
						t.Errorf("%s, %s, max_groups %s: %d charges", sql, mechanism, groups, n)
					}
				}
				if !reflect.DeepEqual(plans[0], plans[1]) || !reflect.DeepEqual(plans[0], plans[2]) {
					t.Errorf("%s, %s: the plans of none, of 12 and of 1000 differ", sql, mechanism)
				}
			}
		}
	}
}

// TestMaxGroupsWarned: a dpsql.max_groups that does not cap a statement's groups is warned of, in EXPLAIN and with the answer. The cure that the warning names makes it a cap.
func TestMaxGroupsWarned(t *testing.T) {
	const twelve = "select kind_id, readmitted, count(*) from encounters group by 1, 2"
	for _, c := range []struct{ sql, groups, bounding, want string }{
		{twelve, "5", "auto", "dpsql.max_groups = 5 changes nothing here"},
		{twelve, "5", "linf", ""},
		{twelve, "12", "auto", "dpsql.max_groups = 12 changes nothing here: a person's part in all groups is scaled together"},
		{twelve, "12", "linf", "dpsql.max_groups = 12 drops no group here, and has the noise of a person in 12 groups"},
		{"select kind_id, readmitted, max(days) from encounters group by 1, 2", "12", "auto", "dpsql.max_groups = 12 changes nothing here: there are no more groups"},
		{twelve, "auto", "auto", ""},
		{"select count(*) from encounters", "5", "auto", ""},
	} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
		enginetest.Set(t, s, "dpsql.max_groups", c.groups)
		enginetest.Set(t, s, "dpsql.bounding", c.bounding)
		told := enginetest.Explained(t, s, c.sql)
		_, a := enginetest.Ask(t, s, c.sql)
		for _, text := range []string{told, strings.Join(a.Warnings, "\n")} {
			if strings.Contains(text, "dpsql.max_groups = ") != (c.want != "") || !strings.Contains(text, c.want) {
				t.Errorf("%s, %s, %s: %s", c.sql, c.groups, c.bounding, text)
			}
		}
	}
}
