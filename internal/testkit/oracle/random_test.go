package oracle

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// TestExpressions: rows of operands and operators, made without regard to precedence, are grouped as PostgreSQL groups them or refused
// with it.
func TestExpressions(t *testing.T) {
	prefix := strings.Split("- + NOT @ !! ~ |/ OPERATOR(pg_catalog.-)", " ")
	infix := strings.Split("+ - * / % ^ < > = <= >= <> != || -> ->> @> && | & # << ~ ~* !~ and or like ilike between in is overlaps", " ")
	infix = append(infix, "not like", "similar to", "is distinct from", "is not distinct from", "at time zone", "escape", "operator(s.*)", "= any (array[1]) +", "not in (1) and",
		"between symmetric a and", "not between 1 and", "collate x ||", "in (1, 2) =", "<> all (select 1) or", "between a + 1 and b and")
	postfix := strings.Split("::int is_null isnull notnull [1] [1:2] [:] .f .* ::text[] filter", " ")
	postfix = append(postfix, "is null", "is not null", "is true", "is not unknown", `collate "C"`, "is normalized", "is not nfc normalized", "in (1)", "::numeric(3, 1)", "at time zone 'utc'",
		"filter (where a)", "over ()", "over w", "within group (order by a)", "::interval day to second(2)")
	operand := []string{"a", "t.b", "1", "1.5", "'x'", "$1", "(a)", "(a, b)", "row(a, b)", "f(a)", "(a + b)", "(select 1)", "array[1]", "null", "date 'x'", "interval '1' day", "case when a then b end",
		"exists (select 1)", "cast(a as int)", "current_date", "t.*", "count(*)", "f(x => a + 1)", "extract(year from a)", "position(a in b)", "(a).c", "a[1]", "coalesce(a, b)"}
	rnd := rand.New(rand.NewPCG(seed(t), 3))
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	random(t, 40000, func() string {
		var b strings.Builder
		b.WriteString("select ")
		for n := rnd.IntN(5); ; n-- {
			for rnd.IntN(4) == 0 {
				b.WriteString(pick(prefix) + " ")
			}
			b.WriteString(pick(operand))
			for rnd.IntN(3) == 0 {
				b.WriteString(" " + pick(postfix))
			}
			if n == 0 {
				return b.String()
			}
			b.WriteString(" " + pick(infix) + " ")
		}
	})
}

// TestLexemes: pieces of tokens put together without blanks are cut as PostgreSQL cuts them.
func TestLexemes(t *testing.T) {
	pieces := []string{"a", "B", "_", "$", "1", "0", ".", "..", "e", "E", "x", "+", "-", "*", "/", "<", ">", "=", "~", "!", "@", "#", "%", "^", "&", "|", "`", "?", "::", ":", ":=", "=>", "(", ")", "[", "]", ",",
		"'", "''", "'a'", "\"", "\"q\"", "\\", "\\n", "E'", "e'\\x41'", "U&'", "u&\"\\0061\"", " uescape '!'", "B'01'", "x'1f'", "$$", "$a$", "$a", "--", "--c\n", "/*", "*/", "/*c*/", "\n", " ", "\t", "\r", "\v", "\f", "é", "日", "1e5", ".5", "1.",
		"0x1f", "$1", ";", "null", "as", "and", "'\n'", "1_0", "N'"}
	rnd := rand.New(rand.NewPCG(seed(t), 4))
	random(t, 40000, func() string {
		var b strings.Builder
		b.WriteString("select ")
		for n := 1 + rnd.IntN(7); n > 0; n-- {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		if afterString.MatchString(b.String()) {
			return "select 1"
		}
		return b.String()
	})
}

// afterString is a comment right behind a string, or before its UESCAPE, which pg_query's changed lexer cuts in another way than PostgreSQL's.
var afterString = regexp.MustCompile(`'\s*--|(--.*\n|\*/)\s*uescape`)

// random asks both parsers about so many texts.
func random(t *testing.T, rounds int, make func() string) {
	t.Helper()
	var both, syntax int
	for i := 0; i < rounds && !t.Failed(); i++ {
		text := make()
		ours, theirs, err := check(t, text)
		switch {
		case ours && theirs:
			both++
		case theirs && sqlerr.ID(err) == sqlerr.Syntax.ID && !strings.Contains(err.Error(), "\"$") && !strings.Contains(err.Error(), "digit"):
			syntax++
			if testing.Verbose() {
				t.Logf("%v\n%s", err, text)
			}
		}
	}
	t.Logf("%d texts: %d read by both, %d refused as a syntax error that PostgreSQL takes", rounds, both, syntax)
	if both < rounds/20 || syntax > both/30 {
		t.Errorf("%d read by both, %d refused as a syntax error that PostgreSQL takes", both, syntax)
	}
}
