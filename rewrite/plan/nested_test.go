package plan_test

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestLongChains: four times as many operators take about four times the memory to write, not sixteen times, in each form of an expression.
func TestLongChains(t *testing.T) {
	for name, write := range map[string]func(q *plan.Query, x plan.Scalar) string{
		"for EXPLAIN": plan.FormatScalar, "as SQL": plan.Readable, "normal": func(_ *plan.Query, x plan.Scalar) string { return plan.NewNormal(nil).Scalar(x) }, "canonical": func(q *plan.Query, _ plan.Scalar) string { return plan.Canonical(q.Root) },
	} {
		for _, operator := range []string{" + i4", " - i4", " * 1", "::int8", " || 'x'"} {
			took := func(n int) (bytes uint64) {
				first := "i4"
				if operator == " || 'x'" {
					first = "t"
				}
				q := mustBind(t, "SELECT "+first+strings.Repeat(operator, n)+" AS x FROM wide")
				x := q.Root.(*plan.Project).Items[0].Expr
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				text := write(q, x)
				runtime.ReadMemStats(&after)
				if strings.Count(text, "(") < n/2 && operator != "::int8" {
					t.Fatalf("%s of %d: %.200s", operator, n, text)
				}
				return after.TotalAlloc - before.TotalAlloc
			}
			if few, many := took(500), took(2000); many > 8*few {
				t.Errorf("%s, %q: 500 take %d bytes, 2000 take %d", name, operator, few, many)
			}
		}
	}
}

// TestChainsInAnyOrder: of "+" and "*" the normal text is the same in any order, however they are written in each other, and another one for others.
func TestChainsInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(sql string) string {
		q := mustBind(t, "SELECT "+sql+" AS x FROM wide")
		return plan.NewNormal(nil).Scalar(q.Root.(*plan.Project).Items[0].Expr)
	}
	var build func(depth int) (x, y string) // equal but for the order of arguments
	build = func(depth int) (x, y string) {
		if depth == 0 {
			x = []string{"i4", "1", "2", "10", "-i4", "abs(i4)"}[r.IntN(6)]
			return x, x
		}
		x1, y1 := build(r.IntN(depth))
		x2, y2 := build(r.IntN(depth))
		op := []string{" + ", " * ", " - "}[r.IntN(3)]
		if op != " - " && r.IntN(2) == 0 {
			y1, y2 = y2, y1
		}
		return "(" + x1 + op + x2 + ")", "(" + y1 + op + y2 + ")"
	}
	for range 500 {
		x, y := build(6)
		if a, b := text(x), text(y); a != b {
			t.Errorf("%s: %s\n%s: %s", x, a, y, b)
		}
		if text(x) == text("("+x+" - 1)") {
			t.Errorf("%s is %s", x, text(x))
		}
	}
}
