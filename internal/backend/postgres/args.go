package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// params are bound values as pgconn wants them: the types are ours, not inferred by the server.
type params struct {
	values  [][]byte
	oids    []uint32
	formats []int16
}

func encodeArgs(args []backend.Arg) (params, error) {
	p := params{make([][]byte, len(args)), make([]uint32, len(args)), make([]int16, len(args))}
	for i, a := range args {
		if !a.Type.IsKnown() {
			return p, fmt.Errorf("postgres: parameter $%d has %s", i+1, a.Type)
		}
		p.oids[i] = uint32(a.Type.OID)
		if a.Type.OID == sqltype.OIDUnknown {
			p.oids[i] = uint32(sqltype.OIDText)
		}
		if a.Value == nil {
			continue
		}
		var ok bool
		if p.values[i], p.formats[i], ok = encode(a); !ok {
			return p, fmt.Errorf("postgres: parameter $%d: a Go %T is no value of type %s", i+1, a.Value, a.Type)
		}
	}
	return p, nil
}

// encode gives the exact binary form where there is a short one, else text.
func encode(a backend.Arg) (value []byte, format int16, ok bool) {
	t := a.Type
	switch v := a.Value.(type) {
	case bool:
		return strconv.AppendBool(nil, v), 0, t.OID == sqltype.OIDBool
	case int64:
		return strconv.AppendInt(nil, v, 10), 0, t.IsInteger() || t.OID == sqltype.OIDOid
	case float64:
		if t.OID == sqltype.OIDFloat4 {
			return binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(v))), binaryFormat, true
		}
		return binary.BigEndian.AppendUint64(nil, math.Float64bits(v)), binaryFormat, t.OID == sqltype.OIDFloat8
	case decimal.Decimal:
		return []byte(v.StringFixed(max(-v.Exponent(), 0))), 0, t.OID == sqltype.OIDNumeric
	case string:
		return []byte(v), 0, t.IsString() || t.IsEnum() || t.OID == sqltype.OIDChar
	case sqltype.Days:
		return binary.BigEndian.AppendUint32(nil, uint32(v)), binaryFormat, t.OID == sqltype.OIDDate
	case sqltype.Micros:
		isTimestamp := t.OID == sqltype.OIDTimestamp || t.OID == sqltype.OIDTimestamptz
		return binary.BigEndian.AppendUint64(nil, uint64(v)), binaryFormat, isTimestamp
	}
	value, err := sqltype.Encode(a.Value, t, sqltype.BinaryFormat, []byte{})
	return value, binaryFormat, err == nil
}
