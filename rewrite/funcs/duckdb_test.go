package funcs

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2" // driver
	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// duckEdges are values that DuckDB's decimals hold, by declared type.
var duckEdges = map[sqltype.Type][]string{
	sqltype.Timestamp: {"2000-01-01 00:00:00", "1999-12-31 23:59:59.999999", "1969-12-31 00:00:00.000001", "4713-01-01 (BC) 00:00:00", "294247-01-10 04:00:00", "294247-01-10 04:00:54.775806",
		"infinity", "-infinity", "2020-02-29 12:34:56.789012", "2021-01-03 23:59:59", "2024-12-30 00:00:00", "0044-01-01 (BC) 00:00:00", "0001-01-01 00:00:00", "0001-12-31 (BC) 00:00:00", "1900-02-28 00:00:00.5"},
	sqltype.Timestamptz: {"2000-01-01 00:00:00+00", "1999-12-31 23:59:59.999999+00", "1969-12-31 00:00:00.000001+00", "4713-01-01 (BC) 00:00:00+00", "294247-01-10 04:00:00+00", "294247-01-10 04:00:54.775806+00",
		"infinity", "-infinity", "2020-02-29 12:34:56.789012+00", "2024-12-30 00:00:00+00", "2021-03-28 00:59:59+00", "0044-01-01 (BC) 00:00:00+00", "1883-11-18 17:00:00+00"},
	sqltype.IntervalType:     {"0 days", "1 month", "-1 month", "25 months 3 days 04:05:06.789", "-25 months", "30 days", "100:00:00", "-90 minutes", "-61.5 seconds", "1 day -00:00:01", "300 years", "1 month -30 days", "23:59:59.999999"},
	sqltype.NumericOf(5, 2):  {"0.00", "1.10", "-0.50", "2.50", "99.99", "-999.99", "0.01"},
	sqltype.NumericOf(18, 3): {"0.000", "1.000", "-7.500", "0.001", "999999999999999.999", "-999999999999999.999", "2147483647.500", "32767.500", "0.700"},
	sqltype.NumericOf(38, 0): {"0", "-1", "9223372036854775808", "99999999999999999999999999999999999999", "-99999999999999999999999999999999999999"},
}

var numericTypes = []sqltype.Type{sqltype.NumericOf(5, 2), sqltype.NumericOf(18, 3), sqltype.NumericOf(38, 0)}

// variants are the argument types that a row is tried with on DuckDB.
func variants(f *Func) [][]sqltype.Type {
	out := [][]sqltype.Type{nil}
	for _, o := range f.Args {
		options := []sqltype.Type{typeOf(o)}
		if o == sqltype.OIDNumeric {
			options = numericTypes
		}
		var next [][]sqltype.Type
		for _, head := range out {
			for _, t := range options {
				next = append(next, append(append([]sqltype.Type{}, head...), t))
			}
		}
		out = next
	}
	return out
}

func duckValues(f *Func, i int, t sqltype.Type) []string {
	if v, ok := duckEdges[t]; ok {
		return v
	}
	var out []string
	for _, v := range edgesOf(f, i) {
		if day, ok := strings.CutSuffix(v, " BC"); ok && hasEra(t.OID) {
			day, clock, _ := strings.Cut(day, " ")
			v = strings.TrimSpace(day + " (BC) " + clock)
		}
		if hex, ok := strings.CutPrefix(v, `\x`); ok && t.OID == sqltype.OIDBytea { // DuckDB writes each byte so
			v = ""
			for i := 0; i < len(hex); i += 2 {
				v += `\x` + hex[i:i+2]
			}
		}
		out = append(out, v)
	}
	return out
}

// hasEra: the type has years BC.
func hasEra(o sqltype.OID) bool {
	return o == sqltype.OIDDate || o == sqltype.OIDTimestamp || o == sqltype.OIDTimestamptz
}

func duckType(t sqltype.Type) string {
	if t.IsEnum() {
		return "ENUM('sad', 'ok', 'happy', 'it''s')"
	}
	if p, s, ok := t.NumericMod(); ok {
		return duckDecimal(p, s)
	}
	if isText(t.OID) || t.OID == sqltype.OIDVarchar {
		return "VARCHAR"
	}
	return sqlName(t.OID)
}

