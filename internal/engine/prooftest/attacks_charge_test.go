package prooftest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestAttack01Grid: the last bits of a float's noisy sum. A released sum is a whole number of grid steps; the careless one is a float64 plus a
// float64, whose last bits tell what was added. (The sampler itself: package noise.)
func TestAttack01Grid(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	p, err := enginetest.Prepare(s, "select sum(score) from encounters")
	if err != nil {
		t.Fatal(err)
	}
	grid := p.Analysis().Measures[0].Grid.InexactFloat64()
	attack := func(release func(i int) float64) string {
		for i := range 20 {
			if v := release(i); v/grid != math.Trunc(v/grid) {
				return fmt.Sprintf("%g is no multiple of %g", v, grid)
			}
		}
		return ""
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	succeeds(t, attack(func(int) float64 { return 0.1 + 0.7 + math.Log(rnd.Float64())/0.5 }))
	fails(t, attack(func(i int) float64 {
		return enginetest.MustTry(t, s, fmt.Sprintf("select sum(score) from encounters where days <> %d", i))[0][0].(float64)
	}))
}

// TestAttack02Predicted: the attacker runs a copy of the proxy, over a guess of the data, and asks both the same: noise that follows
// from the question, the time of the start or a counter cancels out. Twelve noises of scale above 8 agree by chance once in 10^18 runs.
func TestAttack02Predicted(t *testing.T) {
	const question = "select readmitted, kind_id, count(*) + 0 from encounters group by 1, 2 order by 1, 2"
	attack := func(start func() asker) string {
		real, copied := start()(question), start()(question)
		if fmt.Sprint(real) == fmt.Sprint(copied) {
			return fmt.Sprintf("the noise of %d groups is that of the copy", len(real.rows))
		}
		return ""
	}
	succeeds(t, attack(func() asker {
		return func(sql string) (out seen) {
			h := fnv.New64()
			_, _ = h.Write([]byte(sql))
			rnd := rand.New(rand.NewPCG(h.Sum64(), 0))
			for range 12 {
				out.rows = append(out.rows, []string{fmt.Sprint(100 + rnd.NormFloat64())})
			}
			return out
		}
	}))
	fails(t, attack(func() asker { return through(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)) }))
}

// TestAttack03Switches: settings that would turn noise off or make it nothing. The careless session takes what it is told.
func TestAttack03Switches(t *testing.T) {
	attack := func(set func(name string, values []string) error) string {
		for _, s := range [][2]string{
			{"dpsql.price", "1e20"}, {"dpsql.price", "inf"}, {"dpsql.price", "Infinity"}, {"dpsql.price", "0x1p1023"}, {"dpsql.price", "5.0000000001"}, {"dpsql.price", "NaN"},
			{"dpsql.price", "-1"}, {"dpsql.price", "1e-300"}, {"dpsql.mechanism", "none"}, {"dpsql.mechanism", ""}, {"dpsql.noise", "off"}, {"dpsql.enabled", "false"}, {"dpsql.private", "off"}, {"dpsql.dp", "0"},
			{"dpsql.seed", "1"}, {"dpsql.debug", "on"}, {"dpsql.oracle", "on"}, {"dpsql.max_groups", "0"}, {"dpsql.max_groups", "18446744073709551615"}, {"dpsql.bounding", "none"}, {"dpsql.max_rows_per_unit", "1000000"},
			{"dpsql.budget", "1000000"}, {"dpsql.delta", "1"}, {"dpsql.query_delta", "1"}, {"dpsql.cache", "off"}, {"dpsql.min_people", "0"}, {"dpsql.accountant", "none"}, {"dpsql.user", "owner"}, {"role", "postgres"},
		} {
			if err := set(s[0], []string{s[1]}); err == nil {
				return fmt.Sprintf("%s = %s is taken", s[0], s[1])
			}
		}
		return ""
	}
	succeeds(t, attack(func(string, []string) error { return nil }))
	fails(t, attack(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB).Set))
}

// payLater is a careless ledger: it charges when an answer is ready, and so gives back what failed.
type payLater struct {
	ledger.Ledger
	mu   sync.Mutex
	open []ledger.Reservation
}

