package sqltype

import (
	"encoding/binary"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

func appendArrayBinary(dst []byte, a *Array, elem Type) ([]byte, error) {
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(len(a.Dims)))
	nulls := uint32(0)
	if slices.Contains(a.Values, nil) {
		nulls = 1
	}
	dst = be.AppendUint32(be.AppendUint32(dst, nulls), uint32(elem.OID))
	for i, n := range a.Dims {
		dst = be.AppendUint32(be.AppendUint32(dst, uint32(n)), uint32(a.Lower[i]))
	}
	for _, v := range a.Values {
		if v == nil {
			dst = be.AppendUint32(dst, 0xffffffff)
			continue
		}
		at := len(dst)
		var err error
		if dst, err = appendBinary(be.AppendUint32(dst, 0), v, elem); err != nil {
			return dst, err
		}
		be.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, nil
}

// decodeArrayBinary reads an array. Sizes are checked against the bytes that are there before anything is made.
func (s *Settings) decodeArrayBinary(src []byte, t Type) (Value, error) {
	be := binary.BigEndian
	elem, _ := t.Elem()
	if len(src) < 12 {
		return nil, cutShort()
	}
	dims, flags, oid := int32(be.Uint32(src)), be.Uint32(src[4:]), OID(be.Uint32(src[8:]))
	switch {
	case dims < 0:
		return nil, sqlerr.New(sqlerr.InvalidBinary, "invalid number of dimensions: %d", dims)
	case dims > maxDims:
		return nil, tooManyDims(int(dims))
	case flags > 1:
		return nil, sqlerr.New(sqlerr.InvalidBinary, "invalid array flags")
	case oid != elem.OID:
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "binary data has array element type %d (%s) instead of expected %d (%s)",
			oid, Type{OID: oid, Typmod: -1}, elem.OID, elem.base())
	}
	src = src[12:]
	if len(src) < int(dims)*8 {
		return nil, cutShort()
	}
	a := &Array{Elem: elem.OID}
	count := int64(1)
	for range dims {
		n, low := int32(be.Uint32(src)), int32(be.Uint32(src[4:]))
		src = src[8:]
		if n < 0 || count*int64(n) > maxArraySize {
			return nil, sqlerr.New(sqlerr.TooLong, "array size exceeds the maximum allowed (%d)", maxArraySize)
		}
		if int64(n)+int64(low) > 1<<31-1 {
			return nil, sqlerr.New(sqlerr.TooLong, "array lower bound is too large: %d", low)
		}
		count *= int64(n)
		a.Dims, a.Lower = append(a.Dims, n), append(a.Lower, low)
	}
	if dims == 0 || count == 0 {
		if len(src) > 0 {
			return nil, badBinary(t)
		}
		return &Array{Elem: elem.OID}, nil
	}
	for i := range count {
		if len(src) < 4 {
			return nil, cutShort()
		}
		n := int32(be.Uint32(src))
		if src = src[4:]; n == -1 {
			a.Values = append(a.Values, nil)
			continue
		}
		if n < -1 || int(n) > len(src) {
			return nil, sqlerr.New(sqlerr.InvalidBinary, "insufficient data left in message")
		}
		if w := elem.wireLen(); w > 0 && int(n) > w {
			return nil, sqlerr.New(sqlerr.InvalidBinary, "improper binary format in array element %d", i+1)
		}
		v, err := s.Decode(src[:n], elem, BinaryFormat)
		if err != nil {
			return nil, err
		}
		a.Values = append(a.Values, v)
		src = src[n:]
	}
	if len(src) > 0 {
		return nil, badBinary(t)
	}
	return a, nil
}

// maxArraySize is MaxArraySize.
const maxArraySize = 134217727

// wireLen is the length of a type's binary form, or 0 if it varies.
func (t Type) wireLen() int {
	if n := t.Len(); n > 0 && t.OID != OIDName && !t.IsEnum() {
		return int(n)
	}
	return 0
}
