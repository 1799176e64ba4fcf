package groups

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// The limits on the groups of derived keys.
const (
	mostDerived = 1000  // groups of a derived key: more are chosen with noise, so that few people are not drowned in empty groups
	mostWhole   = 100   // groups of a key that may have few people in each
	MostTried   = 20000 // values that a key is computed for
)

// AddDerived takes a key that is computed from one private column with few public values: those that the policy lists, whole numbers and days between
// ends that the policy or WHERE gives, or those that WHERE lists. The key's values are computed for each. The print filters rows to them, so
// that nothing rests on the list being complete; it is, but for values outside a declared range or list.
func (z *Grouper) AddDerived(i int, x plan.Scalar) error {
	t := z.Out.Keys[i].Type
	id, ok := z.OnlyColumn(x)
	if !ok {
		return nil
	}
	s := z.Owner[id]
	base, why, ok := z.ValuesOf(s, id, x)
	if !ok || len(base) > MostTried {
		return nil
	}
	f, err := z.Function(x, id)
	if err != nil { // no Go evaluation: the groups are unknown
		return nil //nolint:nilerr // no mistake
	}
	if allowed, _ := z.Allowed(s, id); z.CanColumnBeNull(id, interval.Stored) && allowed(nil) && !slices.Contains(base, nil) {
		if y, err := f(nil); err == nil && y != nil { // NULL is no listed value, but the statement makes one of it
			base = append(base, nil)
		}
	}
	src := sensitivity.Source{Keys: []int{i}, Why: why}
	seen := map[string]bool{}
	for _, v := range base {
		if err := z.Ctx.Err(); err != nil {
			return err
		}
		y, err := f(v)
		if sqlerr.ID(err) == sqlerr.NumericRange.ID && z.HasComputedFloat(x, map[plan.ColID]bool{}) { // NULL on PostgreSQL, infinite on DuckDB
			return nil
		}
		if err != nil { // the total form is NULL where PostgreSQL raises
			y = nil
		}
		tuple := []sqltype.Value{nil}
		if y != nil {
			tuple[0] = Literal(y, t)
		}
		if text := TupleText(tuple); !seen[text] {
			seen[text] = true
			src.Tuples = append(src.Tuples, tuple)
		}
	}
	if len(src.Tuples) == 0 || len(src.Tuples) > mostDerived {
		return nil
	}
	z.append(src, false)
	return nil
}

// ofFewResults are functions whose results are few whole numbers, whatever they read: an hour is one of 24, a bucket one of those that are asked for.
var ofFewResults = []string{"extract", "date_part", "width_bucket"}

// addWhole takes a key that such a function gives, also behind a cast to a whole number. Proof: of Analyze's (8), groups are public by policy, literals and public tables alone: the
// values follow from the statement and from types: the function's range, which no row has a part in. The print filters rows to them, so nothing rests on the range being right.
func (z *Grouper) addWhole(i int, x plan.Scalar) {
	t := z.Out.Keys[i].Type
	few, ok := z.Behind(x).(*plan.Call)
	if scale, known := z.ScaleOf(x); (!known || scale != 0 || !t.IsInteger() && t.OID != sqltype.OIDNumeric) && (!ok || !relation.IsWholePart(few)) {
		return
	}
	if ok && few.Fn.Kind == funcs.Cast {
		few, ok = z.Behind(few.Args[0]).(*plan.Call)
	}
	iv := z.RangeOf(x)
	if !ok || !slices.Contains(ofFewResults, few.Fn.Name) || iv == nil || iv.Hi.Sub(iv.Lo).GreaterThanOrEqual(decimal.NewFromInt(mostWhole)) {
		return
	}
	src := sensitivity.Source{Keys: []int{i}, Why: "the results of " + few.Fn.Name}
	for v := iv.Lo.Ceil(); v.LessThanOrEqual(iv.Hi); v = v.Add(decimal.NewFromInt(1)) {
		var key sqltype.Value = v
		switch {
		case t.IsInteger():
			key = v.IntPart()
		case t.IsFloat():
			key = v.InexactFloat64()
		}
		src.Tuples = append(src.Tuples, []sqltype.Value{Literal(key, t)})
	}
	z.append(src, z.canKeyBeNull(x))
}

// canKeyBeNull reports whether a grouping expression can be NULL in a row that the statement counts. Rows in which ofFewResults gives NULL of something that is not, as of the month of an infinite time, are in no group.
//
// Proof: Analyze's (8), that groups are public by policy, literals and public tables alone, does not rest on it, as with other conditions on public groups: rows of a tuple that is not listed are dropped. That there are none: (1) a column of which the statement's conditions do not keep NULL (allowed) is not NULL in a row that is counted; (2) for what is computed from columns CanBeNull says the rest.
func (z *Grouper) canKeyBeNull(x plan.Scalar) bool {
	if !z.CanBeNull(x, interval.Stored) {
		return false
	}
	known := z.Nulls
	defer func() { z.Nulls = known }()
	z.Nulls = map[interval.ReadColumn]bool{}
	z.Leaves(x, func(id plan.ColID) {
		if s := z.Owner[id]; s != nil {
			if allowed, _ := z.Allowed(s, id); !allowed(nil) { // (1) the conditions do not keep NULL
				z.Nulls[interval.ReadColumn{ID: id, Reading: interval.Stored}] = false
			}
		}
	})
	y := z.Behind(x)
	if c, ok := y.(*plan.Call); ok && c.Fn.Kind == funcs.Cast && len(c.Args) == 1 {
		y = z.Behind(c.Args[0])
	}
	if c, ok := y.(*plan.Call); ok && slices.Contains(ofFewResults, c.Fn.Name) && !z.isPadded(x) {
		return z.CanAnyBeNull(c.Args, interval.Stored)
	}
	return z.CanBeNull(x, interval.Stored) // (2) what is computed may be NULL of itself
}

