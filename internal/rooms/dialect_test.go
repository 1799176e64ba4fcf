package rooms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dialectFolders may name dialects, as may what opens a backend.
var dialectFolders = []string{"rewrite/dialect", "internal/backend", "cmd/dpsql"}

// dialectNames are what dialects are called in Go.
var dialectNames = regexp.MustCompile(`^((funcs|backend)\.)?(Postgres|DuckDB)$|^(postgres|duckdb)\.Dialect$|^"(postgres|duckdb)"$`)

// TestNoDialectIsNamed: no file outside of the dialects' folders asks which dialect it is. What depends on it is a method of dialect.Dialect, or a form of a row of the registry, so that another dialect without it does not
// compile, or is refused, and gets no form of PostgreSQL's in silence.
func TestNoDialectIsNamed(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	for _, room := range []string{"rewrite", "sensitivity", "internal/engine", "internal/eval", "internal/pgmeta", "mlext", "proxy"} {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(room)), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			rel, _ := filepath.Rel(root, path)
			rel = filepath.ToSlash(rel)
			if slices.ContainsFunc(dialectFolders, func(f string) bool { return strings.HasPrefix(rel, f+"/") }) {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files++
			if n := comparisons(file, strings.HasPrefix(rel, "rewrite/funcs/")); n > 0 {
				t.Errorf("%s compares with a dialect's name %d times: make it a method of dialect.Dialect, or a form of a row", rel, n)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 200 {
		t.Errorf("only %d files were read", files)
	}
	for source, want := range map[string]int{
		"if d == DuckDB {}": 1, "if p.d != funcs.Postgres {}": 1, "switch d { case backend.DuckDB: }": 1, "if d.String() == \"duckdb\" {}": 1, "if d == duckdb.Dialect {}": 1,
		"m[funcs.DuckDB] = 1": 1, "x := Forms{Postgres: a, DuckDB: b}; _ = x": 0, "f.refuse(DuckDB, why)": 0, "if d == other {}": 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package x\nfunc f() { "+source+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := comparisons(file, false); got != want {
			t.Errorf("%d comparisons in %s", got, source)
		}
	}
}

// comparisons counts where a file asks which dialect it is: by == and !=, in a case, or by looking it up. A row of the registry is keyed by dialect, and another one finds nothing there.
func comparisons(file *ast.File, registry bool) (n int) {
	is := func(x ast.Expr) bool { return x != nil && dialectNames.MatchString(named(x)) }
	ast.Inspect(file, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.BinaryExpr:
			if (x.Op == token.EQL || x.Op == token.NEQ) && (is(x.X) || is(x.Y)) {
				n++
			}
		case *ast.CaseClause:
			if slices.ContainsFunc(x.List, is) {
				n++
			}
		case *ast.IndexExpr:
			if is(x.Index) && !registry {
				n++
			}
		}
		return true
	})
	return n
}

func named(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.BasicLit:
		return x.Value
	case *ast.SelectorExpr:
		return named(x.X) + "." + x.Sel.Name
	}
	return ""
}
