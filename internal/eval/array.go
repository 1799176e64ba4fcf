package eval

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// subscript is the element at an index, NULL where there is none.
func (c *compiler) subscript(x *plan.Subscript, s scope) (scalar, error) {
	parts, err := c.scalars(append([]plan.Scalar{x.X}, x.Index...), s)
	if err != nil {
		return nil, err
	}
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		vals := make([]sqltype.Value, len(parts))
		for i, f := range parts {
			v, err := f(m, row)
			if err != nil {
				return nil, err
			}
			vals[i] = v
		}
		array, ok := vals[0].(*sqltype.Array)
		if !ok || len(array.Dims) != len(vals)-1 {
			return nil, nil
		}
		at := int64(0)
		for i, v := range vals[1:] {
			n, ok := v.(int64)
			if n -= int64(array.Lower[i]); !ok || n < 0 || n >= int64(array.Dims[i]) {
				return nil, nil
			}
			at = at*int64(array.Dims[i]) + n
		}
		return array.Values[at], nil
	}, nil
}

// anyAll compares with each element: one that decides ends it, else a NULL among them makes it NULL.
func (c *compiler) anyAll(x *plan.AnyAll, s scope) (scalar, error) {
	elem, ok := x.Array.Type().Elem()
	if !ok || x.Fn.Eval == nil {
		return nil, unsupported("ANY and ALL cannot be computed over released values for %s", x.Array.Type())
	}
	parts, err := c.scalars([]plan.Scalar{x.X, x.Array}, s)
	if err != nil {
		return nil, err
	}
	types := []sqltype.Type{x.X.Type(), elem}
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		left, err := parts[0](m, row)
		if err != nil {
			return nil, err
		}
		right, err := parts[1](m, row)
		array, ok := right.(*sqltype.Array)
		if err != nil || !ok {
			return nil, err
		}
		null := false
		for _, item := range array.Values {
			if left == nil || item == nil {
				null = true
				continue
			}
			v, err := m.call(x.Fn, []sqltype.Value{left, item}, types, sqltype.Bool)
			if err != nil {
				return nil, err
			}
			if v == !x.All {
				return !x.All, nil
			}
		}
		if null {
			return nil, nil
		}
		return x.All, nil
	}, nil
}

// slice is a part of an array of one dimension, counted from 1.
func (c *compiler) slice(x *plan.Slice, s scope) (scalar, error) {
	parts := make([]scalar, 3)
	for i, y := range []plan.Scalar{x.X, x.Low, x.High} {
		if y == nil {
			continue
		}
		var err error
		if parts[i], err = c.scalar(y, s); err != nil {
			return nil, err
		}
	}
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		v, err := parts[0](m, row)
		array, ok := v.(*sqltype.Array)
		if err != nil || !ok {
			return nil, err
		}
		out := &sqltype.Array{Elem: array.Elem}
		if len(array.Dims) != 1 {
			return out, nil
		}
		ends := [2]int64{int64(array.Lower[0]), int64(array.Lower[0]) + int64(array.Dims[0]) - 1}
		for i, f := range parts[1:] {
			if f == nil {
				continue
			}
			v, err := f(m, row)
			n, ok := v.(int64)
			if err != nil || !ok {
				return nil, err
			}
			if i == 0 {
				ends[0] = max(ends[0], n)
			} else {
				ends[1] = min(ends[1], n)
			}
		}
		if ends[0] > ends[1] {
			return out, nil
		}
		from := ends[0] - int64(array.Lower[0])
		n := ends[1] - ends[0] + 1
		out.Values, out.Dims, out.Lower = array.Values[from:from+n:from+n], []int32{int32(n)}, []int32{1} //nolint:gosec // G115: within the array
		return out, nil
	}, nil
}
