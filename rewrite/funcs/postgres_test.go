package funcs

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// outcome is one row of a test: the arguments' texts (nil: NULL), PostgreSQL's own result or SQLSTATE, and the total form's.
type outcome struct {
	args         []*string
	exact, total *string
	code         string
}

// TestTotalForms runs every row over every combination of edge values in PostgreSQL:
//   - the total form never raises, also where its arguments are long;
//   - it equals PostgreSQL's own result wherever that one does not raise, or is NULL where Gaps says so in words; it is NULL where PostgreSQL raises (and MayBeNull says so);
//   - it has the declared type and is strict;
//   - Eval gives PostgreSQL's result, or raises its SQLSTATE;
//   - Range holds for the narrowest and for wider intervals, and Safe is false wherever PostgreSQL raises;
//   - so it is beside NaN, of which an interval says nothing, unless RaisesNaN says so, and beside infinite values, which have no interval.
func TestTotalForms(t *testing.T) {
	conn := connect(t)
	n, failed := 0, 0
	for _, f := range tested(t) {
		for _, rt := range results(f) {
			n++
			if f.Refused[Postgres] != "" {
				if f.TotalForm.Print(Postgres, blanks(f), types(f), rt) != "" {
					t.Errorf("%s is refused on PostgreSQL and has a form there", signature(f, rt))
				}
				checkOwn(t, conn, f, rt, "f"+strconv.Itoa(n))
				continue
			}
			outs := runPostgres(t, conn, f, rt, "f"+strconv.Itoa(n))
			for _, o := range outs {
				checkTotal(t, f, rt, o)
				checkEval(t, f, rt, o)
			}
			checkRanges(t, f, rt, outs)
			if t.Failed() {
				failed++
			}
			if failed > 200 {
				t.FailNow()
			}
		}
	}
	checkGaps(t, Postgres)
}

// connect opens a session on a fresh server.
func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), pgtest.Start(t).URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(context.Background(), "SET TimeZone = 'UTC'; DROP TYPE IF EXISTS mood CASCADE; CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'it''s')"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func runPostgres(t *testing.T, conn *pgx.Conn, f *Func, rt sqltype.Type, name string) []outcome {
	t.Helper()
	ctx := context.Background()
	var params, from, texts []string
	cols := blanks(f)
	for i, o := range f.Args {
		if o = concrete(o); slices.Contains(constPlaces(f), i) {
			continue
		}
		values := edgesOf(f, i)
		if o == sqltype.OIDNumeric && len(f.Args) < 3 {
			values = append(values, hugeNumerics...)
		}
		var list []string
		for _, v := range values {
			list = append(list, "("+quoteText(v)+")")
		}
		if len(values) == 0 {
			t.Fatalf("%s: no edge values", signature(f, rt))
		}
		c := places[i]
		params = append(params, c+" "+pgType(sqltype.Type{OID: o, Typmod: -1}))
		from = append(from, fmt.Sprintf("(SELECT CAST(column1 AS %s) AS %s FROM (VALUES %s, (NULL)) AS v) AS t%d", pgType(sqltype.Type{OID: o, Typmod: -1}), c, strings.Join(list, ", "), i))
		cols[i], texts = c, append(texts, map[bool]string{true: "textin(bpcharout(" + c + "))", false: "CAST(" + c + " AS text)"}[o == sqltype.OIDBPChar])
	}
	ts := types(f)
	long := make([]string, len(cols))
	for i, c := range cols {
		if c != "" {
			long[i] = "(" + c + "/*" + strings.Repeat("x", inlineLimit) + "*/)"
		}
	}
	total, totalLong := f.TotalForm.Print(Postgres, cols, ts, rt), f.TotalForm.Print(Postgres, long, ts, rt)
	if total == "" {
		t.Fatalf("%s: no spelling", signature(f, rt))
	}
	own := f.RaisingForm.Print(Postgres, cols, ts, rt)
	if f.Zoned { // PostgreSQL's own follows the session's zone
		own = plainCall(f, cols, rt)
	}
	fn := fmt.Sprintf("CREATE FUNCTION %s(%s) RETURNS text LANGUAGE plpgsql %s AS $f$ BEGIN RETURN %s; EXCEPTION WHEN OTHERS THEN RETURN 'ERROR ' || SQLSTATE; END $f$",
		name, strings.Join(params, ", "), inZone(f), utcText(own, rt))
	if _, err := conn.Exec(ctx, fn); err != nil {
		t.Fatalf("%s: %v\n%s", signature(f, rt), err, fn)
	}
	sql := fmt.Sprintf("SELECT %s, %s, %s, pg_typeof(%s)::oid::int8 FROM %s",
		strings.Join(append(texts, name+"("+strings.Join(nonEmpty(cols), ", ")+")"), ", "), utcText(total, rt), utcText(totalLong, rt), total, strings.Join(append(from, "(SELECT) AS nothing"), ", "))
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		t.Fatalf("%s: %v\n%s", signature(f, rt), err, sql)
	}
	var outs []outcome
	for rows.Next() {
		o := outcome{args: make([]*string, len(cols))}
		for i, c := range consts(f) {
			o.args[i] = c
		}
		var again *string
		var oid int64
		var dest []any
		for i, c := range cols {
			if c != "" {
				dest = append(dest, &o.args[i])
			}
		}
		if err := rows.Scan(append(dest, &o.exact, &o.total, &again, &oid)...); err != nil {
			t.Fatalf("%s: %v", signature(f, rt), err)
		}
		if sqltype.OID(oid) != f.Result {
			t.Fatalf("%s: the total form has type %d: %s", signature(f, rt), oid, total)
		}
		if show(o.total) != show(again) {
			t.Errorf("%s%s: total form %s, with long arguments %s", signature(f, rt), shown(o.args), show(o.total), show(again))
		}
		if o.exact != nil && strings.HasPrefix(*o.exact, "ERROR ") {
			o.code, o.exact = (*o.exact)[6:], nil
		}
		outs = append(outs, o)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: the total form raised: %v\n%s", signature(f, rt), err, total)
	}
	return outs
}

