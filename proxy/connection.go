package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// connection is that of one client, served by one goroutine. Only raw, origin, cancel, stopping, what register sets and what runMu
// guards are touched by others.
type connection struct {
	srv     *Server
	raw     net.Conn // as accepted
	began   time.Time
	latest  latestQuery
	client  net.Addr        // raw's, or what a balancer says; changed under Server.mu
	origin  origin          // of client, likewise
	remote  bool            // behind a balancer, and not known to be of this machine or to have come by TLS
	inside  bool            // of Server.Connect
	proved  string          // who its client is known to be, where that is so
	proving bool            // its first message of SCRAM came; guarded by Server.mu
	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc

	conn    net.Conn // raw, or TLS over it
	tls     *tls.Conn
	binding scram.ChannelBinding // of the TLS
	io      *tap
	be      *pgproto3.Backend // reads; what is written goes through send
	out     []byte            // messages not written yet
	unsent  error             // one of them cannot be encoded
	log     *slog.Logger

	user     string
	protocol uint32 // what both sides speak
	pid      uint32
	key      []byte // of cancels
	engine   Session

	set        *settings
	reported   map[string]string // the values of ParameterStatus that the client has
	tx         transaction
	statements shelf[*statement] // "" is the unnamed one
	portals    shelf[*portal]
	active     *portal // the one that runs
	holding    int     // bytes of answers, as it last said
	skipping   bool    // an extended message failed: everything up to Sync is skipped
	executes   int     // EXECUTEs that run within each other
	several    bool    // the message being served holds more than one statement: its implicit transaction is a block for some rules

	idle        time.Duration // the limit of the present wait for a message
	idleInBlock bool          // it is that of a transaction

	stopping   atomic.Bool
	runMu      sync.Mutex
	cancelRun  context.CancelCauseFunc
	runs       Running // while cancelRun is there
	terminated bool
}

// tap is the connection as the codec sees it. It remembers whether reading failed, which tells a lost connection from a bad
// message, and gives each write its time.
type tap struct {
	conn    net.Conn
	timeout time.Duration // of a write; 0 leaves the deadline of the log-in
	failed  error
	metrics Metrics
}

func (t *tap) Read(b []byte) (int, error) {
	n, err := t.conn.Read(b)
	if err != nil {
		t.failed = err
	}
	t.metrics.Bytes(n, 0)
	return n, err
}

func (t *tap) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if t.timeout > 0 {
		if err := t.conn.SetWriteDeadline(time.Now().Add(t.timeout)); err != nil {
			return 0, err
		}
	}
	n, err := t.conn.Write(b)
	t.metrics.Bytes(0, n)
	return n, err
}

func newSession(srv *Server, conn net.Conn) *connection {
	t := &tap{conn: conn, metrics: srv.opts.Metrics}
	s := &connection{srv: srv, raw: conn, began: time.Now(), client: conn.RemoteAddr(), origin: srv.originOf(conn.RemoteAddr()), conn: conn, io: t, be: pgproto3.NewBackend(t, t), log: srv.log,
		statements: newShelf[*statement](), portals: newShelf[*portal](), reported: map[string]string{}}
	s.ctx, s.cancel = context.WithCancel(srv.ctx)
	return s
}

func (s *connection) address() string { return s.client.String() }

// end closes the engine's session. A panic, ours or the engine's, ends here: the client is told of an internal error, the log
// has the stack, and the other sessions go on. What the panic said may quote data, so only an error of the runtime is logged.
func (s *connection) end() {
	if p := recover(); p != nil {
		what := "a value that is not logged"
		var re interface{ RuntimeError() }
		if err, ok := p.(error); ok && errors.As(err, &re) {
			what = redact(err)
		}
		s.log.Error("panic", "value", what, "stack", string(debug.Stack()))
		s.refuse(sqlerr.New(sqlerr.Internal, "internal error").WithHint("The proxy's log has the cause."))
	}
	if s.engine == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic while a session was closed", "stack", string(debug.Stack()))
		}
	}()
	s.portals.clear()
	s.engine.Close()
}

// refuse says a last FATAL word. The connection is closed afterwards.
func (s *connection) refuse(err error) {
	if errors.Is(err, errQuiet) {
		return
	}
	if s.io.timeout == 0 { // before or in the log-in: its deadline may have passed
		if err := s.conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			return
		}
	}
	if s.inside { // a pipe has no buffer, and its other end reads only while it asks
		s.io.timeout = time.Second
	}
	e := s.shown(err)
	s.log.Info("connection refused or ended", "code", e.Code, "id", e.ID)
	s.sendError("FATAL", e, "")
	if err := s.write(); err != nil {
		s.log.Debug("the last word did not arrive", "error", redact(err))
	}
}

