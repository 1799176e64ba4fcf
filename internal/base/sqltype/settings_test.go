package sqltype_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// session is a session's settings with the SET statements that make them PostgreSQL's.
type session struct {
	set sqltype.Settings
	sql string
}

func (s session) connect(t *testing.T) *pgconn.PgConn {
	t.Helper()
	conn := connect(t)
	if err := conn.Exec(context.Background(), reader+"; "+s.sql).Close(); err != nil {
		t.Fatal(err)
	}
	return conn
}

func zone(t *testing.T, name string) *sqltype.Zone {
	t.Helper()
	z, ok := sqltype.LookupZone(name)
	if !ok {
		t.Fatalf("zone %s is not known", name)
	}
	return z
}

// sessions are settings of all kinds, in zones with gaps and overlaps.
func sessions(t *testing.T) []session {
	var out []session
	styles := []string{"ISO", "SQL", "Postgres", "German"}
	orders := []string{"MDY", "DMY", "YMD"}
	intervals := []string{"postgres", "postgres_verbose", "sql_standard", "iso_8601"}
	zones := []string{"UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Australia/Lord_Howe", "EST5EDT", "Africa/Monrovia",
		"America/Sao_Paulo", "<+03>-3", "Asia/Tehran", "Europe/Dublin", "Pacific/Apia"}
	for i, z := range zones {
		s := session{set: sqltype.Settings{Zone: zone(t, z), DateStyle: sqltype.DateStyle(i % 4), DateOrder: sqltype.DateOrder(i % 3),
			IntervalStyle: sqltype.IntervalStyle(i % 4), ByteaEscape: i%2 == 1}}
		bytea := map[bool]string{false: "hex", true: "escape"}[s.set.ByteaEscape]
		digits := 1
		if i%3 > 0 {
			s.set.RoundFloats, s.set.ExtraDigits = true, -3*(i%6)
			digits = s.set.ExtraDigits
		}
		s.sql = fmt.Sprintf("set timezone = '%s'; set datestyle = '%s, %s'; set intervalstyle = '%s'; set bytea_output = '%s'; set extra_float_digits = %d",
			z, styles[i%4], orders[i%3], intervals[i%4], bytea, digits)
		out = append(out, s)
	}
	return out
}

