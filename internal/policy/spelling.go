package policy

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Qualified spells a name of one or more parts as a policy does: a part that is not letters, digits, _ and $ in double quotes,
// empty parts left out.
func Qualified(parts ...string) string { return qualified(parts...) }

// SplitName reads a name of at most most parts, as Qualified spells it.
func SplitName(text string, most int) ([]string, error) { return parseDotted(text, most) }

// Arrow spells a way to a unit: "a -> t.b" or "(a, b) -> t.(c, d)". An empty schema is the default one.
func Arrow(columns []string, schema, table string, parentColumns []string) string {
	return arrow(columns, &tableDecl{schema: schema, name: table}, parentColumns)
}

// SplitArrow reads what Arrow spells.
func SplitArrow(text string) (columns []string, schema, table string, parentColumns []string, err error) {
	p, err := parsePath(text)
	return p.columns, p.schema, p.table, p.parentColumns, err
}

// ValidDataset reports that a name can be a data set's.
func ValidDataset(name string) bool { return datasetName.MatchString(name) }

// LeadsToUnit reports that a column of the type can lead to the unit: rows are found by it, and nothing else is done with it.
func LeadsToUnit(t sqltype.Type) bool { return t.IsKey() }

// CanBeUnit reports that a column of the type can be the unit, by which rows are also grouped.
func CanBeUnit(t sqltype.Type) bool { return t.IsKey() && t.IsGroupable() }

// LongestName is the most bytes that a name has.
const LongestName = maxName

// NeedsRange reports the numbers that are summed only where the policy gives range or step: their type has no grid.
func NeedsRange(t sqltype.Type) bool {
	_, _, scaled := t.NumericMod()
	return t.IsNumber() && !t.IsInteger() && !scaled
}

// checkValue says why a text cannot stand in a column's values.
func checkValue(text string, t sqltype.Type) error {
	if !domainType(t) {
		return fmt.Errorf("a column of %s has no values", typeText(t))
	}
	_, err := domainValue(text, t)
	return err
}

// Place is where an end of a range of numbers, dates or timestamps stands: ends of one type compare by it.
func Place(text string, t sqltype.Type) (decimal.Decimal, error) {
	if isDay(t) {
		iv, err := dayRange(text, text, t)
		if err != nil {
			return decimal.Decimal{}, err
		}
		return iv.Lo, nil
	}
	d, ok := parseDecimal(text)
	if !ok || !t.IsNumber() {
		return d, fmt.Errorf("%q is no end of a range of %s", clip(text), typeText(t))
	}
	return d, nil
}

// CheckRange says why two texts cannot be the ends of a column's range.
func CheckRange(lo, hi string, t sqltype.Type) error {
	if isDay(t) {
		if !dayLike.MatchString(lo) || !dayLike.MatchString(hi) {
			return fmt.Errorf("%q to %q are no days", clip(lo), clip(hi))
		}
		_, err := dayRange(lo, hi, t)
		return err
	}
	a, err := Place(lo, t)
	if err != nil {
		return err
	}
	b, err := Place(hi, t)
	if err != nil {
		return err
	}
	if a.GreaterThan(b) {
		return fmt.Errorf("%s is above %s", a, b)
	}
	return checkRange(a, b, t)
}
