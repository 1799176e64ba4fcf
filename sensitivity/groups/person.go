package groups

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// RefusePerUnitGroups refuses an answer with a row for each person: the groups are not public, and their keys are the unit or determine it (IsUnit, IsUnitDeterminedByKeys). Noise hides
// groups of one person, so none of use would be left; the shape is that of rows of private tables.
func (z *Grouper) RefusePerUnitGroups() error {
	a := z.Out
	if a.Groups.Public || len(a.Agg.Keys) == 0 {
		return nil
	}
	eq := z.ClassesOf(z.Blocks[0])
	one := func(keys ...plan.ColID) bool {
		for _, id := range keys {
			if z.IsUnit(eq, id) {
				return true
			}
		}
		return z.IsUnitDeterminedByKeys(keys, eq, &plan.Table{})
	}
	if !one(a.Agg.Keys...) {
		return nil
	}
	var alone, all []string
	for _, id := range a.Agg.Keys {
		name := z.Named(id)
		if all = append(all, name); one(id) {
			alone = append(alone, name)
		}
	}
	if len(alone) == 0 {
		alone = all
	}
	names := strings.Join(alone, ", ")
	return sqlerr.New(sqlerr.RawRows, "each group is of one person: an answer by %s would show persons", names).At(a.Agg.Pos).
		WithHint("Leave %s out of GROUP BY; or aggregate once more: SELECT count(*), avg(n) FROM (SELECT %s, count(*) AS n FROM %s GROUP BY %s) AS t", names, names, z.FromText(), names)
}
