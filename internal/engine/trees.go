package engine

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/sensitivity"
)

// readApart reads what a statement of its own tells of each measure that is read apart, in the snapshot of the totals: a scan each.
func (r *run) readApart(ctx context.Context, tx backend.Tx, an *sensitivity.Analysis, a *stageRun) error {
	for i, m := range an.Measures {
		if !m.NeedsOwnScan() {
			continue
		}
		read := a.releaser.ReadDistinct
		if m.IsTree() {
			read = a.releaser.ReadTree
		}
		st, err := apart(an, r.session.engine.dialect, i, a.releaser.Kept(i), a.seed())
		if err != nil {
			return err
		}
		if err := query(ctx, tx, st, a.args, func(rows secret.Rows) error { return read(ctx, i, st.Columns, rows) }); err != nil {
			return err
		}
	}
	return nil
}

// hasNoTotals: the groups are public, and nothing is measured or chosen by their totals.
func hasNoTotals(a *sensitivity.Analysis) bool {
	return a.Groups.Public && len(a.Choices) == 0 && !slices.ContainsFunc(a.Measures, func(m sensitivity.Measure) bool { return !m.NeedsOwnScan() })
}
