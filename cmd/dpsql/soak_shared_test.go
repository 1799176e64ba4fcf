package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// soakShared are two proxies over one ledger, killed in turn, and what their clients were shown.
type soakShared struct {
	order []int // of the faults that are next
	t     *testing.T
	pg    *pgtest.Server
	paths [2]string

	mu      sync.Mutex
	proxies [2]*serving
	next    int                    // of statements; the last few are asked by all clients
	anew    int                    // answers to statements that are always asked with dpsql.fresh: each is a charge
	shown   map[int]map[int64]bool // the others' answers, by statement: each that differs is a charge
	counts  map[string]int         // of outcomes, for the log
}

func newSoakShared(t *testing.T) *soakShared {
	pg, verifier := startShared(t)
	s := &soakShared{t: t, pg: pg, shown: map[int]map[int64]bool{}, counts: map[string]int{}}
	for i := range s.paths {
		s.paths[i] = filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(s.paths[i], fmt.Appendf(nil, sharedPolicy, s.pg.URL("demo"), 3, 10000.0, soakEpsilon, ", statement_time: 5s, stop_time: 2s", verifier), 0o600); err != nil {
			t.Fatal(err)
		}
		s.proxies[i] = serveDir(t, s.paths[i])
	}
	t.Cleanup(func() {
		for _, p := range s.proxies {
			p.kill()
		}
	})
	return s
}

func (s *soakShared) proxy(i int) *serving {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proxies[i]
}

// note counts an outcome.
func (s *soakShared) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

// statement is a new one, or one that others ask too; those that three divides are always asked anew.
func (s *soakShared) statement(rng *rand.Rand) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rng.IntN(6) == 0 {
		s.next++
	}
	return max(0, s.next-rng.IntN(4))
}

