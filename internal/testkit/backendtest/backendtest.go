// Package backendtest is the one conformance suite of all backends: the same data, the same statements, the same expected
// values, on a real server. A backend is done when it passes. It is imported by test files only.
package backendtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Target is a backend under test, over a database in which Setup was run.
type Target struct {
	Backend backend.Backend
	// Write runs a statement in the same database as its owner, beside the backend.
	Write func(sql string) error
}

// Setup makes the tables of the suite, in SQL that every dialect reads alike.
var Setup = []string{
	`CREATE TABLE torture (id integer PRIMARY KEY, b boolean, i2 smallint, i4 integer, i8 bigint, f4 real, f8 double precision,
		n numeric(38,10), t text, d date, ts timestamp, UNIQUE (id, i4))`,
	`INSERT INTO torture VALUES
	(1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(2, false, 0, 0, 0, CAST('-0' AS real), CAST('-0' AS double precision), 0, '', DATE '2000-01-01', TIMESTAMP '2000-01-01 00:00:00'),
	(3, true, -32768, -2147483648, CAST('-9223372036854775808' AS bigint), CAST('-Infinity' AS real), CAST('-Infinity' AS double precision),
		-9999999999999999999999999999.9999999999, 'Grüße, 東京 🙂 ''q'' "d" \n', DATE '0001-01-01' - 20000, TIMESTAMP '0001-01-01 00:00:00'),
	(4, true, 32767, 2147483647, 9223372036854775807, CAST('Infinity' AS real), CAST('Infinity' AS double precision),
		9999999999999999999999999999.9999999999, 'sesame', DATE '9999-12-31', TIMESTAMP '9999-12-31 23:59:59.999999'),
	(5, false, 1, -1, 9223372036854775807, CAST('NaN' AS real), CAST('NaN' AS double precision), 0.0000000001, ' ', DATE '1969-12-31',
		TIMESTAMP '1969-12-31 23:59:59.999999'),
	(6, false, 2, 2, 2, 0.1, 0.1, 12345.6789, 'x', CAST('infinity' AS date), CAST('infinity' AS timestamp)),
	(7, false, 3, 3, 3, 1e-38, 1e308, -0.5, 'X', CAST('-infinity' AS date), CAST('-infinity' AS timestamp))`,
	`CREATE TABLE child (torture_id integer NOT NULL REFERENCES torture (id), w integer, note text NOT NULL)`,
	`CREATE VIEW onlooker AS SELECT id, t FROM torture`,
	`CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'Happy')`,
	`CREATE TABLE others (id integer PRIMARY KEY, c time, z time with time zone, tz timestamp with time zone, i interval, u uuid, b bytea, m mood)`,
	`INSERT INTO others VALUES
	(1, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(2, '00:00:00', '00:00:00+00', '2000-01-01 00:00:00+00', CAST('0 days' AS interval), '00000000-0000-0000-0000-000000000000', '', 'sad'),
	(3, '23:59:59.999999', '23:59:59.999999-15:59', '1969-12-31 23:59:59.999999+00', CAST('-1 year 2 days -03:04:05.000006' AS interval),
		'ffffffff-ffff-ffff-ffff-ffffffffffff', 'abc', 'it''s ok'),
	(4, '12:34:56.5', '24:00:00+05:30:15', 'infinity', CAST('178956970 years 7 months 2147483647 days' AS interval), '80000000-0000-4000-8000-0123456789ab', 'x', 'Happy'),
	(5, '00:00:00.000001', '12:00:00+01', '-infinity', CAST('24 hours' AS interval), '7fffffff-ffff-ffff-ffff-ffffffffffff', 'X', 'Happy')`,
}

const (
	infDays  = sqltype.Days(math.MaxInt32)
	ninfDays = sqltype.Days(math.MinInt32)
	inf      = sqltype.Micros(math.MaxInt64)
	ninf     = sqltype.Micros(math.MinInt64)

	day = 86_400_000_000
)

var tortureTypes = []sqltype.Type{sqltype.Int4, sqltype.Bool, sqltype.Int2, sqltype.Int4, sqltype.Int8, sqltype.Float4, sqltype.Float8,
	sqltype.NumericOf(38, 10), sqltype.Text, sqltype.Date, sqltype.Timestamp}

// mood is the enum of Setup as the suite's values have it: a backend tells its own number.
var mood = sqltype.Enum{Labels: []string{"sad", "it's ok", "Happy"}}

var othersTypes = []sqltype.Type{sqltype.Int4, sqltype.Time, sqltype.Timetz, sqltype.Timestamptz, sqltype.IntervalType, sqltype.UUIDType, sqltype.Bytea}

