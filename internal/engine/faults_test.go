package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// wire stands between the engine and PostgreSQL and can cut or hold what the server sends.
type wire struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	conns    map[*net.TCPConn]bool
	left     int           // bytes until the cut; negative: no cut
	held     chan struct{} // what the server sends waits for its closing; nil: nothing waits
}

func newWire(t testing.TB, target string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, target: target, conns: map[*net.TCPConn]bool{}, left: -1}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(c.(*net.TCPConn))
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		w.cut()
	})
	return w
}

func (w *wire) serve(client *net.TCPConn) {
	c, err := net.Dial("tcp", w.target)
	if err != nil { // the server is not there
		_ = client.Close()
		return
	}
	server := c.(*net.TCPConn)
	w.mu.Lock()
	w.conns[client], w.conns[server] = true, true
	w.mu.Unlock()
	go w.pass(client, server, func(b []byte) []byte { return b })
	w.pass(server, client, w.limited)
}

// pass copies until either side ends, then ends both.
func (w *wire) pass(from, to *net.TCPConn, limit func([]byte) []byte) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if out := limit(buf[:n]); len(out) > 0 {
			if _, werr := to.Write(out); werr != nil {
				err = werr
			}
		}
		if err != nil {
			_, _ = from.Close(), to.Close()
			w.mu.Lock()
			delete(w.conns, from)
			delete(w.conns, to)
			w.mu.Unlock()
			return
		}
	}
}

// limited is what may go on of the server's bytes; where it is less, all connections are reset behind it.
func (w *wire) limited(b []byte) []byte {
	w.mu.Lock()
	held := w.held
	w.mu.Unlock()
	if held != nil {
		<-held
	}
	w.mu.Lock()
	cut := w.left >= 0 && len(b) > w.left
	if cut {
		b = b[:w.left]
		w.left = -1
	} else if w.left >= 0 {
		w.left -= len(b)
	}
	w.mu.Unlock()
	if cut {
		time.AfterFunc(5*time.Millisecond, w.cut) // the bytes before the cut get through
	}
	return b
}

// cut resets all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}

func (w *wire) cutAfter(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = n
}

// hold stops what the server sends until release is called.
func (w *wire) hold() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := make(chan struct{})
	w.held = held
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.held = nil
		close(held)
	}
}

// between is a backend before which something happens between BEGIN and the statement, once.
type between struct {
	backend.Backend
	do func()
}

func (b *between) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := b.Backend.Begin(ctx)
	return b.begun(tx, err)
}

func (b *between) Mark(ctx context.Context, names []backend.RelationName) (backend.Mark, error) {
	return b.Backend.(backend.Marker).Mark(ctx, names)
}

func (b *between) BeginMarked(ctx context.Context, m backend.Mark) (backend.Tx, error) {
	tx, err := b.Backend.(backend.Marker).BeginMarked(ctx, m)
	return b.begun(tx, err)
}

func (b *between) begun(tx backend.Tx, err error) (backend.Tx, error) {
	if do := b.do; do != nil && err == nil {
		b.do = nil
		do()
	}
	return tx, err
}

// reserving is a ledger after whose reservation something happens, once.
type reserving struct {
	ledger.Ledger
	do func()
}

func (r *reserving) ReserveAll(ctx context.Context, list []ledger.Reservation) ([]int64, error) {
	id, err := r.Ledger.ReserveAll(ctx, list)
	if do := r.do; do != nil {
		r.do = nil
		do()
	}
	return id, err
}

// faults is a clinic on a PostgreSQL of the test's own, behind a wire.
type faults struct {
	server *pgtest.Server
	wire   *wire
	direct backend.Backend // as others' sessions would reach it
	behind backend.Backend
}

