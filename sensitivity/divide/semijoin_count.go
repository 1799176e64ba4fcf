package divide

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// rewriteSemiJoinCounts puts in place of counts of public rows that private ones keep or leave out what may be released: the number of keys of public rows that have a private match, and
// public counts less that number (design section 4, rows without an owner). EXISTS, IN, INTERSECT keep; NOT EXISTS, NOT IN, LEFT JOIN ... IS NULL, EXCEPT leave out. What it does not know stays, and is
// refused where the rows are looked at.
//
// Proof: claim: the statement has the same answer on all data, and reads private rows through COUNT(DISTINCT key) alone. A public relation's row (split) is matched if one private row meets the condition, which is
// true or not, never NULL; so it is kept or left out, and count = count matched + count left out, in each group of public columns and for any condition on public columns (FILTER, WHERE above, inner joins
// with public rows of which a row has one at most: by a key of theirs, so that its own key tells joined rows apart too). Joined with the private rows that meet the condition, matched rows come once for each such row and others not at all; key is one of the rows (by a constraint, or since DISTINCT made it) and never NULL. So the
// number of matched rows is that of distinct keys in the join, an aggregate as analysts may write it themselves, which is analysed and bounded as those are (distinct: capped by person, then told apart). The
// public count depends on no private row; the difference is post-processing.
func (d *divider) rewriteSemiJoinCounts(r plan.Rel) (plan.Rel, error) {
	if !relation.HasPrivateTable(r) {
		return r, nil
	}
	r, err := plan.MapParts(r, d.rewriteSemiJoinCounts, plan.InQueries(d.rewriteSemiJoinCounts))
	a, ok := r.(*plan.Aggregate)
	if err != nil || !ok || a.Sets != nil || len(a.Groupings) > 0 || len(a.Aggs) == 0 || len(plan.Free(a)) > 0 { // by Free it reads the row of a query around it
		return r, err
	}
	if c := d.counting(a); c != nil {
		d.rewrote = true
		return c, nil
	}
	s, err := d.split(a.Input)
	if err != nil {
		return nil, err
	}
	if s == nil {
		if c := d.countTuples(a); c != nil {
			d.rewrote = true
			return c, nil
		}
		return r, nil
	}
	c, err := d.counted(a, s)
	if c == nil || err != nil {
		return r, err
	}
	d.rewrote = true
	return c, nil
}

// split is a relation of public rows by whether private ones match them.
type split struct {
	all     plan.Rel     // all of its rows; public
	matched plan.Rel     // those with a match, once for each
	key     []plan.ColID // of a row, in matched
	less    bool         // it has the rows without a match; else those with one
}

// split finds how private rows decide over a relation's rows; nil where they don't, or otherwise.
func (d *divider) split(r plan.Rel) (*split, error) {
	switch n := r.(type) {
	case *plan.Filter:
		return d.splitFilter(n)
	case *plan.Project:
		s, err := d.split(n.Input)
		if s == nil || err != nil || slices.ContainsFunc(n.Items, func(it plan.Item) bool { return plan.FirstQuery(it.Expr) != nil }) {
			return nil, err
		}
		items := slices.Clone(n.Items)
		for _, id := range s.key {
			if !slices.ContainsFunc(items, func(it plan.Item) bool { return it.ID == id }) {
				items = append(items, plan.Item{ID: id, Expr: d.col(id)})
			}
		}
		s.all, s.matched = &plan.Project{Input: s.all, Items: n.Items}, &plan.Project{Input: s.matched, Items: items}
		return s, nil
	case *plan.Join:
		return d.splitJoin(n)
	case *plan.SetOp:
		return d.splitSets(n)
	}
	return nil, nil
}

// splitJoin: other public rows are joined to some that private ones decide over, one at most to each, which stay told apart by their key.
func (d *divider) splitJoin(n *plan.Join) (*split, error) {
	if n.Kind != plan.InnerJoin || n.Lateral || relation.HasSubquery(n.On) || relation.HasPrivateTable(n.Left) == relation.HasPrivateTable(n.Right) {
		return nil, nil
	}
	all, matched, in, other := *n, *n, n.Left, n.Right
	if relation.HasPrivateTable(n.Right) {
		in, other = other, in
	}
	if !hasOnePartner(n.On, in, other) {
		return nil, nil
	}
	s, err := d.split(in)
	if s == nil || err != nil {
		return nil, err
	}
	if in == n.Left {
		all.Left, matched.Left = s.all, s.matched
	} else {
		all.Right, matched.Right = s.all, s.matched
	}
	s.all, s.matched = &all, &matched
	return s, nil
}

