package tpc_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/testkit/bench/tpc"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// keys says how many of an answer's first columns name its row; the others are measured.
var keys = map[string]int{"q01": 2, "q04": 1, "q05": 1, "q07": 3, "q08": 1, "q09": 2, "q12": 1, "q13": 1, "q15": 4, "q20": 2, "q21": 1, "q22": 1}

// Each side is asked this often, in turns, after once to warm up; less often where that takes long.
const (
	rounds  = 9
	enough  = 8 * time.Second
	tooLong = 5 * time.Second // and the first is counted too
)

// timing is what one query came to.
type timing struct {
	query, fate   string
	capped        bool
	errors        []float64 // relative, of every number of every answer
	missing, rows int       // rows of answers that the exact answer does not have, and all
	pg, duck      ratio
}

// ratio is private against raw, medians.
type ratio struct{ raw, private time.Duration }

func (r ratio) of() float64 { return r.private.Seconds() / r.raw.Seconds() }

func (r ratio) String() string {
	ms := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds()*1e3, 'g', 3, 64) }
	return fmt.Sprintf("%s | %s | %.1f", ms(r.raw), ms(r.private), r.of())
}

// BenchmarkTPCH: every query of TPC-H that is answered, at SF 0.1, private against raw on the same database, and how far its numbers are off. With
// -update the table of docs/sql.md is written, which TestSQLDoc -update puts there.
func BenchmarkTPCH(b *testing.B) {
	for b.Loop() {
		report(b, measure(b, tpc.Bench{Name: "tpch", SF: 0.1}))
	}
}

