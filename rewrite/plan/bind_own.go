package plan

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// top binds dp_top_k(x, k): an array of the k most frequent values of x, the most frequent one first.
func (e *exprs) top(x *pgsyntax.FuncCall) (Scalar, error) {
	unknown := undefinedFunction(x.Name, "", x.Pos, anyFunction)
	if len(x.Args) != 2 || x.Star || x.Distinct || len(x.OrderBy) > 0 || len(x.WithinGroup) > 0 {
		return nil, unknown
	}
	inner := &exprs{binder: e.binder, scope: e.scope, clause: e.clause, aggs: e.aggs, within: true}
	args, names, variadic, err := inner.callArgs(x)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 || variadic {
		return nil, unknown
	}
	if args[0], err = inner.textLiteral(args[0], x.Pos); err != nil {
		return nil, err
	}
	k, err := inner.implicit(args[1], sqltype.Int8, x.Pos)
	if err != nil {
		return nil, err
	}
	t, ok := sqltype.ArrayOf(args[0].Type())
	if !ok {
		return nil, unknown
	}
	item := AggItem{Fn: TopK, Arg: args[0], More: []Scalar{k}, Type: t, Pos: int(x.Pos)}
	if item.Filter, err = e.filter(x); err != nil {
		return nil, err
	}
	return e.aggs.shared(item, x.Name), nil
}

// median is the call in PostgreSQL's words.
func (e *exprs) median(x *pgsyntax.FuncCall) (*pgsyntax.FuncCall, error) {
	if len(x.Args) != 1 || x.Star || x.Distinct || len(x.OrderBy) > 0 || len(x.WithinGroup) > 0 {
		return nil, undefinedFunction(x.Name, "", x.Pos, anyFunction)
	}
	args, names, variadic, err := (&exprs{binder: e.binder, scope: e.scope, clause: e.clause, aggs: e.aggs, within: true}).callArgs(x)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 || variadic {
		return nil, undefinedFunction(x.Name, "", x.Pos, anyFunction)
	}
	out := &pgsyntax.FuncCall{Pos: x.Pos, Name: "percentile_disc", Filter: x.Filter, Args: []pgsyntax.Expr{&pgsyntax.Literal{Pos: x.Pos, Kind: pgsyntax.NumericLit, Text: "0.5"}},
		WithinGroup: []pgsyntax.OrderItem{{Expr: x.Args[0]}}}
	if t := args[0].Type(); t.IsNumber() || t.OID == sqltype.OIDInterval || t.OID == sqltype.OIDUnknown {
		out.Name = "percentile_cont"
	}
	return out, nil
}

// isOwn reports a call of an aggregate that PostgreSQL does not have.
func isOwn(x *pgsyntax.FuncCall) bool { return isMedian(x) || isTop(x) }

func isTop(x *pgsyntax.FuncCall) bool { return x.Name == string(TopK) && inOwnSchema(x) }

// isMedian reports a call of median, which PostgreSQL does not have.
func isMedian(x *pgsyntax.FuncCall) bool { return x.Name == medianName && inOwnSchema(x) }
