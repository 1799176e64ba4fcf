package funcs

import (
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// truncations has date_trunc of a constant unit: of timestamps, of timestamps with time zone in the session's zone or a constant one, of intervals. It
// is NULL where the start of the unit is before the first timestamp, and in a zone within two days of that and of the last one.
func truncations() []*Func {
	local := &Func{Name: "date_trunc", Kind: Function, Args: oids(text, stamp), Result: stamp, MayBeNull: true, Const: []int{0}}
	local.With = func(c Constants) (*Func, error) { return truncRow(local, c.Values[0].(string), "") }
	session := &Func{Name: "date_trunc", Kind: Function, Args: oids(text, zoned), Result: zoned, MayBeNull: true, Const: []int{0}, Zoned: true}
	session.With = func(c Constants) (*Func, error) { return truncRow(session, c.Values[0].(string), c.Zone) }
	named := &Func{Name: "date_trunc", Kind: Function, Args: oids(text, zoned, text), Result: zoned, MayBeNull: true, Const: []int{0, 2}}
	named.With = func(c Constants) (*Func, error) { return truncRow(named, c.Values[0].(string), c.Values[1].(string)) }
	of := &Func{Name: "date_trunc", Kind: Function, Args: oids(text, span), Result: span, Const: []int{0}}
	of.With = func(c Constants) (*Func, error) { return truncInterval(of, c.Values[0].(string)) }
	return []*Func{local, session, named, of}
}

func truncRow(f *Func, name, zone string) (*Func, error) {
	unit, t := unitOf(name), f.Result
	if _, ok := truncated(unit, 0); !ok {
		return nil, notRecognized(name, t)
	}
	var loc *time.Location
	if t == zoned {
		var err error
		if loc, err = location(zone); err != nil {
			return nil, err
		}
	}
	least := firstOf(unit)
	x := "{y}"
	own := "date_trunc('" + unit + "', " + x + ")"
	pg := "date_trunc('" + unit + "', CASE WHEN {y} >= " + quoted(sqltype.FormatText(least, sqltype.Timestamp)) + " OR {y} = '-infinity' THEN {y} END)"
	duck := duckTrunc(unit, least)
	if t == zoned {
		own = "date_trunc('" + unit + "', {y}, " + zoneText(zone) + ")"
		bound := sqltype.FormatText(least+2*microsPerDay, sqltype.Timestamptz)
		pg = "date_trunc('" + unit + "', CASE WHEN {y} BETWEEN " + quoted(bound) + " AND '294276-12-29 00:00:00+00' OR NOT isfinite({y}) THEN {y} END, " + zoneText(zone) + ")"
		duck = duckTruncIn(unit, duck, zone, loc)
	}
	why := zonesOfDuckDB(zone, loc)
	if why != "" {
		duck = ""
	}
	g := row(f.Kind, f.Name, f.Args, t, true, forms{pg: pg, own: own, duck: duck, why: why})
	g.Const, g.Zoned, g.Zone, g.Range = f.Const, f.Zoned, loc, truncRange(unit, t == zoned)
	g.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return truncateIn(unit, v[1].(sqltype.Micros), loc)
	}
	return g, nil
}

// duckTruncIn truncates the wall clock of a zone: below days by what is cut off there, as truncateIn does.
func duckTruncIn(unit, form, zone string, loc *time.Location) string {
	wall := duckTurned(zone, loc, "{y}", zoned)
	switch unit {
	case "microseconds", "milliseconds", "second", "minute", "hour":
		return "list_transform([" + wall + "], lambda l: CASE WHEN isinf(l) THEN {y} ELSE {y} - to_microseconds(epoch_us(l) - epoch_us(" + duckIn(form, "l") + ")) END)[1]"
	}
	back := "list_transform([" + duckIn(form, "l") + "], lambda s: " + duckTurned(zone, loc, "s", stamp) + ")[1]"
	return "list_transform([" + wall + "], lambda l: " + back + ")[1]"
}

func duckIn(form, name string) string { return duckFill(form, []string{"", name}) }

