package sqltype_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

var arrayTexts = []string{
	"{}", "{1,2,3}", "{ 1 , 2 }", " {1} ", "{NULL}", "{null,1}", `{"NULL"}`, `{""}`, `{"1"}`, "{{1,2},{3,4}}", "{{1,2},{3}}", "{{1},2}", "{1,{2}}", "{{},{}}", "{{}}", "{{{1}}}", "{{{{{{1}}}}}}", "{{{{{{{1}}}}}}}",
	"[0:1]={1,2}", "[2]={1,2}", "[1:1][-2:-1]={{1,2}}", "[5:3]={1}", "[1:2]={1}", "[1:2] = {1,2}", "[1:2]{1,2}", "[a:b]={1}", "[1:2={1,2}", "[]={1}", "[1:2147483647]={1}", "[-2147483648:-2147483647]={1,2}",
	"", " ", "1", "{1", "1}", "{1}}", "{1} x", "{1,,2}", "{,1}", "{1,}", "{1 2}", `{"1}`, `{"1"2}`, `{1"2"}`, `{a b}`, `{ a b , c }`, `{"a b"}`, `{a\,b}`, `{a\ }`, `{"a\"b\\c"}`, `{\NULL}`, `{a"b"}`, "{{1},{}}", "{{},{1}}", "{x}", "{{1,2},{3,x}}", "{ü,\"ü ü\"}", "{{1,2}{3,4}}", "{{1,2},3}", "{ }", "{{ }}",
	"{NULL,NULL}", "{{NULL,1},{2,NULL}}", "{1,2}\n", "\t{1,2}", `{"a,b"}`, `{'a'}`, `{a'b}`, `{"{1}"}`, `{\}}`, `{\`, `{"\`, "{1;2}", "{2024-02-29 12:00,infinity}", `{"2024-02-29 12:00:00"}`, `{\\x00ff}`, `{"\\x00ff"}`, "{t,f}", "{1.50,2.5}", `{"{\"a\": [1, 2]}"}`, "{1 day,\"2 days 3:00\"}",
}

// TestArrays reads and writes arrays of every type as PostgreSQL does.
func TestArrays(t *testing.T) {
	conn := connect(t)
	if err := conn.Exec(context.Background(), reader).Close(); err != nil {
		t.Fatal(err)
	}
	for _, elem := range []sqltype.Type{sqltype.Int4, sqltype.Text, sqltype.Bool, sqltype.Numeric, sqltype.Timestamptz, sqltype.Bytea, sqltype.JSONBType, sqltype.IntervalType,
		sqltype.UUIDType, sqltype.Date, sqltype.Varchar} {
		checkTexts(t, conn, &sqltype.Settings{}, mustArray(elem), arrayTexts, elem.String())
	}
}

// TestBinaryAgrees sends binary values, good and bad, of types with a form of their own.
func TestBinaryAgrees(t *testing.T) {
	conn := connect(t)
	for _, c := range []struct {
		t   sqltype.Type
		hex string
	}{
		{sqltype.Time, "0000000000000000"}, {sqltype.Time, "000000141dd76000"}, {sqltype.Time, "000000141dd76001"}, {sqltype.Time, "ffffffffffffffff"}, {sqltype.Time, "00"},
		{sqltype.Timetz, "000000000000000000000e10"}, {sqltype.Timetz, "0000000000000000ffff1f01"}, {sqltype.Timetz, "00000000000000000000e100"}, {sqltype.Timetz, "00000000000000000000e0ff"}, {sqltype.Timetz, "000000141dd7600100000000"},
		{sqltype.IntervalType, "7fffffffffffffff7fffffff7fffffff"}, {sqltype.IntervalType, "80000000000000008000000080000000"}, {sqltype.IntervalType, "00"}, {sqltype.IntervalType, strings.Repeat("00", 17)},
		{sqltype.UUIDType, strings.Repeat("ab", 16)}, {sqltype.UUIDType, strings.Repeat("ab", 15)}, {sqltype.Bytea, ""}, {sqltype.Bytea, "00ff"},
		{sqltype.JSONType, "7b7d"}, {sqltype.JSONType, "7b"}, {sqltype.JSONBType, "017b2262223a312c2261223a2020327d"}, {sqltype.JSONBType, "02"}, {sqltype.JSONBType, ""}, {sqltype.JSONBType, "0131c3"},
		{mustArray(sqltype.Int4), "000000000000000000000017"}, {mustArray(sqltype.Int4), "00000001000000000000001700000002000000010000000400000007ffffffff"},
		{mustArray(sqltype.Int4), "00000001000000010000001700000001ffffffff0000000400000007"}, {mustArray(sqltype.Int4), "0000000100000000000000170000000100000001000000040000"},
		{mustArray(sqltype.Int4), "00000001000000000000001900000001000000010000000400000007"}, {mustArray(sqltype.Int4), "00000007000000000000001700"}, {mustArray(sqltype.Int4), "ffffffff0000000000000017"},
		{mustArray(sqltype.Int4), "000000010000000200000017"}, {mustArray(sqltype.Int4), "0000000100000000000000177fffffff000000010000000400000007"}, {mustArray(sqltype.Int4), "00000001000000000000001700000001000000010000000500000007ff"},
		{mustArray(sqltype.Int4), "0000000100000000000000170000000100000001000000030000ff"}, {mustArray(sqltype.Int4), "00000001000000000000001700000000000000010000"}, {mustArray(sqltype.Int4), "00000001000000000000001700000002000000010000000400000007fffffffe"},
		{mustArray(sqltype.Int4), "00000001000000000000001700000001000000010000000400000007ff"}, {mustArray(sqltype.Int4), "000000010000000000000017000000017fffffff0000000400000007"}, {mustArray(sqltype.Int4), "0000000100000000000000170000000200000001"},
		{mustArray(sqltype.Text), "000000020000000000000019000000010000000100000002000000010000000161" + "00000000"}, {mustArray(sqltype.Text), "0000000100000000000000190000000100000001" + "00000001ff"},
	} {
		raw, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		res := conn.ExecParams(context.Background(), "select $1, $1", [][]byte{raw}, []uint32{uint32(c.t.OID)}, []int16{1}, []int16{0, 1}).Read()
		v, err := sqltype.Decode(raw, c.t, sqltype.BinaryFormat)
		name := c.t.String() + " " + c.hex
		if res.Err != nil {
			e, ok := err.(*sqlerr.Error)
			want := res.Err.(*pgconn.PgError)
			if !ok || e.Code != want.Code && want.Code != "XX000" || e.Message != want.Message && !strings.Contains(want.Message, "bind parameter") {
				t.Errorf("%s: %v, PostgreSQL: %v", name, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v, PostgreSQL has %s", name, err, res.Rows[0][0])
			continue
		}
		if bin, err := sqltype.Encode(v, c.t, sqltype.BinaryFormat, nil); err != nil || sqltype.FormatText(v, c.t) != string(res.Rows[0][0]) || !bytes.Equal(bin, res.Rows[0][1]) {
			t.Errorf("%s: %s %x %v, PostgreSQL has %s %x", name, sqltype.FormatText(v, c.t), bin, err, res.Rows[0][0], res.Rows[0][1])
		}
	}
}

// orders are texts whose order is compared, all pairs of a type.
var orders = []struct {
	t     sqltype.Type
	texts []string
}{
	{sqltype.Time, []string{"00:00", "12:00", "24:00", "12:00:00.000001"}},
	{sqltype.Timetz, []string{"12:00+00", "13:00+01", "11:00-01", "23:00-12", "00:00+13", "12:00:00.5+00"}},
	{sqltype.Timestamptz, []string{"2024-02-29 12:00+00", "2024-02-29 13:00+01", "infinity", "-infinity", "0044-03-15 BC"}},
	{sqltype.IntervalType, []string{"1 day", "24 hours", "1 mon", "30 days", "720 hours", "1 year", "12 mons", "360 days", "365 days", "-1 day", "-24:00", "-1 mon +30 days", "0", "178956970 years", "-178956970 years", "1 mon -1 us", "29 days 23:59:59.999999", "2147483647 days 2562047788:00:00"}},
	{sqltype.UUIDType, []string{"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "7fffffff-ffff-ffff-ffff-ffffffffffff", "80000000-0000-0000-0000-000000000000"}},
	{sqltype.Bytea, []string{"", `\x00`, `\x0000`, `\xff`, `\x7f`, `\x61`, `\x6162`}},
	{sqltype.JSONBType, []string{"null", "true", "false", "1", "1.0", "1.00", "-1", "10", `""`, `"a"`, `"aa"`, `"b"`, "[]", "[null]", "[1]", "[1.0]", "[1,2]", "[2]", "{}", `{"a":1}`, `{"a":1.0}`, `{"b":1}`, `{"aa":0}`, `{"a":1,"b":2}`, `{"a":[]}`, "[[]]", "[{}]", `["a"]`, "[[1]]", "[true]"}},
	{mustArray(sqltype.Int4), []string{"{}", "{1}", "{1,2}", "{2}", "{NULL}", "{1,NULL}", "{{1,2}}", "{{1},{2}}", "[0:1]={1,2}", "{1,2,3}", "{-1}", "{NULL,1}"}},
	{mustArray(sqltype.Numeric), []string{"{1.0}", "{1.00}", "{1.5,2}"}},
	{mustArray(sqltype.IntervalType), []string{"{1 day}", "{24:00}", "{1 mon}"}},
	{bpchar, []string{"a", "a  ", "b", "a b"}},
	{mustArray(bpchar), []string{"{a}", `{"a  "}`, "{b}"}},
}

// TestOrders compares values as the server does.
func TestOrders(t *testing.T) {
	conn := connect(t)
	if err := conn.Exec(context.Background(), "create type pg_temp.mood as enum ('sad', 'ok', 'happy', 'Angry')").Close(); err != nil {
		t.Fatal(err)
	}
	mood := sqltype.EnumType(sqltype.Enum{OID: 90000, Array: 90001, Schema: "pg_temp", Name: "mood", Labels: []string{"sad", "ok", "happy", "Angry"}})
	list := append(orders, struct {
		t     sqltype.Type
		texts []string
	}{mood, []string{"sad", "ok", "happy", "Angry"}}, struct {
		t     sqltype.Type
		texts []string
	}{mustArray(mood), []string{"{sad,ok}", "{ok}", "{Angry}", "{NULL}", "{}"}})
	for _, in := range list {
		for _, a := range in.texts {
			for _, b := range in.texts {
				sql := fmt.Sprintf("select case when $1::%[1]s < $2::%[1]s then -1 when $1::%[1]s > $2::%[1]s then 1 else 0 end", in.t)
				res := conn.ExecParams(context.Background(), sql, [][]byte{[]byte(a), []byte(b)}, nil, nil, nil).Read()
				if res.Err != nil {
					t.Fatal(in.t, res.Err)
				}
				x, err1 := sqltype.ParseText(a, in.t)
				y, err2 := sqltype.ParseText(b, in.t)
				if err1 != nil || err2 != nil {
					t.Fatal(err1, err2)
				}
				if got := strconv.Itoa(sqltype.CompareAs(x, y, in.t)); got != string(res.Rows[0][0]) {
					t.Errorf("%s: %q against %q: %s, PostgreSQL has %s", in.t, a, b, got, res.Rows[0][0])
				}
			}
		}
	}
	if _, err := sqltype.ParseText("glad", mood); sqlerr.ID(err) != sqlerr.InvalidText.ID {
		t.Errorf("glad is a mood: %v", err)
	}
}
