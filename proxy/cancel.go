package proxy

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// errCanceled is why a statement's context ended: its client said so.
var errCanceled = errors.New("canceled by the client")

// errStatementTimeout: the client's own limit on a statement was over.
var errStatementTimeout = errors.New("statement timeout of the session")

// keyLength is how many bytes a session's key has: those of PostgreSQL 18. The protocol before 3.2 has room for four alone, which somebody could guess by billions of connections.
func keyLength(protocol uint32) int {
	if protocol >= protocol32 {
		return 32
	}
	return 4
}

// cancelRequest ends the running statement of the session that the request names, if the key is that session's; else the other proxies are asked. An idle
// connection is left alone, and nothing is told to the asker.
func (srv *Server) cancelRequest(m *pgproto3.CancelRequest, from origin) {
	srv.mu.Lock()
	s := srv.sessions[m.ProcessID]
	srv.mu.Unlock()
	if s == nil || subtle.ConstantTimeCompare(s.key, m.SecretKey) != 1 {
		srv.forward(m, from)
		return
	}
	s.cancelRunning(errCanceled)
}

func (s *connection) cancelRunning(why error) {
	s.runMu.Lock()
	defer s.runMu.Unlock()
	if s.cancelRun != nil {
		s.cancelRun(why)
	}
}

// running gives the context of one statement, which a CancelRequest ends. done must be called when it is over.
func (s *connection) running() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.runMu.Lock()
	s.cancelRun, s.runs = cancel, Running{User: s.user, Client: s.address(), Since: s.latest.at, Text: s.latest.text}
	if s.terminated {
		cancel(errShutdown)
	}
	s.runMu.Unlock()
	stop := func() {}
	if t := s.ownTimeout(); t > 0 {
		ctx, stop = context.WithTimeoutCause(ctx, t, errStatementTimeout)
	}
	return ctx, func() {
		stop()
		s.runMu.Lock()
		s.cancelRun = nil
		s.runMu.Unlock()
		cancel(nil)
	}
}

// Running is a statement that runs, for the owner.
type Running struct {
	User   string    `json:"analyst"`
	Client string    `json:"client"` // the address
	Since  time.Time `json:"since"`
	Text   string    `json:"text"` // its first 1023 bytes
}

// Running lists what runs now, the oldest first.
func (srv *Server) Running() []Running {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	list := []Running{}
	for _, s := range srv.sessions {
		s.runMu.Lock()
		if s.cancelRun != nil {
			list = append(list, s.runs)
		}
		s.runMu.Unlock()
	}
	slices.SortFunc(list, func(a, b Running) int { return a.Since.Compare(b.Since) })
	return list
}

// ownTimeout is the session's statement_timeout.
func (s *connection) ownTimeout() time.Duration {
	if s.set == nil { // before the log-in
		return 0
	}
	return s.set.millis("statement_timeout")
}

// stop ends a session as soon as no statement runs.
func (s *connection) stop() {
	s.stopping.Store(true)
	_ = s.raw.SetReadDeadline(time.Unix(1, 0)) // an idle session wakes up and says goodbye
}

// terminate ends a session now: a running statement is cancelled.
func (s *connection) terminate() {
	s.runMu.Lock()
	s.terminated = true
	s.runMu.Unlock()
	s.cancelRunning(errShutdown)
	s.stop()
}
