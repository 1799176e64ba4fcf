package funcs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// timePieces are parts of dates and times, right ones and wrong ones.
var timePieces = [][]string{
	{"", "", "", " ", "\t", "{"},
	{"2020", "2021", "1900", "2000", "0001", "0000", "9999", "20", "12020"},
	{"-", "-", "/", ".", "", " ", "--"},
	{"2", "02", "1", "11", "12", "4", "0", "13", "Feb"},
	{"-", "-", "/", ".", ""},
	{"1", "9", "09", "28", "29", "30", "31", "00", "32"},
	{"", " ", "T", "t", "  ", ","},
	{"", "1:02", "01:02:03", "13:02:03.5", "23:59:59.9999995", "24:00", "24:00:00.1", "0:0", "9:5:7.", "12:30:00.000000500", "1:60", "25:00", "10:00:60", "101112", "1011"},
	{"", "", " AM", "pm", " PM", " p"},
	{"", "", "Z", "z", " Z", "+02", "-0330", " +15:59", "+16", "+2", "-00:60", " UTC", " gmt", " Berlin"},
	{"", "", "", " ", "\n", "}", "x"},
}

// TestTimeTexts puts texts together from parts: what is read of them on each backend is what PostgreSQL reads, and nothing raises.
func TestTimeTexts(t *testing.T) {
	ctx := context.Background()
	conn, duck := connect(t), openDuck(t)
	n := 4000
	if long() {
		n = 200_000
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's
	var rows []string
	for i := range n {
		var b strings.Builder
		for k, list := range timePieces {
			if k >= 1 && k <= 6 && i%4 == 3 { // a time alone
				continue
			}
			b.WriteString(list[r.IntN(min(len(list), 2+r.IntN(len(list))))])
		}
		rows = append(rows, fmt.Sprintf("(%d, %s)", i, quoteText(b.String())))
	}
	for _, sql := range []string{"CREATE TEMP TABLE texts(k integer, x text)", "INSERT INTO texts VALUES " + strings.Join(rows, ", ")} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
		if _, err := duck.ExecContext(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []sqltype.OID{day, stamp, clock} {
		var f *Func
		for _, g := range fromText() {
			if g.Args[0] == text && g.Result == to {
				f = g
			}
		}
		typ, name := sqltype.Type{OID: to, Typmod: -1}, sqlName(to)
		if _, err := conn.Exec(ctx, "CREATE OR REPLACE FUNCTION own(x text) RETURNS text LANGUAGE plpgsql AS $f$ BEGIN RETURN CAST(CAST(x AS "+name+") AS text); EXCEPTION WHEN OTHERS THEN RETURN NULL; END $f$"); err != nil {
			t.Fatal(err)
		}
		want, texts, found := make([]string, n), make([]string, n), map[dialect.Dialect]int{}
		readOf := func(d dialect.Dialect, k int, total *string) {
			if total == nil {
				return
			}
			found[d]++
			if got := strings.Replace(*total, " (BC)", " BC", 1); got != want[k] {
				t.Errorf("%s: %q as %s is %s, PostgreSQL's %s", d, texts[k], typ, got, want[k])
			}
		}
		pg, err := conn.Query(ctx, "SELECT k, x, own(x), CAST("+f.TotalForm.Print(Postgres, []string{"x"}, types(f), typ)+" AS text) FROM texts")
		if err != nil {
			t.Fatal(err)
		}
		for pg.Next() {
			var k int
			var x string
			var own, total *string
			if err := pg.Scan(&k, &x, &own, &total); err != nil {
				t.Fatal(err)
			}
			texts[k], want[k] = x, show(own)
			readOf(Postgres, k, total)
		}
		if err := pg.Err(); err != nil {
			t.Fatalf("%s raised: %v", typ, err)
		}
		there, err := duck.QueryContext(ctx, "SELECT k, CAST("+f.TotalForm.Print(DuckDB, []string{"x"}, types(f), typ)+" AS VARCHAR) FROM texts")
		if err != nil {
			t.Fatal(err)
		}
		for there.Next() {
			var k int
			var total *string
			if err := there.Scan(&k, &total); err != nil {
				t.Fatal(err)
			}
			readOf(DuckDB, k, total)
		}
		if err := there.Err(); err != nil {
			t.Fatalf("%s raised: %v", typ, err)
		}
		_ = there.Close()
		if found[Postgres] != found[DuckDB] || found[Postgres] < n/50 {
			t.Errorf("%s: %v of %d texts are read", typ, found, n)
		}
	}
}
