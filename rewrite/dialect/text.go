package dialect

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Quote is a quoted identifier; a NUL cannot be in one.
func Quote(name string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(name, "\x00", ""), `"`, `""`) + `"`
}

// HasSubquery tells whether a printed expression has a subquery. A text in it that looks like one counts, too: it is refused then, where none need be.
func HasSubquery(text string) bool { return strings.Contains(text, "(SELECT ") }

// NotHere refuses what only PostgreSQL computes.
func NotHere(what string, pos int) *sqlerr.Error {
	return sqlerr.New(sqlerr.PrivateFunction, "%s cannot be computed by the data set's database here", what).At(pos).
		WithHint("Where the data set is in PostgreSQL it can.")
}

// DifferentScales refuses decimals that could only be rounded to one scale.
func DifferentScales() error {
	return sqlerr.New(sqlerr.PrivateFunction, "numerics of different scales cannot stand side by side in the data set's database here").
		WithHint("Cast each to one type, such as numeric(18,4).")
}

// endless is in days beyond all dates, and further from them than any offset of a frame reaches.
const endless = "1000000000000"

// DaysOf is a date in days, which are those of a finite one. An infinite one is as far from all others as it is by any number of days (interval offsets are less than 2^31 days).
func DaysOf(date, days string) string {
	return "(CASE " + date + " WHEN DATE 'infinity' THEN " + endless + " WHEN DATE '-infinity' THEN -" + endless + " ELSE " + days + " END)"
}

// HasOneSpelling tells of types whose values are equal only where their texts are.
func HasOneSpelling(t sqltype.Type) bool {
	switch t.OID {
	case sqltype.OIDBool, sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDTimestamptz, sqltype.OIDTime, sqltype.OIDUUID, sqltype.OIDBytea:
		return true
	}
	return t.IsInteger() || t.IsEnum()
}
