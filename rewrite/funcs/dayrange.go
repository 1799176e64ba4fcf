package funcs

import (
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Intervals of times are in a date's days and a timestamp's microseconds from 2000-01-01, both finite, and a time's microseconds. One of a SQL interval
// says two things: its months, days and time have one sign, and its length, with months of 30 days and days of 24 hours, lies within, in microseconds.

// Measured is where a value stands in intervals; not ok for what has no place there.
func Measured(v sqltype.Value) (decimal.Decimal, bool) {
	switch x := v.(type) {
	case sqltype.Days:
		return decimal.NewFromInt(int64(x)), x != sqltype.DateInfinity && x != sqltype.DateMinusInfinity
	case sqltype.Micros:
		return decimal.NewFromInt(int64(x)), !infinite(x)
	case sqltype.Clock:
		return decimal.NewFromInt(int64(x)), true
	case sqltype.Interval:
		up, down := x.Months > 0 || x.Days > 0 || x.Micros > 0, x.Months < 0 || x.Days < 0 || x.Micros < 0
		return decimal.NewFromBigInt(spanLength(x), 0), !up || !down
	}
	return decimal.Zero, false
}

// TimeRange are the values of a type of dates or instants that both backends have; nil for other types.
func TimeRange(t sqltype.OID) *num.Interval {
	switch t {
	case day:
		return allDays
	case stamp, zoned:
		return num.Ints(firstMicros, math.MaxInt64-1-epochSeconds*second)
	}
	return nil
}

var (
	dayMicros  = decimal.NewFromInt(microsPerDay)
	allDays    = num.Ints(firstDay, endDay-1)
	allInstant = num.Ints(firstMicros, endMicros-1)
)

// wider adds n days at both ends.
func wider(a *num.Interval, n int64) *num.Interval {
	return a.Add(num.Ints(-n*microsPerDay, n*microsPerDay))
}

// monotoneTime is the interval of a monotone function of the microseconds or days of the argument at a place; f is not ok where the function is not
// known.
func monotoneTime(place int, f func(int64) (decimal.Decimal, bool)) rangeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		x := a[place]
		if x == nil || !x.Within(num.Ints(math.MinInt64, math.MaxInt64)) {
			return nil
		}
		lo, ok1 := f(x.Lo.Ceil().IntPart())
		hi, ok2 := f(x.Hi.Floor().IntPart())
		if !ok1 || !ok2 || lo.GreaterThan(hi) {
			return nil
		}
		return &num.Interval{Lo: lo, Hi: hi}
	}
}

// dayPlusRange: what leaves the dates is NULL.
func dayPlusRange(op string, types []sqltype.OID) rangeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		a = known(a, types)
		if r := exact(op, a[0], a[1]); r != nil {
			return r.Meet(allDays)
		}
		return nil
	}
}

func dayPlusSafe(op string, types []sqltype.OID) safeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) bool {
		a = known(a, types)
		return exact(op, a[0], a[1]).Within(allDays)
	}
}

func difference(a []*num.Interval, _ []sqltype.Type) *num.Interval { return exact("-", a[0], a[1]) }

func bothKnown(a []*num.Interval, _ []sqltype.Type) bool { return a[0] != nil && a[1] != nil }

// ageRange: Proof: n whole months and d more days, as age counts them, take at least 30 n - 2 and at most 31 n + 1 days and d, the borrowed days of a month
// being at most three others. So a difference of t days >= 0 has a length of at least (t - 5) 30/31 and at most t + 5 days; age(y, x) = -age(x, y).
func ageRange(a []*num.Interval, _ []sqltype.Type) *num.Interval {
	d := exact("-", a[0], a[1])
	if d == nil {
		return nil
	}
	five := dayMicros.Mul(one(5))
	least := func(t decimal.Decimal) decimal.Decimal { // of a difference t >= 0
		return decimal.Max(decimal.Zero, t.Sub(five).Mul(one(30)).Div(one(31)).Floor())
	}
	out := &num.Interval{Lo: d.Lo.Sub(five), Hi: d.Hi.Add(five)}
	if d.Lo.Sign() >= 0 {
		out.Lo = least(d.Lo)
	}
	if d.Hi.Sign() <= 0 {
		out.Hi = least(d.Hi.Neg()).Neg()
	}
	return out
}

// zonedRange is that of a conversion by a time zone. Proof: no zone of the database is a day or more from UTC.
func zonedRange(place int, from, to sqltype.OID) rangeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		x := a[place]
		if x == nil {
			return nil
		}
		if from == day {
			x = x.Map(dayMicros.Mul)
		}
		x = wider(x, 1)
		if to == day {
			return floored(x)
		}
		return x.Meet(allInstant)
	}
}

func floored(x *num.Interval) *num.Interval {
	return x.Map(func(d decimal.Decimal) decimal.Decimal { return d.Div(dayMicros).Floor() })
}

