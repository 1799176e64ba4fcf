package private

import (
	"fmt"
	"math"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestSignificant: a value is rounded to the power of ten at or next below half of its error.
func TestSignificant(t *testing.T) {
	num := func(s string) decimal.Decimal { return decimal.RequireFromString(s) }
	for _, c := range []struct {
		v     sqltype.Value
		width float64
		want  string
	}{
		{int64(38024), 5, "38024"}, {int64(38024), 19.9, "38024"}, {int64(38024), 20, "38020"}, {int64(38025), 20, "38030"}, {int64(-38025), 20, "-38030"}, {int64(38024), 1999, "38000"},
		{int64(38024), 0, "38024"}, {int64(38024), math.Inf(1), "38024"}, {int64(38024), math.NaN(), "38024"}, {int64(math.MaxInt64), 1e12, "9223372000000000000"}, {int64(math.MaxInt64), 20, "9223372036854775807"}, {int64(3), 1e9, "0"},
		{3.14159, 0.05, "3.14"}, {3.14159, 2, "3"}, {-3.14159, 0.2, "-3.1"}, {1234.5, 300, "1200"}, {math.NaN(), 3, "NaN"},
		{num("7.123456"), 0.05, "7.12"}, {num("7.1"), 0.0005, "7.1"}, {num("1234.50"), 300, "1200"}, {num("0.0049"), 0.05, "0"}, {nil, 3, "<nil>"}, {"text", 3, "text"},
	} {
		if got := Significant(c.v, c.width); fmt.Sprint(got) != c.want {
			t.Errorf("%v of error %g: %v, not %s", c.v, c.width, got, c.want)
		}
	}
}

// TestUnder: a value is under its error where its size is, and where of the error nothing can be said.
func TestUnder(t *testing.T) {
	for _, c := range []struct {
		v     float64
		width float64
		want  bool
	}{
		{5, 5, false}, {4, 5, true}, {2, 5, true}, {6, 5, false}, {-5, 5, false}, {-4, 5, true}, {-6, 5, false}, {-100, 5, false}, {0, 5, true}, {0, 0, false}, {1, math.Inf(1), true}, {1, math.NaN(), true}, {-1, math.NaN(), true},
	} {
		for _, v := range []sqltype.Value{int64(c.v), c.v, decimal.NewFromFloat(c.v)} {
			if IsUnderError(v, c.width) != c.want {
				t.Errorf("%T %v of error %g", v, v, c.width)
			}
		}
	}
	if !IsUnderError(math.NaN(), 5) || IsUnderError("text", 5) || IsUnderError(4.999, 5) != true || IsUnderError(decimal.RequireFromString("-5.001"), 5) {
		t.Error("fractions, or what is no number")
	}
}

// TestRounded: a value keeps within its interval, its type and the places of its column.
func TestRounded(t *testing.T) {
	num, scaled := decimal.RequireFromString, sqltype.Type{OID: sqltype.OIDNumeric, Typmod: 10<<16 | 2 + 4}
	for _, c := range []struct {
		v         sqltype.Value
		t         sqltype.Type
		low, high float64
		want      string
	}{
		{0.97, sqltype.Float8, 0.2, 1, "0.97"}, {0.99, sqltype.Float8, 0.2, 1, "0.99"}, {1.0, sqltype.Float8, 0.2, 1, "1"}, {0.996, sqltype.Float8, 0.2, 0.998, "0.996"},
		{0.03165236179120405, sqltype.Float8, 0.03165236179120405, 1, "0.032"}, {num("40.2166"), sqltype.Numeric, 0, 40.2166, "40"}, {17.3, sqltype.Float8, 16.9, 400, "17.3"},
		{num("7.12"), scaled, 6, 9, "7.10"}, {num("7.12"), sqltype.Numeric, 6, 9, "7.1"}, {int64(math.MaxInt32), sqltype.Int4, 2e9, 2.3e9, "2147000000"}, {int64(1234567), sqltype.Int4, 1.2e6, 1.3e6, "1230000"}, {"text", sqltype.Text, 0, 1, "text"},
	} {
		x, _ := InFloat(c.v)
		got, _ := rounded(c.v, c.t, c.low, c.high, math.Max(x-c.low, c.high-x))
		if d, ok := got.(decimal.Decimal); ok && d.StringFixed(-d.Exponent()) == c.want {
			continue
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v in [%g, %g]: %v, not %s", c.v, c.low, c.high, got, c.want)
		}
	}
}

// TestRoundedWithinRange: a value keeps the digit that its interval supports where the range ends before its error.
func TestRoundedWithinRange(t *testing.T) {
	if got, _ := rounded(0.5596524644, sqltype.Float8, -1, 1, 2); got != 0.6 {
		t.Errorf("0.56 within 2 is shown as %v", got)
	}
}

// TestRoundedEnds: ends are rounded outward to the last digit of the value between them, and hold what they held.
func TestRoundedEnds(t *testing.T) {
	for _, c := range []struct {
		v                         sqltype.Value
		low, high, below, greater float64
	}{
		{int64(53950), 53600.7, 54295.8, 53600, 54300}, {int64(71518), 71512.5, 71523.2, 71512, 71524}, {16.996, 16.3955, 17.6607, 16.3, 17.7}, {15.7083, 15.5445, 15.9048, 15.54, 15.91},
		{decimal.RequireFromString("-0.0312"), -0.0351, -0.0291, -0.036, -0.029}, {int64(5), -3.2, 200, -4, 200}, {int64(5), math.NaN(), math.Inf(1), math.NaN(), math.Inf(1)},
	} {
		x, _ := InFloat(c.v)
		low, high := roundedEnds(c.v, sqltype.Float8, c.low, c.high, math.Max(x-c.low, c.high-x))
		if fmt.Sprint(low, high) != fmt.Sprint(c.below, c.greater) {
			t.Errorf("%v in [%g, %g]: ends %v and %v, not %v and %v", c.v, c.low, c.high, low, high, c.below, c.greater)
		}
	}
}

// TestRoundedIntervals: an interval keeps days, hours, minutes, seconds or decimals of them, by its error in seconds; a month has 30 days, and what has months keeps some.
func TestRoundedIntervals(t *testing.T) {
	const hour = 3600 * 1_000_000
	for _, c := range []struct {
		v     sqltype.Interval
		width float64
		want  sqltype.Interval
	}{
		{sqltype.Interval{Days: 5, Micros: 2458555889}, 76200, sqltype.Interval{Days: 5, Micros: hour}},
		{sqltype.Interval{Days: 5, Micros: 2458555889}, 200000, sqltype.Interval{Days: 5}},
		{sqltype.Interval{Days: 5, Micros: 2458555889}, 3, sqltype.Interval{Days: 5, Micros: 2459000000}},
		{sqltype.Interval{Days: 5, Micros: 2458555889}, 0.3, sqltype.Interval{Days: 5, Micros: 2458600000}},
		{sqltype.Interval{Days: -5, Micros: -2458555889}, 76200, sqltype.Interval{Days: -5, Micros: -hour}},
		{sqltype.Interval{Micros: 23*hour + 59*60*1_000_000}, 8000, sqltype.Interval{Micros: 24 * hour}},
		{sqltype.Interval{Days: 1, Micros: 23*hour + 59*60*1_000_000}, 8000, sqltype.Interval{Days: 2}},
		{sqltype.Interval{Micros: 30 * hour}, 200000, sqltype.Interval{Days: 1}},
		{sqltype.Interval{Months: 1, Micros: 30}, 200000, sqltype.Interval{Months: 1}},
		{sqltype.Interval{Months: -14, Days: -29, Micros: -13 * hour}, 200000, sqltype.Interval{Months: -15}},
		{sqltype.Interval{Days: math.MaxInt32, Micros: math.MaxInt64}, 8000, sqltype.Interval{Days: math.MaxInt32, Micros: math.MaxInt64}},
	} {
		if got := Significant(c.v, c.width); got != sqltype.Value(c.want) {
			t.Errorf("%+v of error %g: %+v, not %+v", c.v, c.width, got, c.want)
		}
	}
}
