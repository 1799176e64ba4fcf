package funcs

import (
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// integerFunctions has mod, gcd, lcm, factorial, bits and shifts.
func integerFunctions() []*Func {
	var out []*Func
	for _, t := range intOIDs {
		out = append(out, called("mod", intOperator("%", t, t)))
		if t != sqltype.OIDInt2 {
			out = append(out, divisor("gcd", t), divisor("lcm", t))
		}
		for _, op := range []string{"&", "|", "#"} {
			out = append(out, bits(op, t))
		}
		out = append(out, complement(t), shift("<<", t), shift(">>", t))
	}
	return append(out, called("mod", numericOperator("%")), factorial())
}

// called is an operator's row as a function of two arguments.
func called(name string, f *Func) *Func {
	f.RaisingForm[Postgres] = infix(f.Name)
	f.Name, f.Kind = name, Function
	return f
}

// divisor is gcd or lcm, computed in a wider type: the least integer has no positive, and a multiple may be too large.
func divisor(name string, t sqltype.OID) *Func {
	wide, duck := "int8", "BIGINT"
	if t == sqltype.OIDInt8 {
		wide, duck = "numeric", "HUGEINT"
	}
	f := row(Function, name, oids(t, t), t, true, forms{
		pg:   within(name+"(CAST({x} AS "+wide+"), CAST({y} AS "+wide+"))", wide, beyond[t][0], beyond[t][1], sqlName(t)),
		duck: duckWithin(name+"(CAST({x} AS "+duck+"), CAST({y} AS "+duck+"))", t),
	})
	f.Eval = func(v []sqltype.Value, _ []sqltype.Type, rt sqltype.Type) (sqltype.Value, error) {
		x, y := big.NewInt(v[0].(int64)), big.NewInt(v[1].(int64))
		z := new(big.Int).GCD(nil, nil, new(big.Int).Abs(x), new(big.Int).Abs(y))
		if name == "lcm" && z.Sign() != 0 {
			z.Abs(z.Mul(x.Quo(x, z), y))
		}
		return fitInt(z, rt)
	}
	// Proof: both are never negative; a divisor of a number but 0 is no larger than it, and gcd(0, 0) is 0.
	return f.within(func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		all := plainRange(t)
		r := &num.Interval{Lo: decimal.Zero, Hi: all.Hi}
		if k := known(a, oids(t, t)); name == "gcd" {
			r.Hi = decimal.Min(all.Hi, decimal.Max(k[0].Abs().Hi, k[1].Abs().Hi))
		}
		return r
	})
}

// factorial is NULL from 450!, which has 1001 digits: each further one costs more than the one before.
func factorial() *Func {
	return row(Function, "factorial", oids(sqltype.OIDInt8), sqltype.OIDNumeric, true, forms{
		pg:   "factorial(CASE WHEN {x} BETWEEN 0 AND 449 THEN {x} END)",
		duck: "TRY(CAST(factorial(CASE WHEN {x} BETWEEN 0 AND 33 THEN CAST({x} AS INTEGER) END) AS DECIMAL(38, 0)))",
	}).eval(of1(func(n int64) (sqltype.Value, error) {
		if n < 0 {
			return nil, outOfRange("factorial of a negative number")
		}
		if n > 32177 {
			return nil, outOfRange("value")
		}
		return decimal.NewFromBigInt(new(big.Int).MulRange(1, max(n, 1)), 0), nil
	})).within(func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		hi := int64(449)
		if a[0] != nil && a[0].Hi.LessThan(one(hi)) {
			hi = max(0, a[0].Hi.IntPart())
		}
		return &num.Interval{Lo: one(1), Hi: decimal.NewFromBigInt(new(big.Int).MulRange(1, max(hi, 1)), 0)}
	})
}

// bits is & | or #.
func bits(op string, t sqltype.OID) *Func {
	duck := "({x} " + op + " {y})"
	if op == "#" {
		duck = "xor({x}, {y})"
	}
	f := row(Operator, op, oids(t, t), t, false, forms{pg: "{x} " + op + " {y}", duck: duck}).safe(harmless).eval(of2(func(x, y int64) (sqltype.Value, error) {
		switch op {
		case "&":
			return x & y, nil
		case "|":
			return x | y, nil
		}
		return x ^ y, nil
	}))
	// Proof: & with a number that is not negative has no bit that this one has not, so that it is no larger and not negative. Numbers of n bits and a sign (-2^n to 2^n - 1) have
	// all higher bits alike, and so has what is made of them bit by bit; it is not negative where neither of them is.
	return f.within(func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		k := known(a, oids(t, t))
		positive := k[0].Lo.Sign() >= 0 && k[1].Lo.Sign() >= 0
		if op == "&" && (k[0].Lo.Sign() >= 0 || k[1].Lo.Sign() >= 0) {
			hi := decimal.Max(k[0].Hi, k[1].Hi)
			for _, x := range k {
				if x.Lo.Sign() >= 0 {
					hi = decimal.Min(hi, x.Hi)
				}
			}
			return &num.Interval{Lo: decimal.Zero, Hi: hi}
		}
		bits := 0
		for _, x := range []decimal.Decimal{k[0].Hi, k[1].Hi, k[0].Lo.Neg().Sub(one(1)), k[1].Lo.Neg().Sub(one(1))} {
			if x.Sign() > 0 {
				bits = max(bits, x.BigInt().BitLen())
			}
		}
		top := decimal.NewFromBigInt(new(big.Int).Lsh(big.NewInt(1), uint(bits)), 0)
		out := &num.Interval{Lo: top.Neg(), Hi: top.Sub(one(1))}
		if positive {
			out.Lo = decimal.Zero
		}
		return out
	})
}

func complement(t sqltype.OID) *Func {
	return row(Operator, "~", oids(t), t, false, forms{pg: "~ {x}", duck: "~ {x}"}).safe(harmless).
		eval(of1(func(x int64) (sqltype.Value, error) { return ^x, nil })).
		within(func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
			k := known(a, oids(t))[0].Neg()
			return &num.Interval{Lo: k.Lo.Sub(one(1)), Hi: k.Hi.Sub(one(1))}
		})
}

// shift takes the distance modulo 32, or 64 for bigint, as PostgreSQL's processors do.
func shift(op string, t sqltype.OID) *Func {
	return row(Operator, op, oids(t, sqltype.OIDInt4), t, false, forms{pg: "{x} " + op + " {y}", why: "DuckDB's shifts raise where bits are lost"}).safe(harmless).
		eval(func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			x, n := v[0].(int64), uint64(v[1].(int64))
			switch {
			case t == sqltype.OIDInt8 && op == "<<":
				return x << (n & 63), nil
			case t == sqltype.OIDInt8:
				return x >> (n & 63), nil
			case op == ">>":
				return x >> (n & 31), nil
			case t == sqltype.OIDInt4:
				return int64(int32(x) << (n & 31)), nil
			}
			return int64(int16(int32(x) << (n & 31))), nil
		})
}
