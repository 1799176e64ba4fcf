package eval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// arrayExpr is ARRAY[...].
func (c *compiler) arrayExpr(x *plan.ArrayExpr, s scope) (scalar, error) {
	elems, err := c.scalars(x.Elems, s)
	if err != nil {
		return nil, err
	}
	elem, ok := x.T.Elem()
	if !ok {
		return nil, unsupported("an array of type %s", x.T)
	}
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		vals, err := all(m, elems, row)
		if err != nil {
			return nil, err
		}
		if err := m.make(len(vals)); err != nil || !x.Nested {
			return arrayOf(vals, elem), err
		}
		return nested(vals, elem)
	}, nil
}

// nested is an array of arrays: empty where all of them are empty or NULL, else they have one shape (ExecEvalArrayExpr).
func nested(vals []sqltype.Value, elem sqltype.Type) (sqltype.Value, error) {
	out := &sqltype.Array{Elem: elem.OID}
	for i, v := range vals {
		a, ok := v.(*sqltype.Array)
		if !ok || len(a.Dims) == 0 {
			a = &sqltype.Array{}
		}
		switch {
		case len(a.Dims) == 0 && len(out.Dims) == 0:
		case i == 0:
			out.Dims, out.Lower = append([]int32{int32(len(vals))}, a.Dims...), append([]int32{1}, a.Lower...)
		case len(out.Dims) == 0 || !slices.Equal(out.Dims[1:], a.Dims) || !slices.Equal(out.Lower[1:], a.Lower):
			return nil, sqlerr.New(sqlerr.ArraySubscript, "multidimensional arrays must have array expressions with matching dimensions")
		}
		out.Values = append(out.Values, a.Values...)
	}
	return out, nil
}

// arrayOf is an array of one dimension.
func arrayOf(vals []sqltype.Value, elem sqltype.Type) *sqltype.Array {
	a := &sqltype.Array{Elem: elem.OID, Values: vals}
	if len(vals) > 0 {
		a.Dims, a.Lower = []int32{int32(len(vals))}, []int32{1}
	}
	return a
}
