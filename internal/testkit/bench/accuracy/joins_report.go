package main

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
)

// joinReport is the table of joins.
type joinReport struct {
	rows    []*joined
	reasons map[string]string
}

// joins asks the questions over joins, and writes what came out.
func (b *bench) joins(ctx context.Context, write bool) error {
	r, err := b.joined(ctx)
	if err != nil || len(r.rows) == 0 {
		return err
	}
	if r.reasons, err = readReasons(filepath.Join(b.docs, "accuracy", "reasons.csv")); err != nil {
		return err
	}
	fmt.Print("\n", r.table())
	if !write {
		fmt.Print("\n", r.plans())
		return nil
	}
	dir := filepath.Join(b.docs, "accuracy")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	page := filepath.Join(b.docs, "accuracy.md")
	return errors.Join(writeCSV(filepath.Join(dir, "joins.csv"), r.csv()), writeCSV(filepath.Join(dir, "joins-draws.csv"), r.drawn()), r.plot(filepath.Join(dir, "joins.svg")),
		writeBlock(page, "joins", r.table()), writeBlock(page, "plans", r.plans()))
}

// missed says whether a row does not reach what it should.
func (q *joined) missed() bool { return q.refused != "" || q.target > 0 && !(q.median <= q.target) }

func (q *joined) racer() float64 { return math.Min(q.raced[0][0], q.raced[1][0]) }

func (r *joinReport) table() string {
	var t strings.Builder
	t.WriteString("| question | unit | epsilon | exact | median | 95% | best fixed bound | R2T here, base 2 / 5.5 | published | at most | bound released: 5%, median, 95% |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	var missed reasoned
	for _, q := range r.rows {
		mark, epsilon, target, median := "", fmt.Sprint(q.epsilon), "", percent(q.median)
		if q.missed() {
			mark = " **(missed)**"
			missed.add(r.reasons[q.id], fmt.Sprintf("**%s** (%s)", q.title, q.how()))
		}
		if q.delta > 0 {
			epsilon += fmt.Sprintf(", delta %g", q.delta)
		}
		if q.target > 0 {
			target = percent(q.target)
		}
		if q.refused != "" {
			median = "refused"
		}
		races := ""
		if !math.IsNaN(q.racer()) {
			races = percent(q.raced[0][0]) + " / " + percent(q.raced[1][0])
		}
		fmt.Fprintf(&t, "| %s%s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", q.title, mark, q.unit, epsilon, strconv.FormatFloat(q.answer, 'f', 0, 64), median, percent(q.p95), percent(q.best.Median), races, q.published, target, q.bounds())
	}
	return t.String() + missed.text()
}

// how says by how much a row misses.
func (q *joined) how() string {
	if q.refused != "" {
		return "refused: " + q.refused
	}
	return "at most " + percent(q.target)
}

func (q *joined) bounds() string {
	var out []string
	if len(q.clips) == 0 {
		return ""
	}
	for i := range q.clips[0] {
		var at []float64
		for _, c := range q.clips {
			at = append(at, c[i])
		}
		out = append(out, fmt.Sprintf("%s, %s, %s", short(baseline.Quantile(at, 0.05)), short(baseline.Quantile(at, 0.5)), short(baseline.Quantile(at, 0.95))))
	}
	return strings.Join(out, "; ")
}

// plans are the statements and what EXPLAIN says of them.
func (r *joinReport) plans() string {
	var t strings.Builder
	for _, q := range r.rows {
		fmt.Fprintf(&t, "### %s\n\n```\n", q.title)
		for name, value := range q.settings {
			fmt.Fprintf(&t, "SET %s = %s;\n", name, value)
		}
		t.WriteString("EXPLAIN VERBOSE " + q.sql + ";\n\n")
		if q.refused != "" {
			t.WriteString("ERROR:  " + q.refused + "\n")
		}
		t.WriteString(strings.Join(append(q.explained, ""), "\n") + "```\n\n")
	}
	return t.String()
}

func (r *joinReport) csv() [][]string {
	out := [][]string{{"question", "unit", "epsilon", "delta", "exact", "median", "p95", "p99.5", "best_fixed_median", "r2t_2_median", "r2t_2_p95", "r2t_5.5_median", "r2t_5.5_p95", "r2t_gs", "target", "refused", "scan_seconds"}}
	f := func(x float64) string {
		if math.IsNaN(x) {
			return ""
		}
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	for _, q := range r.rows {
		out = append(out, []string{q.id, q.unit, f(q.epsilon), f(q.delta), strconv.FormatFloat(q.answer, 'f', 0, 64), f(q.median), f(q.p95), f(q.p995), f(q.best.Median), f(q.raced[0][0]), f(q.raced[0][1]), f(q.raced[1][0]), f(q.raced[1][1]), f(q.gs), f(q.target), q.refused, f(q.took.Seconds())})
	}
	return out
}

func (r *joinReport) drawn() [][]string {
	out := [][]string{{"question", "draw", "error", "bounds"}}
	for _, q := range r.rows {
		for i, e := range q.errors {
			var clips []string
			for _, c := range q.clips[i] {
				clips = append(clips, short(c))
			}
			out = append(out, []string{q.id, strconv.Itoa(i + 1), strconv.FormatFloat(e, 'g', 5, 64), strings.Join(clips, " ")})
		}
	}
	return out
}

// plot shows each question's errors: ours with its 95th percentile, Race-to-the-Top, what is published and the target.
func (r *joinReport) plot(path string) error {
	byRow := &report{}
	for _, q := range r.rows {
		byRow.results = append(byRow.results, &result{q: &question{id: q.id, data: q.unit, epsilon: q.epsilon, delta: q.delta}})
	}
	p := byRow.byQuestion("Relative error over joins, median (line to the 95th percentile)", "error, %")
	var ours, race, target plotter.XYs
	for i, q := range r.rows {
		y := byRow.row(i)
		if q.refused == "" {
			ours = append(ours, plotter.XY{X: 100 * q.median, Y: y})
			if err := line(p, "", plotter.XYs{{X: 100 * q.median, Y: y}, {X: 100 * q.p95, Y: y}}, blue, 1); err != nil {
				return err
			}
		}
		if !math.IsNaN(q.racer()) {
			race = append(race, plotter.XY{X: 100 * q.racer(), Y: y})
		}
		if q.target > 0 {
			target = append(target, plotter.XY{X: 100 * q.target, Y: y})
		}
	}
	for _, s := range []struct {
		name  string
		at    plotter.XYs
		shape draw.GlyphDrawer
		c     color.Color
	}{{"Race-to-the-Top, the better base", race, draw.SquareGlyph{}, red}, {"at most (target)", target, draw.PlusGlyph{}, gray}, {"dpsql", ours, draw.CircleGlyph{}, blue}} {
		if len(s.at) == 0 {
			continue
		}
		if err := points(p, s.name, s.at, s.shape, s.c); err != nil {
			return err
		}
	}
	return byRow.finish(p, path)
}
