package console

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Options are what a console needs. Zero times mean the defaults.
type Options struct {
	// Connect is proxy.Server.Connect. It begins a session for a client's address: of the user, who has proved who they are, or with "" of whoever logs in by password.
	Connect  func(client net.Addr, user string, ended func()) net.Conn
	Owner    Owner                                          // what the owner's page asks, and (1) nothing else
	IsFrozen func(ctx context.Context, analyst string) bool // whether the owner stopped an analyst
	Database func() string                                  // the data set's name
	Logger   *slog.Logger                                   // nothing is logged by default
	TLS      *tls.Config                                    // with GetCertificate; nil serves clear text, which is for this machine alone
	Loopback bool                                           // the listener has an address of this machine alone

	Write time.Duration // for a client to take some of an answer; 30 s
	Read  time.Duration // for a request to arrive; 30 s
	Wait  time.Duration // for another request of the same session to end; 30 s
}

// The limits of what a client may send and hold.
const (
	maxBody     = 1 << 20
	maxHeader   = 16 << 10
	maxLogins   = 8       // log-ins of one origin that are under way: each computes a key from its password here, which the proxy's own clients do themselves
	maxKnown    = 10000   // pairs that are remembered, and ended sessions
	maxRequests = 8       // of one session, under way: from before its text is read until its answer is written
	maxAnswer   = 4 << 20 // bytes of an analyst's answer: while it is written it is in memory
)

// Server is a console. It serves one listener, once.
type Server struct {
	o        Options
	log      *slog.Logger
	now      func() time.Time
	mu       sync.Mutex
	sessions map[string]*session // by id
	links    map[secretHash]link // those that were not used
	logins   map[origin]int      // that are under way
	known    map[origin]bool     // pairs that logged in by password before
	ends     map[string]int      // how often EndSessions was called for whom
	lost     map[string]lost     // sessions that the proxy ended, by id
}

// New makes a console that is not serving yet.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&o.Write, 30 * time.Second}, {&o.Read, 30 * time.Second}, {&o.Wait, 30 * time.Second}} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	return &Server{o: o, log: o.Logger, now: time.Now, sessions: map[string]*session{}, links: map[secretHash]link{}, logins: map[origin]int{}, known: map[origin]bool{}, ends: map[string]int{}, lost: map[string]lost{}}
}

// Serve answers browsers on l until ctx ends. Then it accepts no more, gives running requests a moment, and ends all sessions.
func (c *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: c.handler(), ReadHeaderTimeout: min(c.o.Read, 10*time.Second), ReadTimeout: c.o.Read, WriteTimeout: loginTime + c.o.Write, IdleTimeout: time.Minute,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelWarn), TLSConfig: c.o.TLS, ConnContext: withConn, Protocols: new(http.Protocols),
	}
	h.Protocols.SetHTTP1(true) // of HTTP/2 a connection has many requests at once, which maxConnections does not count
	l = &limited{Listener: l, of: map[netip.Prefix][]*countedConn{}}
	done := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(done)
		c.endAll()
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if h.Shutdown(grace) != nil {
			_ = h.Close()
		}
	})
	ticks := time.NewTicker(time.Minute)
	defer ticks.Stop()
	go func() {
		for {
			select {
			case <-ticks.C:
				c.endIdle()
			case <-ctx.Done():
				return
			}
		}
	}()
	serve := h.Serve
	if c.o.TLS != nil {
		serve = func(l net.Listener) error { return h.ServeTLS(l, "", "") }
	}
	err := serve(l)
	if !unhook() {
		<-done
	}
	c.endAll()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// handler answers a session's request with what it returns, unless both are nil: then it has answered.
type handler func(*session, http.ResponseWriter, *http.Request) (any, error)

// handler is the whole page: fixed files and the endpoints, with the defences before both.
func (c *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", files())
	mux.HandleFunc("POST /api/login", c.login)
	mux.HandleFunc("POST /api/link", c.describeLink)
	analysts, owners := c.endpoints()
	for path, serve := range analysts { // (1) an endpoint is served for sessions of its kind alone
		mux.HandleFunc("POST /api/"+path, c.authenticated(false, serve))
	}
	for path, serve := range owners {
		mux.HandleFunc("POST /api/"+path, c.authenticated(true, serve))
	}
	return c.defended(http.NewCrossOriginProtection().Handler(mux))
}

// endpoints are those that need a session: an analyst's, or the owner's.
//
// Proof: claim: what an analyst's page is sent follows from what the proxy sends that analyst, and beside it from public facts: requests, links, policy, sessions, limits, and whether the owner froze the analyst.
// So it shows nothing that a client of the proxy is not shown, and nothing of rows that was not charged. When an answer comes is not covered, as in the proxy.
//
// (1) A request is served for the session whose two secrets it has, by an endpoint of that session's kind. What serves analysts never asks the Owner: of what it knows it is given IsFrozen alone.
// (2) An analyst's session has one connection to the proxy, which asks for the analyst's password unless a link proved the analyst. Cancels, which are sent beside it, have no answer.
// (3) What an endpoint tells of the data it reads from that connection.
// (4) What it tells or refuses of its own follows from the request, from what else of the session or of its address is under way, and from IsFrozen.
// (5) A price spends nothing: EXPLAIN is put before one statement of a kind that it prices, none of which is EXPLAIN or ANALYZE, and the protocol's message takes no second one.
// (6) Progress, warnings and intervals are the proxy's own. The console switches progress and intervals on when the session begins.
//
// TestNeighbours compares all of it with and without one person, on a console that has no Owner.
func (c *Server) endpoints() (analysts, owners map[string]handler) {
	return map[string]handler{
			"logout": c.logout, "budget": c.budget, "explain": c.explain, "cancel": c.cancel, "statements": c.statements, "schema": c.schema, "values": c.values, "run": c.run,
		}, map[string]handler{
			"owner/logout": c.logout, "owner/budget": c.ownersBudget, "owner/history": c.ownersHistory, "owner/statements": c.ownersStatements, "owner/releases": c.ownersReleases,
			"owner/analysts": c.ownersAnalysts, "owner/state": c.ownersState, "owner/freeze": c.freeze, "owner/unfreeze": c.unfreeze,
		}
}

// policyOfContent forbids all but the page's own files. Observable Plot and CodeMirror write style elements; their text is theirs alone.
const policyOfContent = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// defended refuses hosts that are not this server's, and bounds and heads what goes through it.
func (c *Server) defended(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policyOfContent)
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if c.o.TLS != nil {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if !c.isOurs(r.Host) {
			http.Error(w, "This server does not have that name.", http.StatusMisdirectedRequest)
			return
		}
		defer serves(r, false)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// isOurs says whether a Host header names this server. A page elsewhere whose name was bound to our address (DNS rebinding) has its own name in it.
func (c *Server) isOurs(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if ip, err := netip.ParseAddr(name); c.o.Loopback && (name == "localhost" || err == nil && ip.IsLoopback()) {
		return true
	}
	if c.o.TLS == nil {
		return false
	}
	cert, err := c.o.TLS.GetCertificate(&tls.ClientHelloInfo{ServerName: name})
	return err == nil && cert.Leaf != nil && cert.Leaf.VerifyHostname(name) == nil
}
