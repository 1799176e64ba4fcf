package relation

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// HasPrivateTable reports whether any table below is private, also in a subquery of an expression. What is no known node counts as private.
func HasPrivateTable(r plan.Rel) bool {
	return !plan.VisitRels(r, func(r plan.Rel) bool {
		switch n := r.(type) {
		case *plan.Scan:
			return n.Table != nil && n.Table.Public
		case *plan.OneRow, *plan.Released, *plan.Join, *plan.Filter, *plan.Project, *plan.Aggregate, *plan.Distinct, *plan.Sort, *plan.Limit,
			*plan.Values, *plan.SetOp, *plan.DistinctOn, *plan.Window:
			return true
		}
		return false
	})
}

// FinishingInput is the input of a node that changes rows one by one, or which and in what order they are; nil for any other node.
func FinishingInput(r plan.Rel) plan.Rel {
	switch n := r.(type) {
	case *plan.Filter:
		return n.Input
	case *plan.Project:
		return n.Input
	case *plan.Distinct:
		return n.Input
	case *plan.Sort:
		return n.Input
	case *plan.Limit:
		return n.Input
	}
	return nil
}

// NoAggregateError says what a statement needs that has none on the way to its private rows.
func NoAggregateError(q *plan.Query, way []plan.Rel) error {
	for _, at := range way {
		switch n := at.(type) {
		case *plan.Filter, *plan.Project, *plan.Sort, *plan.Limit, *plan.Distinct:
			continue
		case *plan.SetOp:
			return sqlerr.New(sqlerr.PrivateShape, "%s of private rows is not supported", n.Op).At(n.Pos).
				WithHint("Aggregate each side; answers may be put together.")
		case *plan.Window:
			return sqlerr.New(sqlerr.PrivateShape, "window functions over private rows are not supported").At(n.Items[0].Pos).
				WithHint("Use GROUP BY and aggregates; windows may stand over those.")
		case *plan.DistinctOn:
			return sqlerr.New(sqlerr.PrivateShape, "DISTINCT ON over private rows is not supported").At(n.Pos).
				WithHint("Use GROUP BY and an aggregate.")
		}
		return sqlerr.New(sqlerr.RawRows, "rows of private tables cannot be shown").At(q.Pos).
			WithHint("Ask for an aggregate, for example: %s", example(q, at))
	}
	return sqlerr.New(sqlerr.Internal, "the statement has no private rows")
}

// example is an aggregate of a table among those that the statement asked for: the first column of it with a public domain groups, the
// first with a range is averaged. It is accepted as it stands.
func example(q *plan.Query, from plan.Rel) string {
	var t *plan.Table
	plan.VisitRels(from, func(r plan.Rel) bool {
		if s, ok := r.(*plan.Scan); ok && t == nil && !s.Table.Public && (len(s.Table.Units) == 1 || len(s.Table.Of) > 0) { // rows of two people of one kind are in no answer
			t = s.Table
		}
		return true
	})
	if t == nil {
		return "SELECT count(*) FROM ..."
	}
	var group, avg string
	for _, o := range q.Outputs {
		info := q.Columns[o.Col]
		if info.Table != t || info.Attr >= len(t.Columns) {
			continue
		}
		c := t.Columns[info.Attr]
		if group == "" && c.Domain != nil {
			group = plan.QuoteIdent(c.Name)
		}
		if avg == "" && c.Range != nil && c.Type.IsNumber() && (len(t.Of) == 0 || !c.Range.Lo.IsNegative()) { // a flow has no negative part
			avg = plan.QuoteIdent(c.Name)
		}
	}
	var b strings.Builder
	b.WriteString("SELECT ")
	if group != "" {
		b.WriteString(group + ", ")
	}
	b.WriteString("count(*)")
	if avg != "" {
		fmt.Fprintf(&b, ", avg(%s)", avg)
	}
	b.WriteString(" FROM ")
	b.WriteString(t.Spelled())
	if group != "" {
		b.WriteString(" GROUP BY " + group)
	}
	return b.String()
}

// BelowError names a node that may not stand below the aggregate (Analyze, (2)).
func BelowError(r plan.Rel, pos int) error {
	if _, ok := r.(*plan.Limit); ok {
		return sqlerr.New(sqlerr.PrivateShape, "LIMIT below an aggregate over private rows is not supported").At(pos).
			WithHint("Which rows it keeps would depend on other people's rows. Use WHERE.")
	}
	return sqlerr.New(sqlerr.PrivateShape, "this operation over private rows is not supported").At(pos)
}

// Filter is a relation with conditions, if there are any.
func Filter(r plan.Rel, conds []plan.Scalar) plan.Rel {
	if len(conds) == 0 {
		return r
	}
	return &plan.Filter{Input: r, Cond: plan.AllOf(conds)}
}

// HasOneRow reports whether a relation is an aggregate without groups, or an expression without FROM.
func HasOneRow(r plan.Rel) bool {
	switch n := r.(type) {
	case *plan.OneRow:
		return true
	case *plan.Aggregate:
		return len(n.Keys) == 0 && n.Sets == nil
	case *plan.Project:
		return HasOneRow(n.Input)
	case *plan.Filter:
		return HasOneRow(n.Input)
	case *plan.Sort:
		return HasOneRow(n.Input)
	}
	return false
}

// HasAtMostOneRow reports whether a relation has one row by its form, or none: LIMIT 1 has.
func HasAtMostOneRow(r plan.Rel) bool {
	switch n := r.(type) {
	case *plan.Limit:
		v, ok := WholeNumber(n.Count)
		return ok && v <= 1 && !n.Ties || HasAtMostOneRow(n.Input)
	case *plan.Project:
		return HasAtMostOneRow(n.Input)
	}
	return HasOneRow(r)
}

// IsNotNull is the condition that a column is not NULL.
func IsNotNull(id plan.ColID, t sqltype.Type) plan.Scalar {
	return &plan.Is{X: &plan.Col{ID: id, T: t}, What: "NULL", Not: true}
}

// StoredTable is a table as it is stored.
func StoredTable(t *plan.Table) *plan.Table {
	if t.Whole != nil {
		return t.Whole
	}
	return t
}

// MostRows is how many rows a relation has by its form; 0 where that says nothing.
func MostRows(r plan.Rel) uint64 {
	switch n := r.(type) {
	case *plan.Project:
		return MostRows(n.Input)
	case *plan.Sort:
		return MostRows(n.Input)
	case *plan.Limit:
		if v, ok := WholeNumber(n.Count); ok && v >= 0 {
			return uint64(max(1, v))
		}
	}
	if HasOneRow(r) {
		return 1
	}
	return 0
}
