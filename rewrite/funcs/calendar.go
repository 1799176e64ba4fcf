package funcs

import (
	"math/big"
	"strconv"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// calendar has + and - of dates, timestamps, times and intervals.
func calendar() []*Func {
	out := []*Func{dayPlus("+", day, i4), dayPlus("+", i4, day), dayPlus("-", day, i4), dayDifference(), stampDifference(stamp), stampDifference(zoned), clockDifference(),
		spanSum("+"), spanSum("-"), spanNegative(), dayAndClock()}
	for _, op := range []string{"+", "-"} {
		for _, t := range []sqltype.OID{day, stamp, zoned, clock} {
			out = append(out, shifted(op, t, false))
			if op == "+" {
				out = append(out, shifted(op, t, true))
			}
		}
	}
	return out
}

func dayPlus(op string, a, b sqltype.OID) *Func {
	x, n := "{x}", "{y}"
	if a == i4 {
		x, n = n, x
	}
	sum := "{x} " + op + " {y}"
	within := " BETWEEN -2451545 AND " + strconv.Itoa(endDay-1)
	f := row(Operator, op, oids(a, b), day, true, forms{
		pg:   "CASE WHEN NOT isfinite(" + x + ") AND " + n + " IS NOT NULL THEN " + x + " WHEN CAST(CASE WHEN isfinite(" + x + ") THEN " + x + " END - date '2000-01-01' AS int8) " + op + " " + n + within + " THEN " + sum + " END",
		duck: "CASE WHEN isinf(" + x + ") AND " + n + " IS NOT NULL THEN " + x + " WHEN date_diff('day', CAST('2000-01-01' AS DATE), " + x + ") " + op + " CAST(" + n + " AS BIGINT)" + within + " THEN " + x + " " + op + " " + n + " END",
	})
	return f.within(dayPlusRange(op, oids(a, b))).safe(dayPlusSafe(op, oids(a, b))).eval(func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		if a == i4 {
			v = []sqltype.Value{v[1], v[0]}
		}
		d, n := v[0].(sqltype.Days), v[1].(int64)
		if d == sqltype.DateInfinity || d == sqltype.DateMinusInfinity {
			return d, nil
		}
		if op == "-" {
			n = -n
		}
		if s := int64(d) + n; s >= firstDay && s < endDay {
			return sqltype.Days(s), nil
		}
		return nil, sqlerr.New(sqlerr.DatetimeRange, "date out of range")
	})
}

func dayDifference() *Func {
	return row(Operator, "-", oids(day, day), i4, true, forms{pg: "CASE WHEN isfinite({x}) AND isfinite({y}) THEN {x} - {y} END",
		duck: "CASE WHEN isfinite({x}) AND isfinite({y}) THEN TRY_CAST(date_diff('day', {y}, {x}) AS INTEGER) END"}).
		within(difference).safe(bothKnown).eval(of2(func(a, b sqltype.Days) (sqltype.Value, error) {
		if a == sqltype.DateInfinity || a == sqltype.DateMinusInfinity || b == sqltype.DateInfinity || b == sqltype.DateMinusInfinity {
			return nil, sqlerr.New(sqlerr.DatetimeRange, "cannot subtract infinite dates")
		}
		return int64(a) - int64(b), nil
	}))
}

// stampDifference is in days and the time below a day; NULL for infinities and where the microseconds leave bigint (PostgreSQL 15 wraps there).
func stampDifference(t sqltype.OID) *Func {
	f := row(Operator, "-", oids(t, t), span, true, forms{
		pg: "CASE WHEN isfinite({x}) AND isfinite({y}) AND abs(EXTRACT(epoch FROM {x}) - EXTRACT(epoch FROM {y})) < 9223372036854 THEN {x} - {y} END",
		duck: "list_transform([CASE WHEN isfinite({x}) AND isfinite({y}) AND abs(CAST(epoch_us({x}) AS HUGEINT) - epoch_us({y})) < 9223372036854000000 THEN CAST(epoch_us({x}) AS HUGEINT) - epoch_us({y}) END]," +
			" lambda d: to_days(CAST(d // 86400000000 AS INTEGER)) + to_microseconds(CAST(d % 86400000000 AS BIGINT)))[1]"})
	return f.within(difference).eval(of2(func(a, b sqltype.Micros) (sqltype.Value, error) {
		if infinite(a) || infinite(b) {
			return nil, sqlerr.New(sqlerr.DatetimeRange, "cannot subtract infinite timestamps")
		}
		d := int64(a) - int64(b)
		if (a > b) != (d > 0) && d != 0 {
			return nil, sqlerr.New(sqlerr.DatetimeRange, "interval out of range")
		}
		return sqltype.Interval{Days: int32(d / microsPerDay), Micros: d % microsPerDay}, nil
	}))
}

