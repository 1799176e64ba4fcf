package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// loginTime is what a log-in may take: the proxy lets attempts wait that come too fast.
const loginTime = time.Minute

// maxLoginBody is how long a log-in may be: it is read from whoever comes.
const maxLoginBody = 8 << 10

// secretHash is of a secret that only the page has.
type secretHash [sha256.Size]byte

func hashOf(text string) secretHash { return sha256.Sum256([]byte(text)) }

// link lets whoever has its secret log in.
type link struct {
	account
	until time.Time // zero: as long as the console serves
	again bool      // it may be used more than once
}

// Link makes the secret of a link that logs in as a user. It works once, within a time; with 0 it works until the console ends.
func (c *Server) Link(user string, within time.Duration) (fragment string) {
	return c.newLink(account{user: user}, within)
}

// OwnerLink is a Link to the owner's page. What its user does there is recorded as by that name.
func (c *Server) OwnerLink(by string, within time.Duration) (fragment string) {
	return c.newLink(account{user: by, owner: true}, within)
}

func (c *Server) newLink(of account, within time.Duration) (fragment string) {
	secret, l := rand.Text()+rand.Text(), link{account: of}
	if l.again = within == 0; !l.again {
		l.until = c.now().Add(within)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links[hashOf(secret)] = l
	return "#link=" + secret
}

// EndSessions ends an analyst's sessions of the console, or with "" all of the owner's page, and makes their links void. It says how many sessions there were. A log-in that is under way fails.
func (c *Server) EndSessions(analyst string) int {
	isOf := func(a account) bool { return a.owner == (analyst == "") && (a.owner || a.user == analyst) }
	c.mu.Lock()
	c.ends[analyst]++
	maps.DeleteFunc(c.links, func(_ secretHash, l link) bool { return isOf(l.account) })
	c.mu.Unlock()
	return c.endThose(func(s *session) bool { return isOf(s.account) })
}

// account is whom a link or a session is of.
type account struct {
	user  string // an analyst, or the owner's name
	owner bool   // of the owner's page: it has no session of the proxy
}

// endsOf is how often EndSessions was called for an account. It is called under c.mu.
func (c *Server) endsOf(a account) int {
	if a.owner {
		return c.ends[""]
	}
	return c.ends[a.user]
}

// findLink gives a link that works. It is called under c.mu.
func (c *Server) findLink(secret string) (l link, ok bool) {
	l, ok = c.links[hashOf(secret)]
	return l, ok && (l.until.IsZero() || c.now().Before(l.until))
}

// useLink gives a link that works, and uses it up if it works once. It is called under c.mu.
func (c *Server) useLink(secret string) (l link, ok bool) {
	if l, ok = c.findLink(secret); !l.again {
		delete(c.links, hashOf(secret))
	}
	return l, ok
}

// failLink answers for a link that does not work.
func (c *Server) failLink(w http.ResponseWriter) {
	c.fail(w, http.StatusUnauthorized, problem{Message: "this link does not work any more", Hint: "Ask for a new one, or log in with your password."})
}

// describeLink says whom a link logs in, so that the page can ask before it does: whoever follows a link of somebody else's should not ask as that user.
func (c *Server) describeLink(w http.ResponseWriter, r *http.Request) {
	var in struct{ Link string }
	r.Body = http.MaxBytesReader(w, r.Body, maxLoginBody)
	if !c.read(w, r, &in) {
		return
	}
	c.mu.Lock()
	l, ok := c.findLink(in.Link)
	c.mu.Unlock()
	if !ok {
		c.failLink(w)
		return
	}
	c.answer(w, nil, map[string]any{"user": l.user, "owner": l.owner, "database": c.o.Database()})
}

// session is one log-in: a tab of a browser, and an analyst's session of the proxy.
type session struct {
	account
	secrets
	id   string
	born time.Time
	used time.Time // guarded by Server.mu

	gone atomic.Bool // the proxy ended it

	inUse chan struct{} // has a value while a request uses the connection
	conn  *pgconn.PgConn
	tell  func(*pgconn.Notice) // hears what the proxy says beside answers; guarded by inUse

	mu         sync.Mutex
	wire       net.Conn           // to the proxy; nil: none yet
	requests   int                // under way
	running    context.CancelFunc // of the statement that runs; nil: none does
	explaining context.CancelFunc // of the latest explanation
}

// secrets are the two of a session that its page has.
type secrets struct{ cookie, token secretHash }

// areIn says whether a request has both. (1)
func (s secrets) areIn(cookie *http.Cookie, token string) bool {
	has, is := hashOf(cookie.Value), hashOf(token)
	return subtle.ConstantTimeCompare(has[:], s.cookie[:])&subtle.ConstantTimeCompare(is[:], s.token[:]) == 1
}

// lost is what is kept of an analyst's session that the proxy ended: its page is told why.
type lost struct {
	secrets
	user  string
	until time.Time
}

const cookiePrefix = "dpsql_"

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
		if ended == nil {
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
	http.SetCookie(w, c.cookieOf(s, cookie, int(c.o.Most.Seconds())))
	c.answer(w, s, map[string]any{"token": s.id + "." + token, "user": s.user, "owner": s.owner, "database": c.o.Database(), "again": l.again})
}

// cookieOf is a session's cookie. Cookies ignore ports, so each session has a name of its own.
func (c *Server) cookieOf(s *session, value string, age int) *http.Cookie {
	return &http.Cookie{Name: cookiePrefix + s.id, Value: value, Path: "/api/", MaxAge: age, HttpOnly: true, Secure: c.o.TLS != nil, SameSite: http.SameSiteStrictMode} //nolint:gosec // G124: on this machine's own addresses there is no TLS
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
	// (6) progress follows from what is public, and intervals stand behind the rows of every session inside
	cfg.RuntimeParams = map[string]string{"application_name": "dpsql console", "options": "-c dpsql.progress=on -c dpsql.notices=brief"}
	cfg.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"inside"}, nil }
	var dialed atomic.Bool // the session; what is dialed later are cancels
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		if dialed.Swap(true) {
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

// network is whose an address is: itself, or the /64 of IPv6, which one client has whole.
func network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	p, _ := a.Prefix(min(a.BitLen(), 64)) // of no address: the zero one
	return p
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
	of := origin{network(from), hashOf(user)}
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
	c.known[origin{network(from), hashOf(user)}] = true
}

