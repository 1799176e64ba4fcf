package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

var heads = []string{"schema", "statement", "column", "price", "draws", "failed", "cells", "apart", "cells_over_500", "coverage", "coverage_top", "worst_over_500", "under_80_over_500", "hidden_over_500",
	"coverage_apart", "null_apart", "warned", "half_width", "error", "yardstick", "width_ratio", "score_ratio", "note"}

func short(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.4g", x)
}

func (r *result) row() []string {
	return []string{r.schema, r.statement, r.column, short(r.price), fmt.Sprint(r.draws), fmt.Sprint(r.failed), fmt.Sprint(r.cells), fmt.Sprint(r.apart), fmt.Sprint(r.big), short(r.covered), short(r.coveredTop), short(r.worst),
		fmt.Sprint(r.below), short(r.hidden), short(r.coveredApart), short(r.nullApart), short(r.warned), short(r.half), short(r.err), short(r.yard), short(r.width), short(r.score), r.note}
}

func writeCSV(path string, list []*result) (err error) {
	f, err := os.Create(path) //nolint:gosec // where the caller says
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rows := [][]string{heads}
	for _, r := range list {
		rows = append(rows, r.row())
	}
	return csv.NewWriter(f).WriteAll(rows)
}

// readCSV reads what writeCSV wrote.
func readCSV(path string) (out []*result, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // where the caller says
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || strings.Join(rows[0], ",") != strings.Join(heads, ",") {
		return nil, fmt.Errorf("%s does not have the columns of this program: %w", path, err)
	}
	for _, row := range rows[1:] {
		at := 2
		next := func() float64 {
			at++
			x, err := strconv.ParseFloat(row[at], 64)
			if err != nil {
				return math.NaN() // empty
			}
			return x
		}
		whole := func() int { return int(next()) }
		out = append(out, &result{schema: row[0], statement: row[1], column: row[2], price: next(), draws: whole(), failed: whole(), cells: whole(), apart: whole(), big: whole(), covered: next(), coveredTop: next(), worst: next(),
			below: whole(), hidden: next(), coveredApart: next(), nullApart: next(), warned: next(), half: next(), err: next(), yard: next(), width: next(), score: next(), note: row[len(row)-1]})
	}
	return out, nil
}

// percent is a share in %; empty of none.
func percent(x float64) string {
	switch {
	case math.IsNaN(x):
		return ""
	case x >= 10:
		return fmt.Sprintf("%.0f %%", 100*x)
	}
	return fmt.Sprintf("%.3g %%", 100*x)
}

// missed are the targets of the issue that a row misses.
func (r *result) missed() (out []string) {
	low := func(x, least float64) bool { return x < least-chance(least, r.draws) }
	if low(r.covered, 0.9) {
		out = append(out, "coverage")
	}
	if low(r.coveredTop, 0.9) {
		out = append(out, "largest groups")
	}
	if r.below > 0 {
		out = append(out, fmt.Sprintf("%d cells under 80 %%", r.below))
	}
	if r.hidden > mostHidden(r.price) {
		out = append(out, "hidden")
	}
	if r.width > 15 {
		out = append(out, "width")
	}
	return out
}

// mostHidden is the share of cells of many people that may be hidden or NULL.
func mostHidden(price float64) float64 {
	if price < 0.2 {
		return 0.25
	}
	return 0.05
}

// summary is what a price comes to.
type summary struct {
	price                   float64
	statements, under, none int // that have cells which count; those under 90 % beyond chance; those of which no interval is ever shown
	mean, top               float64
	below, big              int
	hidden, width, widest   float64
	score                   float64
}

func summarise(list []*result) (out []summary) {
	by := map[float64][]*result{}
	for _, r := range list {
		by[r.price] = append(by[r.price], r)
	}
	for _, price := range pricesOf(list) {
		s := summary{price: price}
		var covered, top, widths, scores []float64
		hidden := 0.0
		for _, r := range by[price] {
			s.big += r.big
			s.below += r.below
			if r.big > 0 && !math.IsNaN(r.hidden) {
				hidden += r.hidden * float64(r.big)
			}
			if r.cells == 0 {
				continue
			}
			s.statements++
			if math.IsNaN(r.covered) {
				s.none++
				continue
			}
			covered = append(covered, r.covered)
			if r.covered < 0.9-chance(0.9, r.draws) {
				s.under++
			}
			if !math.IsNaN(r.coveredTop) {
				top = append(top, r.coveredTop)
			}
			if !math.IsNaN(r.width) {
				widths, scores = append(widths, r.width), append(scores, r.score)
			}
		}
		s.mean, s.top, s.hidden = mean(covered), mean(top), hidden/float64(max(1, s.big))
		s.width, s.widest, s.score = median(widths), quantile(widths, 1), median(scores)
		out = append(out, s)
	}
	return out
}

func summaryTable(list []*result) string {
	var t strings.Builder
	t.WriteString("| price | columns of statements | coverage | under 90 % | no interval | largest groups, totals | cells over 500 people: under 80 % | of them hidden or NULL | half-width / yardstick, median, most | score / yardstick |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range summarise(list) {
		fmt.Fprintf(&t, "| %g | %d | %s | %d | %d | %s | %d of %d | %s | %.3g, %.3g | %.3g |\n", s.price, s.statements, percent(s.mean), s.under, s.none, percent(s.top), s.below, s.big, percent(s.hidden), s.width, s.widest, s.score)
	}
	return t.String()
}

// table has the worst first.
func table(list []*result) string {
	var t strings.Builder
	t.WriteString("| schema | statement | column | price | coverage | largest groups | cells, over 500 people, apart | hidden or NULL | half-width | error | half-width / yardstick | score / yardstick | missed |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range list {
		missed := r.missed()
		if r.note != "" {
			note, _, _ := strings.Cut(r.note, "\n")
			missed = append(missed, note)
		}
		fmt.Fprintf(&t, "| %s | %s | `%s` | %g | %s | %s | %d, %d, %d | %s | %s | %s | %s | %s | %s |\n", r.schema, r.statement, escape(r.column), r.price, percent(r.covered), percent(r.coveredTop), r.cells, r.big, r.apart,
			percent(r.hidden), percent(r.half), percent(r.err), short(r.width), short(r.score), escape(strings.Join(missed, "; ")))
	}
	return t.String()
}
