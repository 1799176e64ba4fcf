package proxy

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// steppedConn calls a function before each write.
type steppedConn struct {
	net.Conn
	writes int
	before func(write int)
}

func (c *steppedConn) Write(b []byte) (int, error) {
	c.writes++
	c.before(c.writes)
	return c.Conn.Write(b)
}

// connectStepped logs in, and calls a function before each of the client's three messages: the start-up packet and the two of SCRAM.
func connectStepped(t *testing.T, addr string, before func(write int)) (*pgconn.PgConn, error) {
	t.Helper()
	config, err := pgconn.ParseConfig(proxyURL(addr))
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = func(ctx context.Context, network, to string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, to)
		return &steppedConn{Conn: c, before: before}, err
	}
	return pgconn.ConnectConfig(t.Context(), config)
}

// isAdmitted holds a connection open that the server has admitted for sure.
func isAdmitted(t *testing.T, addr string) {
	t.Helper()
	h := rawDial(t, addr)
	if _, err := h.Write(packet(sslCode, "")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(h, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

// TestFloodBeforeLogin: a flood of connections that say nothing ends no log-in that is under way, of its own address or of another, whether the limit of an address or that of all is reached.
func TestFloodBeforeLogin(t *testing.T) {
	for name, opts := range map[string]Options{"address": {MaxPreAuth: 4}, "all": {MaxSessions: 4, MaxPreAuth: 1000}} {
		addr := startProxy(t, newScripted(), opts)
		conn, err := connectStepped(t, addr, func(write int) {
			if write == 3 { // between the two messages of SCRAM
				for range 100 {
					isAdmitted(t, addr)
				}
			}
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		works(t, conn)
		_ = conn.Close(context.Background())
	}
}

// TestHeldLogins: connections that hold a log-in in its middle do not keep those that begin from ending theirs.
func TestHeldLogins(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{MaxPreAuth: 4})
	release, done := make(chan struct{}), make(chan struct{})
	for range 4 {
		held := make(chan struct{})
		go func() {
			_, _ = connectStepped(t, addr, func(write int) { // it may end by an error: it may have been closed
				if write == 3 {
					close(held)
					<-release
				}
			})
			done <- struct{}{}
		}()
		<-held
	}
	conn, err := connectStepped(t, addr, func(write int) {
		if write == 1 {
			isAdmitted(t, addr)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	works(t, conn)
	close(release)
	for range 4 {
		<-done
	}
}

// TestGivesWay: which connection is closed.
func TestGivesWay(t *testing.T) {
	for list, want := range map[string]int{"i": 0, "p": 0, "ii": 0, "pi": 1, "ppi": 0, "ipp": 1, "ppii": 2, "pppi": 0, "iiip": 0} {
		var conns []*connection
		for _, c := range list {
			conns = append(conns, &connection{peer: peer{proving: c == 'p'}})
		}
		if got := givesWay(conns); got != conns[want] {
			t.Errorf("%s: not number %d", list, want)
		}
	}
}
