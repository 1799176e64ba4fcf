package prooftest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// TestComposedBites: each of two leaks that there were is found, put back, among the statements of TestComposed.
func TestComposedBites(t *testing.T) {
	for _, leak := range []struct {
		name string
		d    dialect.Dialect
		in   func(*funcs.Func) bool
		bad  func(print string, args []string) string
	}{
		{"a raising form of a cast makes its argument raise", funcs.DuckDB, func(f *funcs.Func) bool {
			return f.Kind == funcs.Cast && f.Safe != nil && sqltype.Type{OID: f.Result}.IsNumber()
		}, func(print string, _ []string) string { return strings.ReplaceAll(print, "TRY_CAST(", "CAST(") }},
		{"interval::time gives times below 00:00", funcs.Postgres, func(f *funcs.Func) bool {
			return f.Kind == funcs.Cast && f.Args[0] == sqltype.OIDInterval && f.Result == sqltype.OIDTime
		}, func(_ string, args []string) string { return "CAST(" + args[0] + " AS time)" }},
	} {
		t.Run(leak.name, func(t *testing.T) {
			c, planted, rows := newComposed(t, leak.d), false, 0
			for _, f := range funcs.All() {
				if !leak.in(f) {
					continue
				}
				rows++
				spell, exact := f.TotalForm, f.RaisingForm
				defer func() { f.TotalForm, f.RaisingForm = spell, exact }()
				form := func(good funcs.Forms) funcs.Forms {
					out, print := maps.Clone(good), good[leak.d]
					if print != nil {
						out[leak.d] = func(args []string, types []sqltype.Type, result sqltype.Type) string {
							text := print(args, types, result)
							if planted && text != "" {
								text = leak.bad(text, args)
							}
							return text
						}
					}
					return out
				}
				f.RaisingForm = form(exact)
				if leak.d == funcs.Postgres {
					f.TotalForm = form(spell)
				}
			}
			used := 0
			for i := range uint64(composedStatements[leak.d]) {
				st := c.make(rand.New(rand.NewPCG(composedSeed, i)).IntN, int(i))
				if err := c.worlds[0].use(int(i)); err != nil {
					t.Fatal(err)
				}
				p, err := enginetest.Prepare(c.worlds[0].Session, st.text)
				if err != nil {
					continue
				}
				planted = false
				good := printed(p)
				planted = true
				if slices.Equal(printed(p), good) {
					continue
				}
				used++
				if _, err := c.try(st, int(i)); err != nil {
					t.Logf("statement %d, the %d. of those with the leak: %s: %v", i, used, st.text, err)
					return
				}
			}
			t.Errorf("not found in %d statements of %d rows; if the registry has changed, another composedSeed may do", used, rows)
		})
	}
}

// printed are the texts of a statement's releases.
func printed(p *enginetest.Prepared) (out []string) {
	for _, one := range p.Staged().Stages {
		st, err := sqlgen.Private(one.An, p.Session.Engine.Dialect, 7)
		if err != nil {
			return nil
		}
		out = append(out, st.SQL)
	}
	return out
}
