package divide_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// TestGridOfExtremes: a range is divided into steps that are doubles of full precision, or refused: at once, also where its width is above or below all doubles.
func TestGridOfExtremes(t *testing.T) {
	for _, c := range []struct {
		lo, hi string
		held   bool
	}{
		{"0", "1", true}, {"-3", "5", true}, {"0.1", "0.3", true}, {"0", "1.7976931348623157e308", true}, {"-8.9e307", "8.9e307", true}, {"0", "4.5e-302", true}, {"0", "2.2250738585072014e-302", false},
		{"-1.5e308", "1.5e308", false}, {"-1.7976931348623157e308", "1e300", false}, {"0", "1e-305", false}, {"0", "5e-324", false}, {"1e-310", "1e-309", false},
	} {
		x := fmt.Sprintf("case when days > 2 then '%s'::float8 else '%s'::float8 end", c.lo, c.hi)
		for _, sql := range []string{"select percentile_disc(0.5) within group (order by " + x + ") from encounters", "select sum(" + x + ") from encounters", "select avg(" + x + ") from encounters",
			"select stddev(" + x + ") from encounters", "select count(distinct " + x + "), sum(distinct " + x + ") from encounters"} {
			a, err := analyze(sql, options())
			switch {
			case !c.held && sqlerr.ID(err) != sqlerr.NoRange.ID:
				t.Errorf("%s: %v", sql, err)
			case c.held && err != nil && sqlerr.ID(err) != sqlerr.NoiseTooLarge.ID:
				t.Errorf("%s: %v", sql, err)
			}
			if !c.held || err != nil || a.Measures[0].Tree == nil {
				continue
			}
			width := decimal.RequireFromString(c.hi).Sub(decimal.RequireFromString(c.lo))
			grid, parts := a.Measures[0].Tree.Grid, decimal.NewFromInt(1<<20)
			f, exact := grid.Rat().Float64()
			if frac, _ := math.Frexp(f); !exact || frac != 0.5 || f < 0x1p-1022 {
				t.Errorf("%s: grid %s is no power of two that is a double", sql, grid)
			}
			if wide := grid.Mul(parts); wide.GreaterThan(width) || !wide.Add(wide).GreaterThan(width) {
				t.Errorf("%s: grid %s does not suit a width of %s", sql, grid, width)
			}
		}
	}
}
