package funcs

import (
	"math"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// floatFunctions are the functions of double precision. Those of the C library differ in the last places between backends, as
// they do between machines that run PostgreSQL.
func floatFunctions() []*Func {
	infinite := "abs({x}) = 'infinity'"
	var out []*Func
	add := func(name string, maybe bool, f forms, eval func(float64) (sqltype.Value, error)) *Func {
		r := row(Function, name, oids(f8), f8, maybe, f).eval(of1(eval))
		out = append(out, r)
		return r
	}
	fine := func(f func(float64) float64) func(float64) (sqltype.Value, error) {
		return func(x float64) (sqltype.Value, error) { return f(x), nil }
	}
	// finite functions raise for infinities, the others are as good as their C functions.
	periodic := func(name string, f func(float64) float64) *Func {
		return add(name, true, forms{pg: name + "(nullif(nullif({x}, 'infinity'), '-infinity'))", duck: "TRY(" + name + "({x}))"}, func(x float64) (sqltype.Value, error) {
			if math.IsInf(x, 0) {
				return nil, outOfRange("input is")
			}
			return f(x), nil
		})
	}
	periodic("sin", math.Sin).within(always(-1, 1))
	periodic("cos", math.Cos).within(always(-1, 1))
	periodic("tan", math.Tan)
	add("cot", true, forms{pg: "cot(nullif(nullif({x}, 'infinity'), '-infinity'))",
		duck: "CASE WHEN {x} = 0 THEN CAST(CASE WHEN signbit({x}) THEN '-infinity' ELSE 'infinity' END AS DOUBLE) ELSE TRY(cot({x})) END"}, func(x float64) (sqltype.Value, error) {
		if math.IsInf(x, 0) {
			return nil, outOfRange("input is")
		}
		return 1 / math.Tan(x), nil
	})
	inUnit := "CASE WHEN {x} BETWEEN -1 AND 1 OR {x} = 'NaN' THEN "
	unit := func(f func(float64) float64) func(float64) (sqltype.Value, error) {
		return func(x float64) (sqltype.Value, error) {
			if x < -1 || x > 1 {
				return nil, outOfRange("input is")
			}
			return f(x), nil
		}
	}
	add("asin", true, forms{pg: inUnit + "asin({x}) END", duck: "TRY(asin({x}))"}, unit(math.Asin)).within(always(-2, 2))
	add("acos", true, forms{pg: inUnit + "acos({x}) END", duck: "TRY(acos({x}))"}, unit(math.Acos)).within(always(0, 4))
	add("atanh", true, forms{pg: inUnit + "atanh({x}) END", duck: "TRY(atanh({x}))"}, unit(math.Atanh))
	add("acosh", true, forms{pg: "CASE WHEN {x} >= 1 THEN acosh({x}) END", duck: "CASE WHEN {x} >= 1 THEN acosh({x}) END"}, func(x float64) (sqltype.Value, error) {
		if x < 1 {
			return nil, outOfRange("input is")
		}
		return math.Acosh(x), nil
	})
	plainForm := func(name string) forms { return forms{pg: name + "({x})", duck: name + "({x})"} }
	add("atan", false, plainForm("atan"), fine(math.Atan)).within(always(-2, 2)).safe(harmless)
	add("asinh", false, plainForm("asinh"), fine(math.Asinh)).safe(harmless)
	add("sinh", false, plainForm("sinh"), fine(sinhOf)).safe(harmless)
	add("cosh", false, plainForm("cosh"), fine(coshOf)).safe(harmless)
	add("tanh", false, plainForm("tanh"), fine(math.Tanh)).within(always(-1, 1)).safe(harmless)
	for _, name := range []string{"sind", "cosd", "tand", "cotd"} {
		r := row(Function, name, oids(f8), f8, true, forms{pg: name + "(nullif(nullif({x}, 'infinity'), '-infinity'))", why: noDegrees})
		if name == "sind" || name == "cosd" {
			r.Range = always(-1, 1)
		}
		out = append(out, r)
	}
	out = append(out,
		row(Function, "asind", oids(f8), f8, true, forms{pg: inUnit + "asind({x}) END", why: noDegrees}).within(always(-90, 90)),
		row(Function, "acosd", oids(f8), f8, true, forms{pg: inUnit + "acosd({x}) END", why: noDegrees}).within(always(0, 180)),
		row(Function, "atand", oids(f8), f8, false, forms{pg: "atand({x})", why: noDegrees}).within(always(-90, 90)),
		row(Function, "atan2d", oids(f8, f8), f8, false, forms{pg: "atan2d({x}, {y})", why: noDegrees}).within(always(-180, 180)),
		row(Function, "atan2", oids(f8, f8), f8, false, forms{pg: "atan2({x}, {y})", duck: "atan2({x}, {y})"}).within(always(-4, 4)).safe(harmless).
			eval(of2(func(y, x float64) (sqltype.Value, error) { return math.Copysign(math.Atan2(y, x), y), nil })), // Go loses the sign where y/x is 0
		row(Function, "pi", nil, f8, false, forms{pg: "pi()", duck: "pi()"}).safe(harmless).
			eval(func([]sqltype.Value, []sqltype.Type, sqltype.Type) (sqltype.Value, error) { return math.Pi, nil }).within(always(3, 4)))
	add("sign", false, forms{pg: "sign({x})", duck: "CAST(sign({x}) AS DOUBLE)"}, func(x float64) (sqltype.Value, error) {
		switch {
		case x > 0:
			return 1.0, nil
		case x < 0:
			return -1.0, nil
		}
		return 0.0, nil
	}).within(always(-1, 1)).safe(harmless)
	add("trunc", false, plainForm("trunc"), fine(math.Trunc)).safe(harmless).within(func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		return toFloat(a[0], f8).Map(func(d decimal.Decimal) decimal.Decimal { return d.Truncate(0) })
	})
	// Multiplying by a constant overflows for the largest numbers, and gives 0 for the least ones.
	add("degrees", true, forms{pg: "CASE WHEN abs({x}) < 3.1375664143845863e306 OR " + infinite + " OR {x} = 'NaN' THEN degrees({x}) END", duck: "{x} / CAST('" + perDegree + "' AS DOUBLE)"},
		func(x float64) (sqltype.Value, error) { return floatArith("/", x, math.Pi/180, sqltype.Float8) }).Range = times(1 / (math.Pi / 180))
	add("radians", true, forms{pg: "CASE WHEN abs({x}) > 1e-320 OR {x} = 0 THEN radians({x}) END", duck: "{x} * CAST('" + perDegree + "' AS DOUBLE)"},
		func(x float64) (sqltype.Value, error) { return floatArith("*", x, math.Pi/180, sqltype.Float8) }).Range = times(math.Pi / 180)
	root := func(x float64) (sqltype.Value, error) {
		if x < 0 {
			return nil, sqlerr.New(sqlerr.InvalidPower, "cannot take square root of a negative number")
		}
		return math.Sqrt(x), nil
	}
	sqrt := forms{pg: "sqrt(CASE WHEN {x} >= 0 THEN {x} END)", duck: "TRY(sqrt({x}))"}
	add("sqrt", true, sqrt, root).within(monotone(math.Sqrt, 0)).safe(from(0))
	add("cbrt", false, forms{pg: "cbrt({x})", why: noCubeRoot}, fine(cbrtOf)).within(monotone(math.Cbrt, math.Inf(-1))).safe(harmless)
	sqrt.own = "|/ {x}"
	out = append(out,
		row(Operator, "|/", oids(f8), f8, true, sqrt).eval(of1(root)).within(monotone(math.Sqrt, 0)).safe(from(0)),
		row(Operator, "||/", oids(f8), f8, false, forms{pg: "||/ {x}", why: noCubeRoot}).eval(of1(fine(cbrtOf))).within(monotone(math.Cbrt, math.Inf(-1))).safe(harmless))
	add("exp", true, forms{pg: "CASE WHEN {x} BETWEEN -745.13321910194 AND 709.78271289338 OR " + infinite + " OR {x} = 'NaN' THEN exp({x}) END", duck: "exp({x})"}, func(x float64) (sqltype.Value, error) {
		y := expOf(x)
		if !math.IsInf(x, 0) && (math.IsInf(y, 0) || y == 0) {
			return nil, outOfRange("value")
		}
		return y, nil
	}).within(monotone(math.Exp, math.Inf(-1))).safe(func(a []*num.Interval, _ []sqltype.Type) bool { return a[0].Within(num.Ints(-700, 700)) })
	logarithm := func(f func(float64) float64) func(float64) (sqltype.Value, error) {
		return func(x float64) (sqltype.Value, error) { return logOf(x, f) }
	}
	for _, l := range []struct {
		name, duck string
		f          func(float64) float64
	}{{"ln", "ln", lnOf}, {"log", "log10", log10Of}, {"log10", "log10", log10Of}} {
		add(l.name, true, forms{pg: l.name + "(CASE WHEN {x} > 0 THEN {x} END)", duck: "TRY(" + l.duck + "({x}))"}, logarithm(l.f)).
			within(monotone(l.f, math.SmallestNonzeroFloat64)).safe(from(math.SmallestNonzeroFloat64))
	}
	return append(out, floatPowers()...)
}

