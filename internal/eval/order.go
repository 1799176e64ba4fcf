package eval

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/sqltype"
)

type sortKey struct {
	place            int
	desc, nullsFirst bool
	padded           bool
}

// sortRows sorts a copy, stably.
func sortRows(m *machine, rows [][]sqltype.Value, keys []sortKey) (out [][]sqltype.Value, err error) {
	out = slices.Clone(rows)
	type stop struct{}
	defer func() { // a sort that was cancelled ends in the middle of a comparison
		if p := recover(); p != nil {
			if _, ok := p.(stop); !ok {
				panic(p)
			}
			out = nil
		}
	}()
	slices.SortStableFunc(out, func(a, b []sqltype.Value) int {
		if err = m.tick(); err != nil {
			panic(stop{})
		}
		for _, k := range keys {
			if c := k.compare(a[k.place], b[k.place]); c != 0 {
				return c
			}
		}
		return 0
	})
	return out, nil
}

func (k sortKey) compare(a, b sqltype.Value) int {
	c := 0
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil || b == nil:
		if (a == nil) == k.nullsFirst {
			return -1
		}
		return 1
	case k.padded:
		c = sqltype.Compare(unpad(a), unpad(b))
	default:
		c = sqltype.Compare(a, b)
	}
	if k.desc {
		return -c
	}
	return c
}

func unpad(v sqltype.Value) sqltype.Value {
	if s, ok := v.(string); ok {
		return strings.TrimRight(s, " ")
	}
	return v
}

// appendKey appends bytes that are equal exactly for values that are not distinct: NULL equals NULL, NaN NaN, -0 0, 1.0 1.00.
func appendKey(dst []byte, v sqltype.Value, padded bool) []byte {
	if padded {
		v = unpad(v)
	}
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
	case float64:
		if math.IsNaN(x) {
			x = math.NaN()
		}
		return be.AppendUint64(append(dst, 'd'), math.Float64bits(x+0)) // -0 + 0 is 0
	case decimal.Decimal:
		return appendText(append(dst, 'n'), x.String()) // without trailing zeros
	case string:
		return appendText(append(dst, 's'), x)
	case sqltype.Days:
		return be.AppendUint32(append(dst, 'D'), uint32(x))
	case sqltype.Micros:
		return be.AppendUint64(append(dst, 'T'), uint64(x))
	}
	panic(fmt.Sprintf("eval: a %T is no value", v))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
