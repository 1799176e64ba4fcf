package rooms

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The limits on a package: how many files may need one another, and how many files those have that answer statements.
const (
	mostCycle = 8
	mostFiles = 20
)

// TestFileCycles: few files of a package need one another, so that one can be read after the other.
func TestFileCycles(t *testing.T) {
	list, exports := packages(t)
	for dir, names := range list {
		p := checked(t, dir, names, exports)
		for _, c := range p.cycles() {
			if len(c) > mostCycle {
				t.Errorf("%s: %d files need one another, more than %d: %v", dir, len(c), mostCycle, c)
			}
		}
		for _, problem := range groupProblems(fileGroups(t, dir), p.files, p.needs()) {
			t.Errorf("%s: %s", dir, problem)
		}
		inTree := strings.HasPrefix(dir, "sensitivity") || strings.HasPrefix(dir, "internal/engine")
		if files := len(slices.DeleteFunc(p.files, func(f string) bool { return f == "doc.go" })); inTree && files > mostFiles {
			t.Errorf("%s has %d files, more than %d", dir, files, mostFiles)
		}
	}
	if len(list) < 60 {
		t.Errorf("%d packages: the walk saw too little", len(list))
	}
}

// packages are the packages of the module with their files, and the export data of all that they import.
func packages(t *testing.T) (files map[string][]string, exports map[string]string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}={{range .GoFiles}} {{.}}{{end}}", "./...")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	files, exports = map[string][]string{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		parts := strings.SplitN(strings.TrimSpace(line), "=", 3)
		exports[parts[0]] = parts[1]
		if dir, own := strings.CutPrefix(parts[0], module); own {
			files[dir] = strings.Fields(parts[2])
		}
	}
	return files, exports
}

// pkg is a type-checked package.
type pkg struct {
	types  *types.Package
	fset   *token.FileSet
	files  []string
	syntax []*ast.File
	info   *types.Info
}

// checked reads a package of the module, without its tests.
func checked(t *testing.T, dir string, names []string, exports map[string]string) *pkg {
	t.Helper()
	p := &pkg{fset: token.NewFileSet()}
	for _, name := range names {
		f, err := parser.ParseFile(p.fset, filepath.Join("..", "..", filepath.FromSlash(dir), name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		p.syntax, p.files = append(p.syntax, f), append(p.files, name)
	}
	p.check(t, dir, exports)
	return p
}

// check gives types to what was parsed.
func (p *pkg) check(t *testing.T, dir string, exports map[string]string) {
	t.Helper()
	p.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	var err error
	if p.types, err = conf.Check(module+dir, p.fset, p.syntax, p.info); err != nil {
		t.Fatal(err)
	}
}

// needs are the files that each file uses declarations of.
func (p *pkg) needs() map[string]map[string]bool {
	file := func(at token.Pos) string { return filepath.Base(p.fset.Position(at).Filename) }
	needs := map[string]map[string]bool{}
	for _, f := range p.files {
		needs[f] = map[string]bool{}
	}
	for id, o := range p.info.Uses {
		if o.Pkg() == p.types {
			needs[file(id.Pos())][file(o.Pos())] = true
		}
	}
	return needs
}

// cycles are the sets of files that need one another, directly or through others.
func (p *pkg) cycles() [][]string {
	needs := p.needs()
	for _, by := range p.files { // Warshall's closure
		for _, f := range p.files {
			if needs[f][by] {
				maps.Copy(needs[f], needs[by])
			}
		}
	}
	var out [][]string
	for i, f := range p.files {
		c := []string{f}
		for _, o := range p.files[i+1:] {
			if needs[f][o] && needs[o][f] {
				c = append(c, o)
			}
		}
		if len(c) > 1 && !slices.ContainsFunc(out, func(o []string) bool { return slices.Contains(o, f) }) {
			out = append(out, c)
		}
	}
	return out
}
