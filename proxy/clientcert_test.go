package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// card is a client's certificate and key.
type card struct{ cert, key string }

// for a URL and for libpq's connection string.
func (c card) url() string {
	if c.cert == "" {
		return ""
	}
	return "&sslcert=" + c.cert + "&sslkey=" + c.key
}

// card signs a certificate for a client; fill changes what is usual.
func (a *authority) card(tb testing.TB, name string, fill func(*x509.Certificate)) card {
	tb.Helper()
	key := newKey(tb)
	t := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	if fill != nil {
		fill(t)
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	c := card{filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key")}
	writePEM(tb, c.cert, "CERTIFICATE", der)
	writePEM(tb, c.key, "PRIVATE KEY", raw)
	return c
}

// withClientCA lets server15 ask for clients' certificates, of users by methods of pg_hba.conf, until the test ends.
func withClientCA(t *testing.T, a *authority, verifier string, methods map[string]string) {
	t.Helper()
	ctx := context.Background()
	admin := dial(t, server15.URL("postgres"))
	show := func(name string) string {
		t.Helper()
		res, err := admin.Exec(ctx, "show "+name).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return string(res[0].Rows[0][0])
	}
	dir := t.TempDir()
	certFile, keyFile := a.issue(t, dir, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	data := show("data_directory")
	info, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	for from, to := range map[string]string{certFile: "test.crt", keyFile: "test.key", a.file: "test-ca.crt"} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		to = filepath.Join(data, to)
		if err := errors.Join(os.WriteFile(to, text, 0o600), os.Chown(to, int(owner.Uid), int(owner.Gid))); err != nil {
			t.Fatal(err)
		}
	}
	hba := filepath.Join(data, "pg_hba.conf")
	before, err := os.ReadFile(hba)
	if err != nil {
		t.Fatal(err)
	}
	var rules strings.Builder
	rules.WriteString("hostssl all nobody all cert\n") // no such role
	for user, method := range methods {
		fmt.Fprintf(&rules, "hostssl all %s all %s\nhost all %s all reject\n", user, method, user)
	}
	overwrite(t, hba, rules.String()+string(before))
	run := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(ctx, sql).ReadAll(); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for user := range methods {
		run(fmt.Sprintf("create role %q login password '%s'", user, verifier))
	}
	for name, value := range map[string]string{"ssl_cert_file": "test.crt", "ssl_key_file": "test.key", "ssl_ca_file": "test-ca.crt", "ssl": "on"} {
		run("alter system set " + name + " = '" + value + "'")
	}
	run("create database demo")
	run("select pg_reload_conf()")
	for end := time.Now().Add(2 * time.Minute); show("ssl") != "on"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("PostgreSQL does not turn TLS on")
		}
	}
	t.Cleanup(func() {
		overwrite(t, hba, string(before))
		run("alter system reset all")
		run("select pg_reload_conf()")
		run("drop database demo")
		for user := range methods {
			run(fmt.Sprintf("drop role %q", user))
		}
	})
}

