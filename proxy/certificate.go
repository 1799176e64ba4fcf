package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Certificates are the server's certificate and private key, read from files and read again on demand. What is served is always
// a pair that was whole and in date when it was read: files that are not leave the pair before in place.
type Certificates struct {
	certFile, keyFile string
	now               func() time.Time
	pair              atomic.Pointer[tls.Certificate]
}

// LoadCertificates reads a certificate (PEM, with its chain behind it) and its private key. The key's file must be the owner's
// alone, as PostgreSQL asks.
func LoadCertificates(certFile, keyFile string) (*Certificates, error) {
	return loadCertificates(certFile, keyFile, time.Now)
}

func loadCertificates(certFile, keyFile string, now func() time.Time) (*Certificates, error) {
	c := &Certificates{certFile: certFile, keyFile: keyFile, now: now}
	if err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Reload reads the files again. New connections get the new certificate; those that are open stay as they are. An error says
// what is wrong with the files; then the certificate before is served on.
func (c *Certificates) Reload() error {
	pair, err := c.read()
	if err == nil {
		err = c.inDate(pair.Leaf)
	}
	if err != nil {
		if old := c.pair.Load(); old != nil {
			return fmt.Errorf("%w; the certificate that was loaded before is served on, until %s", err, stamp(old.Leaf.NotAfter))
		}
		return err
	}
	c.pair.Store(pair)
	return nil
}

// GetCertificate is for tls.Config.
func (c *Certificates) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.pair.Load(), nil
}

// Expires tells until when the served certificate is good.
func (c *Certificates) Expires() time.Time { return c.pair.Load().Leaf.NotAfter }

func (c *Certificates) read() (*tls.Certificate, error) {
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate: %w", err)
	}
	key, err := readKey(c.keyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate %s and key %s: %w", c.certFile, c.keyFile, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("TLS certificate %s: %w", c.certFile, err)
		}
	}
	return &pair, nil
}

func (c *Certificates) inDate(leaf *x509.Certificate) error {
	switch now := c.now(); {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("TLS certificate %s expired on %s: put a new one in its place", c.certFile, stamp(leaf.NotAfter))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("TLS certificate %s is not good before %s: check this machine's clock, or wait", c.certFile, stamp(leaf.NotBefore))
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// maxKey is more than any key is long.
const maxKey = 1 << 20

// readKey reads a private key's file if others cannot: 0600 or less where it is our user's, 0640 or less where it is root's
// (then the group is a way to give it to us). What is checked is the file that is read, not its name.
func readKey(name string) (_ []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, fmt.Errorf("%s: cannot tell whose it is", name)
	}
	if err := checkKeyFile(name, info.Mode(), int(owner.Uid), os.Geteuid()); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxKey))
}

func checkKeyFile(name string, mode os.FileMode, owner, us int) error {
	const (
		groupOrOthers = 0o077
		notToRoots    = 0o037 // what is forbidden of root's: the group may read
	)
	switch {
	case !mode.IsRegular():
		return fmt.Errorf("%s is not a regular file", name)
	case owner != us && owner != 0:
		return fmt.Errorf("%s belongs to another user: it must be the user's that runs dpsql (chown), or root's", name)
	case owner == us && owner != 0 && mode.Perm()&groupOrOthers != 0, owner == 0 && mode.Perm()&notToRoots != 0:
		return fmt.Errorf("%s can be read or written by others (%04o): its mode must be 0600 or less, or 0640 or less if it is root's (chmod 600 %s)", name, mode.Perm(), name)
	}
	return nil
}
