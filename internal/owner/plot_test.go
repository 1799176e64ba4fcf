package owner

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/dpsql/dpsql/budget/ledger"
)

// The figure has a curve for everybody and each analyst, which goes back to 0 where a window ends, and stops there in the last one; without a charge there is none.
func TestPlot(t *testing.T) {
	at := func(month, day int) time.Time { return time.Date(2026, time.Month(month), day, 0, 0, 0, 0, time.UTC) }
	history := []ledger.Spent{
		{At: at(3, 2), Window: at(3, 1), Ends: at(4, 1), Analyst: "bob", Own: 0.25, All: 0.25},
		{At: at(3, 9), Window: at(3, 1), Ends: at(4, 1), Analyst: "ann", Own: 0.5, All: 0.75},
		{At: at(5, 5), Window: at(5, 1), Ends: at(6, 1), Analyst: "bob", Own: 0.1, All: 0.1}, // and nothing in April
	}
	for now, end := range map[time.Time]time.Time{at(5, 7): at(5, 7), at(9, 9): at(6, 1), at(1, 1): at(5, 5).Add(time.Second)} {
		got := curves(history, now)
		xy := func(at time.Time, y float64) plotter.XY { return plotter.XY{X: seconds(at), Y: y} }
		want := map[string]plotter.XYs{
			"everybody": {xy(at(3, 2), 0.25), xy(at(3, 9), 0.75), xy(at(4, 1), 0), xy(at(5, 1), 0), xy(at(5, 5), 0.1), xy(end, 0.1)},
			"ann":       {xy(at(3, 9), 0.5), xy(at(4, 1), 0), xy(at(5, 1), 0), xy(end, 0)},
			"bob":       {xy(at(3, 2), 0.25), xy(at(4, 1), 0), xy(at(5, 1), 0), xy(at(5, 5), 0.1), xy(end, 0.1)},
		}
		for _, c := range got {
			if !slices.Equal(c.Points, want[c.Name]) {
				t.Errorf("%v, %s: %v, want %v", now, c.Name, c.Points, want[c.Name])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d curves", len(got))
		}
	}
	var svg bytes.Buffer
	if err := Plot(&svg, "svg", "demo", history, at(5, 7)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"<svg", "everybody", "ann", "bob", "limit", "demo: budget spent"} {
		if !strings.Contains(svg.String(), text) {
			t.Errorf("the figure has no %q", text)
		}
	}
	if err := Plot(&svg, "svg", "demo", nil, at(5, 7)); err == nil {
		t.Error("a figure of nothing")
	}
	for name, begins := range map[string]string{"a.svg": "<?xml", "b.PNG": "\x89PNG\r\n", "c.d.pdf": "%PDF-"} {
		format, err := PlotFormat(name)
		var out bytes.Buffer
		if err := errors.Join(err, Plot(&out, format, "demo", history, at(5, 7))); err != nil || !strings.HasPrefix(out.String(), begins) {
			t.Errorf("%s begins with %.9q, %v", name, out.String(), err)
		}
	}
	for _, name := range []string{"a.jpg", "png", "a.svg.gz", ".", ""} {
		if _, err := PlotFormat(name); err == nil || !strings.Contains(err.Error(), ".svg, .png, .pdf") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
