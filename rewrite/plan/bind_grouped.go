package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// lift turns expressions over the columns of FROM into expressions over the Aggregate's output.
func (q *selecting) lift(having *Scalar) error {
	if q.agg == nil {
		return nil
	}
	var err error
	if *having != nil {
		if *having, err = q.lifted(*having); err != nil {
			return err
		}
	}
	for i := range q.targets {
		if q.targets[i].expr, err = q.lifted(q.targets[i].expr); err != nil {
			return err
		}
	}
	for i := range q.sort {
		if s := &q.sort[i]; s.target < 0 {
			if s.expr, err = q.lifted(s.expr); err != nil {
				return err
			}
		}
	}
	for i := range q.sets {
		x, err := q.lifted(q.sets[i].Call)
		if err != nil {
			return err
		}
		q.sets[i].Call, _ = x.(*Call)
	}
	if q.window == nil {
		return nil
	}
	for i := range q.window.Items {
		if err := q.window.Items[i].each(q.lifted); err != nil {
			return err
		}
	}
	return nil
}

// each replaces the item's expressions.
func (it *WindowItem) each(f func(Scalar) (Scalar, error)) error {
	at := []*Scalar{&it.Filter}
	for _, list := range [][]Scalar{it.Args, it.Partition} {
		for i := range list {
			at = append(at, &list[i])
		}
	}
	for i := range it.Order {
		at = append(at, &it.Order[i].Expr)
	}
	for _, x := range at {
		if *x == nil {
			continue
		}
		var err error
		if *x, err = f(*x); err != nil {
			return err
		}
	}
	return nil
}

func (q *selecting) lifted(x Scalar) (Scalar, error) {
	if isOfAtMost(x, q.largest) { // a longer one is no key, and is not written out at each of its levels
		if id, ok := q.keyText[scalarText(x)]; ok {
			return q.col(id), nil
		}
	}
	if c, ok := x.(*Col); ok {
		if q.isGrouped(c.ID) { // perhaps under another name of its type
			return x, nil
		}
		r := q.written.refs[c]
		return nil, sqlerr.New(sqlerr.Grouping, "column %q must appear in the GROUP BY clause or be used in an aggregate function", r.name).At(int(r.pos))
	}
	if s, ok := x.(*Subquery); ok {
		for _, c := range s.Free() {
			if !q.isGrouped(c.ID) {
				r := q.written.refs[c]
				return nil, sqlerr.New(sqlerr.Grouping, "subquery uses ungrouped column %q from outer query", r.name).At(int(r.pos))
			}
		}
	}
	return mapChildren(x, q.lifted)
}

// isOfAtMost: an expression has no more nodes. It looks at one more.
func isOfAtMost(x Scalar, most int) bool {
	var count func(x Scalar)
	count = func(x Scalar) {
		if most--; most < 0 {
			return
		}
		for _, y := range Children(x) {
			count(y)
		}
	}
	count(x)
	return most >= 0
}

// isGrouped: a column that is there above the Aggregate, or that its keys determine.
func (q *selecting) isGrouped(id ColID) bool {
	if q.isAggregateOutput(id) || slices.Contains(q.agg.Keys, id) || !q.isOwn(id) { // the last: of a query around, or a window's
		return true
	}
	if !q.determinedByKeys(id) {
		return false
	}
	q.agg.Keys = append(q.agg.Keys, id)
	for i := range q.agg.Sets {
		q.agg.Sets[i] = append(q.agg.Sets[i], id)
	}
	return true
}

// isOuter says whether a column is of a query around: as an output here it is another column, which a join around this query may pad.
func (q *selecting) isOuter(id ColID) bool {
	return q.scope.outer != nil && id < q.next && !q.isOwn(id)
}

// isOwn says whether a column is of FROM.
func (q *selecting) isOwn(id ColID) bool {
	if q.own == nil {
		q.own = map[ColID]bool{}
		for _, c := range q.rel.Cols() {
			q.own[c] = true
		}
	}
	return q.own[id]
}

func (q *selecting) isAggregateOutput(id ColID) bool {
	for _, a := range q.agg.Aggs {
		if a.ID == id {
			return true
		}
	}
	for _, e := range q.agg.Errors {
		if e.ID == id {
			return true
		}
	}
	return slices.ContainsFunc(q.agg.Groupings, func(g GroupingItem) bool { return g.ID == id })
}

// determinedByKeys: a table's key among the grouping columns determines its other columns, as PostgreSQL sees it.
func (q *selecting) determinedByKeys(id ColID) bool {
	info := q.columns[id]
	if info.Table == nil {
		return false
	}
	scan := scanOf(q.rel, id)
	if scan == nil {
		return false
	}
	for _, key := range info.Table.Keys {
		all := len(key) > 0
		for _, k := range key {
			all = all && slices.Contains(q.commonKeys(), scan.Columns[k]) && info.Table.Columns[k].NotNull
		}
		if all {
			return true
		}
	}
	return false
}

func scanOf(r Rel, id ColID) *Scan {
	switch n := r.(type) {
	case *Scan:
		for _, c := range n.Columns {
			if c == id {
				return n
			}
		}
	case *Filter:
		return scanOf(n.Input, id)
	case *Join:
		if s := scanOf(n.Left, id); s != nil {
			return s
		}
		return scanOf(n.Right, id)
	}
	return nil
}
