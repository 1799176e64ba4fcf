package sensitivity

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

const (
	mostDerived = 1000  // groups of a derived key: more are chosen with noise, so that few people are not drowned in empty groups
	mostWhole   = 100   // groups of a key that may have few people in each
	mostTried   = 20000 // values that a key is computed for
)

// addDerived takes a key that is computed from one private column with few public values: those that the policy lists, whole numbers and days between
// ends that the policy or WHERE gives, or those that WHERE lists. The key's values are computed for each. The print filters rows to them, so
// that nothing rests on the list being complete; it is, but for values outside a declared range or list.
func (z *grouper) addDerived(i int, x plan.Scalar) error {
	t := z.out.Keys[i].Type
	id, ok := z.onlyColumn(x)
	if !ok {
		return nil
	}
	s := z.owner[id]
	base, why, ok := z.valuesOf(s, id, x)
	if !ok || len(base) > mostTried {
		return nil
	}
	f, err := z.function(x, id)
	if err != nil { // no Go evaluation: the groups are unknown
		return nil //nolint:nilerr // no mistake
	}
	if allowed, _ := z.allowed(s, id); z.canColumnBeNull(id, stored) && allowed(nil) && !slices.Contains(base, nil) {
		if y, err := f(nil); err == nil && y != nil { // NULL is no listed value, but the statement makes one of it
			base = append(base, nil)
		}
	}
	src := Source{Keys: []int{i}, Why: why}
	seen := map[string]bool{}
	for _, v := range base {
		if err := z.ctx.Err(); err != nil {
			return err
		}
		y, err := f(v)
		if sqlerr.ID(err) == sqlerr.NumericRange.ID && z.hasComputedFloat(x, map[plan.ColID]bool{}) { // NULL on PostgreSQL, infinite on DuckDB
			return nil
		}
		if err != nil { // the total form is NULL where PostgreSQL raises
			y = nil
		}
		tuple := []sqltype.Value{nil}
		if y != nil {
			tuple[0] = literal(y, t)
		}
		if text := tupleText(tuple); !seen[text] {
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
func (z *grouper) addWhole(i int, x plan.Scalar) {
	t := z.out.Keys[i].Type
	if scale, known := z.scaleOf(x); !known || scale != 0 || !t.IsInteger() && t.OID != sqltype.OIDNumeric {
		return
	}
	few, ok := z.behind(x).(*plan.Call)
	if ok && few.Fn.Kind == funcs.Cast {
		few, ok = z.behind(few.Args[0]).(*plan.Call)
	}
	iv := z.rangeOf(x).iv
	if !ok || !slices.Contains(ofFewResults, few.Fn.Name) || iv == nil || iv.Hi.Sub(iv.Lo).GreaterThanOrEqual(decimal.NewFromInt(mostWhole)) {
		return
	}
	src := Source{Keys: []int{i}, Why: "the results of " + few.Fn.Name}
	for v := iv.Lo.Ceil(); v.LessThanOrEqual(iv.Hi); v = v.Add(decimal.NewFromInt(1)) {
		var key sqltype.Value = v
		if t.IsInteger() {
			key = v.IntPart()
		}
		src.Tuples = append(src.Tuples, []sqltype.Value{literal(key, t)})
	}
	z.append(src, z.canKeyBeNull(x))
}

// canKeyBeNull reports whether a grouping expression can be NULL in a row that the statement counts. Rows in which ofFewResults gives NULL of something that is not, as of the month of an infinite time, are in no group.
//
// Proof: Analyze's (8), that groups are public by policy, literals and public tables alone, does not rest on it, as with other conditions on public groups: rows of a tuple that is not listed are dropped. That there are none: (1) a column of which the statement's conditions do not keep NULL (allowed) is not NULL in a row that is counted; (2) for what is computed from columns canBeNull says the rest.
func (z *grouper) canKeyBeNull(x plan.Scalar) bool {
	if !z.canBeNull(x, stored) {
		return false
	}
	known := z.nulls
	defer func() { z.nulls = known }()
	z.nulls = map[readColumn]bool{}
	z.leaves(x, func(id plan.ColID) {
		if s := z.owner[id]; s != nil {
			if allowed, _ := z.allowed(s, id); !allowed(nil) { // (1) the conditions do not keep NULL
				z.nulls[readColumn{id, stored}] = false
			}
		}
	})
	y := z.behind(x)
	if c, ok := y.(*plan.Call); ok && c.Fn.Kind == funcs.Cast && len(c.Args) == 1 {
		y = z.behind(c.Args[0])
	}
	if c, ok := y.(*plan.Call); ok && slices.Contains(ofFewResults, c.Fn.Name) && !z.isPadded(x) {
		return z.canAnyBeNull(c.Args, stored)
	}
	return z.canBeNull(x, stored) // (2) what is computed may be NULL of itself
}

// isPadded reports an expression over a computed column that an outer join may make NULL.
func (z *grouper) isPadded(x plan.Scalar) (is bool) {
	z.through(x, func(plan.ColID) {}, func(plan.ColID) { is = true })
	return is
}

// reachableResults leaves out of the results of a key's form those that no row has which meets the conditions, by the public values of the one column that it is computed from.
//
// Proof: of Analyze's (8), as in prune.go: what stays follows from the policy, the literals and the conditions alone. A result stays that a public value gives which the conditions keep, or that no public value gives at all: it is of values that the
// policy does not list. So a row of a result that is left out has a value which is not listed; it is dropped.
func (z *grouper) reachableResults(x plan.Scalar, results []sqltype.Value, t sqltype.Type) []sqltype.Value {
	id, ok := z.onlyColumn(x)
	if !ok {
		return results
	}
	s := z.owner[id]
	f, err := z.function(x, id)
	kept, _, ok := z.valuesOf(s, id, x)
	if err != nil || !ok {
		return results
	}
	if allowed, _ := z.allowed(s, id); z.canColumnBeNull(id, stored) && allowed(nil) {
		kept = append(kept, nil) // also where the policy does not list it
	}
	free := *s
	free.in = &block{}
	z.owner[id] = &free
	all, _, ok := z.valuesOf(&free, id, x)
	z.owner[id] = s
	if !ok && s.scan.Table.Columns[slices.Index(s.scan.Columns, id)].Range != nil || (len(kept)+len(all))*relation.Size(x) > mostChecked {
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
				y = literal(y, t)
			}
			out[tupleText([]sqltype.Value{y})] = true
		}
		return out
	}
	with, without := given(kept), given(all)
	if err != nil {
		return results
	}
	return slices.DeleteFunc(slices.Clone(results), func(v sqltype.Value) bool {
		text := tupleText([]sqltype.Value{v})
		return !with[text] && (without[text] || !ok)
	})
}

// valuesOf lists a column's public values in rows that WHERE keeps, NULL among them where a row can have it.
func (z *grouper) valuesOf(s *scanInfo, id plan.ColID, x plan.Scalar) (out []sqltype.Value, why string, ok bool) {
	attr := slices.Index(s.scan.Columns, id)
	c := s.scan.Table.Columns[attr]
	name, null := z.tableColumn(s, attr), z.canColumnBeNull(id, stored)
	list, inWhere := z.listed(s, id)
	step := int64(0) // of each step one point stands for all
	switch {
	case c.Domain != nil && c.Domain.From == nil:
		for _, v := range c.Domain.Values {
			if v != nil {
				v = literal(v, c.Type)
			}
			out = append(out, v)
		}
		why, null = "values of "+name, s.nullable()
	case inWhere:
		for _, v := range list {
			out = append(out, literal(v, c.Type))
		}
		why = "values of " + name + " in WHERE"
	case c.Type.OID == sqltype.OIDBool:
		out, why = []sqltype.Value{false, true}, "true and false"
	default:
		if out, ok = z.steppedValues(id, c, x); !ok {
			return nil, "", false
		}
		why = fmt.Sprintf("%d values of %s", len(out), name)
		if c.Type.OID == sqltype.OIDTimestamp {
			step, _ = z.stepOfTime(x, id, map[plan.ColID]bool{})
		}
	}
	if null {
		out = append(out, nil)
	}
	if !isSameOnBackends(out, x, c.Type) {
		return nil, "", false
	}
	allowed, nodes := z.allowedIn(s, id, step)
	if nodes*len(out) > mostChecked {
		if step > 0 {
			return out, why, true
		}
		return nil, "", false
	}
	return slices.DeleteFunc(out, func(v sqltype.Value) bool { return !allowed(v) }), why, true
}

// steppedValues are the whole numbers, days or steps of time of a column between ends that policy and WHERE give.
func (z *grouper) steppedValues(id plan.ColID, c plan.TableColumn, x plan.Scalar) (out []sqltype.Value, ok bool) {
	if !isDiscrete(c.Type) {
		return nil, false
	}
	in := spanOf(c.Range).meet(z.narrowed(id))
	if in.lo == nil || in.hi == nil {
		return nil, false
	}
	lo, hi := in.lo.Ceil(), in.hi.Floor()
	step := int64(1)
	if c.Type.OID == sqltype.OIDTimestamp {
		if step, ok = z.stepOfTime(x, id, map[plan.ColID]bool{}); !ok || step == 0 {
			return nil, false
		}
	}
	if !lo.Coefficient().IsInt64() || hi.Sub(lo).GreaterThan(decimal.NewFromInt(step).Mul(decimal.NewFromInt(mostTried))) {
		return nil, false
	}
	at := func(n int64) sqltype.Value {
		switch c.Type.OID {
		case sqltype.OIDDate:
			return sqltype.Days(n)
		case sqltype.OIDTimestamp:
			return sqltype.Micros(n)
		}
		return n
	}
	first, last := lo.IntPart(), hi.IntPart()
	for n := first; n <= last; n++ {
		out = append(out, at(n))
		if step > 1 { // the next step's beginning
			n += step - (n%step+step)%step - 1
		}
	}
	return out, true
}
