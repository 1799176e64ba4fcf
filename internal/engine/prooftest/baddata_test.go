package prooftest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// badQuestions are what an analyst may ask of one column; not every type has every one.
func badQuestions(c enginetest.BadColumn) []string {
	var out []string
	add := func(forms ...string) {
		for _, f := range forms {
			out = append(out, strings.ReplaceAll(f, "$c", c.Name))
		}
	}
	add("select count(*) from facts where $c is not null", "select count($c) from facts", "select count(distinct person) from facts where $c = $c",
		"select kind, count(*) from facts where $c > (case when false then $c end) or $c is null group by 1", "select $c, count(*) from facts group by 1",
		"select $c, kind, count(distinct person) from facts group by 1, 2", "select cast($c as text), count(*) from facts group by 1",
		"select coalesce(cast($c as text), 'none'), count(*) from facts group by 1")
	for _, to := range []string{"int2", "int4", "int8", "float4", "float8", "numeric", "numeric(6, 2)", "date", "timestamp", "bool"} {
		add("select count(*) from facts where cast($c as "+to+") is null", "select cast($c as "+to+"), count(*) from facts group by 1")
	}
	switch {
	case slices.Contains([]string{"i2", "i4", "i8", "f4", "f8", "wide", "coarse", "n", "m"}, c.Name):
		add("select sum($c), avg($c) from facts", "select kind, sum($c), avg($c) from facts group by 1", "select $c, sum($c) from facts group by 1", "select sum(-$c), sum(abs($c)) from facts",
			"select count(*) from facts where $c > 0", "select count(*) from facts where $c between -1 and 1", "select count(*) from facts where $c in (0, 1, 2.5)", "select sum($c + $c) from facts",
			"select sum($c * $c) from facts", "select sum($c - 3) from facts", "select count(*) from facts where 1 / $c > 0", "select count(*) from facts where $c % 7 = 1", "select count(*) from facts where $c * $c > 5",
			"select count(*) from facts where $c + $c = 0", "select round($c), count(*) from facts group by 1", "select floor($c / 10), count(*) from facts group by 1",
			"select sum(case when $c > 0 then $c else 0 end) from facts", "select avg(nullif($c, 0)), sum(coalesce($c, 5)) from facts", "select sum($c / 3) from facts", "select person % 2, sum($c) from facts group by 1")
		if c.Name[0] == 'i' {
			add("select n, count(*) from (select count(*) over (partition by person order by $c range between 9 preceding and 9 following) n from facts) t group by 1",
				"select n, count(*) from (select count(*) over (partition by person order by cast($c as int8) desc range between 9223372036854775807 preceding and 9223372036854775807 following) n from facts) t group by 1")
		}
	case c.Name == "d" || c.Name == "ts":
		add("select count(*) from facts where $c > '2001-01-01'", "select extract(year from $c), count(*) from facts group by 1", "select date_trunc('month', $c), count(*) from facts group by 1",
			"select count(*) from facts where $c > date '0044-03-15 BC'", "select count(*) from facts where $c = 'infinity'", "select count(*) from facts where $c + 1 > '2001-01-01'",
			"select count(*) from facts where $c - date '2000-01-01' > 5", "select count(*) from facts where extract(dow from $c) = 1 or extract(epoch from $c) > 0",
			"select count(*) from facts where $c + interval '1 month' > '2001-01-01'", "select extract(month from $c), extract(quarter from $c), count(*) from facts group by 1, 2",
			"select date_part('month', $c), date_part('dow', $c), count(*) from facts group by 1, 2")
	case c.Name != "b":
		add("select count(*) from facts where $c = 'x'", "select count(*) from facts where $c < 'y'", "select count(*) from facts where $c like 'x%'", "select count(*) from facts where $c || 'z' = 'xz'",
			"select upper($c), count(*) from facts group by 1", "select lower($c) || kind, count(*) from facts group by 1", "select length($c), count(*) from facts group by 1", "select count(*) from facts where $c in ('x', 'yy', '')", "select count(*) from facts where $c = c")
	}
	return out
}

