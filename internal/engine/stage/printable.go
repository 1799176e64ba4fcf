package stage

import (
	"context"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// Apart prints the statement of a measure that is read apart.
func Apart(a *sensitivity.Analysis, d dialect.Dialect, i int, kept sqlgen.Kept, seed int64) (*sqlgen.Statement, error) {
	if a.Measures[i].IsTree() {
		return sqlgen.TreeLeaves(a, d, i, kept, seed)
	}
	return sqlgen.Distinct(a, d, i, kept, seed)
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

// printable refuses what could not be printed, and says what the total forms leave out. It ends where the context has, after whichever statement it prints.
func printable(ctx context.Context, s *session.Session, a *sensitivity.Analysis) (gaps []sqlgen.Gap, err error) {
	if err := fewNodes(a); err != nil {
		return nil, err
	}
	if a.Groups.Public && a.Groups.Count > uint64(s.World.Policy.Limits.ReleaseGroups) {
		return nil, sqlerr.New(sqlerr.TooManyGroups, "the statement has %d groups; one answer has at most %d", a.Groups.Count, s.World.Policy.Limits.ReleaseGroups).
			WithHint("Ask for fewer groups, or ask the owner to raise limits.release_groups.")
	}
	if err := storable(s, a); err != nil {
		return nil, err
	}
	if !isCharged(a) { // nothing of it is read
		return nil, nil
	}
	print := func(st *sqlgen.Statement, err error) error {
		if err == nil {
			gaps, err = merged(gaps, st.Gaps), ctx.Err()
		}
		return err
	}
	if err := print(sqlgen.Private(a, s.Engine.Dialect, 0)); err != nil {
		return nil, err
	}
	if a.IsSmoothed() {
		if err := print(sqlgen.Frequencies(a, s.Engine.Dialect, 0)); err != nil {
			return nil, err
		}
	}
	for i, m := range a.Measures {
		if !m.NeedsOwnScan() {
			continue
		}
		if err := print(Apart(a, s.Engine.Dialect, i, sqlgen.Kept{Rows: m.PerGroup, Groups: a.Limit.PerUnit}, 0)); err != nil {
			return nil, err
		}
	}
	clips := make([]uint64, len(a.Choices))
	for i, c := range a.Choices {
		clips[i] = c.Edges[len(c.Edges)-1]
	}
	if a.CanAnyBeClipped() {
		units := make([]uint64, len(a.Measures))
		for i := range units {
			if a.CanBeClipped(i) {
				units[i] = 1
			}
		}
		if err := print(sqlgen.Lost(a, s.Engine.Dialect, sqlgen.LostBounds{Edges: clips, Units: units}, 0)); err != nil {
			return nil, err
		}
	}
	if a.Limit.Norm == 0 {
		return gaps, nil
	}
	return gaps, print(sqlgen.Scaled(a, s.Engine.Dialect, clips))
}

// storable refuses a release of public groups that would be too large to be stored. Of groups that are chosen nobody knows before they are.
func storable(s *session.Session, a *sensitivity.Analysis) error {
	if !a.Groups.Public || len(a.Measures) == 0 {
		return nil
	}
	limits := &s.World.Policy.Limits
	bytes, spooled := release.PublicBytes(a, uint64(limits.SpoolGroups)) //nolint:gosec // not negative
	large := func(most int64) *sqlerr.Error {
		return sqlerr.New(sqlerr.TooManyGroups, "the statement's %d groups may take %d bytes as they are stored; at most %d are", a.Groups.Count, bytes, most)
	}
	switch {
	case bytes > uint64(limits.ReleaseBytes): //nolint:gosec // not negative
		return large(limits.ReleaseBytes).WithHint("Ask for fewer groups, or for fewer aggregates in one statement, or ask the owner to raise limits.release_bytes.")
	case bytes > ledger.MaxRelease && !spooled:
		return large(ledger.MaxRelease).WithHint("Ask for fewer groups, or for fewer medians and the like in one statement.")
	}
	return nil
}

// printableWays leaves out what could not be printed, and gives the text of what is left: what has the same is one release, whichever is taken.
func printableWays(ctx context.Context, s *session.Session, st *Stage) (text string, err error) {
	for _, one := range []*boundingMethod{&st.Ways.truncate, &st.Ways.elastic} {
		if one.an == nil {
			continue
		}
		gaps, err := printable(ctx, s, one.an)
		if ended := ctx.Err(); ended != nil {
			return "", ended
		}
		if err != nil {
			*one = boundingMethod{no: message(err)}
			continue
		}
		st.gaps = merged(st.gaps, gaps)
		text += reuse.Canonical(one.an) + "\n"
	}
	return text, nil
}
