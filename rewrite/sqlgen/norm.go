package sqlgen

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
)

// Scaled prints the second scan of a statement with Limit.L2: the totals of partials that are scaled to the norms which the first one's choices
// gave, clips[c] for choice c, in parts of steps.
//
// Proof: claim: one unit changes the vector of totals of measure m by a vector of L2 norm at most Factor C, C = clips[m.Clip.Index]. (1) "h" is as in
// histogram: one row for each (unit, group), partials functions of that unit's rows. Its rows are the groups of the domain alone, since the
// cap is off and domainFilters must. (2) "w" has, for each unit, q, the exact sum of the squares of its partials (at most 2^108 each, of at most
// 2^17 groups: within HUGEINT), and an integer r >= sqrt(q): PostgreSQL's numeric root is off by less than 1; DuckDB's double is off by a part of 2^-51, which the factor
// 1 + 2^-40 covers, and 1 more for the cast. (3) Where q > (Factor C)^2 a partial x becomes x Factor C/r, truncated toward zero; div and // truncate. So every magnitude is at most |x| Factor C/sqrt(q),
// and the norm at most Factor C; elsewhere the norm is at most that already.
func Scaled(a *sensitivity.Analysis, d funcs.Dialect, clips []uint64) (*Statement, error) {
	return printed(a, d, 0, func(w *private) *Statement { return w.scaled(clips) })
}

// vectors are the levels of (unit, group) rows and of units that both scans have: their norms, and where scaled what divides.
func (w *private) vectors(ut sqltype.Type, scaled bool) string {
	a := w.a
	list := []string{`"g"."u" AS "u"`}
	for i := range w.keys {
		list = append(list, fmt.Sprintf(`"g"."k%d" AS "k%d"`, i+1, i+1))
	}
	units := []string{`"h"."u" AS "u"`}
	for i, m := range a.Measures {
		x := "1"
		if m.Kind != sensitivity.Units {
			free := m
			if a.MaxRows > 0 {
				free.Clip = nil // its partial is that of declared bounds
			}
			x = w.partial(free, w.columns(i, m, w.inner), a.MaxRows)
		}
		list = append(list, fmt.Sprintf(`(%s) * %d AS "x%d"`, w.big(x), m.Fine, i+1))
		wide := w.wide(fmt.Sprintf(`"h"."x%d"`, i+1))
		q := fmt.Sprintf(`COALESCE(%s(%s * %s), 0)`, w.fn("sum"), wide, wide)
		units = append(units, fmt.Sprintf(`%s AS "q%d"`, q, i+1))
		if scaled {
			units = append(units, fmt.Sprintf(`%s AS "r%d"`, w.rootAbove(q), i+1))
		}
	}
	return fmt.Sprintf(`WITH "h" AS MATERIALIZED (SELECT %s%s), "w" AS MATERIALIZED (SELECT %s FROM "h" GROUP BY "h"."u")`, strings.Join(list, ", "), w.grouped(ut),
		strings.Join(units, ", "))
}

// rootAbove is an integer that is at least the root of q.
func (w *private) rootAbove(q string) string {
	if w.d == funcs.DuckDB {
		return fmt.Sprintf("CAST(ceil(sqrt(CAST(%s AS DOUBLE)) * (1 + pow(2.0, -40))) AS HUGEINT) + 1", q)
	}
	return fmt.Sprintf("pg_catalog.ceil(pg_catalog.sqrt(%s)) + 1", q)
}

// norms is the first scan: for each choice the numbers of units by their norm, as histogram's parts of units.
func (w *private) norms(ut sqltype.Type) *Statement {
	st := &Statement{}
	for _, role := range []Role{RolePart, RoleBucket, RoleCount} {
		st.Columns = append(st.Columns, Column{Role: role, Type: sqltype.Int8})
	}
	with := w.vectors(ut, false)
	var parts []string
	for _, c := range w.a.Choices {
		q := fmt.Sprintf(`"w"."q%d"`, c.Measure+1)
		squares := make([]string, len(c.Edges))
		for i, e := range c.Edges {
			x := new(big.Int).SetUint64(e)
			squares[i] = x.Mul(x, x).String()
		}
		parts = append(parts, fmt.Sprintf(`SELECT %s, %s, %s(*) FROM "w" WHERE %s > 0 GROUP BY 2`, w.big(fmt.Sprint(-(c.Index+1))), w.big(tree(q, squares)), w.fn("count"), q))
	}
	st.SQL, st.Args = with+" "+strings.Join(parts, " UNION ALL "), w.args
	return st
}

func (w *private) scaled(clips []uint64) *Statement {
	a := w.a
	if !a.Limit.L2 || len(clips) != len(a.Choices) {
		w.fail(internalError("no norms were chosen for this statement"))
		return &Statement{}
	}
	st := &Statement{}
	with := w.vectors(w.a.Query.Columns[w.a.Body.UnitCol].Type, true)
	var out, group []string
	for i, k := range a.Keys {
		out = append(out, fmt.Sprintf(`"h"."k%d"`, i+1))
		group = append(group, fmt.Sprint(i+1))
		st.Columns = append(st.Columns, Column{RoleKey, i, keyType(k.Type)})
	}
	for i, m := range a.Measures {
		clip := new(big.Int).SetUint64(clips[m.Clip.Index])
		clip.Mul(clip, new(big.Int).SetUint64(m.Factor))
		x := w.wide(fmt.Sprintf(`"h"."x%d"`, i+1))
		cut := fmt.Sprintf(`(%s * %s) // "w"."r%d"`, x, clip, i+1)
		if w.d == funcs.Postgres {
			cut = fmt.Sprintf(`pg_catalog.div(%s * %s, "w"."r%d")`, x, clip, i+1)
		}
		out = append(out, fmt.Sprintf(`%s(CASE WHEN "w"."q%d" > %s THEN %s ELSE %s END)`, w.fn("sum"), i+1, new(big.Int).Mul(clip, clip), cut, x))
		st.Columns = append(st.Columns, Column{RoleMeasure, i, sqltype.Numeric})
	}
	st.SQL = fmt.Sprintf(`%s SELECT %s FROM "h" JOIN "w" ON "w"."u" = "h"."u" GROUP BY %s`, with, strings.Join(out, ", "), strings.Join(group, ", "))
	st.Args = w.args
	return st
}
