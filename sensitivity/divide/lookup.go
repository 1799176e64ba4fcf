package divide

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// lookUp makes the aggregates of private rows in what is computed from releases that are correlated with rows around them, which are released or public, groups of all rows: each is
// released by what it is compared with, and a row around looks up its group. What cannot be made so stays, and is refused (leaf).
//
// Proof: no claim is made here: Divide finds the releases of the rewritten statement as of any other. It answers the same: grouped.
func (d *divider) lookUp(r plan.Rel) (plan.Rel, error) {
	if !relation.HasPrivateTable(r) {
		return r, nil
	}
	out, err := plan.MapParts(r, d.lookUp, plan.InQueries(d.lookUp))
	if err != nil {
		return nil, err
	}
	switch n := r.(type) {
	case *plan.Aggregate:
		if !d.released(out.(*plan.Aggregate).Input) { // a release, whose own subqueries are its body's
			if g := d.byComparison(n); g != nil {
				return g, nil
			}
			return r, nil
		}
	case *plan.Distinct:
		if !d.released(out.(*plan.Distinct).Input) {
			return r, nil
		}
	}
	return out, nil
}

// isCorrelated: an aggregate over private rows reads the row of a query around it.
func isCorrelated(r plan.Rel) bool {
	return !plan.VisitRels(r, func(r plan.Rel) bool {
		a, ok := r.(*plan.Aggregate)
		return !ok || len(plan.Free(a)) == 0 || !relation.HasPrivateTable(a)
	})
}

// compared is a column or expression of an aggregate's rows that must equal one of the row around.
type compared struct {
	call  *plan.Call
	inner int // its argument
}

// byComparison makes an aggregate that the rows around it select by equality alone groups of all rows, and the groups that the row around selects; nil where it is not such a one.
//
// Proof: for a row around, the aggregate is over the rows whose expressions equal the row's. Equality of the types that are accepted is transitive, so these are the rows of those groups by the expressions
// whose keys equal the row's; of one group by each of its own keys, since the comparisons select one value of each (sameKey). Without keys an aggregate has one row: where the release has no such group, that
// of no rows, 0 of counts and NULL of all others that are released. Where groups are chosen with noise, one that was not chosen counts as such.
func (d *divider) byComparison(a *plan.Aggregate) plan.Rel {
	free := map[plan.ColID]bool{}
	for _, c := range plan.Free(a) {
		free[c.ID] = true
	}
	if len(free) == 0 || a.Sets != nil || len(a.Groupings) > 0 {
		return nil
	}
	in := a.Input
	var by []compared
	var rest []plan.Scalar
	for {
		f, ok := in.(*plan.Filter)
		if !ok {
			break
		}
		for _, x := range plan.Conjuncts(f.Cond) {
			if c, ok := comparison(x, free); ok {
				by = append(by, c)
			} else {
				rest = append(rest, x)
			}
		}
		in = f.Input
	}
	if len(by) == 0 {
		return nil
	}
	if len(rest) > 0 {
		in = &plan.Filter{Input: in, Cond: plan.AllOf(rest)}
	}
	before := len(d.q.Columns)
	groups, on := d.groupedBy(d.among(in, by), a.Keys, by)
	names := map[plan.ColID]plan.ColID{}
	for _, it := range a.Aggs {
		names[it.ID] = d.renamed(it.ID)
		it.ID = names[it.ID]
		groups.Aggs = append(groups.Aggs, it)
	}
	for _, it := range a.Errors {
		names[it.ID] = d.renamed(it.ID)
		it.ID, it.Of = names[it.ID], names[it.Of]
		for i, id := range it.Beside {
			it.Beside[i] = names[id]
		}
		groups.Errors = append(groups.Errors, it)
	}
	groups.Pos = a.Pos
	if len(plan.Free(groups)) > 0 || !d.released(groups) {
		d.q.Columns = d.q.Columns[:before]
		return nil
	}
	var selected plan.Rel = &plan.Filter{Input: groups, Cond: plan.AllOf(on)}
	if len(a.Keys) == 0 {
		selected = &plan.Join{Kind: plan.LeftJoin, Left: &plan.OneRow{}, Right: selected, Pos: a.Pos}
	}
	out := &plan.Project{Input: selected}
	for _, id := range a.Cols() {
		from, renamed := names[id]
		if !renamed {
			from = id
		}
		out.Items = append(out.Items, plan.Item{ID: id, Expr: &plan.Col{ID: from, T: d.q.Columns[id].Type}})
	}
	for i, it := range a.Aggs {
		if item := &out.Items[len(a.Keys)+i]; len(a.Keys) == 0 && (it.Fn == plan.CountRows || it.Fn == plan.Count) { // never NULL of a group
			item.Expr = &plan.Coalesce{Args: []plan.Scalar{item.Expr, &plan.Const{Value: int64(0), T: sqltype.Int8}}, T: sqltype.Int8}
		}
	}
	return out
}

