package eval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

func newCompiler(q *plan.Query, leaf func(plan.Rel) (step, bool)) *compiler {
	return &compiler{types: typesOf(q), leaf: leaf, node: compileNode}
}

func compileNode(c *compiler, n plan.Rel) (step, error) {
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
	case *plan.Values:
		return c.values(n)
	case *plan.SetOp:
		return c.setOp(n)
	case *plan.DistinctOn:
		return c.distinctOn(n)
	case *plan.Aggregate:
		return c.aggregate(n)
	case *plan.Window:
		return c.window(n)
	case *plan.FuncScan:
		return c.funcScan(n)
	case *plan.ProjectSet:
		return c.projectSet(n)
	case *plan.Recursive:
		return c.recursive(n)
	case *plan.Working:
		return c.workingRows(n)
	case *plan.Scan:
		return step{}, unsupported("a table cannot be read while an answer is finished").At(n.Pos)
	}
	return step{}, unsupported("the plan has a node that cannot be finished: %T", n)
}

func (c *compiler) filter(n *plan.Filter) (step, error) {
	if c.crosses(n.Input) && slices.ContainsFunc(plan.Conjuncts(n.Cond), func(x plan.Scalar) bool { return plan.FirstQuery(x) == nil }) {
		return c.rel(c.pushed(n.Input, plan.Conjuncts(n.Cond)))
	}
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	cond, err := c.scalar(n.Cond, scopeOf(in.cols))
	if err != nil {
		return step{}, err
	}
	if s := c.lookUp(n, in, cond); s != nil {
		return *s, nil
	}
	return rowwise(in, in.cols, func(m *machine, row []sqltype.Value) ([]sqltype.Value, bool, error) {
		v, err := cond(m, row)
		return row, v == true, err
	}), nil
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
	wider := max(len(items)-len(in.cols), 0)
	return rowwise(in, n.Cols(), func(m *machine, row []sqltype.Value) ([]sqltype.Value, bool, error) {
		if err := m.widen(wider); err != nil {
			return nil, false, err
		}
		vals := make([]sqltype.Value, len(items))
		for j, f := range items {
			var err error
			if vals[j], err = f(m, row); err != nil {
				return nil, false, err
			}
		}
		return vals, true, nil
	}), nil
}

func (c *compiler) distinct(n *plan.Distinct) (step, error) {
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	return c.firsts(in, in.cols)
}

func (c *compiler) distinctOn(n *plan.DistinctOn) (step, error) {
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	return c.firsts(in, n.On)
}

// firsts keeps the first of the rows that agree in some columns.
func (c *compiler) firsts(in step, on []plan.ColID) (step, error) {
	key, err := c.keyOf(in.cols, on)
	if err != nil {
		return step{}, err
	}
	if in.each != nil {
		return streamed(in.cols, func(m *machine, yield func([]sqltype.Value) error) error {
			seen := map[string]bool{}
			return in.each(m, func(row []sqltype.Value) error {
				k := key(row)
				if seen[k] {
					return nil
				}
				seen[k] = true
				if err := m.keep([]sqltype.Value{k}); err != nil {
					return err
				}
				return yield(row)
			})
		}), nil
	}
	return step{cols: in.cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		seen := make(map[string]bool, len(rows))
		var out [][]sqltype.Value
		for _, row := range rows {
			if err := m.tick(); err != nil {
				return nil, err
			}
			if k := key(row); !seen[k] {
				seen[k] = true
				out = append(out, row)
			}
		}
		return out, nil
	}}, nil
}

func (c *compiler) sort(n *plan.Sort) (step, error) {
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	keys, err := c.sortKeys(n.Keys, in.cols)
	if err != nil {
		return step{}, err
	}
	if in.each != nil {
		return sorted(in, keys), nil
	}
	return step{cols: in.cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		return sortRows(m, rows, keys)
	}}, nil
}

// ties are the keys of the order that WITH TIES goes by.
func (c *compiler) ties(n *plan.Limit, cols []plan.ColID) ([]sortKey, error) {
	if !n.Ties {
		return nil, nil
	}
	below := n.Input
	if on, ok := below.(*plan.DistinctOn); ok {
		below = on.Input
	}
	sorted, ok := below.(*plan.Sort)
	if !ok {
		return nil, sqlerr.New(sqlerr.Internal, "WITH TIES has no order")
	}
	return c.sortKeys(sorted.Keys, cols)
}

func (c *compiler) limit(n *plan.Limit) (step, error) {
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	ties, err := c.ties(n, in.cols)
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
	counts := func(m *machine) (skip, most int64, bounded bool, err error) {
		if skip, _, err = rowCount(m, ends[0], "OFFSET", sqlerr.InvalidRowOffset); err != nil {
			return 0, 0, false, err
		}
		most, bounded, err = rowCount(m, ends[1], "LIMIT", sqlerr.InvalidRowCount)
		return skip, most, bounded, err
	}
	if in.each != nil {
		return limited(in, ties, n.Ties, counts), nil
	}
	return step{cols: in.cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		skip, most, bounded, err := counts(m)
		if err != nil {
			return nil, err
		}
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		rows = rows[min(skip, int64(len(rows))):]
		if bounded {
			end := min(most, int64(len(rows)))
			for n.Ties && end > 0 && end < int64(len(rows)) && compareRows(rows[end-1], rows[end], ties) == 0 {
				end++
			}
			rows = rows[:end]
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
