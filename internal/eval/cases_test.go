package eval

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

func col(i int) plan.Scalar { return &plan.Col{ID: plan.ColID(i + 1), T: columns[i].t} }
func num(n int64) plan.Scalar {
	return &plan.Const{Value: n, T: sqltype.Int4}
}
func call(f *funcs.Func, t sqltype.Type, args ...plan.Scalar) plan.Scalar {
	return &plan.Call{Fn: f, Args: args, T: t}
}
func logic(op plan.LogicOp, args ...plan.Scalar) plan.Scalar { return &plan.Logic{Op: op, Args: args} }

var intArray, _ = sqltype.ArrayOf(sqltype.Int4)

// ints is an array of integers whose first index is lower.
func ints(lower int32, values ...sqltype.Value) plan.Scalar {
	return &plan.Const{Value: &sqltype.Array{Elem: sqltype.OIDInt4, Dims: []int32{int32(len(values))}, Lower: []int32{lower}, Values: values}, T: intArray}
}

// TestLazinessAgrees: what PostgreSQL does not evaluate raises nothing here, and what it does raises the same error. a is the
// only column, so that PostgreSQL cannot compute anything beforehand.
func TestLazinessAgrees(t *testing.T) {
	a := col(0)
	quotient := call(divide, sqltype.Int4, num(10), a)
	null := &plan.Const{T: sqltype.Int4}
	positive := call(compareFn("="), sqltype.Bool, quotient, num(10))
	eq := func(x plan.Scalar, n int64) plan.Scalar { return call(compareFn("="), sqltype.Bool, x, num(n)) }
	for _, c := range []struct {
		sql string
		x   plan.Scalar
	}{
		{"10 / a", quotient},
		{"a <> 0 AND 10 / a = 10", logic(plan.And, logic(plan.Not, eq(a, 0)), positive)},
		{"a = 0 OR 10 / a = 10", logic(plan.Or, eq(a, 0), positive)},
		{"10 / a = 10 OR a = 0", logic(plan.Or, positive, eq(a, 0))},
		{"CASE WHEN a = 0 THEN 7 ELSE 10 / a END", &plan.Case{Whens: []plan.When{{Cond: eq(a, 0), Result: num(7)}}, Else: quotient, T: sqltype.Int4}},
		{"CASE WHEN 10 / a = 10 THEN 7 END", &plan.Case{Whens: []plan.When{{Cond: positive, Result: num(7)}}, T: sqltype.Int4}},
		{"coalesce(a, 10 / a)", &plan.Coalesce{Args: []plan.Scalar{a, quotient}, T: sqltype.Int4}},
		{"coalesce(10 / a, a)", &plan.Coalesce{Args: []plan.Scalar{quotient, a}, T: sqltype.Int4}},
		{"(10 / a) IS NULL", &plan.Is{X: quotient, What: "NULL"}},
		{"(NULL::int / a) IS NULL", &plan.Is{X: call(divide, sqltype.Int4, null, a), What: "NULL"}},
		{"(NULL::int / (10 / a)) IS NULL", &plan.Is{X: call(divide, sqltype.Int4, null, quotient), What: "NULL"}},
		{"a IN (0, 10 / a)", &plan.In{X: a, List: []plan.Scalar{num(0), quotient}, Eq: compareFn("=")}},
		{"a IN (10 / a, 0)", &plan.In{X: a, List: []plan.Scalar{quotient, num(0)}, Eq: compareFn("=")}},
		{"a IN (10 / a, 0, 5)", &plan.In{X: a, List: []plan.Scalar{quotient, num(0), num(5)}, Eq: compareFn("=")}},
		{"a NOT IN (10 / a, 0, 5)", &plan.In{X: a, List: []plan.Scalar{quotient, num(0), num(5)}, Eq: compareFn("="), Not: true}},
		{"a NOT IN (1, NULL)", &plan.In{X: a, List: []plan.Scalar{num(1), null}, Eq: compareFn("="), Not: true}},
		{"(ARRAY[7, NULL, 8])[a]", &plan.Subscript{X: ints(1, int64(7), nil, int64(8)), Index: []plan.Scalar{a}, T: sqltype.Int4}},
		{"('[0:1]={5,6}'::int[])[a]", &plan.Subscript{X: ints(0, int64(5), int64(6)), Index: []plan.Scalar{a}, T: sqltype.Int4}},
		{"(ARRAY[7])[1][a]", &plan.Subscript{X: ints(1, int64(7)), Index: []plan.Scalar{num(1), a}, T: sqltype.Int4}},
		{"a = ANY ('{1,NULL}'::int[])", &plan.AnyAll{X: a, Array: ints(1, int64(1), nil), Fn: compareFn("=")}},
		{"a <> ALL ('{1,5}'::int[])", &plan.AnyAll{X: a, Array: ints(1, int64(1), int64(5)), Fn: compareFn("<>"), All: true}},
		{"a < ALL ('{NULL,1}'::int[])", &plan.AnyAll{X: a, Array: ints(1, nil, int64(1)), Fn: compareFn("<"), All: true}},
		{"a = ANY (NULL::int[])", &plan.AnyAll{X: a, Array: &plan.Const{T: intArray}, Fn: compareFn("=")}},
		{"a = ANY ('{}'::int[])", &plan.AnyAll{X: a, Array: &plan.Const{Value: &sqltype.Array{Elem: sqltype.OIDInt4}, T: intArray}, Fn: compareFn("=")}},
	} {
		for _, v := range []sqltype.Value{int64(0), int64(1), nil} {
			want, state, err := ask("SELECT " + c.sql + " FROM (VALUES (" + literal(v, 0) + ")) v(a)")
			if err != nil {
				t.Fatal(err)
			}
			agg := &plan.Aggregate{Keys: []plan.ColID{1}}
			got, err := Run(context.Background(), &plan.Project{Input: agg, Items: []plan.Item{{ID: 9, Expr: c.x}}},
				leafOf(agg, [][]sqltype.Value{{v}}), nil, nil)
			var e *sqlerr.Error
			switch errors.As(err, &e); {
			case err != nil || state != "":
				if e == nil || e.Code != state {
					t.Errorf("%s with %v: PostgreSQL %q, eval %v", c.sql, v, state, err)
				}
			case (got.Rows[0][0] == nil) != (want[0][0] == nil) ||
				want[0][0] != nil && sqltype.FormatText(got.Rows[0][0], c.x.Type()) != *want[0][0]:
				t.Errorf("%s with %v: PostgreSQL %s, eval %v", c.sql, v, show(want[0][0]), got.Rows[0][0])
			}
		}
	}
}

