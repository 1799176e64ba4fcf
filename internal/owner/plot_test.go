package owner

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
)

// The figure has a curve for everybody and each analyst, which begin anew with each window; without a charge there is none.
func TestPlot(t *testing.T) {
	at := func(month, day int) time.Time { return time.Date(2026, time.Month(month), day, 0, 0, 0, 0, time.UTC) }
	history := []ledger.Spent{
		{At: at(3, 2), Window: at(3, 1), Analyst: "bob", Own: 0.25, All: 0.25},
		{At: at(3, 9), Window: at(3, 1), Analyst: "ann", Own: 0.5, All: 0.75},
		{At: at(4, 5), Window: at(4, 1), Analyst: "bob", Own: 0.1, All: 0.1},
	}
	got := Curves(history)
	want := map[string][]float64{"everybody": {0.25, 0.75, 0, 0.1, 0.1}, "ann": {0.5, 0, 0}, "bob": {0.25, 0, 0.1, 0.1}}
	if len(got) != len(want) {
		t.Fatalf("%d curves", len(got))
	}
	for _, c := range got {
		for i, p := range c.Points {
			if i >= len(want[c.Name]) || p.Y != want[c.Name][i] || i > 0 && p.X < c.Points[i-1].X {
				t.Errorf("%s: %v, want %v", c.Name, c.Points, want[c.Name])
				break
			}
		}
		if len(c.Points) != len(want[c.Name]) {
			t.Errorf("%s: %v, want %v", c.Name, c.Points, want[c.Name])
		}
	}
	var svg bytes.Buffer
	if err := Plot(&svg, "svg", "demo", history); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"<svg", "everybody", "ann", "bob", "limit", "demo: budget spent"} {
		if !strings.Contains(svg.String(), text) {
			t.Errorf("the figure has no %q", text)
		}
	}
	if err := Plot(&svg, "svg", "demo", nil); err == nil {
		t.Error("a figure of nothing")
	}
	for name, begins := range map[string]string{"a.svg": "<?xml", "b.PNG": "\x89PNG\r\n", "c.d.pdf": "%PDF-"} {
		format, err := PlotFormat(name)
		var out bytes.Buffer
		if err := errors.Join(err, Plot(&out, format, "demo", history)); err != nil || !strings.HasPrefix(out.String(), begins) {
			t.Errorf("%s begins with %.9q, %v", name, out.String(), err)
		}
	}
	for _, name := range []string{"a.jpg", "png", "a.svg.gz", ".", ""} {
		if _, err := PlotFormat(name); err == nil || !strings.Contains(err.Error(), ".svg, .png, .pdf") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