// TestDuckDB runs every row's total form over edge values in DuckDB and compares it with PostgreSQL's own result:
//   - it never raises, and is strict;
//   - it equals PostgreSQL's result wherever that one does not raise, or is NULL where Gaps says so in words;
//   - where PostgreSQL raises, it is NULL, or a float of IEEE's arithmetic;
//   - the exact form gives the same where the total one has a value and PostgreSQL does not raise;
//   - Range holds.
func TestDuckDB(t *testing.T) {
	pg := connect(t)
	duck := openDuck(t)
	n := 0
	for _, f := range tested(t) {
		for _, rt := range results(f) {
			for _, ts := range variants(f) {
				n++
				_, modified := numericMod(rt)
				refused := f.TotalForm.Print(DuckDB, blanks(f), ts, rt) == ""
				if !modified && refused != (f.Refused[DuckDB] != "") {
					t.Errorf("%s: refused on DuckDB for %q, and its form is empty: %v", signature(f, rt), f.Refused[DuckDB], refused)
				}
				if refused {
					continue
				}
				for _, o := range runBoth(t, pg, duck, f, ts, rt, "d"+strconv.Itoa(n)) {
					checkDuck(t, f, ts, rt, o)
				}
			}
		}
	}
	checkGaps(t, DuckDB)
}

// openDuck opens a DuckDB with the backend's settings.
func openDuck(t *testing.T) *sql.DB {
	t.Helper()
	duck, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	duck.SetMaxOpenConns(1) // temporary tables are a connection's
	t.Cleanup(func() { _ = duck.Close() })
	for _, s := range []string{"TimeZone = 'UTC'", "disabled_optimizers = 'common_subexpressions'", "integer_division = true"} {
		if _, err := duck.ExecContext(context.Background(), "SET GLOBAL "+s); err != nil {
			t.Fatal(err)
		}
	}
	return duck
}

