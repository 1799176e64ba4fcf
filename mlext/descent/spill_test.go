package descent

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
)

// TestSpilled: with the same noise a training of rows on disk gives the parameters of one in memory, bit by bit, and says so where a row cannot be read.
func TestSpilled(t *testing.T) {
	const width = 500
	for _, most := range []int{1, 3} {
		rows := random(rand.New(rand.NewPCG(9, 8)), 3000, most, width, 2)
		var file *os.File
		run := func(l data.Limits) ([]float64, *data.Table) {
			b, err := data.NewBuilder(width, most)
			if err != nil {
				t.Fatal(err)
			}
			b.Spill(l)
			for _, r := range rows {
				if err := b.Add(r.unit, r.x, r.y); err != nil {
					t.Fatal(err)
				}
			}
			table := b.Table()
			coins := rand.New(rand.NewPCG(5, 6))
			p := &Plan{Learner: NewLinear(loss.Logistic(), width), Rows: most, Clip: 0.7, Rate: 0.3, Steps: 4, Noise: 2, Population: 3000, LearningRate: 3, Average: 0.5}
			theta, err := p.train(table, &seeded{rand.New(rand.NewPCG(7, 8)), p.Noise * Unit}, func(batch []int32) ([]int32, error) {
				for i := range table.Units() {
					if coins.Float64() < 0.3 {
						batch = append(batch, int32(i))
					}
				}
				return batch, nil
			}, func(step int) error {
				if step == 3 && file != nil && l.Disk == 1<<30 {
					return file.Truncate(1 << 10)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return theta, table
		}
		create := func() (f *os.File, err error) {
			file, err = os.Create(filepath.Join(t.TempDir(), "rows"))
			return file, err
		}
		want, held := run(data.Limits{})
		got, disk := run(data.Limits{Memory: 1, Disk: 1 << 29, File: create})
		if disk.OnDisk() < 1<<20 || held.OnDisk() != 0 || disk.Err() != nil {
			t.Fatalf("%d bytes are on disk, %v", disk.OnDisk(), disk.Err())
		}
		if !floats.Equal(got, want) {
			t.Errorf("%d rows a unit: other parameters from disk", most)
		}
		_, cut := run(data.Limits{Memory: 1, Disk: 1 << 30, File: create})
		if cut.Err() == nil {
			t.Error("rows that are gone are read")
		}
		disk.Wipe()
		cut.Wipe()
	}
}
