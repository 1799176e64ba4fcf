package rooms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mechanismTables are the tables that have a row for each type of event, or for each kind of noise, and what a table may leave out.
var mechanismTables = []struct{ file, table, without string }{
	{"internal/base/dp/events.go", "Events", ""},                                 // what a ledger holds
	{"budget/mechanisms.go", "mechanisms", ""},                                   // what it costs
	{"noise/mechanism.go", "laws", "GaussianNormNoise PickNoise"},                // samplers; picks are noise.PermuteAndFlip
	{"internal/base/dp/chosen.go", "kinds", ""},                                  // how its scale is read
	{"budget/mechanisms.go", "lawLosses", ""},                                    // what it costs at a bound that is chosen, and in a selection
	{"internal/engine/price/quote.go", "mechanisms", "Auto"},                     // what a plan runs
	{"internal/engine/finish/combine.go", "laws", "GaussianNormNoise PickNoise"}, // errors; a pick is not a number with noise
	{"internal/engine/stage/explain_bounds.go", "noiseWords", ""},                // EXPLAIN's words
}

// TestMechanismTables: an event or a kind of noise that internal/base/dp declares, and a mechanism of internal/engine/price, has a row in each table, and nothing else asks which one it is. So a new one is noticed wherever it is to be added.
func TestMechanismTables(t *testing.T) {
	events, kinds := declaredMechanisms(t, "base/dp", "NoiseKind")
	_, mechanisms := declaredMechanisms(t, "engine/price", "Mechanism")
	if len(events) < 11 || len(kinds) < 5 || len(mechanisms) < 3 {
		t.Fatalf("there are events %v, noise %v and mechanisms %v", events, kinds, mechanisms)
	}
	for _, table := range mechanismTables {
		rows := map[string]bool{}
		found := false
		for _, d := range sourceFile(t, table.file).Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					return n.Name.Name == table.table
				case *ast.ValueSpec:
					return n.Names[0].Name == table.table
				case *ast.TypeSpec:
					return false
				case *ast.Ident:
					rows[n.Name], found = true, true
				}
				return true
			})
		}
		want := kinds
		if rows[events[0]] && !rows["NoiseKind"] {
			want = events
		}
		if rows["Mechanism"] {
			want = mechanisms
		}
		for _, name := range want {
			if !rows[name] && !slices.Contains(strings.Fields(table.without), name) {
				t.Errorf("%s of %s has no row for %s", table.table, table.file, name)
			}
		}
		if !found {
			t.Errorf("%s has no %s", table.file, table.table)
		}
	}
	list, exports := packages(t)
	for dir, names := range list {
		if strings.HasPrefix(dir, "internal/testkit") {
			continue
		}
		for _, at := range mechanismComparisons(checked(t, dir, names, exports)) {
			t.Errorf("%s compares a mechanism with a constant: ask a table for what follows from it", at)
		}
	}
	for body, want := range map[string]int{
		"return k == dp.GaussianNoise":                             1,
		"return dp.LaplaceNoise != k":                              1,
		"const g = dp.GaussianNoise; return k == g":                1,
		"return k == \"gaussian\"":                                 1,
		"switch k { case dp.PickNoise, dp.LaplaceNoise: }; return": 2,
		"return k == o || k == \"\"":                               0,
		"return k.HasL2Scale()":                                    0,
	} {
		p := &pkg{fset: token.NewFileSet()}
		f, err := parser.ParseFile(p.fset, "x.go", "package x\nimport \""+module+"internal/base/dp\"\nfunc f(k, o dp.NoiseKind) (yes bool) { "+body+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		p.syntax = []*ast.File{f}
		p.check(t, "x", exports)
		if got := mechanismComparisons(p); len(got) != want {
			t.Errorf("%s: %d comparisons found, not %d", body, len(got), want)
		}
	}
}

// mechanismComparisons are the places that compare a mechanism or a kind of noise with a constant that names one.
func mechanismComparisons(p *pkg) (at []string) {
	is := func(x ast.Expr) bool {
		named, ok := types.Unalias(p.info.TypeOf(x)).(*types.Named)
		if !ok || named.Obj().Pkg() == nil {
			return false
		}
		switch strings.TrimPrefix(named.Obj().Pkg().Path(), module) + "." + named.Obj().Name() {
		case "internal/base/dp.NoiseKind", "internal/engine/price.Mechanism":
			v := p.info.Types[x].Value
			return v != nil && v.ExactString() != `""`
		}
		return false
	}
	for _, f := range p.syntax {
		ast.Inspect(f, func(n ast.Node) bool {
			var list []ast.Expr
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					list = []ast.Expr{n.X, n.Y}
				}
			case *ast.CaseClause:
				list = n.List
			}
			for _, x := range list {
				if is(x) {
					at = append(at, p.fset.Position(x.Pos()).String())
				}
			}
			return true
		})
	}
	return at
}

// declaredMechanisms are the types of a package that are events, and its constants of a type.
func declaredMechanisms(t *testing.T, dir, of string) (events, kinds []string) {
	t.Helper()
	files, err := filepath.Glob("../" + dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		ast.Inspect(sourceFile(t, filepath.Join("internal", "rooms", f)), func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl: // an event has a name
				if n.Name.Name == "Name" && n.Recv != nil && of == "NoiseKind" {
					events = append(events, n.Recv.List[0].Type.(*ast.Ident).Name)
				}
			case *ast.ValueSpec:
				if kind, ok := n.Type.(*ast.Ident); ok && kind.Name == of {
					kinds = append(kinds, n.Names[0].Name)
				}
			}
			return true
		})
	}
	return events, kinds
}

func sourceFile(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