func runBoth(t *testing.T, pg *pgx.Conn, duck *sql.DB, f *Func, ts []sqltype.Type, rt sqltype.Type, name string) []outcome {
	t.Helper()
	ctx := context.Background()
	cols := blanks(f)
	var params []string
	var values [][]string
	for i, ty := range ts {
		if slices.Contains(constPlaces(f), i) {
			values = append(values, nil)
			continue
		}
		cols[i] = places[i]
		params = append(params, cols[i]+" "+pgType(ty))
		values = append(values, duckValues(f, i, ty))
	}
	named := nonEmpty(cols)
	if _, err := pg.Exec(ctx, fmt.Sprintf("CREATE FUNCTION %s(%s) RETURNS text LANGUAGE plpgsql AS $f$ BEGIN RETURN %s; EXCEPTION WHEN OTHERS THEN RETURN 'ERROR ' || SQLSTATE; END $f$",
		name, strings.Join(params, ", "), f.RaisingForm.Print(Postgres, cols, ts, rt))); err != nil {
		t.Fatalf("%s: %v", signature(f, rt), err)
	}
	var outs []outcome
	var pgRows, duckRows []string
	each(values, constPlaces(f), func(args []*string) {
		var p, d []string
		for i, a := range args {
			if cols[i] == "" {
				continue
			}
			if a == nil {
				p, d = append(p, "CAST(NULL AS "+pgType(ts[i])+")"), append(d, "CAST(NULL AS "+duckType(ts[i])+")")
				continue
			}
			if ts[i].OID == sqltype.OIDBytea {
				p = append(p, "CAST("+quoteText("\\x"+fmt.Sprintf("%x", duckBytes(*a)))+" AS bytea)")
			} else {
				p = append(p, "CAST("+quoteText(pgText(*a))+" AS "+pgType(ts[i])+")")
			}
			d = append(d, "CAST("+quoteText(*a)+" AS "+duckType(ts[i])+")")
		}
		k := strconv.Itoa(len(outs))
		pgRows, duckRows = append(pgRows, "("+strings.Join(append([]string{k}, p...), ", ")+")"), append(duckRows, "("+strings.Join(append([]string{k}, d...), ", ")+")")
		for i, c := range consts(f) {
			args[i] = c
		}
		outs = append(outs, outcome{args: args})
	})
	table := func(rows []string) string {
		return "(VALUES " + strings.Join(rows, ", ") + ") AS v(" + strings.Join(append([]string{"k"}, named...), ", ") + ")"
	}
	rows, err := pg.Query(ctx, "SELECT k, "+name+"("+strings.Join(named, ", ")+") FROM "+table(pgRows))
	if err != nil {
		t.Fatalf("%s: %v", signature(f, rt), err)
	}
	for rows.Next() {
		var k int
		var s *string
		if err := rows.Scan(&k, &s); err != nil {
			t.Fatal(err)
		}
		if s != nil && strings.HasPrefix(*s, "ERROR ") {
			outs[k].code, s = (*s)[6:], nil
		}
		outs[k].exact = s
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", signature(f, rt), err)
	}
	total := f.TotalForm.Print(DuckDB, cols, ts, rt)
	long := blanks(f)
	for i, c := range cols {
		if c != "" {
			long[i] = "(" + c + "/*" + strings.Repeat("x", inlineLimit) + "*/)"
		}
	}
	again := f.TotalForm.Print(DuckDB, long, ts, rt)
	drows, err := duck.QueryContext(ctx, "SELECT k, CAST("+total+" AS VARCHAR), CAST("+again+" AS VARCHAR) FROM "+table(duckRows))
	if err != nil {
		t.Errorf("%s %v: the total form raised: %v\n%s", signature(f, rt), ts, err, total)
		return nil
	}
	defer func() { _ = drows.Close() }()
	for drows.Next() {
		var k int
		var s, s2 *string
		if err := drows.Scan(&k, &s, &s2); err != nil {
			t.Fatal(err)
		}
		if show(s) != show(s2) {
			t.Errorf("%s%s: total form %s, with long arguments %s", signature(f, rt), shown(outs[k].args), show(s), show(s2))
		}
		outs[k].total = s
	}
	if err := drows.Err(); err != nil {
		t.Errorf("%s: the total form raised: %v\n%s", signature(f, rt), err, total)
		return nil
	}
	var valued []string
	for k, o := range outs {
		wide := func(a *string) bool { return a != nil && len(*a) > 30 } // beside another scale the exact form has no room
		if o.code == "" && o.total != nil && (!slices.Contains(f.Args, sqltype.OIDNumeric) || !slices.ContainsFunc(o.args, wide)) {
			valued = append(valued, duckRows[k])
		}
	}
	if len(valued) == 0 {
		return outs
	}
	checkExact(t, duck, f, outs, f.RaisingForm.Print(DuckDB, cols, ts, rt), table(valued), signature(f, rt)+fmt.Sprint(ts))
	return outs
}

// checkExact compares the exact form with the total one, over rows where it is not to raise.
func checkExact(t *testing.T, duck *sql.DB, f *Func, outs []outcome, exact, from, what string) {
	t.Helper()
	rows, err := duck.QueryContext(context.Background(), "SELECT k, CAST("+exact+" AS VARCHAR) FROM "+from)
	if err != nil {
		t.Errorf("%s: the exact form raised: %v\n%.2000s", what, err, exact)
		return
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var k int
		var s *string
		if err := rows.Scan(&k, &s); err != nil {
			t.Fatal(err)
		}
		if o := outs[k]; show(s) != show(o.total) && (s == nil || o.total == nil || !sameValue(f.Result, *s, *o.total)) {
			t.Errorf("%s%s: exact form %s, total form %s", what, shown(o.args), show(s), show(o.total))
		}
	}
	if err := rows.Err(); err != nil {
		t.Errorf("%s: the exact form raised: %v\n%.2000s", what, err, exact)
	}
}

