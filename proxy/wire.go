package proxy

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"
)

// wire carries bytes and messages to and from a client. conn and tap always use the same connection.
type wire struct {
	raw      net.Conn // as accepted
	conn     net.Conn // raw, or TLS over it
	tls      *tls.Conn
	binding  scram.ChannelBinding // of the TLS
	tap      *tap
	reader   *pgproto3.Backend // over tap; what is written goes through send
	protocol uint32            // the version that both sides speak
	out      []byte            // messages not written yet
	unsent   error             // one of them cannot be encoded
}

func newWire(conn net.Conn, metrics Metrics) wire {
	t := &tap{conn: conn, metrics: metrics}
	return wire{raw: conn, conn: conn, tap: t, reader: pgproto3.NewBackend(t, t)}
}

// encrypted makes all that follows go through TLS.
func (w *wire) encrypted(c *tls.Conn, binding scram.ChannelBinding) {
	w.conn, w.tap.conn, w.tls, w.binding = c, c, c, binding
}

// flushAt is how many bytes of answers are kept before they are written, and how many a buffer keeps.
const flushAt = 64 << 10

// send appends a message to what is written by the next flush. A message that cannot be encoded ends the session there.
func (w *wire) send(m pgproto3.BackendMessage) {
	out, err := m.Encode(w.out)
	if err != nil { // longer than the protocol can say
		w.unsent = err
		return
	}
	w.out = out
}

// write writes what was sent.
func (w *wire) write() error {
	if w.unsent != nil {
		return w.unsent
	}
	_, err := w.tap.Write(w.out)
	if w.out = w.out[:0]; cap(w.out) > 2*flushAt {
		w.out = nil
	}
	return err
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
