package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

const firstUserOID = 16384 // PostgreSQL's FirstNormalObjectId

const binaryFormat = 1

// decoder reads one non-NULL value in PostgreSQL's binary form. Its errors hold no value.
type decoder func([]byte) (sqltype.Value, error)

// decoders checks the answer's columns against the wanted types before a row is read, so that whether a statement fits
// does not depend on rows.
func decoders(fields []pgconn.FieldDescription, want []sqltype.Type) ([]decoder, error) {
	if len(fields) != len(want) {
		return nil, fmt.Errorf("postgres: %d columns came, %d were wanted", len(fields), len(want))
	}
	out := make([]decoder, len(want))
	for i, f := range fields {
		got := sqltype.Type{OID: sqltype.OID(f.DataTypeOID), Typmod: f.TypeModifier}
		if out[i] = decoderFor(got, want[i]); out[i] == nil {
			return nil, fmt.Errorf("postgres: column %d is %s and cannot be read as %s", i+1, got, want[i])
		}
	}
	return out, nil
}

func decoderFor(got, want sqltype.Type) decoder {
	integral := got.IsInteger() || got.OID == sqltype.OIDOid
	switch want.OID {
	case sqltype.OIDBool:
		if got.OID == sqltype.OIDBool {
			return decodeBool
		}
	case sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDOid:
		switch {
		case integral:
			return integer(got.OID)
		case got.OID == sqltype.OIDNumeric:
			return decodeNumericInteger
		}
	case sqltype.OIDFloat4, sqltype.OIDFloat8:
		switch got.OID {
		case sqltype.OIDFloat4:
			return decodeFloat4
		case sqltype.OIDFloat8:
			return decodeFloat8
		}
	case sqltype.OIDNumeric:
		switch {
		case got.OID == sqltype.OIDNumeric:
			return func(b []byte) (sqltype.Value, error) { return decodeNumeric(b) }
		case integral:
			read := integer(got.OID)
			return func(b []byte) (sqltype.Value, error) {
				v, err := read(b)
				if err != nil {
					return nil, err
				}
				return decimal.New(v.(int64), 0), nil
			}
		}
	case sqltype.OIDText, sqltype.OIDVarchar, sqltype.OIDBPChar, sqltype.OIDName, sqltype.OIDUnknown:
		if got.IsString() {
			return func(b []byte) (sqltype.Value, error) { return string(b), nil }
		}
	case sqltype.OIDDate:
		if got.OID == sqltype.OIDDate {
			return decodeDate
		}
	case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		if got.OID == sqltype.OIDTimestamp || got.OID == sqltype.OIDTimestamptz {
			return decodeTimestamp
		}
	default:
		if got.OID == want.OID || want.IsEnum() && got.OID >= firstUserOID { // made anew, it has another number
			return ownDecoder(want)
		}
	}
	return nil
}

// ownDecoder reads the types that no other is read as. Documents and labels are taken as they are: whether a read fails must not
// depend on what they hold.
func ownDecoder(t sqltype.Type) decoder {
	switch {
	case t.OID == sqltype.OIDTime, t.OID == sqltype.OIDTimetz, t.OID == sqltype.OIDInterval, t.OID == sqltype.OIDUUID, t.OID == sqltype.OIDBytea:
		bare := sqltype.Type{OID: t.OID, Typmod: -1}
		return func(b []byte) (sqltype.Value, error) {
			v, err := sqltype.Decode(b, bare, sqltype.BinaryFormat)
			if err != nil {
				return nil, errLength
			}
			return v, nil
		}
	case t.OID == sqltype.OIDJSON:
		return func(b []byte) (sqltype.Value, error) { return sqltype.JSON(b), nil }
	case t.OID == sqltype.OIDJSONB:
		return func(b []byte) (sqltype.Value, error) {
			if len(b) == 0 || b[0] != 1 {
				return nil, errLength
			}
			return sqltype.JSON(b[1:]), nil
		}
	case t.IsEnum(), t.OID == sqltype.OIDChar:
		return func(b []byte) (sqltype.Value, error) { return strings.TrimRight(string(b), "\x00"), nil }
	case t.IsArray():
		return arrayDecoder(t)
	}
	return nil
}