// utcText is an expression's text, of a timestamp with time zone in UTC.
func utcText(x string, t sqltype.Type) string {
	if t.OID == sqltype.OIDTimestamptz {
		x = "timezone('UTC', " + x + ")"
	}
	if t.OID == sqltype.OIDBPChar {
		return "textin(bpcharout(" + x + "))"
	}
	return "CAST(" + x + " AS text)"
}

// inZone makes a function run in the time zone that its row was made for.
func inZone(f *Func) string {
	if zoneOf[f] == "" {
		return ""
	}
	return "SET TimeZone = '" + zoneOf[f] + "'"
}

// plainCall is a row as an analyst would write it.
func plainCall(f *Func, cols []string, t sqltype.Type) string {
	args := slices.Clone(cols)
	for i := range fixedValues(f) {
		args[i] = "CAST(" + quoteText(*consts(f)[i]) + " AS " + castName(sqltype.Type{OID: f.Args[i], Typmod: -1}) + ")"
	}
	switch f.Kind {
	case Cast:
		return "CAST(" + args[0] + " AS " + castName(t) + ")"
	case Operator:
		return "(" + args[0] + " " + f.Name + " " + args[1] + ")"
	}
	return "pg_catalog." + f.Name + "(" + strings.Join(args, ", ") + ")"
}

func checkTotal(t *testing.T, f *Func, rt sqltype.Type, o outcome) {
	t.Helper()
	switch {
	case o.code != "" && o.total != nil:
		t.Errorf("%s%s: PostgreSQL raises %s, the total form gives %s", signature(f, rt), shown(o.args), o.code, *o.total)
	case o.code != "" && !f.MayBeNull:
		t.Errorf("%s%s: PostgreSQL raises %s, and MayBeNull is false", signature(f, rt), shown(o.args), o.code)
	case o.code == "" && o.total == nil && o.exact != nil && tolerated(f, Postgres, types(f)):
	case o.code == "" && show(o.exact) != show(o.total):
		t.Errorf("%s%s: total form %s, want %s", signature(f, rt), shown(o.args), show(o.total), show(o.exact))
	}
}

// tolerated: the row says that its total form leaves values out; seenGaps has what was found.
func tolerated(f *Func, d dialect.Dialect, ts []sqltype.Type) bool {
	list := f.Gaps(d, ts, slices.Repeat([]Known{{Fixed: true}}, len(f.Args)))
	for _, g := range list {
		seenGaps[d.String()+" "+g.Words] = true
	}
	seenGaps[d.String()+" "+signature(f, sqltype.Type{OID: f.Result, Typmod: -1})] = true
	return len(list) > 0
}

var seenGaps = map[string]bool{}

