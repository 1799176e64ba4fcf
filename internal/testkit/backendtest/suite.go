package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// endless does not end before the tests do.
const endless = `SELECT sum((a.x * b.y) % 7) FROM generate_series(1, 10000000) AS a(x), generate_series(1, 10000000) AS b(y)`

// Run is the suite.
func Run(t *testing.T, target Target) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Target)
	}{
		{"Values", testValues}, {"Numbers", testNumbers}, {"Parameters", testParameters}, {"Others", testOthers}, {"Sums", testSums}, {"Meaning", testMeaning},
		{"Snapshot", testSnapshot}, {"ReadOnly", testReadOnly}, {"Cancel", testCancel}, {"Errors", testErrors},
		{"Shapes", testShapes}, {"ManyRows", testManyRows}, {"Describe", testDescribe}, {"Lives", testLives}, {"Parallel", testParallel},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, target) })
	}
}

func testValues(t *testing.T, g Target) {
	got := mustAsk(t, g.Backend, "SELECT * FROM "+table(t, g, "torture")+" ORDER BY id", nil, tortureTypes...)
	checkRows(t, got, tortureRows)
}

// Every type as a parameter comes back as it went, alone and compared with the stored column.
func testParameters(t *testing.T, g Target) {
	casts := []string{"integer", "boolean", "smallint", "integer", "bigint", "real", "double precision", "numeric(38,10)", "text", "date", "timestamp"}
	columns := []string{"id", "b", "i2", "i4", "i8", "f4", "f8", "n", "t", "d", "ts"}
	torture := table(t, g, "torture")
	for _, row := range tortureRows {
		var args []backend.Arg
		var list, same []string
		for i, v := range row {
			args = append(args, backend.Arg{Type: tortureTypes[i], Value: v})
			p := fmt.Sprintf("CAST($%d AS %s)", i+1, casts[i])
			list = append(list, p)
			same = append(same, fmt.Sprintf("%s IS NOT DISTINCT FROM %s", columns[i], p))
		}
		checkRows(t, mustAsk(t, g.Backend, "SELECT "+strings.Join(list, ", "), args, tortureTypes...), [][]sqltype.Value{row})
		found := mustAsk(t, g.Backend, "SELECT id FROM "+torture+" WHERE "+strings.Join(same, " AND "), args, sqltype.Int4)
		checkRows(t, found, [][]sqltype.Value{{row[0]}})
	}
	// A parameter has its own type, not the Go value's: a smallint cannot hold what a bigint can.
	if _, err := Ask(t.Context(), g.Backend, "SELECT $1", []backend.Arg{{Type: sqltype.Int2, Value: int64(40_000)}}, sqltype.Int2); err == nil {
		t.Error("40000 was bound as a smallint")
	}
	for _, bad := range []backend.Arg{
		{Type: sqltype.Int4, Value: "1"}, {Type: sqltype.Text, Value: int64(1)}, {Type: sqltype.Date, Value: sqltype.Micros(1)},
		{Type: sqltype.Numeric, Value: 1.5}, {Type: sqltype.Type{OID: 0, Typmod: -1}, Value: int64(1)},
	} {
		_, err := Ask(t.Context(), g.Backend, "SELECT $1", []backend.Arg{bad}, bad.Type)
		checkClass(t, err, backend.FailOther)
	}
}

