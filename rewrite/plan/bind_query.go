package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// The shapes of whole queries: WITH, VALUES, set operations. What has no plan is noted (later) and refused when all of the
// statement was bound.

// query binds a SELECT, VALUES or set operation. outer is what names may mean beside it; of a leaf (a side of a set operation)
// untyped literals keep no type.
func (b *binder) query(s *pgsyntax.Select, outer *scope, leaf bool) (*bound, error) {
	known := len(b.around.ctes)
	defer func() { b.around.ctes = b.around.ctes[:known] }()
	for i := range s.With {
		if err := b.with(s, i, known, outer); err != nil {
			return nil, err
		}
	}
	switch {
	case s.Op != pgsyntax.NoOp:
		return b.setOp(s, outer)
	case len(s.Values) > 0:
		return b.values(s, outer, leaf)
	}
	return b.selectStmt(s, outer, leaf)
}

func (b *binder) with(s *pgsyntax.Select, i, known int, outer *scope) error {
	w := &s.With[i]
	for _, c := range b.around.ctes[known:] {
		if c.name == w.Name {
			return sqlerr.New(sqlerr.DuplicateAlias, "WITH query name %q specified more than once", w.Name).At(int(w.Pos))
		}
	}
	if s.Recursive && w.Query.Op == pgsyntax.Union && namesItself(w) {
		if b.find.meta == nil {
			b.later(unsupported(w.Pos, "a recursive query is"))
		}
		return b.recursive(w, outer)
	}
	r, err := b.query(w.Query, outer, false)
	if err != nil {
		return err
	}
	c := &cte{name: w.Name, outputs: r.outputs, rel: r.rel, query: w, before: slices.Clone(b.around.ctes), outer: outer}
	b.around.ctes = append(b.around.ctes, c)
	return c.rename(w)
}

// read is the query with columns that no other reader of it has: bound once more for each reader but the first.
func (c *cte) read(b *binder) (Rel, []namedOutput, error) {
	if c.shared != nil {
		rel, outputs := b.reader(c.shared, c.outputs)
		return rel, outputs, nil
	}
	if c.rel != nil || c.query == nil {
		rel := c.rel
		c.rel = nil
		return rel, c.outputs, nil
	}
	ctes := b.around.ctes
	b.around.ctes = c.before
	b.around.rebinding++
	r, err := b.query(c.query.Query, c.outer, false)
	b.around.rebinding--
	b.around.ctes = ctes
	if err != nil {
		return nil, nil, err
	}
	again := &cte{outputs: r.outputs}
	return r.rel, again.outputs, again.rename(c.query)
}

// rename applies WITH name (c1, c2).
func (c *cte) rename(w *pgsyntax.CTE) error {
	if len(w.Columns) > len(c.outputs) {
		return sqlerr.New(sqlerr.InvalidColumnRef, "WITH query %q has %d columns available but %d columns specified", w.Name, len(c.outputs), len(w.Columns)).At(int(w.Pos))
	}
	for i, n := range w.Columns {
		c.outputs[i].name = n
	}
	return nil
}

// recursive binds the first term, which gives the columns, and then the term that may name the query itself.
func (b *binder) recursive(w *pgsyntax.CTE, outer *scope) error {
	known := len(b.around.ctes)
	for i := range w.Query.With {
		if err := b.with(w.Query, i, known, outer); err != nil {
			return err
		}
	}
	left, err := b.query(w.Query.Left, outer, false)
	if err != nil {
		return err
	}
	working := &Working{}
	c := &cte{name: w.Name, outputs: slices.Clone(left.outputs)}
	for i, o := range left.outputs {
		c.outputs[i].col = b.newCol(b.columns[o.col])
		working.Columns = append(working.Columns, c.outputs[i].col)
	}
	if c.shared = working; b.find.meta == nil {
		c.shared = nil
	}
	if err := c.rename(w); err != nil {
		return err
	}
	b.around.ctes = append(b.around.ctes, c)
	right, err := b.query(w.Query.Right, outer, true)
	if err != nil {
		return err
	}
	if len(left.outputs) != len(right.outputs) {
		return unequal(w.Query)
	}
	for i, l := range left.outputs {
		if err := right.settle(i, b.columns[l.col].Type); err != nil {
			return err
		}
		lt, rt := b.columns[l.col].Type, b.columns[right.outputs[i].col].Type
		t, err := b.common([]Scalar{b.col(l.col), b.col(right.outputs[i].col)}, "UNION", w.Query.Pos)
		if err != nil {
			return err
		}
		if t.OID != lt.OID || t.Typmod != lt.Typmod && rt.OID == lt.OID {
			return mismatch("recursive query %q column %d has type %s in non-recursive term but type %s overall", w.Name, i+1, lt, t).At(int(w.Query.Left.Pos)).
				WithHint("Cast the output of the non-recursive term to the correct type.")
		}
	}
	b.around.ctes = append(b.around.ctes[:known], c)
	if b.find.meta == nil {
		return nil
	}
	r := &Recursive{First: left.rel, Again: right.rel, All: w.Query.All, Working: working}
	for i, l := range left.outputs {
		r.FirstCols, r.AgainCols = append(r.FirstCols, l.col), append(r.AgainCols, right.outputs[i].col)
		c.outputs[i].col = b.newCol(b.columns[l.col])
		r.Columns = append(r.Columns, c.outputs[i].col)
	}
	c.shared = r
	return nil
}

