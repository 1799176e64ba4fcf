package pgmeta

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Run answers a statement that was bound with this session as its plan.Meta. other gives the rows of tables that are not PostgreSQL's.
func (s *Session) Run(ctx context.Context, q *plan.Query, args []sqltype.Value, other func(*plan.Table) ([][]sqltype.Value, error)) ([][]sqltype.Value, error) {
	s.ctx = ctx
	given := make([]sqltype.Value, len(args))
	for i, v := range args {
		given[i] = v
		if name, ok := v.(string); ok && q.Params[i].IsReg() {
			var err error
			if given[i], err = s.lookUp(q.Params[i], name); err != nil {
				return nil, err
			}
		}
	}
	root, err := optimized(q.Root)
	if err != nil {
		return nil, err
	}
	read, narrow := used(q, root), s.lookUps(root, given)
	var failed error
	leaf := func(n plan.Rel) (*eval.Relation, bool) {
		sc, ok := n.(*plan.Scan)
		if !ok || failed != nil {
			return nil, false
		}
		if s.Is(sc.Table) {
			rows, few := narrow[sc]
			if !few {
				rows = s.Rows(sc.Table)
			}
			cols, rows := narrowed(sc.Columns, rows, read)
			return &eval.Relation{Cols: cols, Rows: rows}, true
		}
		rows, err := other(sc.Table)
		if failed = err; err != nil {
			return nil, false
		}
		return &eval.Relation{Cols: sc.Columns, Rows: rows}, true
	}
	rel, err := eval.Run(ctx, root, leaf, q, given)
	if failed != nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	at := map[plan.ColID]int{}
	for i, c := range rel.Cols {
		at[c] = i
	}
	out := make([][]sqltype.Value, len(rel.Rows))
	for i, row := range rel.Rows {
		out[i] = make([]sqltype.Value, len(q.Outputs))
		for k, o := range q.Outputs {
			place, ok := at[o.Col]
			if !ok {
				return nil, sqlerr.New(sqlerr.Internal, "an output is no column of the answer")
			}
			out[i][k] = s.Shown(row[place], o.Type)
		}
	}
	return out, nil
}
