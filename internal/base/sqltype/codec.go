package sqltype

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// Encode appends the wire form of a value that is not NULL to dst. An error says that the value is not of the type, which is
// the caller's fault; it does not hold the value.
func Encode(v Value, t Type, format int16, dst []byte) ([]byte, error) {
	return defaults.Encode(v, t, format, dst)
}

// Encode is Encode with the session's settings.
func (s *Settings) Encode(v Value, t Type, format int16, dst []byte) ([]byte, error) {
	switch format {
	case TextFormat:
		return s.appendText(dst, v, t)
	case BinaryFormat:
		return appendBinary(dst, v, t)
	}
	return dst, fmt.Errorf("sqltype: format code %d", format)
}

// Decode reads a parameter that is not NULL. The value holds no part of src. Errors are PostgreSQL's own, as *sqlerr.Error.
func Decode(src []byte, t Type, format int16) (Value, error) { return defaults.Decode(src, t, format) }

// Decode is Decode with the session's settings.
func (s *Settings) Decode(src []byte, t Type, format int16) (Value, error) {
	switch format {
	case TextFormat:
		if err := ValidText(src); err != nil {
			return nil, err
		}
		return s.ParseText(string(src), t)
	case BinaryFormat:
		return s.decodeBinary(src, t)
	}
	return nil, sqlerr.New(sqlerr.InvalidParam, "unsupported format code: %d", format)
}

func appendBinary(dst []byte, v Value, t Type) ([]byte, error) {
	be := binary.BigEndian
	switch x := v.(type) {
	case bool:
		if t.OID == OIDBool {
			if x {
				return append(dst, 1), nil
			}
			return append(dst, 0), nil
		}
	case int64:
		if !fits(x, t) {
			break
		}
		switch t.OID {
		case OIDInt2:
			return be.AppendUint16(dst, uint16(x)), nil
		case OIDInt8:
			return be.AppendUint64(dst, uint64(x)), nil
		}
		return be.AppendUint32(dst, uint32(x)), nil
	case Named:
		if t.IsReg() {
			return appendNamed(dst, x, BinaryFormat), nil
		}
	case float64:
		if math.IsNaN(x) { // there is one NaN: its bits carry nothing
			x = math.Float64frombits(0x7ff8000000000000)
		}
		switch t.OID {
		case OIDFloat4:
			return be.AppendUint32(dst, math.Float32bits(float32(x))), nil
		case OIDFloat8:
			return be.AppendUint64(dst, math.Float64bits(x)), nil
		}
	case decimal.Decimal:
		if t.OID == OIDNumeric {
			return appendNumericBinary(dst, x)
		}
	case string: // for every string type the binary form is the text
		if t.OID == OIDInet {
			return appendInetBinary(dst, x)
		}
		if x == "" && t.OID == OIDChar {
			return append(dst, 0), nil
		}
		return defaults.appendText(dst, v, t)
	case Days:
		if t.OID == OIDDate {
			return be.AppendUint32(dst, uint32(x)), nil
		}
	case Micros:
		if t.OID == OIDTimestamp || t.OID == OIDTimestamptz {
			return be.AppendUint64(dst, uint64(x)), nil
		}
	case Clock:
		if t.OID == OIDTime {
			return be.AppendUint64(dst, uint64(x)), nil
		}
	case ClockTZ:
		if t.OID == OIDTimetz {
			return be.AppendUint32(be.AppendUint64(dst, uint64(x.Micros)), uint32(x.Zone)), nil
		}
	case Interval:
		if t.OID == OIDInterval {
			return be.AppendUint32(be.AppendUint32(be.AppendUint64(dst, uint64(x.Micros)), uint32(x.Days)), uint32(x.Months)), nil
		}
	case UUID:
		if t.OID == OIDUUID {
			return append(dst, x[:]...), nil
		}
	case Bytes:
		if t.OID == OIDBytea {
			return append(dst, x...), nil
		}
	case JSON:
		switch t.OID {
		case OIDJSON:
			return append(dst, x...), nil
		case OIDJSONB:
			return append(append(dst, jsonbVersion), x...), nil
		}
	case *Array:
		if elem, ok := t.Elem(); ok && x != nil && x.Elem == elem.OID {
			return appendArrayBinary(dst, x, elem)
		}
	}
	return dst, notOfType(v, t)
}

