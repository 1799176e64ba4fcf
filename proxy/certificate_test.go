package proxy

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCertificates: what is loaded is whole, in date and private; a reload of anything else leaves what was there.
func TestCertificates(t *testing.T) {
	a := newAuthority(t)
	now := time.Now()
	hour := time.Hour
	dir := t.TempDir()
	certFile, keyFile := a.issue(t, dir, now.Add(-hour), now.Add(hour))
	clock := now
	c, err := loadCertificates(certFile, keyFile, func() time.Time { return clock })
	if err != nil {
		t.Fatal(err)
	}
	served := func() string {
		t.Helper()
		pair, err := c.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.SerialNumber.String()
	}
	first := served()
	addr := startProxy(t, newScripted(), Options{TLS: &tls.Config{GetCertificate: c.GetCertificate}})
	shown := func() string {
		t.Helper()
		conn, ok := dial(t, tlsURL(addr, "sslmode=verify-full&channel_binding=require&sslrootcert="+a.file)).Conn().(*tls.Conn)
		if !ok {
			t.Fatal("not encrypted")
		}
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	if shown() != first {
		t.Error("another certificate is shown")
	}

	for _, spoil := range []struct {
		name, want string
		do         func()
	}{
		{"expired", "expired on", func() { a.issue(t, dir, now.Add(-2*hour), now.Add(-hour)) }},
		{"not yet good", "is not good before", func() { a.issue(t, dir, now.Add(hour), now.Add(2*hour)) }},
		{"another's key", "private key does not match", func() {
			a.issue(t, dir, now.Add(-hour), now.Add(hour))
			writePEM(t, certFile, "CERTIFICATE", a.cert.Raw)
		}},
		{"no PEM", "failed to find any PEM data", func() { overwrite(t, certFile, "hello") }},
		{"half a file", "failed to find any PEM data", func() { a.issue(t, dir, now.Add(-hour), now.Add(hour)); cut(t, certFile) }},
		{"empty key", "failed to find any PEM data", func() { a.issue(t, dir, now.Add(-hour), now.Add(hour)); overwrite(t, keyFile, "") }},
		{"readable key", "chmod 600", func() { a.issue(t, dir, now.Add(-hour), now.Add(hour)); chmod(t, keyFile, 0o604) }},
		{"no key", "no such file", func() { a.issue(t, dir, now.Add(-hour), now.Add(hour)); remove(t, keyFile) }},
		{"no certificate", "no such file", func() { remove(t, certFile) }},
		{"a directory", "not a regular file", func() {
			a.issue(t, dir, now.Add(-hour), now.Add(hour))
			remove(t, keyFile)
			if err := os.Mkdir(keyFile, 0o700); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		spoil.do()
		err := c.Reload()
		if err == nil || !strings.Contains(err.Error(), spoil.want) || !strings.Contains(err.Error(), "is served on, until") {
			t.Errorf("%s: %v", spoil.name, err)
		}
		if served() != first {
			t.Errorf("%s: the certificate changed", spoil.name)
		}
		if _, err := loadCertificates(certFile, keyFile, func() time.Time { return clock }); err == nil || !strings.Contains(err.Error(), spoil.want) || strings.Contains(err.Error(), "served on") {
			t.Errorf("%s, at the start: %v", spoil.name, err)
		}
	}

	remove(t, keyFile)
	a.issue(t, dir, now.Add(-hour), now.Add(3*hour))
	if err := c.Reload(); err != nil {
		t.Fatal(err)
	}
	if served() == first || shown() != served() {
		t.Error("the new certificate is not shown")
	}
	if d := c.Expires().Sub(now); d < 3*hour-time.Minute || d > 3*hour {
		t.Errorf("it is good for %v", d)
	}
	clock = now.Add(4 * hour) // it is over, and nothing better is there
	if err := c.Reload(); err == nil || !strings.Contains(err.Error(), "expired on") {
		t.Error(err)
	}
}

func overwrite(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func cut(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, file, string(b[:len(b)/2]))
}

func chmod(t *testing.T, file string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// TestKeyFileRights are PostgreSQL's (be-secure-common.c, check_ssl_key_file_permissions).
func TestKeyFileRights(t *testing.T) {
	const us, other = 1000, 1001
	for _, c := range []struct {
		mode  os.FileMode
		owner int
		ok    bool
	}{
		{0o600, us, true}, {0o400, us, true}, {0o640, us, false}, {0o604, us, false}, {0o610, us, false},
		{0o600, 0, true}, {0o640, 0, true}, {0o440, 0, true}, {0o644, 0, false}, {0o660, 0, false}, {0o650, 0, false},
		{0o600, other, false}, {0o600 | os.ModeDir, us, false}, {0o600 | os.ModeNamedPipe, us, false},
	} {
		if err := checkKeyFile("server.key", c.mode, c.owner, us); (err == nil) != c.ok {
			t.Errorf("%v of %d: %v", c.mode, c.owner, err)
		}
	}
	if err := checkKeyFile(filepath.Join("dir", "server.key"), 0o644, us, us); err == nil || !strings.Contains(err.Error(), "chmod 600 dir/server.key") {
		t.Error(err)
	}
}
