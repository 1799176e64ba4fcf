package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// ANY and ALL over subqueries, in the forms that a backend makes joins or hash tables of.

// conditions prints what WHERE and ON keep rows by: NULL is as good as false there.
func (p *printer) conditions(x plan.Scalar, f *from) []string {
	all := plan.Conjuncts(x)
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = p.condition(c, f)
	}
	return out
}

// condition prints ANY and ALL as EXISTS, which PostgreSQL makes a join of, where its rows depend on the row around them.
//
// Proof: x op ANY (q) is true where the comparison is for some row, its negation where it is false for all; x op ALL (q) where it is true for all, its negation
// where it is false for some (SQL:2016, 8.9). What is not true keeps no row.
func (p *printer) condition(c plan.Scalar, f *from) string {
	not := false
	x, ok := c.(*plan.Subquery)
	if n, is := c.(*plan.Logic); is && n.Op == plan.Not && len(n.Args) == 1 {
		x, ok = n.Args[0].(*plan.Subquery)
		not = true
	}
	if !ok || x.Kind != plan.AnyQuery && x.Kind != plan.AllQuery || len(x.Free()) == 0 && p.only(x) != nil {
		return p.scalar(c, f, stored)
	}
	leave, ok := p.enter(x, f)
	if !ok {
		return "NULL"
	}
	defer leave()
	cond := compared(x)
	switch {
	case x.Kind == plan.AnyQuery && !not:
		return "(" + p.some(x, cond) + ")"
	case x.Kind == plan.AnyQuery:
		return "(NOT " + p.some(x, &plan.Is{X: cond, What: "FALSE", Not: true}) + ")"
	case !not:
		return "(NOT " + p.some(x, &plan.Is{X: cond, What: "TRUE", Not: true}) + ")"
	}
	return "(" + p.some(x, &plan.Is{X: cond, What: "FALSE"}) + ")"
}

// compared is a comparison with a subquery's rows, over its columns and those of the row around it.
func compared(x *plan.Subquery) plan.Scalar {
	left := leftOf(x)
	return plan.Substitute(x.Cond, func(c *plan.Col) plan.Scalar { return left[c.ID] })
}

func leftOf(x *plan.Subquery) map[plan.ColID]plan.Scalar {
	left := map[plan.ColID]plan.Scalar{}
	for _, it := range x.Left {
		left[it.ID] = it.Expr
	}
	return left
}

// some: a condition is true for some row of a subquery.
func (p *printer) some(x *plan.Subquery, cond plan.Scalar) string {
	text, _ := p.query(&plan.Filter{Input: x.Query, Cond: cond}, nil)
	return "EXISTS (" + text + ")"
}

// quantified prints ANY and ALL where NULL is not false: IN where all that is compared is equal columns, else by what they mean.
//
// Proof: x op ANY (q) is true where the comparison is for some row, else NULL where it is for some, else false, without rows too; ALL
// is NOT ANY of the negation (SQL:2016, 8.9). EXISTS never gives NULL.
func (p *printer) quantified(x *plan.Subquery) string {
	if pairs := p.only(x); pairs != nil {
		return p.in(x, pairs)
	}
	cond := compared(x)
	found, yes, no := cond, "TRUE", "FALSE"
	if x.Kind == plan.AllQuery {
		found, yes, no = &plan.Is{X: cond, What: "FALSE"}, "FALSE", "TRUE"
	}
	return fmt.Sprintf("(CASE WHEN %s THEN %s WHEN %s THEN NULL ELSE %s END)", p.some(x, found), yes, p.some(x, &plan.Is{X: cond, What: "NULL"}), no)
}

// pair is what = compares: of the row around a subquery, and of one of its rows.
type pair struct{ outside, inside plan.Scalar }

// only are the pairs of an = ANY that the backend's own IN compares as = is printed; nil where it does not. Where a database takes rows with NULLs for equal, there is one pair.
func (p *printer) only(x *plan.Subquery) []pair {
	if x.Kind != plan.AnyQuery {
		return nil
	}
	left := leftOf(x)
	var out []pair
	for _, c := range plan.Conjuncts(x.Cond) {
		eq, ok := c.(*plan.Call)
		if !ok || len(eq.Args) != 2 || !p.plainEqual(eq) {
			return nil
		}
		l, ok := eq.Args[0].(*plan.Col)
		if !ok || left[l.ID] == nil {
			return nil
		}
		inner := true
		plan.VisitCols(eq.Args[1], func(c *plan.Col) { inner = inner && slices.Contains(x.Cols, c.ID) })
		if !inner {
			return nil
		}
		out = append(out, pair{left[l.ID], eq.Args[1]})
	}
	if !p.d.Facts().ComparesRows && len(out) > 1 {
		return nil
	}
	return out
}

// plainEqual: the backend's own = of two values, without more. Where decimals have few digits, IN rounds them to a common scale, and = does not: they are as plain as in a private statement.
func (p *printer) plainEqual(eq *plan.Call) bool {
	spell := eq.Fn.TotalForm
	if p.form.exact && p.d.Decimals() == nil {
		spell = eq.Fn.RaisingForm
	}
	types := make([]sqltype.Type, len(eq.Args))
	for i, a := range eq.Args {
		types[i] = a.Type()
	}
	return spell != nil && spell.Print(p.d, []string{"a", "b"}, types, eq.T) == "(a = b)"
}

// in prints pairs as IN, which both backends look up in a hash table where the rows are those of any row around.
func (p *printer) in(x *plan.Subquery, pairs []pair) string {
	outside, inside := make([]plan.Scalar, len(pairs)), make([]plan.Scalar, len(pairs))
	for i, c := range pairs {
		outside[i], inside[i] = c.outside, c.inside
	}
	list := strings.Join(p.list(outside, p.outer, stored), ", ")
	if len(pairs) > 1 {
		list = "(" + list + ")"
	}
	q, suffix := p.top(x.Query)
	cols := p.list(inside, q, stored)
	tail := suffix()
	return fmt.Sprintf("(%s IN (SELECT %s%s%s))", list, strings.Join(cols, ", "), q.clause(), tail)
}
