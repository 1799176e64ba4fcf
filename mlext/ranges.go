package mlext

import (
	"math"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// mostEnd bounds the ends of ranges of numbers: what is computed of coefficients and of squares of targets is a finite double within it, whatever is released.
const mostEnd = 1e100

// ranged refuses features and targets whose ranges are too large or too small to compute with, which a training would find out after its charge only.
func (t *Training) ranged() error {
	for _, f := range append([]Feature{t.Of}, t.Features...) {
		if f.Levels != nil {
			continue
		}
		width := f.Hi - f.Lo
		if large := math.Max(math.Abs(f.Lo), math.Abs(f.Hi)); !(large <= mostEnd) || !(width == 0 || width >= 1/mostEnd) {
			e := sqlerr.New(sqlerr.NumericRange, "the values of %s are from %v to %v, which is too large or too small a range to train on", f.Name, f.Lo, f.Hi)
			if !(large <= mostEnd) {
				return e.WithHint("Bring it nearer to 1, as in %[1]s / %[2].0e AS %[1]s.", plan.QuoteIdent(f.Name), math.Min(large, math.MaxFloat64)/10)
			}
			return e.WithHint("Bring it nearer to 1, as in %[1]s * %[2].0e AS %[1]s.", plan.QuoteIdent(f.Name), math.Min(1/width, math.MaxFloat64)/10)
		}
	}
	return nil
}
