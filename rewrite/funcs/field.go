package funcs

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// fields has extract (numeric) and date_part (double precision) of a constant field.
func fields() []*Func {
	var out []*Func
	for _, t := range []sqltype.OID{day, stamp, zoned, clock, span} {
		for _, name := range []string{"extract", "date_part"} {
			f := &Func{Name: name, Kind: Function, Args: oids(text, t), Result: numeric, Const: []int{0}, Zoned: t == zoned, MayBeNull: true}
			if name == "date_part" {
				f.Result = f8
			}
			f.With = func(c Constants) (*Func, error) {
				name, _ := c.Values[0].(string)
				return fieldRow(f, name, c.Zone)
			}
			out = append(out, f)
		}
	}
	return out
}

// partRange: Proof: the calendar's own limits. A time may be 24:00, and an interval's parts have its sign.
var partRange = map[string][2]int64{"month": {1, 12}, "quarter": {1, 4}, "day": {1, 31}, "week": {1, 53}, "dow": {0, 6}, "isodow": {1, 7}, "doy": {1, 366}, "hour": {0, 24}, "minute": {0, 59},
	"second": {0, 60}, "milliseconds": {0, 60_000}, "microseconds": {0, 60_000_000}}

var (
	clockFields = []string{"hour", "minute", "second", "milliseconds", "microseconds"}
	yearFields  = []string{"year", "decade", "century", "millennium", "isoyear", "julian", "epoch"} // infinite where the date is
)

func fieldRow(f *Func, name, zone string) (*Func, error) {
	t, exactly := f.Args[1], f.Result == numeric
	unit := unitOf(name)
	isClock := slices.Contains(clockFields, unit)
	switch {
	case unit == "":
		return nil, notRecognized(name, t)
	case strings.HasPrefix(unit, "timezone") && t != zoned, t == day && isClock && exactly, t == clock && !isClock && unit != "epoch",
		t == span && slices.Contains([]string{"week", "dow", "doy", "isodow", "isoyear", "julian"}, unit):
		return nil, notSupported(name, t)
	}
	g := *f
	g.With = nil
	var loc *time.Location
	x := "{y}"
	if t == zoned && unit != "epoch" {
		var err error
		if loc, err = location(zone); err != nil {
			return nil, err
		}
		if strings.HasPrefix(unit, "timezone") {
			return zoneField(f, unit, zone, loc), nil
		}
		x = "timezone(" + zoneText(zone) + ", {y})"
	}
	pgForm := "EXTRACT(" + unit + " FROM " + x + ")"
	if t == zoned && unit != "epoch" { // the zone's offset may lead out of the range
		pgForm = "EXTRACT(" + unit + " FROM timezone(" + zoneText(zone) + ", " + inner("{y}") + "))"
	}
	if !exactly {
		y := x
		switch {
		case t == zoned && unit != "epoch":
			y = "timezone(" + zoneText(zone) + ", " + inner("{y}") + ")"
		case t == day:
			y = "CASE WHEN {y} < '294277-01-01' OR {y} = 'infinity' THEN {y} END"
		}
		pgForm = "date_part('" + unit + "', " + y + ")"
	}
	own := "EXTRACT(" + unit + " FROM " + x + ")"
	if !exactly {
		own = "date_part('" + unit + "', " + x + ")"
	}
	g.TotalForm = Forms{Postgres: func(a []string, _ []sqltype.Type, _ sqltype.Type) string { return pgFill(pgForm, a) }}
	g.RaisingForm = Forms{Postgres: func(a []string, _ []sqltype.Type, _ sqltype.Type) string { return pgFill(own, a) }}
	if why := fieldRefused(unit, zonesOfDuckDB(zone, loc)); why != "" {
		g.Refused = map[dialect.Dialect]string{DuckDB: why}
	} else {
		duck := duckField(unit, t, exactly, zone, loc)
		g.TotalForm[DuckDB] = func(a []string, _ []sqltype.Type, _ sqltype.Type) string { return duckFill(duck, a) }
		g.RaisingForm[DuckDB] = g.TotalForm[DuckDB]
	}
	g.Range = fieldRange(unit, t, exactly)
	if unit != "julian" {
		g.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			x := v[1]
			if m, ok := x.(sqltype.Micros); ok && loc != nil {
				x = local(m, loc)
			}
			return fieldOf(unit, x, exactly)
		}
	}
	g.Zone = loc
	return &g, nil
}

func fieldRefused(unit, zones string) string {
	if unit == "julian" {
		return "DuckDB's Julian day is a double"
	}
	return zones
}

