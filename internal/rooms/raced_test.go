package rooms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRaced: make test-race runs every test of a file of the engine's tests that starts a goroutine.
func TestRaced(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^RACED = (.*)$`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("the Makefile has no RACED")
	}
	list := exec.Command("sh", "-c", strings.ReplaceAll(m[1], "$$", "$"))
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	raced := map[string]bool{}
	for _, name := range strings.Split(strings.TrimSpace(string(out)), "|") {
		raced[name] = true
	}
	var files []string
	for _, of := range []string{"", "session", "stage", "model"} {
		list, err := filepath.Glob(filepath.Join(root, "internal", "engine", of, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	found := 0
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
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
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && starts && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				if found++; !raced[f.Name.Name] {
					t.Errorf("%s: %s is not run under the race detector", file, f.Name.Name)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d tests are in files that start goroutines", found)
	}
}
