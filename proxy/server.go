package proxy

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// Server is the sessions of one Engine. It serves one listener, once.
type Server struct {
	engine   Engine
	opts     Options
	log      *slog.Logger
	throttle *throttle
	forwards *forwards
	answers  *answers
	ctx      context.Context // of all sessions; ended by force when the grace is over
	cancel   context.CancelCauseFunc

	mu       sync.Mutex
	open     map[*connection]struct{}
	waiting  map[origin][]*connection // those that have not logged in, the oldest first
	sessions map[uint32]*connection   // those that have, by process id
	ofUser   map[string]int           // how many they are
	stopping bool
	wg       sync.WaitGroup
}

// New makes a server that is not serving yet.
func New(e Engine, opts Options) (*Server, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	srv := &Server{engine: e, opts: opts, log: opts.Logger, throttle: newThrottle(opts.now, opts.LoginTimeout/2), forwards: newForwards(), answers: newAnswers(),
		open: map[*connection]struct{}{}, waiting: map[origin][]*connection{}, sessions: map[uint32]*connection{}, ofUser: map[string]int{}}
	srv.ctx, srv.cancel = context.WithCancelCause(context.Background())
	return srv, nil
}

// admit makes room for a connection. Where there are too many that have not logged in, of its address or in all, one of the
// address that has most of them gives way: a stranger who only holds connections open locks nobody out.
func (srv *Server) admit(s *connection) bool {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.stopping {
		return false
	}
	srv.crowded(s.peer.origin)
	if len(srv.open)-len(srv.sessions) >= srv.opts.MaxSessions+16 {
		most := 0
		var list []*connection
		for _, of := range srv.waiting {
			switch {
			case len(of) > most:
				most, list = len(of), slices.Clone(of)
			case len(of) == most:
				list = append(list, of...)
			}
		}
		if most == 0 { // all of them are ending already
			return false
		}
		slices.SortFunc(list, func(a, b *connection) int { return a.activity.began.Compare(b.activity.began) })
		srv.evict(givesWay(list))
	}
	srv.open[s] = struct{}{}
	srv.waiting[s.peer.origin] = append(srv.waiting[s.peer.origin], s)
	srv.wg.Add(1)
	return true
}

// givesWay is the oldest connection of a list that has not begun to prove its password. Where more than half of them have begun, it is the oldest of those:
// neither silent connections nor such that begin and wait can keep all places from the others.
func givesWay(list []*connection) *connection {
	proving := 0
	for _, s := range list {
		if s.peer.proving {
			proving++
		}
	}
	i := slices.IndexFunc(list, func(s *connection) bool { return s.peer.proving == (2*proving > len(list)) })
	return list[i]
}

// proves notes that a connection has begun to prove its password.
func (srv *Server) proves(s *connection) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	s.peer.proving = true
}

// crowded makes room for one more connection of an origin.
func (srv *Server) crowded(o origin) {
	if list := srv.waiting[o]; !o.shared && len(list) >= srv.opts.MaxPreAuth {
		srv.evict(givesWay(list))
	}
}

// comesFrom puts a connection that waits for its log-in under the client's own address, as its balancer says it.
func (srv *Server) comesFrom(s *connection, client net.Addr) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if s.life.ctx.Err() != nil || srv.stopping { // it was evicted
		return
	}
	srv.unwait(s)
	s.peer.addr, s.peer.origin = client, originOf(client)
	srv.crowded(s.peer.origin)
	srv.waiting[s.peer.origin] = append(srv.waiting[s.peer.origin], s)
}

// evict ends a connection that has not logged in. It is waiting for its client or for its delay; both end here.
func (srv *Server) evict(s *connection) {
	srv.unwait(s)
	s.log.Info("connection closed before its log-in: there are too many", "client", s.peer.address())
	s.life.cancel()
	_ = s.wire.raw.Close()
}

// unwait takes a session off the list of those that have not logged in.
func (srv *Server) unwait(s *connection) {
	list := srv.waiting[s.peer.origin]
	for i := range list {
		if list[i] == s {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if srv.waiting[s.peer.origin] = list; len(list) == 0 {
		delete(srv.waiting, s.peer.origin)
	}
}

// register makes an authenticated session known to cancels and to the stop, and gives it its process id and key.
func (srv *Server) register(s *connection) error {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	switch {
	case srv.stopping:
		return errStopping()
	case s.life.ctx.Err() != nil:
		return errQuiet
	case len(srv.sessions) >= srv.opts.MaxSessions:
		return errTooManyClients()
	case srv.ofUser[s.user] >= srv.opts.MaxSessionsPerUser:
		return sqlerr.New(sqlerr.TooManyConns, "too many connections for role %q", s.user).
			WithHint("A user can have %d sessions at once. Close those that are not needed any more.", srv.opts.MaxSessionsPerUser)
	}
	s.key.secret = make([]byte, keyLength(s.wire.protocol))
	if _, err := io.ReadFull(rand.Reader, s.key.secret); err != nil {
		return err
	}
	for {
		var b [4]byte
		if _, err := io.ReadFull(rand.Reader, b[:]); err != nil {
			return err
		}
		s.key.pid = binary.BigEndian.Uint32(b[:]) &^ (1 << 31) // clients hold it in a signed integer
		if _, taken := srv.sessions[s.key.pid]; !taken && s.key.pid != 0 {
			break
		}
	}
	srv.unwait(s)
	srv.sessions[s.key.pid] = s
	srv.ofUser[s.user]++
	return nil
}

// originOf is where a connection comes from, by the address that it was accepted from.
func (srv *Server) originOf(a net.Addr) origin {
	o := originOf(a)
	for _, b := range srv.opts.Balancers {
		if o.prefix.IsValid() && b.Contains(a.(*net.TCPAddr).AddrPort().Addr().Unmap().WithZone("")) {
			o.shared = true
		}
	}
	return o
}
