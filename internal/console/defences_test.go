package console

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/proxy"
)

// transport keeps no connection, so that none is left of a test.
var transport = &http.Transport{DisableKeepAlives: true}

// endpoints are all of an analyst's, and ownersEndpoints those of the owner's page.
var endpoints, ownersEndpoints = func() ([]string, []string) {
	analysts, owners := (&Server{}).endpoints()
	return slices.Sorted(maps.Keys(analysts)), slices.Sorted(maps.Keys(owners))
}()

// anyBody is one that each endpoint takes.
const anyBody = `{"sql": "SELECT 1", "analyst": "ann"}`

// TestSecrets: every endpoint needs the cookie and the token of one session, by POST, as JSON, from the page itself.
func TestSecrets(t *testing.T) {
	s := serve(t, clinic(t), nil)
	ann, other := s.login(t, "ann"), s.login(t, "ann")
	secrets := func(e string, one, other *browser) {
		for _, a := range []struct {
			what   string
			status int
			change func(*http.Request)
		}{
			{"no token", 401, func(r *http.Request) { r.Header.Del("X-Dpsql-Token") }},
			{"another session's token", 401, func(r *http.Request) { r.Header.Set("X-Dpsql-Token", other.token) }},
			{"the session's name and another's secret", 401, func(r *http.Request) {
				id, _, _ := strings.Cut(one.token, ".")
				_, secret, _ := strings.Cut(other.token, ".")
				r.Header.Set("X-Dpsql-Token", id+"."+secret)
			}},
			{"no cookie", 401, func(r *http.Request) { r.Header.Del("Cookie") }},
			{"another session's cookie", 401, func(r *http.Request) {
				r.Header.Del("Cookie")
				r.AddCookie(other.cookies[0])
			}},
			{"the cookie's name and another's value", 401, func(r *http.Request) {
				r.Header.Del("Cookie")
				r.AddCookie(&http.Cookie{Name: one.cookies[0].Name, Value: other.cookies[0].Value})
			}},
			{"a form of another page", 403, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }},
			{"a page of another port", 403, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }},
			{"an older browser's page of another origin", 403, func(r *http.Request) {
				r.Header.Del("Sec-Fetch-Site")
				r.Header.Set("Origin", "http://127.0.0.1:1")
			}},
			{"GET", 404, func(r *http.Request) { r.Method, r.Body, r.ContentLength = "GET", nil, 0 }},
			{"another name (rebinding)", 421, func(r *http.Request) { r.Host = "evil.example:8543" }},
			{"another address", 421, func(r *http.Request) { r.Host = "192.0.2.1" }},
			{"a name that begins as ours", 421, func(r *http.Request) { r.Host = "localhost.evil.example:8543" }},
			{"a name that begins as our address", 421, func(r *http.Request) { r.Host = "127.0.0.1.evil.example" }},
		} {
			r := one.request("POST", "/api/"+e, strings.NewReader(anyBody))
			a.change(r)
			if resp, text := one.send(r); resp.StatusCode != a.status {
				t.Errorf("%s, %s: %d %s", e, a.what, resp.StatusCode, text)
			}
		}
	}
	for _, e := range endpoints {
		secrets(e, ann, other)
	}
	boss, another := s.owner(t), s.owner(t)
	for _, e := range ownersEndpoints {
		secrets(e, boss, another)
	}
	for _, e := range []string{"explain", "run", "values", "login", "link", "owner/statements", "owner/freeze", "owner/unfreeze"} {
		ann := ann
		if strings.HasPrefix(e, "owner/") {
			ann = boss
		}
		r := ann.request("POST", "/api/"+e, strings.NewReader(anyBody))
		r.Header.Set("Content-Type", "text/plain")
		if resp, text := ann.send(r); resp.StatusCode != 415 {
			t.Errorf("%s of a form: %d %s", e, resp.StatusCode, text)
		}
		r = ann.request("POST", "/api/"+e, strings.NewReader(`{"sql": "`+strings.Repeat(" ", maxBody)+`"}`))
		if resp, text := ann.send(r); resp.StatusCode != 413 {
			t.Errorf("%s of a huge body: %d %s", e, resp.StatusCode, text)
		}
	}
	for _, host := range []string{"localhost:1", "127.0.0.1", "[::1]:9", "localhost"} { // a tunnel's port is another
		r := ann.request("POST", "/api/budget", strings.NewReader(`{}`))
		r.Host = host
		if resp, text := ann.send(r); resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", host, resp.StatusCode, text)
		}
	}
	if n := ann.ask("statements", ""); !strings.Contains(n, `"rows":[]`) {
		t.Errorf("something was run: %s", n)
	}
}

