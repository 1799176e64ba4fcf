package sqltype_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

var (
	oidType = sqltype.Type{OID: sqltype.OIDOid, Typmod: -1}
	charT   = sqltype.Type{OID: sqltype.OIDChar, Typmod: -1}
	tsTZ    = sqltype.Type{OID: sqltype.OIDTimestamptz, Typmod: -1}
	varchar = sqltype.Type{OID: sqltype.OIDVarchar, Typmod: 4 + 3}
	bpchar  = sqltype.Type{OID: sqltype.OIDBPChar, Typmod: 4 + 3}
)

// inputs are texts for each type, good and bad: our reading must agree with the server's.
var inputs = []struct {
	t     sqltype.Type
	texts []string
}{
	{sqltype.Bool, []string{"t", "f", "TRUE", " yes ", "of", "o", "", "1", "0", "10", "tru", "on", "offf", "n"}},
	{sqltype.Int2, []string{"0", "-32768", "32767", "32768", " 12\n", "+5", "--5", "", "1.0", "x", "99999999999999999999"}},
	{sqltype.Int4, []string{"0", "2147483647", "-2147483648", "2147483648", "1e3", "0012"}},
	{sqltype.Int8, []string{"9223372036854775807", "-9223372036854775808", "9223372036854775808", "- 1"}},
	{oidType, []string{"0", "4294967295", "-1", "4294967296", "-2147483648", "-2147483649", "x"}},
	{sqltype.Float4, []string{"0", "-0", "1.1", "NaN", "inf", "-Infinity", "1e38", "3.5e38", "1e-45", "1e-46", "123456", "1234567",
		"0.0001", "0.00001", "16777216", "33554432", "8388608.5", "nanx", "1e", ".", ".5", "5."}},
	{sqltype.Float8, []string{"0", "-0", "0.1", "1e23", "9007199254740993", "9007199254740992", "18014398509481984", "1e15", "1e14",
		"123456789012345678", "1e-5", "0.0001", "5e-324", "1e-400", "1e309", "1.7976931348623157e308", "2.2250738585072014e-308",
		"+nan", "infinityx", "1_0", "", "  7  ", "4503599627370496.5", "1.0E+2", "++1", "1e+"}},
	{sqltype.Numeric, []string{"0", "0.00", "1.50", "-1.50", "1500", "1e3", "1.5e1", "1.50e1", "15e-4", "0.0001", "10000", "99999999",
		"123456789.123456789", "-0", "-0.0", ".5", "5.", ".", "", "e5", "1e", "1e5000", "1e-5000", "1e131071", "1e131072", "1e-16383",
		"1e-16384", "0e200000", "1e9999999999", " 12.30 ", "1 2", "1.2.3", "00012.340", "0.00010000", "100000000.00000001", "12345.6789e2"}},
	{sqltype.NumericOf(5, 2), []string{"1", "1.005", "1.004999", "-1.005", "999.994", "999.995", "-999.99", "1000", "0"}},
	{sqltype.NumericOf(3, 3), []string{"0.9994", "0.9995", "1"}},
	{sqltype.NumericOf(3, -2), []string{"149", "150", "99949", "99950", "-250"}},
	{sqltype.Text, []string{"", "a", "Zürich ∆", " x ", "'"}},
	{sqltype.Unknown, []string{"", "abc"}},
	{varchar, []string{"", "ab", "abc", "abcd", "abc  ", "üüü", "üüüü"}},
	{bpchar, []string{"", "ab", "abc", "abcd", "abc  ", "ü"}},
	{sqltype.Name, []string{"x", strings.Repeat("n", 63), strings.Repeat("n", 64), strings.Repeat("ü", 40)}},
	{charT, []string{"", "a", "ab"}},
	{sqltype.Date, []string{"2000-01-01", "1999-12-31", "0001-01-01", "0001-12-31 BC", "4714-11-24 BC", "4714-11-23 BC", "5874897-12-31",
		"5874898-01-01", "2024-02-29", "2023-02-29", "2024-13-01", "2024-1-5", "infinity", "-infinity", "epoch", "x", "0000-01-01",
		"2024-02-29 23:59:59", "12345-06-07", "2024-02-30", "2024-05-32"}},
	{sqltype.Timestamp, []string{"2000-01-01", "1999-12-31 23:59:59.999999", "2024-02-29T12:34:56.5", "2024-02-29 12:34:56.1234565",
		"2024-02-29 12:34", "2024-02-29 24:00:00", "2024-02-29 24:00:01", "2024-02-29 12:60:00", "2024-02-29 12:00:60", "294276-12-31 23:59:59.999999",
		"294277-01-01", "4714-11-24 00:00:00 BC", "2024-02-29 12:00:00+02", "infinity", "-infinity", "0044-03-15 12:00:00 BC", "epoch"}},
	{tsTZ, []string{"2024-02-29 12:34:56+02", "2024-02-29 12:34:56-0530", "2024-02-29 12:34:56.25+05:45", "2024-02-29 12:34:56Z",
		"2024-02-29 12:34:56 UTC", "2024-02-29", "2024-02-29 12:34:56+16", "0001-01-01 00:00:00+01", "infinity", "2024-02-29 00:00:00.000001+00:00:01"}},
}

