package proxy

import (
	"crypto/x509"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// certificate is the client's, which the handshake has verified.
func (s *connection) certificate() (*x509.Certificate, error) {
	if s.wire.tls != nil {
		if state := s.wire.tls.ConnectionState(); len(state.VerifiedChains) > 0 {
			return state.PeerCertificates[0], nil
		}
	}
	return nil, sqlerr.New(sqlerr.InvalidAuth, "connection requires a valid client certificate").
		WithHint("Give the client a certificate that the owner's authority signed, and its key: sslcert=FILE sslkey=FILE.")
}

// identify is the log-in as far as a certificate is asked for. another reports that it is somebody else's than the user's: then no password is right. done reports that no password is asked
// for; then stored is the user's verifier, if there is one.
func (s *connection) identify() (another, done bool, stored string, err error) {
	c := s.srv.opts.ClientCerts
	if c == nil {
		return false, false, "", nil
	}
	cert, err := s.certificate()
	if err != nil || c.Login == VerifyCA {
		return false, false, "", err
	}
	if another = !c.owns(cert, s.user); another {
		s.log.Info("the client's certificate is not the user's", "client", s.peer.address(), "certificate", cert.Subject.String(), "user", s.user)
	}
	if c.Login != CertAlone {
		return another, false, "", nil
	}
	if another {
		return true, false, "", sqlerr.New(sqlerr.InvalidAuth, "certificate authentication failed for user %q", s.user)
	}
	stored, known := s.srv.engine.Verifier(s.user)
	if !known { // only the owner of that name's certificate learns it
		return false, false, "", sqlerr.New(sqlerr.InvalidAuth, "role %q does not exist", s.user)
	}
	return false, true, stored, nil
}
