package policy

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

var integerLimit = map[sqltype.OID]decimal.Decimal{
	sqltype.OIDInt2: decimal.NewFromInt(math.MaxInt16),
	sqltype.OIDInt4: decimal.NewFromInt(math.MaxInt32),
	sqltype.OIDInt8: decimal.NewFromInt(math.MaxInt64),
}

func typeText(t sqltype.Type) string {
	if !t.IsReadable() {
		return "an unknown type"
	}
	return "type " + t.String()
}

// checkRange says why a range does not fit a type: of exact types its ends must be values.
func checkRange(lo, hi decimal.Decimal, t sqltype.Type) error {
	if !t.IsNumber() {
		return fmt.Errorf("a column of %s has none", typeText(t))
	}
	for _, x := range []decimal.Decimal{lo, hi} {
		if err := fitsType(x, t); err != nil {
			return err
		}
	}
	return nil
}

// isDay: a type whose ranges are of dates.
func isDay(t sqltype.Type) bool { return t.OID == sqltype.OIDDate || t.OID == sqltype.OIDTimestamp }

// dayRange reads a range of dates, in days, or of timestamps, in microseconds, both from 2000-01-01.
func dayRange(first, last string, t sqltype.Type) (*num.Interval, error) {
	if !isDay(t) {
		return nil, fmt.Errorf("a column of %s has none of dates", typeText(t))
	}
	var ends [2]decimal.Decimal
	for i, text := range []string{first, last} {
		v, err := sqltype.ParseText(text, t)
		if err != nil {
			return nil, fmt.Errorf("%q is no value of type %s", text, t)
		}
		switch x := v.(type) {
		case sqltype.Days:
			ends[i] = decimal.NewFromInt(int64(x))
		case sqltype.Micros:
			ends[i] = decimal.NewFromInt(int64(x))
		}
	}
	if ends[0].GreaterThan(ends[1]) {
		return nil, fmt.Errorf("%s is after %s", first, last)
	}
	return &num.Interval{Lo: ends[0], Hi: ends[1]}, nil
}

func fitsType(x decimal.Decimal, t sqltype.Type) error {
	if limit, ok := integerLimit[t.OID]; ok {
		if !x.IsInteger() {
			return fmt.Errorf("%s is not a whole number, but the column is %s", x, t)
		}
		if x.Abs().GreaterThan(limit) {
			return fmt.Errorf("%s is out of range for type %s", x, t)
		}
		return nil
	}
	if precision, scale, ok := t.NumericMod(); ok {
		if !x.Equal(x.Truncate(int32(scale))) || scale < 0 && !x.Mod(decimal.New(1, int32(-scale))).IsZero() {
			return fmt.Errorf("%s has more decimals than %s", x, t)
		}
		if x.Abs().GreaterThanOrEqual(decimal.New(1, int32(precision-scale))) {
			return fmt.Errorf("%s is out of range for type %s", x, t)
		}
	}
	if t.OID == sqltype.OIDFloat4 && x.Abs().GreaterThan(decimal.NewFromFloat(math.MaxFloat32)) {
		return fmt.Errorf("%s is out of range for type %s", x, t)
	}
	return nil
}

// checkStep says why a grid's step does not fit a type.
func checkStep(step decimal.Decimal, t sqltype.Type) error {
	if t.IsInteger() || !t.IsNumber() {
		return fmt.Errorf("a column of %s has none", typeText(t))
	}
	return fitsType(step, t)
}

// values reads a domain in the column's type; what a stored value could never equal is refused.
func (b *binding) values(t *tableDecl, c *columnDecl, pc *plan.TableColumn) []sqltype.Value {
	what := fmt.Sprintf("column %s.%s: values", t, quoteName(pc.Name))
	if !domainType(pc.Type) {
		b.add(c.valuesAt, "%s: a column of %s has none", what, typeText(pc.Type))
		return nil
	}
	seen := map[string]bool{}
	out := make([]sqltype.Value, 0, len(c.values))
	for _, v := range c.values {
		key := "null"
		var val sqltype.Value
		if v.null {
			if pc.NotNull {
				b.add(v.position, "%s: null is listed, but the column is NOT NULL", what)
			}
		} else {
			var err error
			if val, err = domainValue(v.text, pc.Type); err != nil {
				b.add(v.position, "%s: %v", what, err)
				continue
			}
			key = "=" + canonicalText(val, pc.Type)
		}
		if d, ok := exactValue(val); ok && pc.Range != nil && (d.LessThan(pc.Range.Lo) || d.GreaterThan(pc.Range.Hi)) {
			b.add(v.position, "%s: %s is outside the column's range", what, clip(v.text))
		}
		if seen[key] {
			b.add(v.position, "%s: %s is listed twice", what, clip(v.text))
			continue
		}
		seen[key] = true
		out = append(out, val)
	}
	return out
}

