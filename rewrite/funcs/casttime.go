package funcs

import "github.com/dpsql/dpsql/internal/base/sqltype"

// The spellings of dates and times that are read from texts of rows. PostgreSQL reads more: others by DateStyle, which a row's text cannot choose, and names of months, days and zones. Each
// pattern means the same to PostgreSQL's regular expressions and to RE2, and PostgreSQL reads whatever matches it, but for days that a month does not have.
const (
	monthShape = `(0?[1-9]|1[0-2])`
	dayShape   = `(0?[1-9]|[12][0-9]|3[01])`
	yearShape  = `([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])`
	daysShape  = `(` + yearShape + `(-` + monthShape + `-` + dayShape + `|/` + monthShape + `/` + dayShape + `|[.]` + monthShape + `[.]` + dayShape + `|(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])))`

	minuteShape = `:[0-5]?[0-9](:[0-5]?[0-9]([.][0-9]{0,20})?)?`
	zoneShape   = `([zZ]|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)`
	zoneNames   = `(UTC|GMT|utc|gmt)`
	clockShape  = `((([01]?[0-9]|2[0-3])` + minuteShape + `|24:00(:00([.]0{0,20})?)?)( ?` + zoneShape + `| ` + zoneNames + `)?|(0?[0-9]|1[0-2])` + minuteShape + ` ?[aApP][mM]( ` + zoneShape + `| ` + zoneNames + `)?)`
	bareClock   = `(([01][0-9]|2[0-3])[0-5][0-9]([0-5][0-9])?)`

	dateText  = space + daysShape + `(([tT]| {1,10})` + clockShape + `)?` + space
	clockText = space + `(` + clockShape + `|` + bareClock + `)` + space
)

// The fields of such texts.
const (
	ymd      = `^` + space + `([0-9]{4})[-/.]?([0-9]{1,2})[-/.]?([0-9]{1,2})`
	clockOf2 = `([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})([.][0-9]*)?)? ?([aApP])?`
)

// pgTextPart is a group of a pattern in a text that has it, as a number; one that is not there is NULL.
func pgTextPart(x, pattern, group string) string {
	return "CAST((regexp_match(" + x + ", " + quoted(pattern) + "))[" + group + "] AS integer)"
}

func duckTextPart(x, pattern, group string) string {
	return "TRY_CAST(regexp_extract(" + x + ", '" + pattern + "', " + group + ") AS INTEGER)"
}

// lastDayOf is the last day of a month.
func lastDayOf(y, m string) string {
	return "EXTRACT(day FROM make_date(" + y + ", " + m + ", 1) + interval '1 month -1 day')"
}

const endless = "('infinity', '-infinity', 'epoch')"

// textToDate reads dates, and timestamps, whose time zone PostgreSQL passes over.
func textToDate(t sqltype.OID) forms {
	name := sqlName(t)
	y, m, d := pgTextPart("{x}", ymd, "1"), pgTextPart("{x}", ymd, "2"), pgTextPart("{x}", ymd, "3")
	word := `lower(btrim({x}, E' \t\n\r\f\v') COLLATE "C")`
	pg := "CASE WHEN {x} ~ " + quoted("^"+dateText+"$") + " THEN CASE WHEN " + d + " <= " + lastDayOf(y, m) + " THEN CAST({x} AS " + name + ") END WHEN " + word + " IN " + endless + " THEN CAST({x} AS " + name + ") END"
	part := func(group string) string { return "regexp_extract({x}, '" + ymd + "', " + group + ")" }
	duck := "TRY_CAST(" + part("1") + " || '-' || " + part("2") + " || '-' || " + part("3") + " AS DATE)"
	if t == stamp {
		duck = "CAST(" + duck + " AS TIMESTAMP) + to_microseconds(" + duckClock + ")"
	}
	word = "lower(" + duckTrimmed + ")"
	return forms{pg: pg, duck: "CASE WHEN regexp_full_match({x}, '" + dateText + "') THEN " + duck + " WHEN " + word + " IN " + endless + " THEN CAST(" + word + " AS " + name + ") END"}
}

// duckClock are the microseconds of a day of a text's clock, which DuckDB itself would cut to six places; 0 without one.
var duckClock = func() string {
	part := func(group string) string { return "regexp_extract({x}, '" + clockOf2 + "', " + group + ")" }
	number := func(group string) string { return "coalesce(" + duckTextPart("{x}", clockOf2, group) + ", 0)" }
	half := "upper(" + part("5") + ")"
	hour := "CASE WHEN " + half + " = '' THEN " + number("1") + " ELSE " + number("1") + " % 12 + CASE WHEN " + half + " = 'P' THEN 12 ELSE 0 END END"
	return "((" + hour + ") * 60 + " + number("2") + ") * CAST(60000000 AS BIGINT) + " + number("3") + " * 1000000 + CAST(round_even(CAST('0' || " + part("4") + " || '0' AS DOUBLE) * 1000000, 0) AS BIGINT)"
}()

// textToClock reads times of a day; an offset is passed over.
func textToClock() forms {
	digits := "trim({x}, ' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13))"
	bare := "(CAST(substr(" + digits + ", 1, 2) AS INTEGER) * 60 + CAST(substr(" + digits + ", 3, 2) AS INTEGER)) * CAST(60000000 AS BIGINT) + coalesce(TRY_CAST(substr(" + digits + ", 5, 2) AS INTEGER), 0) * 1000000"
	micros := "CASE WHEN regexp_full_match({x}, '" + clockText + "') THEN CASE WHEN regexp_matches({x}, ':') THEN " + duckClock + " ELSE " + bare + " END END"
	return forms{pg: "CASE WHEN {x} ~ " + quoted("^"+clockText+"$") + " THEN CAST({x} AS time) END",
		duck: "list_transform([" + micros + "], lambda n: CASE WHEN n = 86400000000 THEN CAST('24:00:00' AS TIME) ELSE CAST(make_timestamp(n) AS TIME) END)[1]"}
}

// textToUUID reads all of PostgreSQL's spellings: a hyphen may stand behind every four digits, and braces around all.
func textToUUID() forms {
	const digits = "([0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4}"
	const pattern = "(" + digits + "|[{]" + digits + "[}])"
	return forms{pg: "CASE WHEN {x} ~ '^" + pattern + "$' THEN CAST({x} AS uuid) END",
		duck: "CASE WHEN regexp_full_match({x}, '" + pattern + "') THEN TRY_CAST(regexp_replace({x}, '[^0-9a-fA-F]', '', 'g') AS UUID) END"}
}
