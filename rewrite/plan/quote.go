package plan

import "github.com/dpsql/dpsql/rewrite/pgsyntax"

// QuoteIdent is a name as a statement has it, for rooms that do not read texts.
func QuoteIdent(s string) string { return pgsyntax.QuoteIdent(s) }
