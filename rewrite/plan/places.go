package plan

import (
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// Places gives a number of decimal places that holds every value of an integer or numeric expression exactly, by PostgreSQL's
// scale rules; of gives those of a column or parameter without a modifier; not ok where the places follow from the values (a division, a numeric without modifier).
func Places(x Scalar, of func(Scalar) (int, bool)) (places int, ok bool) {
	if x.Type().IsInteger() {
		return 0, true
	}
	if x.Type().OID != sqltype.OIDNumeric {
		return 0, false
	}
	if _, s, ok := x.Type().NumericMod(); ok {
		return max(s, 0), true
	}
	switch x := x.(type) {
	case *Col, *Param:
		return of(x)
	case *Const:
		d, isNumber := x.Value.(decimal.Decimal)
		if !isNumber {
			return 0, x.Value == nil
		}
		return max(0, -int(d.Exponent())), true
	case *Call:
		return callPlaces(x, of)
	case *Case:
		results := []Scalar{}
		for _, w := range x.Whens {
			results = append(results, w.Result)
		}
		if x.Else != nil {
			results = append(results, x.Else)
		}
		return mostPlaces(results, of)
	case *Coalesce:
		return mostPlaces(x.Args, of)
	case *MinMax:
		return mostPlaces(x.Args, of)
	}
	return 0, false
}

func callPlaces(x *Call, of func(Scalar) (int, bool)) (int, bool) {
	if x.Fn.Kind == funcs.Cast && len(x.Args) == 1 {
		return Places(x.Args[0], of) // to numeric without modifier; floats have no places of their own
	}
	switch x.Fn.Name {
	case "extract", funcs.Length.Name: // microseconds
		return 6, true
	case "floor", "ceil", "ceiling", "sign", "factorial":
		return 0, true
	case "round":
		return 0, len(x.Args) == 1
	case "+", "-", "%", "abs":
		return mostPlaces(x.Args, of)
	case "*":
		sum := 0
		for _, a := range x.Args {
			p, ok := Places(a, of)
			if !ok {
				return 0, false
			}
			sum += p
		}
		return sum, true
	}
	return 0, false
}

func mostPlaces(xs []Scalar, of func(Scalar) (int, bool)) (int, bool) {
	most := 0
	for _, x := range xs {
		p, ok := Places(x, of)
		if !ok {
			return 0, false
		}
		most = max(most, p)
	}
	return most, true
}
