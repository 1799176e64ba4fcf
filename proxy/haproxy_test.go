package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// haproxy runs a TCP balancer before a server, and gives its address and its end.
func haproxy(t *testing.T, server string) (addr string, kill func()) {
	t.Helper()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/haproxy"); err != nil {
			t.Skip("there is no haproxy here")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	config := filepath.Join(t.TempDir(), "haproxy.cfg")
	text := fmt.Sprintf("defaults\n mode tcp\n timeout connect 10s\n timeout client 2m\n timeout server 2m\nlisten dpsql\n bind %s\n server one %s check inter 50ms\n", addr, server)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-db", "-f", config) //nolint:gosec // the test's own
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	for tries := 0; ; tries++ {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return addr, kill
		}
		if tries == 100 {
			kill()
			t.Fatalf("%v\n%s", err, said.String())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestHAProxy: behind a real balancer that speaks the PROXY protocol, each client's own address counts, its health checks are quiet, cancels and large answers pass, a client cannot say that it is another, and sessions end with the balancer.
func TestHAProxy(t *testing.T) {
	log, e := &lockedBuffer{}, newScripted()
	srv, addr := startServer(t, e, Options{Balancers: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, ProxyProtocol: true, Logger: slog.New(slog.NewTextHandler(log, nil))})
	front, kill := haproxy(t, addr+" send-proxy-v2")
	connect := func(from, first string) (*pgconn.PgConn, error) {
		config, err := pgconn.ParseConfig(proxyURL(front))
		if err != nil {
			t.Fatal(err)
		}
		config.DialFunc = func(ctx context.Context, network, to string) (net.Conn, error) {
			c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, network, to)
			if err == nil {
				_, err = io.WriteString(c, first)
			}
			return c, err
		}
		return pgconn.ConnectConfig(t.Context(), config)
	}
	var conns []*pgconn.PgConn
	for _, from := range []string{"127.0.0.7", "127.0.0.8"} {
		c, err := connect(from, "")
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for name, want := range map[string]bool{"127.0.0.7": true, "127.0.0.8": true, "127.0.0.1": false} {
		got := false
		srv.throttle.mu.Lock()
		for g := range srv.throttle.good.entries {
			got = got || g.origin.prefix == from(name).prefix
		}
		srv.throttle.mu.Unlock()
		if got != want {
			t.Errorf("%s logged in: %t", name, got)
		}
	}
	for _, header := range []string{proxyHeader(0x21, 0x11, tcp4), proxyHeader(0x20, 0, ""), "PROXY TCP4 192.0.2.7 10.0.0.1 4660 6543\r\n"} {
		if _, err := connect("127.0.0.9", header); err == nil {
			t.Errorf("a client that sends %q passes", header)
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := conns[0].Exec(context.Background(), "select pg_sleep(20)").ReadAll()
		done <- err
	}()
	<-e.began
	if err := conns[0].CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "57014") {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := conns[1].Exec(t.Context(), "select 1").ReadAll(); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "does not begin with a header") {
		t.Errorf("health checks are noted:\n%s", log)
	}
	kill()
	for wait := 0; ; wait++ {
		e.mu.Lock()
		open := e.open
		e.mu.Unlock()
		if open == 0 {
			break
		}
		if wait == 600 {
			t.Fatalf("%d sessions are open without their balancer", open)
		}
		time.Sleep(50 * time.Millisecond)
	}
	// Without the protocol the balancer's connections end, and so do its checks: nobody is taken for another.
	front, _ = haproxy(t, addr)
	if _, err := connect("127.0.0.7", ""); err == nil {
		t.Error("a balancer without the protocol passes")
	}
	if !strings.Contains(log.String(), "does not begin with a header") {
		t.Error("the log does not say what the balancer lacks")
	}
}