const (
	perDegree  = "0.017453292519943295"
	noDegrees  = "DuckDB has no trigonometry in degrees that is exact for 30, 45 and 60"
	noCubeRoot = "DuckDB's cube root of 27 is not 3"
)

func logOf(x float64, f func(float64) float64) (sqltype.Value, error) {
	switch {
	case x == 0:
		return nil, sqlerr.New(sqlerr.InvalidLogarithm, "cannot take logarithm of zero")
	case x < 0:
		return nil, sqlerr.New(sqlerr.InvalidLogarithm, "cannot take logarithm of a negative number")
	}
	return f(x), nil
}

// floatPowers are power, pow and ^.
//
// Proof: for finite x, |x| <> 0, 1, and |y| < 1e19 the product y ln|x| is within 2e-13 of the result's logarithm where that is below 746 in
// size, and |ln|x|| >= 1e-16, so that a larger y gives 0 or infinity. Between the limits the result is finite and not 0. Within
// 2e-13 of a limit the total form may be NULL where PostgreSQL still has a number.
func floatPowers() []*Func {
	f := forms{duck: "pow({x}, {y})", pg: "CASE WHEN {x} = 'NaN' OR {y} = 'NaN' THEN power({x}, {y}) WHEN {x} = 0 AND {y} < 0 OR {x} < 0 AND abs({y}) < 'infinity' AND floor({y}) <> {y} THEN NULL" +
		" WHEN {x} = 0 OR abs({x}) = 1 OR abs({x}) = 'infinity' OR abs({y}) = 'infinity' OR abs({y}) < 1e-200 OR {y} = 1 THEN power({x}, {y})" +
		" WHEN abs({y}) < 1e19 THEN CASE WHEN {y} * ln(abs({x})) BETWEEN -745.1332191 AND 709.7827128933 THEN power({x}, {y}) END END"}
	// DuckDB's is C's, as PostgreSQL's is, but where that raises.
	var out []*Func
	for _, name := range []string{"power", "pow", "^"} {
		kind := Function
		if f.own = name + "({x}, {y})"; name == "^" {
			kind, f.own = Operator, "{x} ^ {y}"
		}
		out = append(out, row(kind, name, oids(f8, f8), f8, true, f).eval(of2(floatPower)).within(powerRange).safe(powerSafe))
	}
	return out
}

