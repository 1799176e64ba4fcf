package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
)

// histogram prints a statement with automatic bounds: one scan, whose (unit, group) rows with their partials are kept and read once a
// part.
//
// Proof: claim: from what comes back the total of min(|partial|, Factor t) with the partial's sign is had exactly for each edge t, and the
// number of units beyond each edge; what one unit changes in those is sensitivity.Choice's claim. (1) "h" has one row for each (unit,
// group), after the cap, as in Private's (1) to (5); its partials are NULL or integers in [Lo, Hi] (partial, (1)), functions of the unit's
// rows in that group alone. (2) A partial is in exactly one bucket of its measure, by comparisons of integers with edges that are integers
// (edges between grid steps would put the sum of a bucket beyond t times its number). NULL and 0 add nothing to a sum, exceed no edge, and are
// left out before the CASE, in which NULL would fail every comparison. (3) The sum clipped at t is the buckets' exact sums up to t's and
// Factor t times the signed number beyond. (4) Units are counted once a choice, in the bucket of their largest partial over all
// groups; where a unit is in one group its partial is that one, and the measure's own part serves. (5) A bucket without rows has no row
// and counts as 0, as does a group without rows.
func (w *private) histogram(ut sqltype.Type) *Statement {
	a := w.a
	var list []string
	for i := range w.keys {
		list = append(list, fmt.Sprintf(`"g"."k%d" AS "k%d"`, i+1, i+1))
	}
	for i, m := range a.Measures {
		if m.Kind == sensitivity.Units {
			continue
		}
		x := w.partial(m, w.columns(i, m, w.inner), a.MaxRows)
		list = append(list, fmt.Sprintf(`%s AS "x%d"`, x, i+1))
	}
	rank := a.Limit.Clip != nil
	if rank {
		list = append(list, `"g"."rn" AS "rn"`)
	}
	if w.perUnit() {
		list = append(list, `"g"."u" AS "u"`)
	}
	if len(list) == 0 {
		list = append(list, `1 AS "one"`)
	}
	h := "SELECT " + strings.Join(list, ", ") + w.grouped(ut)

	var branches []string
	if !a.Groups.Public || w.fixed() {
		branches = append(branches, w.branch(part{number: PartTotals, grouped: true, totals: true, from: `"h"`}))
	}
	for i, m := range a.Measures {
		if m.Clip != nil {
			branches = append(branches, w.buckets(i, m))
		}
	}
	with := fmt.Sprintf(`WITH "h" AS MATERIALIZED (%s)`, h)
	if w.perUnit() {
		level, parts := w.units()
		with += fmt.Sprintf(`, "w" AS MATERIALIZED (%s)`, level)
		branches = append(branches, parts...)
	}
	st := &Statement{}
	for i, k := range a.Keys {
		st.Columns = append(st.Columns, Column{RoleKey, i, keyType(k.Type)})
	}
	for _, role := range []Role{RolePart, RoleRank, RoleBucket, RoleCount} {
		st.Columns = append(st.Columns, Column{Role: role, Type: sqltype.Int8})
	}
	st.Columns = append(st.Columns, Column{Role: RoleSigned, Type: sqltype.Numeric}, Column{Role: RoleSum, Type: sqltype.Numeric})
	for i, m := range a.Measures {
		if m.Clip == nil && m.Kind != sensitivity.Units {
			st.Columns = append(st.Columns, Column{RoleMeasure, i, sqltype.Numeric})
		}
	}
	st.SQL = with + " " + strings.Join(branches, " UNION ALL ")
	if len(branches) == 1 { // a planner reads it better in place
		st.SQL = strings.Replace(branches[0], ` FROM "h"`, ` FROM (`+h+`) AS "h"`, 1)
	}
	st.Args = w.args
	return st
}

// perUnit: a unit may be in several groups, so that units are counted apart from partials.
func (w *private) perUnit() bool { return w.a.Limit.PerUnit > 1 }

// fixed: some measure's bounds are not chosen.
func (w *private) fixed() bool {
	for _, m := range w.a.Measures {
		if m.Clip == nil {
			return true
		}
	}
	return false
}

// part is one branch of the UNION: what differs from NULL and 0.
type part struct {
	number      int
	grouped     bool // by keys, and by rank where the cap is chosen
	totals      bool // of the measures with fixed bounds
	bucket      string
	signed, sum string
	from, where string
}

