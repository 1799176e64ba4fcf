package interval

import (
	"slices"
	"time"

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
			out = append(out, check{c, f, step == 0 || known && own.Micros > 0 && own.Micros%step == 0})
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

// Step is the longest step of time, in microseconds from 2000-01-01, within which an expression does not depend on a timestamp column; 0: on none. Zone is nil but of a timestamp with time zone: there a step
// ends also where the zone's clocks are set otherwise.
type Step struct {
	Micros int64
	Zone   *time.Location
}

// StepOfTime is the step of an expression that reads a timestamp column through fields and truncations only.
func (z *Intervals) StepOfTime(x plan.Scalar, id plan.ColID, seen map[plan.ColID]bool) (step Step, ok bool) {
	switch n := x.(type) {
	case *plan.Col:
		if d, isDef := z.Defs[n.ID]; isDef && !seen[n.ID] {
			seen[n.ID] = true
			return z.StepOfTime(d.Expr, id, seen)
		}
		return Step{}, z.Base(n.ID) != id
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
			return Step{}, false
		}
		if step.Micros == 0 || s.Micros != 0 && s.Micros < step.Micros {
			step = s
		}
	}
	return step, true
}

// Moments are one of each step of time between two, or several.
//
// Proof: claim: a moment of each day and of each hour of a zone's clocks is among them, however short it is. (1) Where clocks are set otherwise, the last moment before and the first one after are added.
// A day or an hour that ends or begins so has one of them. Another one has 24 hours or 60 minutes: a multiple of the step is in it, if it does not begin before from or end after to. (2) Else from or to is in it.
func (s Step) Moments(from, to int64) (out []int64) {
	if from > to {
		return nil
	}
	out = append(out, from)
	for n := from; ; {
		next := s.Micros - (n%s.Micros+s.Micros)%s.Micros // until the next step's beginning
		if to-n < next {
			break
		}
		n += next
		out = append(out, n)
	}
	if s.Zone == nil {
		return out
	}
	out = append(out, to) // (2)
	for at := time.Unix(epoch+from/1e6-1, 0).In(s.Zone); ; {
		_, end := at.ZoneBounds()
		if end.IsZero() || end.Unix()-epoch > to/1e6+1 {
			return out
		}
		if !end.After(at) { // a rule that goes on for ever ends each year, and in a leap year a day early
			end = at.AddDate(0, 0, 1)
		} else if n := (end.Unix() - epoch) * 1e6; n > from && n <= to {
			out = append(out, n-1, n) // (1)
		}
		at = end.In(s.Zone)
	}
}

// epoch is 2000-01-01 in Unix's seconds.
const epoch = 946_684_800

// fieldStep is the step of a field or a truncation of a column.
func fieldStep(n *plan.Call) (Step, bool) {
	hour, day := Step{Micros: relation.MicrosPerDay / 24}, Step{Micros: relation.MicrosPerDay}
	if n.Args[len(n.Args)-1].Type().OID == sqltype.OIDTimestamptz {
		if n.Fn.Zone == nil {
			return Step{}, false
		}
		hour.Zone, day.Zone = n.Fn.Zone, n.Fn.Zone
	}
	if n.Fn.Name == "cast" && n.T.OID == sqltype.OIDDate {
		return day, true
	}
	if len(n.Args) != 2 || !slices.Contains([]string{"date_trunc", "date_part", "extract"}, n.Fn.Name) {
		return Step{}, false
	}
	field, _ := n.Args[0].(*plan.Const)
	if field == nil {
		return Step{}, false
	}
	switch field.Value {
	case "hour":
		return hour, true
	case "day", "week", "month", "quarter", "year", "decade", "century", "millennium", "dow", "isodow", "doy", "isoyear":
		return day, true
	}
	return Step{}, false
}