// duckField prints a field; years BC are counted without a year 0.
func duckField(unit string, t sqltype.OID, exactly bool, zone string, loc *time.Location) string {
	x := "{y}"
	if t == zoned && unit != "epoch" {
		form := duckField(unit, stamp, exactly, "", nil)
		return "list_transform([" + duckTurned(zone, loc, "{y}", zoned) + "], lambda l: " + duckIn(form, "l") + ")[1]"
	}
	switch {
	case t == day && !exactly: // of the date as a timestamp
		x = "TRY_CAST({y} AS TIMESTAMP)"
	case t == day && (unit == "isoyear" || unit == "week"): // the first of DuckDB's own dates have no week
		x = "CASE WHEN {y} >= CAST('4714-11-24 (BC)' AS DATE) THEN {y} END"
	}
	date := t != clock && t != span
	whole := func(v string) string {
		if exactly {
			return "CAST(" + v + " AS DECIMAL(19, 0))"
		}
		if date && slices.Contains(yearFields, unit) {
			return "CASE WHEN isinf({y}) THEN CAST(CASE WHEN {y} > CAST('2000-01-01' AS DATE) THEN 'infinity' ELSE '-infinity' END AS DOUBLE) ELSE CAST(" + v + " AS DOUBLE) END"
		}
		return "CAST(" + v + " AS DOUBLE)"
	}
	micros := "microsecond(" + x + ")"
	switch unit {
	case "second":
		if exactly {
			return "CAST(" + micros + " AS DECIMAL(19, 0)) * CAST('0.000001' AS DECIMAL(7, 6))"
		}
		return "(" + micros + " // 1000000 + (" + micros + " % 1000000) / CAST(1000000 AS DOUBLE))"
	case "milliseconds":
		if exactly {
			return "CAST(" + micros + " AS DECIMAL(19, 0)) * CAST('0.001' AS DECIMAL(4, 3))"
		}
		return "((" + micros + " // 1000000) * CAST(1000 AS DOUBLE) + (" + micros + " % 1000000) / CAST(1000 AS DOUBLE))"
	case "microseconds":
		return whole(micros)
	case "epoch":
		return duckEpoch(x, t, exactly, whole)
	case "year", "isoyear":
		if date {
			return whole("CASE WHEN " + unit + "(" + x + ") > 0 THEN " + unit + "(" + x + ") ELSE " + unit + "(" + x + ") - 1 END")
		}
	case "decade", "century", "millennium":
		y := "year(" + x + ")"
		n := map[string]string{"decade": "10", "century": "100", "millennium": "1000"}[unit]
		switch {
		case !date:
			return whole("(" + y + " - " + y + " % " + n + ") // " + n)
		case unit == "decade":
			return whole("CASE WHEN " + y + " >= 0 THEN " + y + " // 10 ELSE -((9 - " + y + ") // 10) END")
		}
		return whole("CASE WHEN " + y + " > 0 THEN (" + y + " + " + n + " - 1) // " + n + " ELSE -((" + n + " - " + y + ") // " + n + ") END")
	case "quarter":
		if t == span {
			return whole("(month({y}) - month({y}) % 3) // 3 + 1")
		}
	case "dow":
		return whole("dayofweek(" + x + ")")
	case "doy":
		return whole("dayofyear(" + x + ")")
	}
	return whole(unit + "(" + x + ")")
}

func duckEpoch(x string, t sqltype.OID, exactly bool, whole func(string) string) string {
	micros := "epoch_us(" + x + ")"
	switch {
	case t == day && exactly:
		return whole("date_diff('day', CAST('1970-01-01' AS DATE), {y}) * 86400")
	case t == span:
		micros = duckSpan("{y}", 31557600)
	}
	if exactly {
		return "CAST(" + micros + " AS DECIMAL(25, 0)) * CAST('0.000001' AS DECIMAL(7, 6))"
	}
	if t == clock || t == span {
		return whole(micros) + " / 1000000"
	}
	return whole(micros + " / CAST(1000000 AS DOUBLE)")
}

// duckSpan are an interval's microseconds, with years of so many seconds and months of 30 days.
func duckSpan(x string, year int) string {
	return "(((CAST(year(" + x + ") AS BIGINT) * " + strconv.Itoa(year) + " + month(" + x + ") * 2592000 + CAST(day(" + x + ") AS BIGINT) * 86400) * CAST(1000000 AS HUGEINT)) + hour(" + x + ") * 3600000000 + minute(" + x + ") * 60000000 + microsecond(" + x + "))"
}

