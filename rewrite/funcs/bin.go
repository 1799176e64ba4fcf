package funcs

import (
	"math"
	"strconv"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// binned has date_bin of a constant stride and origin, AT TIME ZONE of a constant interval, and age of timestamps with time zone.
func binned() []*Func {
	var out []*Func
	for _, t := range []sqltype.OID{stamp, zoned} {
		bin := &Func{Name: "date_bin", Kind: Function, Args: oids(span, t, t), Result: t, MayBeNull: true, Const: []int{0, 2}}
		bin.With = func(c Constants) (*Func, error) {
			return binRow(bin, c.Values[0].(sqltype.Interval), c.Values[1].(sqltype.Micros))
		}
		other := stamp
		if t == stamp {
			other = zoned
		}
		at := &Func{Name: "timezone", Kind: Function, Args: oids(span, t), Result: other, MayBeNull: true, Const: []int{0}}
		at.With = func(c Constants) (*Func, error) { return offsetRow(at, c.Values[0].(sqltype.Interval)) }
		out = append(out, bin, at)
	}
	age := &Func{Name: "age", Kind: Function, Args: oids(zoned, zoned), Result: span, MayBeNull: true, Zoned: true}
	age.With = func(c Constants) (*Func, error) { return zonedAge(age, c.Zone) }
	return append(out, age)
}

// binRow is NULL within a stride of the range's ends, where PostgreSQL 15 gives timestamps that it cannot write.
func binRow(f *Func, stride sqltype.Interval, origin sqltype.Micros) (*Func, error) {
	width := int64(stride.Days)*microsPerDay + stride.Micros
	switch {
	case stride.Months != 0:
		return nil, sqlerr.New(sqlerr.Unsupported, "timestamps cannot be binned into intervals containing months or years")
	case infinite(origin):
		return nil, sqlerr.New(sqlerr.DatetimeRange, "origin out of range")
	case width <= 0:
		return nil, sqlerr.New(sqlerr.DatetimeRange, "stride must be greater than zero")
	case width > 1<<60 || stride.Days > 10_000_000 || stride.Micros > 1<<60 || stride.Micros < -1<<60 || origin > 1<<62:
		return nil, sqlerr.New(sqlerr.Unsupported, "a stride or an origin of this size is not supported here")
	}
	first, last := firstMicros+width, int64(endMicros-1)
	if origin < 0 { // beyond, the difference overflows
		last = min(last, math.MaxInt64+int64(origin))
	}
	t := sqltype.Type{OID: f.Result, Typmod: -1}
	literal := func(m int64) string {
		return t.String() + " " + quoted(sqltype.FormatText(sqltype.Micros(m), t))
	}
	call := func(x string) string {
		return "date_bin(interval " + quoted(sqltype.FormatText(stride, sqltype.IntervalType)) + ", " + x + ", " + literal(int64(origin)) + ")"
	}
	make := "make_timestamp("
	if f.Result == zoned {
		make = "make_timestamptz("
	}
	const epoch = epochSeconds * second
	from, w := strconv.FormatInt(int64(origin)+epoch, 10), strconv.FormatInt(width, 10)
	duckLast := min(last, int64(1<<63-2-epoch))
	n := "(epoch_us({y}) - (" + from + "))"
	rest := "((" + n + " % " + w + " + " + w + ") % " + w + ")"
	g := row(f.Kind, f.Name, f.Args, f.Result, true, forms{own: call("{y}"), pg: "CASE WHEN {y} BETWEEN " + literal(first) + " AND " + literal(last) + " OR NOT isfinite({y}) THEN " + call("{y}") + " END",
		duck: "CASE WHEN isinf({y}) THEN {y} WHEN {y} BETWEEN " + make + strconv.FormatInt(first+epoch, 10) + ") AND " + make + strconv.FormatInt(duckLast+epoch, 10) + ") THEN " + make + "epoch_us({y}) - " + rest + ") END"})
	g.Const = f.Const
	g.Range = func(a []*num.Interval, _ []sqltype.Type) *num.Interval { return a[1].Add(num.Ints(-width, 0)) }
	g.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		m := v[1].(sqltype.Micros)
		if infinite(m) {
			return m, nil
		}
		if int64(m) < first || int64(m) > last {
			return nil, stampRange()
		}
		return m - sqltype.Micros(floorMod(int64(m)-int64(origin), width)), nil
	}
	return g, nil
}

