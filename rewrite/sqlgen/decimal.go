package sqlgen

import (
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// placesOf looks through columns of subqueries. A parameter has those of the type that it is sent as.
func (p *printer) placesOf(x plan.Scalar, f *from) places {
	n, ok := plan.Places(x, func(x plan.Scalar) (int, bool) {
		switch x := x.(type) {
		case *plan.Param:
			_, scale, known := p.paramType(x).NumericMod()
			return scale, known && p.d.Decimals() != nil
		case *plan.Col:
			s := p.columnPlaces(x, f)
			return int(s.N), s.Known
		}
		return 0, false
	})
	return places{N: int32(n), Known: ok} //nolint:gosec // 38, or the sum of a product's
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
		return places{N: int32(max(0, s)), Known: true} //nolint:gosec // 38
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

// noDecimal: a constant that none of the database's decimals holds, so that it is a double there.
func (p *printer) noDecimal(x plan.Scalar) bool {
	c, ok := x.(*plan.Const)
	decimals := p.d.Decimals()
	return ok && decimals != nil && c.T.OID == sqltype.OIDNumeric && c.Value != nil && !decimals.Holds(c.Value, c.T)
}

// hasRoom: a constant that has room at any scale.
func hasRoom(c *plan.Const) bool {
	d, ok := c.Value.(decimal.Decimal)
	return !ok || d.IsZero()
}

// tooManyDigits refuses a constant that has no decimal: it is a double there, which is no value of a numeric. It may be compared with.
func (p *printer) tooManyDigits() error {
	return sqlerr.New(sqlerr.PrivateFunction, "a numeric constant of more than %d digits can only be compared with by the data set's database", p.d.Decimals().Digits()).
		WithHint("Write it as a double precision number, such as 1e300::float8.")
}

// multiplies refuses a product of so many places that the database has no decimal for it.
func (p *printer) multiplies(n *plan.Call, f *from) {
	decimals := p.d.Decimals()
	if decimals == nil || n.Fn.Name != "*" || n.T.OID != sqltype.OIDNumeric {
		return
	}
	if s := p.placesOf(n, f); s.Known && s.N > decimals.Digits() {
		p.fail(sqlerr.New(sqlerr.PrivateFunction, "a product of %d decimal places cannot be computed by the data set's database here", s.N).At(n.Pos).
			WithHint("Cast each factor to a numeric of fewer places, such as numeric(18,2)."))
	}
}