// fieldOf computes a field of a date, timestamp (of a zone's wall clock), time or interval.
func fieldOf(unit string, v sqltype.Value, exactly bool) (sqltype.Value, error) {
	whole := func(n int64) (sqltype.Value, error) {
		if exactly {
			return decimal.NewFromInt(n), nil
		}
		return float64(n), nil
	}
	clockField := func(micros int64) (sqltype.Value, error) {
		sec, frac := micros/second%60, micros%second
		switch {
		case unit == "hour":
			return whole(micros / (3600 * second))
		case unit == "minute":
			return whole(micros / (60 * second) % 60)
		case unit == "microseconds":
			return whole(sec*second + frac)
		case unit == "second" && exactly:
			return decimal.New(sec*second+frac, -6), nil
		case unit == "second":
			return float64(sec) + float64(frac)/1e6, nil
		case exactly:
			return decimal.New(sec*second+frac, -3), nil
		}
		return float64(sec)*1000 + float64(frac)/1000, nil
	}
	switch x := v.(type) {
	case sqltype.Clock:
		switch {
		case unit == "epoch" && exactly:
			return decimal.New(int64(x), -6), nil
		case unit == "epoch":
			return float64(x) / 1e6, nil
		}
		return clockField(int64(x))
	case sqltype.Interval:
		if slices.Contains(clockFields, unit) {
			return clockField(x.Micros)
		}
		return intervalField(unit, x, exactly, whole)
	case sqltype.Days:
		m := sqltype.Micros(int64(x) * microsPerDay)
		switch {
		case x == sqltype.DateInfinity:
			m = sqltype.InstantInfinity
		case x == sqltype.DateMinusInfinity:
			m = sqltype.InstantMinusInfinity
		case unit == "epoch" && exactly:
			return whole(int64(x)*86400 + epochSeconds)
		case x > lastDay && !exactly:
			return nil, dateRange()
		case x > lastDay:
			return dateField(unit, civilOfDay(int64(x)), whole)
		}
		return stampField(unit, m, exactly, whole, clockField)
	case sqltype.Micros:
		return stampField(unit, x, exactly, whole, clockField)
	}
	return nil, notSupported(unit, stamp)
}

func civilOfDay(days int64) civil {
	t := time.Unix(epochSeconds+days*86400, 0).UTC()
	y, mon, d := t.Date()
	return civil{y: y, mon: int(mon), d: d, t: t}
}

func stampField(unit string, m sqltype.Micros, exactly bool, whole, clockField func(int64) (sqltype.Value, error)) (sqltype.Value, error) {
	if infinite(m) {
		switch {
		case !slices.Contains(yearFields, unit):
			return nil, nil
		case exactly:
			return nil, outOfRange("an infinite numeric is")
		case m > 0:
			return math.Inf(1), nil
		}
		return math.Inf(-1), nil
	}
	c := civilOf(m)
	switch {
	case slices.Contains(clockFields, unit):
		return clockField(c.micros)
	case unit == "epoch" && exactly:
		if int64(m) <= math.MaxInt64-epochSeconds*second {
			return decimal.New(int64(m)+epochSeconds*second, -6), nil
		}
		q, err := NumericDiv(one(int64(m)).Add(one(epochSeconds*second)), one(second)) // with a quotient's digits
		if err != nil {
			return nil, err
		}
		return scaled(q.(decimal.Decimal).Round(6), 6), nil
	case unit == "epoch":
		if int64(m) <= math.MaxInt64-epochSeconds*second {
			return float64(int64(m)+epochSeconds*second) / 1e6, nil
		}
		return float64(m)/1e6 + epochSeconds, nil
	}
	return dateField(unit, c, whole)
}

func dateField(unit string, c civil, whole func(int64) (sqltype.Value, error)) (sqltype.Value, error) {
	year := int64(c.y)
	noZero := func(y int64) (sqltype.Value, error) {
		if y <= 0 {
			y--
		}
		return whole(y)
	}
	switch unit {
	case "year":
		return noZero(year)
	case "isoyear":
		y, _ := c.t.ISOWeek()
		return noZero(int64(y))
	case "decade":
		return whole(floorDiv(year, 10))
	case "century", "millennium":
		n := int64(100)
		if unit == "millennium" {
			n = 1000
		}
		if year > 0 {
			return whole((year + n - 1) / n)
		}
		return whole(-((n - year) / n))
	case "quarter":
		return whole(int64(c.mon-1)/3 + 1)
	case "month":
		return whole(int64(c.mon))
	case "week":
		_, w := c.t.ISOWeek()
		return whole(int64(w))
	case "day":
		return whole(int64(c.d))
	case "dow":
		return whole(int64(c.t.Weekday()))
	case "isodow":
		return whole(int64(c.t.Weekday()+6)%7 + 1)
	case "doy":
		return whole(int64(c.t.YearDay()))
	}
	return nil, notSupported(unit, stamp)
}

func intervalField(unit string, x sqltype.Interval, exactly bool, whole func(int64) (sqltype.Value, error)) (sqltype.Value, error) {
	years, months := int64(x.Months/12), int64(x.Months%12)
	switch unit {
	case "day":
		return whole(int64(x.Days))
	case "month":
		return whole(months)
	case "quarter":
		return whole(months/3 + 1)
	case "year":
		return whole(years)
	case "decade":
		return whole(years / 10)
	case "century":
		return whole(years / 100)
	case "millennium":
		return whole(years / 1000)
	}
	seconds := years*31557600 + (months*30+int64(x.Days))*86400 // a year of 365.25 days
	if exactly {
		return decimal.New(seconds, 0).Add(decimal.New(x.Micros, -6)), nil
	}
	return float64(x.Micros)/1e6 + float64(years)*31557600 + float64(months)*2592000 + float64(x.Days)*86400, nil
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
