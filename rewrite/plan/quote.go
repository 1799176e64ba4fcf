package plan

import "github.com/dpsql/dpsql/rewrite/pgsyntax"

// QuoteIdent is a name as a statement has it, for rooms that do not read texts.
func QuoteIdent(s string) string { return pgsyntax.QuoteIdent(s) }

// Spelled is the table's name as a statement finds it: with its schema, unless that is the backend's usual one.
func (t *Table) Spelled() string {
	if t.Schema == "" || t.Schema == "public" || t.Schema == "main" {
		return QuoteIdent(t.Name)
	}
	return QuoteIdent(t.Schema) + "." + QuoteIdent(t.Name)
}
