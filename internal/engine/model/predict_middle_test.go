package model_test

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestPredictMiddle: a model that was trained with NULL numbers as the middle of their range predicts so, and is evaluated so.
func TestPredictMiddle(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d)
		for name, with := range map[string]string{"mid": ", missing = 'middle'", "dropped": ""} {
			if _, err := enginetest.Try(s, "TRAIN DP MODEL "+name+" USING linear_regression TARGET medications WITH (epsilon = 1, delta = 1e-9"+with+") AS SELECT days, cost, medications FROM encounters"); err != nil {
				t.Fatal(err)
			}
			rows, err := enginetest.Try(s, "SELECT dp_predict('"+name+"', 3, NULL), dp_predict('"+name+"', 3, 7)")
			if err != nil || (rows[0][0] != nil) != (name == "mid") || rows[0][1] == nil {
				t.Errorf("%s: %s: %v, %v", d, name, rows, err)
			}
			want := map[string]string{"mid": "2", "dropped": "1"}[name]
			if rows, err = enginetest.Try(s, "EVALUATE DP MODEL "+name+" ON SELECT * FROM (VALUES (3, 7.5, 4), (3, NULL, 4)) AS v(days, cost, medications)"); err != nil || fmt.Sprint(rows[0][1]) != want {
				t.Errorf("%s: %s: %v, %v", d, name, rows, err)
			}
		}
	}
}
