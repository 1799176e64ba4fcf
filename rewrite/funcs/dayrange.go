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