// duckTrunc prints DuckDB's truncation; beyond years it counts otherwise than PostgreSQL.
func duckTrunc(unit string, least sqltype.Micros) string {
	form := "date_trunc('" + unit + "', {y})"
	y := "year({y})"
	if start := map[string]string{
		"decade":     "CASE WHEN " + y + " >= 0 THEN " + y + " // 10 * 10 ELSE -((9 - " + y + ") // 10) * 10 END",
		"century":    "CASE WHEN " + y + " > 0 THEN (" + y + " + 99) // 100 * 100 - 99 ELSE -((100 - " + y + ") // 100) * 100 + 1 END",
		"millennium": "CASE WHEN " + y + " > 0 THEN (" + y + " + 999) // 1000 * 1000 - 999 ELSE -((1000 - " + y + ") // 1000) * 1000 + 1 END",
	}[unit]; start != "" {
		form = "CASE WHEN isinf({y}) THEN {y} ELSE CAST(make_date(" + start + ", 1, 1) AS TIMESTAMP) END"
	}
	first := "make_timestamp(" + strconv.FormatInt(int64(least)+epochSeconds*second, 10) + ")"
	return "CASE WHEN {y} >= " + first + " OR isinf({y}) THEN " + form + " END"
}

// truncated is the start of a timestamp's unit, which may be before the first timestamp; not ok for what is no such unit.
func truncated(unit string, m sqltype.Micros) (sqltype.Micros, bool) {
	c := civilOf(m)
	start := func(y, mon, d int) (sqltype.Micros, bool) {
		t := time.Date(y, time.Month(mon), d, 0, 0, 0, 0, time.UTC)
		return sqltype.Micros((t.Unix() - epochSeconds) * second), true
	}
	down := func(micros int64) (sqltype.Micros, bool) {
		return sqltype.Micros(floorDiv(int64(m), micros) * micros), true
	}
	year := int64(c.y)
	switch unit {
	case "microseconds":
		return m, true
	case "milliseconds":
		return down(1000)
	case "second":
		return down(second)
	case "minute":
		return down(60 * second)
	case "hour":
		return down(3600 * second)
	case "day":
		return down(microsPerDay)
	case "week":
		return start(c.y, c.mon, c.d-int(c.t.Weekday()+6)%7)
	case "month":
		return start(c.y, c.mon, 1)
	case "quarter":
		return start(c.y, (c.mon-1)/3*3+1, 1)
	case "year":
		return start(c.y, 1, 1)
	case "decade":
		return start(int(floorDiv(year, 10)*10), 1, 1)
	case "century":
		return start(int(floorDiv(year-1, 100)*100+1), 1, 1)
	case "millennium":
		return start(int(floorDiv(year-1, 1000)*1000+1), 1, 1)
	}
	return 0, false
}

// firstOf is the first start of a unit that is a timestamp.
func firstOf(unit string) sqltype.Micros {
	for m := sqltype.Micros(firstMicros); ; m += microsPerDay {
		if s, _ := truncated(unit, m); s >= firstMicros {
			return s
		}
	}
}

// truncateIn truncates in a zone (nil: none). From days on the offset is that of the start, below it stays.
func truncateIn(unit string, m sqltype.Micros, l *time.Location) (sqltype.Value, error) {
	if infinite(m) {
		return m, nil
	}
	if l == nil {
		l = time.UTC
	}
	wall := local(m, l)
	s, _ := truncated(unit, wall)
	switch unit {
	case "microseconds", "milliseconds", "second", "minute", "hour":
		s -= wall - m
	default:
		u, err := unlocal(s, l)
		if err != nil {
			return nil, err
		}
		s = u
	}
	if s < firstMicros {
		return nil, sqlerr.New(sqlerr.DatetimeRange, "timestamp out of range")
	}
	return s, nil
}

// truncInterval cuts an interval's parts below a unit off.
func truncInterval(f *Func, name string) (*Func, error) {
	unit := unitOf(name)
	cut := map[string]int32{"millennium": 12000, "century": 1200, "decade": 120, "year": 12, "quarter": 3, "month": 1}
	parts := map[string]int64{"hour": 3600 * second, "minute": 60 * second, "second": second, "milliseconds": 1000, "microseconds": 1}
	if unit == "week" {
		return nil, notSupported(name, span)
	}
	if cut[unit] == 0 && parts[unit] == 0 && unit != "day" {
		return nil, notRecognized(name, span)
	}
	g := row(f.Kind, f.Name, f.Args, span, false, forms{pg: "date_trunc('" + unit + "', {y})", own: "date_trunc('" + unit + "', {y})", why: "DuckDB's intervals are truncated otherwise"})
	g.Const = f.Const
	g.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		x := v[1].(sqltype.Interval)
		if n := cut[unit]; n > 0 {
			return sqltype.Interval{Months: x.Months / n * n}, nil
		}
		if n := parts[unit]; n > 0 {
			x.Micros = x.Micros / n * n
			return x, nil
		}
		x.Micros = 0
		return x, nil
	}
	return g, nil
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