// The types beside torture's: their columns are described, their values read and bound, ordered and told apart alike.
func testOthers(t *testing.T, g Target) {
	r, err := g.Backend.Describe(t.Context(), []backend.RelationName{{Name: "others"}})
	if err != nil || len(r) != 1 {
		t.Fatal(err)
	}
	types := othersTypes
	for i, want := range othersTypes {
		if got := r[0].Columns[i].Type; got != want || !got.IsReadable() {
			t.Errorf("column %s is %s, want %s", r[0].Columns[i].Name, got, want)
		}
	}
	enum := r[0].Columns[len(othersTypes)].Type
	if e, ok := enum.Enum(); !ok || !enum.IsEnum() || !reflect.DeepEqual(e.Labels, mood.Labels) {
		t.Fatalf("the enum is %v", enum)
	}
	types = append(types[:len(types):len(types)], enum)
	others := table(t, g, "others")
	checkRows(t, mustAsk(t, g.Backend, "SELECT * FROM "+others+" ORDER BY id", nil, types...), othersRows)
	columns := []string{"id", "c", "z", "tz", "i", "u", "b", "m"}
	casts := []string{"integer", "time", "time with time zone", "timestamp with time zone", "interval", "uuid", "bytea", fmt.Sprintf("%q.mood", r[0].Schema)}
	bytes := append(append([]sqltype.Value(nil), othersRows[3]...), nil)[:8]
	bytes[6] = sqltype.Bytes("\x00\xff\\x61'") // no text of it is alike on all backends
	for _, row := range append(othersRows[:len(othersRows):len(othersRows)], bytes) {
		var args []backend.Arg
		var list, same []string
		for i, v := range row {
			p := fmt.Sprintf("CAST($%d AS %s)", i+1, casts[i])
			args = append(args, backend.Arg{Type: types[i], Value: v})
			list, same = append(list, p), append(same, fmt.Sprintf("%s IS NOT DISTINCT FROM %s", columns[i], p))
		}
		checkRows(t, mustAsk(t, g.Backend, "SELECT "+strings.Join(list, ", "), args, types...), [][]sqltype.Value{row})
		found := mustAsk(t, g.Backend, "SELECT id FROM "+others+" WHERE "+strings.Join(same, " AND "), args, sqltype.Int4)
		if row[6] != bytes[6] {
			checkRows(t, found, [][]sqltype.Value{{row[0]}})
		}
	}
	for i, column := range columns[1:] {
		typ := types[i+1]
		got := mustAsk(t, g.Backend, fmt.Sprintf("SELECT id FROM %s WHERE %s IS NOT NULL ORDER BY %s, id", others, column, column), nil, sqltype.Int4)
		rows := othersRows[1:len(othersRows):len(othersRows)]
		want := slices.SortedStableFunc(slices.Values(rows), func(a, b []sqltype.Value) int { return sqltype.CompareAs(a[i+1], b[i+1], typ) })
		for k := range want {
			if got[k][0] != want[k][0] {
				t.Errorf("%s: ordered as %v, want %v first", column, got, want[k][0])
				break
			}
		}
	}
	for _, v := range []sqltype.Value{sqltype.Clock(0), sqltype.UUID{}, sqltype.Bytes(""), sqltype.Interval{}, sqltype.ClockTZ{}, sqltype.JSON("1")} {
		_, err := Ask(t.Context(), g.Backend, "SELECT $1", []backend.Arg{{Type: sqltype.Int4, Value: v}}, sqltype.Int4)
		checkClass(t, err, backend.FailOther)
	}
}

// Sums are exact beyond 64 bits, and come in the wanted type where they fit.
func testSums(t *testing.T, g Target) {
	torture := table(t, g, "torture")
	got := mustAsk(t, g.Backend, "SELECT sum(i8), sum(i4), count(*), sum(n) FROM "+torture+" WHERE id IN (4, 5)", nil,
		sqltype.Numeric, sqltype.Int8, sqltype.Int8, sqltype.Numeric)
	checkRows(t, got, [][]sqltype.Value{{dec("18446744073709551614"), int64(2147483646), int64(2), dec("9999999999999999999999999999.9999999999").Add(dec("0.0000000001"))}})
	got = mustAsk(t, g.Backend, "SELECT sum(i8) FROM "+torture+" WHERE id = 1", nil, sqltype.Numeric)
	checkRows(t, got, [][]sqltype.Value{{nil}})
}

