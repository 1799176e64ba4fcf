package main

import (
	"fmt"
	"image/color"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// figureRuns are the trainings of each point of a figure, at most.
const figureRuns = 3

const figuresFolder = "docs/training"

// a curve is a method with options, over epsilons or sampling rates.
type curve struct {
	name string
	row  row
	at   []float64
}

// figures draws Adult's accuracy against epsilon of each method, and against the sampling rate of dp_sgd.
func figures(folder string, runs int) error {
	s, err := adult(folder)
	if err != nil {
		return err
	}
	runs = min(runs, figureRuns)
	epsilons := []float64{0.05, 0.1, 0.25, 0.5, 1, 2}
	var methods []curve
	for _, m := range []string{objective, "dp_gd", "kifer_2012", "amp", "sufficient_statistics", "output_perturbation"} {
		methods = append(methods, curve{m, row{data: "adult", model: logistic, method: m, delta: 1e-6}, epsilons})
	}
	if err := draws(methods, "Adult, logistic regression, delta 1e-6", "epsilon", "methods.svg", func(c *curve, x float64) (*measured, error) { return c.row.train(s, x, runs) }); err != nil {
		return err
	}
	var rates []curve
	for _, e := range []float64{2, 0.5, 0.1} {
		rates = append(rates, curve{fmt.Sprintf("epsilon %g", e), row{data: "adult", model: logistic, method: "dp_sgd", delta: 1e-6}, []float64{0.01, 0.05, 0.15, 0.5, 1}})
	}
	return draws(rates, "Adult, logistic regression by dp_sgd, as many steps at each rate", "sampling rate", "rates.svg", func(c *curve, x float64) (*measured, error) {
		c.row.with = fmt.Sprintf("sampling_rate = %g", x)
		var e float64
		if _, err := fmt.Sscanf(c.name, "epsilon %g", &e); err != nil {
			return nil, err
		}
		return c.row.train(s, e, runs)
	})
}

var colors = []color.Color{
	color.RGBA{R: 0x1f, G: 0x4e, B: 0x9e, A: 0xff}, color.RGBA{R: 0xb4, G: 0x2d, B: 0x2d, A: 0xff}, color.RGBA{R: 0x2f, G: 0x7d, B: 0x32, A: 0xff},
	color.RGBA{R: 0x80, G: 0x40, B: 0x98, A: 0xff}, color.RGBA{R: 0xc0, G: 0x78, B: 0x10, A: 0xff}, color.RGBA{R: 0x70, G: 0x70, B: 0x70, A: 0xff},
}

// draws measures and draws curves of medians.
func draws(curves []curve, title, x, name string, train func(c *curve, x float64) (*measured, error)) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, "accuracy, %, median"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Add(plotter.NewGrid())
	for i := range curves {
		c := &curves[i]
		var xys plotter.XYs
		for _, at := range c.at {
			m, err := train(c, at)
			if err != nil {
				return err
			}
			fmt.Printf("%s, %s, %g: %.2f\n", name, c.name, at, middle(m.accuracies))
			xys = append(xys, plotter.XY{X: at, Y: middle(m.accuracies)})
		}
		line, points, err := plotter.NewLinePoints(xys)
		if err != nil {
			return err
		}
		line.LineStyle = draw.LineStyle{Color: colors[i], Width: vg.Points(1.2)}
		points.GlyphStyle = draw.GlyphStyle{Shape: draw.CircleGlyph{}, Color: colors[i], Radius: vg.Points(2.5)}
		p.Add(line, points)
		p.Legend.Add(c.name, line, points)
	}
	p.X.Max *= 1.15 // the last points whole, and room for the legend below all curves
	p.Y.Min -= 0.35 * (p.Y.Max - p.Y.Min)
	p.Legend.Left, p.Legend.XOffs = true, vg.Points(12) // names grow to the right, whatever font shows them
	p.X.Padding, p.Title.Padding = vg.Points(6), vg.Points(8)
	return p.Save(18*vg.Centimeter, 11*vg.Centimeter, filepath.Join(figuresFolder, name))
}
