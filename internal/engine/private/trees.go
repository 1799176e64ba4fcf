package private

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/sensitivity"
)

// readApart reads what a statement of its own tells of each measure that is read apart, in the snapshot of the totals: a scan each.
func (r *Run) readApart(ctx context.Context, tx backend.Tx, an *sensitivity.Analysis, a *StageRun) error {
	for i, m := range an.Measures {
		if !m.NeedsOwnScan() {
			continue
		}
		read := a.Releaser.ReadDistinct
		if m.IsTree() {
			read = a.Releaser.ReadTree
		}
		st, err := stage.Apart(an, r.Session.Engine.Dialect, i, a.Releaser.Kept(i), a.seed())
		if err != nil {
			return err
		}
		if err := server.Query(ctx, tx, st, a.Args, func(rows secret.Rows) error { return read(ctx, i, st.Columns, rows) }); err != nil {
			return err
		}
	}
	return nil
}

// hasNoTotals: the groups are public, and nothing is measured or chosen by their totals.
func hasNoTotals(a *sensitivity.Analysis) bool {
	return a.Groups.Public && len(a.Choices) == 0 && !slices.ContainsFunc(a.Measures, func(m sensitivity.Measure) bool { return !m.NeedsOwnScan() })
}
