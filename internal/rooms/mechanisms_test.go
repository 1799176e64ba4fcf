package rooms

import (
	"go/ast"
	"go/parser"
	"go/token"
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
	{"internal/engine/finish/combine.go", "laws", "GaussianNormNoise PickNoise"}, // errors; a pick is not a number with noise
	{"internal/engine/stage/explain_bounds.go", "noiseWords", ""},                // EXPLAIN's words
}

// TestMechanismTables: an event or a kind of noise that internal/base/dp declares has a row in each table, so that a new one is noticed wherever it is to be added.
func TestMechanismTables(t *testing.T) {
	events, kinds := declaredMechanisms(t)
	if len(events) < 11 || len(kinds) < 5 {
		t.Fatalf("internal/base/dp declares events %v and noise %v", events, kinds)
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
		if rows[events[0]] {
			want = events
		}
		for _, name := range want {
			if !rows[name] && !slices.Contains(strings.Fields(table.without), name) {
				t.Errorf("%s of %s has no row for dp.%s", table.table, table.file, name)
			}
		}
		if !found {
			t.Errorf("%s has no %s", table.file, table.table)
		}
	}
}

// declaredMechanisms are the types of internal/base/dp that are events, and its kinds of noise.
func declaredMechanisms(t *testing.T) (events, kinds []string) {
	t.Helper()
	files, err := filepath.Glob("../base/dp/*.go")
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
				if n.Name.Name == "Name" && n.Recv != nil {
					events = append(events, n.Recv.List[0].Type.(*ast.Ident).Name)
				}
			case *ast.ValueSpec:
				if kind, ok := n.Type.(*ast.Ident); ok && kind.Name == "NoiseKind" {
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
