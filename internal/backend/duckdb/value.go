package duckdb

import (
	"fmt"
	"math/big"
	"time"

	driver "github.com/duckdb/duckdb-go/v2"
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// PostgreSQL counts from 2000-01-01, DuckDB from 1970-01-01. Its range is the smaller one at both ends for dates and at
// the far past for timestamps; what lies beyond reads as an infinity, so that no stored value can make a read fail.
const (
	epochDays   = 10957
	epochMicros = epochDays * 86_400_000_000

	infDays   = sqltype.Days(1<<31 - 1)
	ninfDays  = sqltype.Days(-1 << 31)
	infMicro  = sqltype.Micros(1<<63 - 1)
	ninfMicro = sqltype.Micros(-1 << 63)

	minDays, endDays = -2451545, 2145031949 // 4714-11-24 BC; the day after 5874897-12-31
	minMicros        = minDays * 86_400_000_000
	endMicro         = sqltype.Micros(106741025 * 86_400_000_000) // 294247-01-01

	duckInfDays   = 1<<31 - 1
	duckInfMicros = 1<<63 - 1
)

// convert gives a driver's value as the wanted type's; its errors name types only.
func convert(v any, want sqltype.Type) (sqltype.Value, error) {
	if v == nil {
		return nil, nil
	}
	switch want.OID {
	case sqltype.OIDBool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDOid:
		if n, ok := integer(v); ok && n.IsInt64() {
			return n.Int64(), nil
		}
	case sqltype.OIDFloat4, sqltype.OIDFloat8:
		switch f := v.(type) {
		case float64:
			return f, nil
		case float32:
			return float64(f), nil
		}
	case sqltype.OIDNumeric:
		if d, ok := v.(driver.Decimal); ok {
			return decimal.NewFromBigInt(d.Value, -int32(d.Scale)), nil
		}
		if n, ok := integer(v); ok {
			return decimal.NewFromBigInt(n, 0), nil
		}
	case sqltype.OIDText, sqltype.OIDVarchar, sqltype.OIDBPChar, sqltype.OIDName, sqltype.OIDUnknown:
		if s, ok := v.(string); ok {
			return s, nil
		}
	case sqltype.OIDDate:
		if t, ok := v.(time.Time); ok {
			return days(t), nil
		}
	case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		if t, ok := v.(time.Time); ok {
			return micros(t), nil
		}
	case sqltype.OIDTime:
		if t, ok := v.(time.Time); ok {
			return sqltype.Clock(clock(t)), nil
		}
	case sqltype.OIDTimetz:
		if t, ok := v.(time.Time); ok {
			_, east := t.Zone()
			return sqltype.ClockTZ{Micros: clock(t), Zone: int32(-east)}, nil
		}
	case sqltype.OIDInterval:
		if i, ok := v.(driver.Interval); ok {
			return sqltype.Interval{Months: i.Months, Days: i.Days, Micros: i.Micros}, nil
		}
	case sqltype.OIDUUID:
		if b, ok := v.([]byte); ok && len(b) == 16 {
			return sqltype.UUID(b), nil
		}
	case sqltype.OIDBytea:
		if b, ok := v.([]byte); ok {
			return sqltype.Bytes(b), nil
		}
	default:
		if s, ok := v.(string); ok && want.IsEnum() {
			return s, nil
		}
		if list, ok := v.([]any); ok && want.IsArray() {
			return array(list, want)
		}
	}
	return nil, fmt.Errorf("a Go %T cannot be read as %s", v, want)
}

// array is a list as an array of one dimension, from 1 on.
func array(list []any, want sqltype.Type) (sqltype.Value, error) {
	elem, _ := want.Elem()
	out := &sqltype.Array{Dims: []int32{int32(len(list))}, Lower: []int32{1}, Values: make([]sqltype.Value, len(list))} //nolint:gosec // DuckDB's lists are shorter
	for i, v := range list {
		var err error
		if out.Values[i], err = convert(v, elem); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func integer(v any) (*big.Int, bool) {
	switch n := v.(type) {
	case int64:
		return big.NewInt(n), true
	case int32:
		return big.NewInt(int64(n)), true
	case int16:
		return big.NewInt(int64(n)), true
	case int8:
		return big.NewInt(int64(n)), true
	case *big.Int:
		return n, true
	}
	return nil, false
}

func days(t time.Time) sqltype.Days {
	const daySeconds = 86400
	d := t.Unix() / daySeconds // midnight in UTC: exact
	switch d -= epochDays; {
	case d < minDays:
		return ninfDays
	case d >= endDays:
		return infDays
	}
	return sqltype.Days(d)
}

func micros(t time.Time) sqltype.Micros {
	switch m := t.UnixMicro(); {
	case m == duckInfMicros:
		return infMicro
	case m < minMicros+epochMicros:
		return ninfMicro
	default:
		return sqltype.Micros(m - epochMicros)
	}
}

// clock is a time of day, which the driver gives on the first day of year 1; 24:00 with an offset is on the second. Without one
// it cannot be told from 00:00: nothing that is printed returns it.
func clock(t time.Time) int64 {
	day := int64(t.Day() - 1)
	h, m, s := t.Clock()
	return ((day*24+int64(h))*3600+int64(m)*60+int64(s))*1e6 + int64(t.Nanosecond()/1000)
}

// clockTime is what the driver takes for a time of day.
func clockTime(micros int64, east int) time.Time {
	return time.Date(1970, time.January, 1, 0, 0, 0, 0, time.FixedZone("", east)).Add(time.Duration(micros) * time.Microsecond)
}

// bind gives a parameter to the driver with its type, which must not be guessed from the Go value.
func bind(a backend.Arg) (any, error) {
	t, ok := bindTypes[a.Type.OID]
	if a.Type.IsEnum() {
		t, ok = driver.TYPE_VARCHAR, true // the SQL casts it
	}
	if !ok {
		return nil, fmt.Errorf("a parameter of type %s cannot be bound", a.Type)
	}
	switch v := a.Value.(type) {
	case nil:
		return nil, nil
	case decimal.Decimal:
		if t == driver.TYPE_VARCHAR {
			return v.String(), nil
		}
	case sqltype.Days:
		if t == driver.TYPE_DATE {
			return driver.Typed(date(v), t), nil
		}
	case sqltype.Micros:
		if t == driver.TYPE_TIMESTAMP || t == driver.TYPE_TIMESTAMP_TZ {
			return timestamp(v, t), nil
		}
	case sqltype.Clock:
		if t == driver.TYPE_TIME && v < 86_400_000_000 {
			return driver.Typed(clockTime(int64(v), 0), t), nil
		}
		if t == driver.TYPE_TIME { // the driver would give 00:00
			return driver.Typed("24:00:00", driver.TYPE_VARCHAR), nil
		}
	case sqltype.ClockTZ:
		if t == driver.TYPE_TIME_TZ {
			return driver.Typed(sqltype.FormatText(v, sqltype.Timetz), driver.TYPE_VARCHAR), nil
		}
	case sqltype.Interval:
		if t == driver.TYPE_INTERVAL {
			return driver.Typed(driver.Interval{Months: v.Months, Days: v.Days, Micros: v.Micros}, t), nil
		}
	case sqltype.UUID:
		if a.Type.OID == sqltype.OIDUUID {
			return driver.Typed(sqltype.FormatText(v, sqltype.UUIDType), t), nil
		}
	case sqltype.Bytes:
		if t == driver.TYPE_BLOB {
			return []byte(v), nil
		}
	default:
		return driver.Typed(v, t), nil // the driver refuses a Go type that is not the SQL type's
	}
	return nil, fmt.Errorf("a Go %T is no value of type %s", a.Value, a.Type)
}

var bindTypes = map[sqltype.OID]driver.Type{
	sqltype.OIDBool: driver.TYPE_BOOLEAN, sqltype.OIDInt2: driver.TYPE_SMALLINT, sqltype.OIDInt4: driver.TYPE_INTEGER,
	sqltype.OIDInt8: driver.TYPE_BIGINT, sqltype.OIDOid: driver.TYPE_BIGINT, sqltype.OIDFloat4: driver.TYPE_FLOAT, sqltype.OIDFloat8: driver.TYPE_DOUBLE,
	sqltype.OIDNumeric: driver.TYPE_VARCHAR, sqltype.OIDText: driver.TYPE_VARCHAR, sqltype.OIDVarchar: driver.TYPE_VARCHAR,
	sqltype.OIDBPChar: driver.TYPE_VARCHAR, sqltype.OIDName: driver.TYPE_VARCHAR, sqltype.OIDUnknown: driver.TYPE_VARCHAR,
	sqltype.OIDDate: driver.TYPE_DATE, sqltype.OIDTimestamp: driver.TYPE_TIMESTAMP, sqltype.OIDTimestamptz: driver.TYPE_TIMESTAMP_TZ,
	sqltype.OIDTime: driver.TYPE_TIME, sqltype.OIDTimetz: driver.TYPE_TIME_TZ, sqltype.OIDInterval: driver.TYPE_INTERVAL, sqltype.OIDBytea: driver.TYPE_BLOB,
	sqltype.OIDUUID: driver.TYPE_VARCHAR, // which the SQL casts
}

// date gives DuckDB's infinities for PostgreSQL's.
func date(d sqltype.Days) time.Time {
	n := int64(d) + epochDays
	switch d {
	case infDays:
		n = duckInfDays
	case ninfDays:
		n = -duckInfDays
	}
	return time.Unix(n*86400, 0).UTC()
}

func timestamp(m sqltype.Micros, t driver.Type) any {
	switch {
	case m == ninfMicro:
		return driver.Typed("-infinity", driver.TYPE_VARCHAR)
	case m >= endMicro: // infinity, and what the driver cannot hold; it takes infinities as text only
		return driver.Typed("infinity", driver.TYPE_VARCHAR)
	}
	return driver.Typed(time.UnixMicro(int64(m)+epochMicros).UTC(), t)
}
