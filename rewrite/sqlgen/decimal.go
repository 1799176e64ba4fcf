package sqlgen

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// places are the decimal places of a decimal on DuckDB, at most.
type places struct {
	n     int32
	known bool
}

// placesOf looks through columns of subqueries. A parameter has those of the type that it is sent as.
func (p *printer) placesOf(x plan.Scalar, f *from) places {
	n, ok := plan.Places(x, func(x plan.Scalar) (int, bool) {
		switch x := x.(type) {
		case *plan.Param:
			_, scale, known := p.paramType(x).NumericMod()
			return scale, known && p.d == funcs.DuckDB
		case *plan.Col:
			s := p.columnPlaces(x, f)
			return int(s.n), s.known
		}
		return 0, false
	})
	return places{int32(n), ok} //nolint:gosec // 38, or the sum of a product's
}

// aggregatePlaces are those of sums and of values as they are.
func (p *printer) aggregatePlaces(fn plan.AggFunc, arg plan.Scalar, in *from) *places {
	switch fn {
	case plan.Sum, plan.Min, plan.Max, "first_value", "last_value", "nth_value", "lag", "lead":
		s := p.placesOf(arg, in)
		return &s
	}
	return &places{}
}

func (p *printer) columnPlaces(c *plan.Col, f *from) places {
	if _, s, ok := c.T.NumericMod(); ok {
		return places{int32(max(0, s)), true} //nolint:gosec // 38
	}
	for ; f != nil; f = f.outer {
		at, ok := f.cols[c.ID]
		switch {
		case !ok:
			continue
		case at.places == nil:
			at.places = &places{}
			switch {
			case at.expr != nil:
				*at.places = p.placesOf(at.expr, f)
			case at.sub != nil && at.sub.fixed[c.ID] == "":
				*at.places = p.columnPlaces(c, at.sub.in)
			case at.rows != nil:
				*at.places = p.columnPlaces(c, at.rows)
			}
		}
		return *at.places
	}
	return places{}
}

// beyond tells of a decimal that it is above (">") or below ("<") an end; "" is never. DuckDB brings the two sides to one scale, where an end may have no
// room: it raises then as soon as there is a row.
//
// Proof: claim: it raises for no value, and is what the comparison says. Assumption: a decimal of s places has 38 digits at most, and is brought to a scale of at least as many as it has. (1) s known: x is
// a multiple of 10^-s, so it is above an end iff above the end rounded down to s places, and below iff below it rounded up; both then have s places. |x| < 10^(38-s): an end of that magnitude or more is
// beyond all values or below all of them; any other has room. (2) s unknown: TRY is NULL where the end has no room at x's scale, or x none at the end's. Then the one without room has the larger size,
// and doubles, which every decimal has, compare them: where rounding makes them equal, x counts as beyond. Source: DuckDB 1.5, DecimalLogicalType::Max.
func (p *printer) beyond(text, op string, end decimal.Decimal, s places) string {
	never := (op == ">") == (end.Sign() > 0)
	all := text + " IS NOT NULL"
	if s.known {
		switch {
		case -end.Exponent() <= s.n:
		case op == ">":
			end = end.RoundFloor(s.n)
		default:
			end = end.RoundCeil(s.n)
		}
		if s.n > duckDigits || end.Abs().GreaterThanOrEqual(decimal.New(1, duckDigits-s.n)) {
			if never {
				return ""
			}
			return all
		}
	}
	number, err := p.number(end, sqltype.Numeric)
	if err != nil {
		return p.fail(err)
	}
	compared := fmt.Sprintf("%s %s %s", text, op, number)
	if s.known {
		return compared
	}
	double, err := p.number(end, sqltype.Float8)
	if err != nil {
		return p.fail(err)
	}
	return fmt.Sprintf("COALESCE(%s, CAST(%s AS DOUBLE) %s= %s)", p.try(compared), text, op, double) // (2)
}

// try is NULL where DuckDB would raise. It takes no subqueries.
func (p *printer) try(text string) string {
	if hasSubquery(text) {
		return p.fail(differentScales())
	}
	return "TRY(" + text + ")"
}

// clampSteps prints DuckDB's decimal as a whole number of steps in [lo, hi], by value for what is in between.
func (p *printer) clampSteps(text, value string, grid decimal.Decimal, lo, hi int64, s places) string {
	out := "(CASE"
	if c := p.beyond(text, ">", grid.Mul(decimal.NewFromInt(hi)), s); c != "" {
		out += fmt.Sprintf(" WHEN %s THEN %d", c, hi)
	}
	if c := p.beyond(text, "<", grid.Mul(decimal.NewFromInt(lo)), s); c != "" {
		out += fmt.Sprintf(" WHEN %s THEN %d", c, lo)
	}
	if out == "(CASE" {
		return value
	}
	return out + " ELSE " + value + " END)"
}

// steps are the most that a row's value has, 2^53, in digits: a decimal of more than roomyPlaces has no room for them.
const (
	stepDigits  = 16
	roomyPlaces = duckDigits - stepDigits
)

// inSteps is a DuckDB decimal that is at most so many steps of 10^-k, times 10^k. A product has the places of its factors in 38 digits, or in 18 where both have no more, and raises where
// it has no room: a decimal of many is first brought to k places in 38 digits, and read from its digits where these are too many.
func (p *printer) inSteps(text string, k int32, most int64, s places) string {
	switch {
	case k <= 0:
		return text
	case k > duckDigits:
		return p.fail(differentScales())
	case k > roomyPlaces:
		return fmt.Sprintf("CAST(replace(CAST(CAST(%s AS DECIMAL(%d,%d)) AS VARCHAR), '.', '') AS BIGINT)", text, duckDigits, k)
	case !s.known || s.n > roomyPlaces || decimal.NewFromInt(most).Shift(max(k, s.n)).GreaterThanOrEqual(decimal.New(1, 18)):
		text = fmt.Sprintf("CAST(%s AS DECIMAL(%d,%d))", text, duckDigits, k)
	}
	return fmt.Sprintf("%s * %s", text, decimal.New(1, k))
}

// noDecimal: a constant that none of DuckDB's decimals holds, so that it is a double there.
func (p *printer) noDecimal(x plan.Scalar) bool {
	c, ok := x.(*plan.Const)
	return ok && p.d == funcs.DuckDB && c.T.OID == sqltype.OIDNumeric && c.Value != nil && duckNumeric(c.T, c.Value) == "DOUBLE"
}

// hasRoom: a constant that has room at any scale.
func hasRoom(c *plan.Const) bool {
	d, ok := c.Value.(decimal.Decimal)
	return !ok || d.IsZero()
}

// tooManyDigits refuses a constant that has no decimal: it is a double there, which is no value of a numeric. It may be compared with.
func tooManyDigits() error {
	return sqlerr.New(sqlerr.PrivateFunction, "a numeric constant of more than %d digits can only be compared with by the data set's database", duckDigits).
		WithHint("Write it as a double precision number, such as 1e300::float8.")
}

// multiplies refuses a product of so many places that DuckDB has no decimal for it.
func (p *printer) multiplies(n *plan.Call, f *from) {
	if p.d != funcs.DuckDB || n.Fn.Name != "*" || n.T.OID != sqltype.OIDNumeric {
		return
	}
	if s := p.placesOf(n, f); s.known && s.n > duckDigits {
		p.fail(sqlerr.New(sqlerr.PrivateFunction, "a product of %d decimal places cannot be computed by the data set's database here", s.n).At(n.Pos).
			WithHint("Cast each factor to a numeric of fewer places, such as numeric(18,2)."))
	}
}
