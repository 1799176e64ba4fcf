package proxy

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"
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

// latestQuery is what pg_stat_activity tells of the statement that runs.
type latestQuery struct {
	text            string
	at, transaction time.Time // transaction: when the one began that it is in
}

// Running is a statement that runs, for the owner.
type Running struct {
	User   string    `json:"analyst"`
	Client string    `json:"client"` // the address
	Since  time.Time `json:"since"`
	Text   string    `json:"text"` // its first 1023 bytes
}

// The codes in the place of a protocol version (PostgreSQL's pqcomm.h).
const (
	cancelCode = 80877102
	sslCode    = 80877103
	gssCode    = 80877104
	protocol3  = 3 << 16
	protocol32 = protocol3 | 2 // longer keys of cancels, and nothing else; 3.1 was never given
	newest     = protocol32
)

// keyLength is how many bytes a session's key has: those of PostgreSQL 18. The protocol before 3.2 has room for four alone, which somebody could guess by billions of connections.
func keyLength(protocol uint32) int {
	if protocol >= protocol32 {
		return 32
	}
	return 4
}