func floatPower(x, y float64) (sqltype.Value, error) {
	z := pow(x, y)
	switch {
	case math.IsNaN(y):
	case x == 0 && y < 0:
		return nil, sqlerr.New(sqlerr.InvalidPower, "zero raised to a negative power is undefined")
	case x < 0 && !math.IsInf(y, 0) && math.Floor(y) != y:
		return nil, sqlerr.New(sqlerr.InvalidPower, "a negative number raised to a non-integer power yields a complex result")
	case !math.IsInf(x, 0) && !math.IsInf(y, 0) && (math.IsInf(z, 0) || z == 0 && x != 0):
		return nil, outOfRange("value")
	}
	return z, nil
}

// powerRange: for a positive base, x^y is monotone in each, so that the corners bound it; slack as in monotone. For a whole y > 0 x^y is odd and increasing, or even with its least
// value at 0.
func powerRange(a []*num.Interval, _ []sqltype.Type) *num.Interval {
	x, y := toFloat(a[0], f8), toFloat(a[1], f8)
	switch {
	case x == nil || y == nil:
		return nil
	case x.Lo.Sign() > 0:
	case y.Lo.Equal(y.Hi) && y.Lo.IsInteger() && y.Lo.Sign() > 0:
		n := y.Lo.InexactFloat64()
		lo, hi := loosened(math.Pow(x.Lo.InexactFloat64(), n)), loosened(math.Pow(x.Hi.InexactFloat64(), n))
		if lo == nil || hi == nil {
			return nil
		}
		out := lo.Hull(hi)
		if math.Mod(n, 2) == 0 && x.Hi.Sign() >= 0 {
			out.Lo = decimal.Zero
		}
		return out
	default:
		return nil
	}
	var out *num.Interval
	for _, p := range []decimal.Decimal{x.Lo, x.Hi} {
		for _, q := range []decimal.Decimal{y.Lo, y.Hi} {
			r := loosened(math.Pow(p.InexactFloat64(), q.InexactFloat64()))
			switch {
			case r == nil:
				return nil
			case out == nil:
				out = r
			}
			out = out.Hull(r)
		}
	}
	return out
}

// powerSafe: well inside of double precision.
func powerSafe(a []*num.Interval, types []sqltype.Type) bool {
	r := powerRange(a, types)
	return r != nil && r.Lo.GreaterThan(decimal.New(1, -300)) && r.Hi.LessThan(decimal.New(1, 300))
}

// from: arguments of at least lo.
func from(lo float64) safeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) bool {
		r := toFloat(a[0], f8)
		return r != nil && r.Lo.InexactFloat64() >= lo
	}
}

// monotone is the interval of an increasing function over floats of at least least; smaller ones are NULL.
//
// Proof: arguments lie between the floats nearest to the ends (toFloat). C's and Go's functions are within 4 units in the last place of the true
// value, and loosened leaves a thousand times that.
func monotone(f func(float64) float64, least float64) rangeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		r := toFloat(a[0], f8)
		if r == nil || r.Hi.InexactFloat64() < least {
			return nil
		}
		return loosened(f(math.Max(r.Lo.InexactFloat64(), least))).Hull(loosened(f(r.Hi.InexactFloat64())))
	}
}

// times is the interval of a product with a constant, loosened.
func times(c float64) rangeFunc {
	return monotone(func(x float64) float64 { return x * c }, math.Inf(-1))
}

// loosened is an interval around a computed number: one part in 10^12, and a little; unknown for what is not finite.
func loosened(x float64) *num.Interval {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	d := decimal.NewFromFloat(x)
	slack := d.Abs().Mul(decimal.New(1, -12)).Add(decimal.New(1, -300))
	return &num.Interval{Lo: d.Sub(slack), Hi: d.Add(slack)}
}
