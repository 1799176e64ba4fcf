package eval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// windowCall is one compiled call with OVER.
type windowCall struct {
	args      []scalar
	filter    scalar // nil for none
	partition []scalar
	padded    []bool // of partition
	order     []scalar
	keys      []sortKey // over order
	frame     *windowFrame
	of        windowFunc
}

// partition is the rows that a call sees together, in its order.
type partition struct {
	*windowCall
	m      *machine
	rows   []*windowRow
	peers  []int // of each row, its group of peers
	starts []int // of each group of peers, its first row, and the number of rows at the end
}

type windowRow struct {
	row   []sqltype.Value
	place int // in the input
	order []sqltype.Value
}

// window computes each call over its input; the rows keep their order.
func (c *compiler) window(n *plan.Window) (step, error) {
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	s := scopeOf(in.cols)
	calls := make([]*windowCall, len(n.Items))
	cols := slices.Clone(in.cols) // a relation that is given has the columns that are read, not all of its node's
	for i := range n.Items {
		cols = append(cols, n.Items[i].ID)
		if calls[i], err = c.windowCall(&n.Items[i], s); err != nil {
			return step{}, err
		}
	}
	return step{cols: cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		out := make([][]sqltype.Value, len(rows))
		for i, row := range rows {
			if err := m.widen(len(calls)); err != nil {
				return nil, err
			}
			out[i] = append(make([]sqltype.Value, 0, len(row)+len(calls)), row...)
		}
		for _, call := range calls {
			vals, err := call.values(m, rows)
			if err != nil {
				return nil, err
			}
			for i, v := range vals {
				out[i] = append(out[i], v)
			}
		}
		return out, nil
	}}, nil
}

func (c *compiler) windowCall(it *plan.WindowItem, s scope) (*windowCall, error) {
	call := &windowCall{}
	var err error
	if call.args, err = c.scalars(it.Args, s); err != nil {
		return nil, err
	}
	if it.Filter != nil {
		if call.filter, err = c.scalar(it.Filter, s); err != nil {
			return nil, err
		}
	}
	if call.partition, err = c.scalars(it.Partition, s); err != nil {
		return nil, err
	}
	for _, x := range it.Partition {
		call.padded = append(call.padded, x.Type().OID == sqltype.OIDBPChar)
	}
	for i, k := range it.Order {
		f, err := c.scalar(k.Expr, s)
		if err != nil {
			return nil, err
		}
		call.order = append(call.order, f)
		call.keys = append(call.keys, sortKey{place: i, desc: k.Desc, nullsFirst: k.NullsFirst, typ: k.Expr.Type()})
	}
	if call.frame, err = c.windowFrame(it); err != nil {
		return nil, err
	}
	if call.of = windowFuncs[it.Fn]; call.of != nil && it.Filter == nil {
		return call, nil
	}
	made := accumulatorOf(it.Fn, typesOfAll(it.Args), it.Type)
	if call.of != nil || made == nil {
		return nil, unsupported("window function %s cannot be computed over released values", it.Fn).At(it.Pos)
	}
	call.of = func(p *partition) ([]sqltype.Value, error) { return p.accumulate(made) }
	return call, nil
}

// values are the call's, one a row.
func (w *windowCall) values(m *machine, rows [][]sqltype.Value) ([]sqltype.Value, error) {
	if err := w.frame.offsets(m); err != nil { // even without rows
		return nil, err
	}
	parts, err := w.split(m, rows)
	if err != nil {
		return nil, err
	}
	out := make([]sqltype.Value, len(rows))
	for _, p := range parts {
		vals, err := w.of(p)
		if err != nil {
			return nil, err
		}
		for i, r := range p.rows {
			out[r.place] = vals[i]
		}
	}
	return out, nil
}

// split makes the partitions, each sorted, stably.
func (w *windowCall) split(m *machine, rows [][]sqltype.Value) ([]*partition, error) {
	var parts []*partition
	at := map[string]*partition{}
	var key []byte
	for i, row := range rows {
		if err := m.tick(); err != nil {
			return nil, err
		}
		by, err := all(m, w.partition, row)
		if err != nil {
			return nil, err
		}
		key = key[:0]
		for j, v := range by {
			key = appendKey(key, v, w.padded[j])
		}
		p := at[string(key)]
		if p == nil {
			p = &partition{windowCall: w, m: m}
			at[string(key)], parts = p, append(parts, p)
		}
		order, err := all(m, w.order, row)
		if err != nil {
			return nil, err
		}
		p.rows = append(p.rows, &windowRow{row: row, place: i, order: order})
	}
	for _, p := range parts {
		slices.SortStableFunc(p.rows, func(a, b *windowRow) int { return compareRows(a.order, b.order, w.keys) })
		p.peers = make([]int, len(p.rows))
		for i := range p.rows {
			if i == 0 || compareRows(p.rows[i-1].order, p.rows[i].order, w.keys) != 0 {
				p.starts = append(p.starts, i)
			}
			p.peers[i] = len(p.starts) - 1
		}
		p.starts = append(p.starts, len(p.rows))
		if err := m.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// arg is an argument of the call at a row.
func (p *partition) arg(n, row int) (sqltype.Value, error) { return p.args[n](p.m, p.rows[row].row) }

// accumulate computes an aggregate over each row's frame: while frames only grow, each row is taken in once.
func (p *partition) accumulate(made func() accumulator) ([]sqltype.Value, error) {
	frames, err := p.frame.of(p)
	if err != nil {
		return nil, err
	}
	out := make([]sqltype.Value, len(p.rows))
	acc, have := made(), bounds{}
	known := false
	for i, f := range frames {
		if err := p.m.tick(); err != nil {
			return nil, err
		}
		parts := p.frame.without(p, i, f)
		whole := len(parts) == 1 && parts[0] == f
		if known && whole && f == have {
			out[i] = out[i-1]
			continue
		}
		if !known || !whole || f.lo != have.lo || f.hi < have.hi {
			acc, have = made(), bounds{f.lo, f.lo}
		}
		if whole {
			parts = []bounds{{have.hi, f.hi}}
		}
		for _, b := range parts {
			if err := p.take(acc, b); err != nil {
				return nil, err
			}
		}
		if out[i], err = acc.result(p.m); err != nil {
			return nil, err
		}
		known, have = whole, f
	}
	return out, nil
}

// take gives an aggregate some rows.
func (p *partition) take(acc accumulator, b bounds) error {
	for i := b.lo; i < b.hi; i++ {
		if err := p.m.tick(); err != nil {
			return err
		}
		if p.filter != nil {
			v, err := p.filter(p.m, p.rows[i].row)
			if err != nil {
				return err
			}
			if v != true {
				continue
			}
		}
		args, err := all(p.m, p.args, p.rows[i].row)
		if err != nil {
			return err
		}
		if err := acc.add(p.m, args); err != nil {
			return err
		}
	}
	return nil
}

func windowing(it *plan.WindowItem, format string, args ...any) error {
	return sqlerr.New(sqlerr.Windowing, format, args...).At(it.Pos)
}
