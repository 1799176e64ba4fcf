package proxy

import (
	"crypto/tls"
	"errors"
	"strings"
	"time"
)

const (
	lingerTime   = 2 * time.Second
	lingerBytes  = 256 << 20
	lingerLogin  = 64 << 10     // of a client that has not logged in
	alpn         = "postgresql" // PostgreSQL's name in TLS since 17
	tlsHandshake = 0x16         // the first byte of a client that begins with TLS; no start-up packet is that long
)

// modernSuites are those of TLS 1.2 that are served: ephemeral keys and authenticated encryption, as all of TLS 1.3 are.
func modernSuites() (ids []uint16) {
	for _, s := range tls.CipherSuites() {
		if strings.HasPrefix(s.Name, "TLS_ECDHE_") && (strings.Contains(s.Name, "_GCM_") || strings.Contains(s.Name, "_CHACHA20_POLY1305_")) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// serverTLS is what the owner gave, made sound: no version before TLS 1.2, none of its older cipher suites, no hook that could give another configuration, no
// session tickets (PostgreSQL has none either; each connection sees the certificate of its time).
func serverTLS(given *tls.Config) (*tls.Config, error) {
	if given == nil {
		return nil, nil
	}
	c := given.Clone()
	switch {
	case c.GetConfigForClient != nil:
		return nil, errors.New("proxy: tls.Config.GetConfigForClient is not supported")
	case c.GetCertificate == nil && len(c.Certificates) == 1:
		only := c.Certificates[0]
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &only, nil }
	case c.GetCertificate == nil:
		return nil, errors.New("proxy: tls.Config needs GetCertificate or one certificate")
	}
	c.Certificates = nil // else GetCertificate is not asked by clients without SNI
	if c.MaxVersion != 0 && c.MaxVersion < tls.VersionTLS12 {
		return nil, errors.New("proxy: TLS before 1.2 is not supported")
	}
	c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
	c.CipherSuites = modernSuites()
	c.NextProtos = []string{alpn}
	c.SessionTicketsDisabled = true
	return c, nil
}
