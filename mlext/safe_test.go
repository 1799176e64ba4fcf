package mlext

import (
	"errors"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestPanics: a method that panics, in a part of its own too, ends its training and not the process; what the panic quotes is not told.
func TestPanics(t *testing.T) {
	for name, run := range map[string]run{
		"itself": func(*data.Table, *noise.Source, func(int, int) error) ([]float64, float64, error) { panic("row 17") },
		"a part": func(*data.Table, *noise.Source, func(int, int) error) ([]float64, float64, error) {
			data.Parts(3, func(i int) { panic([]string{"row 17"}[i]) })
			return nil, 0, nil
		},
	} {
		p, err := planned("logistic_regression", "dp_gd", "epsilon = 1, delta = 1e-6")
		if err != nil {
			t.Fatal(err)
		}
		p.run = run
		c, err := p.Collect()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Wipe()
		_, err = p.Train(c, noise.NewSource(), func(int, int) error { return nil })
		var failure *Failure
		if !errors.As(err, &failure) || !strings.Contains(err.Error(), "safe_test.go") || strings.Contains(err.Error(), "row 17") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLeastWeight: weights that differ by more than a million are refused, whatever their size: one may be 0 once they are divided.
func TestLeastWeight(t *testing.T) {
	for weights, ok := range map[string]bool{"(1e6, 1e-320)": false, "(1, 9e-7)": false, "(5e-324, 5e-324)": true, "(1, 1e-6)": true, "(1e6, 1)": true} {
		sts, err := pgsyntax.Parse("TRAIN DP MODEL m USING logistic_regression TARGET y WITH (class_weights = " + weights + ") AS SELECT 1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(sts[0].Node.(*pgsyntax.Train)); (err == nil) != ok {
			t.Errorf("%s: %v", weights, err)
		}
	}
}
