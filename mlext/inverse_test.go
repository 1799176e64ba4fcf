package mlext

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// kinds are a feature of each kind.
var kinds = []Feature{
	{Name: "amount", Hi: 80, To: 160}, {Name: "degrees", Lo: -3, Hi: 5, From: -30, To: 50}, {Name: "late", Lo: 2, Hi: 7, From: 2, To: 7}, {Name: "always", Lo: 4, Hi: 4, From: 4, To: 4},
	{Name: "smokes", Boolean: true, Levels: []string{"false", "true"}, To: 1}, {Name: "ward", Levels: []string{"A", "B", "C"}, To: 2}, {Name: "picture", Length: 3, Hi: 255, To: 255}, {Name: "wave", Length: 2, Lo: -1, Hi: 1, From: -8, To: 8},
}

func over(t *testing.T, model string, with ...string) *Training {
	t.Helper()
	sts, err := pgsyntax.Parse(fmt.Sprintf("TRAIN DP MODEL m USING %s METHOD dp_gd TARGET y WITH (epsilon = 1, delta = 1e-6, steps = 5%s) AS SELECT 1", model, strings.Join(with, "")))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Read(sts[0].Node.(*pgsyntax.Train))
	if err != nil {
		t.Fatal(err)
	}
	target := Feature{Name: "y", Levels: []string{"a", "b", "c"}, To: 2}
	switch familyOf(model).target {
	case "two":
		target = Feature{Name: "y", Boolean: true, Levels: []string{"false", "true"}, To: 1}
	case "number", "count":
		target = Feature{Name: "y", Hi: 9, To: 9}
	case "": // of the target
	}
	features := kinds
	if familyOf(model).images {
		features = []Feature{{Name: "picture", Type: "bytea", Length: 14 * 13 * 2, Shape: []int{14, 13, 2}, Hi: 255, To: 255}}
	}
	p, err := Plan(spec, features, target, 1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestModelIsTrained: the model's scores of natural values are, of every kind of feature and model, the scores that the parameters had of the values as they were encoded: what predicts is what was trained.
func TestModelIsTrained(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	for i := range 2 * len(families) {
		f, with := families[i/2], ""
		if i%2 == 1 {
			if with = ", bins = 8"; f.network {
				continue
			}
		}
		if f.images { // TestImagesAreTrained
			continue
		}
		p := over(t, f.name, with)
		theta := make([]float64, p.size())
		for i := range theta {
			theta[i] = draw.NormFloat64()
		}
		m := p.model(theta, 0)
		k := len(m.Scores) // of a network the units of its first layer
		for range 200 {
			var steps []int64
			want, got := make([]float64, k), make([]float64, k)
			for c := range k {
				got[c] = m.Scores[c].Intercept
			}
			for i, f := range kinds {
				for cell := range max(1, f.Length) {
					n := f.From + draw.Int64N(f.To-f.From+1)
					steps = append(steps, n)
					for c := range k {
						switch list := m.Scores[c].Coefficients[i]; {
						case f.Levels != nil:
							got[c] += list[n]
						case f.To > f.From:
							x := f.Lo + float64(n-f.From)/float64(f.To-f.From)*(f.Hi-f.Lo)
							got[c] += list[cell] * x
							if bin := sort.SearchFloat64s(m.Features[i].Bins, x); bin < len(m.Features[i].Bins) {
								got[c] += list[1+bin]
							}
						default:
							got[c] += list[cell] * f.Lo
						}
					}
				}
			}
			x, _ := p.encode(append(steps, 0), nil)
			if len(x) != p.width {
				t.Fatalf("%s: %d numbers of %d", f.name, len(x), p.width)
			}
			for j, v := range x {
				for c := range k {
					want[c] += theta[j*k+c] * p.gain() * v
				}
			}
			for c := range k {
				if !(math.Abs(got[c]-want[c]) <= 1e-9) {
					t.Fatalf("%s: score %d of %v is %g, the parameters' %g", f.name, c, steps, got[c], want[c])
				}
			}
		}
	}
}

// TestCollectorWipes: nothing of a row is left by Wipe, not even of the last as it was encoded; and rows on disk that cannot be read again fail a training, with no model.
func TestCollectorWipes(t *testing.T) {
	p := over(t, "logistic_regression")
	c, err := p.Collect()
	if err != nil {
		t.Fatal(err)
	}
	var file *os.File
	c.Within(Limits{Memory: 1, Disk: 1 << 30, File: func() (*os.File, error) {
		file, err = os.Create(filepath.Join(t.TempDir(), "rows"))
		return file, err
	}})
	row := make([]int64, 0, 12)
	for _, f := range kinds {
		for range f.cells() {
			row = append(row, f.To)
		}
	}
	for i := range int64(80000) {
		if err := c.Add(i, append(row, i%2)); err != nil {
			t.Fatal(err)
		}
	}
	if file == nil {
		t.Fatal("nothing is on disk")
	}
	held := c.row
	m, err := p.Train(c, noise.NewSource(), func(done, of int) error {
		if done == 1 {
			return file.Truncate(1 << 10)
		}
		return nil
	})
	var failed *Failure
	if m != nil || !errors.As(err, &failed) {
		t.Errorf("rows that cannot be read make %v, %v", m, err)
	}
	table := c.table
	c.Wipe()
	for _, v := range held {
		if v != 0 {
			t.Errorf("the last row is left: %v", held)
			break
		}
	}
	if table.Rows() != 0 || table.OnDisk() != 0 {
		t.Errorf("%d rows are left", table.Rows())
	}
	if _, err := file.Stat(); err == nil {
		t.Error("the file is open")
	}
}
