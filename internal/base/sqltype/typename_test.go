package sqltype_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestTypeNames makes a column of every type and asks for its OID, modifier, length and the name that format_type gives, and
// those of the type's arrays.
func TestTypeNames(t *testing.T) {
	conn := connect(t)
	all := []sqltype.Type{sqltype.Bool, sqltype.Bytea, sqltype.Char, sqltype.Name, sqltype.Int8, sqltype.Int2, sqltype.Int4, sqltype.Text,
		sqltype.Oid, sqltype.JSONType, sqltype.Float4, sqltype.Float8, varchar, bpchar, sqltype.Varchar, sqltype.Date, sqltype.Time,
		sqltype.Timestamp, sqltype.Timestamptz, sqltype.IntervalType, sqltype.Timetz, sqltype.Numeric, sqltype.NumericOf(10, 3),
		sqltype.NumericOf(3, -2), sqltype.UUIDType, sqltype.JSONBType, sqltype.IntervalOf(0, 3), sqltype.IntervalOf(0, 0)}
	for p := range int32(7) {
		for _, o := range []sqltype.OID{sqltype.OIDTime, sqltype.OIDTimetz, sqltype.OIDTimestamp, sqltype.OIDTimestamptz} {
			all = append(all, sqltype.Type{OID: o, Typmod: p})
		}
	}
	for _, name := range []string{"year", "month", "day", "hour", "minute", "second", "year to month", "day to hour", "day to minute", "day to second",
		"hour to minute", "hour to second", "minute to second"} {
		f, ok := sqltype.ParseIntervalFields(name)
		if !ok {
			t.Fatal(name)
		}
		all = append(all, sqltype.IntervalOf(f, -1))
		if f&sqltype.FieldSecond != 0 {
			all = append(all, sqltype.IntervalOf(f, 2))
		}
	}
	for _, elem := range all {
		array, ok := sqltype.ArrayOf(elem)
		if !ok {
			t.Fatal(elem)
		}
		if back, ok := array.Elem(); !ok || back != elem {
			t.Errorf("%s is the element of %s", back, array)
		}
		for _, typ := range []sqltype.Type{elem, array} {
			ddl := "drop table if exists named; create temp table named (a " + typ.String() + ")"
			if err := conn.Exec(context.Background(), ddl).Close(); err != nil {
				t.Fatal(typ, err)
			}
			row := conn.ExecParams(context.Background(), `select atttypid, atttypmod, format_type(atttypid, atttypmod), typlen
				from pg_attribute join pg_type t on t.oid = atttypid where attrelid = 'named'::regclass and attnum = 1`, nil, nil, nil, nil).Read().Rows[0]
			got := []string{strconv.Itoa(int(typ.OID)), strconv.Itoa(int(typ.Typmod)), typ.String(), strconv.Itoa(int(typ.Len()))}
			for i := range got {
				if got[i] != string(row[i]) {
					t.Errorf("%s: %s, PostgreSQL has %s", typ, got, row)
					break
				}
			}
		}
	}
}

// TestEnum: an enum is described by its content.
func TestEnum(t *testing.T) {
	of := func(labels ...string) sqltype.Type {
		return sqltype.EnumType(sqltype.Enum{OID: 20000, Array: 19999, Schema: "public", Name: "Mood", Labels: labels})
	}
	mood := of("sad", "ok", "")
	if mood != of("sad", "ok", "") || mood == of("sad", "ok") || !mood.IsEnum() || !mood.IsKnown() || mood.String() != `"Mood"` || mood.Len() != 4 {
		t.Error(mood)
	}
	if e, ok := mood.Enum(); !ok || len(e.Labels) != 3 || e.Labels[2] != "" {
		t.Error(e)
	}
	array, ok := sqltype.ArrayOf(mood)
	if elem, is := array.Elem(); !ok || !is || elem != mood || array.IsEnum() || array.String() != `"Mood"[]` {
		t.Error(array, elem)
	}
	if none := of(); none == mood || !none.IsEnum() {
		t.Error("an enum without labels")
	}
}
