package pgsyntax

import "strings"

// QuoteIdent is a name as a statement has it, in quotes where it needs some: quote_ident.
func QuoteIdent(s string) string {
	plain := s != "" && !NeedsQuotes(s)
	for i, c := range []byte(s) {
		plain = plain && (c >= 'a' && c <= 'z' || c == '_' || i > 0 && (c >= '0' && c <= '9'))
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// Spelled is a table's name as a statement has it, with the schema that it was named with.
func (t *TableName) Spelled() string {
	if t.Schema == "" {
		return QuoteIdent(t.Name)
	}
	return QuoteIdent(t.Schema) + "." + QuoteIdent(t.Name)
}
