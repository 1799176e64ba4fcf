package funcs

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// moreText has lengths of char(n), whose blanks at the end are not counted, and the texts of times, uuids and timestamps with time zone in UTC.
func moreText() []*Func {
	var out []*Func
	for _, name := range []string{"length", "char_length", "character_length"} {
		out = append(out, row(Function, name, oids(sqltype.OIDBPChar), i4, false, forms{pg: name + "({x})", duck: "CAST(length(rtrim({x}, ' ')) AS INTEGER)"}).within(always(0, 1<<31-1)).safe(harmless).
			eval(of1(func(s string) (sqltype.Value, error) { return int64(utf8.RuneCountInString(trimBlanks(s))), nil })))
	}
	cast := func(from sqltype.OID, duck, why string) *Func {
		return row(Cast, "cast", oids(from), text, false, forms{pg: "CAST({x} AS text)", own: "CAST({x} AS text)", duck: duck, why: why}).safe(harmless).
			eval(func(v []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
				return sqltype.FormatText(v[0], types[0]), nil
			})
	}
	out = append(out, cast(clock, "CAST({x} AS VARCHAR)", ""), cast(sqltype.OIDUUID, "CAST({x} AS VARCHAR)", ""), cast(span, "", "DuckDB spells intervals otherwise"))
	f := &Func{Name: "cast", Kind: Cast, Args: oids(zoned), Result: text, MayBeNull: true, Zoned: true}
	f.With = func(c Constants) (*Func, error) {
		l, err := location(c.Zone)
		if err != nil || l != time.UTC {
			return nil, sqlerr.New(sqlerr.Unsupported, "a timestamp with time zone as text is not supported in the time zone %s", c.Zone).
				WithHint("Use SET TimeZone TO 'UTC', or to_char.")
		}
		wall := "CAST(timezone('UTC', {x}) AS text)"
		stampText := toText(stamp).TotalForm[DuckDB]([]string{"w"}, nil, sqltype.Text)
		duck := "list_transform([" + duckTurned("UTC", l, "{x}", zoned) + "], lambda w: CASE WHEN isfinite(w) THEN regexp_replace(" + stampText + ", '( BC)?$', '+00\\1') ELSE CAST(w AS VARCHAR) END)[1]"
		g := row(Cast, "cast", oids(zoned), text, true, forms{pg: "CASE WHEN isfinite({x}) THEN replace(" + wall + " || '+00', ' BC+00', '+00 BC') ELSE CAST({x} AS text) END", own: "CAST({x} AS text)", duck: duck})
		g.Zoned = true
		g.Eval = func(v []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			return sqltype.FormatText(v[0], types[0]), nil
		}
		return g, nil
	}
	return append(out, f, dateShapes())
}

// dateShapes is to_date of formats of YYYY, MM and DD.
func dateShapes() *Func {
	f := &Func{Name: "to_date", Kind: Function, Args: oids(text, text), Result: day, MayBeNull: true, Const: []int{1}}
	f.With = func(c Constants) (*Func, error) { return dateShape(f, c.Values[0].(string)) }
	return f
}

// dateShape reads YYYY, MM and DD, each once, between other characters, as PostgreSQL does: month and day may have one digit before another character, any separator stands for any other, and what is behind
// the last field is passed over. A text that is not written so is NULL, and an error that says so where it is public: PostgreSQL reads more.
func dateShape(f *Func, format string) (*Func, error) {
	refused := sqlerr.New(sqlerr.Unsupported, "the format \"%s\" of to_date is not supported", format).WithHint("Use YYYY, MM and DD, each once, between characters such as -, / and blanks.")
	parts, err := parseFormat(format)
	if err != nil {
		return nil, refused
	}
	shapes := map[string][2]string{"YYYY": {`([0-9]{4})`, `([0-9]{4})`}, "MM": {`(0?[0-9]|1[0-2])`, `(0[0-9]|1[0-2])`}, "DD": {`(0?[0-9]|[12][0-9]|3[01])`, `(0[0-9]|[12][0-9]|3[01])`}}
	pattern, group := ` *`, map[string]int{}
	for i, p := range parts {
		shape, known := shapes[p.field]
		switch _, twice := group[p.field]; {
		case p.field == "" && strings.Trim(p.text, "-/., :") == "":
			pattern += strings.Repeat(`[-/., :]`, len(p.text))
		case !known || twice || !p.fill:
			return nil, refused
		case i+1 < len(parts) && parts[i+1].field != "":
			pattern += shape[1]
			group[p.field] = len(group) + 1
		default:
			pattern += shape[0]
			group[p.field] = len(group) + 1
		}
	}
	if len(group) != 3 {
		return nil, refused
	}
	return dateRow(f, format, pattern+`(?:[^0-9](?:.|\n)*)?`, group), nil
}

func dateRow(f *Func, format, pattern string, group map[string]int) *Func {
	of := func(part func(x, pattern, group string) string) (y, m, day string) {
		field := func(name string) string { return part("{x}", "^"+pattern+"$", strconv.Itoa(group[name])) }
		return field("YYYY"), "greatest(" + field("MM") + ", 1)", "greatest(" + field("DD") + ", 1)"
	}
	y, m, d := of(pgTextPart)
	dy, dm, dd := of(duckTextPart)
	fm := shapedAs(pattern, "CASE WHEN "+y+" > 0 THEN CASE WHEN "+d+" <= "+lastDayOf(y, m)+" THEN to_date({x}, "+quoted(format)+") END END",
		"CASE WHEN "+dy+" > 0 THEN TRY(make_date("+dy+", "+dm+", "+dd+")) END")
	fm.own = "to_date({x}, " + quoted(format) + ")"
	g := row(f.Kind, f.Name, f.Args, day, true, fm)
	g.Const = f.Const
	re := regexp.MustCompile("^" + pattern + "$")
	g.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		parts := re.FindStringSubmatch(v[0].(string))
		if parts == nil || parts[group["YYYY"]] == "0000" {
			return nil, sqlerr.New(sqlerr.Unsupported, "to_date reads texts that are written as the format here, with years from 1 on")
		}
		part := func(name string) int64 {
			n, _ := strconv.ParseInt(parts[group[name]], 10, 64) // of digits
			return max(n, 1)
		}
		return dayFrom(part("YYYY"), part("MM"), part("DD"))
	}
	return g
}
