package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTrainClippings: of the other ways of clipping too, the sum of gradients differs by at most the clip without one unit; clipped row by row it would by more.
func TestTrainClippings(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB)
	for _, how := range []string{"automatic", "adaptive"} {
		for _, i := range []int{1, 2} {
			sql := strings.Replace(oneStepOf("dp_gd", i), "OPTIONS", fmt.Sprintf(", steps = 1, learning_rate = 1, clip = %g, population = %g, clipping = '%s'", clipTested, clipPopulation, how), 1)
			of := trainingOf(t, s, sql)
			share, err := compareClipped(t, of, nil, nil, nil)
			if err != nil || share < 0.98 {
				t.Errorf("%s: %s: a unit takes %g of the clip, %v", how, clipped[i], share, err)
			}
			if i == 1 {
				single := trainingOf(t, s, strings.Replace(sql, "max_rows_per_unit = 4", "max_rows_per_unit = 1", 1))
				if _, err := compareClipped(t, of, single, nil, nil); err == nil {
					t.Errorf("%s: gradients that are clipped row by row: not found", how)
				}
			}
		}
	}
}
