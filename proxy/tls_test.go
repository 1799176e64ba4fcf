package proxy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// authority is a certificate authority of a test.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	file string // PEM
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	a := &authority{key: newKey(tb)}
	t := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, t, t, a.key.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		tb.Fatal(err)
	}
	a.file = filepath.Join(tb.TempDir(), "ca.pem")
	writePEM(tb, a.file, "CERTIFICATE", der)
	return a
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func writePEM(tb testing.TB, file, kind string, der []byte) {
	tb.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// issue writes dir/server.crt and dir/server.key for localhost, good from and until.
func (a *authority) issue(tb testing.TB, dir string, from, until time.Time) (certFile, keyFile string) {
	tb.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatal(err)
	}
	key := newKey(tb)
	t := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "localhost"}, NotBefore: from, NotAfter: until,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	writePEM(tb, certFile, "CERTIFICATE", der)
	writePEM(tb, keyFile, "PRIVATE KEY", raw)
	return certFile, keyFile
}

// issueNow is a server's configuration with a certificate of this hour.
func (a *authority) issueNow(tb testing.TB) *tls.Config {
	tb.Helper()
	c, err := LoadCertificates(a.issue(tb, tb.TempDir(), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))
	if err != nil {
		tb.Fatal(err)
	}
	return &tls.Config{GetCertificate: c.GetCertificate}
}

// client is a client's configuration that trusts the authority.
func (a *authority) client() *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12, NextProtos: []string{alpn}}
}

func tlsURL(addr, extra string) string {
	return "postgres://analyst:secret@" + strings.Replace(addr, "127.0.0.1", "localhost", 1) + "/demo?" + extra
}

// TestTLS: each way in is encrypted and, where the client can, bound to the certificate.
func TestTLS(t *testing.T) {
	a := newAuthority(t)
	addr := startProxy(t, newScripted(), Options{TLS: a.issueNow(t), RequireTLS: true})
	for _, extra := range []string{"sslmode=require", "sslmode=prefer", "sslmode=verify-full&sslrootcert=" + a.file, "sslmode=verify-full&sslnegotiation=direct&sslrootcert=" + a.file,
		"sslmode=require&channel_binding=require", "sslmode=require&channel_binding=disable"} {
		conn := dial(t, tlsURL(addr, extra))
		if _, ok := conn.Conn().(*tls.Conn); !ok {
			t.Errorf("%s: not encrypted", extra)
		}
		res, err := conn.Exec(context.Background(), "select generate_series(1, 100000); show ssl").ReadAll()
		if err != nil || len(res) != 2 || len(res[0].Rows) != 100000 || string(res[1].Rows[0][0]) != "on" {
			t.Errorf("%s: %d %v", extra, len(res), err)
		}
	}
	config, err := pgconn.ParseConfig(tlsURL(addr, "sslmode=require&channel_binding=require"))
	if err != nil {
		t.Fatal(err)
	}
	config.TLSConfig.MaxVersion = tls.VersionTLS12
	old, err := pgconn.ConnectConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if e := connectError(t, proxyURL(addr)); e == nil || e.Code != "28000" || !strings.Contains(e.Hint, "sslmode=require") {
		t.Errorf("clear text: %v", e)
	}
	if e := connectError(t, "postgres://analyst:wrong@"+addr+"/demo?sslmode=require"); e == nil || e.Code != "28P01" {
		t.Errorf("wrong password: %v", e)
	}
}

// TestPlaintextRefused: the refusal comes before any question about a password, and before anything is told of the user.
func TestPlaintextRefused(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{TLS: newAuthority(t).issueNow(t), RequireTLS: true})
	for _, user := range []string{"analyst", "nobody"} {
		c := rawDial(t, addr)
		if _, err := c.Write(packet(protocol3, params("user", user, "database", "demo"))); err != nil {
			t.Fatal(err)
		}
		if got := firstMessages(t, c); got != "ErrorResponse FATAL 28000 this server takes connections with TLS only\n(closed)\n" {
			t.Errorf("%s: %s", user, got)
		}
	}
}

