package eval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// join is a loop over both sides, of the right one over the rows that an equality finds.
func (c *compiler) join(n *plan.Join) (step, error) {
	if n.Kind != plan.InnerJoin && n.Kind != plan.LeftJoin && n.Kind != plan.FullJoin || n.Lateral && n.Kind == plan.FullJoin {
		return step{}, unsupported("%s joins cannot be finished", n.Kind).At(n.Pos)
	}
	left, err := c.rel(n.Left)
	if err != nil {
		return step{}, err
	}
	right, side, err := c.rightSide(n, left.cols)
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
	var by *index
	if side == nil && n.On != nil {
		by = c.indexOf(n.On, right.cols, scopeOf(left.cols))
	}
	return step{cols: cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		ls, err := left.rows(m)
		if err != nil {
			return nil, err
		}
		var rs [][]sqltype.Value
		if side == nil {
			if rs, err = right.rows(m); err != nil {
				return nil, err
			}
		}
		found, all := make([]bool, len(rs)), places(len(rs))
		var known *indexed
		if by != nil {
			known = by.of(rs)
		}
		var out [][]sqltype.Value
		add := func(l, r []sqltype.Value) error {
			out = append(out, slices.Concat(l, r))
			return m.row(cols)
		}
		for _, l := range ls {
			if side != nil {
				side.enter(m, l)
				if rs, err = right.rows(m); err != nil {
					return nil, err
				}
				all = places(len(rs))
			}
			matched, some := false, all
			if known != nil {
				if err := m.tick(); err != nil {
					return nil, err
				}
				some = by.find(m, known, l)
			}
			for _, i := range some {
				r := rs[i]
				if err := m.tick(); err != nil {
					return nil, err
				}
				v, err := on(m, slices.Concat(l, r))
				if err != nil {
					return nil, err
				}
				if v != true {
					continue
				}
				matched = true
				if side == nil {
					found[i] = true
				}
				if err := add(l, r); err != nil {
					return nil, err
				}
			}
			if !matched && n.Kind != plan.InnerJoin {
				if err := add(l, make([]sqltype.Value, len(right.cols))); err != nil {
					return nil, err
				}
			}
		}
		for i, r := range rs {
			if n.Kind == plan.FullJoin && !found[i] {
				if err := add(make([]sqltype.Value, len(left.cols)), r); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	}}, nil
}

// rightSide compiles a join's right side; of LATERAL, frame holds the left row that it is computed for.
func (c *compiler) rightSide(n *plan.Join, left []plan.ColID) (step, *frame, error) {
	if !n.Lateral {
		s, err := c.rel(n.Right)
		return s, nil, err
	}
	f := c.enter(scopeOf(left))
	s, err := c.rel(n.Right)
	c.leave()
	return s, f, err
}
