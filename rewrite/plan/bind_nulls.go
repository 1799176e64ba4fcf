package plan

import "github.com/dpsql/dpsql/rewrite/pgsyntax"

// nullCount is count(*) - count(x), with the same FILTER or none, as the one count that it is: count(*) FILTER (WHERE x IS NULL). It is released once, with the noise of few rows. It is nil for other differences, and where both counts are asked for
// aggregates that stand elsewhere in the query: their releases give it then.
//
// Proof: claim: both are the same number over any rows. Let R be the rows of a group for which FILTER is true, all rows without one. (1) count(*) is |R|. (2) count(x) is the number of rows of R in which x is not NULL; of a ROW(...) that is another condition than IS NOT NULL, so it
// stays as it is. (3) x is NULL or is not, never unknown, so |R| less that is the number of rows of R in which x IS NULL. (4) These are the rows for which FILTER AND x IS NULL is true, as AND is true where both sides are. (5) Both are bigint, and 0 in a group of no rows.
// x has the same value in both: no function that dpsql has changes from call to call, and in FILTER it raises no more than in an aggregate's argument, by its total form.
func (e *exprs) nullCount(x *pgsyntax.Binary) *pgsyntax.FuncCall {
	if e.aggs == nil || e.within || e.find.meta != nil {
		return nil
	}
	all, some := nullCountOf(x)
	if all == nil {
		return nil
	}
	elsewhere := map[string]bool{} // aggregates that stand elsewhere
	pgsyntax.Walk(e.aggs.stmt, &pgsyntax.Visitor{Query: func(s *pgsyntax.Select) bool { return s == e.aggs.stmt }, Expr: func(y pgsyntax.Expr) bool {
		switch y := y.(type) {
		case *pgsyntax.Binary:
			a, _ := nullCountOf(y)
			return a == nil
		case *pgsyntax.FuncCall:
			if y.Over == nil && isAggregate(y) {
				elsewhere[pgsyntax.PrintExpr(y)] = true
			}
		}
		return true
	}})
	if elsewhere[pgsyntax.PrintExpr(all)] && elsewhere[pgsyntax.PrintExpr(some)] {
		return nil
	}
	var cond pgsyntax.Expr = &pgsyntax.Is{Pos: some.Pos, X: some.Args[0], What: "NULL"} // (3) x is NULL or is not, never unknown
	if all.Filter != nil {
		cond = &pgsyntax.Binary{Pos: some.Pos, Op: "AND", Left: all.Filter, Right: cond} // (4) AND is true where both sides are
	}
	return &pgsyntax.FuncCall{Pos: all.Pos, Name: string(Count), Star: true, Filter: cond}
}

// nullCountOf are the two counts of count(*) - count(x); nil where it is another difference.
func nullCountOf(x *pgsyntax.Binary) (all, some *pgsyntax.FuncCall) {
	if plainOp(x.Op) != "-" {
		return nil, nil
	}
	counts := func(x pgsyntax.Expr, star bool) *pgsyntax.FuncCall {
		for p, ok := x.(*pgsyntax.Paren); ok; p, ok = x.(*pgsyntax.Paren) {
			x = p.X
		}
		f, ok := x.(*pgsyntax.FuncCall)
		if !ok || f.Name != string(Count) || !builtinSchema(f.Schema) || f.Star != star || f.Distinct || f.Over != nil || len(f.WithinGroup) > 0 || len(f.OrderBy) > 0 {
			return nil
		}
		return f
	}
	if all, some = counts(x.Left, true), counts(x.Right, false); all == nil || some == nil || len(some.Args) != 1 || !isPlainValue(some.Args[0]) {
		return nil, nil
	}
	if (all.Filter == nil) != (some.Filter == nil) || all.Filter != nil && pgsyntax.PrintExpr(all.Filter) != pgsyntax.PrintExpr(some.Filter) {
		return nil, nil
	}
	return all, some
}

// isPlainValue reports an argument that is one value of a row (2): no ROW(...), and no call that FILTER cannot hold.
func isPlainValue(x pgsyntax.Expr) bool {
	plain := true
	pgsyntax.WalkExpr(x, &pgsyntax.Visitor{Query: func(*pgsyntax.Select) bool {
		plain = false
		return false
	}, Expr: func(y pgsyntax.Expr) bool {
		switch y := y.(type) {
		case *pgsyntax.Row, *pgsyntax.Star, *pgsyntax.NamedArg, *pgsyntax.Variadic:
			plain = false
		case *pgsyntax.FuncCall:
			plain = plain && y.Over == nil && !isAggregate(y)
		}
		return plain
	}})
	return plain
}
