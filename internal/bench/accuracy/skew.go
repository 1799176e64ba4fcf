package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"math/big"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/bench/baseline"
	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/elastic"
)

// The table of docs/joins.md's figures: so many people of so many rows each, joined with itself on a key of so many values, by count(*) at this price.
const (
	skewPeople, skewRows, skewKeys = 100_000, 5, 10_000
	skewEpsilon, skewDelta         = 1, 1e-7
	skewShare                      = 0.25 // of the price for the released scale, as engine/measure has it
	skewDraws                      = 200
)

var skewCaps = []uint64{50, 200, 1000, 5000}

// skewed is one table by how often each key occurs.
type skewed struct {
	x     float64 // how skewed
	often []uint64
}

func (s skewed) most() (m uint64) {
	for _, n := range s.often {
		m = max(m, n)
	}
	return m
}

// joined is the number of joined rows where of each key at most so many rows are kept.
func (s skewed) joined(most uint64) float64 {
	sum := 0.0
	for _, n := range s.often {
		kept := float64(min(n, most))
		sum += kept * kept
	}
	return sum
}

// zipf draws each row's key with a probability that goes as its rank to the minus exponent.
func zipf(exponent float64, random *baseline.Random) skewed {
	sums, sum := make([]float64, skewKeys), 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -exponent)
		sums[i] = sum
	}
	s := skewed{x: exponent, often: make([]uint64, skewKeys)}
	for range skewPeople * skewRows {
		u, low, high := random.Uniform()*sum, 0, skewKeys-1
		for low < high {
			if mid := (low + high) / 2; sums[mid] >= u {
				high = mid
			} else {
				low = mid + 1
			}
		}
		s.often[low]++
	}
	return s
}

// hot has one key with a share of all rows; the others are alike.
func hot(share float64) skewed {
	s := skewed{x: 100 * share, often: make([]uint64, skewKeys)}
	rows := float64(skewPeople * skewRows)
	s.often[0] = uint64(share * rows)
	for i := 1; i < skewKeys; i++ {
		s.often[i] = uint64(rows * (1 - share) / (skewKeys - 1))
	}
	return s
}

// selfJoin is the formula of the rows that one person changes: measured frequencies, or a declared one.
func selfJoin(most uint64) (*elastic.Formula, error) {
	var sides [2]*elastic.Table
	for i := range sides {
		sides[i] = &elastic.Table{Name: "visits", Rows: skewRows}
		if most > 0 {
			sides[i].Caps = []*elastic.Cap{{Columns: []string{"key"}, Most: most, Bag: true}}
		}
	}
	return elastic.Rows(&elastic.Node{Left: &elastic.Node{Table: sides[0]}, Right: &elastic.Node{Table: sides[1]},
		On: []elastic.Pair{{Left: elastic.Column{Table: sides[0], Name: "key"}, Right: elastic.Column{Table: sides[1], Name: "key"}}}})
}

// elasticError is the median relative error at a measured scale, whose release takes a share of the price.
func (s skewed) elasticError(f *budget.Filter, share float64) (float64, error) {
	formula, err := selfJoin(0)
	if err != nil {
		return 0, err
	}
	edges := sensitivity.ScaleLadder()
	ev, err := f.SmoothScale(elastic.Moves, f.Limit(skewEpsilon*share), skewDelta)
	if err != nil {
		return 0, err
	}
	grid, err := elastic.GridOf(ev, edges)
	if err != nil {
		return 0, err
	}
	rest, err := f.Clipped(dp.LaplaceNoise, 1, []uint64{1}, f.Limit(skewEpsilon*(1-share)))
	if err != nil {
		return 0, err
	}
	values := make([]uint64, len(formula.Frequencies))
	for i := range values {
		values[i] = s.most()
	}
	smooth, err := formula.Smooth(values, grid.Beta, nil)
	if err != nil {
		return 0, err
	}
	place, src := grid.Step(smooth), noise.NewSource()
	return s.median(func() (float64, error) {
		released, err := src.Smoother(ev)
		if err != nil {
			return 0, err
		}
		at, err := released.Raise(place)
		if err != nil {
			return 0, err
		}
		event, err := rest.At(edges[grid.Edge(at)], 1)
		if err != nil {
			return 0, err
		}
		return drawn(src, event)
	})
}

