package rooms

import (
	"go/ast"
	"go/constant"
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
	{"internal/base/dp/events.go", "Events", ""},                                               // what a ledger holds
	{"budget/mechanisms.go", "mechanisms", ""},                                                 // what it costs
	{"noise/mechanism.go", "laws", "GaussianNormNoise PickNoise"},                              // samplers; picks are noise.PermuteAndFlip
	{"internal/base/dp/chosen.go", "kinds", ""},                                                // how its scale is read
	{"internal/base/dp/chosen.go", "Mechanisms", "GaussianNormNoise PickNoise TruncatedNoise"}, // what may be asked for
	{"budget/mechanisms.go", "lawLosses", ""},                                                  // what it costs at a bound that is chosen, and in a selection
	{"internal/engine/price/quote.go", "mechanisms", ""},                                       // what a plan runs
	{"internal/engine/finish/combine.go", "laws", "GaussianNormNoise PickNoise"},               // errors; a pick is not a number with noise
	{"internal/engine/stage/explain_bounds.go", "noiseWords", ""},                              // EXPLAIN's words
}

// TestMechanismTables: an event or a kind of noise that internal/base/dp declares, and a mechanism of internal/engine/price, has a row in each table, and no other code names one. So a new one is noticed wherever it is to be added.
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
	words := noiseWords(t, checked(t, "internal/base/dp", list["internal/base/dp"], exports))
	if len(words) != len(kinds) {
		t.Fatalf("the words of %v are %v", kinds, words)
	}
	for dir, names := range list {
		if strings.HasPrefix(dir, "internal/testkit") {
			continue
		}
		for _, at := range mechanismsNamed(checked(t, dir, names, exports), words) {
			t.Errorf("%s names a mechanism: ask a table for what follows from it", at)
		}
	}
	for body, want := range map[string]int{
		"return of.Allows(dp.GaussianNoise)":                       1,
		"k = dp.GaussianNoise; return":                             1,
		"k = dp.PickNoise; return":                                 0,
		"return string(k) == \"gaussian\"":                         1,
		"for range []string{\"auto\", \"laplace\"} {}; return":     1,
		"return k == dp.GaussianNoise":                             1,
		"return dp.LaplaceNoise != k":                              1,
		"const g = dp.GaussianNoise; return k == g":                2,
		"return k == \"gaussian\"":                                 1,
		"switch k { case dp.PickNoise, dp.LaplaceNoise: }; return": 2,
		"return k == o || k == \"\"":                               0,
		"return k.HasL2Scale()":                                    0,
	} {
		p := &pkg{fset: token.NewFileSet()}
		f, err := parser.ParseFile(p.fset, "x.go", "package x\nimport \""+module+"internal/base/dp\"\ntype kind struct{ dp.NoiseKind }\nfunc (kind) Allows(dp.NoiseKind) bool\nfunc f(of kind, k, o dp.NoiseKind) (yes bool) { "+body+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		p.syntax = []*ast.File{f}
		p.check(t, "x", exports)
		if got := mechanismsNamed(p, words); len(got) != want {
			t.Errorf("%s: %d mechanisms found, not %d", body, len(got), want)
		}
	}
}

// noiseWords are the values of the constants of dp.NoiseKind.
func noiseWords(t *testing.T, p *pkg) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, name := range p.types.Scope().Names() {
		if c, ok := p.types.Scope().Lookup(name).(*types.Const); ok && strings.HasSuffix(c.Type().String(), "dp.NoiseKind") {
			out[constant.StringVal(c.Val())] = true
		}
	}
	return out
}

// mechanismsNamed are the places that name a mechanism or a kind of noise, by its constant or its word: any comparison, and outside of internal/base/dp whatever else a function does with one. Picks are no mechanism that may be asked for, and auto is none.
func mechanismsNamed(p *pkg, words map[string]bool) (at []string) {
	compared, selected := map[ast.Expr]bool{}, map[ast.Expr]bool{}
	named := func(n ast.Node) {
		x, ok := n.(ast.Expr)
		if !ok {
			return
		}
		v := p.info.Types[x].Value
		if v == nil || v.Kind() != constant.String {
			return
		}
		word := constant.StringVal(v)
		of := strings.TrimPrefix(types.Unalias(p.info.TypeOf(x)).String(), module)
		switch typed := of == "internal/base/dp.NoiseKind" || of == "internal/engine/price.Mechanism"; {
		case compared[x] && (typed && word != "" || words[word]):
		case p.types.Path() == module+"internal/base/dp" || word == "permute_and_flip" || !words[word]:
			return
		}
		at = append(at, p.fset.Position(x.Pos()).String())
	}
	for _, f := range p.syntax {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.VAR {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if n.Op == token.EQL || n.Op == token.NEQ {
						compared[ast.Unparen(n.X)], compared[ast.Unparen(n.Y)] = true, true
					}
				case *ast.CaseClause:
					for _, x := range n.List {
						compared[ast.Unparen(x)] = true
					}
				case *ast.SelectorExpr:
					if _, inFunction := d.(*ast.FuncDecl); inFunction || compared[n] {
						named(n)
					}
					selected[n.Sel] = true
				case *ast.Ident:
					if _, inFunction := d.(*ast.FuncDecl); !selected[n] && (inFunction || compared[n]) {
						named(n)
					}
				case *ast.BasicLit:
					named(n)
				}
				return true
			})
		}
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
