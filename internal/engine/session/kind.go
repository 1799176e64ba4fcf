package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Kind is what a prepared statement does, by the sort of statement that it is.
type Kind interface {
	// Columns describe the answer.
	Columns() []answer.Column
	// Run answers the statement as it was analysed last.
	Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error)
}

// Statement is what a prepared statement is bound to, and what it was analysed under. Each analysis makes another one.
type Statement struct {
	Session  *Session
	Text     string            // as it was sent, for the ledger
	Explain  *pgsyntax.Explain // set for EXPLAIN
	Nameless bool              // its errors are told by those who ask for it, by other names
	OfCube   bool              // it makes a cube: always anew, at the price that stands behind it
	Query    *plan.Query       // nil: a statement about models
	Under    Settings
	Filter   *budget.Filter
	Values   sqltype.Settings
	Literals sqltype.Settings // by which its literals are read: those of its first analysis (Session.Binding)
	World    *server.World    // and its policy
}

// Binding is what a statement is bound with. As in PostgreSQL its literals are read by the settings of its first analysis (Parse, PREPARE) whatever is SET later, until a change of search_path makes the
// names be looked up again.
func (s *Session) Binding(literals *sqltype.Settings) plan.BindOptions {
	if literals.Path != s.Values.Path {
		*literals = s.Values
	}
	return plan.BindOptions{Session: s.Constants(), Values: s.Values, Literals: literals}
}

// With is the statement bound to a query, under what the session has now.
func (st *Statement) With(q *plan.Query) *Statement {
	out, s := *st, st.Session
	out.Query, out.Under, out.Filter, out.Values, out.World = q, s.Now, s.Filter, s.Values, s.World
	return &out
}

// IsOutdated reports that a SET, a reload or another window came since the analysis.
func (st *Statement) IsOutdated() bool {
	s := st.Session
	return s.Now != st.Under || s.Values != st.Values || s.World != st.World || *s.Filter != *st.Filter
}

// Columns describe the answer by the statement's own names.
func (st *Statement) Columns() []answer.Column {
	out := make([]answer.Column, len(st.Query.Outputs))
	for i, o := range st.Query.Outputs {
		out[i] = answer.Column{Name: o.Name, Type: o.Type, TableOID: o.TableOID, Attr: o.Attr}
	}
	return out
}

// The bytes of a parameter's value in the ledger's text; those where there are more than manyValues; and how many are shown.
const (
	mostValue  = 256
	shortValue = 64
	manyValues = 50
	mostValues = 200
)

// StatementText is the statement's text for the ledger, with the values of its parameters behind it, on one line: ledger.MaxText of each at most. Long ones are cut each by itself, so that none hides another.
func (p *Statement) StatementText(args []sqltype.Value) string {
	if p.Query == nil {
		return p.Text
	}
	b, before := &strings.Builder{}, "\n-- "
	args = args[:min(len(args), len(p.Query.Params))]
	most := mostValue
	if len(args) > manyValues {
		most = shortValue
	}
	for i, v := range args {
		if i == mostValues {
			fmt.Fprintf(b, "%s%d more values)", sqltype.CutMark, len(args)-i)
			break
		}
		b.WriteString(before)
		before = ", "
		if v == nil {
			fmt.Fprintf(b, "$%d = NULL", i+1)
			continue
		}
		text, err := sqltype.Encode(v, p.Query.Params[i], sqltype.TextFormat, nil)
		if err != nil {
			text = []byte("?")
		}
		fmt.Fprintf(b, "$%d = '%s'", i+1, sqltype.CutText(inOneLine.Replace(string(text)), most))
	}
	return p.Text + b.String()
}

// inOneLine writes a text as a constant's.
var inOneLine = strings.NewReplacer("'", "''", "\n", `\n`, "\r", `\r`)
