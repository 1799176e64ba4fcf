package release

import (
	"math/big"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// CanLook says whether a watch may look at what an analysis measures: one count of rows of one unit each, in one group, under a bound that the policy or the session fixes. perUnit is by how many rows one unit raises it.
func CanLook(a *sensitivity.Analysis) (perUnit uint64, ok bool) {
	if a.Body == nil || a.Body.UnitCol == 0 || a.Joined != nil || a.Pairs != nil || len(a.Keys) > 0 || !a.Groups.Public || a.HasNoGroups() || a.Limit.PerUnit != 1 || a.Limit.Norm != sensitivity.NoNorm || len(a.Choices) > 0 ||
		len(a.Multiplicities) > 0 || a.People >= 0 || len(a.Measures) != 1 || len(a.Formulas) != 1 || a.Formulas[0].Kind != sensitivity.IsCount || a.Formulas[0].Count != 0 {
		return 0, false
	}
	m := &a.Measures[0]
	return m.PerGroup, m.Bound == nil && m.Lo >= 0 && m.Subdivision <= 1 && !m.NeedsOwnScan()
}

// Look takes a watch's look at the row of the printed statement.
//
// Proof: claim: what is returned is the outcome of the watch's event on a count that one unit more raises by 0 to PerUnit rows. (1) The analysis is one that CanLook takes: its only measure is a sum over units of a partial in [0, PerGroup], from a statement that
// sqlgen.Private prints with that clamp, (1) to (6) there. (2) PerGroup is at most the event's PerUnit. (3) The total goes to the watch and nowhere else. (4) A row that does not fit is a failure that tells nothing.
func Look(a *sensitivity.Analysis, cols []sqlgen.Column, rows secret.Rows, w *noise.Watch) (alert bool, err error) {
	if most, ok := CanLook(a); !ok || most > w.Event().PerUnit { // (1), (2)
		return false, errShape
	}
	total := new(big.Int)
	for n := 0; rows.Next(); n++ {
		row, err := open(a, cols, rows.Row())
		if err != nil || n > 0 { // (4)
			return false, first(err, errShape)
		}
		if row.values[0] != nil {
			total = row.values[0]
		}
	}
	if err := rows.Err(); err != nil {
		return false, err
	}
	if !total.IsInt64() {
		return false, errShape
	}
	return w.Look(total.Int64()) // (3)
}