func measure(b *testing.B, of tpc.Bench) (out []*timing) {
	ctx := context.Background()
	queries, err := of.Queries()
	must(b, err)
	pg := pgtest.Start(b, "jit=on")
	must(b, of.LoadPostgres(pg))
	exact, err := pgx.Connect(ctx, pg.ReaderURL(of.DB()))
	must(b, err)
	_, err = exact.Exec(ctx, "SET jit = off") // as the proxy asks
	must(b, err)
	onPostgres, err := of.OpenPostgres(ctx, pg.ReaderURL(of.DB()))
	must(b, err)
	path, err := of.DuckDB()
	must(b, err)
	wanted := regexp.MustCompile(*only)
	truths := map[string]map[string][]float64{}
	for _, q := range queries {
		if !wanted.MatchString(q.Name) {
			continue
		}
		t := &timing{query: q.Name}
		out = append(out, t)
		told := onPostgres.Ask(ctx, "EXPLAIN VERBOSE "+q.Text)
		if t.fate = told.String(); told.How != "answered" {
			continue
		}
		if says(told, "Public statement") {
			t.fate = "exact and free: no private table"
			continue
		}
		t.capped = says(told, "Cap:")
		begin := time.Now()
		truths[q.Name] = truth(b, exact, q)
		took := time.Since(begin)
		raw := func() error { _, err := exact.Exec(ctx, q.Text); return err }
		if took > enough { // Q17 has no index to use
			raw = nil
		}
		if t.pg = inTurns(b, raw, t.asking(ctx, onPostgres, q, truths[q.Name])); raw == nil {
			t.pg.raw = took
		}
		fmt.Fprintf(os.Stderr, "%s on PostgreSQL: %s\n", q.Name, t.pg)
	}
	must(b, onPostgres.Close())
	// A file cannot be open twice with different settings: raw first.
	raw, err := sql.Open("duckdb", path+"?access_mode=READ_ONLY")
	must(b, err)
	for _, t := range out {
		if t.pg.raw > 0 {
			t.duck.raw = inTurns(b, func() error { return drain(raw, textOf(queries, t.query)) }, nil).raw
		}
	}
	must(b, raw.Close())
	onDuckDB, err := of.OpenDuckDB(ctx)
	must(b, err)
	for _, t := range out {
		if t.pg.raw > 0 {
			q := tpc.Query{Name: t.query, Text: textOf(queries, t.query)}
			t.duck.private = inTurns(b, nil, t.asking(ctx, onDuckDB, q, truths[q.Name])).private
			fmt.Fprintf(os.Stderr, "%s on DuckDB: %s\n", q.Name, t.duck)
		}
	}
	must(b, onDuckDB.Close())
	return out
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func textOf(queries []tpc.Query, name string) string {
	i := slices.IndexFunc(queries, func(q tpc.Query) bool { return q.Name == name })
	return queries[i].Text
}

// inTurns gives the medians of both sides; a side may be left out.
func inTurns(b *testing.B, raw, private func() error) (r ratio) {
	b.Helper()
	var took [2][]time.Duration
	for i, start := 0, time.Now(); i <= rounds && (i < 2 || time.Since(start) < enough); i++ {
		for side, ask := range []func() error{raw, private} {
			if ask == nil || i > 0 && len(took[side]) > 0 && took[side][0] > tooLong {
				continue
			}
			begin := time.Now()
			must(b, ask())
			if d := time.Since(begin); i > 0 || d > tooLong {
				took[side] = append(took[side], d)
			}
		}
	}
	for side, to := range []*time.Duration{&r.raw, &r.private} {
		if slices.Sort(took[side]); len(took[side]) > 0 {
			*to = took[side][len(took[side])/2]
		}
	}
	return r
}

func drain(db *sql.DB, text string) error {
	rows, err := db.Query(text)
	if err != nil {
		return err
	}
	for rows.Next() {
		continue
	}
	return rows.Close()
}

// asking asks once more and notes how far the answer is off.
func (t *timing) asking(ctx context.Context, w *tpc.World, q tpc.Query, truth map[string][]float64) func() error {
	return func() error {
		f := w.Ask(ctx, q.Text)
		if f.How != "answered" {
			return fmt.Errorf("%s: %s", q.Name, f)
		}
		if f.Answer == nil { // arithmetic on released numbers failed
			return nil
		}
		for _, row := range f.Answer.Rows {
			t.rows++
			name, numbers := split(q, texts(f.Columns, row))
			want, ok := truth[name]
			if !ok {
				t.missing++
				continue
			}
			for i, n := range numbers {
				if want[i] != 0 {
					t.errors = append(t.errors, math.Abs(n-want[i])/math.Abs(want[i]))
				}
			}
		}
		return nil
	}
}

func texts(columns []answer.Column, row []sqltype.Value) []string {
	out := make([]string, len(row))
	for i, v := range row {
		if v != nil {
			out[i] = sqltype.FormatText(v, columns[i].Type)
		}
	}
	return out
}

// split cuts a row into its name and its numbers.
func split(q tpc.Query, row []string) (string, []float64) {
	name := []string{}
	for _, k := range row[:keys[q.Name]] {
		name = append(name, strings.TrimSpace(k))
	}
	var numbers []float64
	for _, n := range row[keys[q.Name]:] {
		v, err := strconv.ParseFloat(n, 64)
		if err != nil {
			v = 0
		}
		numbers = append(numbers, v)
	}
	return strings.Join(name, "|"), numbers
}

func truth(b *testing.B, c *pgx.Conn, q tpc.Query) map[string][]float64 {
	b.Helper()
	results, err := c.PgConn().Exec(context.Background(), q.Text).ReadAll()
	must(b, err)
	out := map[string][]float64{}
	for _, r := range results[len(results)-1].Rows {
		row := make([]string, len(r))
		for i, v := range r {
			row[i] = string(v)
		}
		name, numbers := split(q, row)
		out[name] = numbers
	}
	return out
}

// says: EXPLAIN has a line that begins so.
func says(f tpc.Fate, begin string) bool {
	return slices.ContainsFunc(f.Answer.Rows, func(row []sqltype.Value) bool { return strings.HasPrefix(strings.TrimSpace(row[0].(string)), begin) })
}

// report prints the table, and what misses its target.
func report(b *testing.B, list []*timing) {
	b.Helper()
	var logs [2]float64
	n := 0
	var table strings.Builder
	for _, t := range list {
		fmt.Fprintln(&table, t.line())
		if t.pg.raw == 0 {
			continue
		}
		n++
		logs[0], logs[1] = logs[0]+math.Log(t.pg.of()), logs[1]+math.Log(t.duck.of())
		most := 5.0
		if t.capped {
			most = 6
		}
		if t.pg.of() > most || t.duck.of() > 16 {
			fmt.Fprintf(os.Stderr, "%s misses its target: %.1f (%g) and %.1f (16) times raw\n", t.query, t.pg.of(), most, t.duck.of())
		}
	}
	means := [2]float64{math.Exp(logs[0] / float64(n)), math.Exp(logs[1] / float64(n))}
	b.ReportMetric(means[0], "private/raw-postgres")
	b.ReportMetric(means[1], "private/raw-duckdb")
	fmt.Fprintf(&table, "\nGeometric means of the ratios: PostgreSQL %.2f (target 2.5), DuckDB %.2f (target 3).\n", means[0], means[1])
	fmt.Fprint(os.Stderr, table.String())
	if *update && *only == "" {
		must(b, os.WriteFile("../../../engine/testdata/sql/tpch.md", []byte(table.String()), 0o600))
	}
}

func (t *timing) line() string {
	name := "Q" + strings.TrimLeft(t.query[1:], "0")
	if t.pg.raw == 0 {
		return fmt.Sprintf("| %s | %s | | | | | | | |", name, strings.ReplaceAll(t.fate, "|", "\\|"))
	}
	how := "answered"
	if t.capped {
		how += ", groups of a unit capped"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", name, how, t.off(), t.pg, t.duck)
}

// off is the relative error of the median number, and that which 95 of 100 numbers stay below.
func (t *timing) off() string {
	if t.query == "q20" {
		return "no numbers"
	}
	if len(t.errors) == 0 {
		return "no row of the exact answer"
	}
	slices.Sort(t.errors)
	out := fmt.Sprintf("%.2g%%, %.2g%%", 100*t.errors[len(t.errors)/2], 100*t.errors[len(t.errors)*95/100])
	if t.missing > 0 {
		out += fmt.Sprintf("; %d%% of rows are not in the exact answer", 100*t.missing/t.rows)
	}
	return out
}