func (p *payLater) ReserveAll(_ context.Context, list []ledger.Reservation) (ids []int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range list {
		p.open = append(p.open, r)
		ids = append(ids, int64(len(p.open)-1))
	}
	return ids, nil
}

func (p *payLater) Commit(ctx context.Context, id int64, r ledger.Release) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	real, err := p.Reserve(ctx, p.open[id])
	if err != nil {
		return err
	}
	return p.Ledger.Commit(ctx, real, r)
}

func (p *payLater) Fail(context.Context, int64, string) error { return nil }

// paying are an engine with the product's ledger and one with the careless one.
func paying(t testing.TB, edits ...string) (product, careless *server.Engine) {
	db := enginetest.Tame.Open(t, funcs.DuckDB)
	product, careless = enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB, edits...), db), enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB, edits...), db)
	careless.Ledger = &payLater{Ledger: careless.Ledger}
	return product, careless
}

// TestAttack06Refund: a statement is made to fail when the data was read, by its own error, a lost connection or a cancel, over and over:
// what was seen of it is never paid for by the careless ledger.
func TestAttack06Refund(t *testing.T) {
	attack := func(e *server.Engine) string {
		f := &enginetest.Failing{Backend: e.Backend, Row: enginetest.ErrBackend, AfterRow: 1}
		e.Backend = f
		s := enginetest.NewSession(e, t, "ann")
		for i := range 3 {
			_, _ = enginetest.Try(s, fmt.Sprintf("select days, count(*) from encounters where days <> %d group by 1", i))
		}
		ctx, cancel := context.WithCancel(context.Background())
		f.Wait, f.Entered = true, make(chan struct{})
		go func() { <-f.Entered; cancel() }()
		if p, err := enginetest.Prepare(s, "select count(*) from encounters"); err == nil {
			_, _ = p.Run(ctx, nil)
		}
		if paid := len(enginetest.Charges(t, e)); f.Private > paid || f.Private != 4 {
			return fmt.Sprintf("the data was read %d times and paid for %d times", f.Private, paid)
		}
		return ""
	}
	product, careless := paying(t)
	succeeds(t, attack(careless))
	fails(t, attack(product))
}

