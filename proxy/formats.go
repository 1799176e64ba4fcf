package proxy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// The settings that say how values are written and read. Their canonical texts are what SHOW tells and what formats reads.

var (
	dateStyles     = map[string]sqltype.DateStyle{"ISO": sqltype.DateISO, "SQL": sqltype.DateSQL, "Postgres": sqltype.DatePostgres, "German": sqltype.DateGerman}
	dateOrders     = map[string]sqltype.DateOrder{"MDY": sqltype.OrderMDY, "DMY": sqltype.OrderDMY, "YMD": sqltype.OrderYMD}
	intervalStyles = map[string]sqltype.IntervalStyle{"postgres": sqltype.IntervalPostgres, "postgres_verbose": sqltype.IntervalVerbose,
		"sql_standard": sqltype.IntervalSQL, "iso_8601": sqltype.IntervalISO}
)

func invalidValue(p *parameter, v string) *sqlerr.Error {
	return sqlerr.New(sqlerr.InvalidParam, "invalid value for parameter \"%s\": \"%s\"", p.name, v)
}

// dateStyle reads a list of a style and an order; what it leaves out stays as it is now. German dates are DMY unless it says
// otherwise.
func dateStyle(p *parameter, list []string, now string) (string, error) {
	text := strings.Join(list, ", ")
	if strings.TrimSpace(text) == "" {
		return now, nil
	}
	style, order, _ := strings.Cut(now, ", ")
	haveStyle, haveOrder := "", ""
	conflict := false
	take := func(have *string, v string) {
		conflict = conflict || *have != "" && *have != v
		*have = v
	}
	for _, part := range strings.Split(text, ",") {
		word := strings.Trim(strings.TrimSpace(part), `"`)
		switch w := strings.ToUpper(word); {
		case w == "ISO", w == "SQL":
			take(&haveStyle, w)
		case strings.HasPrefix(w, "POSTGRES"):
			take(&haveStyle, "Postgres")
		case w == "GERMAN":
			take(&haveStyle, "German")
		case w == "YMD":
			take(&haveOrder, "YMD")
		case w == "DMY", strings.HasPrefix(w, "EURO"):
			take(&haveOrder, "DMY")
		case w == "MDY", w == "US", strings.HasPrefix(w, "NONEURO"):
			take(&haveOrder, "MDY")
		case w == "DEFAULT":
			if haveStyle == "" {
				style = "ISO"
			}
			if haveOrder == "" {
				order = "MDY"
			}
		case strings.ContainsAny(word, " \t\n"), word == "":
			return "", invalidValue(p, text).WithDetail("List syntax is invalid.")
		default:
			return "", invalidValue(p, text).WithDetail("Unrecognized key word: \"%s\".", strings.ToLower(word))
		}
	}
	if conflict {
		return "", invalidValue(p, text).WithDetail("Conflicting \"datestyle\" specifications.")
	}
	if haveStyle != "" {
		style = haveStyle
	}
	if haveStyle == "German" && haveOrder == "" {
		haveOrder = "DMY"
	}
	if haveOrder != "" {
		order = haveOrder
	}
	return style + ", " + order, nil
}

func intervalStyle(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	if err != nil {
		return "", err
	}
	return choice(p, v, "postgres", "postgres_verbose", "sql_standard", "iso_8601")
}

func byteaOutput(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	if err != nil {
		return "", err
	}
	return choice(p, v, "escape", "hex")
}

// floatDigits are -15 to 3.
func floatDigits(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimSpace(v))
	switch {
	case err != nil:
		return "", invalidValue(p, v)
	case n < -15 || n > 3:
		return "", sqlerr.New(sqlerr.InvalidParam, "%d is outside the valid range for parameter \"%s\" (-15 .. 3)", n, p.name)
	}
	return strconv.Itoa(n), nil
}

// intervalZone begins the value of SET TIME ZONE INTERVAL, as PostgreSQL writes it.
const intervalZone = "INTERVAL '"

// timeZone takes the name of a zone, a number of hours east of UTC, or an interval.
func timeZone(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	if err != nil {
		return "", err
	}
	z, ok := (*sqltype.Zone)(nil), false
	if text, is := cutPrefixFold(v, "interval"); is {
		text, quoted := strings.CutPrefix(strings.TrimLeft(text, " "), "'")
		text, closed := strings.CutSuffix(text, "'")
		if !quoted || !closed {
			return "", invalidValue(p, v)
		}
		if z, err = intervalOffset(p, v, text); err != nil {
			return "", err
		}
		return z.String(), nil
	}
	if hours, err := strconv.ParseFloat(strings.TrimLeft(v, " "), 64); err == nil {
		if math.Abs(hours) <= 1000 { // NaN is none
			z, ok = sqltype.OffsetZone(int(hours * 3600))
		}
		if !ok {
			return "", invalidValue(p, v).WithDetail("UTC timezone offset is out of range.")
		}
		return z.String(), nil
	}
	if z, ok = sqltype.LookupZone(v); !ok {
		return "", invalidValue(p, v)
	}
	return z.String(), nil
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

func intervalOffset(p *parameter, v, text string) (*sqltype.Zone, error) {
	x, err := sqltype.ParseText(text, sqltype.IntervalType)
	if err != nil {
		return nil, err
	}
	i := x.(sqltype.Interval)
	switch {
	case i.Months != 0:
		return nil, invalidValue(p, v).WithDetail("Cannot specify months in time zone interval.")
	case i.Days != 0:
		return nil, invalidValue(p, v).WithDetail("Cannot specify days in time zone interval.")
	}
	z, ok := sqltype.OffsetZone(int(i.Micros / 1e6))
	if !ok {
		return nil, invalidValue(p, v).WithDetail("UTC timezone offset is out of range.")
	}
	return z, nil
}

// clientEncoding takes UTF8 in all spellings, SQL_ASCII, which converts nothing, and the sets of one byte a character; letters and digits are what counts
// ('utf-8', also with the quotes that asyncpg sends).
func clientEncoding(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	if err != nil {
		return "", err
	}
	plain := plainName(v)
	switch {
	case plain == "utf8" || plain == "unicode":
		return p.def, nil
	case plain == "sqlascii":
		return "SQL_ASCII", nil
	case charsets[plain].m != nil:
		return charsets[plain].name, nil
	case slices.Contains(pgEncodings, plain):
		return "", otherwise(p, v)
	}
	return "", invalidValue(p, v)
}

// pgEncodings are the other encodings that PostgreSQL has, in letters and digits.
var pgEncodings = strings.Fields("big5 euccn eucjis2004 eucjp euckr euctw gb18030 gbk johab mskanji muleinternal shiftjis shiftjis2004 sjis uhc " +
	"win932 win936 win949 win950 windows932 windows936 windows949 windows950")

// zoneValue is the value of SET TIME ZONE.
func zoneValue(values []string, interval bool) []string {
	if !interval {
		return values
	}
	return []string{fmt.Sprintf("%s%s'", intervalZone, values[0])}
}