// TestBadData: with or without the rows of a person whose data has everything that nobody expects, each statement runs, its totals
// differ by no more than is claimed, and no key is spelled otherwise than without that person.
func TestBadData(t *testing.T) {
	for _, d := range enginetest.Dialects {
		t.Run(d.String(), func(t *testing.T) {
			with, lacking := enginetest.OpenBad(t, d, enginetest.OneBad), enginetest.OpenBad(t, d, enginetest.NoneBad)
			s := enginetest.NewSession(enginetest.EngineOn(t, enginetest.BadPolicyFor(t, d), with), t, "ann")
			run, full, refused := 0, 0, []string{}
			for _, c := range enginetest.BadColumns {
				for _, sql := range badQuestions(c) {
					p, err := enginetest.Prepare(s, sql)
					if err != nil {
						refused = append(refused, sql+": "+err.Error())
						continue
					}
					run++
					st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
					if err != nil {
						t.Fatal(err)
					}
					share, err := compareBad(p.Analysis(), st, with, lacking)
					if err != nil {
						t.Errorf("%s: %v", sql, err)
					}
					if share == 1 {
						full++
					}
				}
			}
			t.Logf("%d statements ran, %d use their whole claim, %d are refused", run, full, len(refused))
			if testing.Verbose() {
				t.Log(strings.Join(refused, "\n"))
			}
			if run < 300 || full < 30 {
				t.Errorf("only %d statements ran and %d used their claim", run, full)
			}
		})
	}
}

// answered is a backend that was asked before.
type answered struct {
	enginetest.Uncovered
	rows [][]sqltype.Value
}

func (a answered) Query(context.Context, *sqlgen.Statement) ([][]sqltype.Value, error) {
	return a.rows, nil
}

// compareBad compares a statement's totals, and how keys are spelled, on two databases.
func compareBad(a *sensitivity.Analysis, st *sqlgen.Statement, dbs ...backend.Backend) (share float64, err error) {
	ctx := context.Background()
	seen := map[string]string{}
	var totals []*neighbour.Totals
	for _, db := range dbs {
		rows, err := enginetest.Uncovered{Backend: db}.Query(ctx, st)
		if err != nil {
			return 0, err
		}
		one, err := neighbour.ReadTotals(ctx, answered{rows: rows}, st)
		if err != nil {
			return 0, err
		}
		totals = append(totals, one)
		for _, row := range rows {
			key, spelled := spellings(st, row)
			if old, ok := seen[key]; ok && old != spelled {
				return 0, fmt.Errorf("a key is spelled %.60q and %.60q", old, spelled)
			}
			seen[key] = spelled
		}
	}
	return neighbour.Compare(a, totals[0], totals[1])
}

// spellings are a row's keys as they compare, and as they are shown.
func spellings(st *sqlgen.Statement, row []sqltype.Value) (key, spelled string) {
	for i, c := range st.Columns {
		if c.Role != sqlgen.RoleKey {
			continue
		}
		v := row[i]
		if c.Type.OID == sqltype.OIDBPChar && v != nil {
			v = strings.TrimRight(v.(string), " ")
		}
		key += fmt.Sprintf("%v|", canonical(v))
		spelled += fmt.Sprintf("%v %s|", v == nil, sqltype.FormatText(row[i], sqltype.Type{OID: c.Type.OID, Typmod: -1}))
	}
	return key, spelled
}

// canonical is equal for equal values.
func canonical(v sqltype.Value) any {
	switch x := v.(type) {
	case float64:
		return x + 0
	case decimal.Decimal:
		return x.String()
	}
	return v
}

