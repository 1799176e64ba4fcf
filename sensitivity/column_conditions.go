package sensitivity

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// mostChecked is how often conditions are computed for the values of one key, in nodes: more are left to be groups without rows.
const mostChecked = 1 << 22

// check is a condition on one column alone.
type check struct {
	cond plan.Scalar
	f    func(sqltype.Value) (sqltype.Value, error)
	any  bool // it says of one point of a step what it says of all
}

// allowed says which values of a column the statement's conditions keep, and how many nodes it looks at for one.
func (z *intervals) allowed(s *scanInfo, id plan.ColID) (is func(sqltype.Value) bool, nodes int) {
	return z.allowedIn(s, id, 0)
}

// allowedIn is allowed of a point in time that stands for a step of it; 0: of single values.
func (z *intervals) allowedIn(s *scanInfo, id plan.ColID, step int64) (is func(sqltype.Value) bool, nodes int) {
	t := z.typeOf(id)
	checks := func(from *block) (out []check) {
		for _, c := range conditionsFrom(from) {
			if only, ok := z.onlyColumn(c); !ok || only != id {
				continue
			}
			if f, err := z.function(c, id); err == nil {
				own, known := z.stepOfTime(c, id, map[plan.ColID]bool{})
				out = append(out, check{c, f, step == 0 || known && own > 0 && own%step == 0})
				nodes += relation.Size(c)
			}
		}
		return out
	}
	here := checks(s.in)
	around := here
	if s.nullable() { // a padded row is of one that ON does not keep
		around = checks(s.in.parent)
	}
	return func(v sqltype.Value) bool {
		list := here
		if v == nil {
			list = around
		}
		for _, c := range list {
			if v != nil && (!c.any || !isSameOnBackends([]sqltype.Value{v}, c.cond, t)) {
				continue
			}
			if is, err := c.f(v); err == nil && is != true {
				return false
			}
		}
		return true
	}, nodes
}

// stepOfTime is the longest step of time, in microseconds from 2000-01-01, within which an expression does not depend on a timestamp column: it reads it
// through fields and truncations only.
func (z *intervals) stepOfTime(x plan.Scalar, id plan.ColID, seen map[plan.ColID]bool) (step int64, ok bool) {
	least := func(a, b int64) int64 {
		if a == 0 || b != 0 && b < a {
			return b
		}
		return a
	}
	switch n := x.(type) {
	case *plan.Col:
		if d, isDef := z.defs[n.ID]; isDef && !seen[n.ID] {
			seen[n.ID] = true
			return z.stepOfTime(d.expr, id, seen)
		}
		return 0, z.base(n.ID) != id
	case *plan.Call:
		if last := len(n.Args) - 1; last >= 0 && last <= 1 {
			if c, isCol := n.Args[last].(*plan.Col); isCol && z.base(c.ID) == id {
				return fieldStep(n)
			}
		}
	}
	for _, part := range plan.Children(x) {
		s, ok := z.stepOfTime(part, id, seen)
		if !ok {
			return 0, false
		}
		step = least(step, s)
	}
	return step, true
}

func fieldStep(n *plan.Call) (int64, bool) {
	const hour = relation.MicrosPerDay / 24
	if n.Fn.Name == "cast" && n.T.OID == sqltype.OIDDate {
		return relation.MicrosPerDay, true
	}
	if len(n.Args) != 2 || !slices.Contains([]string{"date_trunc", "date_part", "extract"}, n.Fn.Name) {
		return 0, false
	}
	field, _ := n.Args[0].(*plan.Const)
	if field == nil {
		return 0, false
	}
	switch field.Value {
	case "hour":
		return hour, true
	case "day", "week", "month", "quarter", "year", "decade", "century", "millennium", "dow", "isodow", "doy", "isoyear":
		return relation.MicrosPerDay, true
	}
	return 0, false
}