// authenticated serves the requests of analysts' sessions, or of owners', and of no others. Both secrets are needed: the cookie, which scripts cannot read, and the token, which other servers on this host are not sent.
func (c *Server) authenticated(owner bool, serve handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := c.sessionOf(r)
		if s == nil || s.owner != owner { // (1) the endpoints are of one kind of session
			c.ended(w, r, c.lostBy(r))
			return
		}
		if !strings.HasSuffix(r.URL.Path, "/cancel") && !strings.HasSuffix(r.URL.Path, "/logout") { // these end what others hold
			if !s.begin() {
				c.refuse(w, r, http.StatusConflict, busy)
				return
			}
			defer s.done()
		}
		serves(r, true)
		out, err := serve(s, w, r)
		c.mu.Lock()
		s.used = c.now()
		c.mu.Unlock()
		serves(r, false) // while the answer is written: one that nobody reads gives way
		switch {
		case s.gone.Load():
			c.end(s)
			if out != nil || err != nil { // else it has answered
				c.ended(w, r, s.account)
			}
		case errors.Is(err, errBusy):
			c.fail(w, http.StatusConflict, busy)
		case err != nil && s.owner:
			c.fail(w, http.StatusUnprocessableEntity, ownersProblem(err))
		case err != nil:
			c.fail(w, http.StatusUnprocessableEntity, shown(err, ""))
		case out != nil:
			c.answer(w, s, out)
		}
	}
}

// errBusy refuses a request whose session's connection is in use.
var errBusy = errors.New("the session's connection is in use")

// busy is what the page says of it.
var busy = problem{Message: "a statement is running", Hint: "Cancel it, or wait for its answer."}

// begin counts a request of the session, with what it holds until its answer is written; false where there are too many. done ends it.
func (s *session) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == maxRequests {
		return false
	}
	s.requests++
	return true
}

func (s *session) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests--
}

