package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// constants are tried in the places where a row asks for one.
var constants = []string{"'year'", "'hour'", "1", "2", "'YYYY'", "'a'", "'UTC'", "'1 day'", "'2020-01-01'", "'%a'", "'{1,2}'", "true", "'$.a'", "'{a,b}'", "interval '1 day'", "interval '1 hour'", "'i'", "'999'", "'YYYYMMDD'", "'hex'"}

// calls are statements that should come to a row.
func calls(f *funcs.Func, columns map[string]string) []string {
	args := make([]string, len(f.Args))
	for i, o := range f.Args {
		t := pgcat.TypeOf(o)
		if args[i] = columns[t.Name]; args[i] == "" {
			args[i] = "null::" + strings.TrimPrefix(t.Name, "_")
			if t.TrueArray {
				args[i] += "[]"
			}
		}
	}
	if strings.Contains(" ~~ ~~* ~ ~* ", " "+f.Name+" ") && len(args) == 2 { // patterns are not made of columns
		args[1] = "$1"
	}
	if last := len(args) - 1; slices.ContainsFunc(pgcat.Procs(f.Name), func(p *pgcat.Proc) bool { return p.Variadic != 0 && slices.Equal(p.Args, f.Args) }) {
		args[last] = "variadic " + args[last]
	}
	text := func() string {
		switch {
		case f.Kind == funcs.Cast:
			t := pgcat.TypeOf(f.Result)
			name := `pg_catalog."` + t.Name + `"`
			if t.TrueArray {
				name = `pg_catalog."` + strings.TrimPrefix(t.Name, "_") + `"[]`
			}
			if f.Result == 1700 && f.Args[0] == 1700 {
				name = "numeric(7,1)"
			}
			if f.Result == f.Args[0] && slices.Contains([]string{"varchar", "bpchar", "time", "timestamp", "timestamptz", "interval"}, t.Name) {
				name += "(2)"
			}
			if name == `pg_catalog."interval"(2)` { // there the 2 would be fields
				name = "interval(2)"
			}
			return fmt.Sprintf("select %s::%s as x from kinds", args[0], name)
		case f.Kind == funcs.Operator && len(args) == 1:
			return fmt.Sprintf("select %s %s as x from kinds", f.Name, args[0])
		case f.Kind == funcs.Operator:
			return fmt.Sprintf("select %s %s %s as x from kinds", args[0], f.Name, args[1])
		}
		return fmt.Sprintf("select \"%s\"(%s) as x from kinds", f.Name, strings.Join(args, ", "))
	}
	if len(f.Const) == 0 {
		return []string{text()}
	}
	var out []string
	for _, c := range constants {
		for _, d := range constants {
			for k, i := range f.Const {
				if args[i] = c; k > 0 {
					args[i] = d
				}
			}
			out = append(out, text())
			if len(f.Const) == 1 {
				break
			}
		}
	}
	return out
}

// TestRegistry: a call of each row's own types comes to that row, under PostgreSQL's description.
func TestRegistry(t *testing.T) {
	o := newOracle(t)
	columns := columnOf()
	var list []string
	for _, f := range funcs.All() {
		found := ""
		var last error
		for _, sql := range calls(f, columns) {
			st, err := pgsyntax.Parse(sql)
			if err != nil {
				last = err
				continue
			}
			q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), o.cat, plan.BindOptions{})
			if err != nil {
				last = err
				continue
			}
			if got := firstCall(q); got == nil || got.Name != f.Name || got.Kind != f.Kind || fmt.Sprint(got.Args) != fmt.Sprint(f.Args) || got.Result != f.Result {
				last = sqlerr.New(sqlerr.Internal, "%s came to %+v", sql, got)
				continue
			}
			found = sql
			break
		}
		if found == "" {
			t.Errorf("%s %s %v to %d is not reached: %v", f.Kind, f.Name, f.Args, f.Result, last)
			continue
		}
		list = append(list, found)
	}
	t.Logf("%d rows: %v", len(list), o.compare(t, list, plan.Bind))
}

// firstCall is the outermost call of the only output.
func firstCall(q *plan.Query) *funcs.Func {
	p, ok := q.Root.(*plan.Project)
	if !ok {
		return nil
	}
	for x := p.Items[0].Expr; ; {
		switch n := x.(type) {
		case *plan.Call:
			return n.Fn
		default:
			return nil
		}
	}
}
