package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// PublicQuery prints a statement over public tables as it is. A plan with a private table is refused.
func PublicQuery(q *plan.Query, d dialect.Dialect) (*Statement, error) {
	if !onlyPublic(q.Root) {
		return nil, internalError("a plan with a private table is not printed without its bounds")
	}
	return plainQuery(q, nil, nil, d)
}

// onlyPublic: every node is a known one and every table is public, also in the subqueries of expressions.
func onlyPublic(r plan.Rel) bool {
	return plan.VisitRels(r, func(r plan.Rel) bool {
		switch n := r.(type) {
		case *plan.Scan:
			return n.Table != nil && n.Table.Public
		case *plan.OneRow, *plan.Join, *plan.Filter, *plan.Project, *plan.Aggregate, *plan.Distinct, *plan.Sort, *plan.Limit,
			*plan.Values, *plan.SetOp, *plan.DistinctOn, *plan.Window:
			return true
		}
		return false
	})
}

// plainQuery is the un-noised print: PublicQuery's, Finishing's, and that of this package's own tests.
func plainQuery(q *plan.Query, given [][][]sqltype.Value, noisy map[plan.ColID]bool, d dialect.Dialect) (*Statement, error) {
	p, err := newPrinter(d)
	if err != nil {
		return nil, err
	}
	p.form.exact, p.given, p.form.noisy = true, given, noisy
	f, suffix := p.top(q.Root)
	st := &Statement{}
	var list []string
	for i, o := range q.Outputs {
		list = append(list, fmt.Sprintf("%s AS %s", p.or(p.d.Output(f.column(p, o.Col, stored), o.Type)), quote(fmt.Sprintf("o%d", i+1))))
		st.Columns = append(st.Columns, Column{Role: RoleOutput, Index: i, Type: o.Type})
	}
	if len(list) == 0 {
		return nil, internalError("a statement without columns cannot be printed")
	}
	tail := suffix()
	st.SQL = "SELECT " + strings.Join(list, ", ") + f.clause() + tail
	st.Args = p.args.list
	return st, p.fits(st)
}

// DistinctTuples prints the distinct values of columns of a public table, at most limit+1 of them.
func DistinctTuples(t *plan.Table, cols []int, limit int, d dialect.Dialect) (*Statement, error) {
	if t == nil || !t.Public {
		return nil, internalError("values of a private table are not read")
	}
	p, s, f, err := publicScan(t, d, cols)
	if err != nil {
		return nil, err
	}
	st := &Statement{}
	var list []string
	for i, c := range cols {
		ct := t.Columns[c].Type
		list = append(list, fmt.Sprintf("%s AS %s", p.canonicalKey(f.column(p, s.Columns[c], stored), ct), quote(fmt.Sprintf("k%d", i+1))))
		st.Columns = append(st.Columns, Column{Role: RoleOutput, Index: i, Type: keyType(ct)})
	}
	if len(list) == 0 || limit < 0 {
		return nil, internalError("no columns to read")
	}
	st.SQL = fmt.Sprintf("SELECT DISTINCT %s%s LIMIT %d", strings.Join(list, ", "), f.clause(), limit+1)
	return st, p.err
}

// publicScan builds a scan of a public table, with these columns.
func publicScan(t *plan.Table, d dialect.Dialect, cols []int) (*printer, *plan.Scan, *from, error) {
	p, err := newPrinter(d)
	if err != nil {
		return nil, nil, nil, err
	}
	s := &plan.Scan{Table: t, Pos: -1}
	for i := range t.Columns {
		s.Columns = append(s.Columns, plan.ColID(i+1))
	}
	for _, c := range cols {
		if c < 0 || c >= len(t.Columns) {
			return nil, nil, nil, internalError("table %s has no column %d", t.Name, c)
		}
	}
	return p, s, p.build(s), nil
}

// MostOften prints how many rows of a public relation are alike in some columns, at most: as a cap counts them (capped). Of no column it is the number of rows.
func MostOften(r plan.Rel, by []plan.ColID, d dialect.Dialect) (*Statement, error) {
	if !onlyPublic(r) {
		return nil, internalError("rows of a private table are not counted")
	}
	p, err := newPrinter(d)
	if err != nil {
		return nil, err
	}
	f := p.build(r)
	var alike []string
	for _, id := range by {
		alike = append(alike, p.alike(f.column(p, id, stored), p.typed(f, id)))
	}
	st := &Statement{Columns: []Column{{Role: RoleOutput, Type: sqltype.Int8}}}
	if st.SQL = fmt.Sprintf(`SELECT %s(*) AS "n"%s`, p.fn("count"), f.clause()); len(by) > 0 {
		st.SQL = fmt.Sprintf(`SELECT COALESCE((SELECT %s("g"."n") FROM (%s GROUP BY %s) AS "g"), 0) AS "n"`, p.fn("max"), st.SQL, strings.Join(alike, ", "))
	}
	st.Args = p.args.list
	return st, p.fits(st)
}