// askTLS sends an SSLRequest and what follows in the same breath, and expects S.
func askTLS(t *testing.T, addr string, behind []byte) net.Conn {
	t.Helper()
	c := rawDial(t, addr)
	if _, err := c.Write(append(packet(sslCode, ""), behind...)); err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if _, err := io.ReadFull(c, b[:]); err != nil || b[0] != 'S' {
		t.Fatalf("%q %v", b, err)
	}
	return c
}

// TestClearTextBehindSSLRequest (CVE-2021-23222): what follows the request in clear text is never taken as a message. With the
// bytes read ahead as start-up packet, the answer would be a request for a password in clear text or after the handshake.
func TestClearTextBehindSSLRequest(t *testing.T) {
	a := newAuthority(t)
	addr := startProxy(t, newScripted(), Options{TLS: a.issueNow(t)})
	other := dial(t, tlsURL(addr, "sslmode=require"))
	for name, garbage := range map[string][]byte{
		"start-up packet": packet(protocol3, params("user", "analyst", "database", "demo")),
		"second request":  packet(sslCode, ""),
		"query":           []byte(frame('Q', 13, "select 1\x00")),
		"http":            []byte("GET / HTTP/1.1\r\n\r\n"),
		"zeros":           make([]byte, 1000),
		"huge record":     {0x16, 3, 1, 0xff, 0xff, 1},
	} {
		c := askTLS(t, addr, garbage)
		rest, err := io.ReadAll(c) // at most an alert of TLS
		if err != nil && !isReset(err) {
			t.Errorf("%s: %v", name, err)
		}
		if len(rest) > 7 || len(rest) > 0 && rest[0] != 0x15 {
			t.Errorf("%s: answered %q", name, rest)
		}
		c = askTLS(t, addr, garbage)
		if err := tls.Client(c, a.client()).Handshake(); err == nil {
			t.Errorf("%s: the handshake came through", name)
		}
	}
	// Nothing behind it, and inside TLS a second request.
	c := tls.Client(askTLS(t, addr, nil), a.client())
	for _, code := range []uint32{sslCode, gssCode} {
		if _, err := c.Write(packet(code, "")); err != nil {
			t.Fatal(err)
		}
		if got := firstMessages(t, c); got != "ErrorResponse FATAL 08P01 unsupported frontend protocol\n(closed)\n" {
			t.Error(got)
		}
		c = tls.Client(askTLS(t, addr, nil), a.client())
	}
	if _, err := other.Exec(context.Background(), "select 1").ReadAll(); err != nil {
		t.Error(err)
	}
}

