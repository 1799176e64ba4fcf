package proxy

func (s *connection) flush() error {
	if err := s.wire.write(); err != nil {
		s.log.Info("the client does not take its answers", "error", redact(err))
		return errQuiet
	}
	return nil
}

// relieve flushes if there is much: a client that sends on and on without Sync, or many statements in a message, must not
// make us keep all answers.
func (s *connection) relieve() error {
	if len(s.wire.out) < flushAt {
		return nil
	}
	return s.flush()
}

// charset is the client's; nil where it is UTF-8, or not converted. Another room of this process speaks UTF-8, whatever its user SETs.
func (s *connection) charset() *charset {
	if s.peer.inside {
		return nil
	}
	return charsetOf(s.set.get("client_encoding"))
}
