package plan

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// mostSeries is how many rows generate_series may have beside tables of the data.
const mostSeries = 10000

// series binds generate_series of constants, which is VALUES of what it gives.
func (e *exprs) series(t *pgsyntax.TableFunc) (Rel, *scope, error) {
	x := t.Call
	if err := noAggregate(x); err != nil {
		return nil, nil, err
	}
	args, names, variadic, err := e.callArgs(x)
	if err != nil {
		return nil, nil, err
	}
	c, v := e.chooseProc(x.Name, args, names, variadic)
	if v != chosen {
		_, err := e.function(x, args, names, variadic)
		return nil, nil, err
	}
	if args, _, _, err = e.arguments(c, args, x.Pos); err != nil {
		return nil, nil, err
	}
	vals := make([]sqltype.Value, len(args))
	for i := range args {
		k, ok := foldedCalls(args[i]).(*Const)
		if !ok || k.Value == nil {
			return nil, nil, sqlerr.New(sqlerr.UnsupportedFunction, "argument %d of generate_series must be a constant", i+1).At(int(e.place(args[i], x.Pos))).
				WithHint("Write constants, and compare them with columns in ON: FROM t JOIN generate_series(1, 10) AS n ON n <= x.")
		}
		args[i], vals[i] = k, k.Value
	}
	list, err := e.seriesOf(args, vals, x.Pos)
	if err != nil {
		return nil, nil, err
	}
	typ := args[0].Type()
	alias, name := t.Alias, t.Alias
	if alias == "" {
		alias, name = x.Name, outputName(x)
	}
	out := &Values{Columns: []ColID{e.newCol(ColumnInfo{Name: name, Type: typ})}, Pos: int(t.Pos)}
	sc := &scope{tables: []string{alias}, schemas: []string{""}, names: []string{""}, cols: []scopeCol{{table: alias, name: name, id: out.Columns[0]}}}
	if t.Ordinality {
		out.Columns = append(out.Columns, e.newCol(ColumnInfo{Name: "ordinality", Type: sqltype.Int8}))
		sc.cols = append(sc.cols, scopeCol{table: alias, name: "ordinality", id: out.Columns[1]})
	}
	var rel Rel = out
	if len(list) == 0 { // VALUES has a row at least
		list, rel = vals[:1], &Filter{Input: out, Cond: &Const{Value: false, T: sqltype.Bool}}
	}
	for i, v := range list {
		row := []Scalar{&Const{Value: v, T: typ}, &Const{Value: int64(i + 1), T: sqltype.Int8}}
		out.Rows = append(out.Rows, row[:len(out.Columns)])
	}
	return rel, sc, sc.rename(t.Columns, alias, t.Pos)
}

// isSeries: a relation is what series makes, which reads nothing of what stands beside it.
func isSeries(r Rel) bool {
	if f, ok := r.(*Filter); ok {
		r = f.Input
	}
	_, ok := r.(*Values)
	return ok && len(Free(r)) == 0
}

// seriesOf are the values from vals[0] to vals[1], as PostgreSQL gives them: each is the one before plus the step.
func (e *exprs) seriesOf(args []Scalar, vals []sqltype.Value, pos pgsyntax.Pos) (out []sqltype.Value, err error) {
	typ := args[0].Type()
	var step, zero sqltype.Value
	switch {
	case len(vals) == 3:
		step = vals[2]
	case typ.OID == sqltype.OIDNumeric:
		step = decimal.NewFromInt(1)
	default:
		step = int64(1)
	}
	switch step.(type) {
	case int64:
		zero = int64(0)
	case decimal.Decimal:
		zero = decimal.Decimal{}
	case sqltype.Interval:
		zero = sqltype.Interval{}
	}
	refused := unsupported(pos, "generate_series of such values is")
	if zero == nil || fmt.Sprintf("%T", vals[0]) != fmt.Sprintf("%T", vals[1]) { // numerics that are no numbers
		return nil, refused
	}
	sign := sqltype.Compare(step, zero)
	if sign == 0 {
		return nil, sqlerr.New(sqlerr.InvalidParam, "step size cannot equal zero").At(int(pos))
	}
	stepType := typ
	if len(args) == 3 {
		stepType = args[2].Type()
	}
	plus, err := e.operator("+", []Scalar{&Const{Value: vals[0], T: typ}, &Const{Value: step, T: stepType}}, pos)
	if err != nil {
		return nil, err
	}
	call, ok := plus.(*Call)
	if !ok || call.Fn.Eval == nil || call.T.OID != typ.OID || len(call.Args) != 2 {
		return nil, refused
	}
	for v := vals[0]; sqltype.Compare(v, vals[1])*sign <= 0; {
		if len(out) == mostSeries {
			return nil, sqlerr.New(sqlerr.TooComplex, "generate_series gives at most %d rows beside tables of the data", mostSeries).At(int(pos)).WithHint("Take a longer step.")
		}
		out = append(out, v)
		if v, err = call.Fn.Eval([]sqltype.Value{v, step}, []sqltype.Type{typ, stepType}, typ); err != nil { // PostgreSQL's ends with whole numbers that have no next one, and raises for others
			if typ.IsInteger() {
				return out, nil
			}
			return nil, at(err, pos)
		}
	}
	return out, nil
}
