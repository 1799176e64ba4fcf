package divide_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// TestAttack38Lists: a list of literals that many aggregates read through a column is refused before a pass repeats it; without that the analysis of this one takes a GiB. One aggregate may read it.
func TestAttack38Lists(t *testing.T) {
	const catalog = "people unit=id\n  id int4\nr unit=u path=u->people.id m=3\n  u int4\n  a int4 range=0..9\n  b int4 range=0..9\n"
	list := make([]string, 60_000)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	for aggregates, want := range map[int]string{1: "", 50: sqlerr.TooComplex.ID} {
		counts := make([]string, aggregates)
		for i := range counts {
			counts[i] = fmt.Sprintf("count(*) FILTER (WHERE x AND a + %d > 1)", i)
		}
		q, err := boundIn(catalog, "SELECT "+strings.Join(counts, ", ")+" FROM (SELECT u, a, b IN ("+strings.Join(list, ", ")+") AS x FROM r) q")
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := divide.Divide(context.Background(), q, options())
		for i := 0; err == nil && i < len(p.Stages); i++ {
			_, err = p.Analyze(context.Background(), i, options())
		}
		runtime.ReadMemStats(&after)
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; sqlerr.ID(err) != want || made > 128 {
			t.Errorf("%d aggregates: %d MiB: %v", aggregates, made, err)
		}
	}
}
