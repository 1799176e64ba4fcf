package sqltype

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/shopspring/decimal"
)

// AppendValue appends a value so that ReadValue gives the same one back, display scale, sign of zero and kind of NaN included: what AppendKey, which says what is equal, leaves out.
func AppendValue(dst []byte, v Value) []byte {
	be := binary.BigEndian
	switch x := v.(type) {
	case decimal.Decimal:
		n := x.Coefficient()
		sign := byte('+')
		if n.Sign() < 0 {
			sign = '-'
		}
		return appendKeyText(be.AppendUint32(append(dst, 'n', sign), uint32(x.Exponent())), string(n.Bytes()))
	case float64:
		return be.AppendUint64(append(dst, 'd'), math.Float64bits(x))
	case Interval:
		return be.AppendUint64(be.AppendUint32(be.AppendUint32(append(dst, 'I'), uint32(x.Months)), uint32(x.Days)), uint64(x.Micros))
	case JSON:
		return appendKeyText(append(dst, 'j'), string(x))
	case *Array:
		dst = binary.AppendUvarint(be.AppendUint32(append(dst, 'A'), uint32(x.Elem)), uint64(len(x.Dims)))
		for i, n := range x.Dims {
			dst = be.AppendUint32(be.AppendUint32(dst, uint32(n)), uint32(x.Lower[i]))
		}
		dst = binary.AppendUvarint(dst, uint64(len(x.Values)))
		for _, e := range x.Values {
			dst = AppendValue(dst, e)
		}
		return dst
	}
	return AppendKey(dst, v) // which is exact for the others
}

// ReadValue reads what AppendValue wrote, and gives what follows it.
func ReadValue(b []byte) (Value, []byte, error) {
	r := keptReader{rest: b}
	v := r.value(0)
	if r.bad {
		return nil, nil, errKept
	}
	return v, r.rest, nil
}

var errKept = errors.New("sqltype: no value that was kept")

// keptReader is bounds-checked; once bad, it stays so.
type keptReader struct {
	rest []byte
	bad  bool
}

func (r *keptReader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.rest)) {
		r.bad = true
		return make([]byte, min(n, 16))
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *keptReader) uint64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }
func (r *keptReader) uint32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }

func (r *keptReader) length() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(len(r.rest)) {
		r.bad = true
		return 0
	}
	r.take(uint64(size))
	return n
}

func (r *keptReader) text() []byte { return r.take(r.length()) }

// maxNested is deeper than any array that there is: their elements are no arrays.
const maxNested = 4

func (r *keptReader) value(depth int) Value {
	switch kind := r.take(1)[0]; kind {
	case 'N':
		return nil
	case 't', 'f':
		return kind == 't'
	case 'i':
		return int64(r.uint64())
	case 'd':
		return math.Float64frombits(r.uint64())
	case 'n':
		sign, exponent := r.take(1)[0], int32(r.uint32())
		n := new(big.Int).SetBytes(r.text())
		if sign == '-' {
			n.Neg(n)
		}
		return decimal.NewFromBigInt(n, exponent)
	case 's':
		return string(r.text())
	case 'D':
		return Days(r.uint32())
	case 'T':
		return Micros(r.uint64())
	case 'C':
		return Clock(r.uint64())
	case 'Z':
		return ClockTZ{int64(r.uint64()), int32(r.uint32())}
	case 'I':
		return Interval{int32(r.uint32()), int32(r.uint32()), int64(r.uint64())}
	case 'U':
		return UUID(r.take(16))
	case 'b':
		return Bytes(r.text())
	case 'j':
		return JSON(r.text())
	case 'A':
		if depth == maxNested {
			break
		}
		a := &Array{Elem: OID(r.uint32())}
		for range r.length() {
			a.Dims, a.Lower = append(a.Dims, int32(r.uint32())), append(a.Lower, int32(r.uint32()))
		}
		for n := r.length(); n > 0 && !r.bad; n-- {
			a.Values = append(a.Values, r.value(depth+1))
		}
		return a
	}
	r.bad = true
	return nil
}

// AppendRow and ReadRow do so for a row of a known width.
func AppendRow(dst []byte, row []Value) []byte {
	for _, v := range row {
		dst = AppendValue(dst, v)
	}
	return dst
}

// ReadRow reads a row of width values.
func ReadRow(b []byte, width int) (row []Value, rest []byte, err error) {
	row = make([]Value, width)
	for i := range row {
		if row[i], b, err = ReadValue(b); err != nil {
			return nil, nil, fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return row, b, nil
}

// RowBytes is about what a row takes in memory.
func RowBytes(row []Value) int {
	n := 24 + 32*len(row)
	for _, v := range row {
		switch v := v.(type) {
		case string:
			n += len(v)
		case Bytes:
			n += len(v)
		case JSON:
			n += len(v)
		case *Array:
			n += 64 + RowBytes(v.Values)
		}
	}
	return n
}
