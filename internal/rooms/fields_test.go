package rooms

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// mostFields is how many fields a struct may have whose methods change it.
const mostFields = 16

// exemptStructs are the larger ones that are no parts of the program: what they are is said in place of a number.
var exemptStructs = map[string]string{
	"internal/engine/watch/watches.Watch": "record: what is stored of a watch",
	"internal/policy.Policy":              "record: a policy file as it was read",
	"mlext.Spec":                          "options: of a TRAIN statement",
	"mlext/descent.Plan":                  "options: of a descent",
	"rewrite/funcs.Func":                  "row: of the registry of functions",
}

// largeStructs are those that would read worse in parts. None may grow.
var largeStructs = map[string]struct {
	fields int
	why    string
}{
	"budget/ledger.Postgres":            {25, "a book and its server, put together; each has few fields of its own"},
	"budget/ledger.SQLite":              {26, "a book and its file, put together; each has few fields of its own"},
	"internal/base/sqltype.dateDecoder": {18, "7 fields, and how a date and a zone are written: a text is read into all of them in one pass, as in PostgreSQL"},
	"internal/engine/flow.Graph":        {18, "3 fields, and a net of arrays that several graphs share"},
	"mlext.Training":                    {18, "a training as it is planned: its methods fill it in once"},
	"rewrite/plan.exprs":                {22, "6 fields, and the binder of the whole statement"},
	"rewrite/plan.selecting":            {37, "13 fields, the binder of the whole statement, and two parts: aggregation and windowing"},
	"rewrite/sqlgen.private":            {23, "7 fields, and the printer of the whole statement"},
}

// TestFieldsOfChangingStructs: a struct whose methods change it has few fields, so that one can say what holds between them.
func TestFieldsOfChangingStructs(t *testing.T) {
	list, exports := packages(t)
	found := map[string]int{}
	for dir, names := range list {
		if strings.HasPrefix(dir, "internal/testkit/") {
			continue
		}
		for name, fields := range checked(t, dir, names, exports).changing() {
			found[dir+"."+name] = fields
		}
	}
	for _, problem := range fieldProblems(found) {
		t.Error(problem)
	}
}

// fieldProblems are the structs with too many fields, and what the lists above say of others.
func fieldProblems(found map[string]int) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if large, isLarge := largeStructs[name]; isLarge && found[name] != large.fields {
			problems = append(problems, fmt.Sprintf("%s has %d fields, and the list says %d", name, found[name], large.fields))
		} else if _, isExempt := exemptStructs[name]; !isLarge && !isExempt && found[name] > mostFields {
			problems = append(problems, fmt.Sprintf("%s has %d fields and methods that change them; more than %d", name, found[name], mostFields))
		}
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(exemptStructs)), slices.Sorted(maps.Keys(largeStructs))) {
		if found[name] <= mostFields {
			problems = append(problems, name+" is in a list and need not be")
		}
	}
	return problems
}

// TestChangingStructs: what counts as a change, and which fields are counted.
func TestChangingStructs(t *testing.T) {
	p := &pkg{fset: token.NewFileSet()}
	f, err := parser.ParseFile(p.fset, "planted.go", `package planted

type part struct{ a, b int }
type outer struct{ part; *other; list []int; at map[int]*part; in part }
type other struct{ x, y, z int }

type direct outer
func (o *direct) set() { o.list = nil }
type appended outer
func (o *appended) set() { o.list = append(o.list, 1) }
type indexed outer
func (o *indexed) set() { o.list[0] = 1 }
type counted outer
func (o *counted) set() { o.list[0]++ }
type whole outer
func (o *whole) set() { *o = whole{} }
type inner outer
func (o *inner) set() { func() { o.in.a, _ = 1, 2 }() }
type ranged outer
func (o *ranged) set() { for o.in.a = range 3 {} }

type reads outer
func (o *reads) get() int { n := 0; n++; return o.list[0] + n }
type pointsTo outer
func (o *pointsTo) set() { o.at[0].a = 1 }
type copied outer
func (o copied) set() { o.list = nil }
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p.syntax, p.files = []*ast.File{f}, []string{"planted.go"}
	p.check(t, "planted", nil)
	want := map[string]int{}
	for _, name := range []string{"direct", "appended", "indexed", "counted", "whole", "inner", "ranged"} {
		want[name] = 8 // 2 of part, 3 of other, and 3
	}
	if got := p.changing(); !maps.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	large := map[string]int{"x.large": mostFields + 1, "x.small": mostFields}
	for name := range exemptStructs {
		large[name] = mostFields + 1
	}
	for name, l := range largeStructs {
		large[name] = l.fields
	}
	if got := fieldProblems(large); len(got) != 1 || !strings.HasPrefix(got[0], "x.large has 17 fields") {
		t.Errorf("%q", got)
	}
	large["rewrite/plan.exprs"]++
	large["mlext.Spec"] = mostFields
	if got := fieldProblems(large); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

// changing counts the fields of each struct type of the package that has a method which assigns to one of them.
func (p *pkg) changing() map[string]int {
	out := map[string]int{}
	for _, file := range p.syntax {
		for _, d := range file.Decls {
			f, isFunc := d.(*ast.FuncDecl)
			if !isFunc || f.Recv == nil || len(f.Recv.List[0].Names) == 0 || f.Body == nil {
				continue
			}
			receiver := p.info.Defs[f.Recv.List[0].Names[0]]
			if receiver == nil { // "_"
				continue
			}
			to, isPointer := receiver.Type().(*types.Pointer)
			if !isPointer || !p.assigns(f.Body, receiver) {
				continue
			}
			if s, isStruct := to.Elem().Underlying().(*types.Struct); isStruct {
				out[to.Elem().(*types.Named).Obj().Name()] = p.fieldsOf(s)
			}
		}
	}
	return out
}

// fieldsOf counts the fields of a struct, and those of the package's structs that it embeds.
func (p *pkg) fieldsOf(s *types.Struct) int {
	n := 0
	for f := range s.Fields() {
		of := f.Type()
		if to, isPointer := of.(*types.Pointer); isPointer {
			of = to.Elem()
		}
		named, isNamed := of.(*types.Named)
		if inner, isStruct := of.Underlying().(*types.Struct); f.Embedded() && isNamed && isStruct && named.Obj().Pkg() == p.types {
			n += p.fieldsOf(inner)
		} else {
			n++
		}
	}
	return n
}

// assigns says whether a method's body assigns to a field of its receiver, or to an element of one.
func (p *pkg) assigns(body ast.Node, receiver types.Object) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			found = found || slices.ContainsFunc(n.Lhs, func(to ast.Expr) bool { return p.isOf(to, receiver) })
		case *ast.IncDecStmt:
			found = found || p.isOf(n.X, receiver)
		case *ast.RangeStmt:
			found = found || p.isOf(n.Key, receiver) || p.isOf(n.Value, receiver)
		}
		return !found
	})
	return found
}

// isOf says whether an expression is the receiver's value, a field of it, or an element of one. What a field only points to belongs to another struct.
func (p *pkg) isOf(e ast.Expr, receiver types.Object) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.isOf(e.X, receiver)
	case *ast.IndexExpr:
		return p.isOf(e.X, receiver)
	case *ast.StarExpr: // *s = T{}
		id, isName := e.X.(*ast.Ident)
		return isName && p.info.Uses[id] == receiver
	case *ast.SelectorExpr:
		if id, isName := e.X.(*ast.Ident); isName {
			return p.info.Uses[id] == receiver
		}
		_, points := p.info.TypeOf(e.X).(*types.Pointer)
		return !points && p.isOf(e.X, receiver)
	}
	return false
}
