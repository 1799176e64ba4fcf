package proxy

import (
	"errors"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

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
		if s.cycle.skipping {
			return nil
		}
		if err := s.charset().decoded(msg); err != nil {
			s.fail(err, "")
			if _, simple := msg.(*pgproto3.Query); simple {
				return s.ready()
			}
			s.cycle.skipping = true
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

// refuse says a last FATAL word. The connection is closed afterwards.
func (s *connection) refuse(err error) {
	if errors.Is(err, errQuiet) {
		return
	}
	if s.wire.tap.timeout == 0 { // before or in the log-in: its deadline may have passed
		if err := s.wire.conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			return
		}
	}
	if s.peer.inside { // a pipe has no buffer, and its other end reads only while it asks
		s.wire.tap.timeout = time.Second
	}
	e := s.shown(err)
	s.log.Info("connection refused or ended", "code", e.Code, "id", e.ID)
	s.sendError("FATAL", e, "")
	if err := s.wire.write(); err != nil {
		s.log.Debug("the last word did not arrive", "error", redact(err))
	}
}

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
	s.kept.portals.clear()
	s.engine.Close()
}
