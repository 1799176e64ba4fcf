package price

import (
	"errors"
	"math"
	"strconv"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/sensitivity"
)

// Cheapest adds to the error of noise that is too large the price from which on it can be drawn, to two digits. It goes by the analysis and the policy alone, as the error itself.
func Cheapest(a *sensitivity.Analysis, ask Request, err error) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.ID != sqlerr.NoiseTooLarge.ID || !(ask.Most > ask.Epsilon) {
		return err
	}
	stages := float64(max(1, ask.Stages))
	passes := func(price float64) bool {
		ask.Epsilon = price / stages
		_, err := New(a, ask)
		return err == nil
	}
	low, high := ask.Epsilon*stages, ask.Most*stages
	if !passes(high) {
		return e.WithHint("Ask over a narrower range, or for fewer groups: at the largest price that you may ask for, %s, the noise is too large too.", strconv.FormatFloat(high, 'g', -1, 64))
	}
	best := high
	for high/low > 1.01 {
		if middle := math.Sqrt(low * high); passes(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	if unit := math.Pow(10, math.Floor(math.Log10(high))-1); passes(rounded(math.Ceil(high/unit) * unit)) {
		best = math.Min(best, rounded(math.Ceil(high/unit)*unit))
	}
	return e.WithHint("SET dpsql.price = %s, about the least price at which it can be drawn, or ask over a narrower range or for fewer groups.", strconv.FormatFloat(best, 'g', -1, 64))
}

// rounded is x to three digits, without the rest that a product of doubles leaves.
func rounded(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	return y
}
