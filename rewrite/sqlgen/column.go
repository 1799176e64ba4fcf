package sqlgen

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// column prints a column; in range mode the scans' declared ranges are put in.
func (f *from) column(p *printer, id plan.ColID, m mode) string {
	p.noList(f, id)
	c, ok := f.cols[id]
	if !ok && f.outer != nil {
		return f.outer.column(p, id, m)
	}
	if !ok {
		return p.fail(internalError("column %d is not in reach", id))
	}
	if c.memo[m] == "" {
		c.memo[m] = c.print(p, f, id, m)
	}
	return c.memo[m]
}

func (c *column) print(p *printer, f *from, id plan.ColID, m mode) string {
	switch {
	case c.expr != nil:
		return p.scalar(c.expr, f, m)
	case c.sub != nil:
		return c.sub.export(p, id, m)
	case c.read != nil && c.ref == "":
		c.ref = c.read()
	}
	if m == inRange {
		if clamp, ok := p.clamped[id]; ok {
			return p.clampColumn(c.ref, c.typ, clamp)
		}
	}
	return c.ref
}

// export adds a column to the list.
func (s *subquery) export(p *printer, id plan.ColID, m mode) string {
	if name, ok := s.fixed[id]; ok {
		s.used = append(s.used, id)
		return s.alias + "." + name
	}
	text := p.named(s.in, id, m)
	name, ok := s.names[text]
	if !ok {
		name = quote(fmt.Sprintf("c%d", len(s.names)+1))
		s.names[p.held(text)] = name
		s.list = append(s.list, text+" AS "+name)
		t, _ := s.in.typeOf(id)
		s.exports = append(s.exports, export{text, t})
	}
	return s.alias + "." + name
}

// clampColumn reads a table's column through its declared range. NULL stays NULL (it fails both comparisons) and NaN, which is
// above all numbers in both backends, becomes the upper end.
func (p *printer) clampColumn(ref string, t sqltype.Type, c sensitivity.Clamp) string {
	end := func(d decimal.Decimal) string {
		switch t.OID {
		case sqltype.OIDDate:
			return p.constant(sqltype.Days(d.IntPart()), t) //nolint:gosec // within the dates
		case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
			return p.constant(sqltype.Micros(d.IntPart()), t)
		}
		text, err := p.number(d, t)
		if err != nil {
			return p.fail(err)
		}
		return text
	}
	lo, hi := end(c.Lo), end(c.Hi)
	least, most := integerLimits(t)
	out := "(CASE"
	if most == nil || c.Hi.LessThan(*most) {
		out += fmt.Sprintf(" WHEN %s > %s THEN %s", ref, hi, hi)
	}
	if least == nil || c.Lo.GreaterThan(*least) {
		out += fmt.Sprintf(" WHEN %s < %s THEN %s", ref, lo, lo)
	}
	if out == "(CASE" {
		return ref
	}
	return out + " ELSE " + ref + " END)"
}

// clampedColumn: a column that is read through its range. It is NULL where what is stored is, and nowhere else.
func (p *printer) clampedColumn(x plan.Scalar, f *from) bool {
	c, ok := x.(*plan.Col)
	if !ok {
		return false
	}
	if _, ok := p.clamped[c.ID]; ok {
		return true
	}
	col := f.cols[c.ID]
	return col != nil && col.expr != nil && p.clampedColumn(col.expr, f)
}

// integerLimits are the least and the greatest value of an integer type: a clamp there does nothing.
func integerLimits(t sqltype.Type) (least, most *decimal.Decimal) {
	if !t.IsInteger() {
		return nil, nil
	}
	half := decimal.NewFromInt(1 << (uint(t.Len())*8 - 2)) // 2^63 is no int64
	lo, hi := half.Mul(decimal.NewFromInt(-2)), half.Mul(decimal.NewFromInt(2)).Sub(decimal.NewFromInt(1))
	return &lo, &hi
}
