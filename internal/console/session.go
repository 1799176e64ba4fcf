package console

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

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

// secretsOf are a session's name and the secrets that a request has; false where one is missing.
func secretsOf(r *http.Request) (id string, has secrets, ok bool) {
	id, token, _ := strings.Cut(r.Header.Get("X-Dpsql-Token"), ".")
	cookie, err := r.Cookie(cookiePrefix + id)
	if err != nil {
		return id, secrets{}, false
	}
	return id, secrets{hashOf(cookie.Value), hashOf(token)}, true
}

// are says whether both are a request's. It takes as long whichever differs.
func (s secrets) are(has secrets) bool {
	return subtle.ConstantTimeCompare(has.cookie[:], s.cookie[:])&subtle.ConstantTimeCompare(has.token[:], s.token[:]) == 1 // (1) both secrets are the session's
}

// lost is what is kept of an analyst's session that the proxy ended: its page is told why.
type lost struct {
	secrets
	user  string
	until time.Time
}

// A session ends when it had no request for idleTime, and after sessionTime.
const (
	idleTime    = 30 * time.Minute
	sessionTime = 12 * time.Hour
)

const cookiePrefix = "dpsql_"

// cookieOf is a session's cookie. Cookies ignore ports, so each session has a name of its own.
func (c *Server) cookieOf(s *session, value string, age int) *http.Cookie {
	return &http.Cookie{Name: cookiePrefix + s.id, Value: value, Path: "/api/", MaxAge: age, HttpOnly: true, Secure: c.o.TLS != nil, SameSite: http.SameSiteStrictMode} //nolint:gosec // G124: on this machine's own addresses there is no TLS
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
			if !s.begin() { // (4) it follows from the session's own requests
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
	id, has, ok := secretsOf(r)
	c.mu.Lock()
	s := c.sessions[id]
	over := s != nil && c.isOver(s)
	c.mu.Unlock()
	if !ok || s == nil || !s.are(has) { // (1) whoever lacks a secret of the session has none
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
	return !s.isRunning() && now.Sub(s.used) > idleTime || now.Sub(s.born) > sessionTime || s.gone.Load()
}

func (s *session) isRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running != nil
}

// cancelAll ends what is under way.
func (s *session) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range []context.CancelFunc{s.running, s.explaining} {
		if cancel != nil {
			cancel()
		}
	}
}

// noteEnd sees whether the proxy ended the session. The caller has acquired it.
func (s *session) noteEnd() {
	if s.conn.IsClosed() {
		s.gone.Store(true)
	}
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
		c.lost[s.id] = lost{s.secrets, s.user, c.now().Add(idleTime)}
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

// EndSessions ends an analyst's sessions of the console, or with "" all of the owner's page, and makes their links void. It says how many sessions there were. A log-in that is under way fails.
func (c *Server) EndSessions(analyst string) int {
	isOf := func(a account) bool { return a.owner == (analyst == "") && (a.owner || a.user == analyst) }
	c.mu.Lock()
	c.ends[analyst]++
	maps.DeleteFunc(c.links, func(_ secretHash, l link) bool { return isOf(l.account) })
	c.mu.Unlock()
	return c.endThose(func(s *session) bool { return isOf(s.account) })
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
	id, has, ok := secretsOf(r)
	c.mu.Lock()
	l := c.lost[id]
	c.mu.Unlock()
	if !ok || !l.are(has) { // (1) only who had the session is told of its end
		return account{}
	}
	return account{user: l.user}
}

// ended answers for a session that has ended.
func (c *Server) ended(w http.ResponseWriter, r *http.Request, of account) {
	c.refuse(w, r, http.StatusUnauthorized, c.endOf(r.Context(), of))
}

// endOf is what the page says of a session that has ended. A freeze ends an analyst's sessions.
func (c *Server) endOf(ctx context.Context, of account) problem {
	if of.user != "" && !of.owner && c.o.IsFrozen(ctx, of.user) { // (4) of the Owner's, this alone
		return problem{Message: "this session has ended: the owner of the data has frozen your account", Hint: "Ask the owner. Answers are given again once the freeze is lifted."}
	}
	return problem{Message: "this session has ended", Hint: "Log in again."}
}

// secretHash is of a secret that only the page has.
type secretHash [sha256.Size]byte

func hashOf(text string) secretHash { return sha256.Sum256([]byte(text)) }

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