// TestTextInputAgrees reads every text as PostgreSQL reads it: the same value in both wire forms, or the same error.
func TestTextInputAgrees(t *testing.T) {
	conn := connect(t)
	for _, in := range inputs {
		for _, text := range in.texts {
			name := fmt.Sprintf("%s %.40q", in.t, text)
			var want [2][]byte
			var pgErr *pgconn.PgError
			for format := range want {
				want[format], pgErr = serverForm(t, conn, text, in.t, int16(format))
			}
			v, err := sqltype.ParseText(text, in.t)
			if pgErr != nil {
				checkError(t, name, err, pgErr)
				continue
			}
			if err != nil {
				t.Errorf("%s: %v, but PostgreSQL reads %s", name, err, want[0])
				continue
			}
			for format, w := range want {
				got, err := sqltype.Encode(v, in.t, int16(format), nil)
				if err != nil || !bytes.Equal(got, w) {
					t.Errorf("%s format %d: %q %v, PostgreSQL has %q", name, format, clip(got), err, clip(w))
				}
				back, err := sqltype.Decode(w, in.t, int16(format))
				if err != nil || sqltype.Compare(back, v) != 0 || sqltype.FormatText(back, in.t) != string(want[0]) {
					t.Errorf("%s format %d reads back as %v, %v", name, format, back, err)
				}
			}
		}
	}
}

func checkError(t *testing.T, name string, err error, want *pgconn.PgError) {
	t.Helper()
	e, ok := err.(*sqlerr.Error)
	if !ok || e.Code != want.Code || e.Message != want.Message || e.Detail != want.Detail {
		t.Errorf("%s: %v\nPostgreSQL: %s %s\n%s", name, err, want.Code, want.Message, want.Detail)
	}
}

// TestFloatsAgree compares the shortest forms of many floats, with those whose neighbours' midpoints are short decimals.
func TestFloatsAgree(t *testing.T) {
	conn := connect(t)
	rng := rand.New(rand.NewSource(1))
	for _, typ := range []sqltype.Type{sqltype.Float8, sqltype.Float4} {
		var xs []float64
		for range 4000 {
			xs = append(xs, math.Float64frombits(rng.Uint64()), rng.NormFloat64(), math.Round(rng.ExpFloat64()*1e4)/100,
				math.Ldexp(1, rng.Intn(140)), math.Ldexp(float64(rng.Intn(1000)), rng.Intn(80)-10))
		}
		for e := range 40 {
			for m := 1.0; m < 10; m++ {
				x, err := strconv.ParseFloat(fmt.Sprintf("%ge%d", m, e), 64)
				if err != nil {
					t.Fatal(err)
				}
				xs = append(xs, x, math.Nextafter(x, 0), math.Nextafter(x, 1e300))
			}
		}
		var buf strings.Builder
		var kept []float64
		for _, x := range xs {
			if typ == sqltype.Float4 {
				x = float64(float32(x))
			}
			if math.IsInf(x, 0) || math.IsNaN(x) {
				continue
			}
			kept = append(kept, x)
			fmt.Fprintf(&buf, "%s,", strconv.FormatFloat(x, 'e', 17, 64))
		}
		sql := fmt.Sprintf("select unnest('{%s}'::%s[])", strings.TrimSuffix(buf.String(), ","), typ)
		rows := conn.ExecParams(context.Background(), sql, nil, nil, nil, nil).Read()
		if rows.Err != nil || len(rows.Rows) != len(kept) {
			t.Fatal(rows.Err, len(rows.Rows))
		}
		for i, r := range rows.Rows {
			if got := sqltype.FormatText(kept[i], typ); got != string(r[0]) {
				t.Errorf("%s %b: %s, PostgreSQL has %s", typ, kept[i], got, r[0])
			}
		}
	}
}

