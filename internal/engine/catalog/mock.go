package catalog

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// mockDeep limits the way of foreign keys along which a made-up value is looked for.
const mockDeep = 8

// mockValue is what column c of a table has in the made-up row i, from 0: of the declared domain or range; keys are running numbers, and what refers to a key has that one's. It is a function of the
// table as the policy publishes it.
func mockValue(t *plan.Table, c, i, deep int) sqltype.Value {
	col := t.Columns[c]
	if d := col.Domain; d != nil && d.From == nil {
		values := slices.DeleteFunc(slices.Clone(d.Values), func(v sqltype.Value) bool { return v == nil })
		if len(values) == 0 {
			return nil
		}
		return values[(i+c)%len(values)]
	}
	if to, at, ok := referred(t, c); ok && deep < mockDeep && to.Columns[at].Visible { // what the analyst may not see is not told by its range
		if v := mockValue(to, at, i, deep+1); v != nil && to.Columns[at].Type == col.Type {
			return v
		}
	}
	key := t.UnitCol == c || slices.ContainsFunc(t.Of, func(way *plan.Table) bool { return way.UnitCol == c }) || slices.ContainsFunc(t.Keys, func(k []int) bool { return slices.Contains(k, c) })
	switch {
	case col.Range != nil && key && col.Type.IsInteger():
		if v := col.Range.Lo.Add(decimal.NewFromInt(int64(i))); v.LessThanOrEqual(col.Range.Hi) {
			return firstOf(col.Type, v.String())
		}
	case col.Range != nil && !key:
		return spread(col, (i*618+c*379)%1000)
	}
	return typical(col.Type, i+1)
}

// referred is the column whose values a column has: of a public domain's table, or of a foreign key's.
func referred(t *plan.Table, c int) (*plan.Table, int, bool) {
	if d := t.Columns[c].Domain; d != nil && d.From != nil {
		return d.From, d.FromColumn, true
	}
	for _, way := range append([]*plan.Table{t}, t.Of...) {
		if p := way.Path; p != nil {
			if i := slices.Index(p.Columns, c); i >= 0 {
				return p.Parent, p.ParentColumns[i], true
			}
		}
	}
	for _, r := range t.References {
		if i := slices.Index(r.Columns, c); i >= 0 && r.Table != t {
			return r.Table, r.RefColumns[i], true
		}
	}
	return nil, 0, false
}

// spread is a value at so many thousandths of a declared range, on the column's grid.
func spread(col plan.TableColumn, thousandths int) sqltype.Value {
	r, t := col.Range, col.Type
	step := decimal.New(1, -2)
	switch _, scale, ok := t.NumericMod(); {
	case col.Step != nil:
		step = *col.Step
	case t.OID == sqltype.OIDTimestamp:
		step = decimal.NewFromInt(60_000_000) // minutes
	case ok:
		step = decimal.New(1, -int32(scale)) //nolint:gosec // at most 1000
	case !t.IsFloat() && t.OID != sqltype.OIDNumeric:
		step = decimal.NewFromInt(1)
	}
	v := r.Lo.Add(r.Hi.Sub(r.Lo).Mul(decimal.New(int64(thousandths), -3)))
	if v = v.Div(step).Floor().Mul(step); v.LessThan(r.Lo) {
		v = r.Lo
	}
	return ofNumber(t, v)
}

// ofNumber is a number as a value of a type: of days, their number from 2000-01-01.
func ofNumber(t sqltype.Type, v decimal.Decimal) sqltype.Value {
	switch t.OID {
	case sqltype.OIDDate:
		return sqltype.Days(v.IntPart()) //nolint:gosec // within a declared range of dates
	case sqltype.OIDTimestamp:
		return sqltype.Micros(v.IntPart())
	}
	return firstOf(t, v.String())
}

// typical is the nth value of a type of which nothing is declared; NULL where none is known.
func typical(t sqltype.Type, n int) sqltype.Value {
	text := fmt.Sprintf("mock %d", n)
	switch {
	case t.IsEnum():
		e, _ := t.Enum()
		if len(e.Labels) == 0 {
			return nil
		}
		text = e.Labels[(n-1)%len(e.Labels)]
	case t.IsNumber():
		return firstOf(t, strconv.Itoa(n), strconv.Itoa(n%10), "0")
	case t.IsArray():
		text = "{}"
	}
	switch t.OID {
	case sqltype.OIDBool:
		return n%2 == 0
	case sqltype.OIDDate:
		return sqltype.Days(n - 1) //nolint:gosec // few
	case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		return sqltype.Micros(int64(n-1) * 86_400_000_000)
	case sqltype.OIDTime:
		text = fmt.Sprintf("%02d:00", n%24)
	case sqltype.OIDInterval:
		text = fmt.Sprintf("%d hours", n)
	case sqltype.OIDUUID:
		text = fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
	case sqltype.OIDJSON, sqltype.OIDJSONB:
		text = fmt.Sprintf(`{"mock": %d}`, n)
	}
	return firstOf(t, text, strconv.Itoa(n), "0")
}

// firstOf is the first of some texts that is a value of a type, whole; NULL where none is.
func firstOf(t sqltype.Type, texts ...string) sqltype.Value {
	for _, text := range texts {
		v, err := sqltype.ParseText(text, t)
		if s, is := v.(string); err == nil && (!is || len(s) >= len(text)) {
			return v
		}
	}
	return nil
}
