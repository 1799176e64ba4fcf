package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/xdg-go/scram"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
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

// encrypt makes the connection one of TLS. Nothing was read ahead of it: what a client, or somebody between, sent in clear text
// behind its SSLRequest is read as TLS and fails (CVE-2021-23222).
func (s *connection) encrypt(conn net.Conn) error {
	config := s.srv.opts.TLS.Clone()
	var shown *tls.Certificate
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (_ *tls.Certificate, err error) {
		shown, err = s.srv.opts.TLS.GetCertificate(hello)
		return shown, err
	}
	if certs := s.srv.opts.ClientCerts; certs != nil {
		certs.ask(config)
	}
	c := tls.Server(conn, config)
	if err := c.HandshakeContext(s.ctx); err != nil {
		s.log.Info("TLS handshake failed", "client", s.address(), "error", redact(err))
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			s.linger(lingerLogin) // the client is to read the alert, whatever else it has sent
		}
		return errQuiet
	}
	s.conn, s.io.conn, s.tls = c, c, c
	s.binding = endpointBinding(shown)
	return nil
}

// encryptDirect serves a client that began with TLS. head is what was read of it. As PostgreSQL 17 does, it must say by ALPN
// that it means PostgreSQL: a browser that is led here must not.
func (s *connection) encryptDirect(head []byte) error {
	if err := s.encrypt(&headed{Conn: s.conn, head: head}); err != nil {
		return err
	}
	if s.tls.ConnectionState().NegotiatedProtocol != alpn {
		return sqlerr.New(sqlerr.ProtocolViolation, "received direct SSL connection request without ALPN protocol negotiation extension")
	}
	return nil
}

// headed is a connection with bytes put back before it.
type headed struct {
	net.Conn
	head []byte
}

func (h *headed) Read(b []byte) (int, error) {
	if len(h.head) == 0 {
		return h.Conn.Read(b)
	}
	n := copy(b, h.head)
	h.head = h.head[n:]
	return n, nil
}

// endpointBinding is tls-server-end-point (RFC 5929) of the certificate that the client was shown. A certificate whose
// signature names no hash (Ed25519) has none: then only SCRAM without binding is offered.
func endpointBinding(shown *tls.Certificate) scram.ChannelBinding {
	if shown == nil || len(shown.Certificate) == 0 {
		return scram.ChannelBinding{}
	}
	leaf := shown.Leaf
	if leaf == nil {
		var err error
		if leaf, err = x509.ParseCertificate(shown.Certificate[0]); err != nil {
			return scram.ChannelBinding{}
		}
	}
	b, err := scram.NewTLSServerEndpointBinding(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}})
	if err != nil {
		return scram.ChannelBinding{}
	}
	return b
}

func (srv *Server) errPlaintext() *sqlerr.Error {
	err := sqlerr.New(sqlerr.InvalidAuth, "this server takes connections with TLS only")
	if srv.opts.TLS == nil { // of a client behind a balancer
		return err.WithHint("The owner can set tls in the policy, or end TLS at the balancer and let it say so (in HAProxy: bind ... ssl, server ... send-proxy-v2-ssl).")
	}
	return err.WithHint("Connect with sslmode=verify-full and sslrootcert=the authority's certificate, or at least with sslmode=require.")
}

// hangUp closes the connection. After TLS it says so, that the client can tell the end from a cut.
func (s *connection) hangUp() {
	if err := s.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.Debug("closing a connection", "error", redact(err))
	}
}

// linger ends the writing side and drops for a while what the client still sends. Closed at once, the connection would be reset,
// and a client in the middle of a long message would not read the error.
func (s *connection) linger(bytes int64) {
	if c, ok := s.conn.(interface{ CloseWrite() error }); !ok || c.CloseWrite() != nil {
		return
	}
	if s.conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil || s.stopping.Load() {
		return
	}
	_, _ = io.CopyN(io.Discard, s.conn, bytes) // the end, the deadline and a lost connection are all the same here
}