func (w *private) branch(b part) string {
	var out, group []string
	for i, k := range w.a.Keys {
		if b.grouped {
			group = append(group, fmt.Sprint(i+1))
			out = append(out, fmt.Sprintf(`"h"."k%d"`, i+1))
			continue
		}
		out = append(out, w.null(keyType(k.Type)))
	}
	by := func(text string) string {
		if text == "" {
			return w.big("0")
		}
		group = append(group, fmt.Sprint(len(out)+1))
		return w.big(text)
	}
	rank := ""
	if c := w.a.Limit.Clip; c != nil && b.grouped {
		rank = tree(`"h"."rn"`, scaled(c.Edges, 1))
	}
	out = append(out, w.big(fmt.Sprint(b.number)))
	out = append(out, by(rank))
	out = append(out, by(b.bucket))
	out = append(out, w.fn("count")+"(*)")
	for _, text := range []string{b.signed, b.sum} {
		if text == "" {
			text = "0"
		}
		out = append(out, w.wide(text))
	}
	for i, m := range w.a.Measures {
		switch {
		case m.Clip != nil || m.Kind == sensitivity.Units:
		case b.totals:
			out = append(out, w.wide(fmt.Sprintf(`%s("h"."x%d")`, w.fn("sum"), i+1)))
		default:
			out = append(out, w.wide("NULL"))
		}
	}
	text := "SELECT " + strings.Join(out, ", ") + " FROM " + b.from
	if b.where != "" {
		text += " WHERE " + b.where
	}
	if len(group) > 0 {
		text += " GROUP BY " + strings.Join(group, ", ")
	}
	return text
}

// null is a typed NULL: a UNION of untyped ones would be text.
func (w *private) null(t sqltype.Type) string {
	name, err := w.typeName(t, nil)
	if err != nil {
		return w.fail(err)
	}
	if w.d == funcs.Postgres && t.OID == sqltype.OIDBPChar && t.Typmod <= 4 {
		name = "pg_catalog.text"
	}
	return w.binary("CAST(NULL AS "+name+")", t)
}

// buckets is a measure's histogram.
func (w *private) buckets(i int, m sensitivity.Measure) string {
	x := fmt.Sprintf(`"h"."x%d"`, i+1)
	b := part{number: i + 1, grouped: true, bucket: tree(w.magnitude(i), scaled(m.Clip.Edges, m.Factor)), signed: w.fn("count") + "(*)", sum: w.fn("sum") + "(" + x + ")",
		from: `"h"`, where: x + " > 0"}
	if m.Lo < 0 {
		b.signed, b.where = fmt.Sprintf("%s(CASE WHEN %s > 0 THEN 1 ELSE -1 END)", w.fn("sum"), x), x+" <> 0"
	}
	return w.branch(b)
}

// magnitude of a measure's partial.
func (w *private) magnitude(i int) string {
	x := fmt.Sprintf(`"h"."x%d"`, i+1)
	if w.a.Measures[i].Lo < 0 {
		return w.fn("abs") + "(" + x + ")"
	}
	return x
}

// units counts units by their largest partial, for each choice, and by their number of groups for the cap: the level of units, and
// its parts.
func (w *private) units() (level string, parts []string) {
	var list []string
	for _, c := range w.a.Choices {
		x := `"h"."rn"`
		if c != w.a.Limit.Clip {
			x = w.magnitude(c.Measure)
		}
		y := fmt.Sprintf("y%d", c.Index+1)
		list = append(list, fmt.Sprintf(`%s(%s) AS "%s"`, w.fn("max"), x, y))
		y = `"w"."` + y + `"`
		parts = append(parts, w.branch(part{number: -(c.Index + 1), bucket: tree(y, scaled(c.Edges, 1)), from: `"w"`, where: y + " > 0"}))
	}
	return fmt.Sprintf(`SELECT %s FROM "h" GROUP BY "h"."u"`, strings.Join(list, ", ")), parts
}

// scaled are the edges as comparable integers.
func scaled(edges []uint64, factor uint64) []string {
	out := make([]string, len(edges))
	for i, e := range edges {
		out[i] = fmt.Sprint(e * factor) // sensitivity.choose: at most 2^53
	}
	return out
}

// tree prints the number of edges below x as a balanced tree of comparisons.
func tree(x string, edges []string) string {
	var b strings.Builder
	var write func(lo, hi int) // the answer is in [lo, hi]
	write = func(lo, hi int) {
		if lo == hi {
			fmt.Fprint(&b, lo)
			return
		}
		mid := (lo + hi) / 2
		fmt.Fprintf(&b, "CASE WHEN %s > %s THEN ", x, edges[mid])
		write(mid+1, hi)
		b.WriteString(" ELSE ")
		write(lo, mid)
		b.WriteString(" END")
	}
	write(0, len(edges))
	return b.String()
}
