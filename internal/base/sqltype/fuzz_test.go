package sqltype_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// fuzzTypes are all types, some with modifiers.
var fuzzTypes = []sqltype.Type{sqltype.Bool, charT, sqltype.Name, sqltype.Int8, sqltype.Int2, sqltype.Int4, sqltype.Text, oidType, sqltype.Float4, sqltype.Float8,
	sqltype.Unknown, sqltype.BPChar, bpchar, sqltype.Varchar, varchar, sqltype.Date, sqltype.Timestamp, tsTZ, {OID: sqltype.OIDInterval, Typmod: -1},
	sqltype.Numeric, sqltype.NumericOf(5, 2), sqltype.NumericOf(38, 0), sqltype.NumericOf(3, -2), sqltype.NumericOf(1000, 1000), {OID: 600, Typmod: -1},
	sqltype.Time, sqltype.Timetz, {OID: sqltype.OIDTimestamptz, Typmod: 2}, sqltype.IntervalOf(0, 3), sqltype.IntervalOf(sqltype.FieldDay|sqltype.FieldHour, -1), sqltype.Bytea,
	sqltype.UUIDType, sqltype.JSONType, sqltype.JSONBType, mustArray(sqltype.Int4), mustArray(sqltype.Text), mustArray(sqltype.JSONBType), mustArray(sqltype.Timestamptz),
	sqltype.EnumType(sqltype.Enum{OID: 90000, Array: 90001, Name: "mood", Labels: []string{"sad", "", "ok"}})}

// fuzzSettings are settings under which texts are read and written; each can be read again under itself.
var fuzzSettings = func() []sqltype.Settings {
	var out []sqltype.Settings
	for i, name := range []string{"UTC", "Europe/Berlin", "America/St_Johns", "<+03>-3"} {
		z, _ := sqltype.LookupZone(name)
		out = append(out, sqltype.Settings{Zone: z, DateOrder: sqltype.DateOrder(i % 3), IntervalStyle: sqltype.IntervalStyle(i % 2 * 3), ByteaEscape: i > 1})
	}
	return out
}()

