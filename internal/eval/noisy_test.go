package eval

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestNoisy: a call that raises by the value of a noisy number is NULL and told; by that of a key or a literal it raises.
func TestNoisy(t *testing.T) {
	noisy, key := &plan.Col{ID: 1, T: sqltype.Int8}, &plan.Col{ID: 2, T: sqltype.Int8}
	number := func(v sqltype.Value, t sqltype.Type) plan.Scalar { return &plan.Const{Value: v, T: t} }
	call := func(kind funcs.Kind, name string, t sqltype.Type, args ...plan.Scalar) plan.Scalar {
		var oids []sqltype.OID
		for _, a := range args {
			oids = append(oids, a.Type().OID)
		}
		return &plan.Call{Fn: funcs.Lookup(kind, name, oids...), Args: args, T: t}
	}
	zero, one := number(int64(0), sqltype.Int8), number(int64(1), sqltype.Int8)
	for name, c := range map[string]struct {
		x     plan.Scalar
		fails bool
	}{
		"1 / noisy":         {call(funcs.Operator, "/", sqltype.Int8, one, noisy), false},
		"1 % noisy":         {call(funcs.Operator, "%", sqltype.Int8, one, noisy), false},
		"key / noisy":       {call(funcs.Operator, "/", sqltype.Int8, key, noisy), false},
		"noisy / 0":         {call(funcs.Operator, "/", sqltype.Int8, noisy, zero), true},
		"noisy / key":       {call(funcs.Operator, "/", sqltype.Int8, noisy, key), true},
		"1 / key":           {call(funcs.Operator, "/", sqltype.Int8, one, key), true},
		"1 / (1 / noisy)":   {call(funcs.Operator, "/", sqltype.Int8, one, call(funcs.Operator, "/", sqltype.Int8, one, noisy)), false},
		"noisy / (1 / key)": {call(funcs.Operator, "/", sqltype.Int8, noisy, call(funcs.Operator, "/", sqltype.Int8, one, key)), true},
	} {
		told := 0
		rows := &Relation{Cols: []plan.ColID{1, 2}, Rows: [][]sqltype.Value{{int64(0), int64(0)}}}
		leaf := &plan.Values{}
		root := &plan.Project{Input: leaf, Items: []plan.Item{{ID: 3, Expr: c.x}}}
		out, err := RunWithin(context.Background(), Limits{}, Noisy{Cols: map[plan.ColID]bool{1: true}, Raised: func(err error) {
			if told++; sqlerr.ID(err) != sqlerr.DivisionByZero.ID {
				t.Errorf("%s: %v", name, err)
			}
		}}, root, func(n plan.Rel) (*Relation, bool) { return rows, n == plan.Rel(leaf) }, nil, nil)
		switch {
		case c.fails && (sqlerr.ID(err) != sqlerr.DivisionByZero.ID || told > 0):
			t.Errorf("%s: %v, told %d", name, err, told)
		case !c.fails && (err != nil || out.Rows[0][0] != nil || told != 1):
			t.Errorf("%s: %v, %v, told %d", name, out, err, told)
		}
	}
}
