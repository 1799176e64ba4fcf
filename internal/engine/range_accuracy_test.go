package engine_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// rangesPolicy is of people with a few rows each: columns whose ranges are far wider than what rows hold, and one that is tight.
const rangesPolicy = `
dataset: ranges
backend: BACKEND
unit: people.person_id
population: 4000
tables:
  people: {columns: {person_id: {}}}
  visits:
    unit: person_id -> people.person_id
    max_rows_per_unit: auto
    columns:
      visit_id:  {}
      person_id: {}
      gap:       {range: [-100, 100]}
      items:     {range: [0, 50]}
      days:      {range: [0, 30]}
      level:     {range: [60, 100]}
      rare:      {range: [0, 1]}
budget: {epsilon: 10000, delta: 1e-6}
query: {price: 1}
analysts:
  ann: {password: VERIFIER, may: [people, visits]}
`

// rangesVisit is what a person's visit has. Six people have something rare.
type rangesVisit struct{ gap, items, days, level, rare int }

// rangesVisits are those of 4,000 people, 1 to 6 each.
func rangesVisits() (all [][]rangesVisit) {
	for p := range 4000 {
		var list []rangesVisit
		for k := range 1 + p*7%6 {
			x := (p*131 + k*57) % 97
			v := rangesVisit{x%5 - 1, 1 + x%4, 1 + x%6, 80 + x%15, 0}
			if p < 6 {
				v.rare = 1
			}
			list = append(list, v)
		}
		all = append(all, list)
	}
	return all
}

// rangesTruth is an aggregate of them.
func rangesTruth(x string) float64 {
	sum, n := 0.0, 0.0
	for _, list := range rangesVisits() {
		for _, v := range list {
			sum += float64(map[string]int{"gap": v.gap, "items": v.items, "items * days": v.items * v.days, "level": v.level, "rare": v.rare}[x[4:len(x)-1]])
			n++
		}
	}
	if strings.HasPrefix(x, "avg") {
		return sum / n
	}
	return sum
}

// rangesSchema makes their tables.
func rangesSchema() []string {
	out := []string{"CREATE TABLE people (person_id integer PRIMARY KEY)",
		"CREATE TABLE visits (visit_id integer PRIMARY KEY, person_id integer NOT NULL REFERENCES people, gap integer NOT NULL, items integer NOT NULL, days integer NOT NULL, level integer NOT NULL, rare integer NOT NULL)"}
	var people, visits []string
	for p, list := range rangesVisits() {
		people = append(people, fmt.Sprintf("(%d)", p))
		for _, v := range list {
			visits = append(visits, fmt.Sprintf("(%d, %d, %d, %d, %d, %d, %d)", len(visits), p, v.gap, v.items, v.days, v.level, v.rare))
		}
	}
	return append(out, "INSERT INTO people VALUES "+strings.Join(people, ", "), "INSERT INTO visits VALUES "+strings.Join(visits, ", "))
}

