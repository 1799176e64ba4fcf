package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/sensitivity"
)

// Private prints the first statement of an analysis. What it returns is told by the roles of its columns: with fixed bounds the group totals themselves, by outer totals over one
// subquery grouped by (unit, keys), or over the rows where keys say that a unit has one; with automatic bounds buckets of partials, from which choice and totals are read (histogram); with Limit.Norm the
// numbers of units by norm alone, and the totals are Scaled's, once norms are chosen (norms). seed varies which groups of a unit the cap keeps; it is public. The proof below is of
// fixed bounds, and of the level of (unit, group) rows in all three.
//
// Proof: claim: for the totals that come back, one unit changes at most Limit.PerUnit groups, each measure by at most PerGroup.
// (1) Rows whose unit is NULL are dropped first. (2) The inner level has one row for each (unit, group), and its partials are
// clamped (partial, (1)); or (2') keys of the database say that a unit has one row (sensitivity, (6')), there is no inner level,
// and that row's integer is clamped: to its range where the values lie on the grid, after rounding where they do not (row,
// rounded). (3) With Limit.Capped at most PerUnit rows of a unit are kept, in an order of the unit's own keys:
// hash of unit, keys and seed, then the keys themselves; so which are kept depends on that unit's rows alone. (4) Keys are
// canonical before they group. (5) Where domains bound the groups, rows outside them are dropped (domainFilters). (6) Totals of
// integers do not depend on order and do not overflow. Source: Wilson et al. 2020, section 3.
func Private(a *sensitivity.Analysis, d dialect.Dialect, seed int64) (*Statement, error) {
	if a.Joined != nil && a.Joined.Weighted != nil {
		return ofJoined(a, d, seed, (*private).weightedTotal)
	}
	if a.Joined != nil && a.Joined.Counted != nil {
		return ofJoined(a, d, seed, (*private).countedTotal)
	}
	if a.Joined != nil {
		return ofJoined(a, d, seed, (*private).rowTotals)
	}
	if a.Pairs != nil {
		return ofPairs(a, d, seed)
	}
	return printed(a, d, seed, (*private).statement)
}

func (w *private) statement() *Statement {
	ut := w.a.Query.Columns[w.a.Body.UnitCol].Type
	if w.a.Limit.Norm > 0 {
		return w.norms(ut)
	}
	if len(w.a.Choices) > 0 {
		return w.histogram(ut)
	}
	st := &Statement{}
	single := w.single()
	refs := w.keys
	from := ""
	if !single {
		refs = make([]string, len(w.keys))
		for i := range w.keys {
			refs[i] = fmt.Sprintf(`"g"."k%d"`, i+1)
		}
	}
	var out, group []string
	put := func(role Role, index int, t sqltype.Type, name, text string) {
		out = append(out, text+" AS "+quote(name))
		st.Columns = append(st.Columns, Column{Role: role, Index: index, Type: t})
	}
	for i, k := range w.a.Keys {
		put(RoleKey, i, keyType(k.Type), fmt.Sprintf("k%d", i+1), refs[i])
		group = append(group, fmt.Sprint(i+1))
	}
	if !w.a.Groups.Public {
		put(RoleUnits, 0, sqltype.Int8, "units", w.fn("count")+"(*)")
	}
	for i, m := range w.a.Measures {
		text, t := w.total(i, m, single)
		put(RoleMeasure, i, t, fmt.Sprintf("m%d", i+1), text)
	}
	if len(out) == 0 {
		w.fail(internalError("nothing is measured"))
	}
	if single {
		from = w.f.clause()
	} else {
		from = w.grouped(ut)
	}
	st.SQL = "SELECT " + strings.Join(out, ", ") + from
	if len(group) > 0 {
		st.SQL += " GROUP BY " + strings.Join(group, ", ")
	}
	st.Args = w.args.list
	return st
}