// TestBadDataAnswers: what is released where everybody's data is bad has no NaN and no infinity among its numbers and no -0 at all;
// odd keys that many share are released, stored and read back as they were; the ledger holds one charge an answer.
func TestBadDataAnswers(t *testing.T) {
	for _, d := range enginetest.Dialects {
		e := enginetest.EngineOn(t, enginetest.BadPolicyFor(t, d), enginetest.OpenBad(t, d, enginetest.AllBad))
		s, keys := enginetest.NewSession(e, t, "ann"), map[string]bool{}
		if err := s.Set("dpsql.notices", []string{"brief"}); err != nil {
			t.Fatal(err)
		}
		for _, c := range enginetest.BadColumns {
			for i, sql := range badQuestions(c) {
				if _, err := enginetest.Prepare(s, sql); err != nil || i%3 != 1 {
					continue
				}
				spent := enginetest.SpentBy(t, e)
				p, first := enginetest.Ask(t, s, sql)
				once := enginetest.SpentBy(t, e)
				_, again := enginetest.Ask(t, s, sql)
				free := strings.Contains(sql, "cast(") || strings.Contains(first.Notice, "computed from") // a cast to the same type asks the same again; so does one of the groups of a question before
				if n := once - spent; n > 1 || n == 0 && !free {
					t.Errorf("%s: %d charges", sql, n)
				}
				if enginetest.SpentBy(t, e) != once {
					t.Errorf("%s is charged again", sql)
				}
				columns := p.Columns()
				for r, row := range first.Rows {
					for i, v := range row {
						text := sqltype.FormatText(v, columns[i].Type)
						if back := sqltype.FormatText(again.Rows[r][i], columns[i].Type); back != text {
							t.Errorf("%s: %.60q is read back as %.60q", sql, text, back)
						}
						if x, ok := v.(float64); ok && (x == 0 && math.Signbit(x) || i >= len(p.Analysis().Keys) && (math.IsNaN(x) || math.IsInf(x, 0))) {
							t.Errorf("%s: %v", sql, row)
						}
						if i < len(p.Analysis().Keys) && len(text) < 20 {
							keys[c.Name+" "+text] = true
						}
					}
				}
			}
		}
		for _, want := range []string{"f8 NaN", "f8 -Infinity", "d infinity", "d 0044-03-15 BC", "ts -infinity", "t ", "c2 "} {
			if !keys[want] {
				t.Errorf("%s: the key %s was not released", d, want)
			}
		}
		if n := enginetest.SpentBy(t, e); n != int64(len(enginetest.Charges(t, e))) {
			t.Errorf("%d statements are on the balance, %d in the ledger", n, len(enginetest.Charges(t, e)))
		}
	}
}

// TestBadEncodings: a database whose texts may not be UTF-8 is served only if each of its texts has a UTF-8 form: an answer that fails
// because of one person's bytes would tell of them.
func TestBadEncodings(t *testing.T) {
	srv := enginetest.SharedServer(t)
	for _, c := range []struct {
		encoding string
		bytes    []string // that a person's text may hold, as escapes of bytea
		served   bool
	}{
		{"LATIN1", []string{`\xe9`, `\x80`, `\xff`}, true},
		{"SQL_ASCII", []string{`\xff`, `\xc3`, `\xeda080`}, false},
		{"WIN1252", []string{`\x81`}, false}, // no character
		{"EUC_JP", []string{`\x8fa2b7`}, false},
	} {
		name := "enc_" + strings.ToLower(c.encoding)
		if err := srv.Exec("postgres", fmt.Sprintf("CREATE DATABASE %s ENCODING '%s' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0", name, c.encoding)); err != nil {
			t.Fatal(err)
		}
		rows := []string{"CREATE TABLE people (id int PRIMARY KEY, t text, c char(4))", "INSERT INTO people SELECT i, 'a', 'b' FROM generate_series(100, 200) i"}
		for i, b := range c.bytes {
			rows = append(rows, fmt.Sprintf("INSERT INTO people SELECT %d + i, convert_from('%s', '%s'), 'b' FROM generate_series(0, 49) i", 1000*(i+1), b, c.encoding))
		}
		if err := srv.Exec(name, strings.Join(rows, ";\n")); err != nil {
			t.Fatalf("%s: %v", c.encoding, err)
		}
		b, err := postgres.Open(context.Background(), srv.URL(name), postgres.Options{PoolSize: 2})
		if c.served != (err == nil) || err != nil && !strings.Contains(err.Error(), "UTF8 database") {
			t.Errorf("%s: %v", c.encoding, err)
		}
		if err != nil {
			continue
		}
		text := enginetest.BadPolicyText(funcs.Postgres)
		text = text[:strings.Index(text, "tables:")] + "tables:\n  people: {columns: {id: {}, t: {}, c: {}}}\n" + text[strings.Index(text, "budget:"):]
		p, err := policy.Parse("bad.yaml", []byte(strings.ReplaceAll(text, "people, facts", "people")))
		if err != nil {
			t.Fatal(err)
		}
		s := enginetest.NewSession(enginetest.EngineOn(t, p, b), t, "ann")
		for _, sql := range []string{"select t, count(*) from people group by 1", "select upper(t), length(t), count(*) from people group by 1, 2", "select count(*) from people where t > 'é'",
			"select t || c, count(*) from people group by 1", "select count(*) from people where t like '_'"} {
			rows, err := enginetest.Try(s, sql)
			if err != nil || len(rows) == 0 {
				t.Errorf("%s: %s: %v %v", c.encoding, sql, err, rows)
			} else if strings.Contains(sql, "select t, ") && len(rows) != len(c.bytes)+1 {
				t.Errorf("%s: %v", c.encoding, rows)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