// client asks at one proxy, and cancels at the other, until ctx ends.
func (s *soakShared) client(ctx context.Context, i int, rng *rand.Rand) {
	for ctx.Err() == nil {
		conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://analyst:demo@%s/demo?sslmode=disable", s.proxy(i).addr))
		for err == nil && ctx.Err() == nil {
			n := s.statement(rng)
			err = s.ask(ctx, conn, n, i, rng)
		}
		if conn != nil {
			_ = conn.Close(context.Background())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ask gives an error where the connection is not to be used any more.
func (s *soakShared) ask(ctx context.Context, conn *pgx.Conn, n, i int, rng *rand.Rand) error {
	fresh := n%3 == 0
	tx, err := conn.Begin(ctx)
	if err != nil {
		return s.failed(err)
	}
	if fresh {
		if _, err = tx.Exec(ctx, "SET LOCAL dpsql.fresh = on"); err != nil {
			return s.failed(err)
		}
	}
	canceled := make(chan struct{})
	if rng.IntN(10) == 0 {
		go func() { defer close(canceled); s.cancel(conn, 1-i) }()
	} else {
		close(canceled)
	}
	var count int64
	err = tx.QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM stays WHERE stay_id <> %d", -n)).Scan(&count)
	<-canceled
	if err != nil {
		return s.failed(err)
	}
	s.mu.Lock()
	s.counts["answered"]++
	if fresh {
		s.anew++
	} else {
		if s.shown[n] == nil {
			s.shown[n] = map[int64]bool{}
		}
		s.shown[n][count] = true
	}
	s.mu.Unlock()
	if err := tx.Commit(ctx); err != nil {
		return s.failed(err)
	}
	return nil
}

// cancel sends the session's CancelRequest to the other proxy.
func (s *soakShared) cancel(conn *pgx.Conn, to int) {
	c, err := net.DialTimeout("tcp", s.proxy(to).addr, time.Second)
	if err != nil {
		return // it is away
	}
	defer c.Close() //nolint:errcheck // it is over either way
	const code = 80877102
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write(slices.Concat([]byte{0, 0, 0, 16}, binary.BigEndian.AppendUint32(nil, code), binary.BigEndian.AppendUint32(nil, conn.PgConn().PID()), conn.PgConn().SecretKey())); err == nil {
		_, _ = io.ReadAll(c)
	}
}

// failed is an error that a client may meet: the proxy or the ledger is away, it cancelled, another asks the same for longer than a statement's time.
func (s *soakShared) failed(err error) error {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		s.note("connection lost")
		return err
	}
	s.note(pe.Code)
	if !slices.Contains([]string{"57P01", "57014", "PV012", "PV013", "PV014", "25P02", "53300"}, pe.Code) {
		s.t.Errorf("a client was told %s: %s", pe.Code, pe.Message)
	}
	return err
}

// fault does one thing that happens to several proxies.
func (s *soakShared) fault(rng *rand.Rand) string {
	i := rng.IntN(2)
	name := ""
	if len(s.order) == 0 { // each of them once in a round, so that a short run has all
		s.order = rng.Perm(4)
	}
	next := s.order[0]
	s.order = s.order[1:]
	switch next {
	case 0:
		name = "kill -9"
		s.proxy(i).kill()
		p := serveDir(s.t, s.paths[i])
		s.mu.Lock()
		s.proxies[i] = p
		s.mu.Unlock()
	case 1:
		name = "the ledger's connections are cut"
		if err := s.pg.Exec("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name IN ('dpsql ledger', 'dpsql post')"); err != nil {
			s.t.Error(err)
		}
	case 2:
		name = "a reload"
		if out, err := program(context.Background(), "reload", "--config", s.paths[i]).CombinedOutput(); err != nil {
			s.t.Errorf("%v\n%s", err, out)
		}
	case 3:
		name = "the database's connections are cut"
		if err := s.pg.Exec("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'demo'"); err != nil {
			s.t.Error(err)
		}
		for _, path := range s.paths { // what that did to the analyst is pardoned
			if out, err := program(context.Background(), "unfreeze", "analyst", "--config", path).CombinedOutput(); err != nil {
				s.t.Errorf("%v\n%s", err, out)
			}
		}
	}
	return name
}

// verify reads the ledger whole, and holds it against what was shown.
func (s *soakShared) verify() {
	ctx := context.Background()
	l, err := ledger.OpenPostgresForOwner(ctx, ledger.Server{URL: s.pg.URL("postgres"), Path: filepath.Join(s.t.TempDir(), "mark")})
	if err != nil {
		s.t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was read
	if err := l.Verify(ctx); err != nil {
		s.t.Error(err)
	}
	a, err := l.Accounts()
	if err != nil || len(a.Datasets) != 1 {
		s.t.Fatalf("%+v, %v", a, err)
	}
	charges := s.anew
	for _, list := range s.shown {
		charges += len(list)
	}
	if spent, least := a.Datasets[0].Account.Spent.Pure, soakEpsilon*float64(charges)*(1-1e-6); spent < least || charges < 20 {
		s.t.Errorf("answers worth %g were shown, %d of them; the ledger says %g", least, charges, spent)
	}
	s.t.Logf("%d charges are in what was shown, %d in the ledger; outcomes %v", charges, a.Datasets[0].Account.Statements, s.counts)
}

// TestSoakShared: clients of two proxies over one ledger ask, many of them the same at once, repeat, ask anew, and cancel at the other proxy, while proxies are killed and connections cut. They get answers or errors that they can
// expect, and at the end the ledger is whole and holds at least what they were shown.
func TestSoakShared(t *testing.T) {
	s := newSoakShared(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() { s.client(ctx, n%2, rand.New(rand.NewPCG(seed, uint64(n+1)))) })
	}
	enough := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.anew > 20 && len(s.shown) > 10
	}
	length := soakTime(t)
	if length < time.Minute {
		length = soakSharedShort
	}
	done := map[string]int{}
	for began := time.Now(); time.Since(began) < length || !enough() && time.Since(began) < length+time.Minute; {
		time.Sleep(time.Duration(200+rng.IntN(800)) * time.Millisecond)
		done[s.fault(rng)]++
	}
	stop()
	wg.Wait()
	s.verify()
	t.Logf("%s: faults %v", length, done)
}

// soakSharedShort is its part of the 30 seconds in make test.
const soakSharedShort = 8 * time.Second