// TestBinaryInputAgrees sends binary parameters, good and bad.
func TestBinaryInputAgrees(t *testing.T) {
	conn := connect(t)
	for _, c := range []struct {
		t   sqltype.Type
		hex string
	}{
		{sqltype.Bool, "02"}, {sqltype.Int4, "000000"}, {sqltype.Int4, "0000000001"}, {sqltype.Int8, "8000000000000000"},
		{sqltype.Numeric, "0001000000000000" + "0001"}, {sqltype.Numeric, "0001000000000000" + "2710"},
		{sqltype.Numeric, "0001000012340000" + "0001"}, {sqltype.Numeric, "0001000000007fff" + "0001"},
		{sqltype.Numeric, "0002000000000001" + "0001" + "0d80"}, {sqltype.Numeric, "0001ffff00000002" + "2706"},
		{sqltype.Numeric, "0001ff9c00000000" + "0001"}, {sqltype.Numeric, "00010005400000020007"}, {sqltype.Numeric, "0000000040000003"},
		{sqltype.Numeric, "0003000000000000000000000001"},
		{sqltype.Text, "c3"}, {sqltype.Text, "e28828"}, {sqltype.Text, "ff"}, {sqltype.Text, "6100"}, {sqltype.Text, "eda080"}, {sqltype.Text, "f4908080"},
		{sqltype.Date, "7fffffff"}, {sqltype.Date, "ffd97972"}, {sqltype.Timestamp, "7ffffffffffffffe"}, {sqltype.Float8, "7ff8000000000000"},
		{sqltype.Name, strings.Repeat("61", 63)}, {oidType, "ffffffff"}, {sqltype.Int2, "8000"}, {sqltype.Float4, "3dcccccd"},
	} {
		raw := make([]byte, len(c.hex)/2)
		if _, err := fmt.Sscanf(c.hex, "%x", &raw); err != nil {
			t.Fatal(err)
		}
		res := conn.ExecParams(context.Background(), "select $1", [][]byte{raw}, []uint32{uint32(c.t.OID)}, []int16{1}, []int16{0}).Read()
		v, err := sqltype.Decode(raw, c.t, sqltype.BinaryFormat)
		name := c.t.String() + " " + c.hex
		if res.Err != nil {
			e, ok := err.(*sqlerr.Error)
			pgErr := res.Err.(*pgconn.PgError)
			switch {
			case !ok:
				t.Errorf("%s: %v, PostgreSQL: %v", name, v, pgErr)
			case pgErr.Code == "22P03" && e.Code == "22P03": // the server's names the parameter
			case e.Code != pgErr.Code || e.Message != pgErr.Message:
				t.Errorf("%s: %v, PostgreSQL: %v", name, err, pgErr)
			}
			continue
		}
		if want := string(res.Rows[0][0]); err != nil || sqltype.FormatText(v, c.t) != want {
			t.Errorf("%s: %v %v, PostgreSQL has %s", name, v, err, want)
		}
	}
}

// TestRoundTrip: what is written is read back as the same value, in both forms.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, c := range []struct {
			t sqltype.Type
			v sqltype.Value
		}{
			{sqltype.Int8, rapid.Int64().Draw(t, "int8")},
			{sqltype.Int2, int64(rapid.Int16().Draw(t, "int2"))},
			{sqltype.Float8, rapid.Float64().Draw(t, "float8")},
			{sqltype.Float4, float64(rapid.Float32().Draw(t, "float4"))},
			{sqltype.Text, strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", "")},
			{sqltype.Date, sqltype.Days(rapid.IntRange(-2451545, 2145031948).Draw(t, "date"))},
			{tsTZ, sqltype.Micros(rapid.Int64Range(-211813488000000000, 9223371331199999999).Draw(t, "at"))},
			{sqltype.Numeric, mustParse(t, rapid.StringMatching(`-?[0-9]{1,30}(\.[0-9]{0,20})?`).Draw(t, "numeric"), sqltype.Numeric)},
		} {
			for format := range int16(2) {
				raw, err := sqltype.Encode(c.v, c.t, format, nil)
				if err != nil {
					t.Fatal(err)
				}
				back, err := sqltype.Decode(raw, c.t, format)
				if err != nil || sqltype.Compare(back, c.v) != 0 || sqltype.FormatText(back, c.t) != sqltype.FormatText(c.v, c.t) {
					t.Fatalf("%s %v format %d: %q, %v, %v", c.t, c.v, format, raw, back, err)
				}
			}
		}
	})
}