// exactValue is a value as a decimal, if it is a number.
func exactValue(v sqltype.Value) (decimal.Decimal, bool) {
	switch x := v.(type) {
	case int64:
		return decimal.NewFromInt(x), true
	case float64:
		return decimal.NewFromFloat(x), true
	case decimal.Decimal:
		return x, true
	}
	return decimal.Decimal{}, false
}

func domainType(t sqltype.Type) bool {
	switch t.OID {
	case sqltype.OIDBool, sqltype.OIDText, sqltype.OIDVarchar, sqltype.OIDBPChar, sqltype.OIDDate, sqltype.OIDTimestamp,
		sqltype.OIDTimestamptz, sqltype.OIDTime, sqltype.OIDUUID:
		return true
	}
	return t.IsNumber() || t.IsEnum()
}

func domainValue(text string, t sqltype.Type) (sqltype.Value, error) {
	if t.OID == sqltype.OIDBool {
		switch text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("%q is not true or false", clip(text))
	}
	if t.IsNumber() {
		d, ok := parseDecimal(text)
		if !ok {
			return nil, fmt.Errorf("%q is not a number", clip(text))
		}
		if err := fitsType(d, t); err != nil {
			return nil, err
		}
		if !t.IsInteger() && !t.IsFloat() {
			text = d.String()
		} else if t.IsInteger() {
			text = d.StringFixed(0)
		}
	}
	v, err := sqltype.ParseText(text, t)
	if err != nil {
		return nil, fmt.Errorf("%q is not a value of type %s", clip(text), t)
	}
	switch x := v.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, errors.New("NaN and infinities cannot be listed")
		}
		v = x + 0 // -0 is 0
	case string:
		if t.OID == sqltype.OIDVarchar && x != text {
			return nil, fmt.Errorf("%q is too long for type %s", clip(text), t)
		}
	}
	return v, nil
}

// canonicalText is equal for equal values.
func canonicalText(v sqltype.Value, t sqltype.Type) string {
	switch x := v.(type) {
	case decimal.Decimal:
		return x.String()
	case string:
		if t.OID == sqltype.OIDBPChar {
			return strings.TrimRight(x, " ")
		}
	}
	return sqltype.FormatText(v, t)
}

// domains resolves the domains that are public tables' columns.
func (b *binding) domains(bt *boundTable) {
	for i := range bt.table.Columns {
		pc := &bt.table.Columns[i]
		c := bt.decl.column(pc.Name)
		if c == nil || c.from == nil {
			continue
		}
		from := b.bound[c.from.table]
		if from == nil {
			continue
		}
		what := fmt.Sprintf("column %s.%s: values.from", bt.decl, quoteName(pc.Name))
		j := from.columnIndex(c.from.column)
		rc, _ := from.rel.Column(c.from.column)
		switch {
		case rc.Denied && j >= 0: // said of the table
		case rc.Denied:
			b.add(c.from.at, "%s: the backend's role may not read %s.%s", what, c.from.table, quoteName(c.from.column)).hint("%s", grantSelect(from.rel, []string{c.from.column}))
		case j < 0:
			b.add(c.from.at, "%s: table %s has no listed column %s", what, c.from.table, quoteName(c.from.column))
		case !domainType(pc.Type) || !sqltype.SameKey(pc.Type, from.table.Columns[j].Type):
			b.add(c.from.at, "%s: %s.%s is %s but the column is %s", what, c.from.table, quoteName(c.from.column), from.table.Columns[j].Type, pc.Type)
		default:
			if c.nullAt != nil && pc.NotNull {
				b.add(*c.nullAt, "column %s.%s: values: null is listed, but the column is NOT NULL", bt.decl, quoteName(pc.Name))
			}
			pc.Domain = &plan.Domain{From: from.table, FromColumn: j, OrNull: c.nullAt != nil}
		}
	}
}

var dayLike = regexp.MustCompile(`^\d{4,6}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$`)

// isOdd reports an end that nobody would choose from the meaning of a column: more than two digits that matter.
func isOdd(d decimal.Decimal) bool {
	if d.Abs().IsInteger() && slices.Contains(usual, d.Abs().IntPart()) {
		return false
	}
	digits := strings.TrimRight(strings.TrimLeft(d.Abs().Coefficient().String(), "0"), "0")
	year := d.IsInteger() && d.GreaterThanOrEqual(decimal.NewFromInt(1800)) && d.LessThanOrEqual(decimal.NewFromInt(2200))
	return len(digits) > 2 && !nines.MatchString(digits) && !year
}

// usual are numbers that people choose although they have many digits: days, minutes, hours, seconds, degrees, powers of two.
var usual = []int64{365, 366, 168, 744, 1440, 8760, 8784, 10080, 3600, 86400, 604800, 125, 128, 255, 256, 511, 512, 1023, 1024, 2047, 2048, 4095, 4096, 32767, 32768, 65535, 65536,
	2147483647, 2147483648, 180, 270, 360}

var nines = regexp.MustCompile(`^9+$`)
