package proxy

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// itself is a Post on which a server hears what it sends.
type itself struct{ srv *Server }

func (p itself) Send(_ context.Context, text string) error { p.srv.Hear(text); return nil }

// mail is a Post to several servers that keeps what was sent.
type mail struct {
	mu   sync.Mutex
	to   []*Server
	sent []string
	fail error
}

func (m *mail) Send(_ context.Context, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = append(m.sent, text)
	for _, srv := range m.to {
		srv.Hear(text)
	}
	return m.fail
}

func (m *mail) texts() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.sent)
}

// request is a CancelRequest, and sends it: when the connection is closed it was served.
func request(t *testing.T, addr string, pid uint32, secret []byte) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // it is over either way
	if _, err := c.Write(packet(cancelCode, string(binary.BigEndian.AppendUint32(nil, pid))+string(secret))); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); err != nil {
		t.Fatal(err)
	}
}

// TestForwardedCancel: a CancelRequest that reaches another proxy than its session's ends the statement there, and one with another key or for another session ends nothing; what goes between the proxies does not hold the key.
func TestForwardedCancel(t *testing.T) {
	e, post := newScripted(), &mail{}
	var addrs []string
	for range 2 {
		srv, addr := startServer(t, e, Options{Post: post})
		post.to, addrs = append(post.to, srv), append(addrs, addr)
	}
	conn := dial(t, proxyURL(addrs[0]))
	pid, secret := conn.PID(), conn.SecretKey()
	slow := func() chan error {
		done := make(chan error, 1)
		go func() {
			_, err := conn.Exec(context.Background(), "select pg_sleep(20)").ReadAll()
			done <- err
		}()
		<-e.began
		return done
	}
	done := slow()
	other := slices.Clone(secret)
	other[3] ^= 1
	request(t, addrs[1], pid, other)
	request(t, addrs[1], pid+1, secret)
	request(t, addrs[1], pid, secret[:3])
	request(t, addrs[1], pid, append(slices.Clone(secret), 0))
	request(t, addrs[1], pid, make([]byte, mostSecret+1))
	request(t, addrs[0], pid, other)
	select {
	case err := <-done:
		t.Fatalf("a wrong key ended the statement: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	request(t, addrs[1], pid, secret)
	var pgErr *pgconn.PgError
	if err := <-done; !errors.As(err, &pgErr) || pgErr.Code != "57014" {
		t.Fatal(err)
	}
	sent := post.texts()
	for _, text := range sent {
		if strings.Contains(text, string(secret)) || strings.Contains(text, hex.EncodeToString(secret)) {
			t.Errorf("%q holds the key", text)
		}
	}
	if len(sent) != 5 { // too short and too long a key are not sent
		t.Errorf("%d were forwarded: %q", len(sent), sent)
	}
	right := sent[len(sent)-1]
	post.fail = errors.New("the ledger's server does not answer")
	request(t, addrs[1], pid, other) // nothing is told to who asks

	done = slow()
	for _, text := range []string{"", "cancel", right + " ", right[:len(right)-1], right[:len(right)-2], strings.ToUpper(right), " " + right, strings.Replace(right, "cancel-1", "cancel-2", 1),
		strings.Replace(right, hex.EncodeToString(binary.BigEndian.AppendUint32(nil, pid)), "00000000", 1)} {
		post.to[0].Hear(text)
	}
	select {
	case err := <-done:
		t.Fatalf("no cancel ended the statement: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := conn.CancelRequest(context.Background()); err != nil { // its own proxy forwards nothing
		t.Fatal(err)
	}
	if err := <-done; !errors.As(err, &pgErr) || pgErr.Code != "57014" {
		t.Fatal(err)
	}
	if n := len(post.texts()); n != 6 {
		t.Errorf("%d were forwarded", n)
	}
}

// TestForwardsAreHeldBack: who floods a proxy with cancels holds back the own ones first, and all together no more than a pace that the ledger's server bears.
func TestForwardsAreHeldBack(t *testing.T) {
	f, now := newForwards(), time.Unix(1e9, 0)
	shared := byte(0)
	from := func(i byte) origin {
		o := originOf(&net.TCPAddr{IP: net.IPv4(10, 0, 0, i)})
		o.shared = i == shared
		return o
	}
	passed := func(i byte, n int) (passed int) {
		for range n {
			if f.may(from(i), now) {
				passed++
			}
		}
		return passed
	}
	if n := passed(1, 1000); n != originBurst {
		t.Errorf("%d of one origin pass at once", n)
	}
	if n := passed(2, 1); n != 1 {
		t.Error("another origin is held back")
	}
	shared = 3
	if n := passed(3, 1000); n != sharedBurst {
		t.Errorf("%d of a balancer pass at once", n)
	}
	if n := passed(2, 1); n != 1 {
		t.Error("who does not come through the balancer is held back by those who do")
	}
	all := originBurst + 2 + sharedBurst
	for i := byte(4); i < 100; i++ {
		all += passed(i, 1000)
	}
	if all != everyBurst {
		t.Errorf("%d pass at once", all)
	}
	for range 100 { // 20 seconds of flood
		now = now.Add(originEvery)
		all += passed(1, 10) + passed(2, 10)
	}
	if all -= everyBurst; all < 100 || all > 100+100+originBurst {
		t.Errorf("%d pass later", all)
	}
}

// TestCancelWhileStrangersFlood: behind a balancer that does not say who comes, a stranger's cancels are forwarded up to a limit, and the right one at its session's own proxy ends the statement.
func TestCancelWhileStrangersFlood(t *testing.T) {
	e, post, now := newScripted(), &mail{}, time.Now()
	srv, addr := startServer(t, e, Options{Post: post, Balancers: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, now: func() time.Time { return now }})
	conn := dial(t, proxyURL(addr))
	done := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "select pg_sleep(20)").ReadAll()
		done <- err
	}()
	<-e.began
	for range 10 * sharedBurst {
		srv.cancelRequest(&pgproto3.CancelRequest{ProcessID: conn.PID() + 1, SecretKey: conn.SecretKey()}, srv.originOf(conn.Conn().LocalAddr()))
	}
	if n := len(post.texts()); n != sharedBurst {
		t.Errorf("%d were forwarded, want %d", n, sharedBurst)
	}
	if err := conn.CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	var pgErr *pgconn.PgError
	if err := <-done; !errors.As(err, &pgErr) || pgErr.Code != "57014" {
		t.Fatal(err)
	}
}

// FuzzHear: whatever is heard, no statement is cancelled but by the code of its key.
func FuzzHear(f *testing.F) {
	f.Add("cancel-1 00000001 00000000000000000000000000000000 00")
	f.Add(forwarded(7, make([]byte, 16), []byte("1234")))
	f.Add(forwarded(7, make([]byte, 16), []byte("4321")))
	f.Fuzz(func(t *testing.T, text string) {
		srv := fuzzServer(t)
		s := newSession(srv, fedConn{})
		s.key.pid, s.key.secret, s.set = 7, []byte("1234"), newSettings("analyst", nil)
		ctx, done := s.running()
		defer done()
		srv.sessions[7] = s
		srv.Hear(text)
		if ctx.Err() == nil {
			return
		}
		nonce, err := hex.DecodeString(strings.Split(text, " ")[2])
		if err != nil || !strings.EqualFold(text, forwarded(7, nonce, []byte("1234"))) {
			t.Errorf("%q cancels", text)
		}
	})
}