// TestRandom: whatever lets somebody in has at least 128 bits, all of crypto/rand, and no two are alike.
func TestRandom(t *testing.T) {
	s := serve(t, clinic(t), nil)
	const bits128 = `[A-Z2-7]{26}` // in base32
	seen := map[string]bool{}
	check := func(what, form, secret string) {
		t.Helper()
		if !regexp.MustCompile("^"+form+"$").MatchString(secret) || seen[secret] {
			t.Errorf("%s: %q is short or not new", what, secret)
		}
		seen[secret] = true
	}
	for range 3 {
		check("an analyst's link", "#link="+bits128+bits128, s.console.Link("ann", time.Minute))
		check("a link that lasts", "#link="+bits128+bits128, s.console.Link("ann", 0))
		check("an owner's link", "#link="+bits128+bits128, s.console.OwnerLink("root", time.Minute))
		for who, b := range map[string]*browser{"ann": s.login(t, "ann"), "the owner": s.owner(t)} {
			id, token, _ := strings.Cut(b.token, ".")
			check("the session of "+who, bits128, id)
			check("the token of "+who, bits128, token)
			check("the cookie of "+who, bits128, b.cookies[0].Value)
		}
	}
	again := map[uint64]string{} // links are what crypto/rand gives, and nothing else
	for _, seed := range []uint64{1, 2, 1} {
		cryptotest.SetGlobalRandom(t, seed)
		link := New(Options{}).Link("ann", time.Minute)
		if was, ok := again[seed]; ok && was != link {
			t.Errorf("%s, then %s of the same random bytes", was, link)
		}
		again[seed] = link
	}
	if again[1] == again[2] {
		t.Errorf("%s of other random bytes", again[1])
	}
}

// TestHeaders: whatever is answered forbids frames, sniffing, foreign scripts and caches of answers; cookies are for the console alone.
func TestHeaders(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	for _, path := range []string{"/", "/app.js", "/style.css", "/nothing", "/api/login", "/api/budget"} {
		for _, method := range []string{"GET", "POST"} {
			resp, _ := b.send(b.request(method, path, strings.NewReader("{}")))
			h := resp.Header
			for name, want := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
				"X-Frame-Options":         "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
				"Strict-Transport-Security": "", // this machine's other servers may have no TLS
			} {
				if got := h.Get(name); got != want {
					t.Errorf("%s %s: %s is %q, not %q", method, path, name, got, want)
				}
			}
			if kept := h.Get("Cache-Control"); kept != "no-store" && (kept != "no-cache" || strings.HasPrefix(path, "/api/")) {
				t.Errorf("%s %s: caches are told %q", method, path, kept)
			}
		}
	}
	c := b.cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/api/" || c.Domain != "" || c.MaxAge <= 0 {
		t.Errorf("%+v", c)
	}
	if _, page := b.send(b.request("GET", "/", nil)); strings.Contains(page, "<script>") || strings.Contains(page, "<style") || strings.Contains(page, " on") {
		t.Errorf("the page has a script or a style of its own:\n%s", page)
	}
}

