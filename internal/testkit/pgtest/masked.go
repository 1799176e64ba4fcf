package pgtest

import "regexp"

// notNull are the names that information_schema gives to NOT NULL: they hold a table's number.
var notNull = regexp.MustCompile(`^\d+_(\d+)(_\d+_not_null)$`)

// Masked is a value of the catalogs with names in place of the numbers that each server gives.
func Masked(v string, names map[string]string) string {
	if m := notNull.FindStringSubmatch(v); m != nil {
		return "<not null " + names[m[1]] + m[2]
	}
	if n, ok := names[v]; ok {
		return "<" + n + ">"
	}
	if laterOptions.MatchString(v) {
		return "NULL"
	}
	return v
}
