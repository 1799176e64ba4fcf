package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// ClientCerts asks clients for a certificate.
type ClientCerts struct {
	Authorities func() *x509.CertPool // who may have signed it, asked at each handshake; never nil, which would be everybody whom the machine trusts
	Login       ClientLogin
	Name        CertName // where it names its owner; not for VerifyCA
}

// ClientLogin is what a certificate is good for, in the words of PostgreSQL's pg_hba.conf.
type ClientLogin string

// VerifyCA and VerifyFull are its option clientcert, beside a password; CertAlone is its method cert.
const (
	VerifyCA   ClientLogin = "verify-ca"   // one of the authorities', whoever it names
	VerifyFull ClientLogin = "verify-full" // the user's own
	CertAlone  ClientLogin = "cert"        // the user's own, and no password is asked for
)

// CertName is the part of a certificate that must be the user's name, to the letter.
type CertName string

// CommonName is PostgreSQL's clientname=CN; the others are alternative names (RFC 5280, 4.2.1.6).
const (
	CommonName CertName = "cn"
	EmailName  CertName = "email"
	DNSName    CertName = "dns"
)

func (c *ClientCerts) valid() error {
	switch {
	case c.Authorities == nil || c.Authorities() == nil:
		return errors.New("proxy: ClientCerts needs Authorities")
	case !slices.Contains([]ClientLogin{VerifyCA, VerifyFull, CertAlone}, c.Login):
		return fmt.Errorf("proxy: there is no ClientCerts.Login %q", c.Login)
	case c.Login != VerifyCA && !slices.Contains([]CertName{CommonName, EmailName, DNSName}, c.Name):
		return fmt.Errorf("proxy: there is no ClientCerts.Name %q", c.Name)
	}
	return nil
}

// ask makes a handshake ask for a certificate. As PostgreSQL's, it goes on without one, so that the client can be told what is missing; one that no authority signed, or that
// is not in date, ends it.
func (c *ClientCerts) ask(config *tls.Config) {
	config.ClientAuth, config.ClientCAs = tls.VerifyClientCertIfGiven, c.Authorities()
}

// owns reports that a certificate is the user's. One with several common names is nobody's: which of them counts is told differently by different programs.
func (c *ClientCerts) owns(cert *x509.Certificate, user string) bool {
	switch c.Name {
	case CommonName:
		var names []any
		for _, n := range cert.Subject.Names {
			if n.Type.Equal(commonName) {
				names = append(names, n.Value)
			}
		}
		return len(names) == 1 && names[0] == user
	case EmailName:
		return slices.Contains(cert.EmailAddresses, user)
	case DNSName:
		return slices.Contains(cert.DNSNames, user)
	}
	return false
}

var commonName = asn1.ObjectIdentifier{2, 5, 4, 3}

// Authorities are the certificates of those who may sign clients' certificates, read from a file and read again on demand.
type Authorities struct {
	file string
	now  func() time.Time
	pool atomic.Pointer[x509.CertPool]
}

// LoadAuthorities reads a file of certificates (PEM).
func LoadAuthorities(file string) (*Authorities, error) {
	a := &Authorities{file: file, now: time.Now}
	if err := a.Reload(); err != nil {
		return nil, err
	}
	return a, nil
}

// Pool is what was read last.
func (a *Authorities) Pool() *x509.CertPool { return a.pool.Load() }

// Reload reads the file again. New connections are held against it; a file that is not right leaves what was read before.
func (a *Authorities) Reload() error {
	pool, err := a.read()
	if err == nil {
		a.pool.Store(pool)
		return nil
	}
	if a.pool.Load() != nil {
		return fmt.Errorf("%w; the authorities that were loaded before hold on", err)
	}
	return err
}

// read takes authorities only: a leaf among them would be one that nobody can revoke. Those that are out of date sign nothing any more, and may stay beside their followers.
func (a *Authorities) read() (*x509.CertPool, error) {
	rest, err := os.ReadFile(a.file)
	if err != nil {
		return nil, fmt.Errorf("TLS client authorities: %w", err)
	}
	pool, good := x509.NewCertPool(), 0
	var last time.Time
	for n := 1; ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("TLS client authorities %s: part %d is a %s, not a CERTIFICATE", a.file, n, block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("TLS client authorities %s: certificate %d: %w", a.file, n, err)
		}
		if !cert.BasicConstraintsValid || !cert.IsCA {
			return nil, fmt.Errorf("TLS client authorities %s: certificate %d (%s) is not an authority's: it lacks CA:TRUE", a.file, n, cert.Subject)
		}
		if last.Before(cert.NotAfter) {
			last = cert.NotAfter
		}
		if now := a.now(); !now.Before(cert.NotBefore) && !now.After(cert.NotAfter) {
			good++
		}
		pool.AddCert(cert)
	}
	switch {
	case last.IsZero():
		return nil, fmt.Errorf("TLS client authorities %s: no certificate is in it (PEM)", a.file)
	case good == 0:
		return nil, fmt.Errorf("TLS client authorities %s: none of its certificates is in date, the last one until %s", a.file, stamp(last))
	}
	return pool, nil
}
