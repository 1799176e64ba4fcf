package eval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Noisy says which columns hold noisy numbers. A call is NULL, and Raised is told, where it raises by the value of such a number: an error would end the whole answer by chance.
type Noisy struct {
	Cols   map[plan.ColID]bool
	Raised func(error)
}

// byValue are the errors that the value of a number raises.
var byValue = []string{sqlerr.DivisionByZero.ID, sqlerr.NumericRange.ID, sqlerr.InvalidLogarithm.ID, sqlerr.InvalidPower.ID, sqlerr.InvalidBucket.ID, sqlerr.DatetimeRange.ID, sqlerr.IntervalRange.ID}

// IsByValue reports that an error is of a number's value.
func IsByValue(err error) bool { return slices.Contains(byValue, sqlerr.ID(err)) }

// forgives is what remains of an error of a call itself. A division by zero is of the divisor, the last argument: that of a literal stays an error.
func (n Noisy) forgives(x *plan.Call) func(error) error {
	reads := func(x plan.Scalar) bool { return plan.ReadsAny(x, n.Cols) }
	if !slices.ContainsFunc(x.Args, reads) {
		return func(err error) error { return err }
	}
	divisor := reads(x.Args[len(x.Args)-1])
	return func(err error) error {
		if !IsByValue(err) || sqlerr.ID(err) == sqlerr.DivisionByZero.ID && !divisor {
			return err
		}
		n.Raised(err)
		return nil
	}
}
