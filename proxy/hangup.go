package proxy

import (
	"errors"
	"io"
	"net"
	"time"
)

// hangUp closes the connection. After TLS it says so, that the client can tell the end from a cut.
func (s *connection) hangUp() {
	if err := s.wire.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.Debug("closing a connection", "error", redact(err))
	}
}

// linger ends the writing side and drops for a while what the client still sends. Closed at once, the connection would be reset,
// and a client in the middle of a long message would not read the error.
func (s *connection) linger(bytes int64) {
	if c, ok := s.wire.conn.(interface{ CloseWrite() error }); !ok || c.CloseWrite() != nil {
		return
	}
	if s.wire.conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil || s.life.stopping.Load() {
		return
	}
	_, _ = io.CopyN(io.Discard, s.wire.conn, bytes) // the end, the deadline and a lost connection are all the same here
}
