package eval

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// extremes are values at which functions go wrong, by type.
var extremes = map[sqltype.OID][]sqltype.Value{
	sqltype.OIDBool:      {nil, true, false},
	sqltype.OIDInt2:      {nil, int64(0), int64(1), int64(-1), int64(7), int64(math.MaxInt16), int64(math.MinInt16)},
	sqltype.OIDInt4:      {nil, int64(0), int64(1), int64(-1), int64(7), int64(math.MaxInt32), int64(math.MinInt32)},
	sqltype.OIDInt8:      {nil, int64(0), int64(1), int64(-1), int64(7), int64(math.MaxInt64), int64(math.MinInt64)},
	sqltype.OIDFloat4:    {nil, 0.0, math.Copysign(0, -1), 1.5, -2.5, math.NaN(), math.Inf(1), math.MaxFloat32, math.SmallestNonzeroFloat32, 32767.5},
	sqltype.OIDFloat8:    {nil, 0.0, math.Copysign(0, -1), 0.5, -2.5, math.NaN(), math.Inf(-1), math.MaxFloat64, 5e-324, 9.2233720368547758e18, 1e15 + 0.3},
	sqltype.OIDNumeric:   {nil, dec("0"), dec("0.00"), dec("1"), dec("-1.50"), dec("2.5"), dec("0.3333333333"), dec("99999999999999999999.99"), dec("1e-20"), dec("-32768.5")},
	sqltype.OIDText:      {nil, "", "a", " ä Ö", "1", " -17 ", "1e3", "NaN", "true", "2024-02-29", "straße"},
	sqltype.OIDVarchar:   {nil, "", "a ", "12.50"},
	sqltype.OIDBPChar:    {nil, "", "a ", "12"},
	sqltype.OIDName:      {nil, "a"},
	sqltype.OIDDate:      {nil, sqltype.Days(0), sqltype.Days(-100000), sqltype.Days(9000)},
	sqltype.OIDTimestamp: {nil, sqltype.Micros(0), sqltype.Micros(-1), sqltype.Micros(777777777777777)},
}

// TestRegistryAgrees: every function, operator and cast that can be computed here gives PostgreSQL's value or its error.
func TestRegistryAgrees(t *testing.T) {
	compared := 0
	for _, f := range funcs.All() {
		if f.Eval == nil || f.RaisingForm == nil {
			continue
		}
		types := make([]sqltype.Type, len(f.Args))
		known := true
		for i, o := range f.Args {
			types[i] = sqltype.Type{OID: o, Typmod: -1}
			known = known && extremes[o] != nil
		}
		if !known || len(f.Args) > 2 {
			continue
		}
		result := sqltype.Type{OID: f.Result, Typmod: -1}
		if f.Typmod != nil {
			result.Typmod = f.Typmod(types)
		}
		for _, args := range tuples(types) {
			if ourOwn(f, args) {
				continue
			}
			compared++
			compareCall(t, f, args, types, result)
		}
	}
	if t.Logf("%d calls", compared); compared < 1000 {
		t.Error("that is too few")
	}
}

// ourOwn are the calls where PostgreSQL's answer is another by intent: its collation C changes only ASCII letters, the digits
// that round() can add depend on its version, and our numeric has no NaN and no infinity (it is an error: see below).
func ourOwn(f *funcs.Func, args []sqltype.Value) bool {
	switch f.Name {
	case "lower", "upper", "initcap", "~~*", "~*":
		s, _ := args[0].(string)
		return strings.ContainsFunc(s, func(r rune) bool { return r > 127 })
	case "right": // the whole text before PostgreSQL 15.20, and nothing from it on
		return args[1] == int64(math.MinInt32)
	case "round":
		return len(args) == 2 && args[1] == int64(math.MaxInt32)
	}
	return false
}

// sameLibm: C libraries differ from each other, and from Go, in the last places of these.
func sameLibm(name string, got sqltype.Value, want string) bool {
	x, ok := got.(float64)
	w, err := strconv.ParseFloat(want, 64)
	return ok && err == nil && strings.Contains(" sin cos tan cot asin acos atan atan2 sinh cosh tanh asinh acosh atanh cbrt ||/ exp ln log log10 power pow ^ ", " "+name+" ") &&
		math.Abs(x-w) <= 1e-14*math.Abs(w)
}

func tuples(types []sqltype.Type) [][]sqltype.Value {
	out := [][]sqltype.Value{nil}
	for _, typ := range types {
		var longer [][]sqltype.Value
		for _, head := range out {
			for _, v := range extremes[typ.OID] {
				longer = append(longer, append(append([]sqltype.Value(nil), head...), v))
			}
		}
		out = longer
	}
	return out
}

func compareCall(t *testing.T, f *funcs.Func, args []sqltype.Value, types []sqltype.Type, result sqltype.Type) {
	t.Helper()
	spelt := make([]string, len(args))
	call := &plan.Call{Fn: f, T: result}
	for i, v := range args {
		call.Args = append(call.Args, &plan.Const{Value: v, T: types[i]})
		text := "NULL"
		if v != nil {
			text = "'" + strings.ReplaceAll(sqltype.FormatText(v, types[i]), "'", "''") + "'"
		}
		spelt[i] = "(" + text + "::" + types[i].String() + ")"
		if types[i].OID == sqltype.OIDBPChar { // "character" alone means one letter
			spelt[i] = "(" + text + "::bpchar)"
		}
	}
	sql := f.RaisingForm.Print(funcs.Postgres, spelt, types, result)
	want, state, err := ask("SELECT " + sql)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ScalarValue(call, nil)
	if result.OID == sqltype.OIDNumeric && state == "" && want[0][0] != nil && strings.Trim(*want[0][0], "0123456789.-") != "" {
		if sqlerr.ID(err) != "numeric_out_of_range" {
			t.Errorf("%s: eval made a numeric %v of PostgreSQL's %s", sql, got, *want[0][0])
		}
		return
	}
	var e *sqlerr.Error
	if errors.As(err, &e) || state != "" || err != nil {
		if e == nil || e.Code != state {
			t.Errorf("%s: PostgreSQL %q, eval %v %v", sql, state, got, err)
		}
		return
	}
	if w := want[0][0]; (got == nil) != (w == nil) || w != nil && sqltype.FormatText(got, result) != *w && !sameLibm(f.Name, got, *w) {
		t.Errorf("%s: PostgreSQL %s, eval %q", sql, show(w), sqltype.FormatText(got, result))
	}
}
