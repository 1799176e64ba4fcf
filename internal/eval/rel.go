package eval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// step is a compiled relational node.
type step struct {
	cols []plan.ColID
	rows func(*machine) ([][]sqltype.Value, error)
}

// scope finds a column's place in a row.
type scope map[plan.ColID]int

func scopeOf(cols []plan.ColID) scope {
	s := make(scope, len(cols))
	for i, c := range cols {
		s[c] = i
	}
	return s
}

// compiler turns plans into steps and expressions into functions; everything that is not supported fails here.
type compiler struct {
	types func(plan.ColID) sqltype.Type
	leaf  func(plan.Rel) (step, bool)
}

func (c *compiler) rel(n plan.Rel) (step, error) {
	if s, ok := c.leaf(n); ok {
		return s, nil
	}
	switch n := n.(type) {
	case *plan.OneRow:
		return step{rows: func(*machine) ([][]sqltype.Value, error) { return [][]sqltype.Value{{}}, nil }}, nil
	case *plan.Filter:
		return c.filter(n)
	case *plan.Project:
		return c.project(n)
	case *plan.Join:
		return c.join(n)
	case *plan.Distinct:
		return c.distinct(n)
	case *plan.Sort:
		return c.sort(n)
	case *plan.Limit:
		return c.limit(n)
	case *plan.Aggregate:
		return step{}, unsupported("aggregates over released values or dpsql's own tables are not supported").At(n.Pos)
	case *plan.Scan:
		return step{}, unsupported("a table cannot be read while an answer is finished").At(n.Pos)
	}
	return step{}, unsupported("the plan has a node that cannot be finished: %T", n)
}

func (c *compiler) filter(n *plan.Filter) (step, error) {
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	cond, err := c.scalar(n.Cond, scopeOf(in.cols))
	if err != nil {
		return step{}, err
	}
	return step{cols: in.cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		var out [][]sqltype.Value
		for _, row := range rows {
			if err := m.tick(); err != nil {
				return nil, err
			}
			v, err := cond(m, row)
			if err != nil {
				return nil, err
			}
			if v == true {
				out = append(out, row)
			}
		}
		return out, nil
	}}, nil
}

func (c *compiler) project(n *plan.Project) (step, error) {
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	s := scopeOf(in.cols)
	items := make([]scalar, len(n.Items))
	for i, it := range n.Items {
		if items[i], err = c.scalar(it.Expr, s); err != nil {
			return step{}, err
		}
	}
	return step{cols: n.Cols(), rows: func(m *machine) ([][]sqltype.Value, error) {
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		out := make([][]sqltype.Value, len(rows))
		for i, row := range rows {
			if err := m.tick(); err != nil {
				return nil, err
			}
			vals := make([]sqltype.Value, len(items))
			for j, f := range items {
				if vals[j], err = f(m, row); err != nil {
					return nil, err
				}
			}
			out[i] = vals
		}
		return out, nil
	}}, nil
}

// join is a nested loop: the inputs are tiny.
func (c *compiler) join(n *plan.Join) (step, error) {
	if n.Kind != plan.InnerJoin && n.Kind != plan.LeftJoin {
		return step{}, unsupported("%s joins cannot be finished", n.Kind).At(n.Pos)
	}
	left, err := c.rel(n.Left)
	if err != nil {
		return step{}, err
	}
	right, err := c.rel(n.Right)
	if err != nil {
		return step{}, err
	}
	cols := slices.Concat(left.cols, right.cols)
	on := func(*machine, []sqltype.Value) (sqltype.Value, error) { return true, nil }
	if n.On != nil {
		if on, err = c.scalar(n.On, scopeOf(cols)); err != nil {
			return step{}, err
		}
	}
	return step{cols: cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		ls, err := left.rows(m)
		if err != nil {
			return nil, err
		}
		rs, err := right.rows(m)
		if err != nil {
			return nil, err
		}
		var out [][]sqltype.Value
		for _, l := range ls {
			matched := false
			for _, r := range rs {
				if err := m.tick(); err != nil {
					return nil, err
				}
				row := slices.Concat(l, r)
				v, err := on(m, row)
				if err != nil {
					return nil, err
				}
				if v == true {
					matched = true
					out = append(out, row)
				}
			}
			if !matched && n.Kind == plan.LeftJoin {
				out = append(out, slices.Concat(l, make([]sqltype.Value, len(right.cols))))
			}
		}
		return out, nil
	}}, nil
}

func (c *compiler) distinct(n *plan.Distinct) (step, error) {
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	padded := c.padded(in.cols)
	return step{cols: in.cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		seen := make(map[string]bool, len(rows))
		var out [][]sqltype.Value
		var key []byte
		for _, row := range rows {
			if err := m.tick(); err != nil {
				return nil, err
			}
			key = key[:0]
			for i, v := range row {
				key = appendKey(key, v, padded[i])
			}
			if !seen[string(key)] {
				seen[string(key)] = true
				out = append(out, row)
			}
		}
		return out, nil
	}}, nil
}

// padded tells the columns of type char(n), whose trailing blanks mean nothing.
func (c *compiler) padded(cols []plan.ColID) []bool {
	out := make([]bool, len(cols))
	for i, id := range cols {
		out[i] = c.types(id).OID == sqltype.OIDBPChar
	}
	return out
}

func (c *compiler) sort(n *plan.Sort) (step, error) {
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	s := scopeOf(in.cols)
	keys := make([]sortKey, len(n.Keys))
	for i, k := range n.Keys {
		place, ok := s[k.Col]
		if !ok {
			return step{}, sqlerr.New(sqlerr.Internal, "a sort key is no column of its input")
		}
		keys[i] = sortKey{place: place, desc: k.Desc, nullsFirst: k.NullsFirst, typ: c.types(k.Col)}
	}
	return step{cols: in.cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		return sortRows(m, rows, keys)
	}}, nil
}

func (c *compiler) limit(n *plan.Limit) (step, error) {
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	var ends [2]scalar
	for i, x := range []plan.Scalar{n.Offset, n.Count} {
		if x == nil {
			continue
		}
		if ends[i], err = c.scalar(x, nil); err != nil {
			return step{}, err
		}
	}
	return step{cols: in.cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		skip, _, err := rowCount(m, ends[0], "OFFSET", sqlerr.InvalidRowOffset)
		if err != nil {
			return nil, err
		}
		most, limited, err := rowCount(m, ends[1], "LIMIT", sqlerr.InvalidRowCount)
		if err != nil {
			return nil, err
		}
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		rows = rows[min(skip, int64(len(rows))):]
		if limited {
			rows = rows[:min(most, int64(len(rows)))]
		}
		return rows, nil
	}}, nil
}

// rowCount is a LIMIT or OFFSET; NULL is none.
func rowCount(m *machine, f scalar, what string, negative sqlerr.Kind) (n int64, given bool, err error) {
	if f == nil {
		return 0, false, nil
	}
	v, err := f(m, nil)
	if err != nil || v == nil {
		return 0, false, err
	}
	n, ok := v.(int64)
	switch {
	case !ok:
		return 0, false, sqlerr.New(sqlerr.DatatypeMismatch, "argument of %s must be type bigint", what)
	case n < 0:
		return 0, false, sqlerr.New(negative, "%s must not be negative", what)
	}
	return n, true, nil
}
