package eval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// What only statements over PostgreSQL's own catalogs have: functions that give rows, recursive queries, slices.

// giver gives the rows of a function, or its value as the only one.
type giver func(m *machine, row []sqltype.Value) ([][]sqltype.Value, error)

func (c *compiler) giver(x plan.Scalar, s scope) (giver, error) {
	call, ok := x.(*plan.Call)
	if !ok || call.Fn.Rows == nil {
		f, err := c.scalar(x, s)
		return func(m *machine, row []sqltype.Value) ([][]sqltype.Value, error) {
			v, err := f(m, row)
			return [][]sqltype.Value{{v}}, err
		}, err
	}
	args, err := c.scalars(call.Args, s)
	if err != nil {
		return nil, err
	}
	types := typesOfAll(call.Args)
	return func(m *machine, row []sqltype.Value) ([][]sqltype.Value, error) {
		vals, err := all(m, args, row)
		if err != nil || slices.Contains(vals, nil) && !call.Fn.OnNull {
			return nil, err
		}
		rows, err := call.Fn.Rows(vals, types)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		return rows, m.make(len(rows) * len(rows[0]))
	}, nil
}

func (c *compiler) funcScan(n *plan.FuncScan) (step, error) {
	give, err := c.giver(n.Call, nil)
	if err != nil {
		return step{}, err
	}
	return step{cols: n.Columns, rows: func(m *machine) ([][]sqltype.Value, error) {
		rows, err := give(m, nil)
		if err != nil || !n.Ordinality {
			return rows, err
		}
		out := make([][]sqltype.Value, len(rows))
		for i, r := range rows {
			out[i] = append(slices.Clone(r), int64(i+1))
		}
		return out, nil
	}}, nil
}

func (c *compiler) projectSet(n *plan.ProjectSet) (step, error) {
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	gives := make([]giver, len(n.Items))
	for i, it := range n.Items {
		if gives[i], err = c.giver(it.Call, scopeOf(in.cols)); err != nil {
			return step{}, err
		}
	}
	cols := slices.Clone(in.cols)
	for _, it := range n.Items {
		cols = append(cols, it.Cols...)
	}
	return step{cols: cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		var out [][]sqltype.Value
		for _, row := range rows {
			sets, most := make([][][]sqltype.Value, len(gives)), 0
			for i, g := range gives {
				if sets[i], err = g(m, row); err != nil {
					return nil, err
				}
				most = max(most, len(sets[i]))
			}
			for k := range most {
				if err := m.tick(); err != nil {
					return nil, err
				}
				wide := slices.Clone(row)
				for i, set := range sets {
					if k < len(set) {
						wide = append(wide, set[k]...)
					} else {
						wide = append(wide, make([]sqltype.Value, len(n.Items[i].Cols))...)
					}
				}
				out = append(out, wide)
				if err := m.make(len(wide)); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	}}, nil
}

// recursive runs the second term over the rows that came last until none come.
func (c *compiler) recursive(n *plan.Recursive) (step, error) {
	first, err := c.rel(n.First)
	if err != nil {
		return step{}, err
	}
	if c.working == nil {
		c.working = map[*plan.Working]int{}
	}
	c.working[n.Working] = len(c.working)
	again, err := c.rel(n.Again)
	if err != nil {
		return step{}, err
	}
	place := c.working[n.Working]
	picks := [2]func([]sqltype.Value) []sqltype.Value{}
	for i, side := range []struct{ have, want []plan.ColID }{{first.cols, n.FirstCols}, {again.cols, n.AgainCols}} {
		s := scopeOf(side.have)
		picks[i] = func(row []sqltype.Value) []sqltype.Value {
			out := make([]sqltype.Value, len(side.want))
			for k, id := range side.want {
				out[k] = row[s[id]]
			}
			return out
		}
	}
	return step{cols: n.Columns, rows: func(m *machine) ([][]sqltype.Value, error) {
		rows, err := first.rows(m)
		if err != nil {
			return nil, err
		}
		var out [][]sqltype.Value
		seen := map[string]bool{}
		pick := picks[0]
		for len(rows) > 0 {
			var fresh [][]sqltype.Value
			for _, r := range rows {
				if err := m.tick(); err != nil {
					return nil, err
				}
				r = pick(r)
				if !n.All {
					var key []byte
					for _, v := range r {
						key = sqltype.AppendKey(key, v)
					}
					if seen[string(key)] {
						continue
					}
					seen[string(key)] = true
				}
				fresh = append(fresh, r)
				if err := m.make(len(r) + 1); err != nil {
					return nil, err
				}
			}
			out = append(out, fresh...)
			if len(fresh) == 0 {
				break
			}
			for len(m.working) <= place {
				m.working = append(m.working, nil)
			}
			before := m.working[place]
			m.working[place] = fresh
			rows, err = again.rows(m)
			m.working[place] = before
			if err != nil {
				return nil, err
			}
			pick = picks[1]
		}
		return out, nil
	}}, nil
}

func (c *compiler) workingRows(n *plan.Working) (step, error) {
	place, ok := c.working[n]
	if !ok {
		return step{}, sqlerr.New(sqlerr.Internal, "a recursive query is read outside itself")
	}
	return step{cols: n.Columns, rows: func(m *machine) ([][]sqltype.Value, error) { return m.working[place], nil }}, nil
}