// What the printed SQL relies on: integer division, the order of NULLs, the order of text, UTC.
func testMeaning(t *testing.T, g Target) {
	got := mustAsk(t, g.Backend, "SELECT 7 / 2, -7 / 2, CAST(current_setting('TimeZone') AS text)", nil, sqltype.Int4, sqltype.Int4, sqltype.Text)
	checkRows(t, got, [][]sqltype.Value{{int64(3), int64(-3), "UTC"}})
	torture := table(t, g, "torture")
	for order, first := range map[string]sqltype.Value{"i4 DESC": int64(1), "i4": int64(3), "i4, id": int64(3)} {
		got := mustAsk(t, g.Backend, "SELECT id FROM "+torture+" ORDER BY "+order+" LIMIT 1", nil, sqltype.Int4)
		checkRows(t, got, [][]sqltype.Value{{first}})
	}
	got = mustAsk(t, g.Backend, "SELECT t FROM "+torture+" WHERE t IN ('x', 'X', 'sesame') ORDER BY t", nil, sqltype.Text)
	checkRows(t, got, [][]sqltype.Value{{"X"}, {"sesame"}, {"x"}})
}

// A transaction that has read once does not see what is committed later; the next transaction does.
func testSnapshot(t *testing.T, g Target) {
	child := table(t, g, "child")
	count := "SELECT count(*) FROM " + child
	tx, err := g.Backend.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	read := func() int64 {
		t.Helper()
		rows, err := In(t.Context(), tx, count, nil, sqltype.Int8)
		if err != nil {
			t.Fatal(Cause(err))
		}
		return rows[0][0].(int64)
	}
	before := read()
	if err := g.Write("INSERT INTO child VALUES (1, 1, 'late')"); err != nil {
		t.Fatal(err)
	}
	if n := read(); n != before {
		t.Errorf("the snapshot moved from %d rows to %d", before, n)
	}
	after := mustAsk(t, g.Backend, count, nil, sqltype.Int8)
	if after[0][0] != before+1 {
		t.Errorf("a new transaction sees %v rows, want %d", after[0][0], before+1)
	}
}

func testReadOnly(t *testing.T, g Target) {
	child := table(t, g, "child")
	n := mustAsk(t, g.Backend, "SELECT count(*) FROM "+child, nil, sqltype.Int8)
	for _, sql := range []string{
		"INSERT INTO " + child + " VALUES (1, 1, 'w') RETURNING w",
		"UPDATE " + child + " SET w = 9 RETURNING w",
		"DELETE FROM " + child + " RETURNING w",
	} {
		_, err := Ask(t.Context(), g.Backend, sql, nil, sqltype.Int4)
		checkClass(t, err, backend.FailOther)
	}
	checkRows(t, mustAsk(t, g.Backend, "SELECT count(*) FROM "+child, nil, sqltype.Int8), n)
}

// A cancelled or late statement ends soon, with its class, and the backend goes on.
func testCancel(t *testing.T, g Target) {
	for _, c := range []struct {
		name  string
		ctx   func(context.Context) (context.Context, context.CancelFunc)
		class backend.FailureClass
	}{
		{"cancel", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(100*time.Millisecond, cancel)
			return ctx, cancel
		}, backend.FailCanceled},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 100*time.Millisecond)
		}, backend.FailTimeout},
	} {
		tx, err := g.Backend.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := c.ctx(t.Context())
		start := time.Now()
		_, err = In(ctx, tx, endless, nil, sqltype.Numeric)
		cancel()
		checkClass(t, err, c.class)
		tx.Close()
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s took %v", c.name, d)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if tx, err := g.Backend.Begin(done); err == nil {
		tx.Close()
		t.Error("Begin under a context that has ended")
	} else {
		checkClass(t, err, backend.FailCanceled)
	}
	mustAsk(t, g.Backend, "SELECT 1", nil, sqltype.Int4)
}

// What the backend says of a value stays in the cause: no way of printing the error shows it.
func testErrors(t *testing.T, g Target) {
	torture := table(t, g, "torture")
	for _, sql := range []string{
		"SELECT CAST(t AS integer) FROM " + torture + " WHERE id = 4",
		"SELECT CAST(t AS date) FROM " + torture + " WHERE id = 4",
		"SELECT no_such_function(t) FROM " + torture,
		"SELECT i4 FROM no_such_schema.no_such_table",
		"SELECT FROM WHERE",
	} {
		_, err := Ask(t.Context(), g.Backend, sql, nil, sqltype.Int4)
		checkClass(t, err, backend.FailOther)
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "err", err)
		for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v %#v %q", err, err, err), log.String()} {
			if strings.Contains(text, "sesame") || strings.Contains(text, "no_such") {
				t.Errorf("%s: the error shows what the backend said: %s", sql, text)
			}
		}
	}
}

