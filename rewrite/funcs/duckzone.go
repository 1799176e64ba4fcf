package funcs

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// duckZones are the zones whose every change DuckDB's own tables (ICU's) date as the time zone database does that PostgreSQL and this process read;
// made by TestDuckZones, which compares all of them. The others are mostly links that PostgreSQL's packagers give their own years before 1970.
//
//go:embed duckzones.txt
var duckZones string

var duckZoneNames = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for name := range strings.Lines(duckZones) {
		out[strings.TrimSpace(name)] = true
	}
	return out
})

const otherZones = "DuckDB dates changes of some time zones otherwise than PostgreSQL, mostly before 1970"

// zonesOfDuckDB says why a zone is refused on DuckDB; "" where it is not.
func zonesOfDuckDB(zone string, loc *time.Location) string {
	if loc == nil || loc == time.UTC || duckZoneNames()[zone] {
		return ""
	}
	return otherZones
}

// duckTurned is DuckDB's timezone(zone, x), of a timestamp with or without time zone. It raises at the ends of the range (in UTC too: ICU counts milliseconds): there this is NULL.
func duckTurned(zone string, loc *time.Location, x string, of sqltype.OID) string {
	if loc == time.UTC {
		zone = "UTC"
	}
	at := func(m int64) string {
		name := "make_timestamp("
		if of == zoned {
			name = "make_timestamptz("
		}
		return name + strconv.FormatInt(m, 10) + ")"
	}
	first, last := int64(firstMicros+epochSeconds*second+2*microsPerDay), int64(1<<63-1-2*microsPerDay)
	return "CASE WHEN isinf(" + x + ") OR " + x + " BETWEEN " + at(first) + " AND " + at(last) + " THEN timezone(" + quoted(zone) + ", " + x + ") END"
}

// duckShift is DuckDB's sum of the wall clock t in a zone and an interval, in the steps of shiftMicros; x is the instant.
func duckShift(x, op string, iv sqltype.Interval, zone string, loc *time.Location) string {
	let := func(name, value, body string) string {
		return "list_transform([" + value + "], lambda " + name + ": " + body + ")[1]"
	}
	step := func(v, unit string, n int64) string {
		return "TRY(" + v + " " + op + " to_" + unit + "(" + strconv.FormatInt(n, 10) + "))"
	}
	if iv.Months == 0 && iv.Days == 0 {
		return step(x, "microseconds", iv.Micros)
	}
	days := let("d", step("c", "days", int64(iv.Days)), let("e", duckTurned(zone, loc, "d", stamp), step("e", "microseconds", iv.Micros)))
	return let("a", step("t", "months", int64(iv.Months)), let("b", duckTurned(zone, loc, "a", stamp), let("c", duckTurned(zone, loc, "b", zoned), days)))
}