// hasOnePartner: a join condition gives a row at most one of the other relation, whose key it compares with columns of the row.
func hasOnePartner(on plan.Scalar, of, other plan.Rel) bool {
	key, cols, eqs := uniqueIn(other), of.Cols(), scope.Equalities(on)
	return len(key) > 0 && !slices.ContainsFunc(key, func(id plan.ColID) bool {
		return !slices.ContainsFunc(eqs, func(e scope.Equality) bool {
			return e.A == id && slices.Contains(cols, e.B) || e.B == id && slices.Contains(cols, e.A)
		})
	})
}

// splitFilter: a condition asks for private rows.
func (d *divider) splitFilter(n *plan.Filter) (*split, error) {
	var rest []plan.Scalar
	var asks plan.Scalar
	for _, c := range plan.Conjuncts(n.Cond) {
		private := false
		plan.VisitQueries(c, func(s *plan.Subquery) bool {
			private = private || relation.HasPrivateTable(s.Query) && !d.released(s.Query)
			return true
		})
		switch {
		case !private:
			rest = append(rest, c)
		case asks != nil:
			return nil, nil
		default:
			asks = c
		}
	}
	var s *split
	var err error
	switch j, isJoin := n.Input.(*plan.Join); {
	case asks != nil && !relation.HasPrivateTable(n.Input):
		return d.splitCondition(relation.Filter(n.Input, rest), asks)
	case asks != nil:
	case isJoin && j.Kind == plan.LeftJoin && relation.HasPrivateTable(j.Right) && !relation.HasPrivateTable(j.Left):
		return d.splitPadded(j, rest), nil
	default:
		s, err = d.split(n.Input)
	}
	if s == nil || err != nil {
		return nil, err
	}
	s.all, s.matched = relation.Filter(s.all, rest), relation.Filter(s.matched, rest)
	return s, nil
}

// splitCondition: [NOT] EXISTS and [NOT] IN of private rows.
func (d *divider) splitCondition(in plan.Rel, x plan.Scalar) (*split, error) {
	less := false
	if l, ok := x.(*plan.Logic); ok && l.Op == plan.Not {
		less, x = true, l.Args[0]
	}
	q, ok := x.(*plan.Subquery)
	key := d.keyOfPublic(in)
	if !ok || key == nil {
		return nil, nil
	}
	var rows plan.Rel
	var conds []plan.Scalar
	switch q.Kind {
	case plan.ExistsQuery:
		rows = unit.AnyRow(q.Query)
	case plan.AnyQuery:
		rows = q.Query
		notNull, left := plan.NotNull(rows), plan.NotNull(in)
		for _, it := range q.Left {
			if relation.HasSubquery(it.Expr) {
				return nil, nil
			}
			if less && !plan.NeverNull(it.Expr, left) {
				return nil, notInNull(q)
			}
		}
		if less && slices.ContainsFunc(q.Cols, func(id plan.ColID) bool { return !notNull[id] }) {
			return nil, notInNull(q)
		}
		conds = append(conds, plan.Substitute(q.Cond, func(c *plan.Col) plan.Scalar {
			for _, it := range q.Left {
				if it.ID == c.ID {
					return it.Expr
				}
			}
			return nil
		}))
	default:
		return nil, nil
	}
	rows, conds = peeled(rows, conds)
	if len(plan.Free(rows)) > 0 || !relation.HasPrivateTable(rows) {
		return nil, nil
	}
	return &split{all: in, matched: matches(in, rows, conds), key: key, less: less}, nil
}

// notInNull: one NULL among the rows leaves nothing of NOT IN, so the answer would hang on one person's row.
func notInNull(q *plan.Subquery) error {
	return sqlerr.New(sqlerr.PrivateShape, "NOT IN of private values that may be NULL would leave out all rows for one NULL").At(q.Pos).
		WithHint("Use NOT EXISTS with the comparison in its WHERE.")
}

// peeled takes conditions that read the rows around a subquery off it.
func peeled(r plan.Rel, conds []plan.Scalar) (plan.Rel, []plan.Scalar) {
	for len(plan.Free(r)) > 0 {
		switch n := r.(type) {
		case *plan.Filter:
			conds, r = append(conds, plan.Conjuncts(n.Cond)...), n.Input
		case *plan.Project:
			for i := range conds {
				conds[i] = plan.Substitute(conds[i], func(c *plan.Col) plan.Scalar {
					for _, it := range n.Items {
						if it.ID == c.ID {
							return it.Expr
						}
					}
					return nil
				})
			}
			r = n.Input
		default:
			return r, conds
		}
	}
	return r, conds
}

// matches joins public rows with the private ones that meet the conditions.
func matches(in, rows plan.Rel, conds []plan.Scalar) plan.Rel {
	var on, asks []plan.Scalar
	for _, c := range conds {
		if relation.HasSubquery(c) {
			asks = append(asks, c)
		} else {
			on = append(on, c)
		}
	}
	return relation.Filter(&plan.Join{Kind: plan.InnerJoin, Left: in, Right: rows, On: plan.AllOf(on), Pos: -1}, asks)
}

