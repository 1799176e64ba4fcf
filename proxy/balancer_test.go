package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// proxyHeader is one of version 2: its command, its family, and what it says.
func proxyHeader(command, family byte, body string) string {
	return proxySignature + string([]byte{command, family, byte(len(body) >> 8), byte(len(body))}) + body
}

const (
	tcp4 = "\xc0\x00\x02\x07\x0a\x00\x00\x01\x12\x34\x19\x8f"
	tcp6 = "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09" + "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01" + "\x12\x34\x19\x8f"
	tlv  = "\x04\x00\x02\x00\x00"
	ssl  = "\x20\x00\x0f\x07\x00\x00\x00\x00\x21\x00\x07TLSv1.3" // the client came by TLS, with a certificate
	bare = "\x20\x00\x05\x00\x00\x00\x00\x01"                    // it did not
)

// TestProxyHeader: version 2 alone is read, to its last byte and no further; what is not one is refused.
func TestProxyHeader(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{proxyHeader(0x21, 0x11, tcp4), "192.0.2.7:4660"}, {proxyHeader(0x21, 0x11, tcp4+tlv), "192.0.2.7:4660"}, {proxyHeader(0x21, 0x21, tcp6), "[2001:db8::9]:4660"},
		{proxyHeader(0x21, 0x21, strings.Repeat("\x00", 10)+"\xff\xff\xc0\x00\x02\x07"+strings.Repeat("\x00", 20)), "192.0.2.7:0"},
		{proxyHeader(0x20, 0x00, ""), "local"}, {proxyHeader(0x20, 0x11, tcp4+ssl), "local"}, {proxyHeader(0x20, 0xff, tlv), "local"}, {proxyHeader(0x21, 0x00, ""), "none"}, {proxyHeader(0x21, 0x00, ssl), "none"},
		{proxyHeader(0x21, 0x11, tcp4+ssl), "192.0.2.7:4660 by TLS"}, {proxyHeader(0x21, 0x21, tcp6+tlv+ssl+tlv), "[2001:db8::9]:4660 by TLS"}, {proxyHeader(0x21, 0x11, tcp4+bare), "192.0.2.7:4660"}, {proxyHeader(0x21, 0x11, tcp4+bare+ssl), "192.0.2.7:4660"},
		{proxyHeader(0x21, 0x11, tcp4+ssl[:8]), "192.0.2.7:4660"}, {proxyHeader(0x21, 0x11, tcp4+"\x20\x00\x00"), "192.0.2.7:4660"}, {proxyHeader(0x21, 0x11, tcp4+"\x20\x00"), "192.0.2.7:4660"}, {proxyHeader(0x21, 0x11, tcp4+"\x04\xff\xff"+ssl), "192.0.2.7:4660"},
		{proxyHeader(0x21, 0x11, tcp4[:11]), "refused"}, {proxyHeader(0x21, 0x21, tcp4), "refused"}, {proxyHeader(0x21, 0x12, tcp4), "refused"}, {proxyHeader(0x21, 0x31, strings.Repeat("/", 216)), "refused"},
		{proxyHeader(0x11, 0x11, tcp4), "refused"}, {proxyHeader(0x22, 0x11, tcp4), "refused"}, {"PROXY TCP4 192.0.2.7 10.0.0.1 4660 6543\r\n", "refused"},
		{strings.Replace(proxyHeader(0x21, 0x11, tcp4), "QUIT", "quit", 1), "refused"}, {proxyHeader(0x21, 0x11, tcp4)[:20], "short"}, {"\r\n", "short"}, {"", "short"},
	} {
		r := strings.NewReader(c.text + "rest")
		if c.want == "short" {
			r = strings.NewReader(c.text)
		}
		got, err := readProxyHeader(r)
		said := got.client.String()
		if got.tls {
			said += " by TLS"
		}
		switch {
		case errors.Is(err, errProxyHeader):
			said = "refused"
		case err != nil:
			said = "short"
		case got.local:
			said = "local"
		case !got.client.IsValid():
			said = "none"
		}
		if said != c.want {
			t.Errorf("%q: %s, want %s (%v)", c.text, said, c.want, err)
		}
		if rest, _ := io.ReadAll(r); err == nil && string(rest) != "rest" {
			t.Errorf("%q: %q is left", c.text, rest)
		}
	}
}

// FuzzProxyHeader: whatever comes, it ends, and what is taken is a header that says so.
func FuzzProxyHeader(f *testing.F) {
	f.Add([]byte(proxyHeader(0x21, 0x11, tcp4+tlv)))
	f.Add([]byte(proxyHeader(0x21, 0x21, tcp6)))
	f.Add([]byte(proxyHeader(0x20, 0x00, "")))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := bytes.NewReader(text)
		from, err := readProxyHeader(r)
		if err != nil {
			if from.client.IsValid() || from.tls || from.local {
				t.Errorf("%+v of a bad header", from)
			}
			return
		}
		length := 16 + int(text[14])<<8 + int(text[15])
		if read := len(text) - r.Len(); read != length || string(text[:12]) != proxySignature || from.client.IsValid() && text[12] != 0x21 || from.local != (text[12] == 0x20) || from.tls && !bytes.Contains(text[28:], []byte{proxyTLS}) {
			t.Errorf("%q: %d bytes are read", text, read)
		}
	})
}

