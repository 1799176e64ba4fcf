package model_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// clipped are trainings whose gradients are held against neighbours: of one row a unit and several, joins, CASE, subqueries of a person, one score and several.
var clipped = []string{
	"USING logistic_regression TARGET y WITH (max_rows_per_unit = 2, missing = 'middle'OPTIONS) AS SELECT days, cost, level, e.readmitted = 'NO' AS y FROM encounters e",
	"USING svm TARGET y WITH (max_rows_per_unit = 4OPTIONS) AS SELECT days, cost, readmitted, CASE WHEN days > 3 THEN 1 ELSE 0 END AS stays, medications > 30 AS y FROM encounters",
	"USING softmax_regression TARGET readmitted WITH (max_rows_per_unit = 3OPTIONS) AS SELECT gender, days * 2 AS twice, readmitted FROM patients JOIN encounters USING (patient_id)",
	"USING linear_regression TARGET dose WITH (max_rows_per_unit = 6OPTIONS) AS SELECT days, change, dose FROM encounters JOIN prescriptions USING (encounter_id)",
	"USING linear_regression TARGET weight WITH (missing = 'middle'OPTIONS) AS SELECT weight, active, CASE WHEN (SELECT count(*) FROM encounters e WHERE e.patient_id = p.patient_id) > 2 THEN 1 ELSE 0 END AS many FROM patients p",
	"USING poisson_regression TARGET medications WITH (max_rows_per_unit = 3OPTIONS) AS SELECT medications, days FROM (SELECT * FROM encounters WHERE days > 2) AS e",
}

// oneStep are the methods by gradients, so that one step is a known function of the one sum: it is divided by a number of people that makes Adam's step linear too.
var oneStep = map[string]string{"dp_gd": "", "dp_sgd": ", sampling_rate = 1", "dp_adam": ", sampling_rate = 1"}

// clipTested is the clip of these trainings: small, so that units have longer gradients.
const clipTested = 0.2

func oneStepOf(method string, i int) string {
	return strings.Replace("TRAIN DP MODEL m "+clipped[i], " TARGET", " METHOD "+method+" TARGET", 1)
}

// summed is what a training of one step over a print's rows says its sum was: noise from a seed, and the clipped gradients.
func summed(t *model.Training, st *sqlgen.Statement, b backend.Backend, split func(unit, row int64) int64) ([]float64, error) {
	ctx := context.Background()
	tx, err := b.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Close()
	c, err := t.Plan.Collect()
	if err != nil {
		return nil, err
	}
	defer c.Wipe()
	row := int64(-1)
	if err := model.ReadRows(ctx, tx, st, func(unit int64, steps []int64) error {
		if row++; split != nil {
			unit = split(unit, row)
		}
		return c.Add(unit, steps)
	}); err != nil {
		return nil, err
	}
	m, err := t.Plan.Train(c, audit.Source(77), func(int, int) error { return nil })
	if err != nil {
		return nil, err
	}
	return stepped(t.Plan.Method, m), nil
}

// stepped takes a step's parameters back to the sum of gradients: coefficients of features to those of their encoding (mlext's scale.go), and Adam's step of a gradient g, g/(|g| + 1e-8), to g.
func stepped(method string, m *mlext.Model) (out []float64) {
	classes, square := m.Kind != "linear_regression" && m.Kind != "poisson_regression", 1.0
	for _, f := range m.Features {
		if square++; classes && f.Levels == nil {
			square -= 2.0 / 3
		}
	}
	for _, s := range m.Scores {
		theta := []float64{s.Intercept}
		for i, f := range m.Features {
			c := s.Coefficients[i]
			switch {
			case f.Boolean:
				theta = append(theta, c[1])
			case f.Levels != nil:
				theta = append(theta, c...)
			default:
				v := c[0] * (f.Hi - f.Lo) / 2
				if !classes || f.Lo != 0 {
					theta[0] += v * (f.Hi + f.Lo) / (f.Hi - f.Lo)
				}
				theta = append(theta, v)
			}
		}
		for _, v := range theta {
			v *= math.Sqrt(square)
			if method == "dp_adam" {
				v = v * 1e-8 / (1 - math.Abs(v))
			}
			out = append(out, v*clipPopulation)
		}
	}
	return out
}

