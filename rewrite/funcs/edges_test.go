package funcs

import (
	"context"
	"flag"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// edges are the values that the tests of all rows run over, as PostgreSQL reads them; NULL is added everywhere.
var edges = map[sqltype.OID][]string{
	sqltype.OIDBool: {"t", "f"},
	sqltype.OIDInt2: {"0", "1", "-1", "2", "7", "-7", "181", "32767", "-32768"},
	sqltype.OIDInt4: {"0", "1", "-1", "3", "-7", "46341", "-46341", "32768", "2147483647", "-2147483648"},
	sqltype.OIDInt8: {"0", "1", "-1", "5", "-7", "3037000500", "-3037000500", "2147483648", "9007199254740993", "9223372036854775807", "-9223372036854775808"},
	sqltype.OIDFloat4: {"0", "-0", "1", "-1", "0.5", "2.5", "-1.5", "0.1", "1e20", "-1e-20", "3.4028235e38", "-3.4028235e38", "1e-45", "-1e-45",
		"16777217", "32767.5", "Infinity", "-Infinity", "NaN"},
	sqltype.OIDFloat8: {"0", "-0", "1", "-1", "0.5", "1.5", "2.5", "-2.5", "0.1", "0.3", "1e15", "123456789012345680", "2147483647.5", "-2147483648.5", "9223372036854775807",
		"-9223372036854775808", "1e150", "1e160", "-1e160", "1e-160", "1e-170", "8.98846567431158e307", "1.7976931348623157e308", "-1.7976931348623157e308", "9.979201547673599e291",
		"4.9e-324", "-4.9e-324", "1e-323", "2.2250738585072014e-308", "3.4028235677973366e38", "3.40282356e38", "7.006492321624085e-46", "7.1e-46", "Infinity", "-Infinity", "NaN"},
	sqltype.OIDNumeric: {"0", "0.00", "1", "-1", "1.10", "0.5", "2.5", "-2.5", "3", "-7", "0.001", "99.995", "-99.995", "100000.00", "32767.5", "32767.4", "2147483647.5", "9223372036854775807.49",
		"9223372036854775808", "-9223372036854775808.5", "12345678901234567890.123456789", "1e-40", "7e25", "1.7976931348623157e308", "1.8e308", "1e-323", "2e-324", "1e-46", "7.1e-46", "3.5e38", "NaN", "Infinity", "-Infinity"},
	sqltype.OIDText:    {"", "a", "A", "ab", " aB ", "Zebra", "a,b,,c", "x\ny", "%", "a%b", "a\\", "a\\%b", "ü", "Größe", "日本", "_", "%b", "a_", "é"},
	sqltype.OIDVarchar: {"", "a ", "Größe"},
	sqltype.OIDBPChar:  {"", "a", "a  ", "b"},
	sqltype.OIDName:    {"", "a", "B"},
	sqltype.OIDDate:    {"2000-01-01", "1999-12-31", "1970-01-01", "0044-03-15 BC", "4713-01-01 BC", "294247-01-10", "294276-12-31", "294277-01-01", "5874897-12-31", "infinity", "-infinity"},
	sqltype.OIDTimestamp: {"2000-01-01 00:00:00", "1999-12-31 23:59:59.999999", "1969-12-31 00:00:00.000001", "4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999",
		"infinity", "-infinity", "2020-02-29 12:34:56.789012", "2021-01-03 23:59:60", "2024-12-30 00:00:00", "2021-03-28 02:30:00", "2021-10-31 02:30:00", "0044-01-01 00:00:00 BC", "0001-01-01 00:00:00",
		"0001-12-31 00:00:00 BC", "1900-02-28 00:00:00.5", "1883-11-18 12:00:00"},
	sqltype.OIDTimestamptz: {"2000-01-01 00:00:00+00", "1999-12-31 23:59:59.999999+00", "1969-12-31 00:00:00.000001+00", "4713-01-01 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00",
		"infinity", "-infinity", "2020-02-29 12:34:56.789012+00", "2024-12-30 00:00:00+00", "2021-03-28 00:59:59+00", "2021-03-28 01:00:00+00", "2021-10-31 00:30:00+00", "2021-10-31 01:30:00+00",
		"0044-01-01 00:00:00+00 BC", "1883-11-18 17:00:00+00", "2011-12-30 12:00:00+00", "2050-07-01 22:30:00+00"},
	sqltype.OIDUUID:  {"00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
	sqltype.OIDBytea: {"", "abc", "\\x00ff", "\\xff", "\\xe697a5e69cac00", "\\x5c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c275c27"},
	json: {`null`, `1`, `"a"`, `true`, `[]`, `{}`, ` [1, "a", [2]] `, `{"a": {"b": [1, 2, {"c": null}]}, "": 1, "a ": 2, "0": 3}`, `{"a": 1, "a": 2}`, `{"a": "\u0000"}`, `{"\ud800": 1}`, `{"a": "\u00fc\n"}`, `[null, false, -1.50e3, "日本"]`,
		`{"%": "x", "é": [[]]}`, `"a\\u0000"`},
	jsonb: {`null`, `1`, `-1.50`, `"a"`, `true`, `false`, `[]`, `{}`, ` [1, "a", [2]] `, `{"a": {"b": [1, 2, {"c": null}]}, "": 1, "a ": 2, "0": 3}`, `{"a": 1, "b": 2}`, `{"a": "\u00fc\n"}`, `[null, false, -1.50e3, "日本"]`, `{"%": "x", "é": [[]]}`,
		`32767.5`, `1e400`, `1e-400`, `9223372036854775808`, `["a", "ab"]`, `{"a": null}`},
	1007:              {"{}", "{1}", "{1,2,NULL}", "{NULL}", "{{1,2},{3,4}}", "[5:6]={7,8}", "{2147483647,-2147483648}", "{1,1,1}"}, // stands for any array
	99998:             {"sad", "ok", "happy", "it's"},
	texts:             {"{}", "{a}", "{a,b,2,c}", "{1}", "{-1}", "{NULL}", "{a,NULL}", `{""}`, "{0,0}", "{99999999999999999999}", "{{a,b},{c,d}}", "{日本,é}", "{a,b,x}"},
	sqltype.OIDTime:   {"00:00:00", "24:00:00", "23:59:59.999999", "12:34:56.5", "00:00:00.000001"},
	sqltype.OIDTimetz: {"00:00:00+00", "12:00:00+01", "11:00:00+00", "11:00:00.000001+00", "13:00:00+02", "24:00:00-15:59", "00:00:00+15:59:59", "23:59:59.999999+00", "12:34:56.5-03:30"},
	sqltype.OIDInterval: {"0", "1 mon", "-1 mon", "25 mons 3 days 04:05:06.789", "-25 mons", "30 days", "100:00:00", "-90 minutes", "-61.5 seconds", "1 day -00:00:01", "300 years", "-2147483648 days", "178000000 years",
		"2562047788:00:54.775807", "1 mon -30 days", "23:59:59.999999"},
}

// huge values are for PostgreSQL alone, whose numeric holds them.
var hugeNumerics = []string{"9e1200", "-9e1200", "9e131071", "1e-16383", "-9e131071", "1e-1000", "-1e-1000"} // half of 1e-1000 is rounded to 1e-1000

// results are the types a row is tested with as its result: casts to numeric also with a modifier.
func results(f *Func) []sqltype.Type {
	out := []sqltype.Type{{OID: f.Result, Typmod: -1}}
	if f.Kind == Cast && (f.Result == sqltype.OIDVarchar || f.Result == sqltype.OIDBPChar) {
		out = append(out, sqltype.Type{OID: f.Result, Typmod: 3 + 4})
	}
	if f.Kind == Cast && f.Args[0] == f.Result {
		switch f.Result {
		case sqltype.OIDInterval:
			return append(out[:0], sqltype.IntervalOf(0, 3), sqltype.IntervalOf(sqltype.FieldYear|sqltype.FieldMonth, -1), sqltype.IntervalOf(sqltype.FieldDay|sqltype.FieldHour|sqltype.FieldMinute, -1),
				sqltype.IntervalOf(sqltype.FieldYear, -1), sqltype.IntervalOf(sqltype.FieldDay|sqltype.FieldHour|sqltype.FieldMinute|sqltype.FieldSecond, 0))
		case sqltype.OIDTime, sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
			return append(out[:0], sqltype.Type{OID: f.Result, Typmod: 0}, sqltype.Type{OID: f.Result, Typmod: 3}, sqltype.Type{OID: f.Result, Typmod: 6})
		}
	}
	if f.Kind == Cast && f.Result == sqltype.OIDNumeric {
		out = append(out, sqltype.NumericOf(5, 2), sqltype.NumericOf(20, 0), sqltype.NumericOf(30, 10))
	}
	return out
}

func types(f *Func) []sqltype.Type {
	out := make([]sqltype.Type, len(f.Args))
	for i, o := range f.Args {
		out[i] = typeOf(o)
	}
	return out
}

// signature names a row in messages.
func signature(f *Func, t sqltype.Type) string {
	var args []string
	for _, o := range f.Args {
		args = append(args, sqltype.Type{OID: o, Typmod: -1}.String())
	}
	return fmt.Sprintf("%s %s(%s) -> %s", f.Kind, f.Name, strings.Join(args, ", "), t)
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// sample is one choice of constants for a row that needs them.
type sample struct {
	values []sqltype.Value
	zone   string
}

// samples are the constants that the rows of a name are tested with.
var samples = map[string][]sample{
	"to_date": constants("YYYY-MM-DD", "DD/MM/YYYY", "YYYYMMDD", "MM.DD, YYYY", "DDMM YYYY"),
	"to_char": append(zones("YYYY-MM-DD", "YYYY-MM", "HH24:MI:SS.US", "FMMonth FMDD, YYYY", "Day|MONTH|day|mon|Dy|DY|", "YY YYY Q WW IW IYYY D ID DDD MS am PM HH12 hh", `yyyy"T'o"mm`, `"{x}{y}"YYYY`, "FMMM/FMHH24:FMMI FMDDD", "", "DD HH24:MI:SS.US", "YYYY-MM FMHH24", "FMDD FMHH24:FMMI:FMSS MS"),
		constants("999", "FM999,999.00", "0000", "S9.99", "FM0.99")...),
	"~": constants(regexes...), "~*": constants(regexes...), "regexp_like": append(constants("a+", "^.$"), pairs("[A-B]", "i", "A", "ci", "a", "")...),
	"+": intervals, "-": intervals[1:],
	"extract":    zones(fieldNames...),
	"date_part":  zones(fieldNames...),
	"date_trunc": append(zones(fieldNames...), pairs("day", "Europe/Berlin", "hour", "America/New_York", "week", "UTC")...),
	"timezone":   append(constants("Europe/Berlin", "America/New_York", "Pacific/Apia", "UTC"), constants(sqltype.Interval{}, sqltype.Interval{Micros: 7_200_000_000}, sqltype.Interval{Micros: -20_700_500_000})...),
	"cast":       inZones(), "=": inZones()[:2], "<>": inZones()[2:3], "<": inZones()[:2], "<=": inZones()[:2], ">": inZones()[1:2], ">=": inZones()[:1],
	"encode": constants("hex", "base64"), "decode": constants("hex", "base64"),
	"date_bin": {{values: []sqltype.Value{sqltype.Interval{Micros: 15 * 60_000_000}, sqltype.Micros(0)}}, {values: []sqltype.Value{sqltype.Interval{Days: 7}, sqltype.Micros(631_152_000_000_000 + 1)}},
		{values: []sqltype.Value{sqltype.Interval{Days: 1, Micros: 7}, sqltype.Micros(-3_000_000_000_000_000)}}, {values: []sqltype.Value{sqltype.Interval{Micros: 1}, sqltype.Micros(0)}}},
	"age":              inZones(),
	"make_timestamptz": append(inZones(), constants("Europe/Berlin", "UTC")...),
	"round":            constants(int64(0), int64(2), int64(-2), int64(40)),
	"trunc":            constants(int64(0), int64(1), int64(-3)),
	"string_to_array":  constants(",", "", "a", "日", "{x}"),
}

var fieldNames = []string{"century", "day", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear", "julian", "us", "millennium", "milliseconds", "minute", "Months", "quarter", "second", "week", "YEAR", "timezone", "timezone_hour", "timezone_minute"}

// zones are samples of one text each, in time zones with gaps.
func zones(values ...string) []sample {
	var out []sample
	for i, v := range values {
		for _, z := range []string{"UTC", []string{"Europe/Berlin", "America/New_York", "Pacific/Apia", "Asia/Kolkata"}[i%4]} {
			out = append(out, sample{[]sqltype.Value{v}, z})
		}
	}
	return out
}

// intervals are samples of constants that are added, in several zones.
var intervals = func() []sample {
	var out []sample
	for i, x := range []sqltype.Interval{{}, {Months: 1}, {Months: -13}, {Days: 1}, {Days: -45, Micros: 1}, {Micros: 3_600_000_000}, {Months: 1, Days: -1, Micros: -1}, {Months: 12 * 290000}, {Months: -12 * 6000, Days: 1},
		{Days: 2147483647}, {Micros: -86_400_000_000 * 2}} {
		for _, z := range []string{"UTC", []string{"Europe/Berlin", "America/New_York", "Pacific/Apia"}[i%3]} {
			out = append(out, sample{[]sqltype.Value{x}, z})
		}
	}
	return out
}()

var regexes = []sqltype.Value{`a\{x}{y}|\{x}b`, "a", "^a", "a$", "^a.b$", "a|Z", "(a|b)*b$", "", "|x", "[[:alpha:]]", "[^a-z]", `\d`, `\W`, "^[[:upper:]]", "a{2,}", "^(?:a.*b)$", "x.y", "a+?b", "b{0,1}$", "[]a]",
	"[a-]", `\.`, `%|_`, "日.", "[é-ü]", `[\w]$`, `^\S+$`, "()", "{", "a{,2}", `\\`, "Ü|É", "^[^[:space:][:punct:]]+$", "[%,]", "zEBRA", "'"}

// written are texts that look like values of other types.
var written = []string{"", " ", "0", "1", "-1", "+5", " 7 ", "\t8\n", "007", "-0", "32767", "32768", "-32768", "2147483648", "-2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
	"100000000000000000000000000000000000000000000000000", "1.5", "2.345", "-2.345", "999.994", ".5", "5.", ".", "-", "1e3", "1E-3", "1e+2", "1e999", "1e400", "1e-400", "4.9e-324", "1e-320", "2e-324", "1.7976931348623157e308", "1.7976931348623159e308",
	"3.5e38", "1e-46", "7.1e-46", "0e0", "1e", "1e0001", "NaN", "nan", "Infinity", "-inf", "+inf", "infinit", "1 2", "1,000", "0x10x", "1_000", "abc", "é", "٣", "t", "TRUE", "tru", " yes ", "on", "o", "of", "off", "n", "truely",
	"2020-02-29", "2021-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2020-13-01", "2020-00-10", "2020-01-00", "2020-01-32", "2020-04-31", "2020-1-1", "20200101", "2020-01-01 10:00", "2020-01-01T23:59:59.123456",
	"2020-01-01 24:00", "2020-01-01 10:60", "2020-01-01 10:00:60", "2020-02-30 10:00:00", "2020-01-01 10:00:00.1234567", "10:00", "23:59:59.5", "24:00:00", "10:00:00.000001", "25:00", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
	"a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g", "infinity", "epoch",
	"{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}", "{a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-", " a0eebc999c0b4ef8bb6d6bb9bd380a11",
	"2020-2-9", "2020/2/9", "2020/02-09", "2020.2.9", "2020.2.30", "20200209", "20210229", "20201301", "200209", " 2020-02-09\t", "2020-02-09T10:00:00Z", "2020-02-09 10:00+02", "2020-02-09 10:00:00 +02:30", "2020-02-09 10:00 UTC", "2020-02-09 1:02 PM", "20200209T10:11:12",
	"20200209 101112", "2020-02-09 10", "2020-02-09 24:00:00.0", "2020-02-09 24:00:01", "2020-2-9 9:5:5", "2020-02-09  10:00:00.", "2020-02-09Z", "9999-12-31 24:00", "2020-02-09 10:00:00+15:59", "2020-02-09 10:00:00+16", "2020-02-09 10:00-0330", "2020-02-09 10:00+2",
	"2020-2-09 08:00:00 PM +02", "2020-02-09 23:59:59.9999999", "2020-02-09 10:00:00.00000050000000000", "2020-02-09t0:30 am", "2020-2-09T1:02 pm Z", "2020-02-09 13:02 PM", "0099-03-01", "9 Feb 2020", "Feb 9, 2020", "2020-02-09 BC", "-infinity", " Infinity ", "inf",
	"1:02 PM", "1:02PM", "1:02:03.5 am", "13:02 PM", "0:30 PM", "00:30 AM", "12:30am", "12:30 pm", "10:00+02", "10:00 -02:00", "10:00Z", "T10:00", "101112", "1011", "2411", "10:00:00.1234567", "23:59:59.9999999", "10:00:60", "24:00:01", "24:00", "1 PM", " 9:5 ", "100:00", "10:00:00 pm +02",
	"2020-02-09 10:00:00.12345678901234567890", "2020-02-09 10:00:00.123456789012345678901", "00000000000000000000000000000000007", "0x1p3", "1e-2", "1 PM", "2/9/2020", "1-2-2020", "31/2/2020", "00/01/2020", "01/00/2020", "29/2/2020 10:00", "1/12/2020x", "1/12/20201", "2020-2-9x", "  2020-2-9", "2020-2"}

// pairs are samples of two texts each.
func pairs(values ...string) []sample {
	var out []sample
	for i := 0; i < len(values); i += 2 {
		out = append(out, sample{values: []sqltype.Value{values[i], values[i+1]}})
	}
	return out
}

// inZones are samples without constants.
func inZones() []sample {
	var out []sample
	for _, z := range []string{"UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia"} {
		out = append(out, sample{zone: z})
	}
	return out
}

// constants are samples of one value each.
func constants(values ...sqltype.Value) []sample {
	var out []sample
	for _, v := range values {
		out = append(out, sample{values: []sqltype.Value{v}})
	}
	return out
}

var rowFlag = flag.String("row", "", "run only the rows whose signature matches this regular expression")

// tested are the registry's rows, those that take constants with every sample of them.
func tested(t *testing.T) []*Func {
	t.Helper()
	var out []*Func
	only := regexp.MustCompile(*rowFlag)
	for _, f := range All() {
		if !only.MatchString(signature(f, sqltype.Type{OID: f.Result, Typmod: -1})) {
			continue
		}
		if f.TotalForm != nil {
			out = append(out, f)
		}
		if f.With == nil {
			continue
		}
		found := 0
		for _, s := range samples[f.Name] {
			if !fits(f, s) {
				continue
			}
			g, err := f.With(Constants{Values: s.values, Zone: s.zone})
			if err != nil {
				continue
			}
			if g.Name != f.Name || !slices.Equal(g.Args, f.Args) || g.Result != f.Result || g.With != nil || !slices.Equal(g.Const, f.Const) {
				t.Errorf("%s: With gives another row", signature(f, sqltype.Type{OID: f.Result, Typmod: -1}))
			}
			fixed[g], zoneOf[g] = s.values, s.zone
			out = append(out, g)
			found++
		}
		if found == 0 {
			t.Errorf("%s: no sample of constants fits", signature(f, sqltype.Type{OID: f.Result, Typmod: -1}))
		}
	}
	return out
}

// ofType: a sample is for rows of its types.
func ofType(v sqltype.Value, t sqltype.OID) bool {
	_, isSpan := v.(sqltype.Interval)
	_, isText := v.(string)
	_, isInstant := v.(sqltype.Micros)
	return isSpan == (t == span) && isText == (t == text) && isInstant == (t == stamp || t == zoned)
}

// zoneOf are the time zones of the rows that tested made.
var zoneOf = map[*Func]string{}

// fixed are the constants of the rows that tested made.
var fixed = map[*Func][]sqltype.Value{}

func fixedValues(f *Func) map[int]sqltype.Value {
	out := map[int]sqltype.Value{}
	for i, v := range fixed[f] {
		out[f.Const[i]] = v
	}
	return out
}

// consts are the texts of a row's constants, by place.
func consts(f *Func) map[int]*string {
	out := map[int]*string{}
	for i, v := range fixed[f] {
		var s string
		switch x := v.(type) {
		case string:
			s = x
		case sqltype.Interval:
			s = sqltype.FormatText(x, sqltype.IntervalType)
		case sqltype.Micros:
			s = sqltype.FormatText(x, sqltype.Timestamp)
		default:
			s = fmt.Sprint(v)
		}
		out[f.Const[i]] = &s
	}
	return out
}

// blanks are argument texts, empty where a constant stands.
func blanks(f *Func) []string {
	out := append([]string{}, places[:len(f.Args)]...)
	for _, i := range constPlaces(f) {
		out[i] = ""
	}
	return out
}

func nonEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
}

// partsOf are the values of functions of many arguments, by place; the last for the places behind it.
var partsOf = map[string][][]string{
	"make_time":        {{"0", "7", "23", "24", "-1", "2147483647"}, {"0", "59", "60", "-1"}, {"0", "59.9999994", "59.9999996", "60", "60.1", "-0.0000001", "-1", "0.0000005", "NaN", "Infinity", "1e308"}},
	"make_timestamp":   {{"2020", "-44", "0", "294276"}, {"1", "2", "13"}, {"1", "29", "31"}, {"2", "24"}, {"0", "59"}, {"0", "59.9999996", "1e308", "NaN"}},
	"make_timestamptz": {{"2021", "0", "294276"}, {"3", "10"}, {"28", "31"}, {"2", "24"}, {"0", "30"}, {"0", "59.9999996", "NaN"}},
	"make_interval":    {{"1", "200000000"}, {"-7"}, {"-2", "400000000"}, {"3"}, {"5", "2147483647"}, {"-61"}, {"0", "-1.0000005", "1e11", "1e300", "Infinity", "NaN"}},
}

// few are fewer values, for rows of three and more arguments.
var few = map[sqltype.OID][]string{
	sqltype.OIDInt4:    {"0", "1", "-1", "3", "-7", "2147483647", "-2147483648"},
	sqltype.OIDFloat8:  {"0", "1", "-2.5", "0.1", "5e-324", "1e308", "-1e308", "Infinity", "-Infinity", "NaN"},
	sqltype.OIDNumeric: {"0", "1", "-2.5", "0.100", "1e308", "9e1200", "NaN", "Infinity", "-Infinity"},
	sqltype.OIDText:    {"", "a", "ab,a", "日本", "aaaa"},
}

// concrete is a type that stands for a pseudo-type.
func concrete(o sqltype.OID) sqltype.OID {
	switch o {
	case anyArray:
		return 1007
	case anyEnum:
		return mood.OID
	}
	return o
}

// mood is an enum whose order is not that of its labels.
var mood = sqltype.EnumType(sqltype.Enum{OID: 99998, Array: 99999, Schema: "public", Name: "mood", Labels: []string{"sad", "ok", "happy", "it's"}})

func typeOf(o sqltype.OID) sqltype.Type {
	if o == anyEnum {
		return mood
	}
	return sqltype.Type{OID: concrete(o), Typmod: -1}
}

// edgesOf are the values of one argument.
func edgesOf(f *Func, i int) []string {
	all := edges[concrete(f.Args[i])]
	if free := len(f.Args) - len(constPlaces(f)); free > 2 && few[f.Args[i]] != nil {
		all = few[f.Args[i]]
	}
	if f.Kind == Cast && slices.Contains(strings3, f.Args[0]) && !slices.Contains(strings3, f.Result) {
		return written
	}
	if list := partsOf[f.Name]; list != nil {
		return list[min(i, len(list)-1)]
	}
	if f.Name == "make_date" {
		all = []string{"0", "1", "-1", "2", "12", "13", "29", "31", "1900", "2020", "-44", "5874896", "2147483647", "-2147483648"}
	}
	if f.Name == "decode" {
		return append([]string{"00ff", "0 0", " 00\n ff ", "0F", "xx", "000", "YWJj", "YWI=", "YQ==", "YQ=", "YQ", "AA\nAA", "====", "+/+/", "YWJjYQ==YWJj"}, all...)
	}
	if f.Name == "factorial" {
		return []string{"0", "1", "-1", "5", "33", "34", "449", "450", "1000"}
	}
	if f.Name == "exp" && f.Result == numeric {
		return append([]string{"2400"}, all...)
	}
	if f.Name == "log" && f.Result == numeric { // PostgreSQL's own divides by 0
		return append([]string{"0.9999999999", "1." + strings.Repeat("0", 1099) + "1"}, all...)
	}
	if f.Name == "to_date" {
		return append([]string{"31/12/1999", "19991231", "29/02/1900"}, written...)
	}
	if f.Name == "right" && i == 1 { // of the least integer it is the whole text before PostgreSQL 15.20, and nothing from it on
		return slices.DeleteFunc(slices.Clone(all), func(v string) bool { return v == "-2147483648" })
	}
	if f.Name == "repeat" && i == 1 { // PostgreSQL itself goes round 2^31 times for an empty text
		all = []string{"0", "1", "-1", "3", "46341", "-2147483648"}
	}
	return slices.Clone(all)
}

// numbers are the types with intervals.
func numbers(o sqltype.OID) bool {
	return isInt(o) || isFloat(o) || o == sqltype.OIDNumeric || hasEra(o) || o == sqltype.OIDTime || o == sqltype.OIDInterval
}

func numericMod(t sqltype.Type) (int, bool) {
	p, _, ok := t.NumericMod()
	return p, ok
}

// sameLibm: what the C library computes differs in its last places from Go and from another build of it.
func sameLibm(f *Func, got, want string) bool {
	g, err1 := strconv.ParseFloat(got, 64)
	w, err2 := strconv.ParseFloat(want, 64)
	if f.Result != sqltype.OIDFloat8 || f.Kind == Cast || err1 != nil || err2 != nil || !slices.Contains(libm, f.Name) {
		return false
	}
	return g == w || math.Abs(g-w) <= 1e-14*math.Abs(w)
}

var libm = []string{"sin", "cos", "tan", "cot", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "ln", "log", "log10", "power", "pow", "^", "cbrt", "||/"}

// checkOwn sees to it that PostgreSQL reads the form of a row that is for public values only, with its type.
func checkOwn(t *testing.T, conn *pgx.Conn, f *Func, rt sqltype.Type, name string) {
	t.Helper()
	ctx := context.Background()
	var cols []string
	for i, c := range blanks(f) {
		if c != "" {
			cols = append(cols, "CAST(NULL AS "+pgType(sqltype.Type{OID: f.Args[i], Typmod: -1})+") AS "+c)
		}
	}
	var oid int64
	err := conn.QueryRow(ctx, "SELECT pg_typeof("+f.RaisingForm.Print(Postgres, blanks(f), types(f), rt)+")::oid::int8 FROM (SELECT "+strings.Join(cols, ", ")+") AS "+name).Scan(&oid)
	if err != nil || sqltype.OID(oid) != f.Result {
		t.Errorf("%s: %v, type %d", signature(f, rt), err, oid)
	}
}

// TestSignatures: every row is one of PostgreSQL's functions, operators or casts, with its result.
func TestSignatures(t *testing.T) {
	conn := connect(t)
	for _, f := range All() {
		var found bool
		var err error
		list := func(o []sqltype.OID) string {
			var s []string
			for _, x := range o {
				s = append(s, strconv.Itoa(int(x)))
			}
			return strings.Join(s, " ")
		}
		switch f.Kind {
		case Function:
			err = conn.QueryRow(context.Background(), `SELECT EXISTS (SELECT FROM pg_proc WHERE proname = $1 AND proargtypes::text = $2 AND prorettype = $3 AND prokind = 'f'
				AND pronamespace = 'pg_catalog'::regnamespace)`, f.Name, list(f.Args), uint32(f.Result)).Scan(&found)
		case Operator:
			left, right := sqltype.OID(0), f.Args[len(f.Args)-1]
			if len(f.Args) == 2 {
				left = f.Args[0]
			}
			err = conn.QueryRow(context.Background(), `SELECT EXISTS (SELECT FROM pg_operator WHERE oprname = $1 AND oprleft = $2 AND oprright = $3 AND oprresult = $4)`,
				f.Name, uint32(left), uint32(right), uint32(f.Result)).Scan(&found)
		case Cast: // through text every type has one
			err = conn.QueryRow(context.Background(), `SELECT EXISTS (SELECT FROM pg_cast WHERE castsource = $1 AND casttarget = $2) OR $1 IN (25, 1042, 1043) OR $2 = 25`,
				uint32(f.Args[0]), uint32(f.Result)).Scan(&found)
		}
		if err != nil || !found {
			t.Errorf("%s is not in PostgreSQL's catalog: %v", signature(f, sqltype.Type{OID: f.Result, Typmod: -1}), err)
		}
	}
}

// constPlaces are the arguments that a row was made for.
func constPlaces(f *Func) []int {
	if f.With != nil {
		return nil
	}
	return f.Const
}
