package engine_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
)

// pair is a refused statement and what its hint makes of it.
type pair struct {
	ID       string     `yaml:"id"`
	Refused  []string   `yaml:"refused"`  // only the last one is refused
	Accepted []string   `yaml:"accepted"` // all are
	Owner    [][]string `yaml:"owner"`    // the policy's edits that the hint asks the owner for
	Place    `yaml:",inline"`
}

// expanded writes out {{repeat "x" n}} and {{list "x%d" n}}.
func expanded(t *testing.T, list []string) []string {
	t.Helper()
	out := slices.Clone(list)
	for i, text := range out {
		if !strings.Contains(text, "{{") {
			continue
		}
		var b strings.Builder
		if err := template.Must(template.New("").Funcs(template.FuncMap{"repeat": strings.Repeat, "list": numbered}).Parse(text)).Execute(&b, nil); err != nil {
			t.Fatal(err)
		}
		out[i] = b.String()
	}
	return out
}

// numbered is a list of n texts with their numbers.
func numbered(format string, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(list, ", ")
}

// hintSource is one hint in the source: its words, with a wildcard for each verb.
type hintSource struct {
	at, words string
	match     *regexp.Regexp
}

// unpaired are hints without a pair, and why. Their words stand here as they begin.
var unpaired = map[string]string{
	"Write '%s' for '%s'.":                        "the clinic has no enum (TestEnums)",
	"Write it with fewer: a product":              "it takes more than a thousand operators: TestTooManyOperators asks it",
	"Each place that reads a computed column":     "it takes a prediction of hundreds of levels: TestWalkable asks it",
	"The owner can keep its values in another":    "the clinic has no column of such a type: TestUnreadOfPublicTables (internal/policy) asks it",
	"The owner can add a unique constraint there": "it asks for a change of the database; checked in internal/policy",
	"Use shorter lists and fewer expressions":     "the printer's limit is above the front end's",
	"The reason: ":                                 "the registry's own words, which name no statement",
	"It has no form there that cannot fail":        "every row has its reason: rewrite/funcs holds that",
	"Cast each to one type, such as numeric(18,4)": "needs numerics whose scale nothing in the plan tells",
	"Write the offset, such as":                    "timetz with a named zone: the offset follows from the day",
	"Cast the output of the non-recursive term":    "recursive queries are bound and not computed",
	"Where the data set is in PostgreSQL":          "DuckDB, which these tests have, is where it is not",
	"Use 9, 0, one point, commas, and FM":          "DuckDB, which these tests have, formats no numbers; rewrite/funcs checks it on PostgreSQL",
	"Use varchar, which has no blanks at its end":  "DuckDB, which these tests have, has no char(n)",
	"Use fewer, and fewer expressions":             "of PostgreSQL's texts alone; rewrite/sqlgen checks it there",
	"Number the elements of an array that":         "DuckDB, which these tests have, has no arrays; TestUnnest checks it on PostgreSQL",
	"Name it in the query of TRAIN, or in":         "the DuckDB of these tests has no lists; TestTrainArrays has",
	"Use -> and ->>.":                              "json access is being written",
	"Join tables of two kinds of units at most.":   twoKinds,
	"Join its table instead, on the units of each": twoKinds,
	"Use an inner join: whether a row is padded":   twoKinds,
	"Join the tables themselves, and aggregate":    twoKinds,
	"COUNT, SUM and AVG of values that are not":    twoKinds,
	"Ask without GROUP BY: the policy hides":       twoKinds,
	"Take a part that is not: greatest(x, 0)":      twoKinds,
}

const twoKinds = "of policies with units of two kinds: sensitivity/divide/testdata/pairs has them beside what is accepted"

// hinted are the rooms whose hints need a pair.
var hinted = []string{"rewrite/pgsyntax", "rewrite/plan", "rewrite/dialect", "rewrite/funcs", "rewrite/sqlgen", "sensitivity", "sensitivity/*", "internal/base/sqltype"}

