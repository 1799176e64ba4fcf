package oracle

import (
	"os"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// feature is a line of the checklist of PostgreSQL's grammar: verb is what must become of it, read or refuse.
type feature struct{ verb, text string }

func features(t *testing.T) []feature {
	t.Helper()
	var text string
	for _, name := range []string{"features", "statements"} {
		b, err := os.ReadFile(room + "golden/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b) + "\n"
	}
	var out []feature
	verb := ""
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == "read", line == "refuse":
			verb = line
		case line == "----":
			verb = ""
		case verb != "" && line != "":
			out = append(out, feature{verb, line})
		}
	}
	return out
}

// TestFeatures runs the checklist past PostgreSQL's own parser: what is read is read to its tree, and what it takes is refused by name.
func TestFeatures(t *testing.T) {
	list := features(t)
	if len(list) < 300 {
		t.Errorf("%d lines", len(list))
	}
	for _, f := range list {
		ours, theirs, err := check(t, f.text)
		switch {
		case f.verb == "read" && !ours && err != nil:
			t.Errorf("not read: %v\n%s", err, f.text)
		case f.verb == "refuse" && theirs && sqlerr.ID(err) == sqlerr.Syntax.ID && !later[f.text]:
			t.Errorf("refused as a syntax error: %v\n%s", err, f.text)
		}
	}
}

// words are all of PostgreSQL's keywords, with some words that are none.
func words(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("../../../rewrite/pgsyntax/keywords.go")
	if err != nil {
		t.Fatal(err)
	}
	out := []string{"ident", "_x", "\"q\""}
	for i, part := range strings.Split(string(b), "`") {
		if i%2 == 1 {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// TestKeywords: each keyword in each place is what PostgreSQL makes of it.
func TestKeywords(t *testing.T) {
	syntax := 0
	for _, w := range words(t) {
		for _, form := range []string{"select a %", "select a %, b", "select a % from t", "select a as %", "select %", "select % from t", "select %, a", "select %.a", "select a.%", "select (a).%",
			"select * from %", "select * from s.%", "select * from %.t", "select * from t %", "select * from t as %", "select * from t % (a)", "select * from t as a (%)", "select * from t join u using (%)",
			"select * from (select 1) %", "select * from f() %", "select * from %()", "select %()", "select %(a)", "select s.%(a)", "select %.f(a)", "select % 'x'", "select s.% 'x'", "select a::%", "select a::%[]",
			"select a::%(3)", "select a::s.%", "select a::%.typ", "select cast(a as %)", "select f(% => 1)", "with % as (select 1) select 1", "with a (%) as (select 1) select 1", "select f() over %", "select f() over (%)",
			"select 1 window % as ()", "select a collate %", "select a collate %.b", "select a operator(%.+) b", "select extract(% from a)", "select case a when % then % else % end", "table %", "values (%)",
			"select % + 1", "select - %", "select not %", "select a and %", "select %[1]", "select % is null", "select a in (%)", "select f(%)", "select f(a, %)", "select a from t where %", "select a from t group by %",
			"select a from t order by %", "select a from t order by % desc", "select a from t limit %", "select a, % from t", "select count(*) % from t", "select a + 1 %", "select 'x' %", "select a[1] %", "select f(a) %",
			"select a::int %", "select a is null %", "select case when a then b end %", "select distinct %", "select all %", "select % a", "select % as a", "select \"a\" %"} {
			text := strings.ReplaceAll(form, "%", w)
			if later[text] {
				continue
			}
			ours, theirs, err := check(t, text)
			if !ours && theirs && sqlerr.ID(err) == sqlerr.Syntax.ID && !strings.Contains(err.Error(), "DEFAULT is not allowed") {
				syntax++
				t.Logf("refused as a syntax error: %v: %s", err, text)
			}
		}
	}
	if syntax > 0 {
		t.Errorf("%d refused as syntax errors", syntax)
	}
}

// later are errors of PostgreSQL too, but of what comes behind its parser; and what its version 15 does not have.
var later = map[string]bool{"select default": true, "values (1), (default)": true, "select a.b.c.d.e": true, "select json_object('a': 1)": true,
	"select current_schema 'x'": true, "select B'12'": true, "select X'0G'": true, "select $1a": true}
