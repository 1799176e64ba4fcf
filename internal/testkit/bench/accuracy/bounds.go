package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
)

// boundsReport is for docs/bounds.md: the count of encounters of hospital-demo under each fixed bound, beside automatic ones.
type boundsReport struct {
	total  float64
	values []float64
	prices []*priced
}

// priced is one epsilon.
type priced struct {
	epsilon float64
	fixed   []baseline.Fixed // of m = 1, 2, ..., mostRows
	best    baseline.Fixed
	auto    *result
}

const mostRows = 2000

func (b *bench) bounds(ctx context.Context, done *report) (*boundsReport, error) {
	q := questionOf("visits")
	if err := b.ready(datasetOf(q.data)); err != nil {
		return nil, err
	}
	parts, err := b.partials(&q)
	if err != nil {
		return nil, err
	}
	r := &boundsReport{total: parts.Total(), values: parts.Values()}
	for _, epsilon := range []float64{1, 0.1} {
		p := &priced{epsilon: epsilon, best: baseline.BestFixed(r.values, epsilon)}
		for m := 1; m <= mostRows; m++ {
			p.fixed = append(p.fixed, baseline.FixedLaplace(r.values, r.total, epsilon, float64(m)))
		}
		for _, x := range done.results { // the same draws as in accuracy.md
			if x.q.id == q.id && x.q.epsilon == epsilon {
				p.auto = x
			}
		}
		if p.auto == nil {
			at := q
			at.epsilon, at.gs = epsilon, 0
			if p.auto, err = b.question(ctx, &at); err != nil {
				return nil, err
			}
		}
		r.prices = append(r.prices, p)
	}
	return r, nil
}

func questionOf(id string) question {
	for _, q := range questions {
		if q.id == id {
			return q
		}
	}
	panic("no question " + id)
}

// cut is the share of rows that a bound leaves out.
func (r *boundsReport) cut(m float64) float64 { return 1 - baseline.Clipped(r.values, m)/r.total }

func (r *boundsReport) table() string {
	var t strings.Builder
	t.WriteString("| rows of one person that count | rows cut |")
	line := "|---|---|"
	for _, p := range r.prices {
		fmt.Fprintf(&t, " median error at epsilon %g | 95%% |", p.epsilon)
		line += "---|---|"
	}
	t.WriteString("\n" + line + "\n")
	for _, m := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000} {
		fmt.Fprintf(&t, "| %d | %s |", m, percent(r.cut(float64(m))))
		for _, p := range r.prices {
			fmt.Fprintf(&t, " %s | %s |", percent(p.fixed[m-1].Median), percent(p.fixed[m-1].P95))
		}
		t.WriteString("\n")
	}
	t.WriteString("| the best, knowing the data |  |")
	for _, p := range r.prices {
		fmt.Fprintf(&t, " %s (m = %.0f) | %s |", percent(p.best.Median), p.best.Clip, percent(p.best.P95))
	}
	t.WriteString("\n| `auto` |  |")
	for _, p := range r.prices {
		chosen := clipText(p.auto)
		if chosen != "" {
			chosen = " (m: " + chosen + ")"
		}
		fmt.Fprintf(&t, " %s%s | %s |", percent(p.auto.median), chosen, percent(p.auto.p95))
	}
	t.WriteString("\n\n")
	for _, p := range r.prices {
		first, last := 0, 0
		for i, f := range p.fixed {
			if f.Median < p.auto.median {
				if first == 0 {
					first = i + 1
				}
				last = i + 1
			}
		}
		if first > 0 {
			fmt.Fprintf(&t, "At epsilon %g the bounds from %d to %d err less than `auto`; all others up to %d more.\n", p.epsilon, first, last, mostRows)
		}
	}
	return t.String()
}

func (r *boundsReport) write(docs string) error {
	dir := filepath.Join(docs, "bounds")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	rows := [][]string{{"epsilon", "m", "rows_cut", "median", "p95"}}
	for _, p := range r.prices {
		for i, f := range p.fixed {
			rows = append(rows, []string{fmt.Sprint(p.epsilon), strconv.Itoa(i + 1), short(r.cut(float64(i + 1))), short(f.Median), short(f.P95)})
		}
	}
	err := errors.Join(writeCSV(filepath.Join(dir, "hospital.csv"), rows), writeBlock(filepath.Join(docs, "bounds.md"), "hospital", r.table()))
	for i, p := range r.prices {
		err = errors.Join(err, r.plot(p, filepath.Join(dir, fmt.Sprintf("hospital-%d.svg", i+1))))
	}
	return err
}

// plot shows error and rows cut by m, and what automatic bounds chose and got.
func (r *boundsReport) plot(at *priced, path string) error {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("hospital-demo, count of encounters, epsilon %g", at.epsilon)
	p.X.Label.Text, p.Y.Label.Text = "rows of one person that count, m", "%"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Min, p.Y.Max = 0, 145 // the legend is above 100
	var ticks plot.ConstantTicks
	for y := 0; y <= 100; y += 20 {
		ticks = append(ticks, plot.Tick{Value: float64(y), Label: strconv.Itoa(y)})
	}
	p.Y.Tick.Marker = ticks
	p.Add(plotter.NewGrid())
	p.Legend.Top = true
	var median, p95, cut plotter.XYs
	for m := 1; m <= mostRows; m = max(m+1, m*51/50) {
		f, x := at.fixed[m-1], float64(m)
		median = append(median, plotter.XY{X: x, Y: min(100, 100*f.Median)})
		p95 = append(p95, plotter.XY{X: x, Y: min(100, 100*f.P95)})
		cut = append(cut, plotter.XY{X: x, Y: 100 * r.cut(x)})
	}
	auto := plotter.XYs{{X: 1, Y: 100 * at.auto.median}, {X: mostRows, Y: 100 * at.auto.median}}
	var chosen []float64
	for _, c := range at.auto.clips {
		if len(c) > 0 {
			chosen = append(chosen, min(c[0], mostRows))
		}
	}
	err := errors.Join(line(p, "median error", median, blue, 2), line(p, "95th percentile", p95, blue, 1, vg.Points(4), vg.Points(2)), line(p, "rows cut", cut, gray, 1),
		line(p, "auto: median error", auto, red, 1.5))
	if len(chosen) > 0 {
		err = errors.Join(err, bubbles(p, "auto: m chosen, by how often", spots(chosen, 3)))
	}
	if err != nil {
		return err
	}
	p.X.Max, p.Title.Padding, p.Legend.XOffs = mostRows*1.2, vg.Points(8), -vg.Points(10)
	return p.Save(20*vg.Centimeter, 12*vg.Centimeter, path)
}