// arrayDecoder reads an array by its elements' decoder.
func arrayDecoder(t sqltype.Type) decoder {
	elem, _ := t.Elem()
	read := decoderFor(elem, elem)
	if read == nil {
		return nil
	}
	return func(b []byte) (sqltype.Value, error) {
		be := binary.BigEndian
		if len(b) < 12 || sqltype.OID(be.Uint32(b[8:])) != elem.OID {
			return nil, errLength
		}
		a := &sqltype.Array{Elem: elem.OID}
		dims := int(be.Uint32(b))
		b = b[12:]
		if dims > len(b)/8 {
			return nil, errLength
		}
		for range dims {
			a.Dims, a.Lower = append(a.Dims, int32(be.Uint32(b))), append(a.Lower, int32(be.Uint32(b[4:])))
			b = b[8:]
		}
		for len(b) > 0 {
			if len(b) < 4 {
				return nil, errLength
			}
			n := int(int32(be.Uint32(b)))
			if b = b[4:]; n < 0 {
				a.Values = append(a.Values, nil)
				continue
			}
			if n > len(b) {
				return nil, errLength
			}
			v, err := read(b[:n])
			if err != nil {
				return nil, err
			}
			a.Values, b = append(a.Values, v), b[n:]
		}
		return a, nil
	}
}

var errLength = errors.New("a value of the wrong length")

func decodeBool(b []byte) (sqltype.Value, error) {
	if len(b) != 1 {
		return nil, errLength
	}
	return b[0] != 0, nil
}

func integer(oid sqltype.OID) decoder {
	return func(b []byte) (sqltype.Value, error) {
		switch {
		case oid == sqltype.OIDInt2 && len(b) == 2:
			return int64(int16(binary.BigEndian.Uint16(b))), nil
		case oid == sqltype.OIDInt4 && len(b) == 4:
			return int64(int32(binary.BigEndian.Uint32(b))), nil
		case oid == sqltype.OIDOid && len(b) == 4:
			return int64(binary.BigEndian.Uint32(b)), nil
		case oid == sqltype.OIDInt8 && len(b) == 8:
			return int64(binary.BigEndian.Uint64(b)), nil
		}
		return nil, errLength
	}
}

func decodeFloat4(b []byte) (sqltype.Value, error) {
	if len(b) != 4 {
		return nil, errLength
	}
	return float64(math.Float32frombits(binary.BigEndian.Uint32(b))), nil
}

func decodeFloat8(b []byte) (sqltype.Value, error) {
	if len(b) != 8 {
		return nil, errLength
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
}

func decodeDate(b []byte) (sqltype.Value, error) {
	if len(b) != 4 {
		return nil, errLength
	}
	return sqltype.Days(binary.BigEndian.Uint32(b)), nil
}

func decodeTimestamp(b []byte) (sqltype.Value, error) {
	if len(b) != 8 {
		return nil, errLength
	}
	return sqltype.Micros(binary.BigEndian.Uint64(b)), nil
}

func decodeNumericInteger(b []byte) (sqltype.Value, error) {
	d, err := decodeNumeric(b)
	if err != nil {
		return nil, err
	}
	if n := d.BigInt(); d.IsInteger() && n.IsInt64() {
		return n.Int64(), nil
	}
	return nil, errors.New("a numeric that is no bigint")
}

// The sign field of a numeric's binary form (src/backend/utils/adt/numeric.c).
const (
	numericPos = 0x0000
	numericNeg = 0x4000
)

var ten = big.NewInt(10)

// decodeNumeric keeps the display scale: the exponent is -dscale. NaN and the infinities have no decimal.Decimal: the
// printed SQL must not return them.
func decodeNumeric(b []byte) (decimal.Decimal, error) {
	if len(b) < 8 {
		return decimal.Decimal{}, errLength
	}
	digits, weight := int(binary.BigEndian.Uint16(b)), int(int16(binary.BigEndian.Uint16(b[2:])))
	sign, scale := binary.BigEndian.Uint16(b[4:]), int(binary.BigEndian.Uint16(b[6:]))
	if sign != numericPos && sign != numericNeg {
		return decimal.Decimal{}, errors.New("a numeric NaN or infinity")
	}
	if len(b) != 8+2*digits {
		return decimal.Decimal{}, errLength
	}
	coefficient, base := new(big.Int), big.NewInt(10_000)
	for i := range digits {
		digit := big.NewInt(int64(binary.BigEndian.Uint16(b[8+2*i:])))
		coefficient.Add(coefficient.Mul(coefficient, base), digit)
	}
	// The last digit stands for 10^(4(weight-digits+1)); the coefficient counts 10^-scale.
	if shift := 4*(weight-digits+1) + scale; shift >= 0 {
		coefficient.Mul(coefficient, new(big.Int).Exp(ten, big.NewInt(int64(shift)), nil))
	} else { // only zeros stand beyond the display scale
		coefficient.Quo(coefficient, new(big.Int).Exp(ten, big.NewInt(int64(-shift)), nil))
	}
	if sign == numericNeg {
		coefficient.Neg(coefficient)
	}
	return decimal.NewFromBigInt(coefficient, -int32(scale)), nil
}