// isPadded reports an expression over a computed column that an outer join may make NULL.
func (z *Grouper) isPadded(x plan.Scalar) (is bool) {
	z.Through(x, func(plan.ColID) {}, func(plan.ColID) { is = true })
	return is
}

// reachableResults leaves out of the results of a key's form those that no row has which meets the conditions, by the public values of the one column that it is computed from.
//
// Proof: of Analyze's (8), as in prune.go: what stays follows from the policy, the literals and the conditions alone. A result stays that a public value gives which the conditions keep, or that no public value gives at all: it is of values that the
// policy does not list. So a row of a result that is left out has a value which is not listed; it is dropped.
func (z *Grouper) reachableResults(x plan.Scalar, results []sqltype.Value, t sqltype.Type) []sqltype.Value {
	id, ok := z.OnlyColumn(x)
	if !ok {
		return results
	}
	s := z.Owner[id]
	f, err := z.Function(x, id)
	kept, _, ok := z.ValuesOf(s, id, x)
	if err != nil || !ok {
		return results
	}
	if allowed, _ := z.Allowed(s, id); z.CanColumnBeNull(id, interval.Stored) && allowed(nil) {
		kept = append(kept, nil) // also where the policy does not list it
	}
	free := *s
	free.In = &scope.Block{}
	z.Owner[id] = &free
	all, _, ok := z.ValuesOf(&free, id, x)
	z.Owner[id] = s
	if !ok && s.Scan.Table.Columns[slices.Index(s.Scan.Columns, id)].Range != nil || (len(kept)+len(all))*relation.Size(x) > interval.MostChecked {
		return results
	}
	given := func(list []sqltype.Value) map[string]bool {
		out := map[string]bool{}
		for _, v := range list {
			y, failed := f(v)
			if failed != nil {
				err = failed
			}
			if y != nil {
				y = Literal(y, t)
			}
			out[TupleText([]sqltype.Value{y})] = true
		}
		return out
	}
	with, without := given(kept), given(all)
	if err != nil {
		return results
	}
	return slices.DeleteFunc(slices.Clone(results), func(v sqltype.Value) bool {
		text := TupleText([]sqltype.Value{v})
		return !with[text] && (without[text] || !ok)
	})
}

// ValuesOf lists a column's public values in rows that WHERE keeps, NULL among them where a row can have it.
func (z *Grouper) ValuesOf(s *scope.ScanInfo, id plan.ColID, x plan.Scalar) (out []sqltype.Value, why string, ok bool) {
	attr := slices.Index(s.Scan.Columns, id)
	c := s.Scan.Table.Columns[attr]
	name, null := z.TableColumn(s, attr), z.CanColumnBeNull(id, interval.Stored)
	list, inWhere := z.Listed(s, id)
	step := int64(0) // of each step one point stands for all
	switch {
	case c.Domain != nil && c.Domain.From == nil:
		for _, v := range c.Domain.Values {
			if v != nil {
				v = Literal(v, c.Type)
			}
			out = append(out, v)
		}
		why, null = "values of "+name, s.Nullable()
	case inWhere:
		for _, v := range list {
			out = append(out, Literal(v, c.Type))
		}
		why = "values of " + name + " in WHERE"
	case c.Type.OID == sqltype.OIDBool:
		out, why = []sqltype.Value{false, true}, "true and false"
	default:
		if out, ok = z.steppedValues(id, c, x); !ok {
			return nil, "", false
		}
		why = fmt.Sprintf("%d values of %s", len(out), name)
		if isTime(c.Type) {
			of, _ := z.StepOfTime(x, id, map[plan.ColID]bool{})
			step = of.Micros
		}
	}
	if null {
		out = append(out, nil)
	}
	if !interval.IsSameOnBackends(out, x, c.Type) || relation.ReadsForm(c.Type, x) { // rows may have others that equal those listed
		return nil, "", false
	}
	allowed, nodes := z.AllowedIn(s, id, step)
	if nodes*len(out) > interval.MostChecked {
		if step > 0 {
			return out, why, true
		}
		return nil, "", false
	}
	return slices.DeleteFunc(out, func(v sqltype.Value) bool { return !allowed(v) }), why, true
}

// steppedValues are the whole numbers, days or steps of time of a column between ends that policy and WHERE give.
func (z *Grouper) steppedValues(id plan.ColID, c plan.TableColumn, x plan.Scalar) (out []sqltype.Value, ok bool) {
	if !interval.HasWholeValues(c.Type) {
		return nil, false
	}
	in := interval.SpanOf(c.Range).Meet(z.Narrowed(id))
	if in.Lo == nil || in.Hi == nil {
		return nil, false
	}
	lo, hi := in.Lo.Ceil(), in.Hi.Floor()
	step := interval.Step{Micros: 1}
	if isTime(c.Type) {
		if step, ok = z.StepOfTime(x, id, map[plan.ColID]bool{}); !ok || step.Micros == 0 {
			return nil, false
		}
	}
	if !lo.Coefficient().IsInt64() || hi.Sub(lo).GreaterThan(decimal.NewFromInt(step.Micros).Mul(decimal.NewFromInt(MostTried))) {
		return nil, false
	}
	at := func(n int64) sqltype.Value {
		switch c.Type.OID {
		case sqltype.OIDDate:
			return sqltype.Days(n)
		case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
			return sqltype.Micros(n)
		}
		return n
	}
	for _, n := range step.Moments(lo.IntPart(), hi.IntPart()) {
		out = append(out, at(n))
	}
	return out, true
}

func isTime(t sqltype.Type) bool {
	return t.OID == sqltype.OIDTimestamp || t.OID == sqltype.OIDTimestamptz
}
