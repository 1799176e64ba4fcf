package main

import (
	"image/color"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
)

var (
	blue   = color.RGBA{R: 0x1f, G: 0x4e, B: 0x9e, A: 0xff}
	red    = color.RGBA{R: 0xb4, G: 0x2d, B: 0x2d, A: 0xff}
	green  = color.RGBA{R: 0x2f, G: 0x7d, B: 0x32, A: 0xff}
	gray   = color.RGBA{R: 0x70, G: 0x70, B: 0x70, A: 0xff}
	faded  = color.NRGBA{R: 0x1f, G: 0x4e, B: 0x9e, A: 0x60}
	glyphs = vg.Points(3.5)
)

// row is where a question stands in a figure: the first on top.
func (r *report) row(i int) float64 { return float64(len(r.results) - 1 - i) }

// byQuestion is a figure with one line a question.
func (r *report) byQuestion(title, x string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = title, x
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	names := make([]string, len(r.results))
	for i, res := range r.results {
		names[len(names)-1-i] = res.q.id + ", " + res.q.data
	}
	p.NominalY(names...)
	p.Add(plotter.NewGrid())
	p.Legend.Top = true
	return p
}

// finish leaves room around what was drawn, for the legend on top, and writes the figure.
func (r *report) finish(p *plot.Plot, path string) error {
	p.Y.Min, p.Y.Max = -0.7, float64(len(r.results))+2
	p.X.Min, p.X.Max = p.X.Min/1.3, p.X.Max*1.3
	p.X.Padding, p.Title.Padding = vg.Points(6), vg.Points(8)
	return p.Save(22*vg.Centimeter, vg.Length(len(r.results)+3)*0.7*vg.Centimeter+2*vg.Centimeter, path)
}

func points(p *plot.Plot, name string, xys plotter.XYs, shape draw.GlyphDrawer, c color.Color) error {
	if len(xys) == 0 {
		return nil
	}
	s, err := plotter.NewScatter(xys)
	if err != nil {
		return err
	}
	s.GlyphStyle = draw.GlyphStyle{Shape: shape, Color: c, Radius: glyphs}
	p.Add(s)
	if name != "" {
		p.Legend.Add(name, s)
	}
	return nil
}

func line(p *plot.Plot, name string, xys plotter.XYs, c color.Color, width float64, dashes ...vg.Length) error {
	l, err := plotter.NewLine(xys)
	if err != nil {
		return err
	}
	l.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(width), Dashes: dashes}
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
	return nil
}

// spot is a value with its share of the answers.
type spot struct{ x, y, share float64 }

func spots(values []float64, y float64) []spot {
	count := map[float64]int{}
	for _, v := range values {
		count[v]++
	}
	var out []spot
	for _, v := range slices.Sorted(maps.Keys(count)) {
		out = append(out, spot{v, y, float64(count[v]) / float64(len(values))})
	}
	return out
}

// bubbles draws spots, each of an area that is its share's.
func bubbles(p *plot.Plot, name string, list []spot) error {
	xys := make(plotter.XYs, len(list))
	for i, s := range list {
		xys[i] = plotter.XY{X: s.x, Y: s.y}
	}
	s, err := plotter.NewScatter(xys)
	if err != nil {
		return err
	}
	s.GlyphStyle = draw.GlyphStyle{Shape: draw.CircleGlyph{}, Color: faded, Radius: glyphs}
	s.GlyphStyleFunc = func(i int) draw.GlyphStyle {
		return draw.GlyphStyle{Shape: draw.CircleGlyph{}, Color: faded, Radius: vg.Points(1 + 9*math.Sqrt(list[i].share))}
	}
	p.Add(s)
	p.Legend.Add(name, s)
	return nil
}

// plotErrors shows each question's errors: ours with its 95th percentile, the best fixed bound, Race-to-the-Top, the target.
func (r *report) plotErrors(path string) error {
	p := r.byQuestion("Relative error, median (line to the 95th percentile)", "error, %")
	var ours, race, best, target plotter.XYs
	for i, x := range r.results {
		y := r.row(i)
		ours = append(ours, plotter.XY{X: 100 * x.median, Y: y})
		best = append(best, plotter.XY{X: 100 * x.best.Median, Y: y})
		if !math.IsNaN(x.racer()) {
			race = append(race, plotter.XY{X: 100 * x.racer(), Y: y})
		}
		if x.q.target > 0 {
			target = append(target, plotter.XY{X: 100 * x.q.target, Y: y})
		}
		if err := line(p, "", plotter.XYs{{X: 100 * x.median, Y: y}, {X: 100 * x.p95, Y: y}}, blue, 1); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		name  string
		at    plotter.XYs
		shape draw.GlyphDrawer
		c     color.Color
	}{{"Race-to-the-Top, the better base", race, draw.SquareGlyph{}, red}, {"at most (target)", target, draw.PlusGlyph{}, gray}, {"best fixed bound, knowing the data", best, draw.TriangleGlyph{}, green},
		{"dpsql, automatic", ours, draw.CircleGlyph{}, blue}} {
		if err := points(p, s.name, s.at, s.shape, s.c); err != nil {
			return err
		}
	}
	return r.finish(p, path)
}

// plotClips shows the chosen bounds beside the best fixed one.
func (r *report) plotClips(path string) error {
	p := r.byQuestion("Bounds chosen in each answer, over the best fixed bound", "chosen / best fixed")
	var chosen []spot
	var middle plotter.XYs
	for i, x := range r.results {
		var of []float64
		for _, c := range x.clips {
			if len(c) > 0 {
				of = append(of, c[0]/x.best.Clip)
			}
		}
		if len(of) > 0 {
			middle = append(middle, plotter.XY{X: baseline.Quantile(of, 0.5), Y: r.row(i)})
			chosen = append(chosen, spots(of, r.row(i))...)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	if err := line(p, "best fixed bound", plotter.XYs{{X: 1, Y: -0.5}, {X: 1, Y: float64(len(r.results)) - 0.5}}, green, 1); err != nil {
		return err
	}
	if err := bubbles(p, "chosen, by how often", chosen); err != nil {
		return err
	}
	if err := points(p, "median", middle, draw.PlusGlyph{}, red); err != nil {
		return err
	}
	return r.finish(p, path)
}