// TestAttack07Limits: a statement that runs into a limit for one heavy person alone, again and again: each failure is a bit that no noise
// hides. dpsql has each paid for, shows one fixed error, and stops the analyst after five; the careless variant lets go on.
// Response time itself is not covered.
func TestAttack07Limits(t *testing.T) {
	attack := func(e *server.Engine, forgive bool) string {
		bits := 0
		s := enginetest.NewSession(e, t, "ann")
		e.Backend = &enginetest.Failing{Backend: e.Backend, Query: backend.NewError(backend.FailResource, "53200", errors.New("out of memory"))}
		for i := range 20 {
			if _, err := enginetest.Try(s, fmt.Sprintf("select count(*) from encounters where days + 0 > %d", i)); sqlerr.ID(err) == sqlerr.ResourceFailure.ID {
				bits++
			}
			if forgive {
				if err := e.Unfreeze(context.Background(), "ann", "owner"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if paid := len(enginetest.Charges(t, e)); bits > ledger.MaxFailures || bits > paid {
			return fmt.Sprintf("%d bits, %d paid for", bits, paid)
		}
		return ""
	}
	product, careless := paying(t)
	succeeds(t, attack(careless, false))
	fails(t, attack(product, false))
	product, _ = paying(t)
	succeeds(t, attack(product, true))
}

// spying counts reads of private rows that no charge of the ledger covers at that moment.
type spying struct {
	before int // charges, before the statement
	backend.Backend
	paid          func() int
	reads, unpaid int
}

type spyingTx struct {
	backend.Tx
	spy *spying
}

func (s *spying) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := s.Backend.Begin(ctx)
	return spyingTx{tx, s}, err
}

func (s spyingTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	if strings.Contains(sql, "patients") || strings.Contains(sql, "encounters") {
		if s.spy.reads++; s.spy.paid() == s.spy.before {
			s.spy.unpaid++
		}
	}
	return s.Tx.Query(ctx, sql, args, want)
}

// TestAttack16Helpers: whatever a statement needs beside its numbers (groups, people, bounds, errors, plans) must not read private rows that
// nobody has paid for. The careless engine pays at the end.
func TestAttack16Helpers(t *testing.T) {
	attack := func(e *server.Engine) string {
		spy := &spying{Backend: e.Backend, paid: func() int { return len(enginetest.Charges(t, e)) }}
		e.Backend = spy
		s := enginetest.NewSession(e, t, "ann")
		for _, sql := range []string{"select count(*) from encounters", "select race from patients group by 1", "select diag, avg(days), count(distinct patient_id) from encounters group by 1",
			"select kind_id, sum(cost), dp_error(sum(cost)) from encounters group by 1 having count(*) > 1 order by dp_low(count(*))", "explain verbose select diag, avg(days) from encounters group by 1",
			"select gender from patients group by 1", "select count(*) from cities", "select * from dpsql.budget", "select min(days) from encounters", "select count(*) from encounters"} {
			spy.before = spy.paid()
			_, _ = enginetest.Try(s, sql)
		}
		if spy.reads == 0 || spy.unpaid > 0 {
			return fmt.Sprintf("%d of %d reads were not paid for", spy.unpaid, spy.reads)
		}
		return ""
	}
	product, careless := paying(t, "price: 0.5}", "price: 0.5, min_people: 1}")
	succeeds(t, attack(careless))
	fails(t, attack(product))
}

// TestAttack19Collusion: two analysts take turns, each within an own budget. The careless proxies have a ledger for each.
func TestAttack19Collusion(t *testing.T) {
	const epsilon = 2 // four statements of 0.5
	open := func() *server.Engine {
		return enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB, "{epsilon: 20, delta: 1e-6}", "{epsilon: 2, delta: 0}"), enginetest.Tame.Open(t, funcs.DuckDB))
	}
	attack := func(sessions ...*session.Session) string {
		got := 0.0
		for i := range 20 {
			if _, err := enginetest.Try(sessions[i%len(sessions)], fmt.Sprintf("select count(*) from encounters where days + 0 > %d", i)); err == nil {
				got += 0.5
			}
		}
		if got > epsilon {
			return fmt.Sprintf("together they spent %g of %d", got, epsilon)
		}
		return ""
	}
	succeeds(t, attack(enginetest.NewSession(open(), t, "ann"), enginetest.NewSession(open(), t, "bob")))
	e := open()
	fails(t, attack(enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "bob"), enginetest.NewSession(e, t, "ann")))
}

// TestAttack21Repeats: one question in 120 spellings, to average its noise away. The careless proxy charges the question once and draws its
// noise from the text (sticky noise); in dpsql there are no more noises than charges.
func TestAttack21Repeats(t *testing.T) {
	attack := func(ask asker, charged func() int) string {
		answers, answered := map[string]bool{}, 0
		for i := range 20 {
			for _, sql := range []string{"select count(*) from encounters", "select  count ( * )  as n%d from encounters e%d", "select count(*) as \"%d\" from (select patient_id as p%d from encounters) x", "SELECT count(*) -- %d\n FROM public.encounters /* %d */",
				"select x from (select count(*) as x from encounters) y%[2]d limit 1%[1]d", "select count(*) from encounters having count(*) > -100000000%d limit 5%d", `select (count(*)) as "%d" from "encounters" as "q%d" order by 1`} {
				if strings.Contains(sql, "%") {
					sql = fmt.Sprintf(sql, i, i)
				}
				if got := ask(sql); got.err == "" {
					answered++
					answers[got.rows[0][0]] = true
				}
			}
		}
		if answered < 100 {
			t.Errorf("%d spellings were answered", answered)
		}
		if len(answers) > charged() {
			return fmt.Sprintf("%d noises of one question, %d charges", len(answers), charged())
		}
		return ""
	}
	succeeds(t, attack(func(sql string) seen {
		h := fnv.New32()
		_, _ = h.Write([]byte(sql))
		return seen{rows: [][]string{{fmt.Sprint(100 + h.Sum32()%32)}}}
	}, func() int { return 1 }))
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	fails(t, attack(through(s), func() int { return len(enginetest.Charges(t, s.Engine)) }))
	if n := len(enginetest.Charges(t, s.Engine)); n > 3 {
		t.Errorf("%d charges for one question", n)
	}
}