// offsetRow is AT TIME ZONE of an offset, of whole seconds; NULL within two days of the range's ends.
func offsetRow(f *Func, by sqltype.Interval) (*Func, error) {
	if by.Months != 0 || by.Days != 0 {
		return nil, sqlerr.New(sqlerr.InvalidParam, "interval time zone \"%s\" must not include months or days", sqltype.FormatText(by, sqltype.IntervalType))
	}
	east := by.Micros / second * second
	if east > 2*microsPerDay || east < -2*microsPerDay {
		return nil, sqlerr.New(sqlerr.Unsupported, "a time zone of more than two days is not supported here")
	}
	if f.Args[1] == stamp {
		east = -east
	}
	call := func(x string) string {
		return "timezone(interval " + quoted(sqltype.FormatText(by, sqltype.IntervalType)) + ", " + x + ")"
	}
	const epoch = epochSeconds * second
	make := "make_timestamp("
	if f.Args[1] == zoned {
		make = "make_timestamptz("
	}
	g := row(f.Kind, f.Name, f.Args, f.Result, true, forms{own: call("{y}"), pg: call(inner("{y}")),
		duck: "CASE WHEN isinf({y}) OR {y} BETWEEN " + make + strconv.FormatInt(firstMicros+epoch+2*microsPerDay, 10) + ") AND " + make + strconv.FormatInt(1<<63-2-2*microsPerDay, 10) + ") THEN timezone('UTC', {y}) + to_microseconds(" + strconv.FormatInt(east, 10) + ") END"})
	g.Const = f.Const
	g.Range = func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		if a[1] == nil {
			return nil
		}
		return a[1].Add(num.Ints(east, east)).Meet(allInstant)
	}
	g.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		m := v[1].(sqltype.Micros)
		if infinite(m) {
			return m, nil
		}
		if m += sqltype.Micros(east); sideOf(m) != 0 {
			return nil, stampRange()
		}
		return m, nil
	}
	return g, nil
}

// zonedAge is age of the wall clocks in the session's zone. It is NULL where the clock went back between, so that the later instant has the
// earlier one: PostgreSQL borrows a month there.
func zonedAge(f *Func, zone string) (*Func, error) {
	loc, err := location(zone)
	if err != nil {
		return nil, err
	}
	z := zoneText(zone)
	order := func(x, y, lx, ly string) string {
		return "isfinite(" + x + ") AND isfinite(" + y + ") AND NOT (" + x + " < " + y + " AND " + lx + " > " + ly + " OR " + x + " > " + y + " AND " + lx + " < " + ly + ")"
	}
	wall := func(x string) string { return "timezone(" + z + ", " + inner(x) + ")" }
	fm := forms{own: "age(timezone(" + z + ", {x}), timezone(" + z + ", {y}))", pg: "CASE WHEN " + order("{x}", "{y}", wall("{x}"), wall("{y}")) + " THEN age(" + wall("{x}") + ", " + wall("{y}") + ") END"}
	if fm.why = zonesOfDuckDB(zone, loc); fm.why == "" {
		fm.duck = "list_transform([" + duckTurned(zone, loc, "{x}", zoned) + "], lambda lx: list_transform([" + duckTurned(zone, loc, "{y}", zoned) + "], lambda ly: CASE WHEN " + order("{x}", "{y}", "lx", "ly") + " THEN age(lx, ly) END)[1])[1]"
	}
	g := row(f.Kind, f.Name, f.Args, f.Result, true, fm)
	g.Zoned = true
	g.Range = func(a []*num.Interval, types []sqltype.Type) *num.Interval {
		if a[0] == nil || a[1] == nil {
			return nil
		}
		return ageRange([]*num.Interval{wider(a[0], 1), wider(a[1], 1)}, types)
	}
	g.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return ageOf(local(v[0].(sqltype.Micros), loc), local(v[1].(sqltype.Micros), loc))
	}
	return g, nil
}
