package engine

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/secret"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// readTrees reads the leaves of each tree in the snapshot of the totals, a scan each.
func (r *run) readTrees(ctx context.Context, tx backend.Tx, an *sensitivity.Analysis, a *asked) error {
	for i, m := range an.Measures {
		if m.Tree == nil {
			continue
		}
		st, err := sqlgen.TreeLeaves(an, r.session.engine.dialect, i, a.maker.Kept(i), a.seed())
		if err != nil {
			return err
		}
		if err := query(ctx, tx, st, a.args, func(rows secret.Rows) error { return a.maker.ReadTree(i, st.Columns, rows) }); err != nil {
			return err
		}
	}
	return nil
}

// checkTrees refuses trees that cannot be printed.
func (s *Session) checkTrees(a *sensitivity.Analysis) error {
	for i, m := range a.Measures {
		if m.Tree == nil {
			continue
		}
		if _, err := sqlgen.TreeLeaves(a, s.engine.dialect, i, sqlgen.Kept{Rows: m.PerGroup, Groups: a.Limit.PerUnit}, 0); err != nil {
			return err
		}
	}
	return nil
}

// noTotals: the groups are public, and nothing is measured or chosen by their totals.
func noTotals(a *sensitivity.Analysis) bool {
	return a.Groups.Public && len(a.Choices) == 0 && !slices.ContainsFunc(a.Measures, func(m sensitivity.Measure) bool { return m.Tree == nil })
}
