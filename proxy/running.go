package proxy

import (
	"context"
	"slices"
	"time"
)

// running gives the context of one statement, which a CancelRequest or the session's own limit ends. done must be called when it is over.
func (s *connection) running() (ctx context.Context, done func()) {
	ctx, end := s.life.begin(Running{User: s.user, Client: s.peer.address(), Since: s.activity.at, Text: s.activity.text})
	t := s.ownTimeout()
	if t <= 0 {
		return ctx, end
	}
	ctx, stop := context.WithTimeoutCause(ctx, t, errStatementTimeout)
	return ctx, func() {
		stop()
		end()
	}
}

// Running lists what runs now, the oldest first.
func (srv *Server) Running() []Running {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	list := []Running{}
	for _, s := range srv.sessions {
		if what, runs := s.life.running(); runs {
			list = append(list, what)
		}
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
	s.life.stopping.Store(true)
	_ = s.wire.raw.SetReadDeadline(time.Unix(1, 0)) // an idle session wakes up and says goodbye
}

// terminate ends a session now: a running statement is cancelled.
func (s *connection) terminate() {
	s.life.terminate()
	s.stop()
}