// texts of the types whose reading or writing heeds settings, and of the others that have a text form of their own. Those after
// the first of a type are good and bad alike.
var settingTexts = []struct {
	t     sqltype.Type
	texts []string
}{
	{sqltype.Date, dateTexts}, {sqltype.Timestamp, dateTexts}, {sqltype.Timestamptz, dateTexts},
	{sqltype.Type{OID: sqltype.OIDTimestamptz, Typmod: 3}, dateTexts[:20]}, {sqltype.Type{OID: sqltype.OIDTimestamp, Typmod: 0}, dateTexts[:20]},
	{sqltype.Time, timeTexts}, {sqltype.Timetz, timeTexts}, {sqltype.Type{OID: sqltype.OIDTime, Typmod: 2}, timeTexts[:12]},
	{sqltype.Type{OID: sqltype.OIDTimetz, Typmod: 0}, timeTexts[:12]},
	{sqltype.IntervalType, intervalTexts}, {sqltype.IntervalOf(0, 2), intervalTexts}, {sqltype.IntervalOf(sqltype.FieldYear, -1), intervalTexts},
	{sqltype.IntervalOf(sqltype.FieldYear|sqltype.FieldMonth, -1), intervalTexts}, {sqltype.IntervalOf(sqltype.FieldDay, -1), intervalTexts},
	{sqltype.IntervalOf(sqltype.FieldMinute|sqltype.FieldSecond, 1), intervalTexts}, {sqltype.IntervalOf(sqltype.FieldDay|sqltype.FieldHour, -1), intervalTexts},
	{sqltype.IntervalOf(sqltype.FieldHour|sqltype.FieldMinute, -1), intervalTexts}, {sqltype.IntervalOf(sqltype.FieldMonth, -1), intervalTexts},
	{sqltype.Bytea, []string{"", "abc", `\x`, `\x00ff`, `\xDE AD be ef`, `\x0`, `\xzz`, `\000\377\\`, `\400`, `\12`, `a\`, `Zürich \001 'x'`, `\xü0`, `\x1 2`}},
	{sqltype.Float8, []string{"0", "-0", "1.5", "123456789.123456789", "1e15", "123456789012345678", "1e-5", "NaN", "Infinity", "0.1", "100000", "1e100", "5e-324", "99999.99999999999"}},
	{sqltype.Float4, []string{"0", "-0", "1.5", "123456.7", "1e15", "1e-5", "NaN", "-Infinity", "0.1", "100000", "1234567", "999999.9"}},
	{sqltype.UUIDType, []string{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
		"a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "{a0eebc99", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", "",
		"11+3", "{a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11-", "a-0eebc999c0b4ef8bb6d6bb9bd380a11", "g0eebc999c0b4ef8bb6d6bb9bd380a11"}},
	{sqltype.JSONType, jsonTexts}, {sqltype.JSONBType, jsonTexts},
}

var dateTexts = []string{
	"2024-02-29", "2024-02-29 12:34:56.789012", "1999-12-31 23:59:59.9999999", "0044-03-15 BC", "4714-11-24 BC", "4714-11-23 BC", "infinity", "-infinity",
	"+infinity", "epoch", "2024-03-31 02:30", "2024-10-27 02:30", "2024-03-10 02:30:00", "2024-11-03 01:30:00", "1890-01-01 12:00", "2037-12-31 23:59:59",
	"9999-12-31 23:59:59.999999", "2500-07-01 12:00", "10000-01-01", "2011-12-30 12:00:00", "2018-11-04 00:30:00", "2018-02-17 23:30:00",
	"1/8/1999", "1/18/1999", "18/1/1999", "01/02/03", "1999-Jan-08", "Jan-08-1999", "08-Jan-1999", "99-Jan-08", "08-Jan-99", "Jan-08-99", "Jan 8, 1999", "8 January 1999",
	"January 8 1999 AD", "19990108", "990108", "1999.008", "J2451187", "j2451187.5", "January 8, 99 BC", "99/01/08", "08.01.1999", "8.1.99", "20240229T123456", "20240229 123456.789",
	"20240229T1234", "2024-02-29T12:34:56Z", "2024-02-29 12:34 PM", "2024-02-29 00:34 AM", "2024-02-29 12:00 AM", "2024-02-29 13:00 PM", "2024-02-29 24:00", "2024-02-29 24:00:01", "2024-02-29 23:59:60",
	"2024-02-29 12:34:61", "2024-02-29 12:34+05:30", "2024-02-29 12:34-0330", "2024-02-29 12:34+5", "2024-02-29 12:34 +15:59:59", "2024-02-29 12:34+16", "2024-02-29 12:34+05:60",
	"2024-02-29 12:34 EST", "2024-02-29 12:34 PDT", "2024-07-01 12:34 America/New_York", "2024-01-01 12:34 america/new_york", "2024-07-01 12:34 Europe/Berlin", "2024-03-31 02:30 Europe/Berlin",
	"2024-10-27 02:30 Europe/Berlin", "2024-01-01 12:34 MSK", "2013-01-01 12:34 MSK", "2024-01-01 12:34 Nowhere/Else", "2024-01-01 12:34 nowhere", "2024-01-01 12:34 EST5EDT", "2024-07-01 12:34 PST8PDT",
	"2024-07-01 12:34 GMT+3", "2024-07-01 12:34 UTC-3", "2024-07-01 12:34 zulu", "2024-07-01 12:34 CEST", "2024-07-01 12:34 MET DST", "2024-07-01 12:34 DST", "2024-07-01 12:34 CET DST", "2024-07-01 12:34 Europe/Berlin DST",
	"Thu Feb 29 12:34:56 2024 PST", "Thu Feb 29 12:34:56.5 2024 Europe/Paris", "Mon Feb 29 2024", "29 Feb 2024 12:34", "Feb 29 12:34:56 UTC 2024", "2024 Feb 29", "2024-060", "2024.366", "2023.366 12:00",
	"y2024m02d29", "y2024m02d29h12mm34s56", "y2024m02d29 h12mm34s56.5", "2024-02-29 allballs", "2024-02-29 at 12:34", "on 2024-02-29 at 12:34",
	"2024-02-30", "2023-02-29", "2024-13-01", "2024-00-01", "2024-01-00", "2024-01-32", "0000-01-01", "99999-01-01", "294276-12-31 23:59:59.999999", "294277-01-01", "5874897-12-31", "5874898-01-01",
	"", " ", "x", "2024", "2024-02", "12:34", "2024-02-29 12", "2024-02-29 12:34:56 7", "2024-02-29 2024-02-29", "2024-02-29 12:34 12:34", "2024-02-29x", "2024-02-29 bc", "0001-01-01 bc", "1-1-1", "1/1/1 BC", "70-1-1", "69-12-31",
	"2024-02-29\t12:34\n", "2024-02-29  T 12:34", "T12:34 2024-02-29", "2024-02-29T", "2024-02-29 12:34:56.", "2024-02-29 12:34:.5", "2024-02-29 12::34", "2024-02-29 12:34.5", "2024/02/29", "2024/2/9", "29/Feb/2024", "2024-feb-29",
	"sept 5 2024", "September 5 2024", "Weds 5 Sep 2024", "2024-02-29 12:34 ü", "ü", "2024-02-29 (12:34)", "2024,02,29", "Feb 29 2024 12:34 am", "99999999999", "2024022", "240229", "24060", "2024-2-29 1:2:3", "20240229 240000",
	"20240229 256161", "12.34.56", "1.2", "2024-02-29 010203-05", "2024-02-29T010203+05", "j2460370-08", "j2460370 12:34", "j-1", "J0", "2024-02-29 infinity", "now x", strings.Repeat("2024-02-29 ", 30), "2024-02-29 12:34 " + strings.Repeat("x", 200),
	"2024-02-29 12:34 FOO+3", "2024-02-29 12:34 AB3", "2024-02-29 12:34 <+03>-3", "2024-02-29 12:34 LKT", "1995-02-29 12:34 LKT", "2000-02-28 12:34 CLT", "2024-02-28 12:34 VET", "1850-01-01 12:00 VET", "2024-02-29 12:34 IST", "2024-02-29 12:34 +", "-", "+", "2024-02-29 -",
	"Feb-7-1997 15:23:27", "2-7-1997 15:23:27", "1997-2-7 15:23:27", "1997.038 15:23:27", "970207 152327", "97038 152327", "20011225T040506.789-07", "20011225T040506.789-0730", "2001-12-25 04:05:06 PST", "12/25/2001 04:05", "25/12/2001 04:05", "Dec 25 04:05:06 2001",
	"2024-02-29 12:34:56.1234565", "2024-02-29 12:34:56.1234575", "1999-01-08 04:05:06.5e3", "2024-02-29 1234", "2024-02-29 123", "2024-02-29 12345", "0-0-0", "00-1-1", "1-13-2000", "13-1-2000", "31 12 99", "12 31 99", "99 12 31", "1 2 3",
}

var timeTexts = []string{
	"12:34:56", "00:00", "24:00", "23:59:59.9999999", "12:34:56.789012", "04:05 AM", "04:05 PM", "12:00 AM", "12:00 PM", "040506", "0405", "040506.789",
	"12:34+02", "12:34:56-08", "12:34 EST", "12:34 +05:30:15", "12:34:56.5Z", "12:34 UTC", "24:00:01", "25:00", "12:60", "12:34:60", "12:34:61", "-1:00", "allballs", "", "x", "12", "12345", "1234567",
	"2024-02-29 12:34:56 America/New_York", "2024-07-01 12:34 Europe/Berlin", "12:34 America/New_York", "12:34 Asia/Tokyo", "12:34 Etc/GMT+5", "04:05:06 PST8PDT", "2003-04-12 04:05:06 America/New_York", "13:00 PM", "00:00 PM",
	"T040506", "t04:05:06", "h04mm05s06", "h04mm05s06.5", "12:34:56.1234565", "1:2:3", "12:34 PDT", "12:34 foo", "2024-02-29", "Feb 29 2024 12:34", "040506+08", "040506-08", "12:34:56 +0530", "12:34 bc", "infinity", "12:34:56.", "12:34.5", "12:.5",
	"2024-02-29 12:34 MSK", "12:34 GMT+3", "12:34 PM EST", "20240229 12:34", "12:34 2024-02-29", "2024.060 12:34", "2024-13-29 12:34 Europe/Berlin", "12:34 DST", "12:34 MET DST", "j2460370 12:34", "y2024m02d29 12:34", "12:34+16", "12:34 -15:59:59", "2460370",
}

var intervalTexts = []string{
	"1 day", "-1 day", "1 year 2 mons 3 days 04:05:06.789", "-1 year -2 mons +3 days -04:05:06", "1 mon -1 day 00:00:01", "00:00:00", "0", "1", "1.5", "-1.5", "1:30", "1:30:15.5", "-1:30", "+1:30", "1 2:03", "1 2:03:04", "-1 2:03:04", "1 -2:03:04", "1-2", "-1-2", "1-2 3 4:05:06",
	"-1-2 3 4:05:06", "+1-2 -3 +4:05:06.789", "1-12", "1 day ago", "1 year 2 months ago", "@ 1 year 2 mons ago", "@ 1 minute", "1.5 years", "1.55 years", "1.5 months", "0.7 weeks", "1.5 days", "1.5 hours", "1.5 minutes", "1.5 seconds", "1.0000005 seconds", "1.0000015 s", "1500 ms", "1.5 ms", "1500 us", "1.5 us", "2.5 us",
	"1 decade", "1.5 centuries", "1 millennium", "2 millennia", "1 quarter", "1 week", "1 fortnight", "1 d 2 h 3 m 4 s", "1d 2h 3m 4s", "1d2h", "1 day 1 day", "1 hour 1:00", "1 week 1 day", "1 sec 1 ms 1 us", "1.5 sec 1 ms", "P1Y2M3DT4H5M6S", "P1Y", "PT1.5S", "P-1Y2M", "P1W", "PT", "P", "P1", "P0001-02-03T04:05:06", "P00010203T040506",
	"P00010203T040506.5", "P1.5Y", "P1.5M", "P1.5W", "P1.5D", "PT1.5H", "PT1.5M", "P1YT", "P1Y1Y", "p1y", "PT-1.5S", "P1e3D", "P1Q", "PT1:2", "P1-2", "P1-2-3", "P1-2T3", "P1-2-3T", "P1-2-3T4:5:6.5", "P-0001-2-3", "P9999999999Y", "P1e16D", "P.5D", "P1YT1H2", "P20210101", "PT1:", "PT1:2:3:4",
	"2147483647 years", "178956970 years 7 months", "178956970 years 8 months", "-178956970 years -8 months", "2147483647 days", "2147483648 days", "-2147483648 days", "9223372036854775807 us", "9223372036854775808 us", "-9223372036854775808 us", "2562047788:00:54.775807", "2562047788:00:54.775808", "-2562047788:00:54.775808",
	"99999999999999999999 days", "9223372036 hours", "2562047789 hours", "", " ", "x", "1 x", "day", "day 1", "1 day 2", "1 2", "ago", "1 ago", "1 day ago ago", "ago 1 day", "1:2:3:4", "1:60", "1:00:60", "1:00:61", "1:30:15.1234565", "1 microsecond", "1 microseconds", "1 milliseconds", "1 millisecondsfoo", "1 month 1 year", "- 1 day",
	"+ 1 day", "1. day", ".5 day", "1.. day", "1.5.5 day", "1e3 days", "infinity", "-infinity", "1 y 2 mon", "1 yr 2 mons 3 d 4 hrs 5 mins 6 secs", "6.7 months 1.2 days", "-0.1 year", "0.99999999 us", "1 day -0:00:01", "-1 mon 1 day", "1 hour -61 minutes", "1 timezone", strings.Repeat("1 day ", 13), strings.Repeat("x", 300),
	"1-2-3", "1 - 2", "- 1-2", "-1:30:15.5", "1 day -1:30", "0:1.5", "100:1.5", "1:1.5 day", "1.5:30",
}

var jsonTexts = []string{
	`1`, `-0`, `1.0`, `1.00`, `1e3`, `1E-3`, `-1.5e+2`, `01`, `1.`, `.5`, `+1`, `1e`, `-`, `1x`, `true`, `false`, `null`, `True`, `nul`, `"a"`, `""`, `"ü∆🙂"`, `"a\"b\\c\/d\b\f\n\r\t"`, `"\u00fc"`, `"\ud83d\ude42"`, `"\ud83d"`, `"\ude42"`, `"\ud83d\ud83d"`, `"\ud83dx"`, `"\u0000"`, `"\u12"`, `"\x"`, `"a`, "\"a\nb\"", `"\u001f"`, "\"\x7f\"",
	`[]`, `[1,2 , 3]`, `[1,]`, `[,1]`, `[1 2]`, `[`, `]`, `{}`, `{"a":1}`, `{"b":1,"a":2,"aa":3,"":4}`, `{"a":1,"a":2}`, `{"a":{"b":[1,{"c":null}]}}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1,}`, `{"a":1 "b":2}`, `{1:2}`, `{`, `{"a":1`, ``, ` `, ` 1 `, `1 2`, `[1]x`, `"a" "b"`, `1e400`, `123456789012345678901234567890.123456789`,
	`{"ü":1,"z":2}`, `[[],{},[[]]]`, `'a'`, `[1,"\u00"]`, `nan`, `-Infinity`, `[true,false,null]`, "\t[\n1\r]", `{"a":1}}`, `1e131072`, `0.0000000001`, `"\"`, `{"a":"\u0041","A":1}`, `[1,2`, `["a`, `#`, `[#]`, `{"a" 1}`, `-1e-2`, `1.10`, `0e5`, `1E5`, `ünull`, `12-3`,
}

// reader is a function of the server's that reads texts as a type and gives the text and binary forms or the error of each.
const reader = `create function pg_temp.read(typ text, send text, texts text[], out t text, out b bytea, out code text, out msg text,
		out detail text, out hint text) returns setof record language plpgsql as $$
	declare s text; begin
	foreach s in array texts loop
		t := null; b := null; code := null; msg := null; detail := null; hint := null;
		begin
			execute format('select v, %s(v) from (select %L::%s) x(v)', send, s, typ) into t, b;
		exception when others then
			get stacked diagnostics code = returned_sqlstate, msg = message_text, detail = pg_exception_detail, hint = pg_exception_hint;
		end;
		return next;
	end loop; end $$`

// form is what the server says of a text.
type form struct {
	text, bin []byte
	err       *pgconn.PgError
}

// forms reads texts on the server.
func forms(t *testing.T, conn *pgconn.PgConn, typ sqltype.Type, texts []string) []form {
	t.Helper()
	array := &sqltype.Array{Elem: sqltype.OIDText, Dims: []int32{int32(len(texts))}, Lower: []int32{1}}
	for _, s := range texts {
		array.Values = append(array.Values, s)
	}
	send := conn.ExecParams(context.Background(), fmt.Sprintf("select typsend::text from pg_type where oid = %d", typ.OID), nil, nil, nil, nil).Read()
	if send.Err != nil || len(send.Rows) != 1 {
		t.Fatal(typ, send.Err)
	}
	res := conn.ExecParams(context.Background(), "select * from pg_temp.read($1, $2, $3)",
		[][]byte{[]byte(typ.String()), send.Rows[0][0], []byte(sqltype.FormatText(array, mustArray(sqltype.Text)))}, nil, nil, []int16{0, 1, 0, 0, 0, 0}).Read()
	if res.Err != nil || len(res.Rows) != len(texts) {
		t.Fatal(typ, len(texts), len(res.Rows), res.Err)
	}
	out := make([]form, len(texts))
	for i, r := range res.Rows {
		if r[2] != nil {
			out[i].err = &pgconn.PgError{Code: string(r[2]), Message: string(r[3]), Detail: string(r[4]), Hint: string(r[5])}
			continue
		}
		out[i].text, out[i].bin = bytes.Clone(r[0]), bytes.Clone(r[1])
	}
	return out
}

func mustArray(elem sqltype.Type) sqltype.Type {
	a, ok := sqltype.ArrayOf(elem)
	if !ok {
		panic(elem)
	}
	return a
}

// TestSettings reads and writes texts under many settings as PostgreSQL does: the same text and binary forms, or the same
// SQLSTATE, message, detail and hint. What PostgreSQL reads from the clock is refused by name.
func TestSettings(t *testing.T) {
	for _, s := range sessions(t) {
		conn := s.connect(t)
		for _, in := range settingTexts {
			checkTexts(t, conn, &s.set, in.t, in.texts, s.sql)
		}
	}
}

func checkTexts(t *testing.T, conn *pgconn.PgConn, set *sqltype.Settings, typ sqltype.Type, texts []string, name string) {
	t.Helper()
	compareTexts(t, conn, set, typ, texts, name, true)
}

// compareTexts compares errors too, or only that both refuse: of a text with several faults each may name another.
func compareTexts(t *testing.T, conn *pgconn.PgConn, set *sqltype.Settings, typ sqltype.Type, texts []string, name string, strict bool) {
	t.Helper()
	for i, want := range forms(t, conn, typ, texts) {
		what := fmt.Sprintf("%s: %s %.60q", name, typ, texts[i])
		v, err := set.ParseText(texts[i], typ)
		switch {
		case sqlerr.ID(err) == sqlerr.Unsupported.ID:
			continue
		case want.err != nil:
			e, ok := err.(*sqlerr.Error)
			if ok && !strict {
				continue
			}
			if !ok || e.Code != want.err.Code || e.Message != want.err.Message || e.Detail != want.err.Detail || e.Hint != want.err.Hint {
				t.Errorf("%s: %v %v\nPostgreSQL: %s %s (%s) %s", what, set.FormatText(v, typ), err, want.err.Code, want.err.Message, want.err.Detail, want.err.Hint)
			}
			continue
		case err != nil && !strict && typ.IsArray(): // PostgreSQL takes a sign for a bound, and numbers beyond 32 bits
			continue
		case err != nil:
			t.Errorf("%s: %v, PostgreSQL has %s", what, err, want.text)
			continue
		case typ.IsFloat() && strings.EqualFold(strings.TrimSpace(texts[i]), "-nan"): // its sign is a bit that nothing shows
			continue
		}
		text, err1 := set.Encode(v, typ, sqltype.TextFormat, nil)
		bin, err2 := set.Encode(v, typ, sqltype.BinaryFormat, nil)
		if err1 != nil || err2 != nil || !bytes.Equal(text, want.text) || !bytes.Equal(bin, want.bin) {
			t.Errorf("%s: %q %x (%v, %v), PostgreSQL has %q %x", what, text, bin, err1, err2, want.text, want.bin)
			continue
		}
		back, err := set.Decode(bin, typ, sqltype.BinaryFormat)
		if sqlerr.ID(err) == sqlerr.TimeZoneRange.ID { // PostgreSQL's binary input refuses what its text input takes from a zone's name
			continue
		}
		if err != nil || set.FormatText(back, typ) != string(text) {
			t.Errorf("%s: reads back as %v, %v", what, set.FormatText(back, typ), err)
		}
	}
}
