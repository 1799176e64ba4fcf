package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

func (b *binder) selectStmt(s *pgsyntax.Select, outer *scope, leaf bool) (*bound, error) {
	rel, sc, err := b.from(s.From, outer)
	if err != nil {
		return nil, err
	}
	q := &selecting{binder: b, stmt: s, scope: sc, rel: rel, next: ColID(len(b.columns)), leaf: leaf, aggregation: aggregation{keyText: map[string]ColID{}, aggText: map[string]ColID{}},
		windowing: windowing{windowText: map[string]ColID{}, windows: map[string]bool{"SELECT list": true, "ORDER BY": true}}}
	if s.Where != nil {
		e := &exprs{binder: b, scope: sc, clause: "WHERE"}
		cond, err := e.condition(s.Where, "WHERE")
		if err != nil {
			return nil, ofAlias(err, s)
		}
		q.rel = &Filter{Input: q.rel, Cond: cond}
	}
	if len(s.GroupBy) > 0 || s.Having != nil || q.hasAggregates() {
		q.agg = &Aggregate{Pos: int(s.Pos)}
	}
	if err := q.bindTargets(); err != nil {
		return nil, err
	}
	if err := q.groupBy(); err != nil {
		return nil, err
	}
	having, err := q.having()
	if err != nil {
		return nil, err
	}
	if err := q.orderBy(); err != nil {
		return nil, err
	}
	for i := range s.Windows {
		if err := q.exprs("window definition").windowSpec(&s.Windows[i].Def, &WindowItem{}, s.Pos); err != nil {
			return nil, err
		}
	}
	on, err := q.distinctOn()
	if err != nil {
		return nil, err
	}
	if s.Distinct {
		for _, t := range q.targets {
			if err := q.comparable(t.expr, false, s.Pos); err != nil {
				return nil, err
			}
		}
	}
	if err := q.grouped(); err != nil {
		return nil, err
	}
	if err := q.lift(&having); err != nil {
		return nil, err
	}
	q.on = on
	return q.assemble(having)
}

// hasAggregates looks for aggregate calls in select list and ORDER BY.
func (q *selecting) hasAggregates() bool {
	for _, t := range q.stmt.Targets {
		if firstCall(t.Expr, isAggregate) != nil {
			return true
		}
	}
	for _, o := range q.stmt.OrderBy {
		if firstCall(o.Expr, isAggregate) != nil {
			return true
		}
	}
	return false
}

// bindTargets binds the select list over the columns of FROM; aggregates become columns of the Aggregate.
func (q *selecting) bindTargets() error {
	e := q.exprs("SELECT list")
	for _, t := range q.stmt.Targets {
		if star, ok := t.Expr.(*pgsyntax.Star); ok {
			cols, err := q.star(star)
			if err != nil {
				return err
			}
			for _, c := range cols {
				q.targets = append(q.targets, target{name: c.name, expr: q.named(c, star.Pos), pos: star.Pos})
			}
			continue
		}
		if f, ok := t.Expr.(*pgsyntax.Field); ok && f.Name == "" {
			cols, err := e.fields(f)
			if err != nil {
				return err
			}
			for _, id := range cols {
				q.targets = append(q.targets, target{name: q.columns[id].Name, expr: q.col(id), pos: f.Pos})
			}
			continue
		}
		x, err := e.expr(t.Expr)
		if err != nil {
			return err
		}
		name := t.Alias
		if name == "" {
			name = outputName(t.Expr)
		}
		q.targets = append(q.targets, target{name: name, isAlias: t.Alias != "", expr: x, ast: t.Expr, pos: start(t.Expr)})
	}
	if len(q.errors) > 0 {
		at := map[string]int{}
		for i, t := range q.targets {
			at[scalarText(t.expr)] = i
		}
		for i := range q.targets {
			t := &q.targets[i]
			if of, is := q.errors[t.expr]; is {
				t.error, t.errorOf = of.kind, -1
				if k, ok := at[scalarText(of.value)]; ok {
					t.errorOf = k
				} else if FirstQuery(of.value) != nil { // bound twice, its subqueries have columns of their own
					text := pgsyntax.PrintExpr(of.ast)
					t.errorOf = slices.IndexFunc(q.targets, func(t target) bool { return t.ast != nil && pgsyntax.PrintExpr(unbracketed(t.ast)) == text })
				}
			}
		}
	}
	nameErrors(q.targets)
	if len(q.targets) > maxTargets {
		return sqlerr.New(sqlerr.TooComplex, "target lists can have at most %d entries", maxTargets).At(int(q.stmt.Pos)).WithHint("Name the columns that you need.")
	}
	return nil
}