// TestAttack22Prepared: a prepared statement is run again and again, by two sessions and under settings that change nothing of it.
func TestAttack22Prepared(t *testing.T) {
	attack := func(run func(i int) (string, error), charged func() int) string {
		answers := map[string]bool{}
		for i := range 20 {
			if a, err := run(i); err == nil {
				answers[a] = true
			}
		}
		if len(answers) > charged() {
			return fmt.Sprintf("%d noises, %d charges", len(answers), charged())
		}
		return ""
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	succeeds(t, attack(func(int) (string, error) { return fmt.Sprint(rnd.Int64N(64)), nil }, func() int { return 1 }))
	e := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB).Engine
	var prepared []*enginetest.Prepared
	for _, user := range []string{"ann", "bob"} {
		p, err := enginetest.Prepare(enginetest.NewSession(e, t, user), "select count(*) from encounters where days > $1", sqltype.OIDInt4)
		if err != nil {
			t.Fatal(err)
		}
		prepared = append(prepared, p)
	}
	fails(t, attack(func(i int) (string, error) {
		p := prepared[i%2]
		enginetest.Set(t, p.Session, "dpsql.notices", []string{"off", "full"}[i%2])
		a, err := p.Run(context.Background(), []sqltype.Value{int64(3)})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(a.Rows), nil
	}, func() int { return len(enginetest.Charges(t, e)) }))
	if n := len(enginetest.Charges(t, e)); n != 1 {
		t.Errorf("%d charges", n)
	}
}

const sick = 128 // people of the reconstruction, each with a secret bit

const sickPolicy = `
dataset: sick
backend: {duckdb: sick.duckdb}
unit: people.id
tables:
  people:
    columns: {id: {}, sick: {}}
budget: {epsilon: 0.5, delta: 0}
query:  {price: 0.00390625}
analysts:
  ann: {password: VERIFIER, may: [people]}
`

// TestAttack29Reconstruction: counts over random halves of the people, solved by least squares for everybody's bit, and the difference of two
// counts with and without one person. The careless proxy adds little noise to each count and has no budget: nine in ten bits and more
// come out. For these questions a healthy person is as an absent one, so of dpsql's 0.5 epsilon no guess of one bit is right with more than e^0.5
// to 1, 0.623, whatever is known of the other bits; nine in ten of 128 are right with probability below 1e-12.
func TestAttack29Reconstruction(t *testing.T) {
	rnd := rand.New(rand.NewPCG(29, 29))
	var bits [sick]bool
	for i := range bits {
		bits[i] = rnd.IntN(2) == 1
	}
	attack := func(questions int, count func(ids []int) (float64, error)) string {
		var rows, counts []float64
		for range questions {
			row := make([]float64, sick)
			var ids []int
			for i := range row {
				if rnd.IntN(2) == 1 {
					row[i] = 1
					ids = append(ids, i)
				}
			}
			n, err := count(ids)
			if err != nil {
				break
			}
			rows, counts = append(rows, row...), append(counts, n)
		}
		if len(counts) == 0 {
			t.Fatal("no question was answered")
		}
		a := mat.NewDense(len(counts), sick, rows)
		var square, right mat.Dense
		square.Mul(a.T(), a)
		right.Mul(a.T(), mat.NewDense(len(counts), 1, counts))
		for i := range sick {
			square.Set(i, i, square.At(i, i)+1e-3)
		}
		var guess mat.Dense
		if err := guess.Solve(&square, &right); err != nil {
			t.Fatal(err)
		}
		hits := 0
		for i, bit := range bits {
			if guess.At(i, 0) > 0.5 == bit {
				hits++
			}
		}
		if hits*10 >= 9*sick {
			return fmt.Sprintf("%d of %d bits by %d questions", hits, sick, len(counts))
		}
		return ""
	}
	truth := func(ids []int) (n float64) {
		for _, i := range ids {
			if bits[i] {
				n++
			}
		}
		return n
	}
	succeeds(t, attack(4*sick, func(ids []int) (float64, error) { return truth(ids) + rnd.ExpFloat64() - rnd.ExpFloat64(), nil }))

	s := sickSession(t, bits[:])
	fails(t, attack(4*sick, func(ids []int) (float64, error) { return countSick(t, s, ids) }))
	if n := len(enginetest.Charges(t, s.Engine)); n < sick-2 || n > sick {
		t.Errorf("%d questions were answered", n)
	}
}

