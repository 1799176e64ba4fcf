package proxy

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Options limit what clients may use. Zero values mean the defaults.
type Options struct {
	Logger        *slog.Logger  // nothing is logged by default
	MaxMessage    int           // bytes of one message's body; 8 MiB
	MaxSessions   int           // sessions at once; 100, PostgreSQL's max_connections
	MaxStatements int           // prepared statements of one session; 1000
	MaxPortals    int           // portals of one session; 1000
	LoginTimeout  time.Duration // from accept to the end of authentication; 60 s, PostgreSQL's authentication_timeout
	WriteTimeout  time.Duration // for a client that does not read; 60 s
	StopGrace     time.Duration // for running statements when Serve is stopped; 5 s
	// ServerSecret derives the salts shown to users who do not exist. By default it is random for each Serve: then such a salt
	// changes when the proxy restarts, and that of a user does not.
	ServerSecret []byte
	// MockIterations is the SCRAM iteration count shown to users who do not exist; 4096, as PostgreSQL writes verifiers.
	MockIterations int
}

func (o Options) withDefaults() (Options, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		v   *int
		def int
	}{{&o.MaxMessage, 8 << 20}, {&o.MaxSessions, 100}, {&o.MaxStatements, 1000}, {&o.MaxPortals, 1000}, {&o.MockIterations, 4096}} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&o.LoginTimeout, time.Minute}, {&o.WriteTimeout, time.Minute}, {&o.StopGrace, 5 * time.Second}} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if len(o.ServerSecret) == 0 {
		o.ServerSecret = make([]byte, 32)
		if _, err := rand.Read(o.ServerSecret); err != nil {
			return o, fmt.Errorf("proxy: %w", err)
		}
	}
	return o, nil
}

// server is one listener's sessions.
type server struct {
	engine Engine
	opts   Options
	log    *slog.Logger
	ctx    context.Context // of all statements; ended by force when the grace is over

	mu       sync.Mutex
	conns    map[net.Conn]*session // nil before authentication
	sessions map[uint32]*session   // by process id, once authenticated
	stopping bool
	wg       sync.WaitGroup
}

// errShutdown ends the statements that outlive the grace of a stop.
var errShutdown = errors.New("the proxy is stopping")

// Serve answers clients on l until ctx ends. Then it accepts no more, tells idle clients, gives running statements the
// grace of Options.StopGrace, closes every connection and returns nil. Any other error is the listener's.
func Serve(ctx context.Context, l net.Listener, e Engine, opts Options) error {
	opts, err := opts.withDefaults()
	if err != nil {
		return err
	}
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	srv := &server{engine: e, opts: opts, log: opts.Logger, ctx: base, conns: map[net.Conn]*session{}, sessions: map[uint32]*session{}}
	unhook := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer unhook()
	err = srv.accept(l)
	stopped := ctx.Err() != nil
	if !stopped {
		_ = l.Close()
	}
	srv.stop(cancel)
	if stopped {
		return nil
	}
	return err
}

// accept runs until the listener is closed. Failures that pass (too many open files) are waited for, as net/http does.
func (srv *server) accept(l net.Listener) error {
	var wait time.Duration
	for {
		conn, err := l.Accept()
		var passing net.Error
		switch {
		case err == nil:
			wait = 0
			srv.start(conn)
		case errors.As(err, &passing) && !errors.Is(err, net.ErrClosed) && passing.Temporary(): //nolint:staticcheck // the only word there is for EMFILE
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			srv.log.Error("accept", "error", redact(err))
			time.Sleep(wait)
		default:
			return err
		}
	}
}

// start serves one connection in its own goroutine. Twice as many connections as sessions are open at most: the others are
// logging in or cancelling.
func (srv *server) start(conn net.Conn) {
	srv.mu.Lock()
	full := len(srv.conns) >= 2*srv.opts.MaxSessions+16 || srv.stopping
	if !full {
		srv.conns[conn] = nil
		srv.wg.Add(1)
	}
	srv.mu.Unlock()
	if full {
		_ = conn.Close()
		return
	}
	go func() {
		defer srv.wg.Done()
		defer srv.forget(conn)
		srv.serve(conn)
	}()
}

func (srv *server) forget(conn net.Conn) {
	_ = conn.Close()
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if s := srv.conns[conn]; s != nil {
		delete(srv.sessions, s.pid)
	}
	delete(srv.conns, conn)
}

// serve is one connection's life.
func (srv *server) serve(conn net.Conn) {
	s := newSession(srv, conn)
	defer s.end()
	if err := s.startup(); err != nil {
		s.refuse(err)
		return
	}
	s.loop()
}

// register makes an authenticated session known to cancels and to the stop, and gives it its process id and key.
func (srv *server) register(s *session) error {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	switch {
	case srv.stopping:
		return errStopping()
	case len(srv.sessions) >= srv.opts.MaxSessions:
		return errTooManyClients()
	}
	if _, err := io.ReadFull(rand.Reader, s.key[:]); err != nil {
		return err
	}
	for {
		var b [4]byte
		if _, err := io.ReadFull(rand.Reader, b[:]); err != nil {
			return err
		}
		s.pid = binary.BigEndian.Uint32(b[:]) &^ (1 << 31) // clients hold it in a signed integer
		if _, taken := srv.sessions[s.pid]; !taken && s.pid != 0 {
			break
		}
	}
	srv.sessions[s.pid] = s
	srv.conns[s.conn] = s
	return nil
}

// stop ends all connections: idle sessions now, others when their statement or the grace ends.
func (srv *server) stop(cancel context.CancelCauseFunc) {
	srv.mu.Lock()
	srv.stopping = true
	for conn, s := range srv.conns {
		if s == nil {
			_ = conn.Close()
			continue
		}
		s.stopping.Store(true)
		_ = conn.SetReadDeadline(time.Unix(1, 0)) // an idle session wakes up and says goodbye
	}
	srv.mu.Unlock()
	done := make(chan struct{})
	go func() { srv.wg.Wait(); close(done) }()
	for _, end := range []func(){func() { cancel(errShutdown) }, srv.closeAll} {
		select {
		case <-done:
			return
		case <-time.After(srv.opts.StopGrace):
			end()
		}
	}
	<-done
}

func (srv *server) closeAll() {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for conn := range srv.conns {
		_ = conn.Close()
	}
}