// readError is what a failed Receive means: a lost connection, a stop, or bytes that are no message.
func (s *connection) readError(err error) error {
	switch {
	case s.stopping.Load():
		return errStopping()
	case s.io.failed != nil:
		if t, ok := s.io.failed.(net.Error); ok && t.Timeout() && s.engine != nil {
			if s.idleInBlock {
				return sqlerr.New(sqlerr.IdleInTxTimeout, "terminating connection due to idle-in-transaction timeout")
			}
			return sqlerr.New(sqlerr.IdleTimeout, "terminating connection due to idle-session timeout").
				WithHint("The limit here is %v.", s.idle)
		}
		return errQuiet
	}
	var long *pgproto3.ExceededMaxBodyLenErr
	if errors.As(err, &long) && s.engine != nil {
		return sqlerr.New(sqlerr.TooLong, "message of %d bytes is longer than the limit of %d", long.ActualBodyLen, long.MaxExpectedBodyLen)
	}
	return sqlerr.New(sqlerr.ProtocolViolation, "invalid message format").WithCause(err)
}

// loop serves messages until the client leaves.
func (s *connection) loop() {
	for {
		msg, err := s.receive()
		if err == nil {
			if err = s.handle(msg); err == nil {
				err = s.relieve()
			}
		}
		if err != nil {
			s.refuse(err)
			if id := sqlerr.ID(err); id == sqlerr.TooLong.ID || id == sqlerr.ProtocolViolation.ID {
				s.linger(lingerBytes)
			}
			return
		}
	}
}

// receive reads the next message. A stop that comes between its look at the flag and its read ends the read by the deadline,
// which is why the flag is looked at after the deadline of idleness was set.
func (s *connection) receive() (pgproto3.FrontendMessage, error) {
	s.holdsUnread()
	before := s.idle
	s.idle, s.idleInBlock = s.idleTime()
	if s.idle > 0 || before > 0 {
		var until time.Time
		if s.idle > 0 {
			until = time.Now().Add(s.idle)
		}
		if err := s.conn.SetReadDeadline(until); err != nil {
			return nil, errQuiet
		}
	}
	if s.stopping.Load() {
		return nil, errStopping()
	}
	msg, err := s.be.Receive()
	if err != nil {
		return nil, s.readError(err)
	}
	return msg, nil
}

// idleTime is how long the client may take to its next message: the owner's limit, or the session's own if that is less.
func (s *connection) idleTime() (limit time.Duration, inBlock bool) {
	limit, own := s.srv.opts.IdleTimeout, time.Duration(0)
	if s.tx.block {
		own = s.set.millis("idle_in_transaction_session_timeout")
	} else {
		own = s.set.millis("idle_session_timeout")
	}
	if own > 0 && (limit == 0 || own < limit) {
		return own, s.tx.block
	}
	return limit, false
}

// handle serves one message. Its error ends the session: errors of statements are sent here, not returned.
func (s *connection) handle(msg pgproto3.FrontendMessage) error {
	switch m := msg.(type) {
	case *pgproto3.Terminate:
		return errQuiet
	case *pgproto3.Sync:
		return s.sync()
	case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
		return nil // of a COPY FROM that was refused: they were under way
	case *pgproto3.Query, *pgproto3.FunctionCall, *pgproto3.Parse, *pgproto3.Bind, *pgproto3.Describe, *pgproto3.Execute, *pgproto3.Close, *pgproto3.Flush:
		if s.skipping {
			return nil
		}
		if err := s.charset().decoded(msg); err != nil {
			s.fail(err, "")
			if _, simple := msg.(*pgproto3.Query); simple {
				return s.ready()
			}
			s.skipping = true
			return s.flush()
		}
		switch m := m.(type) {
		case *pgproto3.Query:
			s.asks(m.String)
			return s.query(m.String)
		case *pgproto3.FunctionCall:
			s.fail(sqlerr.New(sqlerr.Unsupported, "function calls by the fast path are not supported"), "")
			return s.ready()
		}
		return s.extended(msg)
	}
	return protocolError("invalid frontend message")
}

// fail sends a statement's error and gives the transaction up: a block is failed until it ends, an implicit one is over.
func (s *connection) fail(err error, text string) {
	e := s.shown(err)
	s.log.Debug("refused", "code", e.Code, "id", e.ID)
	s.sendError("ERROR", e, text)
	s.srv.opts.Metrics.Statement(e.Code)
	s.failTransaction()
}

// ready ends a cycle: changed settings are reported, and all that is pending leaves in one write.
func (s *connection) ready() error {
	s.reportSettings()
	s.send(&pgproto3.ReadyForQuery{TxStatus: s.tx.status()})
	return s.flush()
}