// sickSession is a session before persons with a secret bit each.
func sickSession(t *testing.T, bits []bool) *session.Session {
	t.Helper()
	db, err := duckdb.OpenMemory(context.Background(), func(ctx context.Context, conn *sql.Conn) error {
		values := make([]string, len(bits))
		for i, b := range bits {
			values[i] = fmt.Sprintf("(%d, %t)", i, b)
		}
		_, err := conn.ExecContext(ctx, "create table people (id integer primary key, sick boolean not null); insert into people values "+strings.Join(values, ", "))
		return err
	}, duckdb.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	p, err := policy.Parse("sick.yaml", []byte(strings.ReplaceAll(sickPolicy, "VERIFIER", enginetest.Verifier)))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.NewSession(enginetest.EngineOn(t, p, db), t, "ann")
}

// countSick asks for the number of the sick among these persons; its error is that the budget has ended.
func countSick(t *testing.T, s *session.Session, ids []int) (float64, error) {
	t.Helper()
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
	rows, err := enginetest.Try(s, "select count(*) + 0 from people where sick and id in ("+list+")")
	if err != nil {
		if sqlerr.ID(err) != sqlerr.BudgetExhausted.ID {
			t.Fatal(err)
		}
		return 0, err
	}
	return float64(rows[0][0].(int64)), nil
}

// TestAttack30Proxies: several proxies spend one budget twice: over one file, which the second is refused (the ledger's own tests have two processes), or over one
// ledger in PostgreSQL, which decides beside the charges of all. The careless proxies have a copy each.
func TestAttack30Proxies(t *testing.T) {
	dir := t.TempDir()
	attack := func(options ...server.Options) string {
		got := 0
		for i, opt := range options {
			opt.Backend = enginetest.Tame.Open(t, funcs.DuckDB)
			e, err := server.Open(context.Background(), opt)
			if err != nil {
				if !errors.Is(err, ledger.ErrInUse) {
					t.Error(err)
				}
				continue
			}
			t.Cleanup(func() { _ = e.Close() })
			_, err = enginetest.Try(enginetest.NewSession(e, t, "ann"), fmt.Sprintf("select count(*) from encounters where days + 0 > %d", i))
			switch {
			case err == nil:
				got++
			case sqlerr.ID(err) != sqlerr.BudgetExhausted.ID:
				t.Error(err)
			}
		}
		if got > 1 {
			return fmt.Sprintf("%d statements of 0.5 in a budget of 0.5", got)
		}
		if got == 0 {
			t.Error("nothing was answered, so the test proves nothing")
		}
		return ""
	}
	inFile := func(name string) server.Options {
		return server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, "{epsilon: 20, delta: 1e-6}", "{epsilon: 0.5, delta: 0}"), LedgerPath: dir + "/" + name}
	}
	succeeds(t, attack(inFile("one"), inFile("two")))
	fails(t, attack(inFile("same"), inFile("same"), inFile("./same")))

	pg := pgtest.Start(t, "fsync=on", "full_page_writes=on")
	inServer := func(schema, machine string) server.Options {
		url := pg.URL("postgres") + "&search_path=" + schema
		p := enginetest.ClinicPolicyFor(t, funcs.DuckDB, "{epsilon: 20, delta: 1e-6}", fmt.Sprintf("{epsilon: 0.5, delta: 0}\nledger: {postgres: %q}", url))
		p.Ledger.Beside = dir + "/" + machine
		return server.Options{Policy: p}
	}
	succeeds(t, attack(inServer("one", "a"), inServer("two", "b")))
	fails(t, attack(inServer("same", "c"), inServer("same", "d"), inServer("same", "e")))
}