// othersRows is what Setup stored of the types beside torture's, but for the enum's column, whose label is at the end.
var othersRows = [][]sqltype.Value{
	{int64(1), nil, nil, nil, nil, nil, nil, nil},
	{int64(2), sqltype.Clock(0), sqltype.ClockTZ{}, sqltype.Micros(0), sqltype.Interval{}, sqltype.UUID{}, sqltype.Bytes(""), "sad"},
	{int64(3), sqltype.Clock(day - 1), sqltype.ClockTZ{Micros: day - 1, Zone: 57540}, sqltype.Micros(-10957*day - 1),
		sqltype.Interval{Months: -12, Days: 2, Micros: -11045000006}, mustUUID("ffffffff-ffff-ffff-ffff-ffffffffffff"), sqltype.Bytes("abc"), "it's ok"},
	{int64(4), sqltype.Clock(45296500000), sqltype.ClockTZ{Micros: day, Zone: -19815}, inf, sqltype.Interval{Months: math.MaxInt32, Days: math.MaxInt32},
		mustUUID("80000000-0000-4000-8000-0123456789ab"), sqltype.Bytes("x"), "Happy"},
	{int64(5), sqltype.Clock(1), sqltype.ClockTZ{Micros: day / 2, Zone: -3600}, ninf, sqltype.Interval{Micros: day},
		mustUUID("7fffffff-ffff-ffff-ffff-ffffffffffff"), sqltype.Bytes("X"), "Happy"},
}

func mustUUID(s string) sqltype.Value {
	v, err := sqltype.ParseText(s, sqltype.UUIDType)
	if err != nil {
		panic(err)
	}
	return v
}

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// tortureRows is what Setup stored. Day numbers count from 2000-01-01.
var tortureRows = [][]sqltype.Value{
	{int64(1), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil},
	{int64(2), false, int64(0), int64(0), int64(0), math.Copysign(0, -1), math.Copysign(0, -1), dec("0.0000000000"), "",
		sqltype.Days(0), sqltype.Micros(0)},
	{int64(3), true, int64(math.MinInt16), int64(math.MinInt32), int64(math.MinInt64), math.Inf(-1), math.Inf(-1),
		dec("-9999999999999999999999999999.9999999999"), `Grüße, 東京 🙂 'q' "d" \n`, sqltype.Days(-730119 - 20000), sqltype.Micros(-730119 * day)},
	{int64(4), true, int64(math.MaxInt16), int64(math.MaxInt32), int64(math.MaxInt64), math.Inf(1), math.Inf(1),
		dec("9999999999999999999999999999.9999999999"), "sesame", sqltype.Days(2921939), sqltype.Micros(2921940*day - 1)},
	{int64(5), false, int64(1), int64(-1), int64(math.MaxInt64), math.NaN(), math.NaN(), dec("0.0000000001"), " ",
		sqltype.Days(-10958), sqltype.Micros(-10957*day - 1)},
	{int64(6), false, int64(2), int64(2), int64(2), float64(float32(0.1)), 0.1, dec("12345.6789000000"), "x", infDays, inf},
	{int64(7), false, int64(3), int64(3), int64(3), float64(float32(1e-38)), 1e308, dec("-0.5000000000"), "X", ninfDays, ninf},
}

// Equal compares two values as they are stored: floats by their bits (all NaN alike), numerics with their display scale.
func Equal(a, b sqltype.Value) bool {
	switch x := a.(type) {
	case float64:
		y, ok := b.(float64)
		return ok && (math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y))
	case decimal.Decimal:
		y, ok := b.(decimal.Decimal)
		return ok && x.Equal(y) && x.Exponent() == y.Exponent()
	}
	return a == b
}

// Ask runs one statement in a transaction of its own and opens its rows; tests only.
func Ask(ctx context.Context, b backend.Backend, sql string, args []backend.Arg, want ...sqltype.Type) ([][]sqltype.Value, error) {
	tx, err := b.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Close()
	return In(ctx, tx, sql, args, want...)
}

// In runs one statement in an open transaction and opens its rows; tests only.
func In(ctx context.Context, tx backend.Tx, sql string, args []backend.Arg, want ...sqltype.Type) ([][]sqltype.Value, error) {
	rows, err := tx.Query(ctx, sql, args, want)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][]sqltype.Value
	for rows.Next() {
		row := make([]sqltype.Value, len(want))
		for i, v := range rows.Row() {
			if row[i] = secret.Open(v); secret.IsUnreadable(row[i]) {
				return nil, backend.NewError(backend.FailOther, "type", errors.New("an unreadable value"))
			}
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

func mustAsk(t *testing.T, b backend.Backend, sql string, args []backend.Arg, want ...sqltype.Type) [][]sqltype.Value {
	t.Helper()
	rows, err := Ask(t.Context(), b, sql, args, want...)
	if err != nil {
		t.Fatalf("%s: %v", sql, Cause(err))
	}
	return rows
}

// Cause shows in a test what the log would be told.
func Cause(err error) string {
	type unwrapper interface{ Unwrap() error }
	if u, ok := err.(unwrapper); ok {
		return fmt.Sprintf("%v: %v", err, u.Unwrap())
	}
	return fmt.Sprint(err)
}

func checkRows(t *testing.T, got, want [][]sqltype.Value) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		for j := range want[i] {
			if !Equal(got[i][j], want[i][j]) {
				t.Errorf("row %d, column %d: got %#v, want %#v", i+1, j+1, got[i][j], want[i][j])
			}
		}
	}
}
