package pgsyntax

import (
	"strings"
	"unicode"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// CheckNewName refuses a name with characters that are not seen, or that reorder others (bidi): what an analyst makes is shown to others.
func CheckNewName(name string) *sqlerr.Error {
	hidden := func(c rune) bool {
		return !unicode.IsPrint(c) || c == '\u2800' || unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	}
	if strings.IndexFunc(name, hidden) < 0 && strings.TrimSpace(name) != "" {
		return nil
	}
	plain := strings.Map(func(c rune) rune {
		if hidden(c) || strings.TrimSpace(name) == "" {
			return '_'
		}
		return c
	}, name)
	return sqlerr.New(sqlerr.InvalidParam, "the name %+q has characters that are not seen", name).WithHint("Take a name without them: %s.", QuoteIdent(plain))
}

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

// ident quotes a name if it must be.
func ident(s string) string {
	if wordClasses[s] <= unreserved && !needsAs[s] && !frontWords[s] && s != "" && isNameStart(s[0]) && foldName(s) == s && isPlainName(s) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func isPlainName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isName(s[i]) {
			return false
		}
	}
	return true
}

// quote is a string literal that standard_conforming_strings reads.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// frontWords are the words that the front end reads specially though PostgreSQL does not reserve them.
var frontWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`at cube current double escape exclude groups materialized nulls operator partition range
recursive rollup rows schema sets transaction unbounded unknown uescape cascade following preceding`) {
		m[w] = true
	}
	return m
}()
