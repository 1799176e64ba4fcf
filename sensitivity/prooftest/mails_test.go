package prooftest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

func mailDBs(t testing.TB) map[dialect.Dialect]neighbour.DB {
	cat := neighbour.MailCatalog()
	return map[dialect.Dialect]neighbour.DB{funcs.Postgres: neighbour.OpenWith(t, fmt.Sprintf("mails_%d", time.Now().UnixNano()), cat, neighbour.MailRows()), funcs.DuckDB: openDuck(t, cat, neighbour.MailRows())}
}

// TestNeighboursOfUnitsByColumns: without a person, without all rows of an email or phone that lead to no person, or without an order that has neither, totals change by what is claimed; dropped rows change nothing.
func TestNeighboursOfUnitsByColumns(t *testing.T) {
	ctx := context.Background()
	cat, units := neighbour.MailCatalog(), neighbour.MailUnits()
	for d, db := range mailDBs(t) {
		full := 0
		for i, s := range neighbour.MailStatements {
			a := analyzeGuests(s.SQL, cat, t, sensitivity.Options{MaxGroups: 2, MaxRows: 2})
			share, err := neighbour.CheckWithout(ctx, db, cat, a, d, units, neighbour.MailOwnerless(), nil)
			if err != nil {
				t.Errorf("%s: %s: %v", d, s.SQL, err)
			}
			if share == 1 {
				full++
			}
			if i%5 > 0 { // chosen bounds count by the same units
				continue
			}
			if a = analyzeGuests(s.SQL, cat, t, sensitivity.Options{ChooseGroups: true, MaxGroups: 1}); len(a.Choices) > 0 {
				if _, err := neighbour.CheckChosenWithout(ctx, db, cat, a, d, units, neighbour.MailOwnerless(), neighbour.Bug{}); err != nil {
					t.Errorf("%s, bounds chosen: %s: %v", d, s.SQL, err)
				}
			}
		}
		if 2*full < len(neighbour.MailStatements) {
			t.Errorf("%s: only %d of %d statements use their whole claim", d, full, len(neighbour.MailStatements))
		}
	}
}

// TestMailTotals: with room for all rows and groups, what is printed gives what the plain text gives, of all rows that lead to a unit.
func TestMailTotals(t *testing.T) {
	holdTotals(t, neighbour.MailCatalog(), mailDBs(t), neighbour.MailStatements)
}

// TestMailUnits: customer 5, email '5' and phone 5 are told apart: there are as many units as plain SQL says. Each of the planted bugs is caught.
func TestMailUnits(t *testing.T) {
	ctx := context.Background()
	cat := neighbour.MailCatalog()
	const sql = "select product, count(*) from items where product is not null group by 1"
	dbs := mailDBs(t)
	text, err := dbs[funcs.Postgres].(*neighbour.Postgres).Text(ctx, neighbour.MailItemUnits, []sqltype.Type{sqltype.Text, sqltype.Int8})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(neighbour.Lines(text), " ")
	for _, c := range []struct{ name, from, to string }{
		{},
		{"an email is a customer", `c"email"`, "p"},
		{"a phone is an email", `c"phone"`, `c"email"`},
	} {
		for d, db := range dbs {
			st, err := sqlgen.Private(analyzeGuests(sql, cat, t, sensitivity.Options{MaxGroups: 1000, MaxRows: 1000}), d, 7)
			if err != nil {
				t.Fatal(err)
			}
			changed := 0
			for i, arg := range st.Args {
				if s, ok := arg.Value.(string); ok && c.name != "" && strings.HasPrefix(s, c.from) {
					st.Args[i].Value = strings.TrimRight(c.to+strings.TrimPrefix(s, c.from), map[bool]string{true: "\n"}[c.to == "p"])
					changed++
				}
			}
			if (changed == 0) != (c.name == "") {
				t.Fatalf("%s: the bug changes nothing in %s", c.name, st.SQL)
			}
			rows, err := db.Query(ctx, st)
			if err != nil {
				t.Fatalf("%s: %s: %v\n%s", d, c.name, err, st.SQL)
			}
			var units [][]sqltype.Value
			for _, r := range rows {
				var u []sqltype.Value
				for i, col := range st.Columns {
					if col.Role == sqlgen.RoleKey || col.Role == sqlgen.RoleUnits {
						u = append(u, r[i])
					}
				}
				units = append(units, u)
			}
			if got := strings.Join(neighbour.Lines(units), " "); (got == want) != (c.name == "") {
				t.Errorf("%s: %q: %s, want %s", d, c.name, got, want)
			}
		}
	}
}

