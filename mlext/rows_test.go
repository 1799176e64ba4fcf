package mlext

import (
	"errors"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/mlext/convex"
	"github.com/dpsql/dpsql/mlext/data"
)

// TestTooManyRows: of the methods whose exactness is planned for a number of rows, that number follows from the declared population, and is far from it; more rows are beyond the training's limits as more bytes are, and so many train. The others take them all.
func TestTooManyRows(t *testing.T) {
	limited := 0
	for _, c := range trained() {
		for _, population := range []float64{0, 1000, 1e7} {
			want := map[float64]int{0: 1 << 24, 1000: 1 << 20, 1e7: 4e7}[population]
			switch c.method.name {
			case "sufficient_statistics":
				want = convex.MostMomentRows
			case "posterior_sample", "dp_gd", "dp_sgd", "dp_adam":
				want = 0
			}
			if want == 0 && population == 0 && c.method.name != "posterior_sample" {
				continue
			}
			p := planOf(t, c.method, 2, 1, 1, c.delta(1e-6))
			if p = replan(t, p, population); p.most != want {
				t.Errorf("%s, population %g: %d rows, want %d", c.name, population, p.most, want)
			}
			if want == 0 || population != 1000 {
				continue
			}
			limited++
			p.most = 3
			for _, rows := range []int{3, 4} {
				collected, err := p.Collect()
				if err != nil {
					t.Fatal(err)
				}
				collected.Within(Limits{Memory: 1 << 20})
				for u := range rows {
					err = collected.Add(int64(u), []int64{0, 0})
				}
				var f *Failure
				if rows > 3 && (!errors.Is(err, data.ErrLarge) || !errors.As(err, &f)) {
					t.Errorf("%s: a row too many: %v", c.name, err)
				}
				if rows == 3 && err == nil {
					_, err = p.Train(collected, audit.Source(1), never)
				}
				if rows == 3 && err != nil {
					t.Errorf("%s: as many rows as it takes: %v", c.name, err)
				}
				collected.Wipe()
			}
		}
	}
	if limited < 6 {
		t.Errorf("%d methods have a limit", limited)
	}
}

// replan plans a training for another population.
func replan(t *testing.T, p *Training, population float64) *Training {
	t.Helper()
	p, err := Plan(p.Spec, p.Features, p.Of, p.Rows, population)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
