package eval

import (
	"math"
	"math/bits"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// accumulator takes in arguments and gives the aggregate of those so far, as often as it is asked.
type accumulator interface {
	add(m *machine, args []sqltype.Value) error
	result(m *machine) (sqltype.Value, error)
}

// accumulatorOf finds an aggregate by name and types; nil if it has no evaluation. All but those of rows, array_agg and string_agg
// pass rows over where an argument is NULL.
func accumulatorOf(fn plan.AggFunc, args []sqltype.Type, result sqltype.Type) func() accumulator {
	if fn == plan.CountRows {
		return func() accumulator { return &counter{} }
	}
	if len(args) == 0 {
		return nil
	}
	t := args[0]
	switch fn {
	case plan.Count:
		return strict(func() accumulator { return &counter{} })
	case plan.Sum, plan.Avg:
		return sumOf(fn, t)
	case plan.Min, plan.Max:
		return strict(func() accumulator { return &extreme{most: fn == plan.Max, typ: t} })
	case "bool_and", "every", "bool_or":
		return strict(func() accumulator { return &boolean{or: fn == "bool_or"} })
	case "bit_and", "bit_or", "bit_xor":
		if !t.IsInteger() {
			return nil
		}
		return strict(func() accumulator { return &bitwise{op: fn} })
	case "string_agg":
		return func() accumulator { return &joined{bytea: result.OID == sqltype.OIDBytea} }
	case "array_agg":
		elem, ok := result.Elem()
		if !ok || t.IsArray() {
			return nil
		}
		return func() accumulator { return &listed{elem: elem} }
	case "json_agg", "jsonb_agg":
		if t.OID != sqltype.OIDJSON || len(args) != 2 { // of the catalogs: plan has made JSON of the values
			return nil
		}
		return func() accumulator { return &jsonList{typ: result} }
	}
	return statisticOf(fn, args)
}

// strict passes rows over where an argument is NULL.
func strict(of func() accumulator) func() accumulator {
	return func() accumulator { return strictly{of()} }
}

type strictly struct{ accumulator }

// outOfRange is PostgreSQL's error of an integer's or float's overflow.
func outOfRange(what string) error { return sqlerr.New(sqlerr.NumericRange, "%s", what) }

func (s strictly) add(m *machine, args []sqltype.Value) error {
	for _, v := range args {
		if v == nil {
			return nil
		}
	}
	return s.accumulator.add(m, args)
}

type counter struct{ n int64 }

func (a *counter) add(*machine, []sqltype.Value) error    { a.n++; return nil }
func (a *counter) result(*machine) (sqltype.Value, error) { return a.n, nil }

func sumOf(fn plan.AggFunc, t sqltype.Type) func() accumulator {
	avg := fn == plan.Avg
	switch {
	case t.OID == sqltype.OIDInt8 || t.OID == sqltype.OIDNumeric || t.IsInteger() && avg:
		return strict(func() accumulator { return &numericSum{avg: avg} })
	case t.IsInteger():
		return strict(func() accumulator { return &intSum{} })
	case t.IsFloat() && avg:
		return strict(func() accumulator {
			return &floatStat{last: func(s *floatStat) sqltype.Value { return s.x / s.n }, least: 1}
		})
	case t.IsFloat():
		return strict(func() accumulator { return &floatSum{single: t.OID == sqltype.OIDFloat4} })
	}
	return nil
}

// intSum is sum(smallint) and sum(integer).
type intSum struct {
	sum  int64
	some bool
}

func (a *intSum) add(_ *machine, args []sqltype.Value) error {
	x := args[0].(int64)
	sum, _ := bits.Add64(uint64(a.sum), uint64(x), 0)
	if s := int64(sum); (x < 0) == (s < a.sum) || x == 0 {
		a.sum, a.some = s, true
		return nil
	}
	return outOfRange("bigint out of range")
}

func (a *intSum) result(*machine) (sqltype.Value, error) {
	if !a.some {
		return nil, nil
	}
	return a.sum, nil
}

// numericSum is a sum or average of numbers that are exact: the sum has the largest scale of what it adds.
type numericSum struct {
	avg bool
	sum decimal.Decimal
	n   int64
}

// exactly is an integer or a numeric as a numeric; PostgreSQL's scales are never negative.
func exactly(v sqltype.Value) decimal.Decimal {
	switch v := v.(type) {
	case int64:
		return decimal.NewFromInt(v)
	case decimal.Decimal:
		if v.Exponent() <= 0 {
			return v
		}
		return v.Add(decimal.New(0, 0))
	}
	return decimal.Decimal{}
}

func (a *numericSum) add(_ *machine, args []sqltype.Value) error {
	a.sum = a.sum.Add(exactly(args[0]))
	a.n++
	return nil
}

func (a *numericSum) result(*machine) (sqltype.Value, error) {
	switch {
	case a.n == 0:
		return nil, nil
	case a.avg:
		return funcs.NumericDiv(a.sum, decimal.NewFromInt(a.n))
	}
	return funcs.CheckNumeric(a.sum)
}

// floatSum adds in the order of the rows, in the type's own precision.
type floatSum struct {
	single bool
	sum    float64
	some   bool
}

func (a *floatSum) add(_ *machine, args []sqltype.Value) error {
	x, was := args[0].(float64), a.sum
	if !a.some {
		a.sum, a.some = x, true
		return nil
	}
	if a.sum += x; a.single {
		a.sum = float64(float32(a.sum))
	}
	if math.IsInf(a.sum, 0) && !math.IsInf(x, 0) && !math.IsInf(was, 0) {
		return outOfRange("value out of range: overflow")
	}
	return nil
}

func (a *floatSum) result(*machine) (sqltype.Value, error) {
	if !a.some {
		return nil, nil
	}
	return a.sum, nil
}

// extreme is min or max. Of equal values PostgreSQL keeps the last, of char(n) the first.
type extreme struct {
	most bool
	typ  sqltype.Type
	v    sqltype.Value
}

func (a *extreme) add(_ *machine, args []sqltype.Value) error {
	if a.v == nil {
		a.v = args[0]
		return nil
	}
	c := sqltype.CompareAs(args[0], a.v, a.typ)
	if c == 0 && a.typ.OID != sqltype.OIDBPChar || c != 0 && (c > 0) == a.most {
		a.v = args[0]
	}
	return nil
}

func (a *extreme) result(*machine) (sqltype.Value, error) { return a.v, nil }

type boolean struct {
	or bool
	v  sqltype.Value
}

func (a *boolean) add(_ *machine, args []sqltype.Value) error {
	if a.v == nil || args[0] == a.or {
		a.v = args[0]
	}
	return nil
}

func (a *boolean) result(*machine) (sqltype.Value, error) { return a.v, nil }

type bitwise struct {
	op plan.AggFunc
	v  sqltype.Value
}

func (a *bitwise) add(_ *machine, args []sqltype.Value) error {
	x, ok := a.v.(int64)
	y := args[0].(int64)
	switch {
	case !ok:
		a.v = y
	case a.op == "bit_and":
		a.v = x & y
	case a.op == "bit_or":
		a.v = x | y
	default:
		a.v = x ^ y
	}
	return nil
}

func (a *bitwise) result(*machine) (sqltype.Value, error) { return a.v, nil }

// joined is string_agg: the first value has no delimiter before it, a NULL delimiter is none.
type joined struct {
	bytea bool
	text  []byte
	some  bool
}

func (a *joined) add(m *machine, args []sqltype.Value) error {
	if args[0] == nil {
		return nil
	}
	had := len(a.text)
	if a.some {
		a.text = append(a.text, textOf(args[1])...)
	}
	a.text, a.some = append(a.text, textOf(args[0])...), true
	return m.gather(len(a.text) - had)
}

func textOf(v sqltype.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case sqltype.Bytes:
		return string(v)
	}
	return ""
}

func (a *joined) result(m *machine) (sqltype.Value, error) {
	switch {
	case !a.some:
		return nil, nil
	case a.bytea:
		return sqltype.Bytes(a.text), m.make(len(a.text))
	}
	return string(a.text), m.make(len(a.text))
}

// listed is array_agg, which takes NULL too.
type listed struct {
	elem sqltype.Type
	vals []sqltype.Value
}

func (a *listed) add(m *machine, args []sqltype.Value) error {
	a.vals = append(a.vals, args[0])
	return m.gather(1)
}

func (a *listed) result(m *machine) (sqltype.Value, error) {
	if len(a.vals) == 0 {
		return nil, nil
	}
	vals := append([]sqltype.Value(nil), a.vals...) // a window goes on adding
	return arrayOf(vals, a.elem), m.make(len(vals))
}