// truncatedError is the median relative error where at most so many rows of a key are kept.
func (s skewed) truncatedError(f *budget.Filter, most uint64) (float64, error) {
	formula, err := selfJoin(most)
	if err != nil {
		return 0, err
	}
	at := dp.Sensitivity{PerGroup: formula.At(make([]uint64, len(formula.Frequencies)), 0), Groups: 1}
	scale, err := f.LaplaceScale(at, f.Limit(skewEpsilon))
	if err != nil {
		return 0, err
	}
	src, cut := noise.NewSource(), s.joined(math.MaxUint64)-s.joined(most)
	return s.median(func() (float64, error) {
		x, err := drawn(src, dp.Laplace{Sensitivity: at, Scale: scale})
		return x - cut, err
	})
}

func (s skewed) median(draw func() (float64, error)) (float64, error) {
	var out []float64
	for range skewDraws {
		x, err := draw()
		if err != nil {
			return 0, err
		}
		out = append(out, math.Abs(x)/s.joined(math.MaxUint64))
	}
	return baseline.Quantile(out, 0.5), nil
}

func drawn(src *noise.Source, ev dp.Event) (float64, error) {
	m, err := src.Mechanism(ev)
	if err != nil {
		return 0, err
	}
	x, err := m.Add(new(big.Int))
	if err != nil {
		return 0, err
	}
	f, _ := new(big.Float).SetInt(x).Float64()
	return f, nil
}

// skew makes the figures of docs/joins.md, of tables that are drawn here, and writes them.
func (b *bench) skew(write bool) error {
	f, err := budget.NewFilter(budget.Params{Epsilon: 1000, Delta: 1e-4, QueryEpsilon: skewEpsilon, Accountant: budget.AccountantPure})
	if err != nil {
		return err
	}
	var byZipf, byHot []skewed
	for e := 0.0; e <= 1.5001; e += 0.1 {
		byZipf = append(byZipf, zipf(e, b.random))
	}
	for share := 0.0002; share < 0.12; share *= math.Pow(10, 0.25) {
		byHot = append(byHot, hot(share))
	}
	dir := filepath.Join(b.docs, "joins")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	rows := [][]string{{"table", "skew", "joined_rows", "most_frequent", "elastic"}}
	for _, c := range skewCaps {
		rows[0] = append(rows[0], fmt.Sprintf("truncated_%d", c))
	}
	for _, fig := range []struct {
		name, title, x string
		of             []skewed
		log            bool
	}{
		{"zipf", "count(*) of a self-join, error against skew", "Zipf exponent of the key", byZipf, false},
		{"hot", "count(*) of a self-join, one key with many rows", "rows with that key, % of all", byHot, true},
	} {
		p := plot.New()
		p.Title.Text, p.X.Label.Text, p.Y.Label.Text = fig.title, fig.x, "median error, %"
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		if fig.log {
			p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		}
		p.Add(plotter.NewGrid())
		p.Legend.Top, p.Legend.Left = true, true
		lines := make([]plotter.XYs, 1+len(skewCaps))
		for _, s := range fig.of {
			row := []string{fig.name, short(s.x), short(s.joined(math.MaxUint64)), fmt.Sprint(s.most())}
			for i := range lines {
				e, err := s.elasticError(f, skewShare)
				if i > 0 {
					e, err = s.truncatedError(f, skewCaps[i-1])
				}
				if err != nil {
					return err
				}
				row = append(row, short(e))
				lines[i] = append(lines[i], plotter.XY{X: s.x, Y: 100 * e})
			}
			rows = append(rows, row)
		}
		for i, l := range lines {
			name, c, dashes := "elastic, measured", color.Color(blue), []vg.Length(nil)
			if i > 0 {
				name = fmt.Sprintf("truncated, at most %d rows of a key", skewCaps[i-1])
				c, dashes = []color.Color{red, green, gray, color.RGBA{R: 0xb0, G: 0x70, A: 0xff}}[i-1], []vg.Length{vg.Points(5), vg.Points(3)}
			}
			if err := errors.Join(line(p, name, l, c, 1.5, dashes...), points(p, "", l, draw.CircleGlyph{}, c)); err != nil {
				return err
			}
		}
		p.Y.Max *= 30 // room for the legend
		p.X.Padding, p.Title.Padding = vg.Points(6), vg.Points(8)
		if write {
			if err := p.Save(18*vg.Centimeter, 11*vg.Centimeter, filepath.Join(dir, fig.name+".svg")); err != nil {
				return err
			}
		}
	}
	for _, r := range rows {
		fmt.Println(r)
	}
	if !write {
		return nil
	}
	return writeCSV(filepath.Join(dir, "skew.csv"), rows)
}
