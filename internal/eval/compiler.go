package eval

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// step is a compiled relational node.
type step struct {
	cols []plan.ColID
	rows func(*machine) ([][]sqltype.Value, error)
	each each // nil: they are all there at once
}

// each gives rows one by one; nil in a step whose rows are all there at once. A row holds for good.
type each func(m *machine, yield func(row []sqltype.Value) error) error

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
	node  func(*compiler, plan.Rel) (step, error) // compileNode: nodes are compiled in files above this one
	noisy Noisy

	around []*frame // the rows around what is compiled, innermost last
	slots  int      // in machine.outer
	kept   int      // in machine.once

	indexes int // in machine.indexes

	working map[*plan.Working]int // in machine.working
}

// frame is a row around a subquery or a LATERAL side. What is read of it stands in the machine's slots.
type frame struct {
	cols  scope
	slots map[plan.ColID]int
}

// enter opens a frame for what is compiled until leave.
func (c *compiler) enter(cols scope) *frame {
	f := &frame{cols: cols, slots: map[plan.ColID]int{}}
	c.around = append(c.around, f)
	return f
}

func (c *compiler) leave() { c.around = c.around[:len(c.around)-1] }

// enter puts a row's values where what was compiled in the frame reads them.
func (f *frame) enter(m *machine, row []sqltype.Value) {
	for id, slot := range f.slots {
		m.outer[slot] = row[f.cols[id]]
	}
}

// scalar is a compiled expression: a function of a row.
type scalar func(m *machine, row []sqltype.Value) (sqltype.Value, error)

// rel compiles a node, unless its rows are given.
func (c *compiler) rel(n plan.Rel) (step, error) {
	if s, ok := c.leaf(n); ok {
		return s, nil
	}
	return c.node(c, n)
}

func (c *compiler) machine(ctx context.Context, args []sqltype.Value) *machine {
	return &machine{ctx: ctx, args: args, outer: make([]sqltype.Value, c.slots), once: make([]*stored, c.kept), indexes: make([]*indexed, c.indexes)}
}

// keyOf gives a row's key over some of its columns: equal exactly where they are not distinct.
func (c *compiler) keyOf(cols, on []plan.ColID) (func(row []sqltype.Value) string, error) {
	s := scopeOf(cols)
	places := make([]int, len(on))
	for i, id := range on {
		var ok bool
		if places[i], ok = s[id]; !ok {
			return nil, noColumn()
		}
	}
	padded := c.padded(on)
	var key []byte
	return func(row []sqltype.Value) string {
		key = key[:0]
		for i, p := range places {
			key = appendKey(key, row[p], padded[i])
		}
		return string(key)
	}, nil
}

func noColumn() error {
	return sqlerr.New(sqlerr.Internal, "an expression uses a column that its input does not have")
}

// padded tells the columns of type char(n), whose trailing blanks mean nothing.
func (c *compiler) padded(cols []plan.ColID) []bool {
	out := make([]bool, len(cols))
	for i, id := range cols {
		out[i] = c.types(id).OID == sqltype.OIDBPChar
	}
	return out
}

func (c *compiler) sortKeys(list []plan.SortKey, cols []plan.ColID) ([]sortKey, error) {
	s := scopeOf(cols)
	keys := make([]sortKey, len(list))
	for i, k := range list {
		place, ok := s[k.Col]
		if !ok {
			return nil, sqlerr.New(sqlerr.Internal, "a sort key is no column of its input")
		}
		keys[i] = sortKey{place: place, desc: k.Desc, nullsFirst: k.NullsFirst, typ: c.types(k.Col)}
	}
	return keys, nil
}

func unsupported(format string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.Unsupported, format, args...)
}

func typesOf(q *plan.Query) func(plan.ColID) sqltype.Type {
	return func(id plan.ColID) sqltype.Type {
		if q == nil || id < 0 || int(id) >= len(q.Columns) {
			return sqltype.Unknown
		}
		return q.Columns[id].Type
	}
}

func typesOfAll(list []plan.Scalar) []sqltype.Type {
	out := make([]sqltype.Type, len(list))
	for i, x := range list {
		out[i] = x.Type()
	}
	return out
}