// TestGeneratedMails: random statements over the shop are refused, or what they print holds the claims.
func TestGeneratedMails(t *testing.T) {
	generated(t, neighbour.MailCatalog(), neighbour.MailUnits(), neighbour.MailOwnerless(), mailDBs(t))
}

// TestPlantedBugsOfUnitsByColumns: the neighbour test fails on each of these.
func TestPlantedBugsOfUnitsByColumns(t *testing.T) {
	ctx := context.Background()
	cat, units := neighbour.MailCatalog(), neighbour.MailUnits()
	dbs := mailDBs(t)
	for name, c := range map[string]struct{ sql, pattern, with string }{
		"each order is a unit":            {"select count(*) from orders", `"t1"\."email"`, `CAST("t1"."order_id" AS varchar)`},
		"items do not follow their order": {"select count(*) from items where order_id = 39", `WHEN \("t2"\."(c_)?order_id" IS NOT NULL\)`, `WHEN ("t2"."${1}customer_id" IS NOT NULL)`},
		"customers are not asked for":     {"select count(*) from orders where email is null", `"t1"\."customer_id"`, `CAST(NULL AS int4)`},
		"all guests are in one partition": {"select count(*) from (select count(*) over (partition by customer_id) as n from orders) t where n = 13", `(PARTITION BY "t1"\."(?:c_)?customer_id"), .*? AS "w1"`, `$1) AS "w1"`},
	} {
		for d, db := range dbs {
			a := analyzeGuests(c.sql, cat, t, sensitivity.Options{MaxGroups: 2, MaxRows: 2})
			if _, err := neighbour.CheckWithout(ctx, db, cat, a, d, units, nil, nil); err != nil {
				t.Errorf("%s: %s: without the bug: %v", d, name, err)
			}
			if st, err := sqlgen.Private(a, d, 42); err == nil && !regexp.MustCompile(c.pattern).MatchString(st.SQL) {
				t.Errorf("%s: %s: the bug changes nothing in %s", d, name, st.SQL)
				continue
			}
			_, err := neighbour.CheckWithout(ctx, db, cat, a, d, units, nil, func(s string) string { return regexp.MustCompile(c.pattern).ReplaceAllString(s, c.with) })
			if err == nil || strings.Contains(err.Error(), "SQLSTATE") {
				t.Errorf("%s: %s: %v", d, name, err)
			}
		}
	}
}

// TestUnitsByColumnsRefused: the columns that name units beside persons join no rows of several tables, and group none: they are refused with the condition that does.
func TestUnitsByColumnsRefused(t *testing.T) {
	cat := neighbour.MailCatalog()
	for sql, want := range map[string]string{
		"select count(*) from orders o join letters l on l.email = o.email":                                        "customer_id",
		"select count(*) from orders a join orders b on a.email = b.email":                                         "customer_id",
		"select count(*) from orders o where exists (select 1 from letters l where l.email = o.email)":             "customer_id",
		"select count(*) from orders o where o.customer_id not in (select l.customer_id from letters l)":           "same person",
		"select count(*) from letters l where l.customer_id not in (select v.customer_id from visits v)":           "same person",
		"select count(*) from (select email, row_number() over (partition by email) as n from orders) t where n=1": "customer_id",
		"select customer_id, count(*) from orders group by 1":                                                      "one person",
	} {
		_, err := neighbour.AnalyzeQuery(context.Background(), neighbour.BindText(t, sql, cat), sensitivity.Options{MaxGroups: 2, MaxRows: 2, MaxPublicGroups: 1000})
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message+e.Hint, want) {
			t.Errorf("%s: %v", sql, err)
		} else {
			t.Log(e.Message, "-", e.Hint)
		}
	}
}

// TestLongNamesOfUnits: a text of more than a million bytes is read as NULL where it would name a unit, so that nothing fails: the next column does.
func TestLongNamesOfUnits(t *testing.T) {
	ctx := context.Background()
	cat := neighbour.MailCatalog()
	for d, db := range mailDBs(t) {
		for _, s := range []string{"DELETE FROM public.orders", "INSERT INTO public.orders SELECT i, NULL, repeat('x', 999999 + i), 5, 'web', 1 FROM generate_series(1, 4) AS s(i)"} {
			if err := db.Exec(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
		st, err := sqlgen.Private(analyzeGuests("select count(*) from orders", cat, t, sensitivity.Options{MaxGroups: 1, MaxRows: 2}), d, 7)
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := db.Query(ctx, st); err != nil || fmt.Sprint(rows[0][0]) != "3" { // one of the email's unit, and two of three of the phone's
			t.Errorf("%s: %v, %v", d, rows, err)
		}
	}
}
