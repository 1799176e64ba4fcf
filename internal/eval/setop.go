package eval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// The operations of plan.SetOp, as they are written.
const (
	union     = "UNION"
	intersect = "INTERSECT"
	except    = "EXCEPT"
)

func (c *compiler) values(n *plan.Values) (step, error) {
	rows := make([][]scalar, len(n.Rows))
	for i, row := range n.Rows {
		var err error
		if rows[i], err = c.scalars(row, nil); err != nil {
			return step{}, err
		}
	}
	return step{cols: n.Columns, rows: func(m *machine) ([][]sqltype.Value, error) {
		out := make([][]sqltype.Value, len(rows))
		for i, row := range rows {
			if err := m.tick(); err != nil {
				return nil, err
			}
			out[i] = make([]sqltype.Value, len(row))
			for j, f := range row {
				var err error
				if out[i][j], err = f(m, nil); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	}}, nil
}

// setOp pairs equal rows, NULL being equal to NULL: with ALL each row of the right side has one partner at most.
func (c *compiler) setOp(n *plan.SetOp) (step, error) {
	left, err := c.sideOf(n.Left, n.LeftCols)
	if err != nil {
		return step{}, err
	}
	right, err := c.sideOf(n.Right, n.RightCols)
	if err != nil {
		return step{}, err
	}
	key, err := c.keyOf(n.Columns, n.Columns)
	if err != nil {
		return step{}, err
	}
	if n.Op != union && n.Op != intersect && n.Op != except {
		return step{}, unsupported("%s cannot be finished", n.Op).At(n.Pos)
	}
	both := step{cols: n.Columns, rows: func(m *machine) ([][]sqltype.Value, error) {
		ls, err := left(m)
		if err != nil {
			return nil, err
		}
		rs, err := right(m)
		if err != nil {
			return nil, err
		}
		if n.Op == union {
			return slices.Concat(ls, rs), nil
		}
		return paired(ls, rs, key, n.All, n.Op == intersect), m.ctx.Err()
	}}
	if n.All {
		return both, nil
	}
	return c.firsts(both, n.Columns)
}

// paired are the left rows that have an equal one on the right, or with keep false those that have none.
func paired(ls, rs [][]sqltype.Value, key func([]sqltype.Value) string, all, keep bool) [][]sqltype.Value {
	there := make(map[string]int, len(rs))
	for _, r := range rs {
		there[key(r)]++
	}
	var out [][]sqltype.Value
	for _, l := range ls {
		k := key(l)
		has := there[k] > 0
		if has && all {
			there[k]--
		}
		if has == keep {
			out = append(out, l)
		}
	}
	return out
}

// sideOf is a side of a set operation, its columns in the order of the result's.
func (c *compiler) sideOf(r plan.Rel, cols []plan.ColID) (func(*machine) ([][]sqltype.Value, error), error) {
	in, err := c.rel(r)
	if err != nil {
		return nil, err
	}
	s := scopeOf(in.cols)
	places := make([]int, len(cols))
	for i, id := range cols {
		var ok bool
		if places[i], ok = s[id]; !ok {
			return nil, noColumn()
		}
	}
	return func(m *machine) ([][]sqltype.Value, error) {
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		out := make([][]sqltype.Value, len(rows))
		for i, row := range rows {
			if err := m.tick(); err != nil {
				return nil, err
			}
			if err := m.make(1); err != nil {
				return nil, err
			}
			if err := m.widen(len(cols)); err != nil {
				return nil, err
			}
			out[i] = make([]sqltype.Value, len(places))
			for j, p := range places {
				out[i][j] = row[p]
			}
		}
		return out, nil
	}, nil
}
