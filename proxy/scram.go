package proxy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

const (
	scramMechanism = "SCRAM-SHA-256"
	scramPlus      = "SCRAM-SHA-256-PLUS"
	maxSASL        = 1024 // PG_MAX_SASL_MESSAGE_LENGTH
	saltSize       = 16   // SCRAM_DEFAULT_SALT_LEN
)

// authenticate is the server's side of SCRAM-SHA-256. The user is the start-up packet's, whatever the SCRAM message says. A user
// who does not exist goes through the same messages, with a salt that is always the same for that name, to the same error. Over
// TLS SCRAM-SHA-256-PLUS is offered too, which ties the log-in to our certificate: nobody between can pass it on. It gives the
// verifier that the client proved to know the password of, or of whom it has the certificate where that is enough.
//
// A user whose name the client's certificate must have and has not is nobody, too: whatever the password, the answer is that of a wrong one, as PostgreSQL's is. So a certificate of
// one's own lets nobody guess another's password.
func (s *connection) authenticate() (string, error) {
	if s.peer.proved != "" {
		if stored, known := s.srv.engine.Verifier(s.user); known && s.user == s.peer.proved {
			return stored, nil
		}
		return "", wrongPassword(s.user)
	}
	another, done, stored, err := s.identify()
	if err != nil || done {
		return stored, err
	}
	stored, known := s.srv.engine.Verifier(s.user)
	cred, err := parseVerifier(stored)
	if known && err != nil {
		s.log.Error("an analyst's verifier cannot be read", "user", s.user)
	}
	if known = known && err == nil && !another; !known {
		cred = s.srv.mockCredentials(s.user)
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return cred, nil })
	if err != nil {
		return "", err
	}
	mechanisms := []string{scramMechanism}
	if s.wire.binding.IsSupported() {
		mechanisms = []string{scramPlus, scramMechanism}
	}
	s.wire.reader.SetMaxBodyLen(maxSASL)
	s.wire.send(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms})
	msg, err := s.ask(pgproto3.AuthTypeSASL)
	if err != nil {
		return "", err
	}
	first, ok := msg.(*pgproto3.SASLInitialResponse)
	if !ok {
		return "", protocolError("expected SASL response")
	}
	var conv *scram.ServerConversation
	switch {
	case first.AuthMechanism == scramPlus && s.wire.binding.IsSupported():
		conv = server.NewConversationWithChannelBindingRequired(s.wire.binding)
	case first.AuthMechanism == scramMechanism && !strings.HasPrefix(string(first.Data), "p="):
		conv = server.NewConversationWithChannelBinding(s.wire.binding) // a client that saw no PLUS where one was offered is refused
	default:
		return "", protocolError("client selected an invalid SASL authentication mechanism")
	}
	reply, err := conv.Step(string(first.Data))
	if err != nil {
		return "", protocolError("malformed SCRAM message")
	}
	s.srv.proves(s)
	s.wire.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(reply)})
	if msg, err = s.ask(pgproto3.AuthTypeSASLContinue); err != nil {
		return "", err
	}
	final, ok := msg.(*pgproto3.SASLResponse)
	if !ok {
		return "", protocolError("expected SASL response")
	}
	// Only now something is guessed: psql without a password comes this far too, and comes back with one.
	guessed := s.user
	if another { // it guesses nothing, so it holds up nobody who has the user's certificate
		guessed = "\x00" + s.user
	}
	try, ok := s.srv.throttle.begin(guessed, s.peer.origin)
	if !ok {
		return "", sqlerr.New(sqlerr.InvalidAuth, "too many wrong passwords for user %q", s.user).WithHint("Wait a minute.")
	}
	if try.wait > 0 {
		s.srv.opts.sleep(s.life.ctx, try.wait)
		if s.life.ctx.Err() != nil { // it gave way to another connection, and guessed nothing
			return "", errQuiet
		}
	}
	reply, err = conv.Step(string(final.Data))
	switch {
	case err != nil && reply == scram.ErrChannelBindingsDontMatch:
		return "", sqlerr.New(sqlerr.InvalidAuth, "SCRAM channel binding check failed").
			WithHint("The client was shown another certificate than this server's: something between ends TLS. Let it pass TLS through, or connect with channel_binding=disable.")
	case err != nil || !conv.Valid() || !known:
		return "", wrongPassword(s.user)
	}
	try.right()
	s.wire.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(reply)})
	return stored, nil
}

func wrongPassword(user string) error {
	return sqlerr.New(sqlerr.InvalidPassword, "password authentication failed for user %q", user)
}

// ask sends what is pending and reads the client's answer to it.
func (s *connection) ask(authType uint32) (pgproto3.FrontendMessage, error) {
	if err := s.wire.reader.SetAuthType(authType); err != nil {
		return nil, err
	}
	if err := s.wire.write(); err != nil {
		return nil, errQuiet
	}
	msg, err := s.wire.reader.Receive()
	if err != nil {
		return nil, s.readError(err)
	}
	return msg, nil
}

// mockCredentials are those of a user who does not exist: derived from the name and the server's secret, and matched by no password that
// anybody knows (the caller refuses even that one). Their iteration count is the owner's (Options.Iterations), and nothing of them follows from the
// users. Their salt changes with the count, as a user's does whose password is set anew.
func (srv *Server) mockCredentials(user string) scram.StoredCredentials {
	derive := func(purpose string) []byte {
		mac := hmac.New(sha256.New, srv.opts.ServerSecret)
		mac.Write([]byte(purpose + "\x00" + user))
		return mac.Sum(nil)
	}
	iterations := srv.opts.Iterations()
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(derive("salt " + strconv.Itoa(iterations))[:saltSize]), Iters: iterations},
		StoredKey:  derive("stored key"),
		ServerKey:  derive("server key"),
	}
}

var errVerifier = errors.New("not a SCRAM-SHA-256 verifier")

// parseVerifier reads "SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey", PostgreSQL's form.
func parseVerifier(stored string) (scram.StoredCredentials, error) {
	var c scram.StoredCredentials
	parts := strings.FieldsFunc(stored, func(r rune) bool { return r == '$' || r == ':' })
	if len(parts) != 5 || parts[0] != scramMechanism {
		return c, errVerifier
	}
	iters, err := strconv.Atoi(parts[1])
	if err != nil || iters < 1 {
		return c, errVerifier
	}
	var raw [3][]byte
	for i := range raw {
		if raw[i], err = base64.StdEncoding.DecodeString(parts[2+i]); err != nil || len(raw[i]) == 0 {
			return c, errVerifier
		}
	}
	if len(raw[1]) != sha256.Size || len(raw[2]) != sha256.Size {
		return c, errVerifier
	}
	return scram.StoredCredentials{KeyFactors: scram.KeyFactors{Salt: string(raw[0]), Iters: iters}, StoredKey: raw[1], ServerKey: raw[2]}, nil
}
