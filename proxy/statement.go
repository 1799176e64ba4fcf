package proxy

import (
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// statement is one prepared statement: its types are known, nothing was run.
type statement struct {
	node     pgsyntax.Node
	text     string          // of the whole message, for positions
	prepared Prepared        // of queries; session statements have none
	inner    *statement      // the query of DECLARE
	args     []sqltype.Value // of EXPLAIN EXECUTE
	params   []sqltype.Type  // of $1 ...
	columns  []answer.Column // of the answer
	rows     bool            // the statement returns rows, if only none: it is described by a RowDescription
	bytes    int             // about its memory
	formats  sqltype.Settings
	made     time.Time // when it was given its name
	sql      bool      // by PREPARE
}

func (st *statement) size() int { return st.bytes }
func (st *statement) gone()     {}

// nodeBytes is about what one node of a tree costs: itself, and what the engine makes of it.
const nodeBytes = 512

// typeBytes is about what a parameter or a column costs.
const typeBytes = 128

// measure estimates a statement's memory.
func measure(n pgsyntax.Node, text string) int {
	switch x := n.(type) {
	case *pgsyntax.Explain:
		n = x.Query
	case *pgsyntax.Other:
		n = x.Read
	}
	nodes := 1
	if sel, ok := n.(*pgsyntax.Select); ok {
		pgsyntax.Walk(sel, &pgsyntax.Visitor{
			Query: func(*pgsyntax.Select) bool { nodes++; return true },
			Table: func(pgsyntax.TableExpr) bool { nodes++; return true },
			Expr:  func(pgsyntax.Expr) bool { nodes++; return true },
		})
	}
	return len(text) + nodes*nodeBytes
}