func openRanges(t *testing.T, d dialect.Dialect) backend.Backend {
	t.Helper()
	ctx := context.Background()
	var b backend.Backend
	var err error
	if d == funcs.DuckDB {
		b, err = duckdb.OpenMemory(ctx, func(ctx context.Context, c *sql.Conn) error {
			for _, s := range rangesSchema() {
				if _, err := c.ExecContext(ctx, s); err != nil {
					return err
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
		b = enginetest.Keeping(b)
	} else {
		if err = enginetest.SharedServer(t).CreateDB("ranges"); err == nil {
			err = enginetest.SharedServer(t).Exec("ranges", strings.Join(rangesSchema(), ";\n"))
		}
		if err == nil {
			err = enginetest.SharedServer(t).GrantReader("ranges")
		}
		if err == nil {
			b, err = postgres.Open(ctx, enginetest.SharedServer(t).URL("ranges"), postgres.Options{})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// TestRangesCostNothing: a declared range makes no sum and no average less accurate than none, nor does a wide one beside declared rows: in the median of draws the interval is no wider, but for what draws differ, it holds the truth, and nothing is NULL. Noise is the same in each run, so there is no false alarm. Where the range says much the average is far better, and a rare event has a rate. About the middle of its range avg(gap) would
// have an interval 70 times as wide, avg(items * days) one 20 times as wide.
func TestRangesCostNothing(t *testing.T) {
	for d, draws := range map[dialect.Dialect]int{funcs.DuckDB: 15, funcs.Postgres: 5} {
		b := openRanges(t, d)
		uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: ranges.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/ranges"}`}[d]
		open := func(ranges bool, edits ...string) *session.Session {
			text := strings.NewReplacer(append(edits, "VERIFIER", enginetest.Verifier, "BACKEND", uri)...).Replace(rangesPolicy)
			if !ranges {
				lines := strings.Split(text, "\n")
				for i, l := range lines {
					if at := strings.Index(l, "{range"); at >= 0 {
						lines[i] = l[:at] + "{range: auto}"
					}
				}
				text = strings.Join(lines, "\n")
			}
			p, err := policy.Parse("ranges.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: b, LedgerPath: filepath.Join(t.TempDir(), "ledger")})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = e.Close() })
			s, err := session.NewSession(e, "ann", "test")
			if err != nil {
				t.Fatal(err)
			}
			enginetest.Set(t, s, "dpsql.fresh", "on")
			return enginetest.FixedNoise(s, 22)
		}
		told, untold := open(true), open(false)
		wide, rows := []string{"[-100, 100]", "[-10000, 10000]", "[0, 50]", "[0, 10000]"}, []string{"max_rows_per_unit: auto", "max_rows_per_unit: 20"}
		wideRows, onlyRows := open(true, append(wide, rows...)...), open(false, rows...)
		half := func(s *session.Session, x string) (width float64, missed, null int) {
			var widths []float64
			truth := rangesTruth(x)
			for range draws {
				rows, err := enginetest.Try(s, fmt.Sprintf("select %s, dp_low(%[1]s), dp_high(%[1]s) from visits", x))
				if err != nil {
					t.Fatalf("%s: %s: %v", d, x, err)
				}
				if rows[0][1] == nil {
					null++
					continue
				}
				low, high := enginetest.AsFloat(t, rows[0][1]), enginetest.AsFloat(t, rows[0][2])
				if low > truth || high < truth {
					missed++
				}
				widths = append(widths, (high-low)/2)
			}
			if len(widths) == 0 {
				return math.NaN(), missed, null
			}
			slices.Sort(widths)
			return widths[len(widths)/2], missed, null
		}
		for _, k := range []struct {
			x    string
			most float64 // of the width without a range
		}{{"avg(gap)", 1.5}, {"avg(items * days)", 1.5}, {"avg(level)", 0.2}, {"sum(items * days)", 1.5}} {
			with, missed, null := half(told, k.x)
			without, _, _ := half(untold, k.x)
			if !(with <= k.most*without) || missed > draws/4 || null > 0 {
				t.Errorf("%s: %s: half widths are %.4g with the range and %.4g without; %d of %d missed, %d NULL", d, k.x, with, without, missed, draws, null)
			}
		}
		for _, x := range []string{"avg(gap)", "sum(gap)", "sum(items)", "avg(items)", "avg(items * days)"} {
			with, missed, null := half(wideRows, x)
			without, _, _ := half(onlyRows, x)
			if !(with <= 2*without) || missed > draws/4 || null > 0 {
				t.Errorf("%s: %s: beside 20 rows half widths are %.4g with a wide range and %.4g without; %d of %d missed, %d NULL", d, x, with, without, missed, draws, null)
			}
		}
		if width, missed, null := half(told, "avg(rare)"); !(width < 0.01) || missed > draws/4 || null > 0 {
			t.Errorf("%s: a rare event's rate has the half width %.4g, %d of %d missed, %d NULL", d, width, missed, draws, null)
		}
	}
}