// duckBytes reads a BLOB's text.
func duckBytes(s string) (out []byte) {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+3 >= len(s) {
			out = append(out, s[i])
			continue
		}
		b, err := hex.DecodeString(s[i+2 : i+4])
		if err != nil {
			panic(err)
		}
		out, i = append(out, b...), i+3
	}
	return out
}

// pgText undoes duckValues.
func pgText(s string) string {
	if day, clock, ok := strings.Cut(s, " (BC)"); ok {
		return day + clock + " BC"
	}
	return s
}

// each calls f for the product of the lists, each with NULL added.
func each(lists [][]string, fixed []int, f func([]*string)) {
	var walk func(i int, head []*string)
	walk = func(i int, head []*string) {
		if i == len(lists) {
			f(append([]*string{}, head...))
			return
		}
		walk(i+1, append(head, nil))
		if slices.Contains(fixed, i) {
			return
		}
		for k := range lists[i] {
			walk(i+1, append(head, &lists[i][k]))
		}
	}
	walk(0, nil)
}

func checkDuck(t *testing.T, f *Func, ts []sqltype.Type, rt sqltype.Type, o outcome) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s%v%s: "+format, append([]any{signature(f, rt), ts, shown(o.args)}, args...)...)
	}
	for _, a := range o.args {
		if a == nil {
			if o.total != nil {
				fail("%s for NULL", *o.total)
			}
			return
		}
	}
	switch {
	case o.code != "":
		if o.total != nil && !isFloat(f.Result) {
			fail("PostgreSQL raises %s, DuckDB gives %s", o.code, *o.total)
		}
	case o.exact == nil || unicodeCase(f, o.args):
	case o.total == nil:
		if !tolerated(f, DuckDB, ts) {
			fail("NULL, want %s", *o.exact)
		}
	case f.Result == sqltype.OIDTimestamptz && strings.HasPrefix(*o.exact, "29"): // DuckDB's zones lose microseconds there
	case !sameValue(f.Result, *o.total, *o.exact) && !sameLibm(f, *o.total, *o.exact):
		fail("%s, want %s", *o.total, *o.exact)
	}
	checkDuckRange(t, f, ts, rt, o)
}

func sameValue(o sqltype.OID, got, want string) bool {
	switch {
	case isFloat(o):
		g, err1 := strconv.ParseFloat(strings.Replace(got, "-nan", "nan", 1), 64)
		w, err2 := strconv.ParseFloat(want, 64)
		return err1 == nil && err2 == nil && (g == w || math.IsNaN(g) && math.IsNaN(w))
	case o == sqltype.OIDInterval:
		g, err1 := sqltype.ParseText(got, sqltype.IntervalType)
		w, err2 := sqltype.ParseText(want, sqltype.IntervalType)
		return err1 == nil && err2 == nil && g == w
	case hasEra(o):
		if before, after, ok := strings.Cut(got, " (BC)"); ok {
			got = before + after + " BC"
		}
		return got == want
	case o == sqltype.OIDBytea:
		return fmt.Sprintf(`\x%x`, duckBytes(got)) == want
	case o == sqltype.OIDNumeric:
		g, err1 := decimal.NewFromString(got)
		w, err2 := decimal.NewFromString(want)
		return err1 == nil && err2 == nil && g.Equal(w)
	}
	return got == want
}

func checkDuckRange(t *testing.T, f *Func, ts []sqltype.Type, rt sqltype.Type, o outcome) {
	t.Helper()
	if f.Range == nil || o.total == nil || f.Result == sqltype.OIDTimestamptz && strings.HasPrefix(*o.total, "29") { // its text loses microseconds there
		return
	}
	ivs := make([]*num.Interval, len(o.args))
	for i, a := range o.args {
		if d, ok := asDecimal(*a, f.Args[i]); ok {
			ivs[i] = &num.Interval{Lo: d, Hi: d}
		} else if numbers(f.Args[i]) {
			return
		}
	}
	if r := f.Range(ivs, ts); r != nil {
		if got, ok := asDecimal(*o.total, f.Result); !ok || !r.Contains(got) {
			t.Errorf("%s%s: %s is not in %v", signature(f, rt), shown(o.args), *o.total, r)
		}
	}
}
