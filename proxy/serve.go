package proxy

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// Serve answers clients on l until ctx ends: New and Server.Serve in one, for an owner who ends no sessions.
func Serve(ctx context.Context, l net.Listener, e Engine, opts Options) error {
	srv, err := New(e, opts)
	if err != nil {
		return err
	}
	return srv.Serve(ctx, l)
}

// Serve answers clients on l until ctx ends. Then it accepts no more, tells idle clients, gives running statements the
// grace of Options.StopGrace, closes every connection and returns nil. Any other error is the listener's.
func (srv *Server) Serve(ctx context.Context, l net.Listener) error {
	defer srv.cancel(nil)
	unhook := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer unhook()
	err := srv.accept(l)
	stopped := ctx.Err() != nil
	if !stopped {
		_ = l.Close()
	}
	srv.stop()
	if stopped {
		return nil
	}
	return err
}

// Terminate ends a user's sessions, and tells how many they were: they get FATAL 57P01, a running statement is cancelled
// first. A log-in that is under way is refused if the engine does not give the same verifier any more; so an owner who takes
// a user away changes the engine first and terminates then.
func (srv *Server) Terminate(user string) int {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	n := 0
	for _, s := range srv.sessions {
		if s.user == user {
			s.terminate()
			n++
		}
	}
	return n
}

// accept runs until the listener is closed. Failures that pass (too many open files) are waited for, as net/http does.
func (srv *Server) accept(l net.Listener) error {
	var wait time.Duration
	for {
		conn, err := l.Accept()
		var passing net.Error
		switch {
		case err == nil:
			wait = 0
			srv.begin(newSession(srv, conn))
		case errors.As(err, &passing) && !errors.Is(err, net.ErrClosed) && passing.Temporary(): //nolint:staticcheck // the only word there is for EMFILE
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			srv.log.Error("accept", "error", redact(err))
			time.Sleep(wait)
		default:
			return err
		}
	}
}

// begin serves one connection in its own goroutine.
func (srv *Server) begin(s *connection) {
	if !srv.admit(s) {
		s.life.cancel()
		_ = s.wire.raw.Close()
		return
	}
	go func() {
		defer srv.wg.Done()
		defer srv.forget(s)
		srv.serve(s)
	}()
}

// serve is one connection's life.
func (srv *Server) serve(s *connection) {
	defer s.end()
	if err := s.startup(); err != nil {
		if e := (*sqlerr.Error)(nil); errors.As(err, &e) {
			srv.opts.Metrics.LoginFailed(e.Code)
		}
		s.refuse(err)
		return
	}
	srv.opts.Metrics.SessionOpened()
	defer srv.opts.Metrics.SessionClosed()
	s.loop()
}

func (srv *Server) forget(s *connection) {
	s.hangUp()
	s.life.cancel()
	_ = s.hold(0)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.unwait(s)
	if srv.sessions[s.key.pid] == s {
		delete(srv.sessions, s.key.pid)
		if srv.ofUser[s.user]--; srv.ofUser[s.user] == 0 {
			delete(srv.ofUser, s.user)
		}
	}
	delete(srv.open, s)
}

// stop ends all connections: idle sessions now, others when their statement or the grace ends.
func (srv *Server) stop() {
	srv.mu.Lock()
	srv.stopping = true
	for s := range srv.open {
		if srv.sessions[s.key.pid] != s {
			s.life.cancel()
			_ = s.wire.raw.Close()
			continue
		}
		s.stop()
	}
	srv.mu.Unlock()
	done := make(chan struct{})
	go func() { srv.wg.Wait(); close(done) }()
	for _, end := range []func(){func() { srv.cancel(errShutdown) }, srv.closeAll} {
		select {
		case <-done:
			return
		case <-time.After(srv.opts.StopGrace):
			end()
		}
	}
	<-done
}

func (srv *Server) closeAll() {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for s := range srv.open {
		_ = s.wire.raw.Close()
	}
}
