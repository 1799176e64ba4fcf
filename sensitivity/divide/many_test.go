package divide_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
)

// manyOf are so many aggregates over the table wide.
func manyOf(n int, of func(i int) string) string {
	var list []string
	for i := range n {
		list = append(list, of(i))
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM wide"
}

// sumOf is a sum; no two of them are equal.
func sumOf(i int) string { return fmt.Sprintf("sum(c0 + %d)", i) }

// work is how many objects an analysis makes: about one for each word that it prints.
func work(t *testing.T, sql string) float64 {
	t.Helper()
	q, err := boundIn(wide(4), sql)
	if err != nil {
		t.Fatal(err)
	}
	return testing.AllocsPerRun(1, func() {
		if _, err := neighbour.AnalyzeQuery(context.Background(), q, options()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestManyMeasures: four times as many aggregates are about four times the work, not sixteen times; whether they are of all rows, of some, or of both, whose bounds the filtered ones could follow.
func TestManyMeasures(t *testing.T) {
	long := func(i int) string { return fmt.Sprintf("c0 + %d%s", i, strings.Repeat(" + c0", 11)) }
	for name, form := range map[string]string{
		"sums": "sum(%s)", "averages": "avg(%s)", "correlations": "corr(%s, c1)", "distinct": "count(DISTINCT %s)", "filters": "sum(c1) FILTER (WHERE %s > 3)", "both": "sum(%[1]s), sum(%[1]s) FILTER (WHERE c1 = 1)",
	} {
		of := func(i int) string { return fmt.Sprintf(form, long(i)) }
		few, many := work(t, manyOf(32, of)), work(t, manyOf(128, of))
		if many > 6*few {
			t.Errorf("%s: 32 are %.0f objects, 128 are %.0f", name, few, many)
		}
	}
}

// TestTooManyAggregates: a statement has so many in all of its stages; more are refused before anything of them is analysed.
func TestTooManyAggregates(t *testing.T) {
	sets := func(n int) string { return manyOf(n, sumOf) + " GROUP BY GROUPING SETS ((), (c1), (c2), (c3))" }
	two := func(n int) string {
		return strings.Replace(manyOf(n, sumOf), " FROM wide", ", (SELECT count(*) FROM wide) FROM wide", 1)
	}
	within := func(n int) string { // a person's rows
		return "SELECT sum(s0) FROM (" + strings.Replace(manyOf(n, func(i int) string { return fmt.Sprintf("%s AS s%d", sumOf(i), i) }), "SELECT ", "SELECT u, ", 1) + " GROUP BY u) AS w"
	}
	for _, c := range []struct {
		sql     string
		refused bool
	}{{within(255), false}, {within(256), true}, {manyOf(256, sumOf), false}, {manyOf(257, sumOf), true}, {sets(64), false}, {sets(65), true}, {two(255), false}, {two(256), true}} {
		_, _, err := dividedIn(wide(4), c.sql, options())
		var e *sqlerr.Error
		if (err != nil) != c.refused || c.refused && (!errors.As(err, &e) || e.ID != sqlerr.TooComplex.ID || e.Hint == "") {
			t.Errorf("%.40s...: %v", c.sql, err)
		}
	}
}

// TestTooManyOperators: so many stand in each other at most, wherever the expression is; a list of conditions is as long as it may be, and so is an expression over public tables alone.
func TestTooManyOperators(t *testing.T) {
	deep := func(n int) string { return "c0" + strings.Repeat(" - c1", n) }
	for sql, n := range map[string]int{
		"SELECT sum(%s) FROM wide": 1000, "SELECT count(*) FROM wide WHERE %s > 3": 999, "SELECT count(*) FILTER (WHERE %s > 3) FROM wide": 999,
		"SELECT count(*) FROM wide GROUP BY %s": 1000, "SELECT sum(x) FROM (SELECT %s AS x FROM wide) AS w": 1000, "SELECT count(*) FROM people WHERE EXISTS (SELECT 1 FROM wide WHERE wide.u = people.u AND %s > 3)": 998,
	} {
		for _, more := range []int{0, 1} {
			_, _, err := dividedIn(wide(4), fmt.Sprintf(sql, deep(n+more)), options())
			var e *sqlerr.Error
			if refused := errors.As(err, &e) && e.ID == sqlerr.TooComplex.ID && e.Hint != ""; refused != (more > 0) {
				t.Errorf("%s of %d: %v", sql, n+more, err)
			}
		}
	}
	for _, sql := range []string{"SELECT count(*) FROM wide WHERE c0 = 1" + strings.Repeat(" OR c0 = 2", 2000), "SELECT 1" + strings.Repeat(" - 1", 2000)} {
		if _, _, err := dividedIn(wide(4), sql, options()); err != nil {
			t.Errorf("%.60s: %v", sql, err)
		}
	}
}

// ending is a context that counts how often it is asked, and ends at one of these times.
type ending struct {
	context.Context
	asked, end int
}

func (c *ending) Err() error {
	if c.asked++; c.end > 0 && c.asked >= c.end {
		return context.Canceled
	}
	return nil
}

// TestAnalysisEnds: an analysis looks at its context with each aggregate, and once more for each filtered one, and ends with it.
func TestAnalysisEnds(t *testing.T) {
	for name, c := range map[string]struct {
		of    func(i int) string
		least int
	}{"sums": {sumOf, 100}, "filters": {func(i int) string { return fmt.Sprintf("count(*) FILTER (WHERE c0 = %d)", i) }, 100},
		"both": {func(i int) string {
			return []string{"count(*)", fmt.Sprintf("count(*) FILTER (WHERE c0 = %d)", i)}[min(i, 1)]
		}, 199}} {
		q, err := boundIn(strings.ReplaceAll(wide(4), " m=2", ""), manyOf(100, c.of))
		if err != nil {
			t.Fatal(err)
		}
		all := &ending{Context: context.Background()}
		if _, err := neighbour.AnalyzeQuery(all, q, options()); err != nil || all.asked < c.least {
			t.Errorf("%s: asked %d times, %v", name, all.asked, err)
		}
		for end := 1; end <= all.asked; end += 7 {
			ctx := &ending{Context: context.Background(), end: end}
			if _, err := neighbour.AnalyzeQuery(ctx, q, options()); !errors.Is(err, context.Canceled) || ctx.asked != end {
				t.Errorf("%s: ended at %d, asked %d times: %v", name, end, ctx.asked, err)
			}
		}
	}
}