// An answer of another shape than the wanted one is refused.
func testShapes(t *testing.T, g Target) {
	torture := table(t, g, "torture")
	for _, c := range []struct {
		sql  string
		want []sqltype.Type
	}{
		{"SELECT id, t FROM " + torture, []sqltype.Type{sqltype.Int4}},
		{"SELECT id FROM " + torture, []sqltype.Type{sqltype.Int4, sqltype.Int4}},
		{"SELECT t FROM " + torture + " WHERE id = 4", []sqltype.Type{sqltype.Int4}},
		{"SELECT id FROM " + torture, []sqltype.Type{sqltype.Text}},
		{"SELECT sum(i8) FROM " + torture + " WHERE id IN (4, 5)", []sqltype.Type{sqltype.Int8}},
		{"SELECT f8 FROM " + torture + " WHERE id = 6", []sqltype.Type{sqltype.Numeric}},
	} {
		_, err := Ask(t.Context(), g.Backend, c.sql, nil, c.want...)
		checkClass(t, err, backend.FailOther)
	}
}

func testManyRows(t *testing.T, g Target) {
	const n = 100_000
	rows := mustAsk(t, g.Backend, "SELECT CAST(x AS bigint), CAST(x AS text) FROM generate_series(1, 100000) AS s(x) ORDER BY s.x", nil,
		sqltype.Int8, sqltype.Text)
	if len(rows) != n {
		t.Fatalf("%d rows, want %d", len(rows), n)
	}
	for i, row := range rows {
		if row[0] != int64(i+1) || row[1] != fmt.Sprint(i+1) {
			t.Fatalf("row %d is %v", i+1, row)
		}
	}
	// An answer left early does not hold anybody up.
	tx, err := g.Backend.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	r, err := tx.Query(t.Context(), "SELECT CAST(x AS bigint) FROM generate_series(1, 1000000) AS s(x)", nil, []sqltype.Type{sqltype.Int8})
	if err != nil {
		t.Fatal(Cause(err))
	}
	if !r.Next() {
		t.Fatal(r.Err())
	}
	start := time.Now()
	tx.Close()
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("closing an unread answer took %v", d)
	}
	if r.Next() {
		t.Error("a row after the transaction's end")
	}
}

// clearOwnFields clears what each backend fills in its own words: definitions and the reader's name.
func clearOwnFields(r *sqltype.Relation) {
	r.Definition, r.Reader = "", ""
	for i := range r.Columns {
		r.Columns[i].Definition = ""
	}
}

