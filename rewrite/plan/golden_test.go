package plan_test

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestGolden reads testdata/golden. Commands over the tables of types_test.go:
//
//	bind       the bound plan, or the refusal
//	same       two or more statements, one a line: their canonical texts are equal
//	differ     ... are all different
//	notnull    the output columns that are never NULL
//	places     the decimal places of each output
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			cat := wideCatalog()
			lines := strings.Split(strings.TrimSpace(d.Input), "\n")
			switch d.Cmd {
			case "bind":
				q, err := bind(t, cat, d.Input)
				if err != nil {
					return refusal(err)
				}
				return plan.Format(q)
			case "same", "differ":
				return compareTexts(t, d.Cmd == "same", lines)
			case "notnull":
				q := mustBind(t, d.Input)
				never := plan.NotNull(q.Root)
				var out []string
				for _, o := range q.Outputs {
					if never[o.Col] {
						out = append(out, o.Name)
					}
				}
				sort.Strings(out)
				if len(out) == 0 {
					return "none\n"
				}
				return strings.Join(out, " ") + "\n"
			case "places":
				q := mustBind(t, d.Input)
				items := map[plan.ColID]plan.Scalar{}
				for _, it := range q.Root.(*plan.Project).Items {
					items[it.ID] = it.Expr
				}
				var out []string
				for _, o := range q.Outputs {
					p, ok := plan.Places(items[o.Col], func(plan.Scalar) (int, bool) { return 0, false })
					if out = append(out, "?"); ok {
						out[len(out)-1] = fmt.Sprint(p)
					}
				}
				return strings.Join(out, " ") + "\n"
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func compareTexts(t *testing.T, same bool, lines []string) string {
	seen := map[string]string{}
	for _, l := range lines {
		text := plan.Canonical(mustBind(t, l).Root)
		if other, ok := seen[text]; ok && !same {
			return "the same: " + other + "\n          " + l + "\n"
		}
		seen[text] = l
	}
	if same && len(seen) != 1 {
		var out []string
		for text := range seen {
			out = append(out, text)
		}
		sort.Strings(out)
		return strings.Join(out, "\n") + "\n"
	}
	return "ok\n"
}

func mustBind(t *testing.T, sql string) *plan.Query {
	t.Helper()
	q, err := bind(t, wideCatalog(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return q
}

func refusal(err error) string {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err.Error() + "\n"
	}
	out := fmt.Sprintf("%s %s at %d: %s\n", e.Code, e.ID, e.Pos, e.Message)
	if e.Hint != "" {
		out += "hint: " + e.Hint + "\n"
	}
	return out
}

// facts are what clients are told of a query.
func facts(q *plan.Query) string {
	out := fmt.Sprint(q.Params)
	for _, o := range q.Outputs {
		out += fmt.Sprint(" ", o.Name, o.Type.OID, o.Type.Typmod, o.TableOID, o.Attr)
	}
	return out
}

// FuzzBind: no text makes the binder panic, and what it binds has types throughout and a stable canonical text.
func FuzzBind(f *testing.F) {
	for _, sql := range append(statements(f, "testdata/types.sql"), statements(f, "testdata/describe.sql")...) {
		f.Add(sql)
	}
	cat := wideCatalog()
	f.Fuzz(func(t *testing.T, sql string) {
		st, err := pgsyntax.Parse(sql)
		if err != nil || len(st) == 0 {
			return
		}
		sel, ok := st[0].Node.(*pgsyntax.Select)
		if !ok {
			return
		}
		q, err := plan.Bind(sel, cat, plan.BindOptions{})
		described, problem := plan.Describe(sel, cat, plan.BindOptions{})
		for _, err := range []error{err, problem} {
			var e *sqlerr.Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("%s: %v is no user error", sql, err)
			}
		}
		if err != nil {
			return
		}
		if problem != nil || facts(described) != facts(q) {
			t.Fatalf("%s: described otherwise than bound: %v", sql, problem)
		}
		for _, o := range q.Outputs {
			if o.Type.OID == 705 || o.Col == 0 {
				t.Fatalf("%s: output %+v", sql, o)
			}
		}
		again, err := plan.Bind(sel, cat, plan.BindOptions{})
		if err != nil || plan.Canonical(again.Root) != plan.Canonical(q.Root) {
			t.Fatalf("%s: bound twice, it differs: %v", sql, err)
		}
	})
}
