package console

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dpsql/dpsql/proxy"
)

// The connections that there are at once, and those of one address: so those who come from elsewhere have some.
const (
	maxConnections = 512
	maxOfAddress   = maxConnections / 2
)

// limited is a listener that gives out only so many connections at once, and fewer to one address.
type limited struct {
	net.Listener
	mu sync.Mutex
	n  int                             // connections
	of map[netip.Prefix][]*countedConn // those of an address, the oldest first
}

// Accept admits a connection. Where there are too many, the oldest one gives way that serves no request, or whose answer is being written: whoever holds connections open, or reads no answers, keeps nobody out.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		at, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
		if p := (&countedConn{Conn: conn, in: l, from: proxy.Network(at.Addr())}); l.admit(p) {
			return p, nil
		}
		_ = conn.Close()
	}
}

// admit makes room for a connection: among its address's, or where there are too many in all, among those of the address that has most.
func (l *limited) admit(p *countedConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	candidates := l.of[p.from] // to give way; nil: there is room
	if len(candidates) < maxOfAddress {
		if l.n < maxConnections {
			candidates = nil
		} else {
			for _, list := range l.of {
				if len(list) > len(candidates) {
					candidates = list
				}
			}
		}
	}
	if candidates != nil {
		i := slices.IndexFunc(candidates, func(p *countedConn) bool { return !p.serves.Load() })
		if i < 0 {
			return false
		}
		_ = candidates[i].Conn.Close()
		l.remove(candidates[i])
	}
	l.n++
	l.of[p.from] = append(l.of[p.from], p)
	return true
}

// remove takes a connection off its list, if it is there. It is called under l.mu.
func (l *limited) remove(p *countedConn) {
	list := l.of[p.from]
	i := slices.Index(list, p)
	if i < 0 {
		return
	}
	l.n--
	if l.of[p.from] = slices.Delete(list, i, i+1); len(list) == 1 {
		delete(l.of, p.from)
	}
}

// countedConn is a connection that a limited listener counts.
type countedConn struct {
	net.Conn
	in     *limited
	from   netip.Prefix
	serves atomic.Bool // a request that has arrived, and whose answer is not written yet
}

// Close ends its count.
func (p *countedConn) Close() error {
	p.in.mu.Lock()
	p.in.remove(p)
	p.in.mu.Unlock()
	return p.Conn.Close()
}

type connKey struct{}

// withConn puts a connection into the contexts of its requests.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, conn)
}

// serves notes whether a request has arrived and its answer is not being written yet.
func serves(r *http.Request, is bool) {
	if p, ok := r.Context().Value(connKey{}).(*countedConn); ok {
		p.serves.Store(is)
	}
}
