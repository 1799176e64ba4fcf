package sqltype

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/shopspring/decimal"
)

// AppendKey appends bytes that are equal exactly for values of one type that are not distinct: NULL equals NULL, NaN NaN, -0 0,
// 1.0 1.00, one day 24 hours. Trailing blanks count, as in Compare.
func AppendKey(dst []byte, v Value) []byte {
	be := binary.BigEndian
	switch x := v.(type) {
	case nil:
		return append(dst, 'N')
	case bool:
		if x {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case int64:
		return be.AppendUint64(append(dst, 'i'), uint64(x))
	case Named:
		return be.AppendUint64(append(dst, 'i'), uint64(x.OID))
	case float64:
		if math.IsNaN(x) {
			x = math.NaN()
		}
		return be.AppendUint64(append(dst, 'd'), math.Float64bits(x+0)) // -0 + 0 is 0
	case decimal.Decimal:
		return appendKeyText(append(dst, 'n'), x.String()) // without trailing zeros
	case string:
		return appendKeyText(append(dst, 's'), x)
	case Days:
		return be.AppendUint32(append(dst, 'D'), uint32(x))
	case Micros:
		return be.AppendUint64(append(dst, 'T'), uint64(x))
	case Clock:
		return be.AppendUint64(append(dst, 'C'), uint64(x))
	case ClockTZ:
		return be.AppendUint32(be.AppendUint64(append(dst, 'Z'), uint64(x.Micros)), uint32(x.Zone))
	case Interval:
		days, micros := x.span()
		return be.AppendUint64(be.AppendUint64(append(dst, 'I'), uint64(days)), uint64(micros))
	case UUID:
		return append(append(dst, 'U'), x[:]...)
	case Bytes:
		return appendKeyText(append(dst, 'b'), string(x))
	case JSON:
		n, err := readJSONB(string(x))
		if err != nil { // a json that no jsonb holds
			return appendKeyText(append(dst, 'j'), string(x))
		}
		return appendKeyText(append(dst, 'J'), string(n.append(nil, true)))
	case *Array:
		dst = binary.AppendUvarint(append(dst, 'A'), uint64(len(x.Dims)))
		for i, n := range x.Dims {
			dst = be.AppendUint32(be.AppendUint32(dst, uint32(n)), uint32(x.Lower[i]))
		}
		for _, e := range x.Values {
			dst = AppendKey(dst, e)
		}
		return dst
	}
	panic(fmt.Sprintf("sqltype: a %T is no value", v))
}

func appendKeyText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
