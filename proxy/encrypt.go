package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"

	"github.com/xdg-go/scram"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

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
	if err := c.HandshakeContext(s.life.ctx); err != nil {
		s.log.Info("TLS handshake failed", "client", s.peer.address(), "error", redact(err))
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			s.linger(lingerLogin) // the client is to read the alert, whatever else it has sent
		}
		return errQuiet
	}
	s.wire.encrypted(c, endpointBinding(shown))
	return nil
}

// encryptDirect serves a client that began with TLS. head is what was read of it. As PostgreSQL 17 does, it must say by ALPN
// that it means PostgreSQL: a browser that is led here must not.
func (s *connection) encryptDirect(head []byte) error {
	if err := s.encrypt(&headed{Conn: s.wire.conn, head: head}); err != nil {
		return err
	}
	if s.wire.tls.ConnectionState().NegotiatedProtocol != alpn {
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