func (q *selecting) having() (Scalar, error) {
	if q.stmt.Having == nil {
		return nil, nil
	}
	return q.exprs("HAVING").condition(q.stmt.Having, "HAVING")
}

// assemble puts the nodes above FROM and WHERE together.
func (q *selecting) assemble(having Scalar) (*bound, error) {
	rel := q.rel
	if q.derived != nil {
		var err error
		if rel, err = q.derived.Rel(rel); err != nil {
			return nil, err
		}
	}
	if q.agg != nil {
		if len(q.below) > 0 {
			items := make([]Item, 0, len(rel.Cols())+len(q.below))
			for _, id := range rel.Cols() {
				items = append(items, Item{ID: id, Expr: q.col(id)})
			}
			rel = &Project{Input: rel, Items: append(items, q.below...)}
		}
		q.agg.Input = rel
		rel = q.agg
		if having != nil {
			rel = &Filter{Input: rel, Cond: having}
		}
	}
	if q.window != nil {
		q.window.Input = rel
		rel = q.window
	}
	if len(q.sets) > 0 {
		rel = &ProjectSet{Input: rel, Items: q.sets}
	}
	out := &bound{}
	var items []Item
	at := map[ColID]bool{}
	texts := map[string]ColID{}
	add := func(x Scalar, name string) ColID {
		if c, ok := x.(*Col); ok && q.records[c.ID] != nil {
			for _, id := range q.records[c.ID] {
				if !at[id] {
					at[id] = true
					items = append(items, Item{ID: id, Expr: q.col(id)})
				}
			}
			return c.ID
		}
		text := scalarText(x)
		id, ok := texts[text]
		if !ok || x.Type().OID == sqltype.OIDUnknown {
			_, collated := q.written.collated[x]
			if c, isCol := x.(*Col); isCol && c.T == q.columns[c.ID].Type && !collated && !q.isOuter(c.ID) {
				id = c.ID
			} else {
				id = q.newCol(ColumnInfo{Name: name, Type: x.Type()})
			}
			texts[text] = id
			items = append(items, Item{ID: id, Expr: x})
		}
		at[id] = true
		return id
	}
	ids := make([]ColID, len(q.targets))
	for i, t := range q.targets {
		x := t.expr
		if x.Type().OID == sqltype.OIDUnknown && !q.leaf {
			var err error
			if x, err = q.exprs("SELECT list").implicit(x, sqltype.Text, q.stmt.Pos); err != nil {
				return nil, err
			}
		}
		ids[i] = add(x, t.name)
		out.outputs = append(out.outputs, namedOutput{name: t.name, col: ids[i], pos: t.pos})
	}
	for i, t := range q.targets {
		if t.error == "" {
			continue
		}
		is := &q.columns[ids[i]]
		if is.Error = t.error; t.errorOf >= 0 {
			is.ErrorOf = ids[t.errorOf]
		}
	}
	var keys []SortKey
	for _, s := range q.sort {
		id := ColID(0)
		if s.target >= 0 {
			id = ids[s.target]
		} else {
			n := len(items)
			if id = add(s.expr, Anonymous); len(items) > n && q.stmt.Distinct && len(q.stmt.DistinctOn) == 0 {
				return nil, sqlerr.New(sqlerr.InvalidColumnRef, "for SELECT DISTINCT, ORDER BY expressions must appear in select list").At(int(q.place(s.expr, s.pos)))
			}
		}
		keys = append(keys, SortKey{Col: id, Desc: s.desc, NullsFirst: s.nullsFirst, SaysNulls: s.saysNulls})
	}
	var on []ColID
	for _, s := range q.on {
		id := ColID(0)
		if s.target >= 0 {
			id = ids[s.target]
		} else {
			id = add(s.expr, Anonymous)
		}
		on = append(on, id)
	}
	if err := onBeforeRest(on, keys, q.on); err != nil {
		return nil, err
	}
	rel = &Project{Input: rel, Items: items}
	if q.stmt.Distinct && on == nil {
		rel = &Distinct{Input: rel}
	}
	if len(keys) > 0 {
		rel = &Sort{Input: rel, Keys: keys}
	}
	if on != nil {
		rel = &DistinctOn{Input: rel, On: on, Pos: int(q.on[0].pos)}
	}
	if q.leaf {
		out.retype = func(i int, t sqltype.Type) error {
			x := q.targets[i].expr
			if x.Type().OID != sqltype.OIDUnknown {
				return nil
			}
			v, err := q.implicit(x, bare(t), q.targets[i].pos)
			for k := range items {
				if items[k].ID == ids[i] && err == nil {
					items[k].Expr, q.columns[ids[i]].Type = v, v.Type()
				}
			}
			return err
		}
	}
	rel, err := q.limit(rel)
	out.rel = rel
	return out, err
}