func mustParse(t *rapid.T, s string, typ sqltype.Type) sqltype.Value {
	v, err := sqltype.ParseText(s, typ)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestWrongTypeIsAnError: a value of another type is never written.
func TestWrongTypeIsAnError(t *testing.T) {
	for _, c := range []struct {
		t sqltype.Type
		v sqltype.Value
	}{
		{sqltype.Bool, int64(1)}, {sqltype.Int2, int64(40000)}, {sqltype.Int4, "1"}, {sqltype.Float8, int64(1)}, {sqltype.Text, int64(1)},
		{sqltype.Date, sqltype.Micros(1)}, {sqltype.Timestamp, sqltype.Days(1)}, {sqltype.Numeric, 1.5}, {sqltype.Text, nil}, {oidType, int64(-1)},
	} {
		for format := range int16(3) {
			if b, err := sqltype.Encode(c.v, c.t, format, nil); err == nil || len(b) != 0 {
				t.Errorf("%T as %s format %d gave %q", c.v, c.t, format, b)
			}
		}
	}
}

// TestCompareAgrees sorts values as the server does.
func TestCompareAgrees(t *testing.T) {
	conn := connect(t)
	for _, in := range inputs {
		if in.t.OID == sqltype.OIDUnknown || in.t.OID == sqltype.OIDBPChar { // blanks of char(n) are the caller's
			continue
		}
		var texts []string
		var vals []sqltype.Value
		for _, s := range in.texts {
			if v, err := sqltype.ParseText(s, in.t); err == nil && len(s) < 100 {
				texts, vals = append(texts, s), append(vals, v)
			}
		}
		for i := range texts {
			for j := range texts {
				sql := fmt.Sprintf("select case when $1::%[1]s < $2::%[1]s then -1 when $1::%[1]s > $2::%[1]s then 1 else 0 end", in.t)
				res := conn.ExecParams(context.Background(), sql, [][]byte{[]byte(texts[i]), []byte(texts[j])}, nil, nil, nil).Read()
				if res.Err != nil {
					t.Fatal(res.Err)
				}
				if got := strconv.Itoa(sqltype.Compare(vals[i], vals[j])); got != string(res.Rows[0][0]) {
					t.Errorf("%s: %q against %q: %s, PostgreSQL has %s", in.t, texts[i], texts[j], got, res.Rows[0][0])
				}
			}
		}
	}
}

func connect(t *testing.T) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(context.Background(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if err := conn.Exec(context.Background(), "set timezone = 'UTC'").Close(); err != nil {
		t.Fatal(err)
	}
	return conn
}

// serverForm is the server's wire form of a text given to the type's input function, or its error.
func serverForm(t *testing.T, conn *pgconn.PgConn, text string, typ sqltype.Type, format int16) ([]byte, *pgconn.PgError) {
	t.Helper()
	literal := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	sql := fmt.Sprintf("select %s::%s", literal, typ)
	if typ.OID == sqltype.OIDVarchar || typ.OID == sqltype.OIDBPChar { // a cast would cut; the input function refuses
		sql = fmt.Sprintf("insert into t values (%s) returning a", literal)
		ddl := fmt.Sprintf("drop table if exists t; create temp table t (a %s)", typ)
		if err := conn.Exec(context.Background(), ddl).Close(); err != nil {
			t.Fatal(err)
		}
	}
	res := conn.ExecParams(context.Background(), sql, nil, nil, nil, []int16{format}).Read()
	if res.Err != nil {
		pgErr, ok := res.Err.(*pgconn.PgError)
		if !ok {
			t.Fatal(res.Err)
		}
		return nil, pgErr
	}
	return append([]byte{}, res.Rows[0][0]...), nil
}

func clip(b []byte) []byte { return b[:min(len(b), 60)] }
