package proxy

import "github.com/jackc/pgx/v5/pgproto3"

// flushAt is how many bytes of answers are kept before they are written, and how many a buffer keeps.
const flushAt = 64 << 10

// send appends a message to what is written by the next flush. A message that cannot be encoded ends the session there.
func (s *connection) send(m pgproto3.BackendMessage) {
	out, err := m.Encode(s.out)
	if err != nil { // longer than the protocol can say
		s.unsent = err
		return
	}
	s.out = out
}

// write writes what was sent.
func (s *connection) write() error {
	if s.unsent != nil {
		return s.unsent
	}
	_, err := s.io.Write(s.out)
	if s.out = s.out[:0]; cap(s.out) > 2*flushAt {
		s.out = nil
	}
	return err
}

func (s *connection) flush() error {
	if err := s.write(); err != nil {
		s.log.Info("the client does not take its answers", "error", redact(err))
		return errQuiet
	}
	return nil
}

// relieve flushes if there is much: a client that sends on and on without Sync, or many statements in a message, must not
// make us keep all answers.
func (s *connection) relieve() error {
	if len(s.out) < flushAt {
		return nil
	}
	return s.flush()
}

// charset is the client's; nil where it is UTF-8, or not converted. Another room of this process speaks UTF-8, whatever its user SETs.
func (s *connection) charset() *charset {
	if s.inside {
		return nil
	}
	return charsetOf(s.set.get("client_encoding"))
}
