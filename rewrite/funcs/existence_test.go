package funcs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// hostile are texts that some function, pattern, format or reader of another type refuses, or takes long over.
var hostile = []string{"(", "[", "*", `\`, `a\`, `%\`, "[a-c-e]", "a{9999}", "(?=a)", strings.Repeat("%a", 490), strings.Repeat("(a*)*", 50), strings.Repeat("ab,", 700), "Nowhere/Zone", "𝔘", "\x01", "1e400", "0x1F", "2020-02-30",
	"{1,2", `\x0`, "NaN", "YYYY", "-1"}

// existence is a database with tables of the arguments of rows: full ones and empty ones.
type existence struct {
	d      dialect.Dialect
	exec   func(sql string, args []string) error
	turn   int
	tables map[string]string
}

// TestExistence: a statement succeeds or fails alike whether rows are there or not. Each row's printed forms (the total one, and PostgreSQL's own where Safe
// claims that it never raises) run over a full table, over an empty one and with every row filtered out, with columns, constants and parameters for arguments
// in every mixture: none of them may fail.
func TestExistence(t *testing.T) {
	ctx := context.Background()
	conn := connect(t)
	if _, err := conn.Exec(ctx, "SET plan_cache_mode = force_generic_plan"); err != nil { // parameters are looked at when a row is, not before
		t.Fatal(err)
	}
	duck := openDuck(t)
	for _, db := range []*existence{
		{d: Postgres, tables: map[string]string{}, exec: func(sql string, args []string) error {
			params := make([][]byte, len(args))
			for i, a := range args {
				params[i] = []byte(a)
			}
			_, err := conn.PgConn().ExecParams(ctx, sql, params, nil, nil, nil).Close()
			return err
		}},
		{d: DuckDB, tables: map[string]string{}, exec: func(sql string, args []string) error {
			params := make([]any, len(args))
			for i, a := range args {
				params[i] = a
			}
			_, err := duck.ExecContext(ctx, sql, params...)
			return err
		}},
	} {
		failed, together := 0, map[string][]string{}
		var order [][]sqltype.Type
		for i, f := range tested(t) {
			if i%4 != 0 && f.Const != nil && f.With == nil && !long() { // one of many samples
				continue
			}
			for _, rt := range results(f) {
				for _, ts := range db.variants(f) {
					form := f.TotalForm.Print(db.d, blanks(f), ts, rt)
					if form == "" {
						continue
					}
					if !db.check(t, f, ts, rt) {
						failed++
					}
					if key := fmt.Sprint(ts); len(together[key]) == 0 {
						order = append(order, ts)
					}
					together[fmt.Sprint(ts)] = append(together[fmt.Sprint(ts)], form)
				}
			}
			if failed > 50 {
				t.FailNow()
			}
		}
		for _, ts := range order { // what several forms have in common may be computed once for all
			list := together[fmt.Sprint(ts)]
			f := &Func{Args: make([]sqltype.OID, len(ts))}
			for i, ty := range ts {
				f.Args[i] = ty.OID
			}
			for part := range slices.Chunk(list, 200) {
				if err := db.run(part, nil, db.table(t, f, ts)); err != nil {
					t.Errorf("%s: beside each other: %v", db.d, err)
				}
			}
		}
	}
}

// long: every sample and every value, in make test-long.
func long() bool { return os.Getenv("DPSQL_LONG") != "" }

// variants are the types of columns that a row is tried with: in a short run one of DuckDB's numeric types, in turn.
func (db *existence) variants(f *Func) [][]sqltype.Type {
	if db.d == Postgres {
		return [][]sqltype.Type{types(f)}
	}
	var out [][]sqltype.Type
	for i, numeric := range numericTypes { // one numeric type at a time
		if i > 0 && !slices.Contains(f.Args, sqltype.OIDNumeric) || i != db.turn%len(numericTypes) && slices.Contains(f.Args, sqltype.OIDNumeric) && !long() {
			continue
		}
		ts := types(f)
		for k := range ts {
			if ts[k].OID == sqltype.OIDNumeric {
				ts[k] = numeric
			}
		}
		out = append(out, ts)
	}
	return out
}

// typeName spells a type; v gives a constant numeric its scale on DuckDB, as sqlgen does.
func (db *existence) typeName(t sqltype.Type, v *string) string {
	switch {
	case db.d == Postgres:
		return pgType(t)
	case v != nil && t.OID == sqltype.OIDNumeric:
		x, err := decimal.NewFromString(*v)
		scale := max(0, -int(x.Exponent()))
		if digits := max(x.NumDigits()+max(0, int(x.Exponent())), scale+1); err == nil && digits <= 38 {
			return duckDecimal(digits, scale)
		}
		return "DOUBLE"
	}
	return duckType(t)
}

func (db *existence) values(f *Func, i int, t sqltype.Type) []string {
	out := edgesOf(f, i)
	if db.d == DuckDB {
		out = duckValues(f, i, t)
	}
	if t.OID == sqltype.OIDText {
		out = slices.Concat(hostile, out)
	}
	return out
}

// constants are the values of a place that holds a constant: of numerics, of other scales than the columns', too.
func (db *existence) constants(f *Func, i int, t sqltype.Type) []string {
	out := db.values(f, i, t)
	if db.d == DuckDB && t.OID == sqltype.OIDNumeric {
		out = slices.Concat(duckEdges[numericTypes[0]], duckEdges[numericTypes[1]], duckEdges[numericTypes[2]], []string{"0.5", "12345678901234567890.123456789012345678"})
	}
	return out
}

// table has a row for every value of the longest column's, the first all NULL; the name of its empty twin ends in 0.
func (db *existence) table(t *testing.T, f *Func, ts []sqltype.Type) string {
	var cols, key []string
	var lists [][]string
	longest := 0
	for i, ty := range ts {
		list := db.values(f, i, ty)
		longest = max(longest, len(list))
		lists, cols = append(lists, list), append(cols, places[i]+" "+db.typeName(ty, nil))
		key = append(key, cols[i], fmt.Sprint(len(list)))
	}
	if name, ok := db.tables[strings.Join(key, ",")]; ok {
		return name
	}
	name := "e" + strconv.Itoa(len(db.tables)+1)
	db.tables[strings.Join(key, ",")] = name
	values := []string{"(0" + strings.Repeat(", NULL", len(ts)) + ")"}
	for k := range longest {
		row := strconv.Itoa(k + 1)
		for i, ty := range ts {
			row += ", CAST(" + quoteText(lists[i][(k+i*(k/len(lists[i])))%len(lists[i])]) + " AS " + db.typeName(ty, nil) + ")"
		}
		values = append(values, "("+row+")")
	}
	for _, sql := range []string{"CREATE TEMP TABLE " + name + "_(" + strings.Join(append([]string{"k integer"}, cols...), ", ") + ")", "CREATE TEMP TABLE " + name + " AS SELECT * FROM " + name + "_",
		"INSERT INTO " + name + " VALUES " + strings.Join(values, ", ")} {
		if err := db.exec(sql, nil); err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
	}
	return name
}

// forms are a row's forms with constants or parameters in some places. params has the parameters, by type and value.
func (db *existence) forms(f *Func, ts []sqltype.Type, rt sqltype.Type, inline bool) (list []string, params []string) {
	places, known := blanks(f), map[string]string{}
	constant := func(v string, t sqltype.Type) string {
		name := db.typeName(t, &v)
		if inline {
			return "CAST(" + quoteText(v) + " AS " + name + ")"
		}
		if s, ok := known[v+" "+name]; ok {
			return s
		}
		params = append(params, v)
		s := "CAST($" + strconv.Itoa(len(params)) + " AS " + name + ")"
		known[v+" "+name] = s
		return s
	}
	for mask := range 1 << len(places) {
		most, fits := 1, true
		lists := make([][]string, len(places))
		for i := range places {
			if mask>>i&1 == 0 {
				continue
			}
			fits = fits && places[i] != ""
			lists[i] = db.constants(f, i, ts[i])
			most = max(most, len(lists[i]))
		}
		if !fits {
			continue
		}
		step := 1
		if !long() {
			step = 1 + most/2
		}
		for k := mask % step; k < most; k += step {
			args, argTypes := slices.Clone(places), slices.Clone(ts)
			for i, l := range lists {
				if l == nil {
					continue
				}
				argTypes[i].Typmod = -1
				args[i] = constant(l[(k+i*(k/len(l)+mask))%len(l)], argTypes[i])
			}
			if form := f.TotalForm.Print(db.d, args, argTypes, rt); form != "" {
				list = append(list, form)
			}
			if f.Safe != nil && f.Safe(make([]*num.Interval, len(ts)), argTypes) {
				list = append(list, f.RaisingForm.Print(db.d, args, argTypes, rt))
			}
		}
	}
	return list, params
}

func (db *existence) check(t *testing.T, f *Func, ts []sqltype.Type, rt sqltype.Type) bool {
	t.Helper()
	table := db.table(t, f, ts)
	db.turn++
	for _, inline := range []bool{true, false} {
		list, params := db.forms(f, ts, rt, inline)
		for i, part := range slices.Collect(slices.Chunk(list, 1000)) {
			froms := []string{table, table + "_", table + " WHERE k < 0"}
			if !long() { // one of the two without rows, in turn
				froms = slices.Delete(froms, 1+(i+db.turn)%2, 2+(i+db.turn)%2)
			}
			for _, from := range froms {
				all := db.run(part, params, from)
				if all == nil {
					continue
				}
				for _, one := range part {
					if err := db.run([]string{one}, params, from); err != nil {
						t.Errorf("%s %s%v from %s: %v\n%.1000s", db.d, signature(f, rt), ts, from, err, one)
						return false
					}
				}
				t.Errorf("%s %s%v from %s: fails only beside others: %v", db.d, signature(f, rt), ts, from, all)
				return false
			}
		}
	}
	return true
}

func (db *existence) run(list, params []string, from string) error {
	counts := make([]string, len(list))
	for i, x := range list {
		counts[i] = "count(" + x + ")"
	}
	mention := ""
	for i := range params { // each has a type, also where a form alone does not mention it
		mention += ", $" + strconv.Itoa(i+1)
	}
	if len(params) > 0 && len(list) == 1 {
		mention = ", (SELECT count(*) FROM (VALUES (" + strings.TrimPrefix(mention, ", ") + ")) AS v)"
	} else {
		mention = ""
	}
	return db.exec("SELECT "+strings.Join(counts, ", ")+mention+" FROM "+from, params)
}

// TestShort: what each row is searched for is short; a longer text of the row is NULL on both backends.
func TestShort(t *testing.T) {
	conn, duck := connect(t), openDuck(t)
	rows := 0
	for _, f := range All() {
		if len(f.Short) == 0 || f.TotalForm == nil || f.Name == "~~" || f.Name == "~~*" { // patterns are not made of columns
			continue
		}
		rows++
		for n, want := range map[int]bool{MaxShort: true, MaxShort + 1: false} {
			args := []string{"'aab'", fmt.Sprintf("repeat('a', %d)", n), "'b'"}[:min(3, len(f.Args))]
			if len(f.Args) == 3 && f.Args[2] == i4 {
				args[2] = "1"
			}
			if f.Args[0] == jsonb { // its text has two quotes more
				args[0], args[1] = "to_jsonb(text 'a')", "to_jsonb(text 'a')"
				args[f.Short[0]] = fmt.Sprintf("to_jsonb(repeat('a', %d))", n-2)
			}
			if f.Args[0] == anyArray {
				args[0] = "array[1]"
			}
			for _, d := range []dialect.Dialect{Postgres, DuckDB} {
				if f.Refused[d] != "" {
					continue
				}
				var got bool
				sql := "SELECT (" + f.TotalForm.Print(d, args, types(f), sqltype.Type{OID: f.Result, Typmod: -1}) + ") IS NOT NULL"
				var err error
				if d == Postgres {
					err = conn.QueryRow(context.Background(), sql).Scan(&got)
				} else {
					err = duck.QueryRowContext(context.Background(), sql).Scan(&got)
				}
				if err != nil || got != want {
					t.Errorf("%s %s of %d bytes: %v, %v", d, f.Name, n, got, err)
				}
			}
		}
	}
	if rows < 8 {
		t.Errorf("%d rows", rows)
	}
}
