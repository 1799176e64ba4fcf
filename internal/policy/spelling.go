package policy

import "github.com/dpsql/dpsql/internal/sqltype"

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
func CanBeUnit(t sqltype.Type) bool { return t.IsKey() && t.Groupable() }

// LongestName is the most bytes that a name has.
const LongestName = maxName

// NeedsRange reports the numbers that are summed only where the policy gives range or step: their type has no grid.
func NeedsRange(t sqltype.Type) bool {
	_, _, scaled := t.NumericMod()
	return t.IsNumber() && !t.IsInteger() && !scaled
}