// checkGaps: what a row says that it leaves out, it does.
func checkGaps(t *testing.T, d dialect.Dialect) {
	t.Helper()
	if *rowFlag != "" {
		return
	}
	for _, f := range All() {
		if f.Refused[d] != "" {
			continue
		}
		for _, g := range f.Gaps(d, types(f), slices.Repeat([]Known{{Fixed: true}}, len(f.Args))) {
			of := signature(f, sqltype.Type{OID: f.Result, Typmod: -1})
			isSeen := seenGaps[d.String()+" "+g.Words] && seenGaps[d.String()+" "+of]
			if ofLong := strings.Contains(g.Words, strconv.Itoa(MaxText)); ofLong && f.Name == "||" || ofLong && seenGaps[d.String()+" "+g.Words] { // no text of the test is so long
				isSeen = true
			}
			if !isSeen {
				t.Errorf("%s: %s is said to be NULL for %s, and was not seen to be", d, of, g.Words)
			}
		}
	}
}

func checkEval(t *testing.T, f *Func, rt sqltype.Type, o outcome) {
	t.Helper()
	vals, ok := values(f, o.args)
	if f.Eval == nil || !ok || f.Name == "width_bucket" && *o.args[3] == "2147483647" { // behind the last of these there is no number
		return
	}
	got, err := f.Eval(vals, types(f), rt)
	var e *sqlerr.Error
	switch {
	case rt.OID == sqltype.OIDNumeric && o.exact != nil && (*o.exact == "NaN" || strings.HasSuffix(*o.exact, "Infinity")):
		if err == nil { // released values have no such numerics
			t.Errorf("%s%s: Eval gives %v, PostgreSQL %s", signature(f, rt), shown(o.args), got, *o.exact)
		}
	case err == nil && got == nil:
		if o.code != "" || o.exact != nil {
			t.Errorf("%s%s: Eval gives NULL, PostgreSQL %s %s", signature(f, rt), shown(o.args), o.code, show(o.exact))
		}
	case sqlerr.ID(err) == sqlerr.Unsupported.ID: // it says that it does not read this
	case err != nil:
		if isInt(f.Result) && f.Kind == Cast && slices.Contains(strings3, f.Args[0]) && o.code == sqlerr.NumericRange.Code { // PostgreSQL reads no further than to the digit that is too much
			return
		}
		if e, ok = err.(*sqlerr.Error); !ok || e.Code != o.code && (o.code != "" || o.total != nil) {
			t.Errorf("%s%s: Eval raises %v, PostgreSQL %q %s", signature(f, rt), shown(o.args), err, o.code, show(o.exact))
		}
	case o.code != "":
		t.Errorf("%s%s: Eval gives %v, PostgreSQL raises %s", signature(f, rt), shown(o.args), sqltype.FormatText(got, rt), o.code)
	case o.exact == nil:
		t.Errorf("%s%s: Eval gives %v, PostgreSQL NULL", signature(f, rt), shown(o.args), got)
	default:
		text := sqltype.FormatText(got, rt)
		if rt.OID == sqltype.OIDTimestamptz {
			text = strings.Replace(text, "+00", "", 1)
		}
		if rt.OID == sqltype.OIDBool {
			text = strconv.FormatBool(got.(bool))
		}
		if text != *o.exact && !unicodeCase(f, o.args) && !sameLibm(f, text, *o.exact) {
			t.Errorf("%s%s: Eval gives %s, PostgreSQL %s", signature(f, rt), shown(o.args), show(&text), show(o.exact))
		}
	}
}

// unicodeCase: in a cluster of locale C, PostgreSQL changes the case of ASCII only.
func unicodeCase(f *Func, args []*string) bool {
	switch f.Name {
	case "lower", "upper", "initcap", "~*", "~~*":
	default:
		return false
	}
	return strings.IndexFunc(*args[0], func(r rune) bool { return r > 127 }) >= 0
}