// truncRange: Proof: truncation is monotone and no later than its argument; in a zone both wall clocks are within a day of the instants.
func truncRange(unit string, zone bool) rangeFunc {
	local := monotoneTime(1, func(m int64) (decimal.Decimal, bool) {
		if m < firstMicros || m >= endMicros {
			return decimal.Zero, false
		}
		t, ok := truncated(unit, sqltype.Micros(m))
		return one(int64(t)), ok
	})
	if !zone {
		return local
	}
	return func(a []*num.Interval, types []sqltype.Type) *num.Interval {
		if a[1] == nil {
			return nil
		}
		return wider(local([]*num.Interval{nil, wider(a[1], 1)}, types), 1)
	}
}

// fieldRange is the interval of a field. Proof: years and their multiples, and the seconds of an epoch, are monotone; other fields have the calendar's limits. In a
// zone the wall clock is within a day. A SQL interval's fields are parts of its length: its years, of at least 360 days of that, and its days; its epoch, which counts
// years of 365.25 days, is at most 365.25/360 of it.
func fieldRange(unit string, t sqltype.OID, exactly bool) rangeFunc {
	if unit == "hour" && t != span && t != clock && t != sqltype.OIDTimetz { // a timestamp is never at 24:00
		return always(0, 23)
	}
	if r, ok := partRange[unit]; ok && t != span {
		return always(r[0], r[1])
	} else if ok && unit != "hour" && unit != "day" {
		return always(-r[1], r[1])
	}
	if t == span {
		return func(a []*num.Interval, _ []sqltype.Type) *num.Interval { return spanField(unit, a[1], exactly) }
	}
	if unit == "julian" {
		return nil
	}
	at := monotoneTime(1, func(n int64) (decimal.Decimal, bool) {
		var v sqltype.Value = sqltype.Micros(n)
		switch {
		case t == day && (n < firstDay || n > lastDay), t != day && t != clock && (n < firstMicros || n >= endMicros):
			return decimal.Zero, false
		case t == day:
			v = sqltype.Days(n)
		case t == clock:
			v = sqltype.Clock(n)
		}
		out, err := fieldOf(unit, v, exactly)
		if err != nil || out == nil {
			return decimal.Zero, false
		}
		if f, ok := out.(float64); ok {
			return nearestFloat(decimal.NewFromFloat(f), f8)
		}
		return out.(decimal.Decimal), true
	})
	if t != zoned || unit == "epoch" {
		return at
	}
	return func(a []*num.Interval, types []sqltype.Type) *num.Interval {
		if a[1] == nil {
			return nil
		}
		return at([]*num.Interval{nil, wider(a[1], 1)}, types)
	}
}

func spanField(unit string, a *num.Interval, exactly bool) *num.Interval {
	if a == nil {
		return nil
	}
	whole := func(micros int64) *num.Interval {
		return a.Map(func(d decimal.Decimal) decimal.Decimal { return d.Div(one(micros)).Truncate(0) }).Hull(num.Ints(0, 0))
	}
	switch unit {
	case "hour":
		return whole(3600 * second)
	case "day":
		return whole(microsPerDay)
	case "year":
		return whole(360 * microsPerDay)
	case "decade":
		return whole(3600 * microsPerDay)
	case "epoch":
		outward := func(d decimal.Decimal, up bool) decimal.Decimal {
			if d.IsPositive() == up {
				d = d.Mul(decimal.New(36525, -2)).Div(one(360))
			}
			if d = d.Div(one(second)); up {
				return d.RoundCeil(6)
			}
			return d.RoundFloor(6)
		}
		out := &num.Interval{Lo: outward(a.Lo, false), Hi: outward(a.Hi, true)}
		if exactly {
			return out
		}
		return toFloat(out.Add(num.Ints(-1, 1)), f8) // its sum of floats is rounded at each step
	}
	return nil
}

// shiftRange is that of a sum with a constant interval. Proof: days and time move all alike, and months move days in their order (shiftable), so that from the first moment of a
// day no later timestamp is moved to an earlier one, and from the last of a day no earlier one to a later one.
func shiftRange(f *Func, from sqltype.OID, iv sqltype.Interval) rangeFunc {
	if from != day && from != stamp {
		return nil
	}
	if f.Name == "-" {
		iv = sqltype.Interval{Months: -iv.Months, Days: -iv.Days, Micros: -iv.Micros}
	}
	place := 1 - f.Const[0]
	at := monotoneTime(place, func(n int64) (decimal.Decimal, bool) {
		if from == day {
			if n < firstDay || n > lastDay {
				return decimal.Zero, false
			}
			n *= microsPerDay
		}
		if n < firstMicros || n >= endMicros {
			return decimal.Zero, false
		}
		m, side, _ := shiftMicros(sqltype.Micros(n), iv, time.UTC)
		return one(int64(m)), side == 0
	})
	if from == day || iv.Months == 0 {
		return at
	}
	return func(a []*num.Interval, types []sqltype.Type) *num.Interval {
		if a[place] == nil {
			return nil
		}
		a = slices.Clone(a)
		a[place] = wholeDays(a[place])
		return at(a, types)
	}
}

// wholeDays are all moments of an interval's days.
func wholeDays(a *num.Interval) *num.Interval {
	midnight := func(d decimal.Decimal) decimal.Decimal { return d.Div(dayMicros).Floor().Mul(dayMicros) }
	return &num.Interval{Lo: midnight(a.Lo), Hi: midnight(a.Hi).Add(dayMicros).Sub(one(1))}
}
