package eval

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

type sortKey struct {
	place            int
	desc, nullsFirst bool
	typ              sqltype.Type
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
		return compareRows(a, b, keys)
	})
	return out, nil
}

func compareRows(a, b []sqltype.Value, keys []sortKey) int {
	for _, k := range keys {
		if c := k.compare(a[k.place], b[k.place]); c != 0 {
			return c
		}
	}
	return 0
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
	default:
		c = sqltype.CompareAs(a, b, k.typ)
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

// appendKey appends bytes that are equal exactly for values that are not distinct.
func appendKey(dst []byte, v sqltype.Value, padded bool) []byte {
	if padded {
		v = unpad(v)
	}
	return sqltype.AppendKey(dst, v)
}
