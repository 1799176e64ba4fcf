package funcs

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

const noTimetz = "DuckDB's times with time zone have other functions"

// clocksTZ are the rows of time with time zone but for its comparisons.
func clocksTZ() []*Func {
	own := func(form string) forms { return forms{pg: form, own: form, why: noTimetz} }
	move := func(c sqltype.ClockTZ, n int64) (sqltype.Value, error) {
		return sqltype.ClockTZ{Micros: floorMod(n, microsPerDay), Zone: c.Zone}, nil
	}
	out := []*Func{
		row(Cast, "cast", oids(clockTZ), clock, false, own("CAST({x} AS time)")).within(always(0, microsPerDay)).
			eval(of1(func(c sqltype.ClockTZ) (sqltype.Value, error) { return sqltype.Clock(c.Micros), nil })),
		row(Cast, "cast", oids(clockTZ), text, false, own("CAST({x} AS text)")).eval(of1(func(c sqltype.ClockTZ) (sqltype.Value, error) { return sqltype.FormatText(c, sqltype.Timetz), nil })),
		row(Operator, "+", oids(clockTZ, span), clockTZ, false, own("{x} + {y}")).eval(of2(func(c sqltype.ClockTZ, i sqltype.Interval) (sqltype.Value, error) { return move(c, c.Micros+i.Micros) })),
		row(Operator, "+", oids(span, clockTZ), clockTZ, false, own("{x} + {y}")).eval(of2(func(i sqltype.Interval, c sqltype.ClockTZ) (sqltype.Value, error) { return move(c, c.Micros+i.Micros) })),
		row(Operator, "-", oids(clockTZ, span), clockTZ, false, own("{x} - {y}")).eval(of2(func(c sqltype.ClockTZ, i sqltype.Interval) (sqltype.Value, error) { return move(c, c.Micros-i.Micros) })),
	}
	for _, name := range []string{"extract", "date_part"} {
		f := &Func{Name: name, Kind: Function, Args: oids(text, clockTZ), Result: numeric, Const: []int{0}}
		if name == "date_part" {
			f.Result = f8
		}
		f.With = func(c Constants) (*Func, error) { return clockTZField(f, c.Values[0].(string)) }
		out = append(out, f)
	}
	cast := &Func{Name: "cast", Kind: Cast, Args: oids(zoned), Result: clockTZ, MayBeNull: true, Zoned: true}
	cast.With = func(c Constants) (*Func, error) { return clockTZOf(cast, c.Zone) }
	return append(out, cast)
}

func clockTZField(f *Func, name string) (*Func, error) {
	unit := unitOf(name)
	switch {
	case unit == "":
		return nil, notRecognized(name, clockTZ)
	case !slices.Contains(clockFields, unit) && unit != "epoch" && !strings.HasPrefix(unit, "timezone"):
		return nil, notSupported(name, clockTZ)
	}
	form := "EXTRACT(" + unit + " FROM {y})"
	if f.Result != numeric {
		form = "date_part('" + unit + "', {y})"
	}
	g := row(f.Kind, f.Name, f.Args, f.Result, false, forms{pg: form, own: form, why: noTimetz})
	g.Const = f.Const
	if r, ok := partRange[unit]; ok {
		g.Range = always(r[0], r[1])
	}
	return g.eval(func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		c, exactly := v[1].(sqltype.ClockTZ), f.Result == numeric
		east := -int64(c.Zone)
		switch unit {
		case "timezone_hour":
			east /= 3600
		case "timezone_minute":
			east = east / 60 % 60
		case "timezone":
		case "epoch":
			if total := c.Micros + int64(c.Zone)*second; exactly {
				return decimal.New(total, -6), nil
			}
			return float64(c.Micros)/1e6 + float64(c.Zone), nil
		default:
			return fieldOf(unit, sqltype.Clock(c.Micros), exactly)
		}
		if exactly {
			return decimal.NewFromInt(east), nil
		}
		return float64(east), nil
	}), nil
}

// clockTZOf is the wall clock of an instant in the session's zone, with its offset; NULL for infinities and within two days of the range's ends.
func clockTZOf(f *Func, zone string) (*Func, error) {
	loc, err := location(zone)
	if err != nil {
		return nil, err
	}
	in := "CASE WHEN {x} BETWEEN '4714-11-26 00:00:00+00 BC' AND '294276-12-29 00:00:00+00' THEN {x} END"
	wall := "timezone(" + zoneText(zone) + ", " + in + ")"
	// The text of the wall clock and of the offset: the cast itself would take the zone of the backend's session.
	offset := wall + " - timezone('UTC', " + in + ")"
	pg := "CAST(CAST(" + wall + " AS time) || CASE WHEN " + offset + " < interval '0' THEN '' ELSE '+' END || " + offset + " AS timetz)"
	g := row(f.Kind, f.Name, f.Args, clockTZ, true, forms{pg: pg, own: pg, why: noTimetz})
	g.Zoned = true
	return g.eval(of1(func(m sqltype.Micros) (sqltype.Value, error) {
		if infinite(m) {
			return nil, nil
		}
		l := local(m, loc)
		return sqltype.ClockTZ{Micros: floorMod(int64(l), microsPerDay), Zone: -int32(int64(l-m) / second)}, nil //nolint:gosec // less than a day
	})), nil
}