const clipPopulation = 1e12

// compareClipped holds what trainings of one step learn of the wild clinic against its neighbours: the sums differ by at most the clip. careless, if not nil, is another training that sums the rows up.
func compareClipped(tb testing.TB, t, careless *model.Training, split func(unit, row int64) int64, mangle func(string) string) (float64, error) {
	tb.Helper()
	st, err := sqlgen.UnitRows(t.Analysis, t.Session.Engine.Dialect, t.Features, t.Analysis.MaxRows, 42)
	if err != nil {
		tb.Fatal(err)
	}
	st, by := enginetest.Mangled(tb, st, mangle), t
	if careless != nil {
		by = careless
	}
	return enginetest.Comparison[[]float64]{
		Read: func(b backend.Backend) ([]float64, error) { return summed(by, st, b, split) },
		Changed: func(before, after []float64) (float64, error) {
			norm2 := 0.0
			for j := range before {
				norm2 += (before[j] - after[j]) * (before[j] - after[j])
			}
			if norm := math.Sqrt(norm2); norm > clipTested*(1+1e-6) {
				return 0, fmt.Errorf("the sum differs by %g, the clip is %g", norm, clipTested)
			}
			return math.Sqrt(norm2) / clipTested, nil
		},
		Same: func(before, after []float64) error {
			if !slices.Equal(before, after) {
				return fmt.Errorf("another sum")
			}
			return nil
		},
	}.Across(tb, t.Session.Engine.Backend.Dialect())
}

// TestTrainClipNeighbours: with the same noise, the sum of gradients that a step of each method takes differs by at most the clip without one unit, the heaviest too, and not at all without ownerless rows or in another order; some units take all of their clip.
func TestTrainClipNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		for method, with := range oneStep {
			if d == funcs.Postgres && method != "dp_gd" {
				continue // the rows are the same, and so is what sums them up
			}
			full := 0
			for i := range clipped {
				of := trainingOf(t, s, strings.Replace(oneStepOf(method, i), "OPTIONS", fmt.Sprintf(", steps = 1, learning_rate = 1, clip = %g, population = %g%s", clipTested, clipPopulation, with), 1))
				share, err := compareClipped(t, of, nil, nil, nil)
				if err != nil {
					t.Errorf("%s: %s: %s: %v", d, method, clipped[i], err)
				}
				if share > 0.999 {
					full++
				}
			}
			if full < 4 {
				t.Errorf("%s: %s: only %d trainings use the whole clip", d, method, full)
			}
		}
	}
}

// TestTrainClipBugs: rows clipped one by one, rows that are not capped, a unit's rows that count as several units', are found.
func TestTrainClipBugs(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB)
	options := fmt.Sprintf(", steps = 1, learning_rate = 1, clip = %g, population = %g", clipTested, clipPopulation)
	sql := strings.Replace(oneStepOf("dp_gd", 1), "OPTIONS", options, 1)
	of, single := trainingOf(t, s, sql), trainingOf(t, s, strings.Replace(sql, "max_rows_per_unit = 4", "max_rows_per_unit = 1", 1))
	if _, err := compareClipped(t, of, single, nil, nil); err == nil {
		t.Error("gradients that are clipped row by row: not found")
	}
	if _, err := compareClipped(t, of, nil, func(_, row int64) int64 { return row }, nil); err == nil {
		t.Error("rows that are units of their own: not found")
	}
	if _, err := compareClipped(t, of, nil, nil, enginetest.Rewritten(` WHERE "g"."rn" <= \d+`, "")); err == nil {
		t.Error("rows that are not capped: not found")
	}
}
