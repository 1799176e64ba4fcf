package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
)

// report is what a run found.
type report struct {
	draws   int
	reasons map[string]string
	results []*result
	times   []*timing
}

// print shows the table on a terminal.
func (r *report) print(w io.Writer) { fmt.Fprint(w, "\n", r.table()) }

func (r *report) printTimes(w io.Writer) { fmt.Fprint(w, "\n", r.timeTable()) }

// table is the main one. A row that misses a target is marked and says why, in the words of reasons.csv.
func (r *report) table() string {
	var t strings.Builder
	t.WriteString("| question | data | epsilon | median | 95% | 99.5% | best fixed bound | ours / best | R2T here, base 2 / 5.5 | others published | at most | bound chosen: 5%, median, 95% | best fixed |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, x := range r.results {
		mark, epsilon, target := "", fmt.Sprint(x.q.epsilon), ""
		if len(x.missed()) > 0 {
			mark = " **(missed)**"
		}
		if x.q.delta > 0 {
			epsilon += fmt.Sprintf(", delta %g", x.q.delta)
		}
		if x.q.target > 0 {
			target = percent(x.q.target)
		}
		fmt.Fprintf(&t, "| %s%s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", x.q.title, mark, x.q.data, epsilon, percent(x.median), percent(x.p95), percent(x.p995), percent(x.best.Median),
			ratioText(x), raceText(x), x.q.published, target, clipText(x), bestText(x))
	}
	var missed reasoned
	for _, x := range r.results {
		if m := x.missed(); len(m) > 0 {
			missed.add(r.reasons[x.q.id], fmt.Sprintf("**%s** on %s (%s)", x.q.title, x.q.data, strings.Join(m, "; ")))
		}
	}
	return t.String() + missed.text()
}

// reasoned lists what missed its targets by the reasons for it, each once.
type reasoned struct {
	why  []string
	what map[string][]string
}

func (l *reasoned) add(why, what string) {
	if why == "" {
		why = "no reason is written down yet"
	}
	if l.what == nil {
		l.what = map[string][]string{}
	}
	if l.what[why] == nil {
		l.why = append(l.why, why)
	}
	l.what[why] = append(l.what[why], what)
}

func (l *reasoned) text() string {
	var t strings.Builder
	for _, why := range l.why {
		fmt.Fprintf(&t, "\nMissed: %s: %s\n", strings.Join(l.what[why], ", "), why)
	}
	return t.String()
}

func ratioText(x *result) string {
	if x.q.factor == 0 {
		return fmt.Sprintf("%.2f", x.ratio())
	}
	return fmt.Sprintf("%.2f (%.2g)", x.ratio(), x.q.factor)
}

func clipText(x *result) string {
	var out []string
	for i := range x.clips[0] {
		var at []float64
		for _, c := range x.clips {
			at = append(at, c[i])
		}
		out = append(out, fmt.Sprintf("%s, %s, %s", short(baseline.Quantile(at, 0.05)), short(baseline.Quantile(at, 0.5)), short(baseline.Quantile(at, 0.95))))
	}
	return strings.Join(out, "; ")
}

func raceText(x *result) string {
	if x.q.gs == 0 {
		return ""
	}
	return percent(x.race[0][0]) + " / " + percent(x.race[1][0])
}

