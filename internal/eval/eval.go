package eval

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Run evaluates root. leaf gives the rows of the nodes that are not computed here (the Aggregate that was released, tables in
// memory); it is asked for every node, parents first. args are $1 ...; errors are PostgreSQL's own, as *sqlerr.Error, or the
// context's.
func Run(ctx context.Context, root plan.Rel, leaf func(plan.Rel) (*Relation, bool), q *plan.Query, args []sqltype.Value) (*Relation, error) {
	return RunWithin(ctx, Limits{}, Noisy{}, root, leaf, q, args)
}

// RunWithin is Run over leaves that may be read row by row, and that may be noisy. Where the rows of root come one by one too, they are computed as they are read.
func RunWithin(ctx context.Context, l Limits, noisy Noisy, root plan.Rel, leaf func(plan.Rel) (*Relation, bool), q *plan.Query, args []sqltype.Value) (*Relation, error) {
	c := newCompiler(q, func(n plan.Rel) (step, bool) {
		r, ok := leaf(n)
		if !ok {
			return step{}, false
		}
		return leafStep(r), true
	})
	c.noisy = noisy
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
	c := newCompiler(q, func(n plan.Rel) (step, bool) {
		if !leaf(n) {
			return step{}, false
		}
		return step{cols: n.Cols()}, true
	})
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

// bare compiles expressions alone.
func bare() *compiler {
	return newCompiler(nil, func(plan.Rel) (step, bool) { return step{}, false })
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
