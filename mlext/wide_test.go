package mlext

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/mlext/convex"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestWideMoments: products of all features with each other are refused by their number before anything is charged, with delta and without; other methods take as many.
func TestWideMoments(t *testing.T) {
	for with, method := range map[string]string{"epsilon = 1, delta = 1e-6": "sufficient_statistics", "epsilon = 1, delta = 0": "sufficient_statistics", "epsilon = 1, delta = 1e-5": "dp_gd"} {
		for _, length := range []int{convex.MostMoments - 1, convex.MostMoments, 1 << 16} {
			sts, err := pgsyntax.Parse("TRAIN DP MODEL m USING linear_regression METHOD " + method + " TARGET y WITH (" + with + ") AS SELECT 1")
			if err != nil {
				t.Fatal(err)
			}
			spec, err := Read(sts[0].Node.(*pgsyntax.Train))
			if err != nil {
				t.Fatal(err)
			}
			_, err = Plan(spec, []Feature{{Name: "x", Hi: 255, To: 255, Type: "bytea", Length: length}}, Feature{Name: "y", Hi: 1, To: 1}, 1, 1000)
			if wide := method == "sufficient_statistics" && length >= convex.MostMoments; wide != (err != nil && strings.Contains(err.Error(), "multiplies all features")) || !wide && err != nil {
				t.Errorf("%s of %d: %v", method, length, err)
			}
		}
	}
}
