package eval

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Relation is rows, one value a column, in the order of Cols: in memory, or where Each is set as it gives them, again each time that it is called.
type Relation struct {
	Cols []plan.ColID
	Rows [][]sqltype.Value
	Each func(yield func(row []sqltype.Value) error) error
}

// Run evaluates root. leaf gives the rows of the nodes that are not computed here (the Aggregate that was released, tables in
// memory); it is asked for every node, parents first. args are $1 ...; errors are PostgreSQL's own, as *sqlerr.Error, or the
// context's.
func Run(ctx context.Context, root plan.Rel, leaf func(plan.Rel) (*Relation, bool), q *plan.Query, args []sqltype.Value) (*Relation, error) {
	return RunWithin(ctx, Limits{}, Noisy{}, root, leaf, q, args)
}

// RunWithin is Run over leaves that may be read row by row, and that may be noisy. Where the rows of root come one by one too, they are computed as they are read.
func RunWithin(ctx context.Context, l Limits, noisy Noisy, root plan.Rel, leaf func(plan.Rel) (*Relation, bool), q *plan.Query, args []sqltype.Value) (*Relation, error) {
	c := &compiler{types: typesOf(q), noisy: noisy, leaf: func(n plan.Rel) (step, bool) {
		r, ok := leaf(n)
		if !ok {
			return step{}, false
		}
		return leafStep(r), true
	}}
	s, err := c.rel(root)
	if err != nil {
		return nil, err
	}
	start := func() *machine {
		m := c.machine(ctx, args)
		m.limits = l
		return m
	}
	if s.each != nil {
		return &Relation{Cols: s.cols, Each: func(yield func([]sqltype.Value) error) error { return s.each(start(), yield) }}, nil
	}
	rows, err := s.rows(start())
	if err != nil {
		return nil, err
	}
	return &Relation{Cols: s.cols, Rows: rows}, nil
}

// Check says whether Run will be able to evaluate root, so that nothing is charged for a statement that cannot be finished.
// leaf tells the nodes whose rows will be given.
func Check(root plan.Rel, leaf func(plan.Rel) bool, q *plan.Query) error {
	c := &compiler{types: typesOf(q), leaf: func(n plan.Rel) (step, bool) {
		if !leaf(n) {
			return step{}, false
		}
		return step{cols: n.Cols()}, true
	}}
	_, err := c.rel(root)
	return err
}

// ScalarValue evaluates an expression without columns, such as a LIMIT.
func ScalarValue(x plan.Scalar, args []sqltype.Value) (sqltype.Value, error) {
	c := bare()
	f, err := c.scalar(x, nil)
	if err != nil {
		return nil, err
	}
	return f(c.machine(context.Background(), args), nil)
}

func typesOf(q *plan.Query) func(plan.ColID) sqltype.Type {
	return func(id plan.ColID) sqltype.Type {
		if q == nil || id < 0 || int(id) >= len(q.Columns) {
			return sqltype.Unknown
		}
		return q.Columns[id].Type
	}
}

// bare compiles expressions alone.
func bare() *compiler {
	return &compiler{types: typesOf(nil), leaf: func(plan.Rel) (step, bool) { return step{}, false }}
}

// machine is one run.
type machine struct {
	ctx   context.Context
	args  []sqltype.Value
	outer []sqltype.Value // values of the rows around a subquery or a LATERAL side, by slot
	once  []*stored       // what subqueries gave that read no row around
	count int
	made  int64

	gathered int64 // by aggregates

	long int // bytes of long values
	went int // bytes that functions went through since the last look at the context

	indexes []*indexed
	working [][][]sqltype.Value // of recursive queries

	limits Limits
	held   int // bytes of rows that came one by one
}

func (c *compiler) machine(ctx context.Context, args []sqltype.Value) *machine {
	return &machine{ctx: ctx, args: args, outer: make([]sqltype.Value, c.slots), once: make([]*stored, c.kept), indexes: make([]*indexed, c.indexes)}
}

func unsupported(format string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.Unsupported, format, args...)
}

// Compile prepares an expression over columns for many rows; it has no parameters.
func Compile(x plan.Scalar, cols []plan.ColID) (func(row []sqltype.Value) (sqltype.Value, error), error) {
	c := bare()
	f, err := c.scalar(x, scopeOf(cols))
	if err != nil {
		return nil, err
	}
	m := c.machine(context.Background(), nil)
	return func(row []sqltype.Value) (sqltype.Value, error) { return f(m, row) }, nil
}
