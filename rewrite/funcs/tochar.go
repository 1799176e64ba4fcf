package funcs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// formatting has to_char of dates and times and of numbers, by constant formats.
func formatting() []*Func {
	var out []*Func
	for _, t := range []sqltype.OID{stamp, zoned} {
		f := &Func{Name: "to_char", Kind: Function, Args: oids(t, text), Result: text, MayBeNull: true, Const: []int{1}, Zoned: t == zoned}
		f.With = func(c Constants) (*Func, error) { return charRow(f, c.Values[0].(string), c.Zone) }
		out = append(out, f)
	}
	spans := &Func{Name: "to_char", Kind: Function, Args: oids(span, text), Result: text, MayBeNull: true, Const: []int{1}}
	spans.With = func(c Constants) (*Func, error) { return spanFormat(spans, c.Values[0].(string)) }
	out = append(out, spans)
	for _, t := range []sqltype.OID{i4, i8, numeric, sqltype.OIDFloat4, f8} {
		f := &Func{Name: "to_char", Kind: Function, Args: oids(t, text), Result: text, Const: []int{1}, MayBeNull: true}
		f.With = func(c Constants) (*Func, error) { return numberFormat(f, c.Values[0].(string)) }
		out = append(out, f)
	}
	return out
}

// part is one field of a format, or a text.
type part struct {
	field string // upper case; "" for a text
	text  string // the text, or the field as it was written
	fill  bool   // without FM: padded
}

// charFields are the fields that are read, longest first where one begins another. PostgreSQL knows more, which are refused.
var charFields = []string{"YYYY", "YYY", "YY", "IYYY", "MONTH", "MON", "MM", "MI", "MS", "DDD", "DAY", "DD", "DY", "D", "HH24", "HH12", "HH", "SS", "US", "AM", "PM", "Q", "WW", "IW", "ID"}

// otherFields begin as fields above, or with them.
var otherFields = []string{"Y,YYY", "SSSS", "IYY", "IDDD", "IDD", "A.M.", "P.M."}