// TestHints: a hint's rewriting is accepted, and each hint of the rooms that read and analyse has such a pair.
func TestHints(t *testing.T) {
	text, err := os.ReadFile("testdata/hints/pairs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var pairs []pair
	if err := yaml.UnmarshalWithOptions(text, &pairs, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	var sources []hintSource
	for _, room := range hinted {
		sources = append(sources, hintsOf(t, room)...)
	}
	w := newSite(t)
	covered := map[string]bool{}
	for _, p := range pairs {
		if p.On == "" {
			p.On = "clinic"
		}
		last := p.Refused[len(p.Refused)-1]
		t.Run(subtestName(last), func(t *testing.T) {
			pe, id := w.refusal(t, p.Place, expanded(t, p.Refused))
			if id != p.ID || pe.Hint == "" {
				t.Errorf("refused with %s: %s, hint %q", id, pe.Message, pe.Hint)
			}
			after := p.Place
			after.Policy = slices.Concat(p.Policy, p.Owner)
			w.accepted(t, after, expanded(t, p.Accepted))
			taken := len(p.Owner) > 0
			for _, s := range sources {
				if m := s.match.FindStringSubmatch(pe.Hint); m != nil {
					covered[s.at] = true
					taken = taken || strings.Contains(s.words, "owner") || followed(m[1:], strings.Join(p.Accepted, "\n"))
				}
			}
			if !taken && slices.ContainsFunc(sources, func(s hintSource) bool { return s.match.MatchString(pe.Hint) }) {
				t.Errorf("nothing of the hint %q is in %q", pe.Hint, p.Accepted)
			}
		})
	}
	used := map[string]bool{}
	for _, s := range sources {
		why := ""
		for words := range unpaired {
			if strings.HasPrefix(s.words, words) {
				why, used[words] = words, true
			}
		}
		switch {
		case why != "" && covered[s.at]:
			t.Errorf("%s: %q has a pair and needs no excuse", s.at, s.words)
		case why == "" && !covered[s.at]:
			t.Errorf("%s: no pair in testdata/hints/pairs.yaml has the hint %q", s.at, s.words)
		}
	}
	for words := range unpaired {
		if !used[words] {
			t.Errorf("no hint begins with %q any more", words)
		}
	}
	t.Logf("%d pairs, %d hints, %d without a pair", len(pairs), len(sources), len(used))
}

var parts = regexp.MustCompile(`, | with `)

// followed: of what the statement itself put into the hint, a part is in the rewriting.
func followed(values []string, rewriting string) bool {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer(`"`, "", "'", "").Replace(s)) }
	for _, v := range values {
		for _, part := range parts.Split(v, -1) {
			if strings.Contains(plain(rewriting), plain(part)) {
				return true
			}
		}
	}
	return len(values) == 0
}

func subtestName(text string) string {
	if len(text) > 60 {
		return text[:60]
	}
	return text
}

// hintsOf finds the hints of a room's source: the text of each WithHint; where that is a value, each sentence of its function.
func hintsOf(t *testing.T, room string) []hintSource {
	t.Helper()
	dir := filepath.Join("..", "..", room)
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	var out []hintSource
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || sel.Sel.Name != "WithHint" {
					return true
				}
				texts := literals(call.Args[0])
				if len(texts) == 1 && texts[0] == "%s" {
					texts = slices.DeleteFunc(literals(d), func(s string) bool { return !strings.HasSuffix(s, ".") })
				}
				if len(texts) == 0 {
					t.Errorf("%s: a hint without words", set.Position(call.Pos()))
				}
				for _, s := range texts {
					out = append(out, hintSource{room + "/" + filepath.Base(file) + ": " + s, s, wildcards(s)})
				}
				return true
			})
		}
	}
	return out
}

// literals are the texts in a piece of source.
func literals(n ast.Node) (out []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				out = append(out, s)
			}
		}
		return true
	})
	return out
}

var verb = regexp.MustCompile(`%(\\\[\d\\\])?[a-z]`)

// wildcards matches what a format makes. Numbers are limits, which a rewriting keeps and does not repeat.
func wildcards(format string) *regexp.Regexp {
	text := verb.ReplaceAllStringFunc(regexp.QuoteMeta(format), func(v string) string {
		if strings.HasSuffix(v, "d") {
			return `[0-9]+`
		}
		return "(.*)"
	})
	return regexp.MustCompile("(?s)^" + text + "$")
}
