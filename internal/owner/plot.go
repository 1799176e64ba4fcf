package owner

import (
	"fmt"
	"image/color"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpsql/dpsql/budget/ledger"
)

// plotFormats are the kinds of figures, by the ends of their files' names.
var plotFormats = []string{"svg", "png", "pdf"}

// PlotFormat is the kind of figure that a file's name asks for.
func PlotFormat(path string) (string, error) {
	end := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	if !slices.Contains(plotFormats, end) {
		return "", fmt.Errorf("%s: a figure's file ends in .%s", path, strings.Join(plotFormats, ", ."))
	}
	return end, nil
}

// Plot draws a data set's spending until now in one of plotFormats: everybody together and each analyst, as shares of the budget of a window, against its limit of 1. A window
// begins at 0.
func Plot(to io.Writer, format, dataset string, history []ledger.Spent, now time.Time) error {
	if len(history) == 0 {
		return fmt.Errorf("data set %s: nothing was charged yet, so there is nothing to draw", dataset)
	}
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s: budget spent", dataset)
	p.Y.Label.Text = "share of a window's budget"
	p.X.Label.Text = "time, UTC"
	p.Y.Min, p.X.Tick.Marker = 0, times{}
	legend := plot.NewLegend()
	legend.Top, legend.Padding = true, vg.Points(2)
	lines := curves(history, now)
	all := lines[0].Points
	limit, err := plotter.NewLine(plotter.XYs{{X: all[0].X, Y: 1}, {X: all[len(all)-1].X, Y: 1}})
	if err != nil {
		return err
	}
	limit.Color, limit.Dashes = color.RGBA{R: 200, A: 255}, []vg.Length{vg.Points(4), vg.Points(3)}
	legend.Add("limit", limit)
	for i, c := range lines {
		line, err := plotter.NewLine(c.Points)
		if err != nil {
			return err
		}
		line.StepStyle, line.Color, line.Width = plotter.PostStep, plotutil.DarkColors[(1+i)%len(plotutil.DarkColors)], vg.Points(1.25)
		if i == 0 { // everybody's is seen beneath that of one who spent all of it
			line.Color, line.Width = color.Gray{Y: 195}, vg.Points(5)
		}
		p.Add(line)
		legend.Add(c.Name, line)
	}
	p.Add(limit) // above all
	canvas, err := draw.NewFormattedCanvas(20*vg.Centimeter, 11*vg.Centimeter, format)
	if err != nil {
		return err
	}
	page := draw.New(canvas)
	names := legend.Rectangle(page).Size()
	p.Draw(draw.Crop(page, 0, -names.X-vg.Centimeter/2, 0, 0)) // the names stand beside it, where no line is
	legend.Draw(draw.Crop(page, 0, -vg.Centimeter/4, 0, -vg.Centimeter))
	_, err = canvas.WriteTo(to)
	return err
}

// Curve is what was spent over time: X is in seconds since 1970, and Y is a share of a window's budget. It is a step at each point.
type Curve struct {
	Name   string      `json:"name"`
	Points plotter.XYs `json:"points"`
}

// curves are everybody's and each analyst's until now, by name. Each goes back to 0 where a window ends, and the last one stops there. Of no charge there are none.
func curves(history []ledger.Spent, now time.Time) []Curve {
	if len(history) == 0 {
		return []Curve{}
	}
	last := history[len(history)-1]
	end := seconds(last.At) + 1
	if end = max(end, seconds(now)); !last.Ends.IsZero() {
		end = min(end, seconds(last.Ends))
	}
	one := func(name string, mine func(ledger.Spent) (float64, bool)) Curve {
		c := Curve{Name: name}
		level := 0.0
		for i, s := range history {
			if i > 0 && !s.Window.Equal(history[i-1].Window) {
				level = 0
				for _, at := range []time.Time{history[i-1].Ends, s.Window} { // the same, unless nothing was charged in a window between
					if x := seconds(at); !at.IsZero() && (len(c.Points) == 0 || x > c.Points[len(c.Points)-1].X) {
						c.Points = append(c.Points, plotter.XY{X: x, Y: 0})
					}
				}
			}
			if y, ok := mine(s); ok {
				level = y
				c.Points = append(c.Points, plotter.XY{X: seconds(s.At), Y: y})
			}
		}
		c.Points = append(c.Points, plotter.XY{X: end, Y: level})
		return c
	}
	out := []Curve{one("everybody", func(s ledger.Spent) (float64, bool) { return s.All, true })}
	var names []string
	for _, s := range history {
		if !slices.Contains(names, s.Analyst) {
			names = append(names, s.Analyst)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, one(name, func(s ledger.Spent) (float64, bool) { return s.Own, s.Analyst == name }))
	}
	return out
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }
