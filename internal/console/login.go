package console

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dpsql/dpsql/proxy"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// loginTime is what a log-in may take: the proxy lets attempts wait that come too fast.
const loginTime = time.Minute

// maxLoginBody is how long a log-in may be: it is read from whoever comes.
const maxLoginBody = 8 << 10

// login checks a password, or a link, by a log-in to the proxy. The page's own part is only to carry it: the proxy compares, counts and delays as it does for all its clients.
func (c *Server) login(w http.ResponseWriter, r *http.Request) {
	var in struct{ User, Password, Link string }
	r.Body = http.MaxBytesReader(w, r.Body, maxLoginBody)
	if !c.read(w, r, &in) {
		return
	}
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if in.Link == "" { // a link proves its user: others' guesses do not keep it waiting
		var ended func()
		if err == nil {
			ended = c.mayLogIn(at.Addr(), in.User)
		}
		if ended == nil { // (4) it follows from who else logs in
			c.fail(w, http.StatusServiceUnavailable, problem{Message: "too many log-ins from this address are under way", Hint: "Try again in a minute."})
			return
		}
		defer ended()
	}
	if strings.ContainsRune(in.User, 0) { // the proxy could not read it
		c.fail(w, http.StatusBadRequest, problem{Message: "the request cannot be read"})
		return
	}
	l, ok := link{account: account{user: in.User}}, true
	c.mu.Lock()
	if in.Link != "" {
		l, ok = c.useLink(in.Link)
		in.Password = ""
	}
	ends := c.endsOf(l.account)
	c.mu.Unlock()
	if !ok {
		c.failLink(w)
		return
	}
	s := &session{id: rand.Text(), account: l.account, born: c.now(), used: c.now(), inUse: make(chan struct{}, 1)}
	if !s.owner {
		proved := ""
		if in.Link != "" {
			proved = l.user
		}
		err = c.open(r.Context(), s, at, in.Password, proved)
	}
	if err != nil {
		var refused *pgconn.PgError
		if !errors.As(err, &refused) {
			c.log.Error("console: log-in", "error", "the proxy did not answer")
			c.fail(w, http.StatusServiceUnavailable, problem{Message: "dpsql does not take log-ins now", Hint: "Try again in a minute."})
			return
		}
		c.fail(w, http.StatusUnauthorized, shown(err, ""))
		return
	}
	if in.Link == "" {
		c.rememberLogin(at.Addr(), s.user)
	}
	if s.owner {
		c.log.Warn("the owner's page was opened", "by", s.user, "client", r.RemoteAddr, "session", s.id)
	}
	cookie, token := rand.Text(), rand.Text()
	s.cookie, s.token = hashOf(cookie), hashOf(token)
	c.mu.Lock()
	c.sessions[s.id] = s
	stays := c.endsOf(s.account) == ends && !s.gone.Load() // else it was ended while it was not there yet
	c.mu.Unlock()
	if !stays {
		c.end(s)
		c.ended(w, r, s.account)
		return
	}
	http.SetCookie(w, c.cookieOf(s, cookie, int(sessionTime.Seconds())))
	c.answer(w, s, map[string]any{"token": s.id + "." + token, "user": s.user, "owner": s.owner, "database": c.o.Database(), "again": l.again})
}

// inside is what connections to the proxy begin with. pgconn alone can make it, and mixes in what the environment (PGSERVICE and many more) and the files of its user say of other servers.
// So it is made before all else, while the environment has none of it.
var inside = func() *pgconn.Config {
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "PG") {
			_ = os.Unsetenv(name)
			defer func() { _ = os.Setenv(name, value) }()
		}
	}
	cfg, err := pgconn.ParseConfig("host=inside user=nobody sslmode=disable passfile='' sslrootcert='' sslcert='' sslkey=''")
	if err != nil {
		panic(err)
	}
	return cfg
}()

// open logs a session in to the proxy. proved is the user whom a link proved. A session that the proxy ends is dropped at once.
func (c *Server) open(ctx context.Context, s *session, at netip.AddrPort, password, proved string) error {
	cfg := inside.Copy()
	cfg.User, cfg.Password, cfg.Database = s.user, password, c.o.Database()
	// (6) the proxy tells progress and intervals; the console only asks for them
	cfg.RuntimeParams = map[string]string{"application_name": "dpsql console", "options": "-c dpsql.progress=on -c dpsql.notices=brief"}
	cfg.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"inside"}, nil }
	var dialed atomic.Bool // the session; what is dialed later are cancels
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		if dialed.Swap(true) { // (2) a cancel, which has no answer
			return c.o.Connect(net.TCPAddrFromAddrPort(at), proved, func() {}), nil
		}
		conn := c.o.Connect(net.TCPAddrFromAddrPort(at), proved, func() { // (2) proved is of the link that was followed; without one the proxy asks for the password
			s.gone.Store(true)
			go c.end(s)
		})
		s.mu.Lock()
		s.wire = conn
		s.mu.Unlock()
		return conn, nil
	}
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if s.tell != nil {
			s.tell(n)
		}
	}
	cfg.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: time.Minute}
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	s.inUse <- struct{}{}
	defer s.release()
	var err error
	s.conn, err = pgconn.ConnectConfig(ctx, cfg)
	return err
}

// origin is what log-ins are counted by: an address (of IPv6 a /64), or a user at an address who logged in there before.
type origin struct {
	from netip.Prefix
	user secretHash // zero: any other
}

// mayLogIn counts a log-in by password that begins, and tells how to count its end; nil refuses it.
//
// A pair of user and address that logged in before is counted by itself, as the proxy counts it: guesses of other users there do not keep it waiting. Those of the same user do.
func (c *Server) mayLogIn(from netip.Addr, user string) (ended func()) {
	of := origin{proxy.Network(from), hashOf(user)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known[of] {
		of.user = secretHash{}
	}
	if c.logins[of] == maxLogins {
		return nil
	}
	c.logins[of]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.logins[of]--; c.logins[of] == 0 {
			delete(c.logins, of)
		}
	}
}

// rememberLogin remembers that a user logged in by password from an address. Where there are too many, any other is forgotten.
func (c *Server) rememberLogin(from netip.Addr, user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for of := range c.known {
		if len(c.known) < maxKnown {
			break
		}
		delete(c.known, of)
	}
	c.known[origin{proxy.Network(from), hashOf(user)}] = true
}
