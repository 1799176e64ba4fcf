package rooms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// printedLabel begins a text of the program on a page or in a golden file.
var printedLabel = regexp.MustCompile(`^(?:ERROR|DETAIL|HINT|WARNING|NOTICE): +`)

// warningLabel begins a WARNING or a NOTICE of a page's transcript.
var warningLabel = regexp.MustCompile(`^(?:WARNING|NOTICE): +`)

// noticeParts are between the things that a NOTICE lists in its one line: what was spent, what is left, and the error.
var noticeParts = regexp.MustCompile(`; `)

// figures are lines of EXPLAIN that list a figure a column.
var figures = regexp.MustCompile(`^ *(?:Expected 95%|With (?:Laplace|Gaussian) noise at this price)`)

// printedTexts are what the program prints: errors, details and hints of docs/errors.md, and the lines of EXPLAIN's golden files.
func printedTexts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	read := func(path string) []string {
		text, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(text), "\n")
	}
	seen := map[string]bool{}
	for _, line := range read("docs/errors.md") {
		if printedLabel.MatchString(line) && !seen[line] {
			seen[line] = true
			out["errors"] += printedLabel.ReplaceAllString(line, "") + ".\n\n"
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		for _, line := range read(strings.TrimPrefix(page, "../../")) {
			if what := warningLabel.FindString(line); what != "" && !seen[line] {
				seen[line] = true
				text := strings.TrimPrefix(line, what)
				if strings.HasPrefix(what, "NOTICE") {
					text = noticeParts.ReplaceAllString(text, ".\n\n")
				}
				out[strings.Trim(what, ": ")] += text + ".\n\n"
			}
		}
	}
	for _, file := range []string{"private/warnings", "stage/plan_warnings", "private/run"} {
		for _, text := range textsOf(t, "../../internal/engine/"+file+".go") {
			out["WARNING"] += text + ".\n\n"
		}
	}
	for _, path := range []string{"explain_brief", "explain", "explain_joined"} {
		printed := false
		for _, line := range read("internal/engine/testdata/" + path) {
			switch {
			case line == "----":
				printed = true
			case line == "":
				printed = false
			case figures.MatchString(line):
			case printed && !seen[line] && !strings.HasPrefix(line, "error ") && !strings.ContainsAny(line, "{}"):
				seen[line] = true
				out[path] += strings.TrimSpace(line) + ".\n\n"
			}
		}
	}
	return out
}

// commandLine is a line of a help text that is a command or a table, and no item of a list.
var commandLine = regexp.MustCompile(`(?m)^ {2,}(?:dpsql |printf |#|See it|Before your|PGPASSWORD|echo ).*$`)

// helpColumns is the most characters of a line of help, but for commands.
const helpColumns = 102

// TestHelpProse: the help of the commands keeps the limits of the pages, and fits a terminal. Help texts are the raw texts of cmd/dpsql that have several lines.
func TestHelpProse(t *testing.T) {
	files, err := filepath.Glob("../../cmd/dpsql/*.go")
	if err != nil {
		t.Fatal(err)
	}
	all, n := "", 0
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(node ast.Node) bool {
			lit, ok := node.(*ast.BasicLit)
			if !ok || !strings.HasPrefix(lit.Value, "`") || !strings.Contains(lit.Value, "\n") {
				return true
			}
			text := commandLine.ReplaceAllString(strings.Trim(lit.Value, "`"), "")
			for _, line := range strings.Split(text, "\n") {
				if len([]rune(line)) > helpColumns {
					t.Errorf("%s: a line of help has %d characters: %s", path, len([]rune(line)), beginning(line))
				}
			}
			all, n = all+text+"\n\n", n+1
			return true
		})
	}
	if n < 20 {
		t.Fatalf("%d help texts", n)
	}
	for _, problem := range proseProblems(all) {
		t.Errorf("help: %s", problem)
	}
}

// verbs are of fmt.
var verbs = regexp.MustCompile(`%[a-z%]`)

// textsOf are the texts of a file that are parts of sentences, with a word in place of each value. What begins one sentence and is continued by another text ends there.
func textsOf(t *testing.T, path string) (out []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && len(words(text)) > 4 {
				out = append(out, strings.TrimLeft(verbs.ReplaceAllString(text, "it"), ".; "))
			}
		}
		return true
	})
	if len(out) < 5 {
		t.Fatalf("%s has %d texts", path, len(out))
	}
	return out
}

// TestPrintedProse: what the program prints keeps the limits of the pages.
func TestPrintedProse(t *testing.T) {
	for what, text := range printedTexts(t) {
		for _, problem := range proseProblems(text) {
			t.Errorf("%s: %s", what, problem)
		}
	}
}
