package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
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

// twoOver starts two proxies over the database of one server and the ledger of LEDGER_URL, with some lines more in each policy.
func twoOver(t *testing.T, pg *pgtest.Server, verifier, more string) (proxies [2]*serving, paths [2]string) {
	t.Helper()
	for i := range proxies {
		paths[i] = filepath.Join(t.TempDir(), "policy.yaml")
		text := fmt.Appendf(nil, sharedPolicy, pg.URL("demo"), 3, 10000.0, soakEpsilon, "", verifier)
		if err := os.WriteFile(paths[i], append(text, more...), 0o600); err != nil {
			t.Fatal(err)
		}
		proxies[i] = serveDir(t, paths[i])
		t.Cleanup(proxies[i].kill)
	}
	return proxies, paths
}

// isOn holds what the ledger says against the charges that were seen: those that were answered are on it.
func isOn(t *testing.T, url string, answered int) {
	t.Helper()
	l, err := ledger.OpenPostgresForOwner(t.Context(), ledger.Server{URL: url, Path: filepath.Join(t.TempDir(), "mark")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was read
	if err := l.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	a, err := l.Accounts()
	if err != nil || len(a.Datasets) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	if n := a.Datasets[0].Account.Statements; int(n) < answered {
		t.Errorf("%d answers were seen, the ledger has %d charges", answered, n)
	}
}

// TestBalancedProxies: behind a HAProxy that speaks the PROXY protocol, clients of two proxies over one ledger ask and cancel while others at their balancer guess the analyst's password and hold connections open. Whoever has the
// password gets in, through either proxy; each wrong one is refused; each answer is on the ledger; a key cancels its own session's statement alone, whichever proxy the balancer brings it to.
func TestBalancedProxies(t *testing.T) {
	if os.Getenv("DPSQL_LONG") == "" {
		t.Skip("it starts a balancer and two proxies: set DPSQL_LONG")
	}
	program, err := exec.LookPath("/usr/sbin/haproxy")
	if err != nil {
		t.Skip("there is no haproxy here")
	}
	pg, verifier := startShared(t)
	proxies, _ := twoOver(t, pg, verifier, "balancers: {addresses: [127.0.0.1], proxy_protocol: v2}\n")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := l.Addr().String()
	text := fmt.Sprintf("defaults\n mode tcp\n balance roundrobin\n timeout connect 10s\n timeout client 2m\n timeout server 2m\nlisten dpsql\n bind %s\n server one %s send-proxy-v2 check inter 200ms\n server two %s send-proxy-v2 check inter 200ms\n",
		front, proxies[0].addr, proxies[1].addr)
	config := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := errors.Join(os.WriteFile(config, []byte(text), 0o600), l.Close()); err != nil {
		t.Fatal(err)
	}
	balancer := exec.Command(program, "-db", "-f", config) //nolint:gosec // the test's own
	if err := balancer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = balancer.Process.Kill()
		_ = balancer.Wait()
	}()
	dialer := func(from string) pgconn.DialFunc {
		return func(ctx context.Context, network, to string) (net.Conn, error) {
			return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, network, to)
		}
	}
	login := func(from, password string) (*pgx.Conn, error) {
		c, err := pgx.ParseConfig(fmt.Sprintf("postgres://analyst:%s@%s/demo?sslmode=disable", password, front))
		if err != nil {
			t.Fatal(err)
		}
		c.DialFunc = dialer(from)
		return pgx.ConnectConfig(context.Background(), c)
	}
	for tries := 0; ; tries++ {
		c, err := login("127.0.0.7", "demo")
		if err == nil {
			_ = c.Close(context.Background())
			break
		}
		if tries == 100 {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop := make(chan struct{})
	var guessing, asking sync.WaitGroup
	for g := range 6 { // who guesses, and who floods, at another address
		guessing.Go(func() {
			for ctx := context.Background(); ; {
				select {
				case <-stop:
					return
				default:
				}
				if g%2 == 0 {
					conn, err := login("127.0.0.9", "wrong")
					if err == nil {
						t.Error("a wrong password is let in")
						_ = conn.Close(ctx)
					}
					continue
				}
				if c, err := dialer("127.0.0.9")(ctx, "tcp", front); err == nil {
					defer c.Close() //nolint:errcheck // it is held until the end
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	cancel := func(of *pgx.Conn, key []byte) {
		c, err := dialer("127.0.0.7")(context.Background(), "tcp", front)
		if err != nil {
			return
		}
		defer c.Close() //nolint:errcheck // it is over either way
		const code = 80877102
		if _, err := c.Write(slices.Concat([]byte{0, 0, 0, 16}, binary.BigEndian.AppendUint32(nil, code), binary.BigEndian.AppendUint32(nil, of.PgConn().PID()), key)); err == nil {
			_, _ = io.ReadAll(c)
		}
	}
	var mu sync.Mutex
	answered, cancelled := 0, 0
	for client := range 8 { // each logs in again and again; every second one's statements are cancelled by the wrong keys, the others' by the right one
		asking.Go(func() {
			for i := range 12 {
				conn, err := login("127.0.0.7", "demo")
				if err != nil {
					t.Errorf("client %d: %v", client, err)
					return
				}
				other, err := login("127.0.0.8", "demo")
				if err != nil {
					t.Errorf("client %d: %v", client, err)
					return
				}
				done := make(chan struct{})
				right := client%2 == 1
				go func() {
					defer close(done)
					key := conn.PgConn().SecretKey()
					if !right {
						key = other.PgConn().SecretKey()
					}
					cancel(conn, key)
				}()
				var n int64
				err = conn.QueryRow(context.Background(), fmt.Sprintf("SELECT count(*) FROM stays WHERE stay_id <> %d", -1000*client-i-1)).Scan(&n)
				<-done
				var pe *pgconn.PgError
				mu.Lock()
				switch {
				case err == nil:
					answered++
				case right && asPgError(err, &pe) && pe.Code == "57014":
					cancelled++
				default:
					t.Errorf("client %d: %v", client, err)
				}
				mu.Unlock()
				if err := other.QueryRow(context.Background(), "SELECT 1").Scan(&n); err != nil {
					t.Errorf("a session that nobody cancelled: %v", err)
				}
				_, _ = conn.Close(context.Background()), other.Close(context.Background())
			}
		})
	}
	asking.Wait()
	close(stop)
	guessing.Wait()
	isOn(t, pg.URL("postgres"), answered)
	t.Logf("%d answered, %d cancelled", answered, cancelled)
}

// TestLedgerServerStops: the ledger's PostgreSQL is stopped at once, again and again, while 20 clients of two proxies ask. They get answers, or errors that say that the ledger is away; when it is back the proxies go on without a
// restart, and each answer that was seen is on it.
func TestLedgerServerStops(t *testing.T) {
	if os.Getenv("DPSQL_LONG") == "" {
		t.Skip("it stops a server many times: set DPSQL_LONG")
	}
	pg, verifier := startShared(t)
	book := pgtest.Start(t, "fsync=on", "full_page_writes=on")
	t.Setenv("LEDGER_URL", book.URL("postgres"))
	proxies, _ := twoOver(t, pg, verifier, "")
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var mu sync.Mutex
	answered, told := 0, map[string]int{}
	for client := range 20 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; {
				conn, err := pgx.Connect(ctx, proxies[client%2].url("analyst"))
				for ; err == nil && ctx.Err() == nil; i++ {
					var n int64
					err = conn.QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM stays WHERE stay_id <> %d", -100000*client-i-1)).Scan(&n)
					var pe *pgconn.PgError
					mu.Lock()
					switch {
					case err == nil:
						answered++
					case asPgError(err, &pe):
						if told[pe.Code]++; !slices.Contains([]string{"PV014", "57014"}, pe.Code) {
							t.Errorf("a client was told %s: %s", pe.Code, pe.Message)
						}
						err = nil
					}
					mu.Unlock()
				}
				if conn != nil {
					_ = conn.Close(context.Background())
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	seen := func() int {
		mu.Lock()
		defer mu.Unlock()
		return answered
	}
	grows := func(when string) {
		for before, tries := seen(), 0; seen() < before+40; tries++ {
			if tries == 1200 {
				t.Errorf("%s: no client is answered", when)
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	for round := range 8 {
		grows(fmt.Sprint("before stop ", round))
		if err := errors.Join(book.StopServer(), book.StartServer()); err != nil {
			t.Error(err)
			break
		}
	}
	grows("after the last stop")
	stop()
	wg.Wait()
	isOn(t, book.URL("postgres"), answered)
	t.Logf("%d answered, refusals %v", answered, told)
}