func newFaults(t *testing.T) *faults {
	t.Helper()
	f := &faults{server: pgtest.Start(t)}
	open := func(url string, o postgres.Options) backend.Backend {
		b, err := postgres.Open(context.Background(), url, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		return b
	}
	b, err := enginetest.Tame.OpenPostgres(f.server, "faults")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	f.direct = b
	f.wire = newWire(t, fmt.Sprintf("127.0.0.1:%d", f.server.Port))
	port := f.wire.listener.Addr().(*net.TCPAddr).Port
	f.behind = open(strings.Replace(f.server.URL("faults"), fmt.Sprint(f.server.Port), fmt.Sprint(port), 1), postgres.Options{PoolSize: 3})
	return f
}

// patient is one engine and what it has answered and charged.
type patient struct {
	*server.Engine
	t        *testing.T
	asked    int
	answered int
}

func (f *faults) engine(t *testing.T, b backend.Backend, timeout string) *patient {
	t.Helper()
	p := enginetest.ClinicPolicyFor(t, funcs.Postgres, "statement_timeout: 20s", "statement_timeout: "+timeout, "budget: {epsilon: 20,", "budget: {epsilon: 1000,", "query:  {price: 0.5}", "query:  {price: 1}")
	return &patient{Engine: enginetest.EngineOn(t, p, b), t: t}
}

// fresh is a question that nobody has asked, with one row for each of many groups.
func (p *patient) fresh() string {
	p.asked++
	return fmt.Sprintf("select big, count(*) from encounters where days > -%d group by 1", p.asked)
}

// fails asks what must fail with the fixed error, at the price of a charge.
func (p *patient) fails(user string) {
	p.t.Helper()
	p.failed(enginetest.Try(enginetest.NewSession(p.Engine, p.t, user), p.fresh()))
}

// failsFree asks what must fail before it is charged: the database does not answer at all.
func (p *patient) failsFree(user string) {
	p.t.Helper()
	sql := p.fresh()
	p.asked--
	p.failed(enginetest.Try(enginetest.NewSession(p.Engine, p.t, user), sql))
}

func (p *patient) failed(rows any, err error) {
	p.t.Helper()
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.ID != "resource_failure" || e.Message != "the statement could not be completed" || e.Detail != "" {
		p.t.Errorf("%v, %v", rows, err)
	}
	p.charged()
}

// answers asks what must be answered, at the price of a charge.
func (p *patient) answers(user string) {
	p.t.Helper()
	if _, err := enginetest.Try(enginetest.NewSession(p.Engine, p.t, user), p.fresh()); err != nil {
		p.t.Errorf("%s is not served: %v", user, err)
	}
	p.answered++
	p.charged()
}

// charged says that all that was asked is on the ledger, which is true.
func (p *patient) charged() {
	p.t.Helper()
	p.spent(p.asked)
}

func (p *patient) spent(statements int) {
	p.t.Helper()
	b, err := p.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
	if err != nil || b.Dataset.Statements != int64(statements) || statements < p.answered {
		p.t.Errorf("%d charges, want %d; %v", b.Dataset.Statements, statements, err)
	}
	if err := p.Ledger.Verify(context.Background()); err != nil {
		p.t.Error(err)
	}
}

// well says that everybody is served again.
func (p *patient) well() {
	p.t.Helper()
	p.answers("bob")
	p.answers("ann")
}

// TestFaults: whatever becomes of the database or of the way to it, a charge once made is kept and the one fixed error is shown; what
// needs no database is still answered; others are served, and everybody is as soon as the database is back. The ledger holds
// one charge for each question that passed its reservation.
func TestFaults(t *testing.T) {
	f := newFaults(t)
	kill := func() {
		if err := f.server.Exec("postgres", "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = 'faults' AND pid <> pg_backend_pid()"); err != nil {
			t.Error(err)
		}
	}
	stop := func() {
		if err := f.server.StopServer(); err != nil {
			t.Error(err)
		}
	}
	start := func() {
		if err := f.server.StartServer(); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("no answer on the wire", func(t *testing.T) { // the server is there and nothing comes: the connection is given up after a while
		p := f.engine(t, f.behind, "3s")
		p.answers("ann")
		s, sql := enginetest.NewSession(p.Engine, t, "ann"), p.fresh()
		done := make(chan error, 1)
		release := f.wire.hold()
		go func() {
			_, err := enginetest.Try(s, sql)
			done <- err
		}()
		other := f.engine(t, f.direct, "20s")
		other.answers("bob")
		p.asked-- // it hung before anything was asked of the data
		p.failed(nil, <-done)
		release()
		p.well()
	})

	t.Run("idle connections die", func(t *testing.T) {
		p := f.engine(t, f.behind, "20s")
		p.well()
		kill()
		p.well()
		f.wire.cut()
		p.well()
	})

	t.Run("gone before the statement", func(t *testing.T) {
		p := f.engine(t, f.direct, "20s")
		p.answers("ann")
		stop()
		if _, err := enginetest.Try(enginetest.NewSession(p.Engine, t, "bob"), "select big, count(*) from encounters where days > -1 group by 1"); err != nil {
			t.Errorf("what was released is not given: %v", err)
		}
		if _, err := enginetest.Try(enginetest.NewSession(p.Engine, t, "bob"), "explain verbose select sum(cost) from encounters"); err != nil {
			t.Errorf("EXPLAIN needs the database: %v", err)
		}
		if _, err := enginetest.Try(enginetest.NewSession(p.Engine, t, "bob"), "select min_people from encounters"); sqlerr.ID(err) != "undefined_column" {
			t.Errorf("a mistake: %v", err)
		}
		if _, err := enginetest.Try(enginetest.NewSession(p.Engine, t, "bob"), "select name from cities"); sqlerr.ID(err) != "resource_failure" {
			t.Errorf("a public table: %v", err)
		}
		p.spent(1)
		for range ledger.MaxFailures + 1 { // an outage is not the analyst's: it costs nothing and stops nobody
			p.failsFree("ann")
		}
		start()
		p.well()
	})

	t.Run("gone between the reservation and the statement", func(t *testing.T) {
		p := f.engine(t, f.direct, "20s")
		p.well()
		l := &reserving{Ledger: p.Ledger, do: stop}
		p.Ledger = l
		p.fails("ann")
		start()
		p.well()
		l.do = kill
		p.fails("ann")
		p.well()
	})

	t.Run("killed between BEGIN and the rows", func(t *testing.T) {
		p := f.engine(t, f.direct, "20s")
		p.Backend = &between{Backend: f.direct, do: kill}
		p.fails("ann")
		p.well()
	})

	t.Run("reset in the rows", func(t *testing.T) {
		for _, n := range []int{0, 1, 90, 400, 1500} {
			p := f.engine(t, f.behind, "20s")
			p.answers("ann")
			p.Backend = &between{Backend: f.behind, do: func() { f.wire.cutAfter(n) }}
			p.fails("ann")
			p.well()
		}
	})

	t.Run("slow", func(t *testing.T) { // the statement waits for a lock
		p := f.engine(t, f.direct, "3s")
		ctx := context.Background()
		owner, err := pgx.Connect(ctx, f.server.URL("faults"))
		if err == nil {
			_, err = owner.Exec(ctx, "BEGIN; LOCK TABLE encounters")
		}
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := enginetest.Try(enginetest.NewSession(p.Engine, t, "bob"), "select gender, count(*) from patients group by 1"); err != nil {
				t.Errorf("bob is not served: %v", err)
			}
		})
		s, sql := enginetest.NewSession(p.Engine, t, "ann"), p.fresh()
		rows, err := enginetest.Try(s, sql)
		wg.Wait()
		p.asked++ // bob's
		p.answered++
		p.failed(rows, err)
		if err := owner.Close(ctx); err != nil {
			t.Error(err)
		}
		p.well()
	})

	t.Run("out of temporary files", func(t *testing.T) {
		const more = "INSERT INTO encounters SELECT 100000 + 1000 * encounter_id + i, patient_id, kind_id, days, medications, score, cost, ratio, diag, readmitted, i, level, free FROM encounters, generate_series(1, 1000) i"
		if err := f.server.Exec("faults", more); err != nil {
			t.Fatal(err)
		}
		b, err := postgres.Open(context.Background(), f.server.URL("faults"), postgres.Options{PoolSize: 2, Settings: map[string]string{"work_mem": "64kB", "temp_file_limit": "64kB"}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close() }()
		p := f.engine(t, b, "20s")
		p.fails("ann")
		if _, err := enginetest.Try(enginetest.NewSession(p.Engine, t, "ann"), "select gender, count(*) from patients group by 1"); err != nil {
			t.Errorf("a small question: %v", err)
		}
	})
}
