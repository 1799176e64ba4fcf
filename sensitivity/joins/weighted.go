package joins

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// pairing prepares a statement for it, or refuses one that weights say nothing of.
func (j *joining) pairing(left []plan.Scalar) (*sensitivity.Pairing, error) {
	refuse := func(pos int, what string) error {
		return sqlerr.New(sqlerr.JoinOffUnit, "%s has no weighted answer", what).At(pos).
			WithHint("dpsql.bounding = weighted is for count(*) of two tables joined by equality of columns, without GROUP BY; SET dpsql.bounding = auto counts joined rows.")
	}
	agg := j.Out.Agg
	switch {
	case len(j.list) != 2:
		return nil, refuse(agg.Pos, "a join of more than two tables")
	case len(agg.Keys) > 0 || agg.Sets != nil:
		return nil, refuse(agg.Pos, "GROUP BY over rows of several people")
	}
	for _, g := range j.Aggs {
		if g.Fn != plan.CountRows || g.Filter != nil {
			return nil, refuse(g.Pos, string(g.Fn)+" of joined rows")
		}
	}
	w := &sensitivity.Pairing{Sides: [2]plan.Rel{j.list[0].rel, j.list[1].rel}, Rows: [2]uint64{j.list[0].rows, j.list[1].rows}}
	for _, x := range left {
		list := scope.Equalities(x)
		if len(list) != 1 || len(plan.Conjuncts(x)) != 1 { // a computed condition may be several
			return nil, refuse(agg.Pos, "a condition on both tables that is no equality of their columns")
		}
		a, b := list[0].A, list[0].B
		if j.list[1].hasScan(j.Owner[a]) {
			a, b = b, a
		}
		if !j.list[0].hasScan(j.Owner[a]) || !j.list[1].hasScan(j.Owner[b]) || !isJoinKeyPair(j.TypeOf(a), j.TypeOf(b)) {
			return nil, refuse(agg.Pos, "a condition on both tables that is no equality of their columns")
		}
		w.Keys[0], w.Keys[1] = append(w.Keys[0], a), append(w.Keys[1], b)
	}
	if len(w.Keys[0]) == 0 {
		return nil, sqlerr.New(sqlerr.Internal, "a weighted join without a key")
	}
	return w, nil
}

// uncut: each leaf keeps as many rows of a unit as it is said to, and nothing else cuts it: a cap by a key would let others' rows in.
func (j *joining) uncut() error {
	for _, p := range j.list {
		c, capped := p.rel.(*plan.Capped)
		if capped != (p.unit != 0 && !p.keyed) || capped && (c.Most != p.rows || !slices.Equal(c.By, []plan.ColID{p.unit})) || p.keyed && p.rows != 1 || p.unit == 0 && p.rows != 0 {
			return sqlerr.New(sqlerr.Internal, "a side of a weighted join is not capped as it is said to be")
		}
	}
	return nil
}
