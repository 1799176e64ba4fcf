package interval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// MostChecked is how often conditions are computed for the values of one key, in nodes: more are left to be groups without rows.
const MostChecked = 1 << 22

// check is a condition on one column alone.
type check struct {
	cond plan.Scalar
	f    func(sqltype.Value) (sqltype.Value, error)
	any  bool // it says of one point of a step what it says of all
}

// Allowed says which values of a column the statement's conditions keep, and how many nodes it looks at for one.
func (z *Intervals) Allowed(s *scope.ScanInfo, id plan.ColID) (is func(sqltype.Value) bool, nodes int) {
	return z.AllowedIn(s, id, 0)
}

// AllowedIn is allowed of a point in time that stands for a step of it; 0: of single values.
func (z *Intervals) AllowedIn(s *scope.ScanInfo, id plan.ColID, step int64) (is func(sqltype.Value) bool, nodes int) {
	t := z.TypeOf(id)
	here, nodes := z.checks(ConditionsFrom(s.In), id, step)
	around := here
	if s.Nullable() { // a padded row is of one that ON does not keep
		var more int
		around, more = z.checks(ConditionsFrom(s.In.Parent), id, step)
		nodes += more
	}
	return func(v sqltype.Value) bool {
		if v == nil {
			return keepsValue(around, v, t)
		}
		return keepsValue(here, v, t)
	}, nodes
}

// AllowedBy says which values of a column these conditions keep, and how many nodes it looks at for one.
func (z *Intervals) AllowedBy(conds []plan.Scalar, id plan.ColID) (is func(sqltype.Value) bool, nodes int) {
	list, nodes := z.checks(conds, id, 0)
	return func(v sqltype.Value) bool { return keepsValue(list, v, z.TypeOf(id)) }, nodes
}

// checks are the conditions on one column alone, and how many nodes they have.
func (z *Intervals) checks(conds []plan.Scalar, id plan.ColID, step int64) (out []check, nodes int) {
	for _, c := range conds {
		if only, ok := z.OnlyColumn(c); !ok || only != id {
			continue
		}
		if f, err := z.Function(c, id); err == nil {
			own, known := z.StepOfTime(c, id, map[plan.ColID]bool{})
			out = append(out, check{c, f, step == 0 || known && own > 0 && own%step == 0})
			nodes += relation.Size(c)
		}
	}
	return out, nodes
}

// keepsValue: each check is true of a value, or not known of it.
func keepsValue(list []check, v sqltype.Value, t sqltype.Type) bool {
	for _, c := range list {
		if v != nil && (!c.any || !IsSameOnBackends([]sqltype.Value{v}, c.cond, t)) {
			continue
		}
		if is, err := c.f(v); err == nil && is != true {
			return false
		}
	}
	return true
}

// StepOfTime is the longest step of time, in microseconds from 2000-01-01, within which an expression does not depend on a timestamp column: it reads it
// through fields and truncations only. Of a timestamp with time zone, whose days and hours begin by the session's zone, it is a step so short that one of its beginnings is in each of them.
func (z *Intervals) StepOfTime(x plan.Scalar, id plan.ColID, seen map[plan.ColID]bool) (step int64, ok bool) {
	least := func(a, b int64) int64 {
		if a == 0 || b != 0 && b < a {
			return b
		}
		return a
	}
	switch n := x.(type) {
	case *plan.Col:
		if d, isDef := z.Defs[n.ID]; isDef && !seen[n.ID] {
			seen[n.ID] = true
			return z.StepOfTime(d.Expr, id, seen)
		}
		return 0, z.Base(n.ID) != id
	case *plan.Call:
		if last := len(n.Args) - 1; last >= 0 && last <= 1 {
			if c, isCol := n.Args[last].(*plan.Col); isCol && z.Base(c.ID) == id {
				return fieldStep(n)
			}
		}
	}
	for _, part := range plan.Children(x) {
		s, ok := z.StepOfTime(part, id, seen)
		if !ok {
			return 0, false
		}
		step = least(step, s)
	}
	return step, true
}

// fieldStep: days of a zone have 23 hours at least, of which one is the first of half a UTC day. Hours of a zone have 30 minutes at least, also where a clock is put forward by so many.
func fieldStep(n *plan.Call) (int64, bool) {
	hour, day := int64(relation.MicrosPerDay/24), int64(relation.MicrosPerDay)
	if n.Args[len(n.Args)-1].Type().OID == sqltype.OIDTimestamptz {
		hour, day = hour/4, day/2
	}
	if n.Fn.Name == "cast" && n.T.OID == sqltype.OIDDate {
		return day, true
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
		return day, true
	}
	return 0, false
}
