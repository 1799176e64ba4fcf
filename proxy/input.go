package proxy

import (
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// idleTime is how long the client may take to its next message: the owner's limit, or the session's own if that is less.
func (s *connection) idleTime() idleLimit {
	limit, own := s.srv.opts.IdleTimeout, time.Duration(0)
	if s.tx.block {
		own = s.set.millis("idle_in_transaction_session_timeout")
	} else {
		own = s.set.millis("idle_session_timeout")
	}
	if own > 0 && (limit == 0 || own < limit) {
		return idleLimit{own, s.tx.block}
	}
	return idleLimit{limit: limit}
}

// receive reads the next message. A stop that comes between its look at the flag and its read ends the read by the deadline,
// which is why the flag is looked at after the deadline of idleness was set.
func (s *connection) receive() (pgproto3.FrontendMessage, error) {
	s.holdsUnread()
	before := s.idle.limit
	s.idle = s.idleTime()
	if s.idle.limit > 0 || before > 0 {
		var until time.Time
		if s.idle.limit > 0 {
			until = time.Now().Add(s.idle.limit)
		}
		if err := s.wire.conn.SetReadDeadline(until); err != nil {
			return nil, errQuiet
		}
	}
	if s.life.stopping.Load() {
		return nil, errStopping()
	}
	msg, err := s.wire.reader.Receive()
	if err != nil {
		return nil, s.readError(err)
	}
	return msg, nil
}

// readError is what a failed Receive means: a lost connection, a stop, or bytes that are no message.
func (s *connection) readError(err error) error {
	switch {
	case s.life.stopping.Load():
		return errStopping()
	case s.wire.tap.failed != nil:
		if t, ok := s.wire.tap.failed.(net.Error); ok && t.Timeout() && s.engine != nil {
			if s.idle.inBlock {
				return sqlerr.New(sqlerr.IdleInTxTimeout, "terminating connection due to idle-in-transaction timeout")
			}
			return sqlerr.New(sqlerr.IdleTimeout, "terminating connection due to idle-session timeout").
				WithHint("The limit here is %v.", s.idle.limit)
		}
		return errQuiet
	}
	var long *pgproto3.ExceededMaxBodyLenErr
	if errors.As(err, &long) && s.engine != nil {
		return sqlerr.New(sqlerr.TooLong, "message of %d bytes is longer than the limit of %d", long.ActualBodyLen, long.MaxExpectedBodyLen)
	}
	return sqlerr.New(sqlerr.ProtocolViolation, "invalid message format").WithCause(err)
}