// acquire gets a session's connection for a request, which does not wait long. Its own connection gives way to new ones meanwhile: one session keeps nobody else out.
func (c *Server) acquire(s *session, r *http.Request) error {
	serves(r, false)
	defer serves(r, true)
	wait := time.NewTimer(c.o.Wait)
	defer wait.Stop()
	select {
	case s.inUse <- struct{}{}:
		return nil
	case <-wait.C:
		return errBusy
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// release lets the next request have the connection.
func (s *session) release() { <-s.inUse }

// sessionOf is a request's session; nil where there is none, or it has ended.
func (c *Server) sessionOf(r *http.Request) *session {
	id, token, _ := strings.Cut(r.Header.Get("X-Dpsql-Token"), ".")
	cookie, err := r.Cookie(cookiePrefix + id)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	s := c.sessions[id]
	over := s != nil && c.isOver(s)
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	if !s.areIn(cookie, token) { // (1)
		return nil
	}
	if over {
		c.end(s)
		return nil
	}
	return s
}

// isOver says whether a session was idle too long, is too old, or was ended by the proxy. It is called under c.mu.
func (c *Server) isOver(s *session) bool {
	now := c.now()
	return !s.isRunning() && now.Sub(s.used) > c.o.Idle || now.Sub(s.born) > c.o.Most || s.gone.Load()
}

func (s *session) isRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running != nil
}

// logout ends the session, and its running statement.
func (c *Server) logout(s *session, w http.ResponseWriter, _ *http.Request) (any, error) {
	http.SetCookie(w, c.cookieOf(s, "", -1))
	c.end(s)
	c.answer(w, s, struct{}{})
	return nil, nil
}

// end closes a session. What runs in it is cancelled.
func (c *Server) end(s *session) {
	c.mu.Lock()
	_, was := c.sessions[s.id]
	delete(c.sessions, s.id)
	if was && !s.owner && s.gone.Load() && len(c.lost) < maxKnown {
		c.lost[s.id] = lost{s.secrets, s.user, c.now().Add(c.o.Idle)}
	}
	c.mu.Unlock()
	c.close(s, was)
}

// close ends what a session has open. It does not wait for a client that does not read its answer.
func (c *Server) close(s *session, was bool) {
	if s.owner && was {
		c.log.Warn("the owner's page was closed", "by", s.user, "session", s.id)
	}
	s.gone.Store(true)
	s.cancelAll()
	select {
	case s.inUse <- struct{}{}:
		defer s.release()
		if s.conn != nil { // else the owner's, or one that could not log in
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = s.conn.Close(ctx)
		}
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.wire != nil {
			_ = s.wire.Close()
		}
	}
}

// endThose ends the sessions that are chosen, and says how many. First no request is theirs any more; then they are closed.
func (c *Server) endThose(chosen func(*session) bool) int {
	c.mu.Lock()
	var list []*session
	for id, s := range c.sessions {
		if chosen(s) {
			list = append(list, s)
			delete(c.sessions, id)
		}
	}
	c.mu.Unlock()
	var closing sync.WaitGroup
	for _, s := range list {
		closing.Go(func() { c.close(s, true) })
	}
	closing.Wait()
	return len(list)
}

// endIdle ends the sessions that are over.
func (c *Server) endIdle() {
	c.endThose(c.isOver)
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, l := range c.links {
		if !l.until.IsZero() && c.now().After(l.until) {
			delete(c.links, at)
		}
	}
	maps.DeleteFunc(c.lost, func(_ string, l lost) bool { return c.now().After(l.until) })
}

// endAll ends all sessions.
func (c *Server) endAll() { c.endThose(func(*session) bool { return true }) }

// lostBy is whose session a request was for that the proxy ended; the zero account where it had none.
func (c *Server) lostBy(r *http.Request) account {
	id, token, _ := strings.Cut(r.Header.Get("X-Dpsql-Token"), ".")
	cookie, err := r.Cookie(cookiePrefix + id)
	c.mu.Lock()
	l := c.lost[id]
	c.mu.Unlock()
	if err != nil || !l.areIn(cookie, token) { // (1)
		return account{}
	}
	return account{user: l.user}
}

// ended answers for a session that has ended.
func (c *Server) ended(w http.ResponseWriter, r *http.Request, of account) {
	c.refuse(w, r, http.StatusUnauthorized, c.endOf(r.Context(), of))
}

// refuse answers a request whose body may not have been read. It is read and forgotten first: the server would close the connection of a long one, and a client that still writes would not see the answer.
func (c *Server) refuse(w http.ResponseWriter, r *http.Request, status int, p problem) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		c.log.Debug("console: a refused request did not arrive")
	}
	c.fail(w, status, p)
}

// endOf is what the page says of a session that has ended. A freeze ends an analyst's sessions. (4)
func (c *Server) endOf(ctx context.Context, of account) problem {
	if of.user != "" && !of.owner && c.o.Owner.IsFrozen(ctx, of.user) {
		return problem{Message: "this session has ended: the owner of the data has frozen your account", Hint: "Ask the owner. Answers are given again once the freeze is lifted."}
	}
	return problem{Message: "this session has ended", Hint: "Log in again."}
}

// read takes a request's JSON.
func (c *Server) read(w http.ResponseWriter, r *http.Request, into any) bool {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		c.fail(w, http.StatusUnsupportedMediaType, problem{Message: "the request is not JSON"})
		return false
	}
	serves(r, false) // while it arrives
	err := json.NewDecoder(r.Body).Decode(into)
	serves(r, err == nil)
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		c.fail(w, http.StatusRequestEntityTooLarge, problem{Message: "the request is too long"})
	case err != nil:
		c.fail(w, http.StatusBadRequest, problem{Message: "the request cannot be read"})
	default: // else the end of the time for reading it would look as if the client left
		err = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	return err == nil
}
