package divide

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// beside is an input of a stage's body with what its correlated aggregates became: a scalar subquery over all persons' rows that is correlated by equality with columns of public
// rows is grouped by the columns that they are compared with, released before, and looked up by a left join. A group that the release has not is one without rows: where groups are
// chosen with noise, small ones count as such.
//
// Proof: for each row around, the subquery's value is that of the group whose columns equal the row's; where there is none, or they are NULL, it is over no rows: 0 of
// counts, NULL of all other aggregates that are released. Grouping columns are a key of the release, so the join neither adds nor drops a row.
func (b *body) beside(in plan.Rel, exprs []plan.Scalar) (plan.Rel, []plan.Scalar, error) {
	out, err := b.rel(in)
	if err != nil {
		return nil, nil, err
	}
	exprs = slices.Clone(exprs)
	for i := range exprs {
		if exprs[i], err = plan.MapQueries(exprs[i], func(s *plan.Subquery) (plan.Scalar, error) {
			g := b.grouped(s, in)
			if g == nil {
				return s, nil
			}
			rows, err := b.rows(g.rows)
			out = &plan.Join{Kind: plan.LeftJoin, Left: out, Right: rows, On: plan.AllOf(g.on), Pos: s.Pos}
			return g.value, err
		}); err != nil {
			return nil, nil, err
		}
		if exprs[i], err = b.scalar(exprs[i]); err != nil {
			return nil, nil, err
		}
	}
	return out, exprs, nil
}

// group is a correlated aggregate as groups of all rows.
type group struct {
	rows  plan.Rel      // the keys, and the subquery's value for each
	on    []plan.Scalar // of the keys and the row around
	value plan.Scalar   // of the subquery, over the columns of rows
}

// grouped makes a subquery a group; nil where it is none that can be.
func (b *body) grouped(s *plan.Subquery, around plan.Rel) *group {
	free := map[plan.ColID]bool{}
	for _, c := range s.Free() {
		scan, _ := unit.StoredIn(around, c.ID)
		if scan == nil || !scan.Table.Public {
			return nil
		}
		free[c.ID] = true
	}
	if s.Kind != plan.ScalarQuery || len(free) == 0 || !relation.HasPrivateTable(s.Query) {
		return nil
	}
	g := &group{}
	var value plan.Scalar = &plan.Col{ID: s.Cols[0], T: s.T}
	r := s.Query
	for {
		p, ok := r.(*plan.Project)
		if !ok {
			break
		}
		value = plan.Substitute(value, func(c *plan.Col) plan.Scalar {
			for _, it := range p.Items {
				if it.ID == c.ID {
					return it.Expr
				}
			}
			return nil
		})
		r = p.Input
	}
	a, ok := r.(*plan.Aggregate)
	if !ok || len(a.Keys) > 0 || a.Sets != nil || len(a.Errors) > 0 || len(a.Groupings) > 0 || plan.FirstQuery(value) != nil {
		return nil
	}
	own := *a
	var rest []plan.Scalar
	for {
		f, ok := own.Input.(*plan.Filter)
		if !ok {
			break
		}
		for _, c := range plan.Conjuncts(f.Cond) {
			inner, ok := comparedWith(c, free)
			switch {
			case !ok:
				rest = append(rest, c)
			case !slices.Contains(f.Input.Cols(), inner):
				return nil
			default:
				g.on = append(g.on, c)
				if !slices.Contains(own.Keys, inner) {
					own.Keys = append(slices.Clip(own.Keys), inner)
				}
			}
		}
		own.Input = f.Input
	}
	if len(rest) > 0 {
		own.Input = &plan.Filter{Input: own.Input, Cond: plan.AllOf(rest)}
	}
	if len(plan.Free(&own)) > 0 || !b.released(&own) {
		return nil
	}
	id := s.Cols[0]
	if _, is := value.(*plan.Col); is { // the aggregate's own column
		g.rows, g.value = &own, value
	} else {
		p := &plan.Project{Input: &own, Items: []plan.Item{{ID: id, Expr: value}}}
		for _, k := range own.Keys {
			p.Items = append(p.Items, plan.Item{ID: k, Expr: &plan.Col{ID: k, T: b.q.Columns[k].Type}})
		}
		g.rows, g.value = p, &plan.Col{ID: id, T: s.T}
	}
	counts := false
	empty := plan.Substitute(value, func(c *plan.Col) plan.Scalar {
		if i := slices.IndexFunc(own.Aggs, func(it plan.AggItem) bool { return it.ID == c.ID }); i >= 0 && (own.Aggs[i].Fn == plan.CountRows || own.Aggs[i].Fn == plan.Count) {
			counts = true
			return &plan.Const{Value: int64(0), T: sqltype.Int8}
		}
		return &plan.Const{T: c.T}
	})
	if counts { // NULL looked up may be a value that is NULL
		found := &plan.Is{X: &plan.Col{ID: own.Keys[0], T: b.q.Columns[own.Keys[0]].Type}, What: "NULL", Not: true}
		g.value = &plan.Case{Whens: []plan.When{{Cond: found, Result: g.value}}, Else: empty, T: s.T}
	}
	return g
}

// comparedWith is the column that a condition says is equal to one of the row around, of the same type.
func comparedWith(x plan.Scalar, free map[plan.ColID]bool) (plan.ColID, bool) {
	c, ok := x.(*plan.Call)
	if !ok || c.Fn.Name != "=" || len(c.Args) != 2 {
		return 0, false
	}
	l, lok := c.Args[0].(*plan.Col)
	r, rok := c.Args[1].(*plan.Col)
	switch {
	case !lok || !rok || l.T.OID != r.T.OID || free[l.ID] == free[r.ID]:
		return 0, false
	case free[l.ID]:
		return r.ID, true
	}
	return l.ID, true
}
