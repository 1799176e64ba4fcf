package plan

import (
	"strings"

	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// QuoteIdent is a name as a statement has it, in quotes where it needs some: quote_ident.
func QuoteIdent(s string) string {
	plain := s != "" && !pgsyntax.NeedsQuotes(s)
	for i, c := range []byte(s) {
		plain = plain && (c >= 'a' && c <= 'z' || c == '_' || i > 0 && (c >= '0' && c <= '9'))
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