func clockDifference() *Func {
	return row(Operator, "-", oids(clock, clock), span, false, forms{pg: "{x} - {y}", duck: "to_microseconds(epoch_us({x}) - epoch_us({y}))"}).
		within(always(-microsPerDay, microsPerDay)).eval(of2(func(a, b sqltype.Clock) (sqltype.Value, error) { return sqltype.Interval{Micros: int64(a - b)}, nil }))
}

func dayAndClock() *Func {
	return row(Operator, "+", oids(day, clock), stamp, true, forms{pg: "CASE WHEN {x} BETWEEN '4714-11-24 BC' AND '294276-12-30' OR {x} = '294276-12-31' AND {y} < '24:00' OR NOT isfinite({x}) THEN {x} + {y} END",
		duck: "CASE WHEN isinf({x}) AND {y} IS NOT NULL THEN TRY_CAST({x} AS TIMESTAMP) WHEN {x} < '294247-01-10' OR {y} <= '04:00:54.775806' THEN TRY_CAST({x} AS TIMESTAMP) + to_microseconds(epoch_us({y})) END"}). // DuckDB's last day
		eval(of2(func(d sqltype.Days, c sqltype.Clock) (sqltype.Value, error) {
			m, ok := micros(d, sqltype.Micros(0)).(sqltype.Micros)
			switch {
			case !ok || m == sqltype.InstantInfinity-1:
				return nil, dateRange()
			case infinite(m):
				return m, nil
			}
			if m += sqltype.Micros(c); m >= endMicros {
				return nil, stampRange()
			}
			return m, nil
		}))
}

// spanSum adds parts with parts; NULL where one overflows.
func spanSum(op string) *Func {
	f := row(Operator, op, oids(span, span), span, true, forms{why: "DuckDB's sums of intervals wrap",
		pg: "CASE WHEN EXTRACT(year FROM {x}) * 12 + EXTRACT(month FROM {x}) " + op + " (EXTRACT(year FROM {y}) * 12 + EXTRACT(month FROM {y})) BETWEEN -2147483648 AND 2147483647" +
			" AND EXTRACT(day FROM {x}) " + op + " EXTRACT(day FROM {y}) BETWEEN -2147483648 AND 2147483647" +
			" AND " + spanTime("{x}") + " " + op + " " + spanTime("{y}") + " BETWEEN -9223372036854775808 AND 9223372036854775807 THEN {x} " + op + " {y} END"})
	return f.eval(of2(func(a, b sqltype.Interval) (sqltype.Value, error) {
		sign := int64(1)
		if op == "-" {
			sign = -1
		}
		months, days, time := int64(a.Months)+sign*int64(b.Months), int64(a.Days)+sign*int64(b.Days), new(big.Int).Mul(big.NewInt(sign), big.NewInt(b.Micros))
		time.Add(time, big.NewInt(a.Micros))
		if months != int64(int32(months)) || days != int64(int32(days)) || !time.IsInt64() {
			return nil, sqlerr.New(sqlerr.DatetimeRange, "interval out of range")
		}
		return sqltype.Interval{Months: int32(months), Days: int32(days), Micros: time.Int64()}, nil
	}))
}

// spanTime is an interval's time below days in microseconds, as a PostgreSQL numeric.
func spanTime(x string) string {
	return "((EXTRACT(hour FROM " + x + ") * 60 + EXTRACT(minute FROM " + x + ")) * 60000000 + EXTRACT(microseconds FROM " + x + "))"
}

