package catalog

import (
	"context"
	"errors"
	"math"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Rows of people are not shown. Tools ask for some all the same before they ask for anything else, so an owner may let them see the columns, or rows that are made up.

// What is said of a preview.
const (
	noticeSchema  = "the columns alone: rows of people are not shown, and none was read"
	NoticeMock    = "these rows are made up from the policy: no person is in them"
	noticeNoMock  = "no row is shown: rows of people are not, none was read, and no row that is made up from the policy meets the conditions"
	noticeNotMade = "no row is shown: rows of people are not, none was read, and the policy does not say enough to make some up"
)

const (
	mostMock    = 10     // rows that are shown
	mockRows    = 100    // of one table
	mockProduct = 10_000 // rows of all tables together, as a cross join has them
)

// PreviewOf says how a statement is previewed that err refuses; "": it is not.
//
// Proof: which statements are follows from the plan and the policy: err does (divide.Divide), and so does the plan's shape. Nothing is read: Preview.Run computes from the catalog, which is the
// policy's and the schema's, and never has a backend in its hands; nothing is charged or stored, since nothing is released. No answer mixes what is made up with what was released or is stored:
// each relation of the plan is a table whose rows would all be made up (isRowsOnly), so there is no aggregate, whose input might be, no set operation, no subquery, and no other source of rows.
func PreviewOf(s *session.Session, q *plan.Query, err error) string {
	how := s.World.Policy.Preview
	if how == "" || how == policy.PreviewNone || sqlerr.ID(err) != sqlerr.RawRows.ID || !isRowsOnly(s, q.Root) {
		return ""
	}
	return how
}

// isRowsOnly: a relation's rows are those of tables, chosen, joined, ordered and computed with, and nothing else.
func isRowsOnly(s *session.Session, r plan.Rel) bool {
	for _, x := range plan.Scalars(r) {
		if plan.FirstQuery(x) != nil {
			return false
		}
	}
	switch n := r.(type) {
	case *plan.Scan:
		return n.Rows == nil && !s.Catalog.Own(n.Table)
	case *plan.Join:
		return !n.Lateral && isRowsOnly(s, n.Left) && isRowsOnly(s, n.Right)
	case *plan.Filter, *plan.Project, *plan.Sort, *plan.Limit:
		return isRowsOnly(s, plan.Inputs(r)[0])
	}
	return false
}

// Preview is for rows of people, which are not shown.
type Preview struct {
	*session.Statement
	How string // the policy's word
}

// Run implements session.Kind: it answers from the policy.
func (p *Preview) Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error) {
	a := &answer.Answer{Tag: "SELECT", Mark: noticeSchema, MadeUp: true}
	if p.How != policy.PreviewMock {
		return a, nil
	}
	rows, err := p.mockRows(ctx, args)
	switch {
	case ctx.Err() != nil:
		return nil, p.Session.Uncharged(ctx, errors.Join(err, ctx.Err()))
	case err != nil: // its functions are the database's alone, or not for such values
		a.Mark = noticeNotMade
	case len(rows) == 0:
		a.Mark = noticeNoMock
	default:
		a.Rows, a.Mark = rows[:min(len(rows), mostMock)], NoticeMock
	}
	return a, nil
}

// mockRows runs the statement over tables that are made up.
func (p *Preview) mockRows(ctx context.Context, args []sqltype.Value) ([][]sqltype.Value, error) {
	scans := server.ScansOf(p.Query.Root)
	of := min(mockRows, int(math.Pow(mockProduct, 1/float64(len(scans)))+1e-9))
	made := map[plan.Rel]*eval.Relation{}
	for _, sc := range scans {
		rel := &eval.Relation{Cols: sc.Columns}
		for i := range of {
			row := make([]sqltype.Value, len(sc.Columns))
			for c := range row {
				if sc.Table.Columns[c].Visible {
					row[c] = mockValue(sc.Table, c, i, 0)
				}
			}
			rel.Rows = append(rel.Rows, row)
		}
		made[sc] = rel
	}
	leaf := func(r plan.Rel) (*eval.Relation, bool) {
		rel, ok := made[r]
		return rel, ok
	}
	rel, err := eval.Run(ctx, p.Query.Root, leaf, p.Query, args)
	if err != nil {
		return nil, err
	}
	return finish.Outputs(p.Query, rel)
}

// Report tells of a statement for rows of people.
func (p *Preview) Report() *answer.Report {
	rep := &answer.Report{Head: answer.Head("Rows of people, which are not shown", ": free; the database is not asked")}
	what := "the columns, without rows"
	if p.How == policy.PreviewMock {
		what = "rows that are made up from the policy; no person is in them"
	}
	rep.All = []answer.Line{answer.Keyed("Preview", "%s", what)}
	return rep
}
