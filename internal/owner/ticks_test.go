package owner

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
)

// However short or long a figure's time is, its marks are within it, read differently, and are neither too few to tell the time nor too many to be read.
func TestTicks(t *testing.T) {
	for _, begin := range []time.Time{time.Date(2026, 11, 22, 18, 43, 10, 0, time.UTC), time.Date(2026, 2, 28, 23, 59, 59, 700e6, time.UTC), time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC)} {
		for span := time.Second; span < 20*365*day; span = span*5/4 + time.Millisecond {
			ticks, last, seen := times{}.Ticks(seconds(begin), seconds(begin.Add(span))), 0.0, map[string]bool{}
			if len(ticks) == 0 || len(ticks) == 1 && span > 2*time.Second || len(ticks) > mostTicks {
				t.Errorf("%v from %v: %d marks", span, begin, len(ticks))
			}
			for _, k := range ticks {
				if k.Value < seconds(begin) || k.Value > seconds(begin.Add(span)) || k.Value <= last || seen[k.Label] {
					t.Fatalf("%v from %v: %v", span, begin, ticks)
				}
				seen[k.Label], last = true, k.Value
			}
		}
	}
}

// Neither the limit's line nor another goes through the names, and of one analyst, who spent all that everybody did, both lines are seen.
func TestPlotIsReadable(t *testing.T) {
	at := time.Date(2026, 11, 22, 18, 43, 10, 0, time.UTC)
	var svg bytes.Buffer
	if err := Plot(&svg, "svg", "demo", []ledger.Spent{{At: at, Analyst: "a-name-of-some-length", Own: 0.5, All: 0.5}, {At: at.Add(time.Second), Analyst: "a-name-of-some-length", Own: 1, All: 1}}, at); err != nil {
		t.Fatal(err)
	}
	farthest := 0.0
	widths := map[string]bool{}
	for _, path := range regexp.MustCompile(`<path d="([^"]*)"\s+style="[^"]*stroke-width:([0-9.]+)`).FindAllStringSubmatch(svg.String(), -1) {
		points := regexp.MustCompile(`[ML]([0-9.]+),([0-9.]+)`).FindAllStringSubmatch(path[1], -1)
		if len(points) == 0 {
			t.Fatalf("no points in %s", path[1])
		}
		if first, end := number(t, points[0][1]), number(t, points[len(points)-1][1]); end-first > 100 { // the curves and the limit
			farthest, widths[path[2]] = max(farthest, end), true
		}
	}
	names := regexp.MustCompile(`<text x="([0-9.]+)"[^>]*>(limit|everybody|a-name-of-some-length)<`).FindAllStringSubmatch(svg.String(), -1)
	if farthest == 0 || len(names) != 3 || len(widths) != 3 {
		t.Fatalf("lines to %g of widths %v, names %v in\n%s", farthest, widths, names, svg.String())
	}
	for _, n := range names {
		if number(t, n[1]) <= farthest {
			t.Errorf("%s begins at %s, lines end at %g", n[2], n[1], farthest)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
