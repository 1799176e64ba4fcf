package main

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// locked holds the table of the private rows, so that statements over it wait until it is let go.
type locked struct {
	tx    pgx.Tx
	watch *pgx.Conn
}

func lockStays(t *testing.T, pg *pgtest.Server) *locked {
	t.Helper()
	ctx := context.Background()
	tx, err := connect(t, pg.URL("demo")).Begin(ctx)
	if err == nil {
		_, err = tx.Exec(ctx, "LOCK TABLE stays IN ACCESS EXCLUSIVE MODE")
	}
	if err != nil {
		t.Fatal(err)
	}
	return &locked{tx, connect(t, pg.URL("demo"))}
}

// somebodyWaits returns once a statement waits for the lock.
func (l *locked) somebodyWaits(t *testing.T) {
	t.Helper()
	for range 1200 {
		var n int
		if err := l.watch.QueryRow(context.Background(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'stays'::regclass").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("nobody reads the table")
}

func (l *locked) letGo(t *testing.T) {
	t.Helper()
	if err := l.tx.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// asksAtOnce: sessions of both proxies ask the same while it cannot be read yet; one of them is charged, and all are shown its answer.
func asksAtOnce(t *testing.T, pg *pgtest.Server, proxies [2]*serving, spent func() int64) {
	t.Helper()
	const sql = "SELECT count(*) FROM stays WHERE stay_id <> -77"
	var (
		conns [12]*pgx.Conn
		shown [len(conns)]int64
		wg    sync.WaitGroup
	)
	for i := range conns {
		conns[i] = connect(t, proxies[i%2].url("analyst"))
	}
	before, lock := spent(), lockStays(t, pg)
	for i, conn := range conns {
		wg.Go(func() {
			if err := conn.QueryRow(context.Background(), sql).Scan(&shown[i]); err != nil {
				t.Error(err)
			}
		})
	}
	lock.somebodyWaits(t)
	lock.letGo(t)
	wg.Wait()
	if n := spent() - before; n != 1 || slices.Min(shown[:]) != slices.Max(shown[:]) {
		t.Errorf("%d statements are charged; answers %v", n, shown)
	}
}

// cancelsElsewhere: the bytes of a CancelRequest that reach the other proxy, as through a balancer, cancel the statement; with another key they do not. The charge stays.
func cancelsElsewhere(t *testing.T, pg *pgtest.Server, proxies [2]*serving, spent func() int64) {
	t.Helper()
	for i := range proxies {
		conn := connect(t, proxies[i].url("analyst"))
		before, lock, done := spent(), lockStays(t, pg), make(chan error, 1)
		go func() {
			_, err := conn.Exec(context.Background(), "SELECT count(*) FROM stays WHERE days > 7")
			done <- err
		}()
		lock.somebodyWaits(t)
		id, key := binary.BigEndian.AppendUint32(nil, conn.PgConn().PID()), conn.PgConn().SecretKey()
		wrong := slices.Clone(key)
		wrong[0] ^= 0x80
		request := func(key []byte) {
			c, err := net.Dial("tcp", proxies[1-i].addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close() //nolint:errcheck // it is over either way
			const code = 80877102
			if _, err := c.Write(slices.Concat([]byte{0, 0, 0, 16}, binary.BigEndian.AppendUint32(nil, code), id, key)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(c); err != nil {
				t.Fatal(err)
			}
		}
		request(wrong)
		select {
		case err := <-done:
			t.Fatalf("a wrong key ended the statement: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		var err error
		for ended, tries := false, 0; !ended; tries++ { // a cancel may be lost: while a proxy starts, it does not listen yet
			if tries == 120 {
				t.Fatal("a statement is not cancelled in a minute")
			}
			request(key)
			select {
			case err = <-done:
				ended = true
			case <-time.After(500 * time.Millisecond):
			}
		}
		var pe *pgconn.PgError
		if !asPgError(err, &pe) || pe.Code != "57014" {
			t.Errorf("a cancelled statement: %v", err)
		}
		lock.letGo(t)
		if n := spent() - before; n != 1 {
			t.Errorf("%d statements are charged for one that was cancelled", n)
		}
	}
}
