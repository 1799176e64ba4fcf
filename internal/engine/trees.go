package engine

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
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

// apart prints the statement of a measure that is read apart.
func apart(a *sensitivity.Analysis, d dialect.Dialect, i int, kept sqlgen.Kept, seed int64) (*sqlgen.Statement, error) {
	if a.Measures[i].IsTree() {
		return sqlgen.TreeLeaves(a, d, i, kept, seed)
	}
	return sqlgen.Distinct(a, d, i, kept, seed)
}

// hasNoTotals: the groups are public, and nothing is measured or chosen by their totals.
func hasNoTotals(a *sensitivity.Analysis) bool {
	return a.Groups.Public && len(a.Choices) == 0 && !slices.ContainsFunc(a.Measures, func(m sensitivity.Measure) bool { return !m.NeedsOwnScan() })
}

// mostNodes bounds what is looked at for order statistics and the most frequent values: each group's leaves, or candidates as often as one of them is picked.
const mostNodes = 1 << 24

// fewNodes refuses, before it is charged, what would take minutes to read.
func fewNodes(a *sensitivity.Analysis) error {
	nodes := uint64(0)
	for _, m := range a.Measures {
		switch {
		case m.Tree != nil:
			nodes += uint64(max(m.Tree.Count, 0)) //nolint:gosec // not negative
		case m.Pick != nil:
			nodes += uint64(len(m.Pick.Values)) * m.Pick.Most
		}
	}
	if groups := max(a.Groups.Count, 1); nodes > mostNodes/groups {
		return sqlerr.New(sqlerr.TooManyGroups, "the statement looks for quantiles or most frequent values among %d values in each of %d groups; that is too much", nodes, groups).At(a.Agg.Pos).
			WithHint("Ask for fewer groups, or count by ranges of the value (CASE).")
	}
	return nil
}
