package eval

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// aggCall is one compiled aggregate call.
type aggCall struct {
	args     []scalar // of an ordered-set aggregate what it is told
	filter   scalar   // nil for none
	order    []scalar
	keys     []sortKey // over args, then order: what its rows are sorted by before they are taken in; nil for not at all
	distinct []bool    // of each argument, whether it is padded; nil for all rows
	new      func() accumulator
	within   orderedSet // nil for a plain aggregate
}

// group is what a group of rows has come to.
type group struct {
	first []sqltype.Value // a row of it, with NULL for keys that its grouping set has not
	accs  []accumulator
	rows  [][][]sqltype.Value // of the calls that sort: arguments and order, one a row
}

// noInterval refuses dp_error, dp_low and dp_high of an aggregate that is computed here.
func noInterval(n *plan.Aggregate) error {
	of := n.Errors[0]
	asked := string(of.Kind)
	if of.Beside != (plan.Beside{}) { // a part of the interval of an expression
		asked = "dp_error, dp_low or dp_high"
	}
	hint := fmt.Sprintf("No interval of it is known. Run the inner query alone, with %s of its aggregate: that is known for each of its rows.", asked)
	isTotal := func(g plan.AggItem) bool { return g.Fn == plan.Sum || g.Fn == plan.Avg }
	switch at := slices.IndexFunc(n.Aggs, func(g plan.AggItem) bool { return g.ID == of.Of }); {
	case of.Beside != plan.Beside{}:
		if !slices.ContainsFunc(n.Aggs, func(g plan.AggItem) bool { return !isTotal(g) }) {
			hint = "Write each aggregate as a window, which is known, as in dp_low(sum(x) OVER () / sum(y) OVER ())."
		}
	case at >= 0 && isTotal(n.Aggs[at]):
		hint = fmt.Sprintf("Ask for %s(%s(x) OVER ()), which is known, or for the total in a query of its own.", asked, n.Aggs[at].Fn)
	}
	return unsupported("%s is of an aggregate over private rows, and this one is over released values or public rows", asked).At(n.Pos).WithHint("%s", hint)
}

func (c *compiler) aggregate(n *plan.Aggregate) (step, error) {
	if len(n.Errors) > 0 {
		return step{}, noInterval(n)
	}
	in, err := c.rel(n.Input)
	if err != nil {
		return step{}, err
	}
	s := scopeOf(in.cols)
	calls := make([]*aggCall, len(n.Aggs))
	for i := range n.Aggs {
		if calls[i], err = c.aggCall(&n.Aggs[i], s); err != nil {
			return step{}, err
		}
	}
	sets := n.Sets
	if sets == nil {
		sets = [][]plan.ColID{n.Keys}
	}
	groupings := make([]*grouping, len(sets))
	for i, set := range sets {
		if groupings[i], err = c.grouping(n, set, in.cols); err != nil {
			return step{}, err
		}
	}
	return step{cols: n.Cols(), rows: func(m *machine) ([][]sqltype.Value, error) {
		read := in.all
		if in.each == nil { // once for all grouping sets
			rows, err := in.rows(m)
			if err != nil {
				return nil, err
			}
			read = step{rows: func(*machine) ([][]sqltype.Value, error) { return rows, nil }}.all
		}
		var out [][]sqltype.Value
		for _, g := range groupings {
			groups, err := g.groups(m, read, calls)
			if err != nil {
				return nil, err
			}
			for _, of := range groups {
				row, err := g.row(m, of, calls)
				if err != nil {
					return nil, err
				}
				out = append(out, row)
			}
		}
		return out, nil
	}}, nil
}

// grouping is one grouping set.
type grouping struct {
	width  int
	key    func([]sqltype.Value) string
	all    bool  // without keys: one group, even of no rows
	keys   []int // places of the aggregate's keys
	masked []int // places of the keys that the set has not
	bits   []sqltype.Value
}

func (c *compiler) grouping(n *plan.Aggregate, set, cols []plan.ColID) (*grouping, error) {
	key, err := c.keyOf(cols, set)
	if err != nil {
		return nil, err
	}
	s := scopeOf(cols)
	g := &grouping{width: len(cols), key: key, all: len(set) == 0}
	for _, id := range n.Keys {
		place, ok := s[id]
		if !ok {
			return nil, noColumn()
		}
		g.keys = append(g.keys, place)
		if !slices.Contains(set, id) {
			g.masked = append(g.masked, place)
		}
	}
	for _, it := range n.Groupings {
		bits := int64(0)
		for _, id := range it.Cols {
			bits <<= 1
			if !slices.Contains(set, id) {
				bits |= 1
			}
		}
		g.bits = append(g.bits, bits)
	}
	return g, nil
}

func (g *grouping) open(first []sqltype.Value, calls []*aggCall) *group {
	of := &group{first: slices.Clone(first), accs: make([]accumulator, len(calls)), rows: make([][][]sqltype.Value, len(calls))}
	for _, p := range g.masked {
		of.first[p] = nil
	}
	for i, call := range calls {
		of.accs[i] = call.new()
	}
	return of
}

