package plan_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// internal says that a function is for the server alone: no SQL has a value for it.
func internal(p *pgcat.Proc) bool {
	return slices.ContainsFunc(append([]pgcat.OID{p.Result}, p.Args...), func(o pgcat.OID) bool {
		t := pgcat.TypeOf(o)
		return t == nil || t.Name == "unknown" || strings.HasPrefix(t.Name, "anycompatible") && strings.HasSuffix(t.Name, "range") || t.Kind == 'p' && (t.Name == "internal" || strings.HasSuffix(t.Name, "_handler") || strings.HasSuffix(t.Name, "trigger") || t.Name == "pg_ddl_command" || t.Name == "table_am_handler")
	})
}

// columnOf has a column of kinds for a type's name.
func columnOf() map[string]string {
	out := map[string]string{}
	for _, c := range kindColumns {
		name, typ, _ := strings.Cut(c, " ")
		if typ, ok := strings.CutSuffix(typ, "[]"); ok {
			typ, _, _ = strings.Cut(typ, "(")
			out["_"+typ] = name
			continue
		}
		typ, _, _ = strings.Cut(strings.Trim(typ, `"`), "(")
		if out[typ] == "" {
			out[typ] = name
		}
	}
	out["bpchar"], out["bool"], out["any"], out["anyelement"], out["anyarray"], out["anyenum"], out["anynonarray"] = "c", "b", "t", "i4", "ia", "md", "i4"
	out["anycompatible"], out["anycompatiblearray"], out["anycompatiblenonarray"], out["anyrange"], out["_anycompatible"] = "i8", "ia", "n", "rg", "ia"
	return out
}

// functionCalls are calls of every function of the catalog: with columns of its types where there are such, with untyped
// literals and parameters in their places, and with what is not meant for it.
func functionCalls(rng *rand.Rand, share float64) []string {
	columns := columnOf()
	terms := operands()
	var out []string
	add := func(p *pgcat.Proc, args []string) {
		if rng.Float64() < share {
			out = append(out, fmt.Sprintf("select %s(%s) from kinds", quoteFunc(p.Name), strings.Join(args, ", ")))
		}
	}
	names := pgcat.ProcNames()
	slices.Sort(names)
	for _, name := range names {
		for _, p := range pgcat.Procs(name) {
			if internal(p) {
				continue
			}
			args := make([]string, len(p.Args))
			for i, o := range p.Args {
				args[i] = "null"
				if c := columns[pgcat.TypeOf(o).Name]; c != "" {
					args[i] = c
				}
			}
			add(p, args)
			for i := range args {
				for _, other := range []string{"null", "$1", terms[rng.IntN(len(terms))], terms[rng.IntN(len(terms))]} {
					changed := append([]string(nil), args...)
					changed[i] = other
					add(p, changed)
				}
			}
			if len(args) > 0 {
				add(p, args[:len(args)-1])
				add(p, append(append([]string(nil), args...), args[len(args)-1]))
				add(p, append(append([]string(nil), args[:len(args)-1]...), "variadic "+args[len(args)-1]))
			}
			if len(p.ArgNames) > 1 && len(p.Defaults) > 0 {
				add(p, []string{p.ArgNames[1] + " => " + args[1], p.ArgNames[0] + " => " + args[0]})
			}
		}
	}
	return out
}

func quoteFunc(name string) string { return `"` + name + `"` }

// TestFunctions: PostgreSQL resolves every function as we do.
func TestFunctions(t *testing.T) {
	o := newOracle(t)
	share := 0.05
	if os.Getenv("DPSQL_LONG") != "" {
		share = 1
	}
	list := functionCalls(rand.New(rand.NewPCG(3, 4)), share)
	t.Logf("%d statements: %v", len(list), o.compare(t, list, plan.Describe))
}
