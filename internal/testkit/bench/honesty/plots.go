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
)

var (
	blue = color.NRGBA{R: 0x1f, G: 0x4e, B: 0x9e, A: 0x90}
	gray = color.NRGBA{R: 0x70, G: 0x70, B: 0x70, A: 0xff}
	// of the prices, in order
	colours = []color.Color{color.NRGBA{R: 0xb4, G: 0x2d, B: 0x2d, A: 0x90}, blue, color.NRGBA{R: 0x2f, G: 0x7d, B: 0x32, A: 0x90}, gray}
	shapes  = []draw.GlyphDrawer{draw.TriangleGlyph{}, draw.CircleGlyph{}, draw.SquareGlyph{}, draw.PlusGlyph{}}
)

func pricesOf(list []*result) []float64 {
	seen := map[float64]bool{}
	for _, r := range list {
		if r.price > 0 {
			seen[r.price] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// series draws each price's points.
func series(p *plot.Plot, list []*result, at func(r *result, price int) (plotter.XY, bool)) error {
	for i, price := range pricesOf(list) {
		var xys plotter.XYs
		for _, r := range list {
			if xy, ok := at(r, i); ok && r.price == price {
				xys = append(xys, xy)
			}
		}
		if len(xys) == 0 {
			continue
		}
		s, err := plotter.NewScatter(xys)
		if err != nil {
			return err
		}
		s.GlyphStyle = draw.GlyphStyle{Shape: shapes[min(i, 3)], Color: colours[min(i, 3)], Radius: vg.Points(2.5)}
		p.Add(s)
		p.Legend.Add("price "+short(price), s)
	}
	return nil
}

func straight(p *plot.Plot, name string, xys plotter.XYs) error {
	l, err := plotter.NewLine(xys)
	if err != nil {
		return err
	}
	l.LineStyle = draw.LineStyle{Color: gray, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(3), vg.Points(3)}}
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
	return nil
}

// plotCoverage has a line a schema and a point a column of a statement.
func plotCoverage(path string, list []*result) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = "How often 95% intervals hold the plain SQL answer", "coverage, % of the answers"
	var names []string
	line := map[string]float64{}
	for i := range schemas {
		s := schemas[len(schemas)-1-i]
		line[s.name] = float64(len(names))
		names = append(names, s.name)
	}
	p.NominalY(names...)
	p.Add(plotter.NewGrid())
	of := map[string]int{}
	err := series(p, list, func(r *result, price int) (plotter.XY, bool) {
		of[r.schema]++ // spread over the line, so that equal ones are seen
		y := line[r.schema] + 0.25*float64(1-price) + 0.1*(float64(of[r.schema]%5)/4-0.5)
		return plotter.XY{X: 100 * r.covered, Y: y}, !math.IsNaN(r.covered)
	})
	if err != nil {
		return err
	}
	if err := straight(p, "95 %", plotter.XYs{{X: 95, Y: -0.5}, {X: 95, Y: float64(len(names)) - 0.5}}); err != nil {
		return err
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -1, 101, -0.6, float64(len(names))+1
	return p.Save(20*vg.Centimeter, vg.Length(len(names)+2)*1.3*vg.Centimeter, path)
}

// What is narrower or wider stands at the figure's edge.
const narrow, wide = 0.2, 30

// plotWidths holds coverage against the width over the yardstick.
func plotWidths(path string, list []*result) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "Coverage and width of 95% intervals", "half-width / that of the best fixed bound, which knows the data", "coverage, %"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Add(plotter.NewGrid())
	err := series(p, list, func(r *result, _ int) (plotter.XY, bool) {
		return plotter.XY{X: min(max(r.width, narrow), wide), Y: 100 * r.covered}, r.width > 0 && !math.IsInf(r.width, 1) && !math.IsNaN(r.covered)
	})
	if err != nil {
		return err
	}
	if err := straight(p, "95 %", plotter.XYs{{X: narrow, Y: 95}, {X: wide, Y: 95}}); err != nil {
		return err
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0.1, 100, -1, 130
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 25, Label: "25"}, {Value: 50, Label: "50"}, {Value: 75, Label: "75"}, {Value: 100, Label: "100"}}
	p.Legend.Top, p.Legend.Left = true, true
	return p.Save(20*vg.Centimeter, 12*vg.Centimeter, path)
}