// groups takes all rows in, group by group in the order of their first rows.
func (g *grouping) groups(m *machine, read each, calls []*aggCall) ([]*group, error) {
	var out []*group
	if g.all {
		out = append(out, g.open(make([]sqltype.Value, g.width), calls))
	}
	at := map[string]*group{}
	err := read(m, func(row []sqltype.Value) error {
		var of *group
		if g.all {
			of = out[0]
		} else {
			k := g.key(row)
			if of = at[k]; of == nil {
				of = g.open(row, calls)
				at[k], out = of, append(out, of)
				if err := m.keepGroup(of, k); err != nil {
					return err
				}
			}
		}
		for i, call := range calls {
			if err := call.take(m, of, i, row); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// keepGroup counts what a group holds of rows that come one by one: itself and its accumulators.
func (m *machine) keepGroup(of *group, key string) error {
	m.held += len(key) + accumulatorBytes*len(of.accs)
	return m.keep(of.first)
}

// accumulatorBytes is about what one takes: decimals, a few integers.
const accumulatorBytes = 160

// row is a group's: keys, aggregates, GROUPING.
func (g *grouping) row(m *machine, of *group, calls []*aggCall) ([]sqltype.Value, error) {
	out := make([]sqltype.Value, 0, len(g.keys)+len(calls)+len(g.bits))
	for _, p := range g.keys {
		out = append(out, of.first[p])
	}
	for i, call := range calls {
		v, err := call.finish(m, of, i)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return append(out, g.bits...), nil
}

func (c *compiler) aggCall(it *plan.AggItem, s scope) (*aggCall, error) {
	var list []plan.Scalar
	if it.Arg != nil {
		list = append([]plan.Scalar{it.Arg}, it.More...)
	}
	call := &aggCall{}
	var err error
	if call.args, err = c.scalars(list, s); err != nil {
		return nil, err
	}
	if it.Filter != nil {
		if call.filter, err = c.scalar(it.Filter, s); err != nil {
			return nil, err
		}
	}
	for i, k := range it.Order {
		f, err := c.scalar(k.Expr, s)
		if err != nil {
			return nil, err
		}
		call.order = append(call.order, f)
		call.keys = append(call.keys, sortKey{place: len(list) + i, desc: k.Desc, nullsFirst: k.NullsFirst, typ: k.Expr.Type()})
	}
	if it.Within {
		call.new = func() accumulator { return nil }
		call.within = orderedSetOf(it)
		if call.within == nil {
			return nil, noAggregate(it.Fn, it.Pos)
		}
		for i := range call.keys {
			call.keys[i].place = i
		}
		return call, nil
	}
	types := typesOfAll(list)
	if call.new = accumulatorOf(it.Fn, types, it.Type); call.new == nil {
		return nil, noAggregate(it.Fn, it.Pos)
	}
	if it.Distinct { // sorted by the rest of the arguments too, then equal neighbours are one
		call.distinct = make([]bool, len(list))
		for i, t := range types {
			call.distinct[i] = t.OID == sqltype.OIDBPChar
			call.keys = append(call.keys, sortKey{place: i, typ: t})
		}
	}
	return call, nil
}

func noAggregate(fn plan.AggFunc, pos int) error {
	return unsupported("aggregate %s cannot be computed over released values", fn).At(pos)
}

// take gives a call a row of a group.
func (a *aggCall) take(m *machine, of *group, i int, row []sqltype.Value) error {
	if a.filter != nil {
		if v, err := a.filter(m, row); err != nil || v != true {
			return err
		}
	}
	if a.within != nil {
		vals, err := all(m, a.order, row)
		if err == nil && vals[0] != nil { // ordered sets are of values
			of.rows[i] = append(of.rows[i], vals)
			err = m.sortLater(vals)
		}
		return err
	}
	args, err := all(m, a.args, row)
	if err != nil {
		return err
	}
	if a.keys == nil {
		return of.accs[i].add(m, args)
	}
	by, err := all(m, a.order, row)
	if err != nil {
		return err
	}
	args = append(args, by...)
	of.rows[i] = append(of.rows[i], args)
	return m.sortLater(args)
}

// sortLater counts what a call holds of a row until its group is whole.
func (m *machine) sortLater(row []sqltype.Value) error {
	if m.limits.Held > 0 {
		return m.keep(row)
	}
	return m.gather(len(row))
}

// finish gives a call's value in a group.
func (a *aggCall) finish(m *machine, of *group, i int) (sqltype.Value, error) {
	rows, err := sortRows(m, of.rows[i], a.keys)
	if err != nil {
		return nil, err
	}
	if a.within != nil {
		direct, err := all(m, a.args, of.first)
		if err != nil {
			return nil, err
		}
		return a.within(direct, rows)
	}
	var last, key []byte
	for k, row := range rows {
		if a.distinct != nil {
			key = key[:0]
			for j, padded := range a.distinct {
				key = appendKey(key, row[j], padded)
			}
			if k > 0 && string(key) == string(last) {
				continue
			}
			last = append(last[:0], key...)
		}
		if err := of.accs[i].add(m, row[:len(a.args)]); err != nil {
			return nil, err
		}
	}
	return of.accs[i].result(m)
}