func unequal(s *pgsyntax.Select) error {
	return sqlerr.New(sqlerr.Syntax, "each %s query must have the same number of columns", s.Op).At(int(firstTarget(s.Right)))
}

func firstTarget(s *pgsyntax.Select) pgsyntax.Pos {
	for s.Left != nil {
		s = s.Left
	}
	switch {
	case len(s.Targets) > 0:
		return start(s.Targets[0].Expr)
	case len(s.Values) > 0 && len(s.Values[0]) > 0:
		return start(s.Values[0][0])
	}
	return s.Pos
}

// settle gives an untyped literal of a leaf's select list its type.
func (r *bound) settle(i int, t sqltype.Type) error {
	if r.retype == nil {
		return nil
	}
	return r.retype(i, t)
}

// setOp is UNION, INTERSECT and EXCEPT: each column has the common type of the two sides, the names are the left side's.
func (b *binder) setOp(s *pgsyntax.Select, outer *scope) (*bound, error) {
	l, err := b.query(s.Left, outer, true)
	if err != nil {
		return nil, err
	}
	r, err := b.query(s.Right, outer, true)
	if err != nil {
		return nil, err
	}
	if len(l.outputs) != len(r.outputs) {
		return nil, unequal(s)
	}
	out := &SetOp{Op: s.Op, All: s.All, Pos: int(s.Pos)}
	q := &selecting{binder: b, stmt: s, scope: &scope{outer: outer}, rel: out}
	sides := []*side{{bound: l}, {bound: r}}
	for i := range l.outputs {
		x, y := Scalar(b.col(l.outputs[i].col)), Scalar(b.col(r.outputs[i].col))
		b.written.places[x], b.written.places[y] = l.place(i, s.Left), r.place(i, s.Right)
		t, err := b.common([]Scalar{x, y}, string(s.Op), s.Pos)
		if err != nil {
			return nil, err
		}
		for k, side := range sides {
			if err := side.settle(i, t); err != nil {
				return nil, err
			}
			v := []Scalar{x, y}[k]
			if v.Type().OID == sqltype.OIDUnknown {
				v = b.col(side.outputs[i].col) // settled, or still a leaf's NULL
			}
			if v.Type().OID != sqltype.OIDUnknown {
				if v, err = b.toCommon(v, t, string(s.Op), s.Pos); err != nil {
					return nil, err
				}
			}
			side.add(b, v, l.outputs[i].name)
		}
		id := b.newCol(ColumnInfo{Name: l.outputs[i].name, Type: t})
		if !s.All {
			key := b.col(id)
			b.written.places[key] = b.written.places[x]
			if err := b.comparable(key, false, s.Pos); err != nil {
				return nil, err
			}
		}
		out.Columns = append(out.Columns, id)
		q.scope.cols = append(q.scope.cols, scopeCol{name: l.outputs[i].name, id: id})
		q.targets = append(q.targets, target{name: l.outputs[i].name, expr: b.col(id)})
	}
	out.Left, out.LeftCols = sides[0].done()
	out.Right, out.RightCols = sides[1].done()
	if err := q.orderBy(); err != nil {
		return nil, err
	}
	for _, item := range q.sort {
		if item.target < 0 {
			return nil, sqlerr.New(sqlerr.Unsupported, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause").At(int(q.place(item.expr, item.pos))).
				WithDetail("Only result column names can be used, not expressions or functions.").
				WithHint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.")
		}
	}
	return q.assemble(nil)
}

// side is one of a set operation's.
type side struct {
	*bound
	items   []Item
	changed bool
}

// add takes a column, or what brings it to the common type.
func (s *side) add(b *binder, v Scalar, name string) {
	if c, ok := v.(*Col); ok && c.T == b.columns[c.ID].Type {
		s.items = append(s.items, Item{ID: c.ID, Expr: c})
		return
	}
	s.changed = true
	s.items = append(s.items, Item{ID: b.newCol(ColumnInfo{Name: name, Type: v.Type()}), Expr: v})
}

// done is the side with its columns.
func (s *side) done() (Rel, []ColID) {
	ids := make([]ColID, len(s.items))
	for i, it := range s.items {
		ids[i] = it.ID
	}
	if !s.changed {
		return s.rel, ids
	}
	var unique []Item
	for i, it := range s.items {
		if !slices.Contains(ids[:i], it.ID) {
			unique = append(unique, it)
		}
	}
	return &Project{Input: s.rel, Items: unique}, ids
}

// namesItself says whether a WITH query reads itself: only then is a UNION under WITH RECURSIVE a recursive one.
func namesItself(w *pgsyntax.CTE) bool {
	found := false
	pgsyntax.Walk(w.Query.Right, &pgsyntax.Visitor{Table: func(t pgsyntax.TableExpr) bool {
		n, ok := t.(*pgsyntax.TableName)
		found = found || ok && n.Schema == "" && n.Name == w.Name
		return true
	}})
	return found
}

// place is where an output's expression stands.
func (r *bound) place(i int, s *pgsyntax.Select) pgsyntax.Pos {
	if i < len(r.outputs) && r.outputs[i].pos >= 0 {
		return r.outputs[i].pos
	}
	return s.Pos
}

// values is VALUES (...), ...: columns column1 and so on, of the rows' common types.
func (b *binder) values(s *pgsyntax.Select, outer *scope, leaf bool) (*bound, error) {
	e := &exprs{binder: b, scope: &scope{outer: outer}, clause: "VALUES"}
	rows := make([][]Scalar, len(s.Values))
	for i, row := range s.Values {
		var err error
		if rows[i], err = e.args(row); err != nil {
			return nil, err
		}
		if len(row) != len(s.Values[0]) {
			return nil, sqlerr.New(sqlerr.Syntax, "VALUES lists must all be the same length").At(int(start(row[0])))
		}
	}
	out := &Values{Rows: rows, Pos: int(s.Pos)}
	q := &selecting{binder: b, stmt: s, scope: &scope{outer: outer, tables: []string{"*VALUES*"}, schemas: []string{""}, names: []string{""}}, rel: out, leaf: leaf}
	for k := range rows[0] {
		column := make([]Scalar, len(rows))
		for i := range rows {
			column[i] = rows[i][k]
		}
		if untyped := column[0].Type().OID == sqltype.OIDUnknown && len(rows) == 1 && leaf; !untyped {
			list, _, err := b.allCommon(column, "VALUES", s.Pos)
			if err != nil {
				return nil, err
			}
			for i := range rows {
				rows[i][k] = list[i]
			}
		}
		t, err := b.common(column, "VALUES", s.Pos)
		if err != nil {
			return nil, err
		}
		name := "column" + itoa(k+1)
		id := b.newCol(ColumnInfo{Name: name, Type: t})
		out.Columns = append(out.Columns, id)
		q.scope.cols = append(q.scope.cols, scopeCol{table: "*VALUES*", name: name, id: id})
		q.targets = append(q.targets, target{name: name, expr: b.col(id), pos: start(s.Values[0][k])})
	}
	if err := q.orderBy(); err != nil {
		return nil, err
	}
	r, err := q.assemble(nil)
	if err == nil && r.retype != nil {
		r.retype = func(i int, t sqltype.Type) error { return e.retypeValue(out, i, bare(t), q.targets[i].pos) }
	}
	return r, err
}

// retypeValue gives an untyped literal of VALUES in a set operation its type.
func (e *exprs) retypeValue(out *Values, i int, t sqltype.Type, pos pgsyntax.Pos) error {
	if out.Rows[0][i].Type().OID != sqltype.OIDUnknown {
		return nil
	}
	v, err := e.implicit(out.Rows[0][i], t, pos)
	if err == nil {
		out.Rows[0][i], e.columns[out.Columns[i]].Type = v, v.Type()
	}
	return err
}

// view reads a view of the catalogs as the query that defines it.
func (b *binder) view(table *Table, t *pgsyntax.TableName, schema, alias string) (Rel, *scope, error) {
	query, err := b.find.meta.View(table)
	if query == nil || err != nil {
		return nil, nil, err
	}
	if b.around.views++; b.around.views > maxViews {
		return nil, nil, sqlerr.New(sqlerr.TooComplex, "views are nested more than %d deep", maxViews).At(int(t.Pos))
	}
	defer func() { b.around.views-- }()
	ctes, refusals := b.around.ctes, len(b.refusals)
	b.around.ctes = nil
	r, err := b.query(query, nil, false)
	b.around.ctes = ctes
	if err == nil && len(b.refusals) > refusals {
		err = b.refusals[refusals]
	}
	if err != nil {
		return nil, nil, sqlerr.New(sqlerr.Unsupported, "the view %s.%s cannot be computed: %s", table.Schema, table.Name, message(err)).At(int(t.Pos))
	}
	var items []Item
	sc := &scope{tables: []string{alias}, schemas: []string{schema}, names: []string{t.Name}}
	for i, o := range r.outputs {
		name := o.name
		if i < len(table.Columns) {
			name = table.Columns[i].Name
		}
		id := b.newCol(ColumnInfo{Name: name, Type: b.columns[o.col].Type, Table: table, Attr: i})
		sc.cols = append(sc.cols, scopeCol{schema: schema, table: alias, name: name, id: id})
		items = append(items, Item{ID: id, Expr: b.col(o.col)})
	}
	return &Project{Input: r.rel, Items: items}, sc, nil
}
