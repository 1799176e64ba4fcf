package proxy

import (
	"net"
	"sync"
)

// Connect begins a session of another room of this process, and gives the client's end of its connection, which passes no network: no TLS is asked for.
// Whoever calls it has brought its bytes from client by TLS, or from this machine. Log-ins count as that client's own. A user who is named has been proved
// to be the client's; where none is, the client logs in by password. ended is called once, when the session is over, whoever ends it.
//
// Such a session is as any, but that each row has one column more, answer.Intervals as JSON, and that texts are UTF-8 and times in rows ISO, whatever is SET.
func (srv *Server) Connect(client net.Addr, user string, ended func()) net.Conn {
	ours, theirs := net.Pipe()
	s := newSession(srv, clientConn{ours, client, sync.OnceFunc(ended)})
	s.peer.inside, s.peer.proved = true, user
	srv.begin(s)
	return theirs
}

// clientConn is a connection that comes from an address which its network does not know.
type clientConn struct {
	net.Conn
	client net.Addr
	ended  func()
}

// Close tells the other room.
func (f clientConn) Close() error {
	defer f.ended()
	return f.Conn.Close()
}

// RemoteAddr is the client's.
func (f clientConn) RemoteAddr() net.Addr { return f.client }
