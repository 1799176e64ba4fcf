package funcs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// TestVerbatim: a row's print holds its arguments as they were printed, none of them edited (TRY_CAST was once replaced by CAST in them), and outside of its constants' literals:
// an argument that is put there ends the literal with its own quotes, and the statement goes on with what an analyst wrote in it.
func TestVerbatim(t *testing.T) {
	printed, literals := 0, 0
	for _, f := range tested(t) {
		for _, result := range results(f) {
			for _, size := range []int{0, inlineLimit} {
				for _, d := range []dialect.Dialect{Postgres, DuckDB} {
					args, marks := make([]string, len(f.Args)), make([]string, len(f.Args))
					for i := range args {
						marks[i] = fmt.Sprintf("«%d»", i)
						if fixed[f] == nil || !slices.Contains(f.Const, i) {
							args[i] = fmt.Sprintf(`TRY_CAST(CASE WHEN %s THEN t END || {x}{y}{z}{v}{o}{sum} "\1$1%%s" || "s2"%s AS NUMERIC)`, marks[i], strings.Repeat(" ", size))
						}
					}
					for _, form := range []Forms{f.TotalForm, f.RaisingForm} {
						if form == nil {
							continue
						}
						if problem := edited(form.Print(d, args, types(f), result), args, marks); problem != "" {
							t.Errorf("%s on %s: %s", signature(f, result), d, problem)
						}
						text := form.Print(d, marks, types(f), result)
						if text != "" {
							printed++
						}
						if strings.Contains(text, `\x7B`) {
							literals++
						}
						if problem := inLiteral(text); problem != "" {
							t.Errorf("%s on %s: %s", signature(f, result), d, problem)
						}
					}
				}
			}
		}
	}
	if printed < 5000 || literals < 10 {
		t.Errorf("%d forms were printed, %d with a brace in a literal", printed, literals)
	}
}

// edited tells of a mark that stands in a text without the argument that it is of.
func edited(text string, args, marks []string) string {
	left := text
	for _, a := range args {
		if a != "" {
			left = strings.ReplaceAll(left, a, "")
		}
	}
	for i, m := range marks {
		if args[i] != "" && strings.Contains(left, m) {
			return "an argument was edited: " + text
		}
	}
	return ""
}

// inLiteral tells of a mark inside of quotes.
func inLiteral(text string) string {
	in, escapes := false, false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\'':
			in, escapes = !in, i > 0 && text[i-1] == 'E'
		case in && escapes && text[i] == '\\':
			i++
		case in && strings.HasPrefix(text[i:], "«"):
			return "an argument stands in a literal: " + text
		}
	}
	return ""
}

// TestVerbatimBites: an edited argument and one in a literal are found.
func TestVerbatimBites(t *testing.T) {
	args, marks := []string{"TRY_CAST(«0» AS NUMERIC)"}, []string{"«0»"}
	for text, bad := range map[string]bool{"f(TRY_CAST(«0» AS NUMERIC))": false, "f(CAST(«0» AS NUMERIC))": true, "f()": false} {
		if (edited(text, args, marks) != "") != bad {
			t.Errorf("%s: %v expected", text, bad)
		}
	}
	for text, bad := range map[string]bool{"f(«0», 'a''b')": false, "f('a''«0»')": true, `f(E'\'', «0»)`: false, `f(E'\'«0»')`: true} {
		if (inLiteral(text) != "") != bad {
			t.Errorf("%s: %v expected", text, bad)
		}
	}
	plain := pgFill("f('{x}', {x})", marks)
	if inLiteral(plain) == "" || inLiteral(pgFill("f("+quoted("{x}")+", {x})", marks)) != "" {
		t.Error("a brace of a constant is taken for a place")
	}
	f := numberCast(sqltype.OIDNumeric, sqltype.OIDFloat8)
	if got := f.RaisingForm.Print(DuckDB, []string{"TRY_CAST(x AS VARCHAR)"}, types(f), sqltype.Float8); got != "CAST(CAST(TRY_CAST(x AS VARCHAR) AS VARCHAR) AS double precision)" {
		t.Error(got)
	}
}
