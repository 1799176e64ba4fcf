package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/engine/answer"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// kind is what a prepared statement does, by the sort of statement that it is.
type kind interface {
	// Columns describe the answer.
	Columns() []answer.Column
	// Run answers the statement as it was analysed last.
	Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error)
}

// statement is what a prepared statement is bound to, and what it was analysed under. Each analysis makes another one.
type statement struct {
	session  *Session
	text     string            // as it was sent, for the ledger
	explain  *pgsyntax.Explain // set for EXPLAIN
	nameless bool              // its errors are told by those who ask for it, by other names
	query    *plan.Query       // nil: a statement about models
	under    settings
	filter   *budget.Filter
	values   sqltype.Settings
	world    *world // and its policy
}

// with is the statement bound to a query, under what the session has now.
func (st *statement) with(q *plan.Query) *statement {
	out, s := *st, st.session
	out.query, out.under, out.filter, out.values, out.world = q, s.now, s.filter, s.values, s.world
	return &out
}

// isOutdated reports that a SET, a reload or another window came since the analysis.
func (st *statement) isOutdated() bool {
	s := st.session
	return s.now != st.under || s.values != st.values || s.world != st.world || *s.filter != *st.filter
}

// Columns describe the answer by the statement's own names.
func (st *statement) Columns() []answer.Column {
	out := make([]answer.Column, len(st.query.Outputs))
	for i, o := range st.query.Outputs {
		out[i] = answer.Column{Name: o.Name, Type: o.Type, TableOID: o.TableOID, Attr: o.Attr}
	}
	return out
}

// statementText is the statement's text for the ledger, with the values of its parameters behind it.
func (p *statement) statementText(args []sqltype.Value) string {
	b := &strings.Builder{}
	b.WriteString(p.text)
	if p.query == nil || b.Len() > ledger.MaxText {
		return b.String()
	}
	before := "\n-- "
	for i, v := range args[:min(len(args), len(p.query.Params))] {
		if b.Len() > ledger.MaxText {
			break
		}
		b.WriteString(before)
		before = ", "
		if v == nil {
			fmt.Fprintf(b, "$%d = NULL", i+1)
			continue
		}
		text, err := sqltype.Encode(v, p.query.Params[i], sqltype.TextFormat, nil)
		if err != nil {
			text = []byte("?")
		}
		fmt.Fprintf(b, "$%d = '%s'", i+1, strings.ReplaceAll(string(text), "'", "''"))
	}
	return b.String()
}