// TestSessionEnds: a session ends when it is idle, old, logged out, or ended by the proxy. Its secrets are worth nothing then.
func TestSessionEnds(t *testing.T) {
	s := serve(t, clinic(t), nil)
	late := time.Duration(0)
	s.console.mu.Lock()
	s.console.now = func() time.Time { return time.Now().Add(late) }
	s.console.mu.Unlock()
	after := func(d time.Duration) {
		s.console.mu.Lock()
		late += d
		s.console.mu.Unlock()
	}
	over := func(what string, b *browser) {
		t.Helper()
		for _, e := range endpoints {
			if resp, body := b.post(e, asked{SQL: "SELECT 1"}); resp.StatusCode != 401 {
				t.Errorf("%s, %s: %d %s", what, e, resp.StatusCode, body)
			}
		}
	}
	b := s.login(t, "ann")
	after(29 * time.Minute)
	b.ask("budget", "")
	after(29 * time.Minute)
	b.ask("budget", "")
	after(31 * time.Minute)
	over("idle", b)
	b = s.login(t, "ann")
	for range 24 {
		after(29 * time.Minute)
		b.ask("budget", "")
	}
	after(29 * time.Minute)
	over("old", b)
	b = s.login(t, "ann")
	b.ask("logout", "")
	over("logged out", b)
	b = s.login(t, "ann")
	if n := s.proxy.Terminate("ann"); n != 1 {
		t.Errorf("the proxy has %d sessions", n)
	}
	over("ended by the proxy", b)
	s.login(t, "ann")
	s.proxy.Terminate("ann")
	for kept := 1; kept > 0; { // without another request
		s.console.mu.Lock()
		kept = len(s.console.sessions)
		s.console.mu.Unlock()
	}
	s.login(t, "ann")
	after(time.Hour)
	s.console.endIdle()
	s.console.mu.Lock()
	defer s.console.mu.Unlock()
	if len(s.console.sessions) != 0 {
		t.Errorf("%d sessions are kept", len(s.console.sessions))
	}
}

