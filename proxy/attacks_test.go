package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// The attacks of docs/threat-model.md on the wire, by their numbers. Each is played against a careless variant, where it must learn
// something, since otherwise it proves nothing, and against the product.

// drawing is an engine whose every Run draws anew: four rows with the number of the draw. A charge is made with each.
type drawing struct {
	*scripted
	draws atomic.Int64
}

type drawingSession struct {
	Session
	engine *drawing
}

type drawingPrepared struct{ engine *drawing }

func (d *drawing) Open(user, application string) (Session, error) {
	s, err := d.scripted.Open(user, application)
	return drawingSession{s, d}, err
}

func (s drawingSession) Prepare(context.Context, pgsyntax.Statement, []sqltype.OID) (Prepared, error) {
	return drawingPrepared{s.engine}, nil
}

func (drawingPrepared) Params() []sqltype.Type   { return nil }
func (drawingPrepared) Size() int                { return 0 }
func (drawingPrepared) Columns() []answer.Column { return []answer.Column{column("n", sqltype.Int8)} }

func (p drawingPrepared) Run(context.Context, []sqltype.Value) (*answer.Answer, error) {
	n := p.engine.draws.Add(1)
	return &answer.Answer{Tag: "SELECT", Rows: [][]sqltype.Value{{n}, {n}, {n}, {n}}}, nil
}

// TestAttack22Portals: a portal is described, read in pieces, read on when it is empty, and read again after an error: its noise must be drawn
// once. The careless portal runs its statement at each Execute, and charges for the first.
func TestAttack22Portals(t *testing.T) {
	attack := func(execute func(i int) (draws []string), charged func() int64) string {
		seen := map[string]bool{}
		for i := range 8 {
			for _, d := range execute(i) {
				seen[d] = true
			}
		}
		if len(seen) == 0 || int64(len(seen)) > charged() {
			return fmt.Sprintf("%d draws were seen, %d charges", len(seen), charged())
		}
		return ""
	}
	careless := 0
	if attack(func(int) []string { careless++; return []string{fmt.Sprint(careless)} }, func() int64 { return 1 }) == "" {
		t.Error("the attack learns nothing from a portal that runs at each Execute, so it proves nothing")
	}
	e := &drawing{scripted: newScripted()}
	p := hijacked(t, startProxy(t, e, Options{}))
	p.send(t, `Query {"String":"begin"}`)
	p.until(t, []string{"ReadyForQuery"}, false, "")
	p.send(t, `Parse {"Name":"s","Query":"select count(*) from people"}
Describe {"ObjectType":"S","Name":"s"}
Bind {"DestinationPortal":"c","PreparedStatement":"s"}
Describe {"ObjectType":"P","Name":"c"}
Sync`)
	p.until(t, []string{"ReadyForQuery"}, false, "")
	if n := e.draws.Load(); n != 0 {
		t.Errorf("%d runs before any Execute", n)
	}
	if learned := attack(func(i int) (draws []string) {
		p.send(t, []string{"", `Describe {"ObjectType":"P","Name":"c"}` + "\n"}[i%2]+fmt.Sprintf(`Execute {"Portal":"c","MaxRows":%d}`, i%3)+"\nSync")
		for _, line := range strings.Split(p.until(t, []string{"ReadyForQuery"}, false, ""), "\n") {
			if row, ok := strings.CutPrefix(line, "DataRow "); ok {
				draws = append(draws, row)
			}
		}
		return draws
	}, e.draws.Load); learned != "" || e.draws.Load() != 1 {
		t.Errorf("%s; %d runs", learned, e.draws.Load())
	}
}

// TestAttack22Batches: several statements of one message, transactions that are rolled back and lost connections: as many charges as
// answers. The careless proxy charges a message once, and gives a rolled back one back.
func TestAttack22Batches(t *testing.T) {
	const question = "select count(*) from people"
	batches := []string{question + ";" + question + ";" + question, "begin;" + question + "; rollback", "begin; savepoint a;" + question + "; rollback to a;" + question + "; rollback", "begin;" + question + "; select nonsense from; " + question}
	attack := func(send func(batch string) (answers int), charged func() int64) string {
		answers := 0
		for _, b := range batches {
			answers += send(b)
		}
		if answers < 6 || int64(answers) > charged() {
			return fmt.Sprintf("%d answers, %d charges", answers, charged())
		}
		return ""
	}
	if attack(func(b string) int { return strings.Count(b, question) }, func() int64 { return 1 }) == "" {
		t.Error("the attack learns nothing from a proxy that charges a message once, so it proves nothing")
	}
	e := &drawing{scripted: newScripted()}
	addr := startProxy(t, e, Options{})
	if learned := attack(func(b string) (answers int) {
		conn := dial(t, proxyURL(addr))
		results, _ := conn.Exec(context.Background(), b).ReadAll() // one of them fails
		for _, r := range results {
			if len(r.Rows) > 0 {
				answers++
			}
		}
		return answers
	}, e.draws.Load); learned != "" {
		t.Error(learned)
	}
}