// jsonbVersion is the first byte of a jsonb's binary form.
const jsonbVersion = 1

func (s *Settings) decodeBinary(src []byte, t Type) (Value, error) {
	be := binary.BigEndian
	if n := t.wireLen(); n > 0 && len(src) != n {
		return nil, badLength(len(src), n, t)
	}
	switch t.OID {
	case OIDBool:
		return src[0] != 0, nil
	case OIDInt2:
		return int64(int16(be.Uint16(src))), nil
	case OIDInt4:
		return int64(int32(be.Uint32(src))), nil
	case OIDInt8:
		return int64(be.Uint64(src)), nil
	case OIDFloat4:
		return float64(math.Float32frombits(be.Uint32(src))), nil
	case OIDFloat8:
		return math.Float64frombits(be.Uint64(src)), nil
	case OIDNumeric:
		return decodeNumericBinary(src, t)
	case OIDDate:
		d := Days(be.Uint32(src))
		if !d.valid() {
			return nil, sqlerr.New(sqlerr.DatetimeRange, "date out of range")
		}
		return d, nil
	case OIDTimestamp, OIDTimestamptz:
		m := Micros(be.Uint64(src))
		if !m.valid() {
			return nil, sqlerr.New(sqlerr.DatetimeRange, "timestamp out of range")
		}
		if m != InstantInfinity && m != InstantMinusInfinity {
			m = Micros(roundMicros(int64(m), t))
		}
		return m, nil
	case OIDTime:
		c := Clock(be.Uint64(src))
		if !c.valid() {
			return nil, sqlerr.New(sqlerr.DatetimeRange, "time out of range")
		}
		return Clock(roundMicros(int64(c), t)), nil
	case OIDTimetz:
		c := ClockTZ{int64(be.Uint64(src)), int32(be.Uint32(src[8:]))}
		if !Clock(c.Micros).valid() {
			return nil, sqlerr.New(sqlerr.DatetimeRange, "time out of range")
		}
		if !c.valid() {
			return nil, sqlerr.New(sqlerr.TimeZoneRange, "time zone displacement out of range")
		}
		c.Micros = roundMicros(c.Micros, t)
		return c, nil
	case OIDInterval:
		return Interval{int32(be.Uint32(src[12:])), int32(be.Uint32(src[8:])), int64(be.Uint64(src))}.limit(t), nil
	case OIDUUID:
		return UUID(src), nil
	case OIDBytea:
		return Bytes(src), nil
	case OIDJSONB:
		if len(src) == 0 {
			return nil, cutShort()
		}
		if src[0] != jsonbVersion { // PostgreSQL calls it an internal error, which it is not
			return nil, sqlerr.New(sqlerr.InvalidBinary, "unsupported jsonb version number %d", src[0])
		}
		return s.Decode(src[1:], t, TextFormat)
	case OIDJSON:
		return s.Decode(src, t, TextFormat)
	case OIDName:
		if len(src) > nameLen {
			return nil, sqlerr.New(sqlerr.TooLong, "identifier too long").
				WithDetail("Identifier must be less than %d characters.", nameLen+1)
		}
	}
	if t.OID == OIDChar && src[0] == 0 {
		return "", nil
	}
	switch {
	case t.IsObject():
		return int64(be.Uint32(src)), nil
	case t.IsArray():
		return s.decodeArrayBinary(src, t)
	}
	if t.IsString() || t.OID == OIDChar || t.IsEnum() {
		return s.Decode(src, t, TextFormat)
	}
	return nil, notReadable(t)
}

func appendNamed(dst []byte, x Named, format int16) []byte {
	if format == BinaryFormat {
		return binary.BigEndian.AppendUint32(dst, x.OID)
	}
	return append(dst, x.Name...)
}