func testDescribe(t *testing.T, g Target) {
	got, err := g.Backend.Describe(t.Context(), []backend.RelationName{{Name: "child"}, {Name: "missing"}, {Name: "torture"}, {Name: "onlooker"},
		{Schema: "nowhere", Name: "torture"}})
	if err != nil {
		t.Fatal(Cause(err))
	}
	if len(got) != 3 {
		t.Fatalf("%d relations, want 3: %+v", len(got), got)
	}
	schema := got[0].Schema
	child := sqltype.Relation{Schema: schema, Name: "child", Kind: sqltype.KindTable,
		Columns: []sqltype.RelationColumn{{Name: "torture_id", Type: sqltype.Int4, NotNull: true}, {Name: "w", Type: sqltype.Int4},
			{Name: "note", Type: sqltype.Text, NotNull: true}},
		ForeignKeys: []sqltype.RelationForeignKey{{Columns: []string{"torture_id"}, RefSchema: schema, RefTable: "torture", RefColumns: []string{"id"}}}}
	torture := sqltype.Relation{Schema: schema, Name: "torture", Kind: sqltype.KindTable, Keys: [][]string{{"id"}, {"id", "i4"}}}
	for i, name := range []string{"id", "b", "i2", "i4", "i8", "f4", "f8", "n", "t", "d", "ts"} {
		torture.Columns = append(torture.Columns, sqltype.RelationColumn{Name: name, Type: tortureTypes[i], NotNull: name == "id"})
	}
	onlooker := sqltype.Relation{Schema: schema, Name: "onlooker", Kind: sqltype.KindView,
		Columns: []sqltype.RelationColumn{{Name: "id", Type: sqltype.Int4}, {Name: "t", Type: sqltype.Text}}}
	if v := got[2].View; v != nil && v.Simple { // a backend that reads views passes on what their table says
		onlooker.View, onlooker.Keys, onlooker.Columns[0].NotNull = v, [][]string{{"id"}}, true
	}
	for i, want := range []sqltype.Relation{child, torture, onlooker} {
		if len(got[i].Keys) == 0 {
			got[i].Keys = nil
		}
		if len(got[i].ForeignKeys) == 0 {
			got[i].ForeignKeys = nil
		}
		clearOwnFields(&got[i])
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("%s:\n got %+v\nwant %+v", want.Name, got[i], want)
		}
	}
}

// Transactions and rows keep their word about closing, and what was read cannot be printed.
func testLives(t *testing.T, g Target) {
	tx, err := g.Backend.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	torture := table(t, g, "torture")
	first, err := tx.Query(t.Context(), "SELECT t FROM "+torture+" ORDER BY id", nil, []sqltype.Type{sqltype.Text})
	if err != nil {
		t.Fatal(Cause(err))
	}
	for range 4 {
		if !first.Next() {
			t.Fatal(first.Err())
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if text := fmt.Sprintf(verb, first.Row()) + fmt.Sprintf(verb, first); strings.Contains(text, "sesame") || strings.Contains(text, "736573616d65") {
			t.Errorf("%s prints a row: %s", verb, text)
		}
	}
	second, err := In(t.Context(), tx, "SELECT count(*) FROM "+torture, nil, sqltype.Int8) // closes the first
	if err != nil {
		t.Fatal(Cause(err))
	}
	checkRows(t, second, [][]sqltype.Value{{int64(len(tortureRows))}})
	if first.Next() {
		t.Error("a row of an answer that was closed")
	}
	first.Close()
	// A failed statement fails the transaction at most, and closing it frees the connection.
	_, err = In(t.Context(), tx, "SELECT nothing_at_all", nil, sqltype.Int4)
	checkClass(t, err, backend.FailOther)
	tx.Close()
	tx.Close()
	_, err = In(t.Context(), tx, "SELECT 1", nil, sqltype.Int4)
	checkClass(t, err, backend.FailOther)
	for range 50 { // more than a pool holds: nothing leaks
		mustAsk(t, g.Backend, "SELECT 1", nil, sqltype.Int4)
	}
}

func testParallel(t *testing.T, g Target) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				rows, err := Ask(t.Context(), g.Backend, "SELECT $1 + 1", []backend.Arg{{Type: sqltype.Int8, Value: int64(i*100 + j)}}, sqltype.Int8)
				if err != nil || rows[0][0] != int64(i*100+j+1) {
					t.Errorf("got %v, %v", rows, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// table is a relation's qualified name on this backend.
func table(t *testing.T, g Target, name string) string {
	t.Helper()
	r, err := g.Backend.Describe(t.Context(), []backend.RelationName{{Name: name}})
	if err != nil || len(r) != 1 {
		t.Fatalf("describing %s: %v, %v", name, r, err)
	}
	return fmt.Sprintf("%q.%q", r[0].Schema, r[0].Name)
}

func checkClass(t *testing.T, err error, want backend.FailureClass) {
	t.Helper()
	var e *backend.Error
	if !errors.As(err, &e) {
		t.Errorf("got %v, want a backend error of class %s", err, want)
		return
	}
	if e.Class != want {
		t.Errorf("class %s, want %s: %s", e.Class, want, Cause(err))
	}
}
