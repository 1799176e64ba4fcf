package main

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// The table of docs/joins.md's figures: so many people of so many rows each, joined with itself on a key of so many values, by count(*) at this price.
const (
	skewPeople, skewRows, skewKeys = 100_000, 5, 10_000
	skewEpsilon, skewDelta         = 1, 1e-7
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

// skewJoin is count(*) of the table joined with itself: with a declared frequency, or (0) measured ones.
func skewJoin(most uint64) made {
	declared, bounding := "", "elastic"
	if most > 0 {
		declared, bounding = fmt.Sprintf("max_frequency: {key: %d}, ", most), "truncate"
	}
	return made{epsilon: skewEpsilon, delta: skewDelta, query: ", joins: any", may: "visits", settings: map[string]string{"dpsql.bounding": bounding},
		sql:    "SELECT count(*) FROM visits a JOIN visits b ON a.key = b.key",
		tables: []string{"CREATE TABLE people (id int PRIMARY KEY)", "CREATE TABLE visits (person int, key int)"},
		policy: fmt.Sprintf(`unit: people.id
population: %d
tables:
  people: {columns: {id: {}}}
  visits: {unit: person -> people.id, max_rows_per_unit: %d, %scolumns: {person: {}, key: {}}}
`, skewPeople, skewRows, declared)}
}

// error is the median relative error of answers, with what is left out where of a key no more than so many rows are kept.
func (s skewed) error(ctx context.Context, asked *scan, most uint64) (float64, error) {
	if asked.often != nil {
		asked.often.rows = nil
		asked.often.give(func(sqlgen.Column) sqltype.Value { return int64(s.most()) })
	}
	asked.first.rows = nil
	asked.first.give(func(sqlgen.Column) sqltype.Value { return int64(s.joined(most)) })
	var r result
	err := asked.redraw(ctx, skewDraws, map[string]float64{"": s.joined(math.MaxUint64)}, &r)
	return r.median, err
}

// skew makes the figures of docs/joins.md, of tables that are drawn here, and writes them.
func (b *bench) skew(ctx context.Context, write bool) (err error) {
	asked := make([]*scan, 1+len(skewCaps)) // measured, then each cap
	caps := append([]uint64{math.MaxUint64}, skewCaps...)
	for i := range asked {
		declared := caps[i]
		if i == 0 {
			declared = 0
		}
		if asked[i], err = skewJoin(declared).open(ctx, b.verifier); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, asked[i].world.close()) }()
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
				e, err := s.error(ctx, asked[i], caps[i])
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