func spanNegative() *Func {
	least := "EXTRACT(day FROM {x}) > -2147483648 AND EXTRACT(year FROM {x}) * 12 + EXTRACT(month FROM {x}) > -2147483648 AND " + spanTime("{x}") + " > -9223372036854775808"
	return row(Operator, "-", oids(span), span, true, forms{pg: "CASE WHEN " + least + " THEN - {x} END", why: "DuckDB's negatives of intervals wrap"}).
		eval(of1(func(x sqltype.Interval) (sqltype.Value, error) {
			y := sqltype.Interval{Months: -x.Months, Days: -x.Days, Micros: -x.Micros}
			if y.Months == x.Months && x.Months != 0 || y.Days == x.Days && x.Days != 0 || y.Micros == x.Micros && x.Micros != 0 {
				return nil, sqlerr.New(sqlerr.DatetimeRange, "interval out of range")
			}
			return y, nil
		}))
}

// shifted is a date, timestamp or time plus or minus an interval; front: the interval stands first. With a constant interval it is NULL exactly where
// PostgreSQL raises (in a zone within two days of that); else also within 40 days of the range's ends.
func shifted(op string, t sqltype.OID, front bool) *Func {
	result, args, place := t, oids(t, span), 1
	if t == day {
		result = stamp
	}
	if front {
		args, place = oids(span, t), 0
	}
	f := &Func{Name: op, Kind: Operator, Args: args, Result: result, MayBeNull: t != clock, Const: []int{place}, Zoned: t == zoned}
	f.With = func(c Constants) (*Func, error) { return shiftedBy(f, t, c.Values[0].(sqltype.Interval), c.Zone) }
	f.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return moved(v[1-place], v[place].(sqltype.Interval), op, time.UTC)
	}
	x, iv := "{"+places[1-place]+"}", "{"+places[place]+"}"
	own := forms{pg: x + " " + op + " " + iv, why: "DuckDB adds constant intervals only"}
	switch t {
	case clock:
	case zoned:
		return f // only by constants: what a day is depends on the zone
	default:
		months := "(EXTRACT(year FROM " + iv + ") * 12 + EXTRACT(month FROM " + iv + ")) * 2629746"
		days := "EXTRACT(day FROM " + iv + ") * 86400"
		in := func(v string) string { return "(" + v + ") BETWEEN -210863347200 AND 9224314560000" }
		at := "EXTRACT(epoch FROM " + x + ")"
		own.pg = "CASE WHEN " + in(at) + " AND " + in(at+" "+op+" "+months) + " AND " + in(at+" "+op+" ("+months+" + "+days+")") + " AND " + in(at+" "+op+" ("+months+" + "+days+" + "+spanTime(iv)+" / 1000000)") +
			" AND abs(EXTRACT(day FROM " + iv + ")) < 2147483648 AND abs(" + months + ") < 5000000000000000 AND abs(" + spanTime(iv) + ") < 9223372036854775808 THEN " + own.pg + " WHEN NOT isfinite(" + x + ") AND " + iv + " IS NOT NULL THEN CAST(" + x + " AS timestamp) END"
	}
	g := row(Operator, op, args, result, t != clock, own)
	f.TotalForm, f.RaisingForm, f.Refused = g.TotalForm, g.RaisingForm, g.Refused
	return f
}

