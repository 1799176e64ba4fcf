package sqlgen

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/sensitivity"
)

// Scaled prints the second scan of a statement with Limit.Norm: the totals of partials that are scaled to the norms which the first one's choices
// gave, clips[c] for choice c, in parts of steps.
//
// Proof: claim: one unit changes the vector of totals of measure m by a vector whose norm, L1 or L2 as Limit.Norm says, is at most Factor C, C = clips[m.Bound.Index]. (1) "h" is as in
// histogram: one row for each (unit, group), partials functions of that unit's rows. Its rows are the groups of the domain alone, since the
// cap is off and domainFilters must. (2) Each row has its unit's q, the exact power of its partials' norm n, and an integer r >= n. L2: q is the sum of their squares (at most 2^108 each, of at most
// 2^17 groups: within HUGEINT), n = sqrt(q). PostgreSQL's numeric root is off by less than 1; DuckDB's double is off by a part of 2^-51, which the factor
// 1 + 2^-40 covers, and 1 more for the cast. L1: q is the sum of their magnitudes, and r = n = q. (3) Where q is above the same power of Factor C, a partial x becomes x Factor C/r, truncated toward zero; div and // truncate, and x Factor C
// is below 2^108. So every magnitude is at most |x| Factor C/n, and the norm at most Factor C; elsewhere the norm is at most that already.
func Scaled(a *sensitivity.Analysis, d dialect.Dialect, clips []uint64) (*Statement, error) {
	return printed(a, d, 0, func(w *private) *Statement { return w.cutTotals(clips) })
}

// vectors prints the level of (unit, group) rows that both scans have, partials in parts of steps, with more columns beside them.
func (w *private) vectors(ut sqltype.Type, more ...string) string {
	a := w.a
	list := []string{`"g"."u" AS "u"`}
	for i := range w.keys {
		list = append(list, fmt.Sprintf(`"g"."k%d" AS "k%d"`, i+1, i+1))
	}
	for i, m := range a.Measures {
		x := "1"
		if m.Kind != sensitivity.Units {
			free := m
			if a.MaxRows > 0 {
				free.Bound = nil // its partial is that of declared bounds
			}
			x = w.partial(free, w.columns(i, m, w.inner), a.MaxRows)
		}
		list = append(list, fmt.Sprintf(`(%s) * %d AS "x%d"`, w.big(x), m.Subdivision, i+1))
	}
	return fmt.Sprintf(`(SELECT %s%s) AS "h"`, strings.Join(append(list, more...), ", "), w.grouped(ut))
}

// power is the sum of a measure's partials, each to the norm's exponent: Scaled's q.
func (w *private) power(i int) string {
	x := w.wide(fmt.Sprintf(`"h"."x%d"`, i+1))
	if w.a.Limit.Norm == sensitivity.L1 {
		return fmt.Sprintf("%s(%s(%s))", w.fn("sum"), w.fn("abs"), x)
	}
	return fmt.Sprintf("%s(%s * %s)", w.fn("sum"), x, x)
}

// powerOf is a bound on the norm, to its exponent.
func (w *private) powerOf(clip uint64) *big.Int {
	return new(big.Int).Exp(new(big.Int).SetUint64(clip), big.NewInt(int64(w.a.Limit.Norm)), nil)
}

// rootAbove is an integer that is at least the norm: Scaled's r.
func (w *private) rootAbove(q string) string {
	if w.a.Limit.Norm == sensitivity.L1 {
		return q
	}
	return w.d.RootAbove(q)
}

// norms is the first scan: for each choice the numbers of units by their norm, as histogram's parts of units.
func (w *private) norms(ut sqltype.Type) *Statement {
	var list []string
	var parts []part
	for _, c := range w.a.Choices {
		list = append(list, fmt.Sprintf(`%s AS "q%d"`, w.power(c.Measure), c.Index+1))
		q := fmt.Sprintf(`"w"."q%d"`, c.Index+1)
		powers := make([]string, len(c.Edges))
		for i, e := range c.Edges {
			powers[i] = w.powerOf(e).String()
		}
		parts = append(parts, part{number: PartOfChoice(c.Index), bucket: w.d.EdgesBelow(q, powers, sqltype.Numeric), where: q + " > 0"})
	}
	times, number := eachPart(parts)
	units := fmt.Sprintf(`(SELECT %s FROM %s GROUP BY "h"."u") AS "w"%s`, strings.Join(list, ", "), w.vectors(ut), times)
	st := &Statement{Args: w.args.list}
	for _, role := range []Role{RolePart, RoleBucket, RoleCount} {
		st.Columns = append(st.Columns, Column{Role: role, Type: sqltype.Int8})
	}
	st.SQL = fmt.Sprintf("SELECT %s, %s, %s(*) FROM %s WHERE %s GROUP BY 1, 2", w.big(number), w.big(byPart(parts, "0", func(p part) string { return p.bucket })),
		w.fn("count"), units, byPart(parts, "FALSE", func(p part) string { return p.where }))
	return st
}

// cutTotals is the second scan.
func (w *private) cutTotals(clips []uint64) *Statement {
	a := w.a
	if a.Limit.Norm == 0 || len(clips) != len(a.Choices) {
		w.fail(internalError("no norms were chosen for this statement"))
		return &Statement{}
	}
	st := &Statement{}
	list := []string{`"h".*`}
	var out, group []string
	for i, k := range a.Keys {
		out = append(out, fmt.Sprintf(`"h"."k%d"`, i+1))
		group = append(group, fmt.Sprint(i+1))
		st.Columns = append(st.Columns, Column{RoleKey, i, keyType(k.Type)})
	}
	for i, m := range a.Measures {
		list = append(list, w.normOver(i))
		out = append(out, w.fn("sum")+"("+w.scaledTo(i, m.Clip(clips[m.Bound.Index]))+")")
		st.Columns = append(st.Columns, Column{RoleMeasure, i, sqltype.Numeric})
	}
	vectors := w.vectors(a.Query.Columns[a.Body.UnitCol].Type)
	st.SQL = fmt.Sprintf(`SELECT %s FROM (SELECT %s FROM %s) AS "h" GROUP BY %s`, strings.Join(out, ", "), strings.Join(list, ", "), vectors, strings.Join(group, ", "))
	st.Args = w.args.list
	return st
}

// normOver prints Scaled's q beside each of a unit's partials.
func (w *private) normOver(i int) string {
	return fmt.Sprintf(`%s OVER (PARTITION BY "h"."u") AS "q%d"`, w.power(i), i+1)
}

// scaledTo prints a partial scaled to a norm: Scaled's (3).
func (w *private) scaledTo(i int, clip uint64) string {
	x, q := w.wide(fmt.Sprintf(`"h"."x%d"`, i+1)), fmt.Sprintf(`"h"."q%d"`, i+1)
	cut := w.d.Quotient(fmt.Sprintf(`%s * %d`, x, clip), w.rootAbove(q))
	return fmt.Sprintf(`CASE WHEN %s > %s THEN %s ELSE %s END`, q, w.powerOf(clip), cut, x)
}