// TestOddHandshakes: old versions, a client that begins with TLS and does not mean PostgreSQL, and one that stalls.
func TestOddHandshakes(t *testing.T) {
	a := newAuthority(t)
	config := a.issueNow(t)
	config.SetSessionTicketKeys([][32]byte{{1}}) // an owner's wish that is not granted
	addr := startProxy(t, newScripted(), Options{TLS: config, LoginTimeout: 300 * time.Millisecond})
	old := a.client()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if err := tls.Client(askTLS(t, addr, nil), old).Handshake(); err == nil {
		t.Error("TLS 1.1 is taken")
	}
	web := a.client()
	web.NextProtos = []string{"h2", "http/1.1"}
	if err := tls.Client(rawDial(t, addr), web).Handshake(); err == nil {
		t.Error("a browser's handshake is taken")
	}
	silent := a.client()
	silent.NextProtos = nil
	c := tls.Client(rawDial(t, addr), silent)
	if _, err := c.Write(packet(protocol3, params("user", "analyst", "database", "demo"))); err != nil {
		t.Fatal(err)
	}
	if got := firstMessages(t, c); !strings.HasPrefix(got, "ErrorResponse FATAL 08P01 received direct SSL connection request without ALPN") {
		t.Error(got)
	}
	again := a.client()
	again.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	for range 2 {
		c := tls.Client(rawDial(t, addr), again)
		if _, err := c.Write(packet(protocol3, params("user", "analyst", "database", "demo"))); err != nil {
			t.Fatal(err)
		}
		if got := firstMessages(t, c); got != "AuthenticationSASL\n" || c.ConnectionState().DidResume {
			t.Errorf("%s, resumed: %v", got, c.ConnectionState().DidResume)
		}
	}
	for _, behind := range [][]byte{nil, {0x16}, {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc}} {
		stalled := askTLS(t, addr, behind)
		dial(t, tlsURL(addr, "sslmode=require")) // others come in meanwhile
		if _, err := io.Copy(io.Discard, stalled); err != nil && !isReset(err) {
			t.Errorf("%x: %v", behind, err)
		}
	}
	direct := rawDial(t, addr)
	if _, err := direct.Write([]byte{0x16, 3, 1, 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, direct); err != nil && !isReset(err) {
		t.Error(err)
	}
}

// TestCancelOverTLS: a CancelRequest is taken encrypted and in clear text (libpq 15), also where log-ins need TLS.
func TestCancelOverTLS(t *testing.T) {
	a := newAuthority(t)
	e := newScripted()
	addr := startProxy(t, e, Options{TLS: a.issueNow(t), RequireTLS: true})
	conn := dial(t, tlsURL(addr, "sslmode=require"))
	id := []byte{byte(conn.PID() >> 24), byte(conn.PID() >> 16), byte(conn.PID() >> 8), byte(conn.PID())}
	request := packet(cancelCode, string(slices.Concat(id, conn.SecretKey())))
	for name, via := range map[string]func() net.Conn{
		"TLS":        func() net.Conn { return tls.Client(askTLS(t, addr, nil), a.client()) },
		"direct TLS": func() net.Conn { return tls.Client(rawDial(t, addr), a.client()) },
		"clear text": func() net.Conn { return rawDial(t, addr) },
	} {
		done := make(chan error, 1)
		go func() {
			_, err := conn.Exec(context.Background(), "select pg_sleep(20)").ReadAll()
			done <- err
		}()
		<-e.began
		if _, err := via().Write(request); err != nil {
			t.Fatal(err)
		}
		var pgErr *pgconn.PgError
		if err := <-done; !errors.As(err, &pgErr) || pgErr.Code != "57014" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestChannelBinding: somebody who ends TLS between, with a certificate that the client takes, cannot pass the log-in on; and a
// client is not talked out of binding.
func TestChannelBinding(t *testing.T) {
	a := newAuthority(t)
	addr := startProxy(t, newScripted(), Options{TLS: a.issueNow(t)})
	l, err := tls.Listen("tcp", "127.0.0.1:0", withALPN(a.issueNow(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() { // it passes bytes between two connections of TLS
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := tls.Dial("tcp", addr, a.client())
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
	middle := l.Addr().String()
	if e := connectError(t, tlsURL(middle, "sslmode=verify-full&sslnegotiation=direct&sslrootcert="+a.file)); e == nil || e.Code != "28000" || !strings.Contains(e.Message, "channel binding") {
		t.Errorf("%v", e)
	}
	dial(t, tlsURL(middle, "sslmode=require&sslnegotiation=direct&channel_binding=disable")) // who gives it up comes through

	for name, first := range map[string]string{
		"y, though PLUS was offered":   "SCRAM-SHA-256\x00\x00\x00\x00\x20y,,n=,r=rOprNGfwEbeRWgbNEkqO12345",
		"no binding in PLUS":           "SCRAM-SHA-256-PLUS\x00\x00\x00\x00\x20n,,n=,r=rOprNGfwEbeRWgbNEkqO12345",
		"binding without PLUS":         "SCRAM-SHA-256\x00\x00\x00\x00\x36p=tls-server-end-point,,n=,r=rOprNGfwEbeRWgbNEkqO12345",
		"another sort of binding":      "SCRAM-SHA-256-PLUS\x00\x00\x00\x00\x2cp=tls-unique,,n=,r=rOprNGfwEbeRWgbNEkqO12345",
		"a mechanism that nobody knew": "SCRAM-SHA-1\x00\x00\x00\x00\x20n,,n=,r=rOprNGfwEbeRWgbNEkqO12345",
	} {
		c := tls.Client(rawDial(t, addr), a.client())
		if _, err := c.Write(packet(protocol3, params("user", "analyst", "database", "demo"))); err != nil {
			t.Fatal(err)
		}
		if got := firstMessages(t, c); got != "AuthenticationSASL\n" {
			t.Fatal(got)
		}
		if _, err := c.Write([]byte(frame('p', 4+len(first), first))); err != nil {
			t.Fatal(err)
		}
		if got := firstMessages(t, c); !strings.HasPrefix(got, "ErrorResponse FATAL 08P01") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func withALPN(c *tls.Config) *tls.Config {
	c.NextProtos = []string{alpn}
	return c
}

// TestTLSOptions: what would be unsafe or could not work is refused before anything is served.
func TestTLSOptions(t *testing.T) {
	cert := tls.Certificate{}
	for name, o := range map[string]Options{
		"required, none":    {RequireTLS: true},
		"no certificate":    {TLS: &tls.Config{}},
		"two certificates":  {TLS: &tls.Config{Certificates: []tls.Certificate{cert, cert}}},
		"another hook":      {TLS: &tls.Config{Certificates: []tls.Certificate{cert}, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil }}},
		"only old versions": {TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: tls.VersionTLS11}},
		"negative limit":    {MaxPortals: -1},
		"negative time":     {IdleTimeout: -1},
	} {
		if _, err := New(newScripted(), o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	o, err := Options{TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10}}.withDefaults()
	if err != nil || o.TLS.MinVersion != tls.VersionTLS12 {
		t.Error(err)
	}
}

// TestLibpqOverTLS runs psql 15 and psycopg2, in the modes that owners are told to use.
func TestLibpqOverTLS(t *testing.T) {
	a := newAuthority(t)
	addr := startProxy(t, newScripted(), Options{TLS: a.issueNow(t), RequireTLS: true})
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	stranger := newAuthority(t)
	const script = `
import psycopg2, sys
c = psycopg2.connect(sys.argv[1])
cur = c.cursor()
cur.execute("select 1 as x")
print(cur.fetchone()[0])
print(c.info.ssl_attribute("protocol") >= "TLSv1.2")
`
	for _, c := range []struct {
		extra, fails string
	}{
		{"sslmode=require", ""},
		{"sslmode=require channel_binding=require", ""},
		{"sslmode=require channel_binding=disable", ""},
		{"sslmode=verify-full sslrootcert=" + a.file, ""},
		{"sslmode=verify-ca channel_binding=require sslrootcert=" + a.file, ""},
		{"sslmode=prefer", ""},
		{"sslmode=verify-full sslrootcert=" + stranger.file, "certificate verify failed"},
		{"sslmode=disable", "this server takes connections with TLS only"},
		{"sslmode=disable ", "sslmode=require"}, // the hint
	} {
		dsn := "host=localhost port=" + port + " user=analyst password=secret dbname=demo connect_timeout=10 " + c.extra
		for _, cmd := range []*exec.Cmd{
			exec.Command("psql", "-X", "-At", "-c", "select 1 as x", dsn),
			exec.Command("/usr/bin/python3", "-c", script, dsn),
		} {
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			if c.fails == "" && (err != nil || !strings.HasPrefix(out.String(), "1\n")) || c.fails != "" && (err == nil || !strings.Contains(out.String(), c.fails)) ||
				strings.Contains(out.String(), "False") {
				t.Errorf("%s %s: %v\n%s", filepath.Base(cmd.Path), c.extra, err, out.String())
			}
		}
	}
}

// TestCipherSuites: of TLS 1.2 a client gets the suites with ephemeral keys and authenticated encryption, and no other.
func TestCipherSuites(t *testing.T) {
	a := newAuthority(t)
	addr := startProxy(t, newScripted(), Options{TLS: a.issueNow(t)})
	try := func(suite uint16) error {
		config := a.client()
		config.MaxVersion, config.CipherSuites = tls.VersionTLS12, []uint16{suite}
		conn := rawDial(t, addr)
		defer conn.Close() //nolint:errcheck // nothing is left to be done
		if _, err := conn.Write(packet(sslCode, "")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return tls.Client(conn, config).Handshake()
	}
	served := 0
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if !slices.Contains(s.SupportedVersions, tls.VersionTLS12) || !strings.Contains(s.Name, "ECDSA") { // the certificate's key
			continue
		}
		err, modern := try(s.ID), strings.Contains(s.Name, "GCM") || strings.Contains(s.Name, "CHACHA20")
		if (err == nil) != modern {
			t.Errorf("%s: %v", s.Name, err)
		}
		if err == nil {
			served++
		}
	}
	if served != 3 {
		t.Errorf("%d suites are served", served)
	}
}
