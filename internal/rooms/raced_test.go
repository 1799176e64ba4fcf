package rooms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRaced: make test-race runs every package that starts a goroutine, or make test-race-engine every test of a file of it that starts one.
func TestRaced(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	variable := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + ` += (.*)$`).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf("the Makefile has no %s", name)
		}
		return m[1]
	}
	in := strings.Fields(variable("RACE_IN"))
	whole := exec.Command("go", append([]string{"list", "-f", "{{.ImportPath}}"}, strings.Fields(variable("RACE"))...)...)
	whole.Dir = root
	out, err := whole.Output()
	if err != nil {
		t.Fatal(err)
	}
	raced := slices.Clone(in)
	for _, path := range strings.Fields(string(out)) {
		raced = append(raced, strings.TrimPrefix(path, module))
	}
	list, _ := packages(t)
	for dir, files := range list {
		if slices.Contains(raced, dir) || strings.HasPrefix(dir, "cmd/") || strings.Contains(dir, "/testkit/") {
			continue
		}
		for _, file := range files {
			if file := filepath.Join(dir, file); startsGoroutine(t, filepath.Join(root, file)) {
				t.Errorf("%s starts a goroutine, and its package does not run under the race detector", file)
			}
		}
	}

	names := exec.Command("sh", "-c", strings.NewReplacer("$$", "$", "$(RACE_IN:%=%/*_test.go)", strings.Join(in, "/*_test.go ")+"/*_test.go").Replace(variable("RACED")))
	names.Dir = root
	out, err = names.Output()
	if err != nil {
		t.Fatal(err)
	}
	named, found := strings.Split(strings.TrimSpace(string(out)), "|"), 0
	for _, dir := range in {
		files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !startsGoroutine(t, file) {
				continue
			}
			tests, err := testsOf(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range tests {
				if found++; !slices.Contains(named, name) {
					t.Errorf("%s: %s does not run under the race detector", file, name)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d tests are in files that start goroutines", found)
	}
}

// startsGoroutine says whether a file has a go statement or calls a group's Go.
func startsGoroutine(t *testing.T, path string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	starts := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.SelectorExpr:
			starts = starts || n.Sel.Name == "Go"
		}
		return true
	})
	return starts
}