func bestText(x *result) string {
	if x.q.grouped {
		return fmt.Sprintf("%s in %d groups", short(x.best.Clip), x.best.PerUnit)
	}
	return short(x.best.Clip)
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

func (r *report) timeTable() string {
	var t strings.Builder
	t.WriteString("| statement | data | backend | raw, ms | private, ms | private / raw | at most |\n|---|---|---|---|---|---|---|\n")
	for _, x := range r.times {
		mark, target := "", ""
		if x.target > 0 {
			target = short(x.target)
			if x.ratio() > x.target {
				mark = " **(missed)**"
			}
		}
		private := fmt.Sprintf("%.1f | %.2f", x.private.Seconds()*1e3, x.ratio())
		if x.failed != "" {
			private = "failed: " + x.failed + " |"
		}
		fmt.Fprintf(&t, "| %s%s | %s | %s | %.1f | %s | %s |\n", x.name, mark, x.data, x.kind, x.raw.Seconds()*1e3, private, target)
	}
	var missed reasoned
	for _, x := range r.times {
		if x.target > 0 && x.ratio() > x.target {
			missed.add(r.reasons[x.name], fmt.Sprintf("**%s** on %s", x.name, x.data))
		}
	}
	return t.String() + missed.text()
}

// write puts tables, draws and figures under the docs folder.
func (r *report) write(docs string) error {
	dir := filepath.Join(docs, "accuracy")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	page := filepath.Join(docs, "accuracy.md")
	err := errors.Join(writeCSV(filepath.Join(dir, "questions.csv"), r.questionRows()), writeCSV(filepath.Join(dir, "draws.csv"), r.drawRows()),
		r.plotErrors(filepath.Join(dir, "errors.svg")), r.plotClips(filepath.Join(dir, "clips.svg")),
		writeBlock(page, "run", r.machine()), writeBlock(page, "questions", r.table()), writeBlock(page, "assumed", r.assumed()))
	if len(r.times) > 0 {
		err = errors.Join(err, writeCSV(filepath.Join(dir, "times.csv"), r.timeRows()), writeBlock(page, "times", r.timeTable()))
	}
	return err
}

// machine says where and when the run was, and whether its times are.
func (r *report) machine() string {
	cpu, memory := "unknown processor", ""
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(text), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			cpu = strings.Trim(line, " \t:")
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kb float64
		if _, err := fmt.Sscanf(string(text), "MemTotal: %f kB", &kb); err == nil {
			memory = fmt.Sprintf(", %.0f GiB", kb/(1<<20))
		}
	}
	return fmt.Sprintf("Made on %s with %d answers a scan: %d cores of %s%s, %s.\n", time.Now().UTC().Format(time.DateOnly), r.draws, runtime.NumCPU(), cpu, memory, runtime.Version())
}

// assumed lists what Race-to-the-Top was told.
func (r *report) assumed() string {
	var list []string
	for _, x := range r.results {
		if x.q.gs > 0 && x.q.gs != 1e6 {
			list = append(list, fmt.Sprintf("%s %s", x.q.title, strconv.FormatFloat(x.q.gs, 'f', -1, 64)))
		}
	}
	return "Race-to-the-Top was told a global sensitivity of 1000000, as in its paper, but for larger sums: " + strings.Join(list, ", ") + ".\n"
}

func (r *report) questionRows() [][]string {
	out := [][]string{{"question", "data", "epsilon", "delta", "exact", "people", "median", "p95", "p99.5", "best_fixed_median", "best_fixed_p95", "best_fixed_clip", "best_fixed_groups", "r2t_2_median", "r2t_2_p95",
		"r2t_5.5_median", "r2t_5.5_p95", "r2t_gs", "target", "factor", "scan_seconds", "scan_rows"}}
	f := func(x float64) string {
		if math.IsNaN(x) {
			return ""
		}
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	for _, x := range r.results {
		out = append(out, []string{x.q.id, x.q.data, f(x.q.epsilon), f(x.q.delta), f(x.exact), strconv.Itoa(x.units), f(x.median), f(x.p95), f(x.p995), f(x.best.Median), f(x.best.P95), f(x.best.Clip),
			strconv.Itoa(x.best.PerUnit), f(x.race[0][0]), f(x.race[0][1]), f(x.race[1][0]), f(x.race[1][1]), f(x.q.gs), f(x.q.target), f(x.q.factor), f(x.scanned), f(x.rowsRead)})
	}
	return out
}

func (r *report) drawRows() [][]string {
	out := [][]string{{"question", "data", "draw", "error", "bounds"}}
	for _, x := range r.results {
		for i, e := range x.errors {
			var clips []string
			for _, c := range x.clips[i] {
				clips = append(clips, short(c))
			}
			out = append(out, []string{x.q.id, x.q.data, strconv.Itoa(i + 1), strconv.FormatFloat(e, 'g', 5, 64), strings.Join(clips, " ")})
		}
	}
	return out
}

func (r *report) timeRows() [][]string {
	out := [][]string{{"statement", "data", "backend", "raw_seconds", "private_seconds", "ratio", "target"}}
	for _, x := range r.times {
		out = append(out, []string{x.name, x.data, x.kind, fmt.Sprintf("%.5f", x.raw.Seconds()), fmt.Sprintf("%.5f", x.private.Seconds()), fmt.Sprintf("%.3f", x.ratio()), short(x.target)})
	}
	return out
}

func writeCSV(path string, rows [][]string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return csv.NewWriter(f).WriteAll(rows)
}

// readReasons reads why rows miss their targets: question, reason. People write it.
func readReasons(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := map[string]string{}
	for _, r := range rows {
		out[r[0]] = r[1]
	}
	return out, nil
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