// values are the arguments as Go values; not ok where one is NULL or has no Go form (NaN and infinite numerics).
func values(f *Func, args []*string) ([]sqltype.Value, bool) {
	out := make([]sqltype.Value, len(args))
	fixed := fixedValues(f)
	for i, a := range args {
		if v, ok := fixed[i]; ok {
			out[i] = v
			continue
		}
		if a == nil || len(*a) > 2000 {
			return nil, false
		}
		v, err := sqltype.ParseText(*a, typeOf(f.Args[i]))
		if err != nil {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

// checkRanges draws intervals around the arguments: the narrowest, and from each argument to a few others.
func checkRanges(t *testing.T, f *Func, rt sqltype.Type, outs []outcome) {
	t.Helper()
	if f.Range == nil && f.Safe == nil {
		return
	}
	ts := types(f)
	others := make([][]decimal.Decimal, len(f.Args))
	for i, o := range f.Args {
		for _, e := range edges[o] {
			if d, ok := asDecimal(e, o); ok {
				others[i] = append(others[i], d)
			}
		}
	}
	for k, o := range outs {
		exact, special := make([]decimal.Decimal, len(o.args)), make([]string, len(o.args))
		fine, nan := true, false
		for i, a := range o.args {
			if a == nil {
				fine = false
				break
			}
			if !numbers(f.Args[i]) {
				continue
			}
			var ok bool
			if exact[i], ok = asDecimal(*a, f.Args[i]); !ok {
				special[i] = *a
				nan = nan || *a == "NaN"
				fine = fine && (*a == "NaN" || strings.HasSuffix(strings.ToLower(*a), "infinity"))
			}
		}
		if !fine {
			continue
		}
		for wide := range 4 {
			ivs := make([]*num.Interval, len(exact))
			for i := range ivs {
				if !numbers(f.Args[i]) || slices.Contains(constPlaces(f), i) {
					continue
				}
				other := exact[i]
				if wide > 0 {
					other = others[i][(k*(i+3)+wide*5)%len(others[i])]
				}
				switch {
				case special[i] == "":
					ivs[i] = &num.Interval{Lo: decimal.Min(exact[i], other), Hi: decimal.Max(exact[i], other)}
				case special[i] == "NaN" && len(others[i]) > 0:
					ivs[i] = &num.Interval{Lo: decimal.Min(others[i][(k+wide)%len(others[i])], other), Hi: decimal.Max(others[i][(k+wide)%len(others[i])], other)}
				}
			}
			if nan && f.RaisesNaN {
				continue
			}
			if f.Safe != nil && (o.code != "" || o.total == nil) && f.Safe(ivs, ts) {
				t.Errorf("%s%s: Safe within %v, and PostgreSQL raises %s", signature(f, rt), shown(o.args), ivs, o.code)
			}
			if f.Range == nil || o.total == nil || len(*o.total) > 2000 {
				continue
			}
			r := f.Range(ivs, ts)
			if r == nil {
				continue
			}
			got, ok := asDecimal(*o.total, f.Result)
			if nan && *o.total == "NaN" {
				continue
			}
			if !ok || !r.Contains(got) {
				t.Errorf("%s%s: %s is not in %v, for arguments in %v", signature(f, rt), shown(o.args), *o.total, r, ivs)
			}
		}
	}
}

var decimals = map[string]decimal.Decimal{}

// asDecimal is a number exactly; not ok for what is no number, not finite, or very long.
func asDecimal(s string, o sqltype.OID) (decimal.Decimal, bool) {
	switch {
	case isFloat(o):
		bits := 64
		if o == sqltype.OIDFloat4 {
			bits = 32
		}
		x, err := strconv.ParseFloat(s, bits)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return decimal.Zero, false
		}
		key := strconv.FormatFloat(x, 'g', -1, 64)
		if _, ok := decimals[key]; !ok {
			decimals[key] = exactFloat(x)
		}
		return decimals[key], true
	case !isInt(o) && o != sqltype.OIDNumeric:
		if before, after, ok := strings.Cut(s, " (BC)"); ok { // DuckDB's
			s = before + after + " BC"
		}
		v, err := sqltype.ParseText(s, sqltype.Type{OID: o, Typmod: -1})
		if err != nil {
			return decimal.Zero, false
		}
		return Measured(v)
	default:
		if len(s) > 2000 {
			return decimal.Zero, false
		}
		d, err := decimal.NewFromString(s)
		return d, err == nil
	}
}

func exactFloat(x float64) decimal.Decimal {
	text := strconv.FormatFloat(x, 'f', 1100, 64) // all of a double's places
	d, err := decimal.NewFromString(strings.TrimRight(strings.TrimRight(text, "0"), "."))
	if err != nil {
		panic(err)
	}
	return d
}

func show(s *string) string {
	if s == nil {
		return "NULL"
	}
	if len(*s) > 80 {
		return (*s)[:40] + fmt.Sprintf("..(%d)", len(*s))
	}
	return *s
}

func shown(args []*string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = show(a)
	}
	return " of (" + strings.Join(out, ", ") + ")"
}

func pgType(t sqltype.Type) string {
	if t.OID == mood.OID {
		return "mood"
	}
	switch t.OID {
	case sqltype.OIDBPChar:
		return "bpchar"
	case sqltype.OIDVarchar:
		return "varchar"
	case sqltype.OIDName:
		return "name"
	}
	return castName(t)
}
