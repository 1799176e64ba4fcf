package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// TestMinorProtocols: what is answered to each minor version and to options of the protocol is what PostgreSQL 18 answers (backend_startup.c): the version that will be spoken, where it is not the one that was
// asked for or an option is not known, which lists the options. The key of cancels is long from 3.2 on.
func TestMinorProtocols(t *testing.T) {
	e := newScripted()
	a := newAuthority(t)
	addr := startProxy(t, e, Options{TLS: a.issueNow(t), ClientCerts: &ClientCerts{Authorities: pool(t, a), Login: CertAlone, Name: CommonName}}) // no password is asked for: all of the start-up is seen
	own := a.card(t, "analyst", nil)
	for _, c := range []struct {
		name    string
		version uint32
		options []string
		told    string
		key     int
	}{
		{"3.0", protocol3, nil, "", 4},
		{"3.1, which never was", protocol3 + 1, nil, "", 4},
		{"3.2", protocol32, nil, "", 32},
		{"3.3", protocol3 + 3, nil, "3.2 []", 32},
		{"3.9999, as libpq 19 greases", protocol3 + 9999, []string{"_pq_.test_protocol_negotiation", ""}, "3.2 [_pq_.test_protocol_negotiation]", 32},
		{"3.65535", protocol3 + 65535, nil, "3.2 []", 32},
		{"3.0 with options", protocol3, []string{"_pq_.b", "1", "_pq_.a", "2"}, "3.0 [_pq_.a _pq_.b]", 4},
		{"3.2 with an option", protocol32, []string{"_pq_.", ""}, "3.2 [_pq_.]", 32},
		{"3.2 with a setting", protocol32, []string{"DateStyle", "German"}, "", 32},
	} {
		conn := own.dial(t, a, addr)
		if _, err := conn.Write(packet(c.version, params(append([]string{"user", "analyst", "database", "demo"}, c.options...)...))); err != nil {
			t.Fatal(err)
		}
		fe := pgproto3.NewFrontend(conn, conn)
		told, key := "", 0
		for ready := false; !ready; {
			m, err := fe.Receive()
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			switch m := m.(type) {
			case *pgproto3.NegotiateProtocolVersion:
				told = fmt.Sprintf("%d.%d %v", m.NewestMinorProtocol>>16, m.NewestMinorProtocol&0xffff, m.UnrecognizedOptions)
			case *pgproto3.BackendKeyData:
				key = len(m.SecretKey)
			case *pgproto3.ErrorResponse:
				t.Fatalf("%s: %s", c.name, m.Message)
			case *pgproto3.ReadyForQuery:
				ready = true
			}
		}
		if told != c.told || key != c.key {
			t.Errorf("%s: told %q, a key of %d bytes; want %q and %d", c.name, told, key, c.told, c.key)
		}
	}
	for version, want := range map[uint32]string{2 << 16: "2.0", 4 << 16: "4.0", 3<<16 - 1: "2.65535", 0: "0.0"} {
		c := rawDial(t, addr)
		if _, err := c.Write(packet(version, params("user", "analyst"))); err != nil {
			t.Fatal(err)
		}
		if got := firstMessages(t, c); !strings.HasPrefix(got, "ErrorResponse FATAL 0A000 unsupported frontend protocol "+want+": server supports 3.0 to 3.2\n") {
			t.Errorf("%s: %s", want, got)
		}
	}
}

// TestLongKeys: of a session of protocol 3.2 the whole key cancels, at its own proxy and at another, and no part of it, nor anything longer, does; nor does a short key of the same beginning.
func TestLongKeys(t *testing.T) {
	e, post := newScripted(), &mail{}
	var addrs []string
	for range 2 {
		srv, addr := startServer(t, e, Options{Post: post})
		post.to, addrs = append(post.to, srv), append(addrs, addr)
	}
	conn := dial(t, proxyURL(addrs[0])+"&min_protocol_version=3.2&max_protocol_version=latest")
	pid, secret := conn.PID(), conn.SecretKey()
	if len(secret) != 32 || bytes.Equal(secret[:16], secret[16:]) {
		t.Fatalf("the key is %x", secret)
	}
	if other := dial(t, proxyURL(addrs[0])+"&max_protocol_version=3.2").SecretKey(); bytes.Equal(other, secret) || bytes.Equal(other[:4], secret[:4]) {
		t.Errorf("two sessions have the keys %x and %x", secret, other)
	}
	if old := dial(t, proxyURL(addrs[0])); len(old.SecretKey()) != 4 {
		t.Errorf("protocol 3.0 has a key of %d bytes", len(old.SecretKey()))
	}
	wrong := [][]byte{secret[:4], secret[:31], secret[1:], append(bytes.Clone(secret), 0), append(bytes.Clone(secret), secret...), make([]byte, 32), make([]byte, mostSecret)}
	for i := range secret {
		one := bytes.Clone(secret)
		one[i] ^= 0x80
		wrong = append(wrong, one)
	}
	for i, via := range []string{addrs[0], addrs[1]} {
		done := make(chan error, 1)
		go func() {
			_, err := conn.Exec(context.Background(), "select pg_sleep(20)").ReadAll()
			done <- err
		}()
		<-e.began
		for _, key := range wrong[:len(wrong)-len(secret)*i] { // the pace of what is forwarded would hold the last ones back
			request(t, via, pid, key)
		}
		select {
		case err := <-done:
			t.Fatalf("a wrong key ended the statement: %v", err)
		default:
		}
		request(t, via, pid, secret)
		var pgErr *pgconn.PgError
		if err := <-done; !errors.As(err, &pgErr) || pgErr.Code != "57014" {
			t.Fatal(err)
		}
	}
}

// TestOddCancels: a request for a cancel of any length ends its connection without a word, and nothing else.
func TestOddCancels(t *testing.T) {
	e := newScripted()
	addr := startProxy(t, e, Options{})
	conn := dial(t, proxyURL(addr)+"&max_protocol_version=3.2")
	done := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "select pg_sleep(20)").ReadAll()
		done <- err
	}()
	<-e.began
	pid := string(binary.BigEndian.AppendUint32(nil, conn.PID()))
	for _, body := range []string{"", pid[:3], pid, pid + "\x00", pid + "\x00\x00\x00", pid + string(conn.SecretKey()[:31]), pid + strings.Repeat("\x00", 256), pid + strings.Repeat("\x00", 257), pid + strings.Repeat("k", maxStartup-12)} {
		c := rawDial(t, addr)
		if _, err := c.Write(packet(cancelCode, body)); err != nil {
			t.Fatal(err)
		}
		if said, err := io.ReadAll(c); len(said) > 0 || err != nil && !isReset(err) {
			t.Errorf("%d bytes: answered %q, %v", len(body), said, err)
		}
	}
	select {
	case err := <-done:
		t.Fatalf("it ended the statement: %v", err)
	default:
	}
	if err := conn.CancelRequest(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("the right key ends nothing")
	}
}

// dial connects with the certificate, by TLS from the first byte.
func (c card) dial(t *testing.T, a *authority, addr string) net.Conn {
	t.Helper()
	config := a.client()
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = append(config.Certificates, pair)
	return tls.Client(rawDial(t, addr), config)
}
