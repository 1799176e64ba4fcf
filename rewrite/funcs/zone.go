package funcs

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// zoneRows are the conversions that depend on a time zone: casts in the session's, and timezone(), which is AT TIME ZONE, in a constant
// one. They are NULL for instants within two days of the range's ends, and for dates that no timestamp holds.
func zoneRows() []*Func {
	var out []*Func
	add := func(name string, args []sqltype.OID, result sqltype.OID, of int) {
		f := &Func{Name: name, Kind: Function, Args: args, Result: result, MayBeNull: true}
		if name == "cast" {
			f.Kind, f.Zoned = Cast, true
			f.With = func(c Constants) (*Func, error) { return zoneRow(f, c.Zone, of) }
		} else {
			f.Const = []int{0}
			f.With = func(c Constants) (*Func, error) { return zoneRow(f, c.Values[0].(string), of) }
		}
		out = append(out, f)
	}
	add("cast", oids(stamp), zoned, 0)
	add("cast", oids(day), zoned, 0)
	add("cast", oids(zoned), stamp, 0)
	add("cast", oids(zoned), day, 0)
	add("cast", oids(zoned), clock, 0)
	add("timezone", oids(text, stamp), zoned, 1)
	add("timezone", oids(text, zoned), stamp, 1)
	return out
}

// zoneText is a zone's name for PostgreSQL, as a constant that it computes when it plans: a server that does not know the zone refuses the statement
// whether there is a row or not.
func zoneText(zone string) string {
	if zone == "UTC" {
		return quoted(zone)
	}
	z := quoted(zone)
	return "(CASE WHEN timezone(" + z + ", timestamptz '2000-01-01 00:00:00+00') IS NOT NULL THEN " + z + " END)"
}

func zoneRow(f *Func, zone string, of int) (*Func, error) {
	loc, err := location(zone)
	if err != nil {
		return nil, err
	}
	x, from := "{"+places[of]+"}", f.Args[of]
	in, duckIn := inner(x), x
	if from == day {
		in = "CAST(CASE WHEN " + x + " BETWEEN '4714-11-26 BC' AND '294276-12-29' OR NOT isfinite(" + x + ") THEN " + x + " END AS timestamp)"
		duckIn = "TRY_CAST(" + x + " AS TIMESTAMP)"
	}
	z := zoneText(zone)
	fm := forms{pg: "timezone(" + z + ", " + in + ")", own: "timezone(" + z + ", CAST(" + x + " AS timestamp))", duck: duckTurned(zone, loc, duckIn, map[bool]sqltype.OID{true: zoned, false: stamp}[from == zoned])}
	if from == zoned {
		fm.own = "timezone(" + z + ", " + x + ")"
	}
	switch f.Result {
	case day:
		fm.pg, fm.own, fm.duck = "CAST("+fm.pg+" AS date)", "CAST("+fm.own+" AS date)", "CAST("+fm.duck+" AS DATE)"
	case clock:
		fm.pg, fm.own, fm.duck = "CAST("+fm.pg+" AS time)", "CAST("+fm.own+" AS time)", "CASE WHEN isfinite("+x+") THEN CAST("+fm.duck+" AS TIME) END"
	}
	if why := zonesOfDuckDB(zone, loc); why != "" {
		fm.duck, fm.why = "", why
	}
	g := row(f.Kind, f.Name, f.Args, f.Result, true, fm)
	g.Const, g.Zoned, g.Zone = f.Const, f.Zoned, loc
	if g.Range = zonedRange(of, from, f.Result); f.Result == clock {
		g.Range = always(0, microsPerDay)
	}
	g.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		switch x := v[of].(type) {
		case sqltype.Days:
			m, ok := micros(x, sqltype.Micros(0)).(sqltype.Micros)
			if !ok || m == sqltype.InstantInfinity-1 {
				return nil, dateRange()
			}
			return unlocal(m, loc)
		case sqltype.Micros:
			if from == stamp {
				return unlocal(x, loc)
			}
			m := local(x, loc)
			switch {
			case f.Result == day:
				return dayOf(m), nil
			case f.Result == clock:
				return clockOf(m), nil
			case !infinite(m) && (m < firstMicros || m >= endMicros):
				return nil, sqlerr.New(sqlerr.DatetimeRange, "timestamp out of range")
			}
			return m, nil
		}
		return nil, nil
	}
	return g, nil
}

func dayOf(m sqltype.Micros) sqltype.Days {
	switch m {
	case sqltype.InstantInfinity:
		return sqltype.DateInfinity
	case sqltype.InstantMinusInfinity:
		return sqltype.DateMinusInfinity
	}
	return sqltype.Days(floorDiv(int64(m), microsPerDay))
}

// clockOf is NULL for infinities.
func clockOf(m sqltype.Micros) sqltype.Value {
	if infinite(m) {
		return nil
	}
	return sqltype.Clock(floorMod(int64(m), microsPerDay))
}

// clockCasts are between time, timestamp and interval. An interval is added to midnight: its cast gives times below 00:00 near the least interval (PostgreSQL 15, interval_time overflows), which are no times.
func clockCasts() []*Func {
	return []*Func{
		row(Cast, "cast", oids(stamp), clock, true, forms{pg: "CAST({x} AS time)", own: "CAST({x} AS time)", duck: "CASE WHEN isfinite({x}) THEN CAST({x} AS TIME) END"}).
			within(always(0, microsPerDay)).eval(of1(func(m sqltype.Micros) (sqltype.Value, error) { return clockOf(m), nil })),
		row(Cast, "cast", oids(clock), span, false, forms{pg: "CAST({x} AS interval)", own: "CAST({x} AS interval)", duck: "to_microseconds(epoch_us({x}))"}).
			within(always(0, microsPerDay)).eval(of1(func(c sqltype.Clock) (sqltype.Value, error) { return sqltype.Interval{Micros: int64(c)}, nil })),
		row(Cast, "cast", oids(span), clock, false, forms{pg: "(time '00:00' + {x})", own: "(time '00:00' + {x})", why: "DuckDB has no cast from interval to time"}).
			eval(of1(func(i sqltype.Interval) (sqltype.Value, error) {
				return sqltype.Clock(floorMod(i.Micros, microsPerDay)), nil
			})),
	}
}

// inner keeps away from the ends of the range by two days, since a zone's offset could lead out of it.
func inner(x string) string {
	return "CASE WHEN " + x + " BETWEEN '4714-11-26 00:00:00+00 BC' AND '294276-12-29 00:00:00+00' OR NOT isfinite(" + x + ") THEN " + x + " END"
}