// TestClientCertificates: who comes in with which certificate, and what the others are told, is what PostgreSQL says under the same rule of pg_hba.conf, to pgx and to psql.
func TestClientCertificates(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	e := newScripted()
	users := map[ClientLogin]string{VerifyCA: "analyst_ca", VerifyFull: "analyst_full", CertAlone: "analyst_cert"}
	withClientCA(t, a, e.verifier, map[string]string{"analyst_ca": "scram-sha-256 clientcert=verify-ca", "analyst_full": "scram-sha-256 clientcert=verify-full", "analyst_cert": "cert"})
	theirs := fmt.Sprintf("localhost:%d", server15.Port)
	const forServers = "for servers only" // refused in the handshake by both; Go's word for it is "bad certificate"
	cards := map[string]func(user string) card{
		"none":      func(string) card { return card{} },
		"the own":   func(user string) card { return a.card(t, user, nil) },
		"another's": func(string) card { return a.card(t, "somebody", nil) },
		"without a name": func(string) card {
			return a.card(t, "", func(c *x509.Certificate) { c.Subject.Organization = []string{"x"} })
		},
		"in capitals":   func(user string) card { return a.card(t, strings.ToUpper(user), nil) },
		"of a stranger": func(user string) card { return stranger.card(t, user, nil) },
		"expired": func(user string) card {
			return a.card(t, user, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
		},
		forServers: func(user string) card {
			return a.card(t, user, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
		},
		"for clients": func(user string) card {
			return a.card(t, user, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
		},
		"alternative name only": func(user string) card {
			return a.card(t, "somebody", func(c *x509.Certificate) { c.EmailAddresses = []string{user} })
		},
	}
	var tick atomic.Int64
	rested := func() time.Time { return time.Unix(0, 0).Add(time.Duration(tick.Add(1)) * time.Hour) } // wrong passwords are no matter here
	comes := map[string]int{}
	for login, user := range users {
		ours := strings.Replace(startProxy(t, e, Options{TLS: a.issueNow(t), ClientCerts: &ClientCerts{Authorities: pool(t, a), Login: login, Name: CommonName}, now: rested}), "127.0.0.1", "localhost", 1)
		for name, make := range cards {
			own := make(user)
			passwords := []string{"secret"}
			if login != CertAlone && (name == "the own" || name == "another's") {
				passwords = append(passwords, "wrong")
			}
			for _, password := range passwords {
				said, want := certAnswer(t, ours, user, password, own, tls.VersionTLS12), certAnswer(t, theirs, user, password, own, tls.VersionTLS12)
				if name == forServers {
					said = strings.Replace(said, "bad certificate", "unsupported certificate", 1)
				}
				if said != want {
					t.Errorf("%s, certificate %s, password %s: %s\nPostgreSQL: %s", login, name, password, said, want)
				}
				comes[want]++
			}
			if name == "of a stranger" { // by TLS 1.3 the client has sent more when it is refused, and is to read why before it sees the end
				if said := certAnswer(t, ours, user, "secret", own, tls.VersionTLS13); !strings.Contains(said, "unknown certificate authority") {
					t.Error(said)
				}
			}
			if login != CertAlone && (login != VerifyFull || name != "another's") || !slices.Contains([]string{"none", "the own", "another's", "expired", "of a stranger"}, name) {
				continue // psql's way is the same
			}
			if said, want := psqlAnswer(t, ours, user, own), psqlAnswer(t, theirs, user, own); said != want {
				t.Errorf("psql: %s, certificate %s: %s\nPostgreSQL: %s", login, name, said, want)
			}
		}
		if login == CertAlone {
			own := a.card(t, "nobody", nil)
			if said, want := certAnswer(t, ours, "nobody", "", own, tls.VersionTLS12), certAnswer(t, theirs, "nobody", "", own, tls.VersionTLS12); said != want || !strings.Contains(said, "28000 role") {
				t.Errorf("%s\nPostgreSQL: %s", said, want)
			}
		}
		if e := connectError(t, "postgres://"+user+":secret@"+ours+"/demo?sslmode=disable"); e == nil || e.Code != "28000" {
			t.Errorf("%s, clear text: %v", login, e)
		}
	}
	if comes["in"] == 0 || len(comes) < 6 {
		t.Errorf("too little was tried: %v", comes)
	}
}

// TestCertificateNoLockout: wrong passwords beside another's certificate guess nothing, and hold up nobody who has the user's own.
func TestCertificateNoLockout(t *testing.T) {
	a, clock := newAuthority(t), newFakeClock()
	addr := strings.Replace(startProxy(t, newScripted(), Options{TLS: a.issueNow(t), ClientCerts: &ClientCerts{Authorities: pool(t, a), Login: VerifyFull, Name: CommonName}, now: clock.now, sleep: func(context.Context, time.Duration) {}}), "127.0.0.1", "localhost", 1)
	own, other := a.card(t, "analyst", nil), a.card(t, "somebody", nil)
	for range ofPair.burst + 3 {
		if said := certAnswer(t, addr, "analyst", "wrong", other, tls.VersionTLS12); !strings.Contains(said, "28P01") {
			t.Fatal(said)
		}
	}
	if said := certAnswer(t, addr, "analyst", "wrong", other, tls.VersionTLS12); !strings.Contains(said, "too many wrong passwords") {
		t.Errorf("another's certificate is not held back: %s", said)
	}
	if said := certAnswer(t, addr, "analyst", "secret", own, tls.VersionTLS12); said != "in" {
		t.Errorf("with the own certificate: %s", said)
	}
}

func pool(t *testing.T, a *authority) func() *x509.CertPool {
	t.Helper()
	l, err := LoadAuthorities(a.file)
	if err != nil {
		t.Fatal(err)
	}
	return l.Pool
}

// certAnswer is what pgx is told: in, or the error without what differs by the server's name.
func certAnswer(t *testing.T, addr, user, password string, own card, version uint16) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	config, err := pgconn.ParseConfig("postgres://" + url.QueryEscape(user) + ":" + password + "@" + addr + "/demo?sslmode=require" + own.url())
	if err != nil {
		t.Fatal(err)
	}
	config.TLSConfig.MaxVersion = version
	conn, err := pgconn.ConnectConfig(ctx, config)
	var pgErr *pgconn.PgError
	switch {
	case err == nil:
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
		return "in"
	case errors.As(err, &pgErr):
		return pgErr.Severity + " " + pgErr.Code + " " + pgErr.Message
	}
	text := err.Error()
	return text[strings.LastIndex(text, "tls: ")+1:]
}

// psqlAnswer is what psql 15 prints.
func psqlAnswer(t *testing.T, addr, user string, own card) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("psql", "-X", "-w", "-At", "-c", "select 1 as x", strings.ReplaceAll(strings.TrimPrefix(fmt.Sprintf("host=%s port=%s user=%s password=secret dbname=demo sslmode=require ssl_max_protocol_version=TLSv1.2%s", host, port, user, own.url()), "&"), "&", " "))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // what it printed tells
	text := strings.ReplaceAll(out.String(), port, "PORT")
	text, _, _ = strings.Cut(text, "HINT:") // ours alone
	return text
}

// TestCertificateNames: the part that the owner chose is compared, whole and to the letter, and no other.
func TestCertificateNames(t *testing.T) {
	a := newAuthority(t)
	e := newScripted()
	several := func(names ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			c.Subject = pkix.Name{}
			for _, n := range names {
				c.Subject.ExtraNames = append(c.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: n})
			}
		}
	}
	alternative := func(emails, hosts []string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.EmailAddresses, c.DNSNames = emails, hosts }
	}
	for _, c := range []struct {
		name  CertName
		user  string
		fill  func(*x509.Certificate)
		comes bool
	}{
		{CommonName, "analyst", several("analyst"), true},
		{CommonName, "analyst", several("analyst", "root"), false},
		{CommonName, "analyst", several("root", "analyst"), false},
		{CommonName, "analyst", several("analyst\x00root"), false},
		{CommonName, "analyst", several("analyst "), false},
		{CommonName, "analyst", alternative([]string{"analyst"}, []string{"analyst"}), false},
		{EmailName, "analyst@lab.example", alternative([]string{"other@lab.example", "analyst@lab.example"}, nil), true},
		{EmailName, "analyst@lab.example", alternative([]string{"Analyst@lab.example"}, nil), false},
		{EmailName, "analyst.lab.example", alternative(nil, []string{"analyst.lab.example"}), false},
		{EmailName, "analyst", several("analyst"), false},
		{DNSName, "analyst.lab.example", alternative(nil, []string{"analyst.lab.example"}), true},
		{DNSName, "analyst.lab.example", alternative(nil, []string{"*.lab.example"}), false},
		{DNSName, "analyst", several("analyst"), false},
	} {
		addr := startProxy(t, e, Options{TLS: a.issueNow(t), ClientCerts: &ClientCerts{Authorities: pool(t, a), Login: CertAlone, Name: c.name}})
		want := "in"
		if !c.comes {
			want = fmt.Sprintf("FATAL 28000 certificate authentication failed for user %q", c.user)
		}
		if got := certAnswer(t, addr, c.user, "", a.card(t, "somebody", c.fill), tls.VersionTLS13); got != want {
			t.Errorf("%s %s: %s, want %s", c.name, c.user, got, want)
		}
	}
}

