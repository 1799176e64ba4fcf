package divide

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// body prepares what a stage reads: what is released below it is computed before, and stands there as a parameter or as a public relation.
//
// Proof: claim: given the values of the releases before it, a stage is a mechanism on the private rows that is fixed, and has the sensitivity that its analysis claims. Inputs are
// functions of releases and public tables (Divide), so they are the same on neighbours once those releases are given; nothing is derived from their values, which are in
// no plan: a parameter is opaque, and of rows only a key is known, which the engine checks. So the stages together are an adaptive composition (Dwork, Roth 2014, section 3.5.2; for Renyi
// losses Mironov 2017, Proposition 1), whose charges are fixed beforehand.
type body struct {
	*divider
	stage *Stage
	trial bool // only its shape is asked for

	relations int // inputs that are rows
}

// over is an aggregate over its prepared input.
func (b *body) over(a *plan.Aggregate) (*plan.Aggregate, error) {
	r, err := plan.MapParts(a, b.rel, b.scalar)
	if err != nil {
		return nil, err
	}
	return r.(*plan.Aggregate), nil
}

func (b *body) rel(r plan.Rel) (plan.Rel, error) {
	switch {
	case !relation.HasPrivateTable(r):
		return r, nil
	case b.released(r) && len(plan.Free(r)) == 0:
		return b.rows(r)
	}
	switch n := r.(type) {
	case *plan.Filter:
		in, conds, err := b.beside(n.Input, []plan.Scalar{n.Cond})
		if err != nil {
			return nil, err
		}
		return &plan.Filter{Input: in, Cond: conds[0]}, nil
	case *plan.Project:
		items := slices.Clone(n.Items)
		exprs := make([]plan.Scalar, len(items))
		for i, it := range items {
			exprs[i] = it.Expr
		}
		in, exprs, err := b.beside(n.Input, exprs)
		for i := range exprs {
			items[i].Expr = exprs[i]
		}
		return &plan.Project{Input: in, Items: items}, err
	}
	return plan.MapParts(r, b.rel, b.scalar)
}

func (b *body) scalar(x plan.Scalar) (plan.Scalar, error) {
	return plan.MapQueries(x, func(s *plan.Subquery) (plan.Scalar, error) {
		out := *s
		out.Left = slices.Clone(s.Left)
		for i := range out.Left {
			var err error
			if out.Left[i].Expr, err = b.scalar(s.Left[i].Expr); err != nil {
				return nil, err
			}
		}
		if s.Kind == plan.ScalarQuery && relation.HasPrivateTable(s.Query) && b.released(s.Query) && len(s.Free()) == 0 {
			return b.value(s)
		}
		var err error
		out.Query, err = b.rel(s.Query)
		return &out, err
	})
}

// value is the only value of a query, as a parameter.
func (b *body) value(s *plan.Subquery) (plan.Scalar, error) {
	b.stage.Params = append(slices.Clip(b.stage.Params), s.T)
	p := &plan.Param{N: len(b.stage.Params), T: s.T}
	return p, b.input(Input{Computed: Computed{Root: s.Query}, Param: p.N, Col: s.Cols[0]})
}

// rows is a relation of released rows, as a public table. Numerics are no key: DuckDB's decimals have 38 digits, so that what differs here may be equal there.
func (b *body) rows(r plan.Rel) (plan.Rel, error) {
	t := &plan.Table{Name: unit.DerivedName, Public: true, UnitCol: -1}
	cols := r.Cols()
	in := Input{Computed: Computed{Root: r}, Rows: t}
	var types []sqltype.Type
	for _, id := range cols {
		c := b.q.Columns[id]
		t.Columns = append(t.Columns, plan.TableColumn{Name: c.Name, Type: c.Type, Visible: true})
		types = append(types, c.Type)
	}
	if key := keyOf(r); (len(key) > 0 || relation.HasOneRow(r)) && !slices.ContainsFunc(key, func(id plan.ColID) bool { return b.q.Columns[id].Type.OID == sqltype.OIDNumeric }) {
		var places []int
		for _, id := range key {
			places = append(places, slices.Index(cols, id))
		}
		if !slices.Contains(places, -1) {
			t.Keys = [][]int{places}
		}
	}
	rel := &plan.Scan{Table: t, Columns: cols, Rows: &plan.Released{N: b.relations, Columns: cols, Types: types, Key: keyOf(r)}, Pos: -1}
	b.relations++
	return rel, b.input(in)
}

func (b *body) input(in Input) error {
	if !b.trial {
		if err := b.above(in.Root, &in.Computed); err != nil {
			return err
		}
		if err := b.columns(&in.Computed); err != nil {
			return err
		}
	}
	b.stage.Inputs = append(b.stage.Inputs, in)
	return nil
}

// keyOf are columns in which no two rows of a relation agree; nil where nothing says so.
func keyOf(r plan.Rel) []plan.ColID {
	switch n := r.(type) {
	case *plan.Aggregate:
		if n.Sets == nil {
			return n.Keys
		}
	case *plan.Filter:
		return keyOf(n.Input)
	case *plan.Sort:
		return keyOf(n.Input)
	case *plan.Limit:
		return keyOf(n.Input)
	case *plan.Window:
		return keyOf(n.Input)
	case *plan.Distinct:
		return keyOf(n.Input)
	case *plan.Project:
		var out []plan.ColID
		for _, id := range keyOf(n.Input) {
			i := slices.IndexFunc(n.Items, func(it plan.Item) bool {
				c, ok := it.Expr.(*plan.Col)
				return ok && c.ID == id
			})
			if i < 0 {
				return nil
			}
			out = append(out, n.Items[i].ID)
		}
		return out
	}
	return nil
}
