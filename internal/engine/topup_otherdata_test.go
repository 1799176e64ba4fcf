package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestTopUpOfOtherData: the mean of two states of the data is never an answer. Without the owner's word that the data do not change, a higher price buys a new release.
func TestTopUpOfOtherData(t *testing.T) {
	s := enginetest.SharedServer(t)
	const db = "other_data"
	if err := s.CreateDB(db); err != nil {
		t.Fatal(err)
	}
	do := func(sql string) {
		t.Helper()
		if err := s.Exec(db, sql); err != nil {
			t.Fatal(err)
		}
	}
	do(`create table kinds (kind text primary key); insert into kinds values ('a'), ('b'), ('c')`)
	do(`create table buyers (id int primary key, kind text not null references kinds on update cascade); insert into buyers select i, 'a' from generate_series(1, 500) i`)
	do(`create table bought (id int primary key, buyer int not null references buyers, total int not null)`)
	b, err := postgres.Open(t.Context(), s.URL(db), postgres.Options{PoolSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	const uri, kinds = `{postgres: "postgres://reader@127.0.0.1/shop"}`, "kind: {}}}\n  bought"
	policyOf := func(version string) []string {
		return []string{"dataset: shop", "dataset: shop" + version, kinds, "kind: {values: {from: kinds.kind}}}}\n  bought", "kinds: {public: true, columns: {kind: {}}}", "kinds: {public: true}"}
	}
	e := enginetest.EngineOn(t, buyersPolicyFor(t, uri, policyOf("")...), b)
	session := enginetest.NewSession(e, t, "ann")
	enginetest.Set(t, session, "dpsql.notices", "brief")
	enginetest.Set(t, session, "dpsql.mechanism", "laplace")
	ask := func(price, sql string) (n int64, notice string, paid float64) {
		t.Helper()
		enginetest.Set(t, session, "dpsql.price", price)
		before := enginetest.Charges(t, e)
		p, err := enginetest.Prepare(session, sql)
		if err != nil {
			t.Fatal(err)
		}
		ans, err := p.Run(t.Context(), nil)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		rows, err := ans.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range enginetest.Charges(t, e)[len(before):] {
			paid += c.Loss.Pure
		}
		n, _ = rows[0][len(rows[0])-1].(int64)
		return n, ans.Notice, paid
	}
	const count = "select count(*) from buyers"
	if n, _, _ := ask("1", count); n < 460 || n > 540 {
		t.Fatalf("%d of 500", n)
	}
	do(`insert into buyers select i, 'a' from generate_series(501, 2500) i`)
	rows, err := enginetest.Try(session, "explain verbose "+count)
	if err != nil || strings.Contains(fmt.Sprint(rows), "Top-up") {
		t.Errorf("%v, %v", rows, err)
	}
	enginetest.Set(t, session, "dpsql.price", "2")
	if rows, err = enginetest.Try(session, "explain verbose "+count); err != nil || !strings.Contains(fmt.Sprint(rows), "Asked anew, at the whole price: the release made at price 1 is not topped up") {
		t.Errorf("EXPLAIN: %v, %v", rows, err)
	}
	n, notice, paid := ask("2", count)
	if n < 2460 || n > 2540 {
		t.Errorf("%d of 2500: a mean with what was there before", n)
	}
	if paid < 1.6 || !strings.Contains(notice, "the release made at price 1 is not topped up, since the data may have changed") {
		t.Errorf("charged %g; %s", paid, notice)
	}
	if _, notice, paid = ask("2", count); paid != 0 || strings.Contains(notice, "topped up") {
		t.Errorf("a repeat: charged %g, %s", paid, notice)
	}
	// A target error goes by the release, and pays for a new one.
	enginetest.SetTarget(t, session, "0.9")
	do(`delete from buyers where id > 1500`)
	if n, _, paid = ask("5", count); n < 1460 || n > 1540 || paid < 3 {
		t.Errorf("%d of 1500 for an error of 0.9, charged %g", n, paid)
	}
	enginetest.Set(t, session, "dpsql.target_error", "off")

	// Public groups that came are answered, at any price, and renamed ones are not those that they were.
	const byKind = "select kind, count(*) from buyers group by kind order by kind"
	groups := func(price string) (text string) {
		t.Helper()
		e.World.Load().Public.(*server.PublicCache).Forget() // as if the time had passed
		enginetest.Set(t, session, "dpsql.price", price)
		for _, row := range enginetest.MustTry(t, session, byKind) {
			text += fmt.Sprintf("%s %d ", row[0], (row[1].(int64)+50)/100)
		}
		return text
	}
	p, err := enginetest.Prepare(session, byKind)
	if err != nil {
		t.Fatal(err)
	}
	again := func() int {
		t.Helper()
		p.Age(time.Hour) // as if it had been prepared long ago
		ans, err := p.Run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := ans.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	if err := e.Reload(t.Context(), buyersPolicyFor(t, uri, policyOf("\ndata_version: one")...)); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ ddl, price, want string }{
		{``, "5", "a 15 b 0 c 0 "},
		{`insert into kinds values ('d')`, "5", "a 15 b 0 c 0 d 0 "},
		{`update kinds set kind = 'e' where kind = 'a'`, "10", "b 0 c 0 d 0 e 15 "},
		{`delete from kinds where kind = 'd'`, "5", "b 0 c 0 e 15 "},
	} {
		if c.ddl != "" {
			do(c.ddl)
		}
		if got := groups(c.price); got != c.want {
			t.Errorf("%d. %s", i, got)
		}
		if n := again(); n != strings.Count(c.want, " ")/2 {
			t.Errorf("%d. a statement that was prepared before has %d groups", i, n)
		}
	}

	// With data_version a higher price tops up, and another version ends what is stored.
	if n, _, paid = ask("0.5", "select count(*) from buyers where id > 0"); n < 1400 || n > 1600 || paid < 0.4 {
		t.Errorf("a new version: %d, charged %g", n, paid)
	}
	if _, _, paid = ask("1", "select count(*) from buyers where id > 0"); paid < 0.3 || paid > 0.6 {
		t.Errorf("a top-up from 0.5 to 1 costs %g", paid)
	}
	enginetest.Set(t, session, "dpsql.price", "2")
	prepared, err := enginetest.Prepare(session, "select count(*) from buyers where id > 0")
	if err != nil {
		t.Fatal(err)
	}
	do(`insert into buyers select i, 'b' from generate_series(3001, 6000) i`)
	if err := e.Reload(t.Context(), buyersPolicyFor(t, uri, policyOf("\ndata_version: two")...)); err != nil {
		t.Fatal(err)
	}
	before := len(enginetest.Charges(t, e)) // what was prepared under the old version tops up nothing of it
	ans, err := prepared.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if rows, err = ans.All(t.Context()); err != nil || rows[0][0].(int64) < 4460 || rows[0][0].(int64) > 4540 {
		t.Errorf("another version: %v of 4500, %v", rows, err)
	}
	if list := enginetest.Charges(t, e)[before:]; len(list) != 1 || list[0].Loss.Pure < 1.6 {
		t.Errorf("another version: charged %v", list)
	}
}

// TestSteadyData: a DuckDB that is open has the data that it had, so a higher price tops up without anybody's word; another opening may have others.
func TestSteadyData(t *testing.T) {
	open := func() backend.Backend {
		b, err := duckOf(t, "create table buyers (id int primary key, kind text)", "create table kinds (kind text)", "create table bought (id int primary key, buyer int not null, total int not null)",
			"insert into buyers select i, 'a' from range(500) t(i)")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		return b
	}
	e := enginetest.EngineOn(t, buyersPolicyFor(t, "{duckdb: shop.duckdb}"), open())
	s := enginetest.NewSession(e, t, "ann")
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	var sums []float64
	for _, price := range []string{"2", "4", "8"} {
		if price == "8" {
			e.Backend = open()
		}
		enginetest.Set(t, s, "dpsql.price", price)
		before := len(enginetest.Charges(t, e))
		enginetest.MustTry(t, s, "select count(*) from buyers")
		sums = append(sums, enginetest.Charges(t, e)[before].Loss.Pure)
	}
	if sums[1] > 2.1 || sums[2] < 7 {
		t.Errorf("charged %v: the second tops up, the third is of another opening", sums)
	}
}
