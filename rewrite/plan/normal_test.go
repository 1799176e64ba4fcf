package plan_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestNormal reads testdata/normal. Commands:
//
//	same       statements, one a line: their normal texts are equal, though Canonical's are not
//	differ     ... are all different
//	over       a relation's conditions, are they computed from the first output alone? no: something else is read, or its value is not certain
//	listed     the values that the first output has wherever a condition is true
func TestNormal(t *testing.T) {
	datadriven.Walk(t, "testdata/normal", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			lines := strings.Split(strings.TrimSpace(d.Input), "\n")
			switch d.Cmd {
			case "same", "differ":
				return compareNormal(t, d.Cmd == "same", lines)
			case "over", "listed":
				var out []string
				for _, l := range lines {
					out = append(out, overFirst(t, d.Cmd, l))
				}
				return strings.Join(out, "\n") + "\n"
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// normalOf writes a statement, and gives its relation and its first output.
func normalOf(t *testing.T, sql string) (text string, n *plan.Normal, rows plan.Rows, first string) {
	t.Helper()
	q := mustBind(t, sql)
	n = plan.NewNormal(nil)
	rows = n.Rows(q.Root)
	parts := []string{rows.Tables}
	for _, c := range rows.Conds {
		parts = append(parts, "where "+c.Text)
	}
	for i, o := range q.Outputs {
		if i == 0 {
			first = n.Col(o.Col)
		}
		parts = append(parts, n.Col(o.Col))
	}
	return strings.Join(append(parts, n.Long()...), "\n"), n, rows, first
}

func compareNormal(t *testing.T, same bool, lines []string) string {
	seen, canonical := map[string]string{}, map[string]bool{}
	for _, l := range lines {
		text, _, _, _ := normalOf(t, l)
		if other, ok := seen[text]; ok && !same {
			return "the same: " + other + "\n          " + l + "\n"
		}
		seen[text], canonical[plan.Canonical(mustBind(t, l).Root)] = l, true
	}
	switch {
	case same && len(seen) > 1:
		return "not the same: " + strings.Join(slices.Sorted(maps.Keys(seen)), "\n") + "\n"
	case same && len(canonical) < len(lines):
		return "the same by Canonical too\n"
	}
	return "ok\n"
}

// overFirst says of each condition what it is over the first output, or which values that has.
func overFirst(t *testing.T, cmd, sql string) string {
	t.Helper()
	_, n, rows, first := normalOf(t, sql)
	is := func(text string) bool { return text == first }
	var out []string
	for _, c := range rows.Conds {
		if cmd == "listed" {
			list, ok := n.Listed(c.X, is)
			values := []string{}
			for _, v := range list {
				values = append(values, fmt.Sprint(v.Value))
			}
			if out = append(out, "no"); ok {
				out[len(out)-1] = "[" + strings.Join(values, " ") + "]"
			}
			continue
		}
		_, ok := n.Over(c.X, func(text string) (plan.ColID, bool) { return 1, is(text) })
		out = append(out, map[bool]string{true: "yes", false: "no"}[ok])
	}
	return strings.Join(out, "; ")
}

// TestLongConstants: an expression with a long text is written at each of its uses, and its text stays short; another text makes another one.
func TestLongConstants(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	of := func(text string) string {
		conds := make([]string, 50)
		for i := range conds {
			conds[i] = fmt.Sprintf("w and i4 = %d", i)
		}
		got, _, _, _ := normalOf(t, "select "+strings.Join(conds, ", ")+" from (select t <> '"+text+"' as w, i4 from wide) as e")
		return got
	}
	one := of(long)
	if len(one) > 1<<16 {
		t.Errorf("the text has %d bytes", len(one))
	}
	if one != of(long) || one == of(long[1:]+"y") {
		t.Error("texts are the same for other constants, or not for the same")
	}
}

// TestLongConstantsAreNotCopied: however often an expression with a long text is used, binding it and writing its canonical text take no more memory for that.
func TestLongConstantsAreNotCopied(t *testing.T) {
	const size = 1 << 20
	with := "with e as (select '" + strings.Repeat("x", size) + "'::text as zz) select "
	taken := func(uses int) uint64 {
		columns := make([]string, uses)
		for i := range columns {
			columns[i] = fmt.Sprintf("(select count(*) from wide, e where t = zz || '%d') as c%[1]d", i)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		plan.Canonical(mustBind(t, with+strings.Join(columns, ", ")).Root)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	taken(1) // what is made once
	if one, many := taken(1), taken(100); many > one+10*size {
		t.Errorf("%d bytes for one use, %d for 100", one, many)
	}
}
