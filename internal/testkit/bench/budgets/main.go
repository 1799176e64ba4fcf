package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

func main() {
	if err := write("docs"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write makes the pages' blocks and the figure.
func write(docs string) error {
	pages, err := made()
	if err != nil {
		return err
	}
	for name, blocks := range pages {
		path := filepath.Join(docs, name)
		page, err := os.ReadFile(path) //nolint:gosec // a page of the folder that the caller named
		if err != nil {
			return err
		}
		text := string(page)
		for name, block := range blocks {
			begin, end, err := places(text, name)
			if err != nil {
				return err
			}
			text = text[:begin] + block + text[end:]
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil { //nolint:gosec // a page
			return err
		}
	}
	return figure(filepath.Join(docs, "budget", "counts.svg"))
}

// made are the blocks of each page by name.
func made() (map[string]map[string]string, error) {
	rows, err := counts()
	if err != nil {
		return nil, err
	}
	more, err := others()
	if err != nil {
		return nil, err
	}
	cubes, err := cubesTable()
	return map[string]map[string]string{"budget.md": {"counts": table(rows), "others": more}, "cubes.md": {"cubes": cubes}}, err
}

// places is where a block begins and ends.
func places(page, name string) (begin, end int, err error) {
	head := "<!-- bench: " + name + " -->\n"
	begin = strings.Index(page, head)
	if begin < 0 {
		return 0, 0, fmt.Errorf("the page has no block %q", name)
	}
	begin += len(head)
	n := strings.Index(page[begin:], "<!-- end -->")
	if n < 0 {
		return 0, 0, fmt.Errorf("block %q has no end", name)
	}
	return begin, begin + n, nil
}

// figure is the epsilon of n counts under each accountant, and what the odometer says as the filter admits them.
func figure(path string) error {
	p := plot.New()
	p.Title.Text = "counts of epsilon 0.1, all at delta 1e-6"
	p.X.Label.Text, p.Y.Label.Text = "counts asked", "epsilon of all together"
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 720, 0, 16
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, false
	p.Legend.YPosition = 0
	f, err := filterOf(epsilon, delta, queryPrice, budget.AccountantRDP)
	if err != nil {
		return err
	}
	plain, err := filterOf(epsilon, delta, queryPrice, budget.AccountantPure)
	if err != nil {
		return err
	}
	one, err := ask(plain, queryPrice, "laplace")
	if err != nil {
		return err
	}
	auto, _, err := asExact(f, one.variance)
	if err != nil {
		return err
	}
	colors := []color.RGBA{{0x33, 0x33, 0x33, 0xff}, {0xb4, 0x2d, 0x2d, 0xff}, {0xc7, 0x7f, 0x1a, 0xff}, {0x8a, 0x4f, 0x9e, 0xff}, {0x1f, 0x4e, 0x9e, 0xff}, {0x6f, 0x9f, 0xd8, 0xff}, {0x2f, 0x7d, 0x32, 0xff}, {0x2f, 0x9d, 0x8a, 0xff}}
	add := func(name string, xys plotter.XYs, c color.Color, dashes ...vg.Length) error {
		l, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		l.Color, l.Width, l.Dashes = c, vg.Points(1.4), dashes
		p.Add(l)
		p.Legend.Add(name, l)
		return nil
	}
	for i, a := range accountants {
		var xys plotter.XYs
		for n := 10; n <= 720; n += 10 {
			e, err := a.of(n, math.Sqrt(one.variance))
			if err != nil {
				return err
			}
			if e > p.Y.Max {
				break
			}
			xys = append(xys, plotter.XY{X: float64(n), Y: e})
		}
		if err := add(a.key, xys, colors[i]); err != nil {
			return err
		}
	}
	odometer := func(charge dp.Loss) (xys plotter.XYs) {
		spent := dp.Loss{}
		for n := 1; f.CanAdmit(spent, charge); n++ {
			spent = spent.Plus(charge)
			e, _ := f.Odometer(spent)
			xys = append(xys, plotter.XY{X: float64(n), Y: e})
		}
		return xys
	}
	laplace, err := f.Loss(one.event)
	if err != nil {
		return err
	}
	err = errors.Join(add("odometer, Laplace, as far as the filter goes", odometer(laplace), color.Black, vg.Points(4), vg.Points(2)),
		add("odometer, auto, as far as the filter goes", odometer(auto.loss), color.Black, vg.Points(1), vg.Points(2)),
		add("the budget", plotter.XYs{{X: 0, Y: epsilon}, {X: 720, Y: epsilon}}, color.Gray{Y: 0xa0}, vg.Points(6), vg.Points(3)))
	if err != nil {
		return err
	}
	p.X.Max, p.Y.Max, p.Title.Padding = 1250, 16, vg.Points(8) // the legend is on the right
	return p.Save(22*vg.Centimeter, 13*vg.Centimeter, path)
}