// TestAttack22Refused: ways around an answer (COPY of a table, of what writes, to a program, function calls) give 0A000 or 42501 and run
// nothing. The careless proxy hands them on.
func TestAttack22Refused(t *testing.T) {
	ways := []string{"copy people to stdout", "copy people (a) to stdout with csv", "copy people from stdin", "copy (select count(*) from people) to '/tmp/x'", "copy (select count(*) from people) to program 'cat'",
		"copy (delete from people returning *) to stdout", "declare c cursor for select count(*) from people for update", "prepare p as delete from people", "execute p", "explain execute p", "fetch p", "notify x, 'y'",
		"create table x as select * from people", "select * into x from people", "with x as materialized (select 1) select * from people for update", "do $$ begin perform 1; end $$", "call f()", "load 'x'",
		"set session authorization postgres", "set role postgres", "set local dpsql.noise = off", "set dpsql.seed to 1", "vacuum people", "lock people"}
	attack := func(ask func(sql string) error) string {
		for _, sql := range ways {
			if err := ask(sql); err == nil {
				return sql + " is taken"
			}
		}
		return ""
	}
	if attack(func(string) error { return nil }) == "" {
		t.Error("the attack learns nothing from a proxy that hands on, so it proves nothing")
	}
	e := &drawing{scripted: newScripted()} // it answers whatever reaches it
	addr := startProxy(t, e, Options{MaxSessionsPerUser: 50})
	if learned := attack(func(sql string) error {
		_, err := dial(t, proxyURL(addr)).Exec(context.Background(), sql).ReadAll()
		var pg *pgconn.PgError
		if errors.As(err, &pg) && !slices.Contains([]string{sqlerr.Unsupported.Code, sqlerr.Syntax.Code, sqlerr.UndefinedObject.Code, sqlerr.CantChangeParam.Code, sqlerr.Privilege.Code,
			sqlerr.InvalidStatement.Code, sqlerr.InvalidPortal.Code}, pg.Code) {
			t.Errorf("%s: %v", sql, err)
		}
		return err
	}); learned != "" {
		t.Error(learned)
	}
	p := hijacked(t, addr)
	p.send(t, `Function {"Function":2626}`) // pg_sleep
	if got := p.until(t, []string{"ReadyForQuery"}, false, ""); !strings.Contains(got, sqlerr.Unsupported.Code) {
		t.Error(got)
	}
	if n := e.draws.Load(); n != 0 {
		t.Errorf("%d runs", n)
	}
}

// TestAttack22Cursors: a cursor is fetched forward and back, held over its transaction, read by the protocol and declared anew; COPY and EXECUTE
// are sent again and again: as many draws as charges, and a cursor has one. The careless cursor runs its query at each FETCH.
func TestAttack22Cursors(t *testing.T) {
	const question = "select count(*) from people"
	attack := func(ask func(sql string) (draws []string), charged func() int64) string {
		seen := map[string]bool{}
		for _, sql := range []string{"begin; declare c scroll cursor with hold for " + question, "fetch 2 from c; move -2 in c; fetch c", "fetch all from c; fetch first from c", "fetch backward all from c; commit",
			"fetch 3 from c; fetch absolute -1 from c; savepoint s", "begin; savepoint s; fetch first from c; rollback to s; fetch prior from c; rollback", "fetch all from c",
			"declare c cursor with hold for " + question, "copy (" + question + ") to stdout", "copy (" + question + ") to stdout (format csv, header)", "prepare p as " + question, "execute p; execute p", "explain execute p", "close c; fetch c"} {
			for _, d := range ask(sql) {
				seen[d] = true
			}
		}
		if len(seen) < 5 || int64(len(seen)) > charged() {
			return fmt.Sprintf("%d draws were seen, %d charges", len(seen), charged())
		}
		return ""
	}
	careless := 0
	if attack(func(sql string) (draws []string) {
		for range strings.Count(sql, "fetch") + strings.Count(sql, "execute") {
			careless++
			draws = append(draws, fmt.Sprint(careless))
		}
		return draws
	}, func() int64 { return 5 }) == "" {
		t.Error("the attack learns nothing from a cursor that runs at each FETCH, so it proves nothing")
	}
	e := &drawing{scripted: newScripted()}
	p := hijacked(t, startProxy(t, e, Options{}))
	if learned := attack(func(sql string) (draws []string) {
		p.send(t, fmt.Sprintf("Query {%q:%q}", "String", sql))
		for _, line := range strings.Split(p.until(t, []string{"ReadyForQuery"}, false, ""), "\n") {
			for _, kind := range []string{"DataRow ", "CopyData "} {
				if row, ok := strings.CutPrefix(line, kind); ok {
					row = strings.TrimSuffix(strings.Trim(row, `"`), `\n`)
					if row != "n" { // COPY's header
						draws = append(draws, row)
					}
				}
			}
		}
		return draws
	}, e.draws.Load); learned != "" || e.draws.Load() != 6 {
		t.Errorf("%s; %d runs", learned, e.draws.Load())
	}
}

// TestAttack05Cause: what a failure of the engine or the database says in words, on any part of the wire. The careless proxy shows the text.
func TestAttack05Cause(t *testing.T) {
	attack := func(ask func(sql string) string) string {
		for _, sql := range []string{"select 'cause'", "select 'panic'", "select 'wrong'"} {
			got := ask(sql)
			for _, secret := range []string{"Alice", "Bob", "4711", "secret rows", "backend said", "not a number"} {
				if strings.Contains(got, secret) {
					return fmt.Sprintf("%s shows %q", sql, got)
				}
			}
		}
		return ""
	}
	if attack(func(sql string) string {
		_, err := script[sql].run(context.Background(), nil, nil)
		return fmt.Sprint(err)
	}) == "" {
		t.Error("the attack learns nothing from a proxy that shows causes, so it proves nothing")
	}
	addr := startProxy(t, newScripted(), Options{})
	if learned := attack(func(sql string) string {
		p := hijacked(t, addr)
		p.send(t, fmt.Sprintf("Query {%q:%q}", "String", sql))
		return p.until(t, []string{"ReadyForQuery"}, true, "")
	}); learned != "" {
		t.Error(learned)
	}
}
