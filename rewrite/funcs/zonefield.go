package funcs

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// zoneField is extract or date_part of timezone, timezone_hour or timezone_minute: the offset of the session's zone at an instant, to the east. It is
// NULL within two days of the range's ends.
func zoneField(f *Func, unit, zone string, loc *time.Location) *Func {
	part := func(offset, divided string) string {
		return map[string]string{"timezone": offset, "timezone_hour": "(" + offset + divided + "3600)", "timezone_minute": "(" + offset + divided + "60 % 60)"}[unit]
	}
	most := map[string]int64{"timezone": 86400, "timezone_hour": 24, "timezone_minute": 59}[unit]
	exactly := f.Result == numeric
	in := "CASE WHEN {y} BETWEEN '4714-11-26 00:00:00+00 BC' AND '294276-12-29 00:00:00+00' THEN {y} END"
	pg := "CAST(EXTRACT(epoch FROM timezone(" + zoneText(zone) + ", " + in + ") - timezone('UTC', " + in + ")) AS int8)"
	fm := forms{pg: "CAST(" + part(pg, " / ") + " AS " + sqlName(f.Result) + ")"}
	fm.own = fm.pg
	if fm.why = zonesOfDuckDB(zone, loc); fm.why == "" {
		to := "DOUBLE"
		if exactly {
			to = duckDecimal(19, 0)
		}
		fm.duck = "CAST(list_transform([CASE WHEN isfinite({y}) THEN (epoch_us(" + duckTurned(zone, loc, "{y}", zoned) + ") - epoch_us({y})) // 1000000 END], lambda o: " + part("o", " // ") + ")[1] AS " + to + ")"
	}
	g := row(f.Kind, f.Name, f.Args, f.Result, true, fm)
	g.Const, g.Zoned = f.Const, f.Zoned
	return g.within(always(-most, most)).eval(func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		m := v[1].(sqltype.Micros)
		if infinite(m) {
			return nil, nil
		}
		east := int64(local(m, loc)-m) / second
		switch unit {
		case "timezone_hour":
			east /= 3600
		case "timezone_minute":
			east = east / 60 % 60
		}
		if exactly {
			return decimal.NewFromInt(east), nil
		}
		return float64(east), nil
	})
}
