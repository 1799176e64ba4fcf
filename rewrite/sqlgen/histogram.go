package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/sensitivity"
)

// histogram prints a statement with automatic bounds in one scan: outer totals over one subquery of (unit, group) rows, each of which is
// taken once for every part that it counts in. No CTE stands between, so that a distributed PostgreSQL sends totals alone.
//
// Proof: claim: from what comes back the total of min(|partial|, Factor t) with the partial's sign is had exactly for each edge t, and the
// number of units beyond each edge; what one unit changes in those is sensitivity.Choice's claim. (1) "h" has one row for each (unit,
// group), after the cap, as in Private's (1) to (5); its partials are NULL or integers in [Lo, Hi] (partial, (1)), functions of the unit's
// rows in that group alone. (2) A partial is in exactly one bucket of its measure, by comparisons of integers with edges that are integers
// (edges between grid steps would put the sum of a bucket beyond t times its number). NULL and 0 add nothing to a sum, exceed no edge, and are
// left out before the CASE, in which NULL would fail every comparison. (3) The sum clipped at t is the buckets' exact sums up to t's and
// Factor t times the signed number beyond. (4) Units are counted once a choice, by the one of their rows that is first, in the bucket of their
// largest partial over all groups; where a unit is in one group its partial is that one, and where groups are public too the measure's own part serves.
// (5) A bucket without rows has no row and counts as 0, as does a group without rows. (6) Where groups are unknown, of which there may be as many as units,
// the choices' parts come first and then each group's rows together, so that none but the released ones need be held. Their order is one of keys, which
// are canonical; it tells nothing that their set does not.
func (w *private) histogram(ut sqltype.Type) *Statement {
	h := w.rows(ut)
	parts := w.parts()
	st := &Statement{Args: w.args.list}
	times, number := eachPart(parts)
	from := fmt.Sprintf(` FROM (%s) AS "h"%s`, h, times)
	var out, group []string
	put := func(c Column, text string, key bool) {
		out, st.Columns = append(out, text), append(st.Columns, c)
		if key {
			group = append(group, fmt.Sprint(len(out)))
		}
	}
	for i, k := range w.a.Keys {
		text := fmt.Sprintf(`"h"."k%d"`, i+1)
		if w.a.CountsUnitsSeparately() {
			text = fmt.Sprintf(`CASE WHEN "v"."part" >= 0 THEN %s END`, text)
		}
		put(Column{RoleKey, i, keyType(k.Type)}, text, true)
	}
	byKeys := make([]string, len(w.a.Keys)+1) // (6): the choices' parts have no keys, and numbers below 0
	for i := range w.a.Keys {
		byKeys[i] = fmt.Sprintf("%d ASC NULLS FIRST", i+1)
	}
	byKeys[len(w.a.Keys)] = fmt.Sprint(len(w.a.Keys)+1, " ASC")
	small := func(role Role, of func(part) string) {
		text := byPart(parts, "0", of)
		put(Column{Role: role, Type: sqltype.Int8}, w.big(text), text != "0")
	}
	put(Column{Role: RolePart, Type: sqltype.Int8}, w.big(number), times != "")
	small(RoleRank, func(p part) string { return p.rank })
	small(RoleBucket, func(p part) string { return p.bucket })
	put(Column{Role: RoleCount, Type: sqltype.Int8}, w.fn("count")+"(*)", false)
	total := func(role Role, of func(part) string) {
		put(Column{Role: role, Type: sqltype.Numeric}, w.wide(w.fn("sum")+"("+byPart(parts, "0", of)+")"), false)
	}
	total(RoleSigned, func(p part) string { return p.sign })
	total(RoleSum, func(p part) string { return p.value })
	for i, m := range w.a.Measures {
		if m.Bound == nil && m.Kind != sensitivity.Units {
			text := byPart(parts, "NULL", func(p part) string {
				if p.number != PartTotals {
					return ""
				}
				return fmt.Sprintf(`"h"."x%d"`, i+1)
			})
			put(Column{RoleMeasure, i, sqltype.Numeric}, w.wide(w.fn("sum")+"("+text+")"), false)
		}
	}
	st.SQL = "SELECT " + strings.Join(out, ", ") + from
	if where := byPart(parts, "TRUE", func(p part) string { return p.where }); where != "TRUE" {
		st.SQL += " WHERE " + where
	}
	if len(group) > 0 {
		st.SQL += " GROUP BY " + strings.Join(group, ", ")
	}
	if !w.a.Groups.Public {
		st.SQL += " ORDER BY " + strings.Join(byKeys, ", ")
	}
	return st
}