func TestJoins(t *testing.T) {
	l, r := &plan.Aggregate{Keys: []plan.ColID{1}}, &plan.Aggregate{Keys: []plan.ColID{2}}
	leaf := func(n plan.Rel) (*Relation, bool) {
		switch n {
		case plan.Rel(l):
			return &Relation{Cols: l.Keys, Rows: [][]sqltype.Value{{int64(1)}, {nil}, {int64(2)}}}, true
		case plan.Rel(r):
			return &Relation{Cols: r.Keys, Rows: [][]sqltype.Value{{int64(1)}, {nil}, {int64(1)}}}, true
		}
		return nil, false
	}
	on := call(compareFn("="), sqltype.Bool, &plan.Col{ID: 1, T: sqltype.Int4}, &plan.Col{ID: 2, T: sqltype.Int4})
	for _, c := range []struct {
		kind plan.JoinKind
		on   plan.Scalar
		want int
	}{{plan.InnerJoin, on, 2}, {plan.LeftJoin, on, 4}, {plan.InnerJoin, nil, 9}, {plan.FullJoin, on, 5}} {
		got, err := Run(context.Background(), &plan.Join{Kind: c.kind, Left: l, Right: r, On: c.on}, leaf, nil, nil)
		if err != nil || len(got.Rows) != c.want {
			t.Errorf("%s: %v %v", c.kind, got, err)
		}
	}
	if _, err := Run(context.Background(), &plan.Join{Kind: "outer", Left: l, Right: r}, leaf, nil, nil); sqlerr.ID(err) != "unsupported" {
		t.Errorf("an unknown join: %v", err)
	}
}

func TestOneRowAndParams(t *testing.T) {
	got, err := Run(context.Background(), &plan.Project{Input: &plan.OneRow{}, Items: []plan.Item{{ID: 1, Expr: &plan.Param{N: 1, T: sqltype.Int4}}}},
		func(plan.Rel) (*Relation, bool) { return nil, false }, &plan.Query{}, []sqltype.Value{int64(5)})
	if err != nil || len(got.Rows) != 1 || got.Rows[0][0] != int64(5) {
		t.Errorf("%v %v", got, err)
	}
	if v, err := ScalarValue(&plan.Param{N: 2, T: sqltype.Int8}, []sqltype.Value{nil, int64(7)}); v != int64(7) || err != nil {
		t.Errorf("%v %v", v, err)
	}
	if _, err := ScalarValue(&plan.Param{N: 2}, nil); sqlerr.ID(err) != "undefined_parameter" {
		t.Errorf("a missing parameter: %v", err)
	}
	if _, err := ScalarValue(col(0), nil); sqlerr.ID(err) != "internal" {
		t.Errorf("a column without a row: %v", err)
	}
}

