package engine_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// listed are types of columns whose values a policy lists, and those.
var listed = []struct {
	oid      sqltype.OID
	pg, duck string
	values   []string
}{
	{sqltype.OIDBool, "bool", "BOOLEAN", []string{"true", "false"}},
	{sqltype.OIDInt2, "int2", "SMALLINT", []string{"0", "1", "-7", "3", "12", "85", "40", "2", "10", "32767"}},
	{sqltype.OIDInt4, "int4", "INTEGER", []string{"0", "1", "-7", "3", "12", "85", "40", "2", "10", "2147483647"}},
	{sqltype.OIDInt8, "int8", "BIGINT", []string{"0", "1", "-7", "3", "12", "85", "40", "2", "10", "9007199254740993"}},
	{sqltype.OIDFloat4, "float4", "FLOAT", []string{"0", "1", "-7.5", "0.1", "2.5", "85", "40", "3", "0.75", "1e-20", "3.3e38"}},
	{sqltype.OIDFloat8, "float8", "DOUBLE", []string{"0", "1", "-7.5", "0.1", "2.5", "85", "40", "3", "0.7", "1e15", "1e-20", "1e30"}},
	{sqltype.OIDNumeric, "numeric(18,3)", "DECIMAL(18,3)", []string{"0", "1", "-7.5", "0.1", "2.5", "85", "40.125", "3", "0.7", "123456789012.345"}},
	{sqltype.OIDText, "text", "VARCHAR", []string{"a", "B", "ab c", "12", "-3.5", "2020-02-29", "t", "10:30", "%_", " x"}},
	{sqltype.OIDVarchar, "varchar(20)", "VARCHAR", []string{"a", "B", "ab c", "12", "-3.5", "2020-02-29", "t", "10:30", "%_"}},
	{sqltype.OIDBPChar, "char(12)", "VARCHAR", []string{"a", "B", "ab c", "12", "-3.5", "2020-02-29", "t", "10:30", "%_"}},
	{sqltype.OIDDate, "date", "DATE", []string{"2020-02-29", "2000-01-01", "1969-12-31", "2021-03-28", "0001-01-01", "2024-12-30"}},
	{sqltype.OIDTimestamp, "timestamp", "TIMESTAMP", []string{"2020-02-29 12:34:56.789", "2000-01-01", "1969-12-31 23:59:59.999999", "2021-03-28 02:30:00", "2011-12-30 10:00:00"}},
	{sqltype.OIDTimestamptz, "timestamptz", "TIMESTAMPTZ", []string{"2020-02-29 12:34:56.789+00", "2000-01-01 00:00:00+00", "1969-12-31 23:59:59.999999+00", "2021-03-28 01:30:00+00", "2011-12-30 10:00:00+00"}},
	{sqltype.OIDTime, "time", "TIME", []string{"12:34:56.789", "00:00:00", "23:59:59.999999", "11:30:00"}},
	{sqltype.OIDUUID, "uuid", "UUID", []string{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"}},
}

// mostListed is how many people there are: all values of each column, and NULL, are there.
func mostListed() (n int64) {
	for _, c := range listed {
		n = max(n, int64(len(c.values)+1))
	}
	return n
}

// openListed is a table of one row a person: each column has its listed values in turn, and NULL.
func openListed(t *testing.T, d dialect.Dialect) *session.Session {
	t.Helper()
	var defs, names, policyLines []string
	for _, c := range listed {
		name := fmt.Sprint("c", int(c.oid))
		defs = append(defs, name+" "+map[dialect.Dialect]string{funcs.Postgres: c.pg, funcs.DuckDB: c.duck}[d])
		names = append(names, name)
		policyLines = append(policyLines, fmt.Sprintf("      %s: {values: [\"%s\", null]}", name, strings.Join(c.values, `", "`)))
	}
	var rows []string
	for id := range mostListed() {
		row := []string{fmt.Sprint(id)}
		for _, c := range listed {
			v := "NULL"
			if i := int(id) % (len(c.values) + 1); i < len(c.values) {
				v = "'" + c.values[i] + "'"
			}
			row = append(row, v)
		}
		rows = append(rows, "("+strings.Join(row, ", ")+")")
	}
	statements := []string{"CREATE TABLE people (id int PRIMARY KEY, " + strings.Join(defs, ", ") + ")",
		"INSERT INTO people (id, " + strings.Join(names, ", ") + ") VALUES " + strings.Join(rows, ", ")}
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: listed.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/listed"}`}[d]
	pol, err := policy.Parse("listed.yaml", []byte("dataset: listed\nbackend: "+uri+"\nunit: people.id\ntables:\n  people:\n    columns:\n      id: {}\n"+strings.Join(policyLines, "\n")+
		"\nbudget: {epsilon: 1000, delta: 1e-6}\nquery: {price: 1}\nanalysts: {ann: {password: "+enginetest.Verifier+", may: [people]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, d, "listed", statements, pol)
}

// TestKeysKeepRows: a key that is computed from a column with listed values, or from constants, by whichever function, operator or cast of the registry, is
// one of the values that the analysis computed for it: no row's group is missing because the database computes another last digit, or spells it otherwise.
func TestKeysKeepRows(t *testing.T) {
	keys := []string{"||/ 85::float8", "case when c16 then exp(0.7::float8) when c23 > 1 then ||/ 12::float8 else 1.1 end", "ln(3::float8) + c23", "sqrt(c701) * 0.1", "(||/ c701)::numeric(9,2)"}
	for _, f := range funcs.All() {
		for _, key := range callsOf(f) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	for _, d := range enginetest.Dialects {
		s := openListed(t, d)
		answered, people := 0, big.NewInt(mostListed())
		for _, key := range keys {
			p, err := enginetest.Prepare(s, "select "+key+", count(*) from people group by 1")
			if err != nil || !p.Analysis().Groups.Public || p.Analysis().Groups.Sources[0].Why == "true and false" { // refused, chosen with noise, or nothing was computed
				continue
			}
			answered++
			kept := new(big.Int)
			st, rows := enginetest.Scan(t, p)
			if r := silent(t, p, st, rows); r != nil {
				for _, g := range r.Groups {
					kept.Add(kept, g.Values[0])
				}
			}
			if kept.Cmp(people) != 0 {
				t.Errorf("%s: group by %s keeps %s of %s rows; groups are %s", d, key, kept, people, p.Analysis().Groups.Sources[0].Why)
			}
		}
		if answered < 500 {
			t.Errorf("%s: only %d keys have public groups", d, answered)
		}
	}
}

// callsOf are calls of a row, with a column in one place and constants in the others.
func callsOf(f *funcs.Func) (out []string) {
	for i := range f.Args {
		if slices.Contains(f.Const, i) && f.TotalForm == nil {
			continue
		}
		for _, w := range Words {
			args := make([]string, len(f.Args))
			for k, o := range f.Args {
				text := Constant(f, k, w)
				if text == "1" {
					text = []string{"3", "2", "50", "7"}[k%4]
				}
				if args[k] = fmt.Sprint("c", int(o)); k != i {
					args[k] = fmt.Sprintf("CAST('%s' AS %s)", text, TypeText(o))
				}
			}
			out = append(out, CallText(f, args))
		}
	}
	return out
}
