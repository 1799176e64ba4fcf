package divide_test

import (
	"context"
	"errors"
	"testing"

	"github.com/dpsql/dpsql/sensitivity/divide"
)

// TestPassesStop: wherever the context of a statement ends during its analysis, the analysis ends with it. It is asked before each pass, of private and of public statements.
func TestPassesStop(t *testing.T) {
	const catalog = "people unit=id\n  id int4\nr unit=u path=u->people.id m=3\n  u int4\n  a int4 range=0..9\n  b int4 range=0..9\ncities public\n  id int4\n"
	for sql, least := range map[string]int{
		"SELECT count(*), sum(a) FROM r": 16, "SELECT a, b, count(*) FROM r GROUP BY GROUPING SETS ((1), (2), (1, 2))": 40, "SELECT count(*) FROM cities": 3,
	} {
		q, err := boundIn(catalog, sql)
		if err != nil {
			t.Fatal(err)
		}
		analyze := func(ctx context.Context) error {
			p, err := divide.Divide(ctx, q, options())
			for i := 0; err == nil && i < len(p.Stages); i++ {
				_, err = p.Analyze(ctx, i, options())
			}
			return err
		}
		all := &ending{Context: context.Background()}
		if err := analyze(all); err != nil || all.asked < least {
			t.Errorf("%s: asked %d times, not %d: %v", sql, all.asked, least, err)
		}
		for end := 1; end <= all.asked; end++ {
			ctx := &ending{Context: context.Background(), end: end}
			if err := analyze(ctx); !errors.Is(err, context.Canceled) || ctx.asked != end {
				t.Errorf("%s: ended at %d, asked %d times: %v", sql, end, ctx.asked, err)
			}
		}
	}
}