// TestLinks: a link logs in once, in its time, as its user; one for as long as the console serves logs in again.
func TestLinks(t *testing.T) {
	s := serve(t, clinic(t), nil)
	late := time.Duration(0)
	s.console.now = func() time.Time { return time.Now().Add(late) }
	use := func(link string) (int, string) {
		return s.browser(t).enter(map[string]string{"link": strings.TrimPrefix(link, "#link=")})
	}
	once := s.console.Link("ann", time.Minute)
	for range 2 { // whom it logs in is told before
		if r, body := s.browser(t).post("link", map[string]string{"link": strings.TrimPrefix(once, "#link=")}); r.StatusCode != 200 || body != `{"database":"clinic","owner":false,"user":"ann"}`+"\n" || len(r.Cookies()) > 0 {
			t.Errorf("%d %s", r.StatusCode, body)
		}
	}
	if status, body := use(once); status != 200 || !strings.Contains(body, `"user":"ann"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := use(once); status != 401 {
		t.Errorf("a stolen link: %d", status)
	}
	tardy := s.console.Link("ann", time.Minute)
	late = 2 * time.Minute
	if status, _ := use(tardy); status != 401 {
		t.Errorf("an old link: %d", status)
	}
	always := s.console.Link("bob", 0)
	for range 2 {
		if status, body := use(always); status != 200 || !strings.Contains(body, `"user":"bob"`) {
			t.Errorf("%d %s", status, body)
		}
	}
	for _, link := range []string{"", "x", always + "x", tardy, once} {
		if status, _ := use(link); status != 401 {
			t.Errorf("%q: %d", link, status)
		}
		if r, body := s.browser(t).post("link", map[string]string{"link": strings.TrimPrefix(link, "#link=")}); r.StatusCode != 401 || strings.Contains(body, "ann") {
			t.Errorf("looking at %q: %d %s", link, r.StatusCode, body)
		}
	}
	if status, _ := use(s.console.Link("stranger", time.Minute)); status != 401 { // who is no analyst, or not any more
		t.Errorf("a link of nobody: %d", status)
	}
}

// TestName: a name that no client can send is refused, and is no failure of the server.
func TestName(t *testing.T) {
	s := serve(t, clinic(t), nil)
	if status, body := s.browser(t).enter(map[string]string{"user": "ann\x00", "password": "demo"}); status != 400 {
		t.Errorf("%d %s", status, body)
	}
}

// TestGuesses: passwords are guessed no faster through the console than through the proxy, and in both together no faster than in one. Whether a user exists is not told.
func TestGuesses(t *testing.T) {
	s := serve(t, clinic(t), func(_ *Options, p *proxy.Options) { p.LoginTimeout, p.MaxPreAuth = 2*time.Second, 1000 })
	b := s.browser(t)
	_, known := b.enter(map[string]string{"user": "ann", "password": "wrong"})
	_, unknown := b.enter(map[string]string{"user": "eve", "password": "wrong"})
	if strings.ReplaceAll(known, "ann", "eve") != unknown || !strings.Contains(known, "28P01") {
		t.Errorf("%s %s", known, unknown)
	}
	if len(s.console.known) != 0 {
		t.Error("a wrong guess is a log-in that is remembered")
	}
	// 20 may be tried at once, and then one each second (a log-in takes 2 seconds at most).
	began := time.Now()
	said := make(chan string, 60)
	for i := range cap(said) / 2 {
		if i < 3 { // a few at once: more of one address wait for the console, not for the proxy
			go func() {
				for range cap(said) / 2 / 3 {
					_, body := s.browser(t).enter(map[string]string{"user": "bob", "password": "wrong"})
					said <- body
				}
			}()
		}
		go func() {
			conn, err := pgconn.Connect(context.Background(), fmt.Sprintf("postgres://bob:wrong@%s/clinic?sslmode=disable", s.wire))
			if err == nil {
				_ = conn.Close(context.Background())
			}
			said <- fmt.Sprint(err)
		}()
	}
	taken := 0
	for range cap(said) {
		switch text := <-said; {
		case strings.Contains(text, "password authentication failed"):
			taken++
		case !strings.Contains(text, "too many wrong passwords"):
			t.Errorf("a guess: %s", text)
		}
	}
	if most := 22 + int(time.Since(began).Seconds()); taken > most {
		t.Errorf("%d guesses were taken, of %d", taken, most)
	}
}

// TestManyLogins: of one address few log-ins are under way at once, and so of a user who logged in there before. Those of others, and those who are logged in, go on.
func TestManyLogins(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	connect, arrived := s.console.o.Connect, make(chan net.Conn)
	ended := make(chan int, 2*maxLogins)
	var waiting []net.Conn
	guess := func(user string) {
		s.console.o.Connect = func(net.Addr, string, func()) net.Conn { // a proxy that lets log-ins wait
			ours, theirs := net.Pipe()
			arrived <- ours
			return theirs
		}
		for range maxLogins {
			go func() {
				status, _ := s.browser(t).enter(map[string]string{"user": user, "password": "wrong"})
				ended <- status
			}()
			waiting = append(waiting, <-arrived)
		}
		s.console.o.Connect = connect
	}
	waits := func(user string) {
		t.Helper()
		if status, body := s.browser(t).enter(map[string]string{"user": user, "password": "demo"}); status != 503 || !strings.Contains(body, "too many log-ins") {
			t.Errorf("%s: %d %s", user, status, body)
		}
	}
	guess("eve")
	waits("bob")
	s.login(t, "ann") // she logged in there before
	if s.console.mayLogIn(netip.MustParseAddr("192.0.2.1"), "bob") == nil {
		t.Error("another address waits")
	}
	guess("ann")
	waits("ann")
	if status, body := s.browser(t).enter(map[string]string{"link": strings.TrimPrefix(s.console.Link("ann", time.Minute), "#link=")}); status != 200 {
		t.Errorf("a link waits: %d %s", status, body)
	}
	v6 := func(text string) bool { return s.console.mayLogIn(netip.MustParseAddr(text), "ann") != nil }
	for range maxLogins {
		v6("2001:db8::1")
	}
	if v6("2001:db8::2") || !v6("2001:db8:0:1::1") {
		t.Error("addresses are counted other than by their /64")
	}
	b.ask("budget", "")
	for _, c := range waiting {
		_ = c.Close()
		if status := <-ended; status != 503 {
			t.Errorf("a log-in without an answer: %d", status)
		}
	}
	s.login(t, "bob")
	s.login(t, "ann")
}

// TestManyGood: of those who logged in before only so many are remembered, the latest among them.
func TestManyGood(t *testing.T) {
	c := New(Options{})
	at := netip.MustParseAddr("192.0.2.1")
	for i := range maxKnown + 2 {
		c.rememberLogin(at, fmt.Sprint(i))
	}
	if len(c.known) != maxKnown || !c.known[origin{proxy.Network(at), hashOf(fmt.Sprint(maxKnown + 1))}] {
		t.Errorf("%d", len(c.known))
	}
}

// TestEnvironment: what the environment and files say of other servers does not reach log-ins to the proxy.
func TestEnvironment(t *testing.T) {
	s := serve(t, clinic(t), nil)
	for name, value := range map[string]string{"PGSERVICE": "none", "PGHOST": "elsewhere", "PGPORT": "no port", "PGSSLROOTCERT": "/none", "PGSSLMODE": "verify-full", "PGTARGETSESSIONATTRS": "standby", "PGCONNECT_TIMEOUT": "never",
		"PGREQUIREAUTH": "gss", "PGCHANNELBINDING": "require", "PGMINPROTOCOLVERSION": "9", "PGOPTIONS": "-c nothing=1", "PGUSER": "bob", "PGDATABASE": "none", "PGTZ": "Nowhere"} {
		t.Setenv(name, value)
	}
	s.login(t, "ann").ask("budget", "")
}

// TestConnections: connections that send nothing, or half a log-in, give way to new ones, the oldest first, among those of an address and among all. What runs goes on.
func TestConnections(t *testing.T) {
	began := make(chan struct{}, 1)
	s := serve(t, stalled{clinic(t), began}, nil)
	ann, boss := s.login(t, "ann"), s.owner(t)
	ended := make(chan []event)
	go func() { ended <- ann.run("SELECT count(*) FROM encounters") }()
	<-began
	flood := func(from, sent string, n int) (oldest net.Conn) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		for range n {
			conn, err := d.Dial("tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Fatal(err)
			}
			if oldest == nil {
				oldest = conn
			}
		}
		return oldest
	}
	const half = "POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
	oldest := flood("127.0.0.1", half, maxOfAddress+20)
	if text, err := io.ReadAll(oldest); len(text) > 0 {
		t.Errorf("the oldest was answered: %s %v", text, err)
	}
	boss.ask("owner/budget", "")
	for _, from := range []string{"127.0.0.2", "127.0.0.3"} {
		flood(from, "", maxOfAddress)
	}
	elsewhere := flood("127.0.0.4", "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", 1)
	if n, err := elsewhere.Read(make([]byte, 1)); n == 0 {
		t.Errorf("another address has no place: %v", err)
	}
	boss.order("freeze", "ann")
	if list := <-ended; len(of(list, "error")) != 1 {
		t.Errorf("what ran: %v", list)
	}
}

// TestWaiting: an analyst's requests wait for the statement that runs, few of them and not for long, and their connections keep nobody else at that address out.
func TestWaiting(t *testing.T) {
	began := make(chan struct{}, 1)
	s := serve(t, stalled{clinic(t), began}, func(o *Options, _ *proxy.Options) { o.Wait = 2 * time.Second })
	ann, bob := s.login(t, "ann"), s.login(t, "bob")
	ended := make(chan []event)
	go func() { ended <- ann.run("SELECT count(*) FROM encounters") }()
	<-began
	flooded := make(chan net.Conn, maxOfAddress+20)
	for range cap(flooded) {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if err := ann.request("POST", "/api/budget", strings.NewReader("{}")).Write(conn); err != nil {
			t.Fatal(err)
		}
		flooded <- conn
	}
	bob.ask("budget", "")
	if r, body := ann.post("budget", struct{}{}); r.StatusCode != http.StatusConflict || !strings.Contains(body, "a statement is running") {
		t.Errorf("ann's: %d %s", r.StatusCode, body)
	}
	ann.ask("cancel", "")
	<-ended
	bob.ask("budget", "")
}

// TestGivesWay: a connection whose request waits gives way to a new one, as one does that sends nothing.
func TestGivesWay(t *testing.T) {
	s := serve(t, clinic(t), nil)
	ann := s.login(t, "ann")
	s.console.mu.Lock()
	for _, one := range s.console.sessions {
		one.inUse <- struct{}{}
		defer one.release()
	}
	s.console.mu.Unlock()
	waits, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := ann.request("POST", "/api/budget", strings.NewReader("{}")).Write(waits); err != nil {
		t.Fatal(err)
	}
	go func() {
		for range maxOfAddress + 20 {
			if conn, err := net.Dial("tcp", s.addr); err == nil {
				t.Cleanup(func() { _ = conn.Close() })
			}
		}
	}()
	if text, err := io.ReadAll(waits); len(text) > 0 {
		t.Errorf("it was answered: %s %v", text, err)
	}
}

// TestLargeRows: events hold about so many bytes, however long rows are, and a log-in is short: what a client does not take, or a stranger sends, is in memory.
func TestLargeRows(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	events := 0
	for _, e := range b.run("SELECT repeat('x', 30000) FROM generate_series(1, 30)") {
		if e.name == "rows" {
			events++
			if len(e.data) > 2*bytesAtOnce {
				t.Errorf("an event of %d bytes", len(e.data))
			}
		}
	}
	if events != 10 {
		t.Errorf("%d events", events)
	}
	if got := of(b.run("SELECT repeat('<', 500000)"), "rows"); len(got) != 1 || len(got[0]) > 500100 { // not escaped: a browser reads no HTML in it
		t.Errorf("%d events of a row, %.60q", len(got), got)
	}
	many := b.run("SELECT FROM generate_series(1, 10001)")
	if rows, _ := rowsOf(t, many); len(rows) != 10000 || !strings.Contains(fmt.Sprint(of(many, "notice")), "the first 10000 rows are shown") {
		t.Errorf("%d rows: %v", len(rows), of(many, "notice"))
	}
	list := b.run("SELECT repeat('x', (1 + 1999999 * (i - 1))::int) FROM generate_series(1, 3) i(i) ORDER BY i")
	if rows := of(list, "rows"); len(rows) != 1 || len(rows[0]) > 100 || !strings.Contains(fmt.Sprint(list), "row 2 has more than 1048576 bytes") || len(of(list, "notice")) != 1 || len(of(list, "done")) != 1 {
		t.Errorf("a row that is too long: %.300s", fmt.Sprint(list))
	}
	if status, body := s.browser(t).enter(map[string]string{"user": strings.Repeat("u", maxLoginBody), "password": "demo"}); status < 400 || strings.Contains(body, "password authentication") {
		t.Errorf("%d %s", status, body)
	}
}

// TestLimits: the sessions of an analyst are as many as the proxy allows, in the console and elsewhere together.
func TestLimits(t *testing.T) {
	s := serve(t, clinic(t), func(_ *Options, p *proxy.Options) { p.MaxSessionsPerUser = 2 })
	s.login(t, "ann")
	b := s.login(t, "ann")
	if status, body := s.browser(t).enter(map[string]string{"user": "ann", "password": "demo"}); status != 401 || !strings.Contains(body, "53300") {
		t.Errorf("%d %s", status, body)
	}
	b.ask("logout", "")
	s.login(t, "ann")
}

// TestSlowClients: a client that sends its request slowly, or does not read its answer, is left; the statement is cancelled and the session goes on.
func TestSlowClients(t *testing.T) {
	s := serve(t, clinic(t), func(o *Options, _ *proxy.Options) { o.Read, o.Write = 300*time.Millisecond, 300*time.Millisecond })
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil { // until the console hangs up
		t.Logf("hung up: %v", err)
	}
	_ = conn.Close()

	b := s.login(t, "ann")
	r := b.request("POST", "/api/run", strings.NewReader(`{"sql": "SELECT repeat('x', 4000) FROM generate_series(1, 10000)"}`))
	if conn, err = net.Dial("tcp", s.addr); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	for _, running := range []bool{true, false} { // until it is asked, and until the console has given the client up: 40 MB are in no buffer
		for strings.Contains(b.ask("explain", "SELECT 1"), "the running statement") != running {
			continue
		}
	}
	if list := b.run("SELECT 1"); len(of(list, "done")) != 1 {
		t.Errorf("afterwards: %v", list)
	}
}

// TestUnfinishedBodies: a request whose body lacks a byte behind its JSON is given up in the time for reading it. It asks nothing, and keeps neither a session nor a connection.
func TestUnfinishedBodies(t *testing.T) {
	s := serve(t, clinic(t), func(o *Options, _ *proxy.Options) { o.Read = 300 * time.Millisecond })
	b := s.login(t, "ann")
	for path, body := range map[string]string{"/api/login": `{"user": "ann", "password": "no"}`, "/api/run": `{"sql": "SELECT 1", "cursor": 0}`} {
		r := b.request("POST", path, strings.NewReader(body+" "))
		var text bytes.Buffer
		if err := r.Write(&text); err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(text.Bytes()[:text.Len()-1]); err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn) // until the console hangs up
		_ = conn.Close()
		if strings.Contains(string(answer), "200 OK") {
			t.Errorf("%s: %s", path, answer)
		}
	}
	if list := b.run("SELECT 1"); len(of(list, "done")) != 1 {
		t.Errorf("afterwards: %v", list)
	}
}

// TestTLS: elsewhere than on this machine's own addresses the console has a certificate, answers to its names alone, and its cookie is never sent in clear text.
func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"dpsql.example"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	cert := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	s := serve(t, clinic(t), func(o *Options, _ *proxy.Options) {
		o.Loopback, o.TLS = false, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert, nil }}
	})
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	to := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "dpsql.example"}}
	for host, want := range map[string]int{"dpsql.example": 200, "dpsql.example:8543": 200, "localhost": 421, "evil.example": 421, "127.0.0.1": 421} {
		r := s.browser(t).request("POST", "/api/login", strings.NewReader(`{"user": "ann", "password": "demo"}`))
		r.URL.Scheme, r.Host = "https", host
		resp, err := to.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want || want == 200 && (!resp.Cookies()[0].Secure || resp.Header.Get("Strict-Transport-Security") == "") {
			t.Errorf("%s: %d %v", host, resp.StatusCode, resp.Cookies())
		}
	}
	if resp, _ := s.browser(t).send(s.browser(t).request("GET", "/", nil)); resp.StatusCode != 400 {
		t.Errorf("clear text: %d", resp.StatusCode)
	}
}

// watched is a response that looks, as it is written, at what else is so.
type watched struct {
	*httptest.ResponseRecorder
	look func()
}

// SetReadDeadline and SetWriteDeadline are of http.ResponseController.
func (w watched) SetReadDeadline(time.Time) error  { return nil }
func (w watched) SetWriteDeadline(time.Time) error { return nil }

func (w watched) Write(b []byte) (int, error) {
	w.look()
	return w.ResponseRecorder.Write(b)
}

// TestAnswersInTurn: a session's long answers are written one at a time, and each is bounded.
func TestAnswersInTurn(t *testing.T) {
	s := serve(t, clinic(t), nil)
	s.login(t, "ann")
	analysts, _ := s.console.endpoints()
	for _, one := range s.console.sessions {
		for _, e := range []string{"explain", "schema", "statements", "values"} {
			held := false
			w := watched{httptest.NewRecorder(), func() { held = len(one.inUse) == 1 }}
			r := httptest.NewRequest("POST", "/api/"+e, strings.NewReader(anyBody))
			r.Header.Set("Content-Type", "application/json")
			if out, err := analysts[e](one, w, r); out != nil || err != nil || !held || len(one.inUse) != 0 {
				t.Errorf("%s: %v %v, held %v", e, out, err, held)
			}
		}
		w := httptest.NewRecorder()
		if s.console.answer(w, one, strings.Repeat("x", maxAnswer)); w.Code != http.StatusUnprocessableEntity || w.Body.Len() > 200 {
			t.Errorf("a long answer: %d, %d bytes", w.Code, w.Body.Len())
		}
		w = httptest.NewRecorder()
		if s.console.fail(w, 422, shown(&pgconn.PgError{Message: strings.Repeat("x", 1<<20)}, "")); w.Body.Len() > 2*mostProblem {
			t.Errorf("an error of %d bytes", w.Body.Len())
		}
	}
}

// TestManyRequests: only so many requests of a session are under way, but for those that end others.
func TestManyRequests(t *testing.T) {
	s := serve(t, clinic(t), nil)
	ann := s.login(t, "ann")
	var one *session
	for _, one = range s.console.sessions {
		one.inUse <- struct{}{}
	}
	statuses := make(chan int)
	for range maxRequests {
		go func() {
			r, _ := ann.post("budget", struct{}{})
			statuses <- r.StatusCode
		}()
	}
	for n := 0; n < maxRequests; {
		one.mu.Lock()
		n = one.requests
		one.mu.Unlock()
	}
	keeps := &http.Transport{}
	defer keeps.CloseIdleConnections()
	r, err := keeps.RoundTrip(ann.request("POST", "/api/explain", strings.NewReader(`{"sql": "`+strings.Repeat(" ", maxBody/2)+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != http.StatusConflict || r.Close { // a client that is closed upon while it sends may not see the answer
		t.Errorf("one more: %d, the connection is closed: %v", r.StatusCode, r.Close)
	}
	_ = r.Body.Close()
	ann.ask("cancel", "")
	one.release()
	for range maxRequests {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("one that waited: %d", status)
		}
	}
	ann.ask("budget", "")
}

