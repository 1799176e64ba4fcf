package proxy

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestCancelsOfOthers: the key of one session's cancels ends no statement of another, and a cancel of a statement that is over ends none that its session asks next.
func TestCancelsOfOthers(t *testing.T) {
	e := newScripted()
	addr := startProxy(t, e, Options{})
	conns := [2]*pgconn.PgConn{dial(t, proxyURL(addr)), dial(t, userURL(addr, "analyst2"))}
	var done [2]chan error
	slow := func(i int) {
		done[i] = make(chan error, 1)
		go func() {
			_, err := conns[i].Exec(context.Background(), "select pg_sleep(20)").ReadAll()
			done[i] <- err
		}()
		<-e.began
	}
	isCancelled := func(i int) {
		t.Helper()
		var pgErr *pgconn.PgError
		if err := <-done[i]; !errors.As(err, &pgErr) || pgErr.Code != "57014" {
			t.Errorf("session %d: %v", i, err)
		}
	}
	slow(0)
	slow(1)
	for i, c := range conns { // each with the other's key: request returns when the proxy has done with it
		request(t, addr, c.PID(), conns[1-i].SecretKey())
	}
	for i := range done {
		select {
		case err := <-done[i]:
			t.Fatalf("session %d ended by another's key: %v", i, err)
		default:
		}
	}
	request(t, addr, conns[0].PID(), conns[0].SecretKey())
	isCancelled(0)
	for range 3 { // of the statement that is over
		request(t, addr, conns[0].PID(), conns[0].SecretKey())
		works(t, conns[0])
	}
	slow(0)
	for i := range done { // the other's since the beginning
		select {
		case err := <-done[i]:
			t.Fatalf("session %d ended by no cancel of it: %v", i, err)
		default:
		}
	}
	for i, c := range conns {
		request(t, addr, c.PID(), c.SecretKey())
		isCancelled(i)
	}
}