// FuzzDecode: any bytes in either form are a value or one of PostgreSQL's errors; what is read is written, in both forms, so that it
// reads back as the same value, spelled alike.
func FuzzDecode(f *testing.F) {
	for i := range fuzzTypes {
		for _, in := range inputs {
			if in.t.OID == fuzzTypes[i].OID {
				for _, text := range in.texts {
					f.Add(uint8(i), false, []byte(text))
				}
			}
		}
		for _, in := range settingTexts {
			if in.t.OID == fuzzTypes[i].OID {
				for j, text := range in.texts {
					f.Add(uint8(i+j%len(fuzzSettings)*len(fuzzTypes)), false, []byte(text))
				}
			}
		}
		if fuzzTypes[i].IsArray() {
			for _, text := range arrayTexts {
				f.Add(uint8(i), false, []byte(text))
			}
		}
	}
	f.Add(uint8(19), true, []byte("\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Add(uint8(19), true, []byte("\x00\x01\x7f\xff\x40\x00\x3f\xff\x27\x0f"))
	f.Add(uint8(20), true, []byte("\x00\x02\x00\x00\x40\x00\x00\x03\x03\xe7\x27\x0f"))
	f.Add(uint8(6), true, []byte("\xed\xa0\x80"))
	f.Add(uint8(8), true, []byte("\x7f\x80\x00\x01"))
	f.Add(uint8(15), true, []byte("\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, which uint8, isBinary bool, src []byte) {
		typ, format := fuzzTypes[int(which)%len(fuzzTypes)], sqltype.TextFormat
		if isBinary {
			format = sqltype.BinaryFormat
		}
		set := &fuzzSettings[int(which)/len(fuzzTypes)%len(fuzzSettings)]
		v, err := set.Decode(src, typ, format)
		if err != nil {
			var e *sqlerr.Error
			if !errors.As(err, &e) || len(e.Code) != 5 || e.Message == "" || e.Code == "XX000" {
				t.Fatalf("%s: %q: %#v", typ, src, err)
			}
			return
		}
		roundTrip(t, set, v, typ)
	})
}

// FuzzValue: every value of every type is written and reads back, in both forms.
func FuzzValue(f *testing.F) {
	for i := range fuzzTypes {
		f.Add(uint8(i), int64(0), []byte(""))
		f.Add(uint8(i), int64(math.MinInt64), []byte("a b\xffc "))
		f.Add(uint8(i), int64(-1), []byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11"))
		f.Add(uint8(i), int64(math.MaxInt64), []byte("Größe"))
	}
	f.Fuzz(func(t *testing.T, which uint8, n int64, raw []byte) {
		typ := fuzzTypes[int(which)%len(fuzzTypes)]
		if v := valueOf(typ, n, raw); v != nil {
			roundTrip(t, &fuzzSettings[int(which)/len(fuzzTypes)%len(fuzzSettings)], v, typ)
			kept(t, v, typ)
		}
	})
}

// kept: what AppendValue writes is the very value again, and no part of it is one.
func kept(t *testing.T, v sqltype.Value, typ sqltype.Type) {
	t.Helper()
	whole := sqltype.AppendValue(nil, v)
	back, rest, err := sqltype.ReadValue(append(whole[:len(whole):len(whole)], "rest"...))
	if err != nil || string(rest) != "rest" || !bytes.Equal(sqltype.AppendValue(nil, back), whole) || reflect.TypeOf(back) != reflect.TypeOf(v) || sqltype.FormatText(back, typ) != sqltype.FormatText(v, typ) {
		t.Fatalf("%#v is read as %#v, rest %q: %v", v, back, rest, err)
	}
	for n := range whole {
		if v, rest, err := sqltype.ReadValue(whole[:n]); err == nil {
			t.Fatalf("%d bytes of %x are %#v and %x", n, whole, v, rest)
		}
	}
}

// valueOf makes a value of a type from a number and some bytes; nil if there is none of them.
func valueOf(typ sqltype.Type, n int64, raw []byte) sqltype.Value {
	var bits [8]byte
	binary.BigEndian.PutUint64(bits[:], uint64(n))
	text := strings.ReplaceAll(strings.ToValidUTF8(string(raw), "\u00e9"), "\x00", "")
	switch typ.OID {
	case sqltype.OIDBool:
		return n&1 == 1
	case sqltype.OIDInt2:
		return int64(int16(n))
	case sqltype.OIDInt4:
		return int64(int32(n))
	case sqltype.OIDInt8:
		return n
	case sqltype.OIDOid:
		return int64(uint32(n))
	case sqltype.OIDFloat4:
		return float64(math.Float32frombits(uint32(n)))
	case sqltype.OIDFloat8:
		return math.Float64frombits(uint64(n))
	case sqltype.OIDNumeric:
		return numericOf(typ, n, raw)
	case sqltype.OIDDate:
		if d := sqltype.Days(int32(n)); d >= -2451545 && d < 2147483494-2451545 || d == sqltype.DateInfinity || d == sqltype.DateMinusInfinity {
			return d
		}
	case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		if m := sqltype.Micros(n); typ.Typmod >= 0 {
			return nil
		} else if m >= -211813488000000000 && m < 9223371331200000000 || m == sqltype.InstantInfinity || m == sqltype.InstantMinusInfinity {
			return m
		}
	case sqltype.OIDTime:
		return sqltype.Clock(uint64(n) % (86400e6 + 1))
	case sqltype.OIDTimetz:
		return sqltype.ClockTZ{Micros: int64(uint64(n) % (86400e6 + 1)), Zone: int32(n>>40) % 57600}
	case sqltype.OIDInterval:
		if typ.Typmod < 0 {
			return sqltype.Interval{Months: int32(n), Days: int32(n >> 32), Micros: n * 7919}
		}
	case sqltype.OIDBytea:
		return sqltype.Bytes(raw)
	case sqltype.OIDUUID:
		var u sqltype.UUID
		copy(u[:], raw)
		return u
	case sqltype.OIDText, sqltype.OIDUnknown:
		return text
	case sqltype.OIDName:
		for len(text) > 63 {
			_, size := utf8.DecodeLastRuneInString(text)
			text = text[:len(text)-size]
		}
		return text
	case sqltype.OIDVarchar, sqltype.OIDBPChar:
		limit := int(typ.Typmod) - 4
		if limit < 0 {
			return text
		}
		runes := []rune(text)
		runes = runes[:min(len(runes), limit)]
		if typ.OID == sqltype.OIDBPChar {
			return string(runes) + strings.Repeat(" ", limit-len(runes))
		}
		return string(runes)
	case sqltype.OIDChar:
		if n&0x7f == 0 {
			return ""
		}
		return string(rune(n & 0x7f))
	}
	return nil
}

func numericOf(typ sqltype.Type, n int64, raw []byte) sqltype.Value {
	coefficient := new(big.Int).SetBytes(raw)
	if n < 0 {
		coefficient.Neg(coefficient)
	}
	precision, scale, ok := typ.NumericMod()
	if !ok {
		precision, scale = 131072, int(uint64(n)%16384)
	}
	if len(coefficient.Text(10)) > min(precision, precision-scale+max(scale, 0)) {
		return nil
	}
	if scale < 0 { // kept whole
		return decimal.NewFromBigInt(coefficient.Mul(coefficient, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-scale)), nil)), 0)
	}
	return decimal.NewFromBigInt(coefficient, int32(-scale))
}

func roundTrip(t *testing.T, set *sqltype.Settings, v sqltype.Value, typ sqltype.Type) {
	t.Helper()
	if i, ok := v.(sqltype.Interval); ok && i.Micros == math.MinInt64 { // PostgreSQL cannot read what it writes either
		return
	}
	spelled := set.FormatText(v, typ)
	for _, format := range []int16{sqltype.TextFormat, sqltype.BinaryFormat} {
		raw, err := set.Encode(v, typ, format, []byte("before"))
		if err != nil || !strings.HasPrefix(string(raw), "before") {
			t.Fatalf("%s: %v (%q) is not written in form %d: %q, %v", typ, v, spelled, format, raw, err)
		}
		raw = raw[len("before"):]
		if format == sqltype.TextFormat && string(raw) != spelled {
			t.Fatalf("%s: written as %q and as %q", typ, raw, spelled)
		}
		back, err := set.Decode(raw, typ, format)
		if err == nil && typ.OID == sqltype.OIDJSON && back == v { // no order
			continue
		}
		if err != nil || sqltype.CompareAs(v, back, typ) != 0 || set.FormatText(back, typ) != spelled {
			t.Fatalf("%s: %q in form %d is %q, and reads as %v: %v", typ, spelled, format, raw, back, err)
		}
	}
}