// among keeps the rows that rows of a public table select, where the rows around have its key and nothing else says which values there are: its values are public groups.
//
// Proof: what is compared with the row around has the values of the table's columns, or NULL, which equals nothing: a row that none of its rows equals is in no group that is looked up. The comparisons are with
// a key of the table, so that no row is there twice.
func (d *divider) among(in plan.Rel, by []compared) plan.Rel {
	var of *plan.Scan
	var places []int
	listed := true
	for _, c := range by {
		s, i := d.storedAnywhere(scope.PlainColumn(c.call.Args[1-c.inner]))
		inner := scope.PlainColumn(c.call.Args[c.inner])
		if s == nil || !s.Table.Public || inner == 0 || of != nil && s != of {
			return in
		}
		own, j := unit.StoredIn(in, inner)
		listed = listed && own != nil && own.Table.Columns[j].Domain != nil
		of, places = s, append(places, i)
	}
	if listed || !slices.ContainsFunc(of.Table.Keys, func(key []int) bool {
		return !slices.ContainsFunc(key, func(i int) bool { return !slices.Contains(places, i) })
	}) {
		return in
	}
	again := &plan.Scan{Table: of.Table, Alias: of.Alias, Pos: of.Pos}
	for _, id := range of.Columns {
		again.Columns = append(again.Columns, d.renamed(id))
	}
	var on []plan.Scalar
	for k, c := range by {
		call := *c.call
		call.Args = slices.Clone(call.Args)
		call.Args[1-c.inner] = plan.Substitute(call.Args[1-c.inner], func(x *plan.Col) plan.Scalar { return &plan.Col{ID: again.Columns[places[k]], T: x.T} })
		on = append(on, &call)
	}
	return &plan.Join{Kind: plan.InnerJoin, Left: in, Right: again, On: plan.AllOf(on), Pos: of.Pos}
}

// storedAnywhere finds the scan of the statement that a column is stored in.
func (d *divider) storedAnywhere(id plan.ColID) (scan *plan.Scan, at int) {
	for next := id; next != 0 && scan == nil; {
		id, next = next, 0
		plan.VisitRels(d.q.Root, func(r plan.Rel) bool {
			switch n := r.(type) {
			case *plan.Scan:
				if i := slices.Index(n.Columns, id); i >= 0 && n.Rows == nil {
					scan, at = n, i
				}
			case *plan.Project:
				for _, it := range n.Items {
					if c := scope.PlainColumn(it.Expr); it.ID == id && c != id {
						next = c
					}
				}
			}
			return scan == nil
		})
	}
	return scan, at
}

// groupedBy is an aggregate by its own keys and by what is compared with the row around, and the comparisons with its keys.
func (d *divider) groupedBy(in plan.Rel, keys []plan.ColID, by []compared) (*plan.Aggregate, []plan.Scalar) {
	out, on := &plan.Aggregate{Keys: slices.Clone(keys)}, []plan.Scalar(nil)
	var made []plan.Item
	for _, c := range by {
		x := c.call.Args[c.inner]
		id := scope.PlainColumn(x)
		if id == 0 {
			id = d.column("key", x.Type())
			made = append(made, plan.Item{ID: id, Expr: x})
			x = &plan.Col{ID: id, T: x.Type()}
		}
		if !slices.Contains(out.Keys, id) {
			out.Keys = append(out.Keys, id)
		}
		call := *c.call
		call.Args = slices.Clone(call.Args)
		call.Args[c.inner] = x
		on = append(on, &call)
	}
	if len(made) > 0 {
		var all []plan.Item
		for _, id := range in.Cols() {
			all = append(all, plan.Item{ID: id, Expr: &plan.Col{ID: id, T: d.q.Columns[id].Type}})
		}
		in = &plan.Project{Input: in, Items: append(all, made...)}
	}
	out.Input = in
	return out, on
}

// comparison is an equality of an expression over an aggregate's own columns with one over the row around.
func comparison(x plan.Scalar, free map[plan.ColID]bool) (compared, bool) {
	c, ok := x.(*plan.Call)
	if !ok || c.Fn.Name != "=" || len(c.Args) != 2 || !sameKey(c.Args[0].Type(), c.Args[1].Type()) {
		return compared{}, false
	}
	var own, around [2]bool
	for i, a := range c.Args {
		if relation.HasSubquery(a) {
			return compared{}, false
		}
		plan.VisitCols(a, func(c *plan.Col) {
			own[i] = own[i] || !free[c.ID]
			around[i] = around[i] || free[c.ID]
		})
	}
	for i := range c.Args {
		if own[i] && !around[i] && around[1-i] && !own[1-i] {
			return compared{call: c, inner: i}, true
		}
	}
	return compared{}, false
}

// sameKey: values of the types that equal one value are of one group.
func sameKey(a, b sqltype.Type) bool {
	return a.OID == b.OID || wholeType(a) && wholeType(b)
}

func wholeType(t sqltype.Type) bool {
	return t.OID == sqltype.OIDInt2 || t.OID == sqltype.OIDInt4 || t.OID == sqltype.OIDInt8
}

// column is a new one of the statement.
func (d *divider) column(name string, t sqltype.Type) plan.ColID {
	d.q.Columns = append(d.q.Columns, plan.ColumnInfo{Name: name, Type: t})
	return plan.ColID(len(d.q.Columns) - 1)
}

// renamed is a new column like one.
func (d *divider) renamed(id plan.ColID) plan.ColID {
	return d.column(d.q.Columns[id].Name, d.q.Columns[id].Type)
}