// unknownRel and unknownScalar stand for nodes that come later.
type (
	unknownRel    struct{ plan.Rel }
	unknownScalar struct{ plan.Scalar }
)

// TestCheckRefuses: what Run could not do is refused before, by name.
func TestCheckRefuses(t *testing.T) {
	agg := &plan.Aggregate{Keys: []plan.ColID{1}}
	over := func(x plan.Scalar) plan.Rel { return &plan.Filter{Input: agg, Cond: x} }
	unspelt := &funcs.Func{Name: "soundex", Kind: funcs.Function}
	for _, c := range []struct {
		root plan.Rel
		want string
	}{
		{&plan.Aggregate{Input: agg, Aggs: []plan.AggItem{{Fn: "xmlagg", Arg: num(1)}}}, "aggregate xmlagg"},
		{&plan.Window{Input: agg, Items: []plan.WindowItem{{Fn: "xmlagg"}}}, "window function xmlagg"},
		{&plan.SetOp{Op: "MERGE", Left: agg, Right: agg}, "MERGE cannot"},
		{&plan.Values{Rows: [][]plan.Scalar{{col(0)}}}, "does not have"},
		{over(&plan.Subquery{Kind: "SOME", Query: agg}), "subquery of kind SOME"},
		{&plan.Limit{Input: agg, Ties: true}, "has no order"},
		{&plan.Scan{}, "a table cannot be read"},
		{unknownRel{}, "unknownRel"},
		{over(unknownScalar{}), "unknownScalar"},
		{over(call(unspelt, sqltype.Bool, num(1))), "function soundex"},
		{over(logic(plan.Or, call(nil, sqltype.Bool))), "this function"},
		{over(logic(plan.And)), "AND of 0"},
		{over(logic("XOR", num(1))), "XOR"},
		{over(&plan.Is{X: col(0), What: "DOCUMENT"}), "IS DOCUMENT"},
		{over(&plan.In{X: col(0), List: []plan.Scalar{num(1)}, Eq: unspelt}), "IN cannot"},
		{over(&plan.In{X: col(0), List: []plan.Scalar{num(1), unknownScalar{}}, Eq: compareFn("=")}), "unknownScalar"},
		{over(&plan.Case{Whens: []plan.When{{Cond: col(0), Result: unknownScalar{}}}}), "unknownScalar"},
		{over(&plan.Coalesce{Args: []plan.Scalar{unknownScalar{}}}), "unknownScalar"},
		{over(&plan.Col{ID: 40}), "does not have"},
		{&plan.Sort{Input: agg, Keys: []plan.SortKey{{Col: 40}}}, "sort key"},
		{&plan.Limit{Input: agg, Count: col(0)}, "does not have"},
		{&plan.Distinct{Input: &plan.Scan{}}, "a table cannot be read"},
	} {
		err := Check(c.root, func(n plan.Rel) bool { return n == plan.Rel(agg) }, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q", c.root, err, c.want)
		}
	}
}

// TestCancel: every loop looks at the context.
func TestCancel(t *testing.T) {
	agg, q := source()
	rows := make([][]sqltype.Value, 3*checkEvery)
	for i := range rows {
		rows[i] = make([]sqltype.Value, len(columns))
		rows[i][0] = int64(i * 7919 % 1000)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, root := range []plan.Rel{
		&plan.Filter{Input: agg, Cond: col(1)},
		&plan.Project{Input: agg},
		&plan.Distinct{Input: agg},
		&plan.Sort{Input: agg, Keys: []plan.SortKey{{Col: 1}}},
		&plan.Join{Kind: plan.InnerJoin, Left: agg, Right: agg},
	} {
		if _, err := Run(ctx, root, leafOf(agg, rows), q, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%T: %v", root, err)
		}
	}
}

// TestRunKeepsItsInput: a release may be finished again.
func TestRunKeepsItsInput(t *testing.T) {
	agg, q := source()
	rows := [][]sqltype.Value{{int64(2), nil, nil, nil, nil, nil, nil}, {int64(1), nil, nil, nil, nil, nil, nil}}
	if _, err := Run(context.Background(), &plan.Sort{Input: agg, Keys: []plan.SortKey{{Col: 1}}}, leafOf(agg, rows), q, nil); err != nil {
		t.Fatal(err)
	}
	if rows[0][0] != int64(2) || rows[1][0] != int64(1) {
		t.Errorf("the leaf's rows were moved: %v", rows)
	}
	if _, err := Run(context.Background(), agg, leafOf(agg, [][]sqltype.Value{{nil}}), q, nil); sqlerr.ID(err) != "internal" {
		t.Errorf("a short row: %v", err)
	}
}