// splitPadded: rows of a LEFT JOIN that have no private one, as a column says that no private row has NULL in. Other conditions are of the public side.
func (d *divider) splitPadded(j *plan.Join, conds []plan.Scalar) *split {
	never, private := plan.NotNull(j.Right), j.Right.Cols()
	for _, e := range scope.Equalities(j.On) {
		never[e.A], never[e.B] = true, true
	}
	var rest []plan.Scalar
	for _, c := range conds {
		if is, ok := c.(*plan.Is); ok && is.What == "NULL" && !is.Not {
			if col, ok := is.X.(*plan.Col); ok && slices.Contains(private, col.ID) && never[col.ID] {
				continue
			}
		}
		rest = append(rest, c)
	}
	left := relation.Filter(j.Left, rest)
	key := d.keyOfPublic(left)
	if len(rest) == len(conds) || key == nil || relation.HasSubquery(j.On) || j.Lateral || len(plan.Free(left)) > 0 {
		return nil
	}
	return &split{all: left, matched: matches(left, j.Right, plan.Conjuncts(j.On)), key: key, less: true}
}

// splitSets: distinct public rows in, or not in, private ones.
func (d *divider) splitSets(n *plan.SetOp) (*split, error) {
	left, right, lc, rc := n.Left, n.Right, n.LeftCols, n.RightCols
	if n.Op == "INTERSECT" && relation.HasPrivateTable(left) {
		left, right, lc, rc = right, left, rc, lc
	}
	if n.All || n.Op == "UNION" || relation.HasPrivateTable(left) || !relation.HasPrivateTable(right) {
		return nil, nil
	}
	of := func(r plan.Rel, cols []plan.ColID, as []plan.ColID) *plan.Project {
		p := &plan.Project{Input: r}
		for i, id := range cols {
			p.Items = append(p.Items, plan.Item{ID: as[i], Expr: d.col(id)})
		}
		return p
	}
	public := &plan.Distinct{Input: of(left, lc, n.Columns)}
	key := d.keyOfPublic(public)
	if key == nil {
		return nil, nil
	}
	var on []plan.Scalar
	for i, id := range rc {
		same := d.same(n.Columns[i], id)
		if same == nil {
			return nil, nil
		}
		on = append(on, same)
	}
	return &split{all: public, matched: matches(public, right, on), key: key, less: n.Op == "EXCEPT"}, nil
}

// keyOfPublic is a column in which no two rows of a public relation agree, and none has NULL; nil where nothing says so.
func (d *divider) keyOfPublic(r plan.Rel) []plan.ColID {
	key := uniqueIn(r)
	if len(key) != 1 || !relation.HasOneSpelling(d.q.Columns[key[0]].Type) || !plan.NotNull(r)[key[0]] {
		return nil
	}
	return key
}

// uniqueIn are columns in which no two rows agree, but for NULL.
func uniqueIn(r plan.Rel) []plan.ColID {
	switch n := r.(type) {
	case *plan.Scan:
		for _, k := range n.Table.Keys {
			if len(k) == 1 {
				return []plan.ColID{n.Columns[k[0]]}
			}
		}
	case *plan.Filter:
		return uniqueIn(n.Input)
	case *plan.Project:
		in := uniqueIn(n.Input)
		for _, it := range n.Items {
			if c, ok := it.Expr.(*plan.Col); ok && slices.Equal(in, []plan.ColID{c.ID}) {
				return []plan.ColID{it.ID}
			}
		}
	case *plan.Join:
		switch {
		case n.Kind != plan.InnerJoin && n.Kind != plan.LeftJoin || n.Lateral:
		case hasOnePartner(n.On, n.Left, n.Right):
			return uniqueIn(n.Left)
		case n.Kind == plan.InnerJoin && hasOnePartner(n.On, n.Right, n.Left):
			return uniqueIn(n.Right)
		}
	case *plan.Distinct:
		return n.Cols()
	}
	return nil
}

func (d *divider) col(id plan.ColID) *plan.Col { return &plan.Col{ID: id, T: d.q.Columns[id].Type} }

// same is the equality of columns of one type, of which the first is never NULL; nil where there is none.
func (d *divider) same(a, b plan.ColID) plan.Scalar {
	x, y := d.col(a), d.col(b)
	if x.T.OID != y.T.OID {
		return nil
	}
	eq := equalOf(x.T)
	if eq == nil {
		return nil
	}
	return &plan.Call{Fn: eq, T: sqltype.Bool, Pos: -1, Args: []plan.Scalar{x, y}}
}

