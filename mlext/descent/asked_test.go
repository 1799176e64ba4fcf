package descent

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
)

// TestAsked: a step asks whether to go on between few rows, also of one unit with many, and a no ends the training within the step: counted in rows, not in time.
func TestAsked(t *testing.T) {
	for _, c := range []struct{ units, most, width, outputs int }{{6000, 1, 200, 1}, {2500, 1, 50, 20}, {1, 3000, 50, 20}, {900, 4, 400, 3}} {
		b, err := data.NewBuilder(c.width, c.most)
		if err != nil {
			t.Fatal(err)
		}
		for u := range c.units {
			for range c.most {
				x := make([]float64, c.width)
				x[u%c.width] = 0.5
				if err := b.Add(int64(u), x, float64(u%2)); err != nil {
					t.Fatal(err)
				}
			}
		}
		l := loss.Logistic()
		if c.outputs > 1 {
			l = loss.Softmax(c.outputs)
		}
		table, size := b.Table(), c.width*c.outputs
		p := &Plan{Learner: NewLinear(l, c.width), Rows: c.most, Clip: 0.7, Rate: 1, Steps: 3, Noise: 2, Population: 3000, LearningRate: 1}
		everybody := func(batch []int32) ([]int32, error) {
			for i := range table.Units() {
				batch = append(batch, int32(i)) //nolint:gosec // few
			}
			return batch, nil
		}
		var asked atomic.Int64
		run := func(last int64) error {
			asked.Store(0)
			_, err := p.train(table, &seeded{rand.New(rand.NewPCG(7, 8)), p.Noise * Unit}, everybody, func(int) error {
				if asked.Add(1) >= last && last > 0 {
					return errors.New("no")
				}
				return nil
			})
			return err
		}
		if err := run(0); err != nil {
			t.Fatal(err)
		}
		rows := p.Steps * c.units * c.most
		if int(asked.Load())*(data.Between(2*size)+4) < rows {
			t.Errorf("%v: %d questions in %d rows", c, asked.Load(), rows)
		}
		for _, last := range []int64{1, 2, 3, asked.Load() / 2, asked.Load()} {
			if err := run(last); err == nil || asked.Load() != last {
				t.Errorf("%v: %v after %d questions, not %d", c, err, asked.Load(), last)
			}
		}
	}
}
