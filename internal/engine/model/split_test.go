package model_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// splitRows are the rows of a training's query in a part of the units, by unit.
func splitRows(tb testing.TB, s *session.Session, of *model.Training, split sensitivity.Split) unitRows {
	tb.Helper()
	parts := *of
	parts.Split = split
	spec := *of.Plan.Spec
	if _, _, _, err := parts.BindRows(context.Background(), of.Node, &spec); err != nil {
		tb.Fatal(err)
	}
	st, err := sqlgen.UnitRows(parts.Analysis, s.Engine.Dialect, parts.Features, parts.Analysis.MaxRows, 42)
	if err != nil {
		tb.Fatal(err)
	}
	list, err := readUnitRows(&parts, st, s.Engine.Backend)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func (u unitRows) units() (n int) {
	for _, k := range u {
		n += k
	}
	return n
}

// TestSplitParts: the two parts of a split have every unit's rows once, the fraction is about what was asked for, and another salt draws others. The parts of the statement with which the model is evaluated are the same.
func TestSplitParts(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		for _, i := range []int{2, 4} {
			of := trainingOf(t, s, trainings[i])
			all := splitRows(t, s, of, sensitivity.Split{})
			in := splitRows(t, s, of, sensitivity.Split{Salt: "some salt", Fraction: 0.6})
			out := splitRows(t, s, of, sensitivity.Split{Salt: "some salt", Fraction: 0.6, Rest: true})
			both, n := unitRows{}, float64(all.units())
			for _, part := range []unitRows{in, out} {
				for key, k := range part {
					both[key] += k
				}
			}
			if fmt.Sprint(both) != fmt.Sprint(all) {
				t.Errorf("%s: %s: the parts together are not the whole", d, trainings[i])
			}
			// six deviations and a half of a binomial: 1e-10
			if off := math.Abs(float64(in.units()) - 0.6*n); off > 6.5*math.Sqrt(0.24*n)+1 {
				t.Errorf("%s: %s: %d of %g units are in the part 0.6", d, trainings[i], in.units(), n)
			}
			if other := splitRows(t, s, of, sensitivity.Split{Salt: "another", Fraction: 0.6}); i == 2 && fmt.Sprint(other) == fmt.Sprint(in) {
				t.Errorf("%s: another salt has the same part", d)
			}
		}
	}
}

// TestSplitNeighbours: a split training's rows without one unit are those of all the others, and a unit's planted half of its rows is found.
func TestSplitNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		for _, i := range []int{3, 6} {
			sql := strings.Replace(trainings[i], " AS SELECT", " SPLIT 0.7 AS SELECT", 1)
			if i == 6 {
				sql = strings.Replace(sql, "AS SELECT", "WITH (max_rows_per_unit = 1) AS SELECT", 1)
			}
			if _, err := compareUnitRows(t, trainingOf(t, s, sql), nil); err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
		}
	}
}

// TestSplit: what is trained on a part is evaluated on the other, at the full charge; all, or that part, where it is asked for.
func TestSplit(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, "epsilon: 20,", "epsilon: 10000,", "max_query_price: 5", "max_query_price: 1000")
		const query = "SELECT days, cost, readmitted = '<30' AS back FROM encounters"
		for name, split := range map[string]string{"part": "SPLIT 0.75", "whole": ""} {
			rows, err := enginetest.Try(s, "TRAIN DP MODEL "+name+" USING logistic_regression TARGET back "+split+" WITH (epsilon = 1, delta = 1e-9) AS "+query)
			if err != nil {
				t.Fatal(err)
			}
			if said := slices.ContainsFunc(rows, func(r []sqltype.Value) bool { return r[0] == "split" }); said != (name == "part") {
				t.Errorf("%s: the card of %s: %v", d, name, rows)
			}
		}
		counts := map[string]float64{}
		for _, split := range []string{"", "SPLIT test", "SPLIT 0.75", "SPLIT train", "SPLIT none"} {
			var rows [][]sqltype.Value
			explained, err := enginetest.Try(s, "EXPLAIN EVALUATE DP MODEL part "+split+" WITH (epsilon = 900) ON "+query)
			if err != nil {
				t.Fatalf("%s: %s: %v", d, split, err)
			}
			n := enginetest.Charged(t, s.Engine, func() {
				var err error
				if rows, err = enginetest.Try(s, "EVALUATE DP MODEL part "+split+" WITH (epsilon = 900) ON "+query); err != nil {
					t.Fatalf("%s: %s: %v", d, split, err)
				}
			})
			if again := split == "SPLIT test" || split == "SPLIT 0.75"; n != map[bool]int{true: 0, false: 3}[again] { // these are answered by the first's release
				t.Errorf("%s: %s: %d charges", d, split, n)
			}
			part := slices.ContainsFunc(rows, func(r []sqltype.Value) bool { return r[0] == "people" })
			told := strings.Contains(fmt.Sprint(explained), "Part of the units") && !strings.Contains(fmt.Sprint(explained), "COLLATE")
			if want := split != "SPLIT none"; part != want || told != want {
				t.Errorf("%s: %s: %v\n%v", d, split, rows, explained)
			}
			for _, r := range rows {
				if r[0] == "rows" {
					if _, err := fmt.Sscan(r[1].(string), new(float64)); err != nil {
						t.Fatal(err)
					}
					var f float64
					fmt.Sscan(r[1].(string), &f) //nolint:errcheck // read above
					counts[split] = f
				}
			}
		}
		if sum := counts[""] + counts["SPLIT train"]; math.Abs(sum-counts["SPLIT none"]) > 3 || counts[""] < 1 || counts[""] > counts["SPLIT train"] {
			t.Errorf("%s: rows of the parts: %v", d, counts)
		}
		if rows, err := enginetest.Try(s, "EXPORT DP MODEL part AS json"); err != nil || strings.Contains(fmt.Sprint(rows), "salt") || !strings.Contains(fmt.Sprint(rows), "0.75") {
			t.Errorf("%s: %v, %v", d, rows, err)
		}
		for sql, says := range map[string]string{
			"EVALUATE DP MODEL part SPLIT 0.8 ON " + query:                                                  "was trained on the part 0.75",
			"EVALUATE DP MODEL part SPLIT others ON " + query:                                               "SPLIT cannot be others",
			"EVALUATE DP MODEL part SPLIT test WITH (epsilon = 1, price = 1) ON " + query:                   "price and epsilon are one option",
			"EVALUATE DP MODEL part SPLIT test SPLIT test ON " + query:                                      "takes one value",
			"EVALUATE DP MODEL whole SPLIT test ON " + query:                                                "was trained on everybody",
			"EVALUATE DP MODEL part ON " + query + " WHERE days > (SELECT avg(days) FROM encounters)":       "reads releases",
			"TRAIN DP MODEL m USING logistic_regression TARGET back SPLIT 1 AS " + query:                    "split cannot be 1",
			"TRAIN DP MODEL m USING logistic_regression TARGET back SPLIT 0 AS " + query:                    "split cannot be 0",
			"TRAIN DP MODEL m USING logistic_regression TARGET back SPLIT .5 WITH (split = .5) AS " + query: "takes one value",
		} {
			if _, err := enginetest.Try(s, sql); err == nil || !strings.Contains(err.Error(), says) || sqlerr.ID(err) == "" {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
		}
	}
}