// TestAuthorities: what is loaded are authorities in date; a reload of anything else leaves what was there, and a reload of others is in force at once.
func TestAuthorities(t *testing.T) {
	a, b := newAuthority(t), newAuthority(t)
	file := filepath.Join(t.TempDir(), "clients.pem")
	text := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	overwrite(t, file, text(a.file))
	l, err := LoadAuthorities(file)
	if err != nil {
		t.Fatal(err)
	}
	addr := startProxy(t, newScripted(), Options{TLS: a.issueNow(t), ClientCerts: &ClientCerts{Authorities: l.Pool, Login: CertAlone, Name: CommonName}})
	ofA, ofB := a.card(t, "analyst", nil), b.card(t, "analyst", nil)
	in := func(c card) bool { return certAnswer(t, addr, "analyst", "", c, tls.VersionTLS13) == "in" }
	if !in(ofA) || in(ofB) {
		t.Error("one of another authority comes in, or none")
	}
	own, _ := a.issue(t, t.TempDir(), time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "no certificate is in it"},
		{"no PEM", "hello", "no certificate is in it"},
		{"a leaf", text(own), "lacks CA:TRUE"},
		{"an authority and a leaf", text(a.file) + text(own), "certificate 2 (CN=localhost) is not an authority's"},
		{"a key", text(ofA.key), "part 1 is a PRIVATE KEY"},
		{"damaged", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate 1: "},
	} {
		overwrite(t, file, c.text)
		if err := l.Reload(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "hold on") {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := LoadAuthorities(file); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hold on") {
			t.Errorf("%s, at the start: %v", c.name, err)
		}
	}
	overwrite(t, file, text(b.file))
	late := &Authorities{file: file, now: func() time.Time { return time.Now().Add(2 * time.Hour) }}
	if err := late.Reload(); err == nil || !strings.Contains(err.Error(), "none of its certificates is in date") {
		t.Error(err)
	}
	remove(t, file)
	if err := l.Reload(); err == nil || !in(ofA) {
		t.Errorf("a file that is gone: %v", err)
	}
	overwrite(t, file, text(a.file)+text(b.file))
	if err := l.Reload(); err != nil || !in(ofA) || !in(ofB) {
		t.Errorf("two authorities: %v", err)
	}
	overwrite(t, file, text(b.file))
	if err := l.Reload(); err != nil || in(ofA) || !in(ofB) {
		t.Errorf("one that was taken away signs on: %v", err)
	}
}

// TestClientCertOptions: what could let strangers in is refused before anything is served.
func TestClientCertOptions(t *testing.T) {
	a := newAuthority(t)
	some := pool(t, a)
	server := &tls.Config{Certificates: []tls.Certificate{{}}}
	for name, o := range map[string]Options{
		"no TLS":         {ClientCerts: &ClientCerts{some, CertAlone, CommonName}},
		"no authorities": {TLS: server, ClientCerts: &ClientCerts{nil, CertAlone, CommonName}},
		"nil pool":       {TLS: server, ClientCerts: &ClientCerts{func() *x509.CertPool { return nil }, CertAlone, CommonName}},
		"no login":       {TLS: server, ClientCerts: &ClientCerts{some, "", CommonName}},
		"no name":        {TLS: server, ClientCerts: &ClientCerts{some, VerifyFull, ""}},
		"unknown name":   {TLS: server, ClientCerts: &ClientCerts{some, CertAlone, "uri"}},
	} {
		if _, err := New(newScripted(), o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