// rows prints the (unit, group) rows: keys, partials, and where units are counted apart their largest ones and which row is first.
func (w *private) rows(ut sqltype.Type) string {
	var list []string
	for i := range w.keys {
		list = append(list, fmt.Sprintf(`"g"."k%d" AS "k%d"`, i+1, i+1))
	}
	for i, m := range w.a.Measures {
		if m.Kind != sensitivity.Units {
			list = append(list, fmt.Sprintf(`%s AS "x%d"`, w.partial(m, w.columns(i, m, w.inner), w.a.MaxRows), i+1))
		}
	}
	if w.a.Limit.Capped {
		list = append(list, `"g"."rn" AS "rn"`)
	}
	if w.perUnit() {
		list = append(list, `"g"."u" AS "u"`)
	}
	if len(list) == 0 {
		list = append(list, `1 AS "one"`)
	}
	h := "SELECT " + strings.Join(list, ", ") + w.grouped(ut)
	if !w.perUnit() {
		return h
	}
	over := ` OVER (PARTITION BY "h"."u")`
	list = []string{`"h".*`}
	for _, c := range w.a.Choices {
		x := `"h"."rn"`
		if c != w.a.Limit.Cap {
			x = w.magnitude(c.Measure)
		}
		list = append(list, fmt.Sprintf(`%s(%s)%s AS "y%d"`, w.fn("max"), x, over, c.Index+1))
	}
	if w.a.Limit.Capped { // ranks begin with 1, and no later filter takes the first away
		list = append(list, `"h"."rn" = 1 AS "first"`)
	} else {
		var order []string
		for i := range w.keys {
			order = append(order, fmt.Sprintf(`"h"."k%d" ASC NULLS LAST`, i+1))
		}
		list = append(list, fmt.Sprintf(`%s() OVER (PARTITION BY "h"."u" ORDER BY %s) = 1 AS "first"`, w.fn("row_number"), strings.Join(order, ", ")))
	}
	return fmt.Sprintf(`SELECT %s FROM (%s) AS "h"`, strings.Join(list, ", "), h)
}

// perUnit: a unit may be in several groups, so that its largest partial is looked for among them.
func (w *private) perUnit() bool { return w.a.Limit.PerUnit > 1 }

// part is what one row of "h" counts as in one part of the answer: "" is 0, or no condition.
type part struct {
	number       int
	rank, bucket string
	sign, value  string
	where        string
}

func (w *private) parts() []part {
	a := w.a
	var out []part
	rank := ""
	if a.Limit.Cap != nil {
		rank = w.d.EdgesBelow(`"h"."rn"`, numbers(a.Limit.Cap.Edges), sqltype.Int8)
	}
	fixed := slices.ContainsFunc(a.Measures, func(m sensitivity.Measure) bool { return m.Bound == nil })
	if !a.Groups.Public || fixed {
		out = append(out, part{number: PartTotals, rank: rank})
	}
	for i, m := range a.Measures {
		if m.Bound == nil {
			continue
		}
		clips := make([]uint64, len(m.Bound.Edges))
		for e, edge := range m.Bound.Edges {
			clips[e] = m.Clip(edge) // claims.Measurer.choose: at most 2^53
		}
		x := fmt.Sprintf(`"h"."x%d"`, i+1)
		p := part{number: PartOf(i), rank: rank, bucket: w.d.EdgesBelow(w.magnitude(i), numbers(clips), sqltype.Int8), sign: "1", value: x, where: x + " > 0"}
		if m.Lo < 0 {
			p.sign, p.where = fmt.Sprintf("CASE WHEN %s < 0 THEN -1 ELSE 1 END", x), x+" <> 0"
		}
		out = append(out, p)
	}
	if !a.CountsUnitsSeparately() {
		return out
	}
	for _, c := range a.Choices {
		y, first := fmt.Sprintf(`"h"."y%d"`, c.Index+1), `"h"."first" AND `
		if !w.perUnit() {
			y, first = w.magnitude(c.Measure), ""
		}
		out = append(out, part{number: PartOfChoice(c.Index), bucket: w.d.EdgesBelow(y, numbers(c.Edges), sqltype.Int8), where: fmt.Sprintf(`%s%s > 0`, first, y)})
	}
	return out
}

// eachPart takes every row once for each part, and says how a row's part is called.
func eachPart(parts []part) (join, number string) {
	if len(parts) == 1 {
		return "", fmt.Sprint(parts[0].number)
	}
	numbers := make([]string, len(parts))
	for i, p := range parts {
		numbers[i] = fmt.Sprintf("(%d)", p.number)
	}
	return fmt.Sprintf(` CROSS JOIN (VALUES %s) AS "v"("part")`, strings.Join(numbers, ", ")), `"v"."part"`
}

// byPart prints what a row counts as, by its part.
func byPart(parts []part, otherwise string, of func(part) string) string {
	var whens []string
	for _, p := range parts {
		if text := of(p); text != "" {
			whens = append(whens, fmt.Sprintf("WHEN %d THEN %s", p.number, text))
			if len(parts) == 1 {
				return text
			}
		}
	}
	if len(whens) == 0 {
		return otherwise
	}
	return fmt.Sprintf(`CASE "v"."part" %s ELSE %s END`, strings.Join(whens, " "), otherwise)
}

// magnitude of a measure's partial.
func (w *private) magnitude(i int) string {
	x := fmt.Sprintf(`"h"."x%d"`, i+1)
	if w.a.Measures[i].Lo < 0 {
		return w.fn("abs") + "(" + x + ")"
	}
	return x
}

// numbers prints edges.
func numbers(edges []uint64) []string {
	out := make([]string, len(edges))
	for i, e := range edges {
		out[i] = fmt.Sprint(e)
	}
	return out
}
