package rooms

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// passes are the files of packages by pass, lowest first. A pass uses what lies in its own files and in those of the passes
// before it. What is a package already is not in it (sensitivity/relation, internal/engine/answer).
var passes = map[string]string{"sensitivity": `
results: analysis candidate_bounds formula joined_rows lost measure options product scaletext spread tree
scope: block columns pull scope
interval: bounds column_conditions column_functions grid nan null sign where
unit: body derive derived_table determine fanout lateral linker linkof missing outer pairs rows rowunits setop subquery unit window
joins: joinbody joined truncate weighted
groups: keys literals person prune source suggestions values
claims: aggregates boolean choice distinct follow joinmeasure measurer measures moments opentree order_statistics pair_bounds pick row_range
reuse: canonical measure_order reuse reuse_measures
explain: explain joinexplain
divide: above analyze analyzer correlated distinct_rows divide divider empty inner inputs lookup noisy probe program semijoin_count stages
`, "internal/engine": `
server: audit_event control datamarks engine numbers public_cache raise schema texts turns
session: arrays failures kind opening own_comments own_tables ownledger path progress public publicerr session session_catalog setting_table settings target_setting
stage: backend_finishing bounding_choice bounding_joins bounding_methods displayed explain_bounds explain_errors plan_warnings price_words printable related settled stage stage_key staged stages target target_releases weighted
private: answering ask computed denied display inputs last_answer lookup notice once private run trees warnings
catalog: emptied metadata mock predictions preview
explain: explain explain_analyze explain_brief explain_compare explain_joined finishing
model: evaluate exports features models train train_denied train_explain train_for_price train_price train_range trainrows
top: analysed plan_size statement
rehearse: rehearse rehearse_reuse
`}

// The limits on a pass, which is to become a package: its files, and how many of them may need one another.
const (
	mostFiles = 20
	mostCycle = 8
)

// TestPasses: no file of these packages uses a declaration of a later pass, a type's methods lie in its pass, and few files need one another.
func TestPasses(t *testing.T) {
	for dir, table := range passes {
		t.Run(dir, func(t *testing.T) { checkPasses(t, dir, table) })
	}
}

func checkPasses(t *testing.T, dir, table string) {
	pass, at := map[string]string{}, map[string]int{} // by file
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		name, list, _ := strings.Cut(line, ":")
		files := strings.Fields(list)
		if len(files) > mostFiles {
			t.Errorf("pass %s has %d files, more than %d", name, len(files), mostFiles)
		}
		for _, f := range files {
			pass[f+".go"], at[f+".go"] = name, i
		}
	}
	p := checked(t, dir)
	for _, f := range p.files {
		if pass[f] == "" {
			t.Errorf("%s/%s is in no pass: add it to the table", dir, f)
		}
	}
	for f := range pass {
		if !slices.Contains(p.files, f) {
			t.Errorf("the table has %s, which does not exist", f)
		}
	}
	for _, u := range p.uses(func(from, to string) bool { return at[from] < at[to] }) {
		t.Errorf("%s (%s) uses %s of %s (%s), a later pass", u.from, pass[u.from], u.name, u.to, pass[u.to])
	}
	for method, files := range p.methods() {
		if f, of := files[0], files[1]; pass[f] != pass[of] {
			t.Errorf("%s is declared in %s (%s), its type in %s (%s)", method, f, pass[f], of, pass[of])
		}
	}
	for _, c := range p.cycles() {
		if len(c) > mostCycle {
			t.Errorf("%d files need one another, more than %d: %v", len(c), mostCycle, c)
		}
	}
	if before := p.uses(func(from, to string) bool { return at[from] > at[to] }); len(before) < 100 {
		t.Errorf("later passes use earlier ones at %d places only: the walk saw too little", len(before))
	}
}

// pkg is a type-checked package.
type pkg struct {
	types *types.Package
	fset  *token.FileSet
	files []string
	info  *types.Info
}

// checked reads a package of the module, without its tests.
func checked(t *testing.T, dir string) *pkg {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}}={{.Export}}{{end}}", "./"+dir)
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for _, line := range strings.Fields(string(out)) {
		path, file, _ := strings.Cut(line, "=")
		exports[path] = file
	}
	p := &pkg{fset: token.NewFileSet(), info: &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
	names, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "doc.go" {
			continue
		}
		f, err := parser.ParseFile(p.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files, p.files = append(files, f), append(p.files, filepath.Base(name))
	}
	conf := types.Config{Importer: importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	if p.types, err = conf.Check(module+dir, p.fset, files, p.info); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pkg) file(at token.Pos) string { return filepath.Base(p.fset.Position(at).Filename) }

// use is a file's use of a name that another one declares.
type use struct{ from, to, name string }

// uses are those between files of which a condition is true, each once.
func (p *pkg) uses(is func(from, to string) bool) []use {
	var out []use
	for id, o := range p.info.Uses {
		if o.Pkg() != p.types {
			continue
		}
		if u := (use{p.file(id.Pos()), p.file(o.Pos()), o.Name()}); is(u.from, u.to) && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// cycles are the sets of files that need one another, directly or through others.
func (p *pkg) cycles() [][]string {
	needs := map[string]map[string]bool{}
	for _, f := range p.files {
		needs[f] = map[string]bool{}
	}
	for _, u := range p.uses(func(from, to string) bool { return from != to }) {
		needs[u.from][u.to] = true
	}
	for _, by := range p.files { // Warshall's closure
		for _, f := range p.files {
			for to := range needs[by] {
				if needs[f][by] {
					needs[f][to] = true
				}
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

// methods are the methods of the package's types, with their file and that of the type.
func (p *pkg) methods() map[string][2]string {
	out := map[string][2]string{}
	for _, name := range p.types.Scope().Names() {
		o, ok := p.types.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		if n, ok := o.Type().(*types.Named); ok {
			for m := range n.Methods() {
				out[name+"."+m.Name()] = [2]string{p.file(m.Pos()), p.file(o.Pos())}
			}
		}
	}
	return out
}
