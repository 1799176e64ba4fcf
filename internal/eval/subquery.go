package eval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// ofAround is a column of the innermost row around that has it.
func (c *compiler) ofAround(id plan.ColID) (scalar, error) {
	for _, f := range slices.Backward(c.around) {
		if _, ok := f.cols[id]; !ok {
			continue
		}
		slot, ok := f.slots[id]
		if !ok {
			slot = c.slots
			c.slots++
			f.slots[id] = slot
		}
		return func(m *machine, _ []sqltype.Value) (sqltype.Value, error) { return m.outer[slot], nil }, nil
	}
	return nil, noColumn()
}

// subquery runs a query for each row, or once where it reads no row around; never where nobody asks for its value.
func (c *compiler) subquery(x *plan.Subquery, s scope) (scalar, error) {
	query := x.Query
	if x.Kind == plan.ExistsQuery {
		query = existence(query)
	}
	f := c.enter(s)
	in, err := c.rel(query)
	c.leave()
	if err != nil {
		return nil, err
	}
	rows := func(m *machine, row []sqltype.Value) ([][]sqltype.Value, error) {
		f.enter(m, row)
		return in.rows(m)
	}
	if free := (&plan.Subquery{Query: query}).Free(); len(free) == 0 && !readsWorking(query) {
		place := c.kept
		c.kept++
		rows = func(m *machine, _ []sqltype.Value) ([][]sqltype.Value, error) {
			if m.once[place] == nil {
				rows, err := in.rows(m)
				m.once[place] = &stored{rows, err}
			}
			return m.once[place].rows, m.once[place].err
		}
	}
	switch x.Kind {
	case plan.ExistsQuery:
		return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
			got, err := rows(m, row)
			return len(got) > 0, err
		}, nil
	case plan.AnyQuery, plan.AllQuery:
		return c.quantified(x, s, in.cols, rows)
	case plan.ScalarQuery, plan.ArrayQuery:
	default:
		return nil, unsupported("a subquery of kind %s", x.Kind).At(x.Pos)
	}
	places := scopeOf(in.cols)
	if len(x.Cols) != 1 {
		return nil, sqlerr.New(sqlerr.Internal, "a subquery has %d columns", len(x.Cols))
	}
	place, ok := places[x.Cols[0]]
	if !ok {
		return nil, noColumn()
	}
	if x.Kind == plan.ArrayQuery {
		return c.arrayQuery(x, place, rows)
	}
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		got, err := rows(m, row)
		switch {
		case err != nil:
			return nil, err
		case len(got) == 0:
			return nil, nil
		case len(got) > 1:
			return nil, sqlerr.New(sqlerr.Cardinality, "more than one row returned by a subquery used as an expression")
		}
		return got[0][place], nil
	}, nil
}

// readsWorking: what a recursive query's term reads is other rows at each step.
func readsWorking(r plan.Rel) bool {
	return !plan.VisitRels(r, func(n plan.Rel) bool { _, ok := n.(*plan.Working); return !ok })
}

// existence is a query with as many rows, or none as often: EXISTS computes no select list (simplify_EXISTS_query).
func existence(r plan.Rel) plan.Rel {
	for {
		switch n := r.(type) {
		case *plan.Project:
			r = n.Input
		case *plan.Sort:
			r = n.Input
		case *plan.Distinct:
			r = n.Input
		case *plan.DistinctOn:
			r = n.Input
		default:
			return r
		}
	}
}

// quantified is ANY and ALL: OR and AND over the rows' comparisons.
func (c *compiler) quantified(x *plan.Subquery, s scope, cols []plan.ColID, rows func(*machine, []sqltype.Value) ([][]sqltype.Value, error)) (scalar, error) {
	ids := make([]plan.ColID, 0, len(x.Left)+len(cols))
	left := make([]scalar, len(x.Left))
	for i, it := range x.Left {
		var err error
		if left[i], err = c.scalar(it.Expr, s); err != nil {
			return nil, err
		}
		ids = append(ids, it.ID)
	}
	cond, err := c.scalar(x.Cond, scopeOf(append(ids, cols...)))
	if err != nil {
		return nil, err
	}
	decides := x.Kind == plan.AnyQuery // one true decides ANY, one false ALL
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		got, err := rows(m, row)
		if err != nil || len(got) == 0 {
			return !decides, err
		}
		head := make([]sqltype.Value, len(left))
		for i, f := range left {
			if head[i], err = f(m, row); err != nil {
				return nil, err
			}
		}
		null := false
		for _, r := range got {
			if err := m.tick(); err != nil {
				return nil, err
			}
			v, err := cond(m, slices.Concat(head, r))
			if err != nil {
				return nil, err
			}
			switch v {
			case nil:
				null = true
			case decides:
				return decides, nil
			}
		}
		if null {
			return nil, nil
		}
		return !decides, nil
	}, nil
}

func (c *compiler) arrayQuery(x *plan.Subquery, place int, rows func(*machine, []sqltype.Value) ([][]sqltype.Value, error)) (scalar, error) {
	elem, ok := x.T.Elem()
	if !ok || c.types(x.Cols[0]).IsArray() {
		return nil, unsupported("ARRAY(SELECT ...) of %s cannot be computed over released values", c.types(x.Cols[0])).At(x.Pos)
	}
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		got, err := rows(m, row)
		if err != nil {
			return nil, err
		}
		vals := make([]sqltype.Value, len(got))
		for i, r := range got {
			vals[i] = r[place]
		}
		return arrayOf(vals, elem), m.make(len(vals))
	}, nil
}
