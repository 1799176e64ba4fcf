package sqltype

import (
	"errors"
	"math"
	"math/bits"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// intervalSum adds up an interval's fields; ok turns false where one leaves its range.
type intervalSum struct {
	years, months, days int32
	micros              int64
	over                bool
}

const (
	perMilli  = 1_000
	perSecond = 1_000_000
	perMinute = 60 * perSecond
	perHour   = 60 * perMinute
)

func (z *intervalSum) add32(to *int32, n int64, scale int64) {
	if n != int64(int32(n)) || n*scale != int64(int32(n*scale)) {
		z.over = true
		return
	}
	sum := int64(*to) + n*scale
	if sum != int64(int32(sum)) {
		z.over = true
		return
	}
	*to = int32(sum)
}

func (z *intervalSum) addMicros(n, scale int64) {
	hi, lo := bits.Mul64(uint64(max(n, -n)), uint64(scale))
	p := int64(lo)
	if n < 0 {
		p = -p
	}
	sum := z.micros + p
	// The product may reach the one value more that there is below zero.
	tooMuch := hi != 0 || lo > 1<<63 || lo == 1<<63 && n >= 0
	if tooMuch || (z.micros < 0) == (p < 0) && (sum < 0) != (p < 0) && p != 0 {
		z.over = true
		return
	}
	z.micros = sum
}

// addFraction adds a part of a unit, rounded to microseconds with halves toward zero.
func (z *intervalSum) addFraction(f float64, scale int64) {
	if f == 0 {
		return
	}
	f *= float64(scale)
	whole := int64(f)
	switch f -= float64(whole); {
	case f > 0.5:
		whole++
	case f < -0.5:
		whole--
	}
	z.addMicros(whole, 1)
}

func (z *intervalSum) addDayFraction(f float64, days int64) {
	f *= float64(days)
	whole := int64(f)
	z.add32(&z.days, whole, 1)
	z.addFraction(f-float64(whole), microsPerDay)
}

func (z *intervalSum) addYearFraction(f float64, years int64) {
	z.add32(&z.months, int64(math.RoundToEven(f*float64(years)*12)), 1)
}

// add adds a number of units.
func (z *intervalSum) add(u unit, n int64, f float64) error {
	switch u {
	case unitMicrosecond:
		z.addMicros(n, 1)
		z.addFraction(f, 1)
	case unitMillisecond:
		z.addMicros(n, perMilli)
		z.addFraction(f, perMilli)
	case unitSecond:
		z.addMicros(n, perSecond)
		z.addFraction(f, perSecond)
	case unitMinute:
		z.addMicros(n, perMinute)
		z.addFraction(f, perMinute)
	case unitHour:
		z.addMicros(n, perHour)
		z.addFraction(f, perHour)
	case unitDay:
		z.add32(&z.days, n, 1)
		z.addFraction(f, microsPerDay)
	case unitWeek:
		z.add32(&z.days, n, 7)
		z.addDayFraction(f, 7)
	case unitMonth:
		z.add32(&z.months, n, 1)
		z.addDayFraction(f, 30)
	case unitYear, unitDecade, unitCentury, unitMillennium:
		years := map[unit]int64{unitYear: 1, unitDecade: 10, unitCentury: 100, unitMillennium: 1000}[u]
		z.add32(&z.years, n, years)
		z.addYearFraction(f, years)
	default:
		return errFormat
	}
	if z.over {
		return errField
	}
	return nil
}

func (z *intervalSum) interval() (Interval, bool) {
	months := int64(z.years)*12 + int64(z.months)
	return Interval{int32(months), z.days, z.micros}, months == int64(int32(months))
}

// negate is AGO.
func (z *intervalSum) negate() error {
	if z.micros == math.MinInt64 || z.days == math.MinInt32 || z.months == math.MinInt32 || z.years == math.MinInt32 {
		return errField
	}
	z.years, z.months, z.days, z.micros = -z.years, -z.months, -z.days, -z.micros
	return nil
}

func (s *Settings) parseInterval(text string, t Type) (Value, error) {
	z := &intervalSum{}
	fields, err := splitDatetime(text, intervalRoom)
	if err == nil {
		err = s.decodeInterval(z, fields, t)
	}
	if errors.Is(err, errFormat) {
		*z = intervalSum{}
		err = decodeISOInterval(z, text)
	}
	if errors.Is(err, errField) {
		err = errIntervalMax
	}
	if err != nil {
		return nil, datetimeError(err, text, "interval")
	}
	v, ok := z.interval()
	if !ok {
		return nil, sqlerr.New(sqlerr.DatetimeRange, "interval out of range")
	}
	return v.limit(t), nil
}

// seenInterval is what each unit counts as; those that count as nothing may come again.
var seenInterval = map[unit]uint32{
	unitMicrosecond: 1, unitMillisecond: 2, unitSecond: 4, unitMinute: 8, unitHour: 16, unitDay: 32, unitWeek: 64, unitMonth: 128,
	unitYear: 256, unitDecade: 512, unitCentury: 1024, unitMillennium: 2048,
}

const seenClock = 1 | 2 | 4 | 8 | 16

// rightmostUnit is the unit of a last number without one.
func rightmostUnit(t Type) unit {
	f, ok := t.IntervalFields()
	switch {
	case !ok || f&FieldSecond != 0:
		return unitSecond
	case f&FieldMinute != 0:
		return unitMinute
	case f&FieldHour != 0:
		return unitHour
	case f&FieldDay != 0:
		return unitDay
	case f&FieldMonth != 0:
		return unitMonth
	}
	return unitYear
}

// decodeInterval reads the fields from the right, since units stand behind their numbers.
func (s *Settings) decodeInterval(z *intervalSum, fields []dtField, t Type) error {
	// In the SQL standard's style, a leading minus that is the only sign is that of all fields.
	negative := s.IntervalStyle == IntervalSQL && len(fields) > 0 && fields[0].text[0] == '-'
	for _, f := range fields[min(1, len(fields)):] {
		negative = negative && f.text[0] != '-' && f.text[0] != '+'
	}
	var have uint32
	ago := false
	var next unit
	unset := true // nothing has said yet what the next number's unit is
	for i := len(fields) - 1; i >= 0; i-- {
		f := fields[i]
		var saw uint32
		switch f.kind {
		case fieldClock:
			if err := z.addClock(f.text, t, false, negative); err != nil {
				return err
			}
			saw, next, unset = seenClock, unitDay, false
		case fieldSigned, fieldDate, fieldNumber:
			if f.kind == fieldSigned && strings.IndexByte(f.text, ':') >= 0 && z.addClock(f.text[1:], t, f.text[0] == '-', negative) == nil {
				saw, next, unset = seenClock, unitDay, false
				break
			}
			if unset {
				next, unset = rightmostUnit(t), false
			}
			var err error
			if saw, next, err = z.addNumber(f.text, next, negative); err != nil {
				return err
			}
		case fieldWord, fieldSpecial:
			u, ok := intervalUnits[clipWord(f.text)]
			if !ok {
				return errFormat
			}
			next, unset = u, false
			ago = ago || u == unitNone
		}
		if have&saw != 0 {
			return errFormat
		}
		have |= saw
	}
	if have == 0 {
		return errFormat
	}
	if ago {
		return z.negate()
	}
	return nil
}

// addClock puts hh:mm:ss in the place of the microseconds.
func (z *intervalSum) addClock(text string, t Type, minus, negative bool) error {
	fields, _ := t.IntervalFields()
	c, err := parseClock(text, fields)
	if err != nil {
		return err
	}
	var sum intervalSum
	sum.addMicros(c.hour, perHour)
	sum.addMicros(int64(c.min), perMinute)
	sum.addMicros(int64(c.sec), perSecond)
	sum.addMicros(int64(c.micros), 1)
	if sum.over {
		return errField
	}
	z.micros = sum.micros
	if minus {
		z.micros = -z.micros
	}
	if negative && z.micros > 0 {
		z.micros = -z.micros
	}
	return nil
}

// addNumber adds a number of units, or the SQL standard's years-months, and gives the unit of the number before it.
func (z *intervalSum) addNumber(text string, u unit, negative bool) (saw uint32, next unit, err error) {
	minus := text[0] == '-'
	n, rest, ok := leadingInt64(text)
	if !ok {
		return 0, u, errField
	}
	f := 0.0
	switch {
	case strings.HasPrefix(rest, "-"):
		months, after, ok := leadingInt(rest[1:])
		if !ok || months < 0 || months >= 12 {
			return 0, u, errField
		}
		if after != "" {
			return 0, u, errFormat
		}
		if n > math.MaxInt32 || n < math.MinInt32 { // beyond any interval's months
			return 0, u, errField
		}
		if minus {
			months = -months
		}
		u, n = unitMonth, n*12+int64(months)
	case strings.HasPrefix(rest, "."):
		if f, err = parseFraction(rest); err != nil {
			return 0, u, err
		}
		if minus {
			f = -f
		}
	case rest != "":
		return 0, u, errFormat
	}
	if negative {
		n, f = min(n, -n), min(f, -f)
	}
	if err := z.add(u, n, f); err != nil {
		return 0, u, err
	}
	saw, next = seenInterval[u], u
	if u == unitSecond && f != 0 {
		saw = 1 | 2 | 4
	}
	if u == unitHour {
		next = unitDay
	}
	return saw, next, nil
}

// limit applies the type's fields and precision.
func (v Interval) limit(t Type) Interval {
	if t.Typmod < 0 {
		return v
	}
	if f, ok := t.IntervalFields(); ok {
		switch {
		case f == FieldYear:
			v = Interval{Months: v.Months / 12 * 12}
		case f&FieldMonth != 0:
			v = Interval{Months: v.Months}
		case f == FieldDay:
			v.Micros = 0
		case f&FieldSecond != 0:
		case f&FieldMinute != 0:
			v.Micros = v.Micros / perMinute * perMinute
		case f&FieldHour != 0:
			v.Micros = v.Micros / perHour * perHour
		}
	}
	v.Micros = roundMicros(v.Micros, t)
	return v
}
