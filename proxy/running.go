package proxy

import (
	"context"
	"slices"
	"time"
)

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

func (s *connection) cancelRunning(why error) {
	s.runMu.Lock()
	defer s.runMu.Unlock()
	if s.cancelRun != nil {
		s.cancelRun(why)
	}
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