// TestBalancer: behind a declared balancer the client's own address counts; a connection of the balancer without a header, and one that a stranger begins with a header, ends. Without the protocol the balancer's address is nobody's.
func TestBalancer(t *testing.T) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	through := func(addr, header string) error {
		config, err := pgx.ParseConfig(proxyURL(addr))
		if err != nil {
			t.Fatal(err)
		}
		config.DialFunc = func(ctx context.Context, network, to string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, to)
			if err == nil {
				_, err = io.WriteString(c, header)
			}
			return c, err
		}
		c, err := pgx.ConnectConfig(t.Context(), config)
		if err == nil {
			err = c.Close(t.Context())
		}
		return err
	}
	srv, addr := startServer(t, newScripted(), Options{Balancers: loopback, ProxyProtocol: true})
	for header, passes := range map[string]bool{proxyHeader(0x21, 0x11, tcp4+ssl): true, proxyHeader(0x21, 0x21, tcp6+tlv+ssl): true, proxyHeader(0x20, 0, ""): true, "": false, "PROXY TCP4 192.0.2.7 10.0.0.1 4660 6543\r\n": false} {
		if err := through(addr, header); (err == nil) != passes {
			t.Errorf("%q: %v", header, err)
		}
	}
	for name, want := range map[string]bool{"192.0.2.7": true, "2001:db8::9": true, "127.0.0.1": false} { // a balancer's own is everybody's
		srv.throttle.mu.Lock()
		got := false
		for g := range srv.throttle.good.entries {
			got = got || g.origin.prefix == from(name).prefix && g.origin.shared == (name == "127.0.0.1")
		}
		srv.throttle.mu.Unlock()
		if got != want {
			t.Errorf("%s logged in: %t", name, got)
		}
	}
	if _, addr := startServer(t, newScripted(), Options{}); through(addr, proxyHeader(0x21, 0x11, tcp4)) == nil {
		t.Error("a stranger's header is read")
	}
	_, addr = startServer(t, newScripted(), Options{Balancers: loopback, MaxPreAuth: 1})
	var held []net.Conn
	for range 5 { // of other clients
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
		defer c.Close()
	}
	if err := through(addr, ""); err != nil {
		t.Error(err)
	}
	if _, err := io.WriteString(held[0], "\x00\x00\x00\x08\x04\xd2\x16\x2f"); err != nil { // SSLRequest
		t.Error(err)
	}
	if b := make([]byte, 1); true {
		if _, err := io.ReadFull(held[0], b); err != nil || b[0] != 'N' {
			t.Errorf("the first client of a balancer gave way to others: %q, %v", b, err)
		}
	}
}

// TestBalancerTLS: a client of another machine needs TLS although its balancer is on this one, to dpsql or to the balancer, which says so. The machine's own clients need none.
func TestBalancerTLS(t *testing.T) {
	const local4 = "\x7f\x00\x00\x05" + "\x7f\x00\x00\x01\x12\x34\x19\x8f"
	a, loopback := newAuthority(t), []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, c := range []struct {
		name, header string
		clear        bool // passes without TLS
	}{
		{"another machine's", proxyHeader(0x21, 0x11, tcp4), false}, {"another's, over IPv6", proxyHeader(0x21, 0x21, tcp6), false}, {"another's, in clear text to the balancer", proxyHeader(0x21, 0x11, tcp4+bare), false},
		{"nobody's", proxyHeader(0x21, 0x00, ssl), false}, {"another's, by TLS to the balancer", proxyHeader(0x21, 0x11, tcp4+ssl), true}, {"this machine's", proxyHeader(0x21, 0x11, local4), true}, {"the balancer's", proxyHeader(0x20, 0x00, ""), true},
	} {
		for _, secure := range []bool{false, true} { // whether there is a certificate
			opts := Options{Balancers: loopback, ProxyProtocol: true}
			if secure {
				opts.TLS = a.issueNow(t)
			}
			_, addr := startServer(t, newScripted(), opts)
			checkClear(t, c.name, addr, c.header, c.clear, secure)
		}
	}
	_, addr := startServer(t, newScripted(), Options{Balancers: loopback, TLS: a.issueNow(t)})
	checkClear(t, "anybody's", addr, "", false, true)
	_, addr = startServer(t, newScripted(), Options{Balancers: loopback})
	checkClear(t, "anybody's", addr, "", true, false)
}

// checkClear logs in with a header before it, in clear text and, where that is offered, by TLS. What is refused is refused before a password is asked for, with a hint.
func checkClear(t *testing.T, name, addr, header string, clear, secure bool) {
	t.Helper()
	login := func(mode string) error {
		config, err := pgx.ParseConfig(tlsURL(addr, "sslmode="+mode))
		if err != nil {
			t.Fatal(err)
		}
		config.DialFunc = func(ctx context.Context, network, to string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, to)
			if err == nil {
				_, err = io.WriteString(c, header)
			}
			return c, err
		}
		c, err := pgx.ConnectConfig(t.Context(), config)
		if err == nil {
			err = c.Close(t.Context())
		}
		return err
	}
	err := login("disable")
	if (err == nil) != clear {
		t.Errorf("%s connection in clear text: %v", name, err)
	}
	var refusal *pgconn.PgError
	if err != nil && (!errors.As(err, &refusal) || refusal.Code != "28000" || !strings.Contains(refusal.Message, "TLS only") || strings.Contains(refusal.Hint, "sslmode") != secure) {
		t.Errorf("%s connection: %v", name, err)
	}
	if secure {
		if err := login("require"); err != nil {
			t.Errorf("%s connection by TLS: %v", name, err)
		}
	}
}
