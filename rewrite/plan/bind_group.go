package plan

import (
	"math"
	"slices"
	"strconv"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// maxSets is PostgreSQL's own limit of grouping sets; all of them together have maxSetKeys expressions.
const (
	maxSets    = 4096
	maxSetKeys = 1 << 15
)

// groupBy binds GROUP BY: an input column's name comes before an output name; a number is a place in the select list.
func (q *selecting) groupBy() error {
	if len(q.stmt.GroupBy) == 0 {
		return nil
	}
	var sets [][]pgsyntax.Expr
	many := false
	for _, g := range q.stmt.GroupBy {
		_, is := g.(*pgsyntax.Grouping)
		many = many || is
		of, err := groupSets(g)
		if err != nil {
			return err
		}
		if sets == nil {
			sets = of
			continue
		}
		if len(sets)*len(of) > maxSets {
			return tooManySets(g.Position())
		}
		var all [][]pgsyntax.Expr
		for _, l := range sets {
			for _, r := range of {
				all = append(all, slices.Concat(l, r))
			}
		}
		sets = all
	}
	e := &exprs{binder: q.binder, scope: q.scope, clause: "GROUP BY"}
	known := map[pgsyntax.Expr]ColID{} // an expression stands in many sets of a CUBE
	total := 0
	for _, set := range sets {
		if total += len(set); total > maxSetKeys {
			return sqlerr.New(sqlerr.TooComplex, "the grouping sets of a statement name at most %d expressions", maxSetKeys).At(int(q.stmt.Pos)).WithHint("Ask for fewer groupings at a time.")
		}
	}
	for _, set := range sets {
		ids := []ColID{}
		for _, g := range set {
			id, ok := known[g]
			if !ok {
				var err error
				if id, err = q.groupKey(e, g); err != nil {
					return err
				}
				known[g] = id
			}
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
			if !slices.Contains(q.agg.Keys, id) {
				q.agg.Keys = append(q.agg.Keys, id)
			}
		}
		if many {
			q.agg.Sets = append(q.agg.Sets, ids)
		}
	}
	return nil
}

// groupKey is the column of an expression of GROUP BY.
func (q *selecting) groupKey(e *exprs, g pgsyntax.Expr) (ColID, error) {
	x, err := q.groupItem(e, g)
	if err != nil {
		return 0, err
	}
	if x.Type().OID == sqltype.OIDUnknown {
		if x, err = e.implicit(x, sqltype.Text, g.Position()); err != nil {
			return 0, err
		}
	}
	if err := q.comparable(x, false, g.Position()); err != nil {
		return 0, err
	}
	text := scalarText(x)
	id, ok := q.keyText[text]
	if !ok {
		id = q.column(x, &q.below, outputName(g))
		q.keyText[text], q.largest = id, max(q.largest, size(x))
	}
	return id, nil
}

// groupSets are the grouping sets of one entry of GROUP BY.
func groupSets(g pgsyntax.Expr) ([][]pgsyntax.Expr, error) {
	switch g := g.(type) {
	case *pgsyntax.Row:
		return [][]pgsyntax.Expr{flat(g.Elems)}, nil
	case *pgsyntax.Grouping:
		switch g.Kind {
		case "ROLLUP":
			out := make([][]pgsyntax.Expr, 0, len(g.Sets)+1)
			for n := len(g.Sets); n >= 0; n-- {
				out = append(out, flat(slices.Concat(g.Sets[:n]...)))
			}
			return out, nil
		case "CUBE":
			if len(g.Sets) > 12 {
				return nil, sqlerr.New(sqlerr.TooComplex, "CUBE is limited to 12 elements").At(int(g.Pos))
			}
			var out [][]pgsyntax.Expr
			for mask := 1<<len(g.Sets) - 1; mask >= 0; mask-- {
				var set []pgsyntax.Expr
				for i, s := range g.Sets {
					if mask&(1<<(len(g.Sets)-1-i)) != 0 {
						set = append(set, s...)
					}
				}
				out = append(out, flat(set))
			}
			return out, nil
		}
		var out [][]pgsyntax.Expr
		for _, s := range g.Sets {
			if nested, ok := one(s).(*pgsyntax.Grouping); ok {
				of, err := groupSets(nested)
				if err != nil {
					return nil, err
				}
				out = append(out, of...)
			} else {
				out = append(out, flat(s))
			}
			if len(out) > maxSets {
				return nil, tooManySets(g.Pos)
			}
		}
		return out, nil
	}
	return [][]pgsyntax.Expr{{g}}, nil
}

func tooManySets(pos pgsyntax.Pos) error {
	return sqlerr.New(sqlerr.TooComplex, "too many grouping sets present (maximum %d)", maxSets).At(int(pos))
}

func one(set []pgsyntax.Expr) pgsyntax.Expr {
	if len(set) == 1 {
		return set[0]
	}
	return nil
}

// flat takes rows apart.
func flat(list []pgsyntax.Expr) []pgsyntax.Expr {
	out := []pgsyntax.Expr{}
	for _, x := range list {
		if row, ok := x.(*pgsyntax.Row); ok && !row.Explicit {
			out = append(out, flat(row.Elems)...)
			continue
		}
		out = append(out, x)
	}
	return out
}

// commonKeys are the keys that all grouping sets have.
func (q *selecting) commonKeys() []ColID {
	if q.agg.Sets == nil {
		return q.agg.Keys
	}
	return slices.DeleteFunc(slices.Clone(q.agg.Keys), func(id ColID) bool {
		return slices.ContainsFunc(q.agg.Sets, func(set []ColID) bool { return !slices.Contains(set, id) })
	})
}

// groupingCall binds GROUPING(...) as a column of the Aggregate.
func (e *exprs) groupingCall(x *pgsyntax.FuncCall) (Scalar, error) {
	if e.aggs == nil || e.aggs.agg == nil {
		return nil, sqlerr.New(sqlerr.Grouping, "grouping operations are not allowed in %s", e.clause).At(int(x.Pos))
	}
	if len(x.Args) > 31 {
		return nil, sqlerr.New(sqlerr.TooComplex, "GROUPING must have fewer than 32 arguments").At(int(x.Pos))
	}
	args, err := e.args(x.Args)
	if err != nil {
		return nil, err
	}
	g := grouping{args: args}
	for _, a := range x.Args {
		g.pos = append(g.pos, a.Position())
	}
	q := e.aggs
	id := q.newCol(ColumnInfo{Name: "grouping", Type: sqltype.Int4})
	q.agg.Groupings = append(q.agg.Groupings, GroupingItem{ID: id})
	q.groupings = append(q.groupings, g)
	return q.col(id), nil
}

// grouped finds the keys that GROUPING names.
func (q *selecting) grouped() error {
	for i, g := range q.groupings {
		for k, x := range g.args {
			id, ok := q.keyText[scalarText(x)]
			if !ok {
				return sqlerr.New(sqlerr.Grouping, "arguments to GROUPING must be grouping expressions of the associated query level").At(int(q.place(x, g.pos[k])))
			}
			q.agg.Groupings[i].Cols = append(q.agg.Groupings[i].Cols, id)
		}
	}
	q.groupings = nil
	return nil
}

// distinctOn binds DISTINCT ON, whose names and numbers mean what they mean in ORDER BY.
func (q *selecting) distinctOn() ([]sortItem, error) {
	if len(q.stmt.DistinctOn) == 0 {
		return nil, nil
	}
	items := make([]pgsyntax.OrderItem, len(q.stmt.DistinctOn))
	for i, x := range q.stmt.DistinctOn {
		items[i].Expr = x
	}
	sort := q.sort
	q.sort = nil
	err := q.orderItems(items, "DISTINCT ON")
	on := q.sort
	q.sort = sort
	return on, err
}

// onBeforeRest: ORDER BY starts with what DISTINCT ON names, in any order (transformDistinctOnClause).
func onBeforeRest(on []ColID, keys []SortKey, items []sortItem) error {
	rest := false
	for _, k := range keys {
		is := slices.Contains(on, k.Col)
		if is && rest {
			return mismatchedOn(items)
		}
		rest = rest || !is
	}
	if !rest || on == nil {
		return nil
	}
	for _, id := range on {
		if !slices.ContainsFunc(keys, func(k SortKey) bool { return k.Col == id }) {
			return mismatchedOn(items)
		}
	}
	return nil
}

func mismatchedOn(items []sortItem) error {
	return sqlerr.New(sqlerr.InvalidColumnRef, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions").At(int(items[0].pos))
}

func (q *selecting) groupItem(e *exprs, g pgsyntax.Expr) (Scalar, error) {
	switch g := g.(type) {
	case *pgsyntax.Literal:
		n, err := strconv.Atoi(g.Text)
		if g.Kind != pgsyntax.IntegerLit || err != nil || n > math.MaxInt32 {
			return nil, sqlerr.New(sqlerr.Syntax, "non-integer constant in GROUP BY").At(int(g.Pos))
		}
		if n < 1 || n > len(q.targets) {
			return nil, sqlerr.New(sqlerr.InvalidColumnRef, "GROUP BY position %s is not in select list", g.Text).At(int(g.Pos))
		}
		return q.groupTarget(q.targets[n-1], g.Pos)
	case *pgsyntax.ColumnRef:
		if len(g.Path) == 1 {
			if len(q.scope.named(g.Path)) == 0 {
				found := -1
				for i, t := range q.targets {
					switch {
					case t.name != g.Path[0]:
					case found < 0:
						found = i
					case scalarText(q.targets[found].expr) != scalarText(t.expr):
						return nil, sqlerr.New(sqlerr.AmbiguousColumn, "GROUP BY %q is ambiguous", t.name).At(int(g.Pos))
					}
				}
				if found >= 0 {
					return q.groupTarget(q.targets[found], g.Pos)
				}
			}
		}
	}
	return e.expr(g)
}

// groupTarget is an entry of the select list that GROUP BY names.
func (q *selecting) groupTarget(t target, pos pgsyntax.Pos) (Scalar, error) {
	if f := firstCall(t.ast, isAggregate); f != nil {
		return nil, sqlerr.New(sqlerr.Grouping, "aggregate functions are not allowed in GROUP BY").At(int(f.Pos))
	}
	if f := firstCall(t.ast, func(f *pgsyntax.FuncCall) bool { return f.Over != nil }); f != nil {
		return nil, sqlerr.New(sqlerr.Windowing, "window functions are not allowed in GROUP BY").At(int(f.Pos))
	}
	if t.expr.Type().OID == sqltype.OIDUnknown {
		return q.implicit(t.expr, sqltype.Text, pos)
	}
	return t.expr, nil
}

// firstCall finds a call in an expression, outside of its subqueries.
func firstCall(x pgsyntax.Expr, is func(*pgsyntax.FuncCall) bool) *pgsyntax.FuncCall {
	var found *pgsyntax.FuncCall
	pgsyntax.WalkExpr(x, &pgsyntax.Visitor{Expr: func(x pgsyntax.Expr) bool {
		if f, ok := x.(*pgsyntax.FuncCall); ok && found == nil && is(f) {
			found = f
		}
		return found == nil
	}, Query: func(*pgsyntax.Select) bool { return false }})
	return found
}
