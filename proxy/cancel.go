package proxy

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// cancelRequest ends the running statement of the session that the request names, if the key is that session's; else the other proxies are asked. An idle
// connection is left alone, and nothing is told to the asker.
func (srv *Server) cancelRequest(m *pgproto3.CancelRequest, from origin) {
	srv.mu.Lock()
	s := srv.sessions[m.ProcessID]
	srv.mu.Unlock()
	if s == nil || subtle.ConstantTimeCompare(s.key.secret, m.SecretKey) != 1 {
		srv.forward(m, from)
		return
	}
	s.life.cancelRunning(errCanceled)
}

// forward sends a cancel that is for no session here to the other proxies: through a balancer a client's request reaches any of them. What is sent holds no key: a code of it
// under a fresh nonce, which only who has the key can make, and which the session's own proxy compares.
func (srv *Server) forward(m *pgproto3.CancelRequest, from origin) {
	if srv.opts.Post == nil || len(m.SecretKey) < leastSecret || len(m.SecretKey) > mostSecret || !srv.forwards.may(from, srv.opts.now()) {
		return
	}
	ctx, done := context.WithTimeout(srv.ctx, forwardTime)
	defer done()
	var nonce [16]byte
	_, err := rand.Read(nonce[:])
	if err == nil {
		err = srv.opts.Post.Send(ctx, forwarded(m.ProcessID, nonce[:], m.SecretKey))
	}
	if err != nil {
		srv.log.Warn("a cancel was not forwarded to the other proxies", "error", redact(err))
	}
}

// Hear takes what another proxy's Post sent: a cancel, which ends the running statement of the session that it names if it was made with that session's key. Whatever else it is, nothing happens.
func (srv *Server) Hear(text string) {
	words := strings.Split(text, " ")
	if len(words) != 4 || words[0] != forwardedWord || len(words[1]) != 8 {
		return
	}
	pid, err := strconv.ParseUint(words[1], 16, 32)
	if err != nil {
		return
	}
	nonce, err := hex.DecodeString(words[2])
	if err != nil || len(nonce) != 16 {
		return
	}
	code, err := hex.DecodeString(words[3])
	if err != nil {
		return
	}
	srv.mu.Lock()
	s := srv.sessions[uint32(pid)]
	srv.mu.Unlock()
	if s == nil || !hmac.Equal(code, forwardCode(s.key.pid, nonce, s.key.secret)) {
		return
	}
	s.life.cancelRunning(errCanceled)
}
