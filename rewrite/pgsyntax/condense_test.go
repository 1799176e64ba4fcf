package pgsyntax

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestCondensed: a long text that is shown has no comments, and none has long runs of blanks or of lines, wherever they may stand.
func TestCondensed(t *testing.T) {
	long, blanks, line := "/* "+strings.Repeat("x", 9000)+" /* nested */ */", strings.Repeat(" ", 9000), "-- "+strings.Repeat("'", 9000)+"\n"
	for _, c := range []struct{ text, want string }{
		{"SELECT /* why */ 1", "SELECT /* why */ 1"},
		{"SELECT 1" + strings.Repeat("\n", 900) + "WHERE a", "SELECT 1\nWHERE a"},
		{"SELECT 1 /*" + strings.Repeat("\n", 900) + "*/ WHERE a", "SELECT 1 WHERE a"},
		{"SELECT 'a'" + long + "\n'b'", "SELECT 'a' 'b'"},
		{"SELECT 1 " + long + "WHERE a = 2" + long, "SELECT 1 WHERE a = 2 "},
		{long + "SELECT 1", "SELECT 1"},
		{"SELECT 1" + blanks + "WHERE" + strings.Repeat("\n", 9000) + "a = 2", "SELECT 1 WHERE\na = 2"},
		{"SELECT\n  a,\n  b " + line + "FROM t", "SELECT\n  a,\n  b\nFROM t"},
		{"SELECT 'a' " + line + "'b'", "SELECT 'a'\n'b'"},
		{`SELECT e'a\''` + line + `'\'b'`, "SELECT e'a\\''\n'\\'b'"},
		{"SELECT U&'!0061'" + long + "UESCAPE" + long + "'!'" + long, "SELECT U&'!0061' UESCAPE '!' "},
		{"SELECT 1 WHERE a IN (1," + long + "2) AND b = $$/* no comment */$$ AND \"-- a name\" = '/* a text */'", "SELECT 1 WHERE a IN (1, 2) AND b = $$/* no comment */$$ AND \"-- a name\" = '/* a text */'"},
		{"SELECT" + blanks + "1, 'no end", "SELECT 1, 'no end"},
		{"SELECT 'a\n\n\n\n''b\\'", "SELECT E'a\\n\\n\\n\\n''b\\\\'"},
		{"SELECT $$a\n\n\nb$$", "SELECT $$a\n\n\nb$$"},
		{"SELECT 'a'\n'b'\n'c'\n'd'\n'e', 2", "SELECT 'abcde', 2"},
		{"SELECT \"a\n\n\n\nb\"", `SELECT "a\n\n\n\nb"`},
	} {
		if got := Condensed(c.text, 1<<20); got != c.want {
			t.Errorf("%.40q: %.200q", c.text, got)
		}
	}
}

// TestCondensedConstants: no constant or name, however long, and however many of them, hides what stands behind it. Its ends and its length are shown.
func TestCondensedConstants(t *testing.T) {
	const want = " AND patient_id = 1 AND "
	for _, long := range []string{
		"'" + strings.Repeat(" ", 9000) + "'", "'" + strings.Repeat("\n", 9000) + "'", "e'" + strings.Repeat(`\n`, 9000) + "'", "$x$" + strings.Repeat("'\r\n", 9000) + "$x$", "U&'" + strings.Repeat(`\000A`, 900) + "'",
		"B'" + strings.Repeat("01", 9000) + "'", "X'" + strings.Repeat("0f", 9000) + "'", strings.Repeat("1", 9000), strings.Repeat("n", 9000), `"` + strings.Repeat("\n", 9000) + `"`, strings.Repeat("'a'\n", 9000) + "'a'",
	} {
		got := Condensed("SELECT 1 WHERE "+long+want+long, 2000)
		if !strings.Contains(got, want) || !sqltype.IsCut(got) || strings.Count(got, "\n") > 0 {
			t.Errorf("%.10q: %q", long, got)
		}
		if got := Condensed(long+strings.Repeat(want+long, 7), 1023); strings.Count(got, want) != 7 {
			t.Errorf("%.10q, often: %q", long, got)
		}
	}
	if got := Condensed("SELECT '"+strings.Repeat("ä", 500)+"'", 2000); got != "SELECT '"+strings.Repeat("ä", 57)+" ... (cut; 1000 bytes) ... "+strings.Repeat("ä", 57)+"'" {
		t.Errorf("%q", got)
	}
	if got := Condensed(strings.Repeat("a AND ", 4000), 1023); len(got) > 1023 || !strings.Contains(got, " ... (cut; 24000 bytes) ... ") {
		t.Errorf("%q", got)
	}
}

// TestCondensedMeans: each statement of testdata/golden means the same without the comments before its words.
func TestCondensedMeans(t *testing.T) {
	n := 0
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			list, err := Parse(d.Input)
			if d.Cmd == "refuse" || err != nil {
				return d.Expected
			}
			for _, st := range list {
				toks, err := lex(st.Text, MaxTokens)
				if err != nil {
					t.Fatal(err)
				}
				var b strings.Builder
				at := 0
				for i := range toks {
					b.WriteString(st.Text[at:toks[i].pos] + "/*" + strings.Repeat("x", 1000) + "*/")
					at = toks[i].pos
				}
				again, err := Parse(Condensed(b.String()+st.Text[at:], 1<<20))
				if err != nil || len(again) != 1 || Print(again[0].Node) != Print(st.Node) {
					t.Errorf("%q: %v", st.Text, err)
				}
				n++
			}
			return d.Expected
		})
	})
	if n < 80 {
		t.Errorf("%d statements", n)
	}
}
