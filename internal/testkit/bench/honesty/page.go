package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// worstRows is how many rows the page shows of the worst and of those apart.
const worstRows = 25

// write makes the files of docs/honesty and the blocks of docs/accuracy.md.
func write(docs string, list []*result) error {
	folder := filepath.Join(docs, "honesty")
	page := filepath.Join(docs, "accuracy.md")
	old, err := readCSV(filepath.Join(folder, "before.csv"))
	if err != nil {
		return err
	}
	before := map[string]float64{}
	for _, r := range old {
		before[r.id()] = r.err
	}
	draws := 0
	for _, r := range list {
		draws = max(draws, r.draws)
	}
	run := fmt.Sprintf("Made on %s with %d answers of each statement at each price: %d cores, %s.\n", time.Now().UTC().Format("2006-01-02"), draws, runtime.NumCPU(), runtime.Version())
	return errors.Join(
		writeCSV(filepath.Join(folder, "statements.csv"), list),
		plotCoverage(filepath.Join(folder, "coverage.svg"), list),
		plotWidths(filepath.Join(folder, "widths.svg"), list),
		writeBlock(page, "honesty run", run),
		writeBlock(page, "honesty", targetsTable(list)+"\n"+summaryTable(list)+"\n"+errorsTable(list, before)+"\n"+schemaTable(list)),
		writeBlock(page, "honesty worst", table(worst(list))),
		writeBlock(page, "honesty apart", apartTable(list)),
		writeBlock(page, "honesty refused", refusedTable(list)),
	)
}

// targetsTable holds each price's figures against what is asked of them.
func targetsTable(list []*result) string {
	all := summarise(list)
	var t strings.Builder
	t.WriteString("| target |")
	for _, s := range all {
		fmt.Fprintf(&t, " price %g |", s.price)
	}
	t.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, target := range []struct {
		name string
		of   func(s summary) (text string, met bool)
	}{
		{"coverage over all columns: at least 95 %", func(s summary) (string, bool) { return percent(s.mean), s.mean >= 0.95 }},
		{"columns under 90 %, beyond chance: none", func(s summary) (string, bool) { return fmt.Sprint(s.under), s.under == 0 }},
		{"coverage of the largest tenth of groups and of totals: at least 90 %", func(s summary) (string, bool) { return percent(s.top), s.top >= 0.9 }},
		{"cells over 500 people under 80 %, beyond chance: none", func(s summary) (string, bool) { return fmt.Sprint(s.below), s.below == 0 }},
		{"cells over 500 people hidden or NULL: at most 5 %, at price 0.1 25 %", func(s summary) (string, bool) { return percent(s.hidden), s.hidden <= mostHidden(s.price) }},
		{"half-width over the yardstick's, median: at most 3.5", func(s summary) (string, bool) { return short(s.width), s.width <= 3.5 }},
		{"half-width over the yardstick's, most: at most 15", func(s summary) (string, bool) { return short(s.widest), s.widest <= 15 }},
	} {
		fmt.Fprintf(&t, "| %s |", target.name)
		for _, s := range all {
			text, met := target.of(s)
			if !met {
				text += " **(missed)**"
			}
			fmt.Fprintf(&t, " %s |", text)
		}
		t.WriteString("\n")
	}
	return t.String()
}

// worst are the rows that miss a target, those of the least coverage first.
func worst(list []*result) (out []*result) {
	for _, r := range list {
		if r.cells > 0 && len(r.missed()) > 0 {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *result) int { return compare(a.covered, b.covered) })
	return out[:min(len(out), worstRows)]
}

// compare has what is no number last.
func compare(a, b float64) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a) || a > b:
		return 1
	case math.IsNaN(b) || a < b:
		return -1
	}
	return 0
}

// schemaTable has the mean coverage of each schema's columns by price, and how many are under 90 %.
func schemaTable(list []*result) string {
	prices := pricesOf(list)
	var t strings.Builder
	t.WriteString("| schema | statements |")
	for _, p := range prices {
		fmt.Fprintf(&t, " coverage, under 90 %% at price %g |", p)
	}
	t.WriteString("\n|---|---|" + strings.Repeat("---|", len(prices)) + "\n")
	for _, s := range schemas {
		names := map[string]bool{}
		for _, r := range list {
			if r.schema == s.name {
				names[r.statement] = true
			}
		}
		fmt.Fprintf(&t, "| %s | %d |", s.name, len(names))
		for _, p := range prices {
			var of []*result
			for _, r := range list {
				if r.schema == s.name && r.price == p {
					of = append(of, r)
				}
			}
			if sum := summarise(of); len(sum) == 1 {
				fmt.Fprintf(&t, " %s, %d of %d |", percent(sum[0].mean), sum[0].under, sum[0].statements-sum[0].none)
			} else {
				t.WriteString(" |")
			}
		}
		t.WriteString("\n")
	}
	return t.String()
}

// apartTable is of cells in which few people have most, at the price where least of them is NULL or holds.
func apartTable(list []*result) string {
	var rows []*result
	for _, r := range list {
		if r.cells == 0 && r.apart > 0 {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b *result) int { return compare(a.coveredApart, b.coveredApart) })
	var t strings.Builder
	t.WriteString("| schema | statement | column | price | cells | coverage of those shown | hidden or NULL | answers with a warning or notice of it |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows[:min(len(rows), worstRows)] {
		fmt.Fprintf(&t, "| %s | %s | `%s` | %g | %d | %s | %s | %s |\n", r.schema, r.statement, escape(r.column), r.price, r.apart, percent(r.coveredApart), percent(r.nullApart), percent(r.warned))
	}
	return t.String()
}

// refusedTable lists statements that are not answered, or whose interval cannot be asked for.
func refusedTable(list []*result) string {
	var t strings.Builder
	t.WriteString("| schema | statement | why |\n|---|---|---|\n")
	last := ""
	for _, r := range list {
		if name := r.schema + r.statement; r.note != "" && name != last {
			note, _, _ := strings.Cut(r.note, "\n")
			fmt.Fprintf(&t, "| %s | %s | %s |\n", r.schema, r.statement, escape(note))
			last = name
		}
	}
	return t.String()
}

func escape(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

func (r *result) id() string {
	return strings.Join([]string{r.schema, r.statement, r.column, short(r.price)}, "\x00")
}

// errorsTable holds the median errors against those before this bench.
func errorsTable(list []*result, before map[string]float64) string {
	var t strings.Builder
	t.WriteString("| price | columns of statements | error / error before, median | above 1.15 | above 1.4 |\n|---|---|---|---|---|\n")
	for _, p := range pricesOf(list) {
		var ratios []float64
		more, most := 0, 0
		for _, r := range list {
			if was := before[r.id()]; r.price == p && was > 0 && r.err >= 0 {
				ratios = append(ratios, r.err/was)
				if r.err > 1.15*was {
					more++
				}
				if r.err > 1.4*was {
					most++
				}
			}
		}
		fmt.Fprintf(&t, "| %g | %d | %.3g | %d | %d |\n", p, len(ratios), median(ratios), more, most)
	}
	return t.String()
}

// writeBlock replaces what stands in a page between the marks of a name.
func writeBlock(path, name, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- bench: "+name+" -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no block %q", path, name)
	}
	return os.WriteFile(path, []byte(before+begin+text+end+after), 0o600) //nolint:gosec // a page of the folder that the caller named
}
