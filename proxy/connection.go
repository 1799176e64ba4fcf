package proxy

import (
	"context"
	"log/slog"
	"net"
	"time"
)

// connection is that of one client, served by one goroutine. Others touch only its life, its peer under Server.mu, wire.raw, and what register sets.
type connection struct {
	srv  *Server
	log  *slog.Logger
	peer peer
	wire wire
	life life

	user     string
	key      backendKey
	engine   Session
	set      *settings
	reported map[string]string // the values of ParameterStatus that the client has
	tx       transaction
	kept     kept
	cycle    cycle
	idle     idleLimit // of the present wait for a message
	activity activity
}

// peer is who is at the other end. Server.mu guards its address, its origin and proving.
type peer struct {
	addr    net.Addr // that of the network, or what a balancer says
	origin  origin   // of addr
	remote  bool     // behind a balancer, and not known to be of this machine or to have come by TLS
	inside  bool     // of Server.Connect
	proved  string   // who its client is known to be, where that is so
	proving bool     // its first message of SCRAM came
}

func (p *peer) address() string { return p.addr.String() }

// backendKey is PostgreSQL's BackendKeyData: whoever names both may cancel the session's statement.
type backendKey struct {
	pid    uint32
	secret []byte
}

// cycle is how the messages up to the next ReadyForQuery are served.
type cycle struct {
	skipping bool // an extended message failed: everything up to Sync is skipped
	several  bool // the message holds more than one statement: its implicit transaction is a block for some rules
	executes int  // EXECUTEs that run within each other
}

// idleLimit is how long the client may take to its next message; 0 is for ever.
type idleLimit struct {
	limit   time.Duration
	inBlock bool // it is that of a transaction
}

// activity is what pg_stat_activity tells of a session.
type activity struct {
	began           time.Time // the connection
	text            string    // of the latest statement
	at, transaction time.Time // of the latest statement, and when the transaction began that it is in
}

func newSession(srv *Server, conn net.Conn) *connection {
	s := &connection{srv: srv, log: srv.log, peer: peer{addr: conn.RemoteAddr(), origin: srv.originOf(conn.RemoteAddr())}, wire: newWire(conn, srv.opts.Metrics),
		reported: map[string]string{}, kept: newKept(&srv.opts), activity: activity{began: time.Now()}}
	s.life.ctx, s.life.cancel = context.WithCancel(srv.ctx)
	return s
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
