package funcs

import (
	"strconv"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// precisions are the casts of times to their own type with a modifier: timestamp(3), interval day to minute.
func precisions() []*Func {
	var out []*Func
	for _, t := range []sqltype.OID{stamp, zoned, clock, span} {
		f := &Func{Name: "cast", Kind: Cast, Args: oids(t), Result: t, MayBeNull: t == stamp || t == zoned || t == span}
		f.TotalForm = Forms{Postgres: func(x []string, _ []sqltype.Type, to sqltype.Type) string {
			return pgFill("CAST("+cutOff(t)+" AS "+to.String()+")", x)
		}}
		f.RaisingForm = Forms{Postgres: func(x []string, _ []sqltype.Type, to sqltype.Type) string {
			return "CAST(" + x[0] + " AS " + to.String() + ")"
		}}
		if t == span {
			f.refuse(DuckDB, "DuckDB's intervals have no modifiers")
		} else {
			f.TotalForm[DuckDB] = func(x []string, _ []sqltype.Type, to sqltype.Type) string {
				if p, ok := to.Precision(); ok {
					return duckFill(duckRounded(t, p), x)
				}
				return x[0]
			}
			f.RaisingForm[DuckDB] = f.TotalForm[DuckDB]
		}
		out = append(out, f.eval(func(v []sqltype.Value, _ []sqltype.Type, to sqltype.Type) (sqltype.Value, error) {
			if m, ok := v[0].(sqltype.Micros); ok && infinite(m) {
				return m, nil
			}
			out, err := sqltype.ParseText(sqltype.FormatText(v[0], sqltype.Type{OID: t, Typmod: -1}), to) // reading rounds as the cast does
			if m, ok := out.(sqltype.Micros); ok && sideOf(m) != 0 {
				return nil, stampRange()
			}
			return out, err
		}))
	}
	return out
}

// cutOff leaves values out that a modifier could round out of the type.
func cutOff(t sqltype.OID) string {
	switch t {
	case stamp, zoned:
		return "CASE WHEN {x} < '294276-12-31 00:00:00+00' OR {x} = 'infinity' THEN {x} END"
	case span:
		return "CASE WHEN abs(" + spanTime("{x}") + ") < 9223372036000000000 THEN {x} END"
	}
	return "{x}"
}

// duckRounded rounds microseconds from PostgreSQL's epoch (or midnight), halves away from it.
func duckRounded(t sqltype.OID, p int) string {
	unit := int64(1)
	for range 6 - p {
		unit *= 10
	}
	round := func(n string) string {
		half, whole := strconv.FormatInt(unit/2, 10), strconv.FormatInt(unit, 10)
		return "(CASE WHEN " + n + " >= 0 THEN (" + n + " + " + half + ") // " + whole + " ELSE -((" + half + " - " + n + ") // " + whole + ") END * " + whole + ")"
	}
	epoch := strconv.FormatInt(epochSeconds*second, 10)
	switch {
	case unit == 1:
		return "{x}"
	case t == clock:
		return "list_transform([" + round("epoch_us({x})") + "], lambda n: CASE WHEN n = 86400000000 THEN CAST('24:00:00' AS TIME) ELSE CAST(make_timestamp(n) AS TIME) END)[1]"
	}
	make := "make_timestamp("
	if t == zoned {
		make = "make_timestamptz("
	}
	within := make + strconv.FormatInt(firstMicros+epochSeconds*second, 10) + ") AND " + make + strconv.FormatInt(1<<63-1-second, 10) + ")" // NULL where DuckDB's sums would overflow
	return "CASE WHEN isinf({x}) THEN {x} WHEN {x} BETWEEN " + within + " THEN list_transform([epoch_us({x}) - " + epoch + "], lambda n: " + make + round("n") + " + " + epoch + "))[1] END"
}