// TestUnreadAnswers: a connection whose answer nobody reads gives way to a new one, and ends after a while by itself.
func TestUnreadAnswers(t *testing.T) {
	for what, wait := range map[string]time.Duration{"another comes": time.Hour, "its time is over": time.Millisecond} {
		s := serve(t, clinic(t), func(o *Options, _ *proxy.Options) { o.Write = wait })
		boss := s.owner(t)
		over := make(chan struct{})
		answered := s.console.authenticated(true, func(*session, http.ResponseWriter, *http.Request) (any, error) {
			return strings.Repeat("x", 32<<20), nil
		})
		c := &http.Server{ConnContext: withConn, ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answered(w, r)
			close(over)
		})}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = c.Serve(&limited{Listener: l, of: map[netip.Prefix][]*countedConn{}}) }()
		t.Cleanup(func() { _ = c.Close() })
		unread, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := unread.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		if err := boss.request("POST", "/api/owner/budget", strings.NewReader("{}")).Write(unread); err != nil {
			t.Fatal(err)
		}
		if _, err := unread.Read(make([]byte, 1)); err != nil && wait == time.Hour { // it is being written, or its time was over before
			t.Fatal(err)
		}
		for range maxOfAddress {
			if wait == time.Hour {
				conn, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = conn.Close() })
			}
		}
		select {
		case <-over:
		case <-time.After(time.Minute):
			t.Errorf("%s: the answer is still being written", what)
		}
		_ = unread.Close()
	}
}