func shiftedBy(f *Func, t sqltype.OID, iv sqltype.Interval, zone string) (*Func, error) {
	place, op := f.Const[0], f.Name
	loc := time.UTC
	if t == zoned {
		var err error
		if loc, err = location(zone); err != nil {
			return nil, err
		}
	}
	x := "{" + places[1-place] + "}"
	literal := func(i sqltype.Interval) string {
		return "interval " + quoted(sqltype.FormatText(i, sqltype.IntervalType))
	}
	duckLiteral := "(to_months(" + strconv.Itoa(int(iv.Months)) + ") + to_days(" + strconv.Itoa(int(iv.Days)) + ") + to_microseconds(" + strconv.FormatInt(iv.Micros, 10) + "))"
	fm := forms{own: x + " " + op + " " + literal(iv)}
	switch {
	case t == clock:
		if iv.Micros > 1<<62 || iv.Micros < -1<<62 { // PostgreSQL's sum wraps
			return nil, sqlerr.New(sqlerr.Unsupported, "an interval of this size is not supported here")
		}
		n := iv.Micros % microsPerDay
		if op == "-" {
			n = -n
		}
		fm.pg = fm.own
		fm.duck = "CAST(make_timestamp((epoch_us(" + x + ") + " + strconv.FormatInt(n, 10) + " + 2 * 86400000000) % 86400000000) AS TIME)"
	case iv.Months == -1<<31 || iv.Days == -1<<31 || iv.Micros == -1<<63:
		return nil, sqlerr.New(sqlerr.Unsupported, "an interval of this size is not supported here")
	default:
		lo, hi, ok := shiftable(iv, op)
		if !ok {
			lo, hi = 0, -1
		}
		bound := func(m sqltype.Micros) string { return quoted(sqltype.FormatText(m, sqltype.Timestamp)) }
		duckBound := func(m sqltype.Micros) string {
			return "make_timestamp(" + strconv.FormatInt(int64(m)+epochSeconds*second, 10) + ")"
		}
		ts, duckTS := x, x
		switch t {
		case day:
			ts = "CAST(CASE WHEN " + x + " < '294277-01-01' OR " + x + " = 'infinity' THEN " + x + " END AS timestamp)"
			duckTS = "TRY_CAST(" + x + " AS TIMESTAMP)"
		case zoned:
			margin := sqltype.Micros(2 * microsPerDay) // a zone takes less than a day
			if iv.Months != 0 {
				margin += disorder // so that those before it are moved to two days before at least
			}
			lo, hi = lo+margin, hi-margin
			duckTS = duckTurned(zone, loc, x, zoned)
		}
		if most := sqltype.Micros(9223372036854775806 - epochSeconds*second); hi > most {
			hi = min(hi, endMicros)
			duckBound = func(m sqltype.Micros) string {
				return "make_timestamp(" + strconv.FormatInt(int64(min(m, most))+epochSeconds*second, 10) + ")"
			}
		}
		sum := func(v, lit string) string { return v + " " + op + " " + lit }
		clamped := func(ts, sum, infinite string) string {
			return "(SELECT CASE WHEN t BETWEEN " + bound(lo) + " AND " + bound(hi) + " THEN " + sum + " WHEN NOT isfinite(t) THEN " + infinite + " END FROM (SELECT " + ts + " AS t OFFSET 0) AS s)"
		}
		duckSum := "list_transform([" + duckTS + "], lambda t: CASE WHEN isinf(t) THEN t WHEN t BETWEEN " + duckBound(lo) + " AND " + duckBound(hi) + " THEN TRY(t " + op + " " + duckLiteral + ") END)[1]"
		if t == zoned {
			z := zoneText(zone)
			wall := sum("t", literal(sqltype.Interval{Months: iv.Months}))
			wall = "timezone(" + z + ", " + sum("timezone("+z+", timezone("+z+", "+wall+"))", literal(sqltype.Interval{Days: iv.Days})) + ")"
			if iv.Months == 0 && iv.Days == 0 {
				wall = x
			}
			wall = sum(wall, literal(sqltype.Interval{Micros: iv.Micros}))
			fm.pg, fm.own = clamped("timezone("+z+", "+inner(x)+")", wall, x), clamped("timezone("+z+", "+x+")", wall, x)
			fm.duck = "list_transform([" + duckSum + "], lambda u: " + duckTurned("UTC", time.UTC, "u", stamp) + ")[1]"
			switch why := zonesOfDuckDB(zone, loc); {
			case why != "":
				fm.duck, fm.why = "", why
			case loc != time.UTC:
				fm.duck = "list_transform([" + duckTS + "], lambda t: CASE WHEN isinf(t) THEN " + x + " WHEN t BETWEEN " + duckBound(lo) + " AND " + duckBound(hi) + " THEN " + duckShift(x, op, iv, zone, loc) + " END)[1]"
			}
		} else {
			fm.pg, fm.duck = clamped(ts, sum("t", literal(iv)), "t"), duckSum
		}
	}
	g := row(f.Kind, f.Name, f.Args, f.Result, f.MayBeNull, fm)
	g.Const, g.Zoned, g.Range = f.Const, f.Zoned, shiftRange(f, t, iv)
	g.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return moved(v[1-place], iv, op, loc)
	}
	return g, nil
}