func parseFormat(format string) ([]part, error) {
	refused := func(what string) error {
		return sqlerr.New(sqlerr.Unsupported, "\"%s\" in the format of to_char is not supported", what).WithHint("Write texts in double quotes, and fields such as YYYY, MM, Mon, DD, Dy, HH24, MI, SS.")
	}
	var out []part
	fill := true
	for rest := format; rest != ""; {
		upper := strings.ToUpper(rest)
		switch {
		case rest[0] == '"':
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 || strings.Contains(rest[:end+1], `\`) {
				return nil, refused(rest)
			}
			out = append(out, part{text: rest[1 : end+1]})
			rest = rest[end+2:]
			continue
		case strings.HasPrefix(upper, "FM"):
			fill = false
			rest = rest[2:]
			continue
		}
		for _, f := range otherFields {
			if strings.HasPrefix(upper, f) && (f != "IYY" || !strings.HasPrefix(upper, "IYYY")) {
				return nil, refused(rest[:len(f)])
			}
		}
		i := slices.IndexFunc(charFields, func(f string) bool { return strings.HasPrefix(upper, f) })
		if i >= 0 {
			f := charFields[i]
			written := rest[:len(f)]
			named := f == "MONTH" || f == "MON" || f == "DAY" || f == "DY"
			if written != f && written != strings.ToLower(f) && (!named || written != f[:1]+strings.ToLower(f[1:])) || strings.HasPrefix(upper[len(f):], "TH") {
				return nil, refused(rest)
			}
			out = append(out, part{field: f, text: written, fill: fill})
			fill = true
			rest = rest[len(f):]
			continue
		}
		c := rest[0]
		if c == '\\' || c >= 128 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return nil, refused(rest)
		}
		out = append(out, part{text: string(c)})
		rest = rest[1:]
	}
	return out, nil
}

func charRow(f *Func, format, zone string) (*Func, error) {
	parts, err := parseFormat(format)
	if err != nil {
		return nil, err
	}
	x, own, duckX := "{x}", "{x}", "{x}"
	loc := time.UTC
	if f.Zoned {
		if loc, err = location(zone); err != nil {
			return nil, err
		}
		z := zoneText(zone)
		x, own, duckX = "timezone("+z+", "+inner("{x}")+")", "timezone("+z+", {x})", duckTurned(zone, loc, "{x}", zoned)
	}
	var list []string
	for _, p := range parts {
		list = append(list, duckPart(p, "t"))
	}
	fm := forms{pg: "to_char(" + x + ", " + quoted(format) + ")", own: "to_char(" + own + ", " + quoted(format) + ")"}
	switch {
	case zonesOfDuckDB(zone, loc) != "":
		fm.why = otherZones
	case len(list) == 0:
		fm.duck = "CAST(NULL AS VARCHAR)"
	default:
		fm.duck = "list_transform([" + duckX + "], lambda t: CASE WHEN isfinite(t) THEN " + strings.Join(list, " || ") + " END)[1]"
	}
	g := row(f.Kind, f.Name, f.Args, text, true, fm)
	g.Const, g.Zoned = f.Const, f.Zoned
	g.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		m := v[0].(sqltype.Micros)
		if infinite(m) || len(parts) == 0 {
			return nil, nil
		}
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.of(civilOf(local(m, loc))))
		}
		return b.String(), nil
	}
	return g, nil
}

var (
	monthNames = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	dayNames   = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
)

// cased writes a name as the field was written: MONTH, Month or month.
func (p part) cased(name string) string {
	switch {
	case p.text == p.field:
		return strings.ToUpper(name)
	case p.text == strings.ToLower(p.field):
		return strings.ToLower(name)
	}
	return name
}

// names are those of a field, by number; full names are padded to nine.
func (p part) names() []string {
	list := monthNames
	if p.field == "DAY" || p.field == "DY" {
		list = dayNames
	}
	out := make([]string, len(list))
	for i, n := range list {
		if p.field == "MON" || p.field == "DY" {
			n = n[:3]
		}
		if out[i] = p.cased(n); p.fill && (p.field == "MONTH" || p.field == "DAY") {
			out[i] += strings.Repeat(" ", 9-len(n))
		}
	}
	return out
}

// width is the number of digits of a numeric field.
var width = map[string]int{"YYYY": 4, "YYY": 3, "YY": 2, "IYYY": 4, "MM": 2, "MI": 2, "DDD": 3, "DD": 2, "D": 1, "HH24": 2, "HH12": 2, "HH": 2, "SS": 2, "MS": 3, "US": 6, "Q": 1, "WW": 2, "IW": 2, "ID": 1}

func (p part) of(c civil) string {
	hour := c.micros / (3600 * second)
	positive := func(y int) int64 { // years BC are counted from 1
		if y <= 0 {
			return int64(1 - y)
		}
		return int64(y)
	}
	isoYear, isoWeek := c.t.ISOWeek()
	n := int64(0)
	switch p.field {
	case "":
		return p.text
	case "MONTH", "MON":
		return p.names()[c.mon-1]
	case "DAY", "DY":
		return p.names()[c.t.Weekday()]
	case "AM", "PM":
		return p.cased(map[bool]string{false: "AM", true: "PM"}[hour >= 12])
	case "YYYY":
		n = positive(c.y)
	case "YYY":
		n = positive(c.y) % 1000
	case "YY":
		n = positive(c.y) % 100
	case "IYYY":
		n = positive(isoYear)
	case "MM":
		n = int64(c.mon)
	case "Q":
		n = int64(c.mon-1)/3 + 1
	case "WW":
		n = int64(c.t.YearDay()-1)/7 + 1
	case "IW":
		n = int64(isoWeek)
	case "DDD":
		n = int64(c.t.YearDay())
	case "DD":
		n = int64(c.d)
	case "D":
		n = int64(c.t.Weekday()) + 1
	case "ID":
		n = int64(c.t.Weekday()+6)%7 + 1
	case "HH24":
		n = hour
	case "HH12", "HH":
		n = (hour+11)%12 + 1
	case "MI":
		n = c.micros / (60 * second) % 60
	case "SS":
		n = c.micros / second % 60
	case "MS":
		n = c.micros % second / 1000
	case "US":
		n = c.micros % second
	}
	if !p.fill && p.field != "MS" && p.field != "US" {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%0*d", width[p.field], n)
}

// duckPart prints a field of the timestamp x.
func duckPart(p part, x string) string {
	call := func(name string) string { return name + "(" + x + ")" }
	positive := func(y string) string { return "(CASE WHEN " + y + " > 0 THEN " + y + " ELSE 1 - " + y + " END)" }
	list := func(names []string, index string) string {
		return "['" + strings.Join(names, "', '") + "'][" + index + "]"
	}
	n := ""
	switch p.field {
	case "":
		return quoted(p.text)
	case "MONTH", "MON":
		return list(p.names(), call("month"))
	case "DAY", "DY":
		return list(p.names(), call("dayofweek")+" + 1")
	case "AM", "PM":
		return "(CASE WHEN " + call("hour") + " >= 12 THEN '" + p.cased("PM") + "' ELSE '" + p.cased("AM") + "' END)"
	case "YYYY":
		n = positive(call("year"))
	case "YYY":
		n = positive(call("year")) + " % 1000"
	case "YY":
		n = positive(call("year")) + " % 100"
	case "IYYY":
		n = positive(call("isoyear"))
	case "MM":
		n = call("month")
	case "Q":
		n = call("quarter")
	case "WW":
		n = "(" + call("dayofyear") + " - 1) // 7 + 1"
	case "IW":
		n = call("week")
	case "DDD":
		n = call("dayofyear")
	case "DD":
		n = call("day")
	case "D":
		n = call("dayofweek") + " + 1"
	case "ID":
		n = call("isodow")
	case "HH24":
		n = call("hour")
	case "HH12", "HH":
		n = "(" + call("hour") + " + 11) % 12 + 1"
	case "MI":
		n = call("minute")
	case "SS":
		n = call("second")
	case "MS":
		n = call("microsecond") + " % 1000000 // 1000"
	case "US":
		n = call("microsecond") + " % 1000000"
	}
	if !p.fill && p.field != "MS" && p.field != "US" {
		return "CAST(" + n + " AS VARCHAR)"
	}
	return "printf('%0" + strconv.Itoa(width[p.field]) + "d', CAST(" + n + " AS BIGINT))"
}

// numberFormat is to_char of a number, by a format of 9, 0, one point and commas, with FM or S: PostgreSQL alone knows what the
// others print. A numeric from 10^1000 on is NULL.
func numberFormat(f *Func, format string) (*Func, error) {
	body := strings.TrimPrefix(strings.TrimPrefix(strings.ToUpper(format), "FM"), "S")
	if strings.Trim(body, "90,.") != "" || strings.Count(body, ".") > 1 || strings.Trim(body, ",.") == "" || len(body) > 100 {
		return nil, sqlerr.New(sqlerr.Unsupported, "the number format \"%s\" is not supported", format).WithHint("Use 9, 0, one point, commas, and FM or S in front.")
	}
	x := "{x}"
	if f.Args[0] == numeric {
		x = "CASE WHEN " + size1000 + " OR " + special + " THEN {x} END"
	}
	g := row(f.Kind, f.Name, f.Args, text, true, forms{pg: "to_char(" + x + ", " + quoted(format) + ")", own: "to_char({x}, " + quoted(format) + ")", why: "DuckDB formats numbers otherwise"})
	g.Const = f.Const
	return g, nil
}

// spanFormat is to_char of an interval, by fields that are its own parts: PostgreSQL alone knows what the others print. An interval whose time is near the end
// of its range is NULL.
func spanFormat(f *Func, format string) (*Func, error) {
	parts, err := parseFormat(format)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if p.field != "" && !slices.Contains([]string{"YYYY", "MM", "DD", "HH24", "MI", "SS", "MS", "US"}, p.field) {
			return nil, sqlerr.New(sqlerr.Unsupported, "\"%s\" in the format of an interval is not supported", p.text).WithHint("Use YYYY, MM, DD, HH24, MI, SS, MS, US.")
		}
	}
	g := row(f.Kind, f.Name, f.Args, text, true, forms{pg: "to_char(CASE WHEN abs(" + spanTime("{x}") + ") < 7000000000000000000 THEN {x} END, " + quoted(format) + ")", own: "to_char({x}, " + quoted(format) + ")", why: "DuckDB formats no intervals"})
	g.Const = f.Const
	return g.eval(func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		if len(parts) == 0 {
			return nil, nil
		}
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.ofSpan(v[0].(sqltype.Interval)))
		}
		return b.String(), nil
	}), nil
}

func (p part) ofSpan(x sqltype.Interval) string {
	n, digits := int64(0), width[p.field]
	switch p.field {
	case "":
		return p.text
	case "YYYY":
		n = int64(x.Months / 12)
	case "MM":
		n = int64(x.Months % 12)
	case "DD":
		n = int64(x.Days)
	case "HH24":
		n = x.Micros / (3600 * second)
	case "MI":
		n = x.Micros / (60 * second) % 60
	case "SS":
		n = x.Micros / second % 60
	case "MS":
		return fmt.Sprintf("%03d", x.Micros%second/1000)
	case "US":
		return fmt.Sprintf("%06d", x.Micros%second)
	}
	switch {
	case !p.fill:
		digits = 0
	case n < 0:
		digits++
	}
	return fmt.Sprintf("%0*d", digits, n)
}