func equalOf(t sqltype.Type) *funcs.Func {
	if relation.IsVarText(t) {
		t = sqltype.Text
	}
	return funcs.Lookup(funcs.Operator, "=", t.OID, t.OID)
}

// counted is an aggregate over a split relation; nil where it reads more than that.
func (d *divider) counted(a *plan.Aggregate, s *split) (plan.Rel, error) {
	all := &plan.Aggregate{Input: s.all, Keys: a.Keys, Pos: a.Pos}
	matched := &plan.Aggregate{Input: s.matched, Keys: a.Keys, Pos: a.Pos}
	ids := map[plan.ColID]plan.ColID{} // of the aggregate, in matched
	final := &plan.Project{}
	for _, k := range a.Keys {
		final.Items = append(final.Items, plan.Item{ID: k, Expr: d.col(k)})
	}
	minus, zero := funcs.Lookup(funcs.Operator, "-", sqltype.OIDInt8, sqltype.OIDInt8), &plan.Const{Value: int64(0), T: sqltype.Int8}
	for _, g := range a.Aggs {
		switch {
		case g.Fn == plan.CountRows:
		case g.Fn != plan.Count || len(g.More) > 0 || g.Distinct && !slices.Equal([]plan.ColID{scope.PlainColumn(g.Arg)}, s.key):
			return nil, sqlerr.New(sqlerr.PrivateShape, "%s over public rows that private ones keep or leave out is not supported: which they are would tell of persons", g.Name()).At(g.Pos).
				WithHint("Count them: count(*).")
		case !g.Distinct:
			g.Filter = relation.And(g.Filter, &plan.Is{X: g.Arg, What: "NULL", Not: true})
		}
		one := g
		one.ID, one.Fn, one.Arg, one.Distinct, one.Order = g.ID, plan.Count, d.col(s.key[0]), true, nil
		g.Fn, g.Arg, g.Distinct, g.Order = plan.CountRows, nil, false, nil
		if s.less {
			one.ID, g.ID = d.column("count", sqltype.Int8), d.column("count", sqltype.Int8)
			had := &plan.Coalesce{Args: []plan.Scalar{d.col(one.ID), zero}, T: sqltype.Int8}
			final.Items = append(final.Items, plan.Item{ID: a.Aggs[len(all.Aggs)].ID, Expr: &plan.Call{Fn: minus, T: sqltype.Int8, Pos: -1, Args: []plan.Scalar{d.col(g.ID), had}}})
			ids[a.Aggs[len(all.Aggs)].ID] = one.ID
		}
		all.Aggs, matched.Aggs = append(all.Aggs, g), append(matched.Aggs, one)
	}
	if matched.Errors = a.Errors; !s.less {
		return whole(matched, matched), nil
	}
	matched.Errors = slices.Clone(a.Errors)
	for i, e := range a.Errors {
		if e.Kind != plan.ErrorHalfWidth {
			return nil, sqlerr.New(sqlerr.PrivateShape, "%s of a number of public rows that private ones leave out is not supported", e.Kind).At(a.Pos).WithHint("Use dp_error.")
		}
		id := d.column("dp_error", sqltype.Float8)
		matched.Errors[i] = plan.ErrorItem{ID: id, Kind: e.Kind, Of: ids[e.Of], Joint: e.Joint, Total: e.Total, Some: e.Some}
		final.Items = append(final.Items, plan.Item{ID: e.ID, Expr: d.col(id)})
	}
	var right plan.Rel = matched
	var on []plan.Scalar
	if len(a.Keys) > 0 {
		p := &plan.Project{Input: matched}
		for _, k := range a.Keys {
			id := d.column(d.q.Columns[k].Name, d.q.Columns[k].Type)
			p.Items = append(p.Items, plan.Item{ID: id, Expr: d.col(k)})
			eq := equalOf(d.q.Columns[k].Type)
			if eq == nil {
				return nil, nil
			}
			on = append(on, &plan.DistinctFrom{X: d.col(k), Y: d.col(id), Not: true, Eq: eq})
		}
		for _, id := range matched.Cols()[len(a.Keys):] {
			p.Items = append(p.Items, plan.Item{ID: id, Expr: d.col(id)})
		}
		right = p
	}
	final.Input = &plan.Join{Kind: plan.LeftJoin, Left: all, Right: right, On: plan.AllOf(on), Pos: a.Pos}
	return whole(final, all, matched), nil
}

// whole is nil where an aggregate reads padded private columns.
func whole(r plan.Rel, of ...*plan.Aggregate) plan.Rel {
	if slices.ContainsFunc(of, func(a *plan.Aggregate) bool { return len(plan.Free(a)) > 0 }) {
		return nil
	}
	return r
}
