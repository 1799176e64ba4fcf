package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/server"
	asking "github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/proxy"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// wire is an engine as the proxy wants to see it, as in cmd/dpsql.
type wire struct{ *server.Engine }

func (w wire) Open(user, application string) (proxy.Session, error) {
	s, err := asking.NewSession(w.Engine, user, application)
	if err != nil {
		return nil, err
	}
	return wireSession{s}, nil
}

type wireSession struct{ *asking.Session }

func (w wireSession) Prepare(ctx context.Context, st pgsyntax.Statement, params []sqltype.OID) (proxy.Prepared, error) {
	p, err := engine.Prepare(ctx, w.Session, st, params)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// served is a console before a proxy before an engine of the clinic, all as they are served.
type served struct {
	engine  *server.Engine
	proxy   *proxy.Server
	console *Server
	log     *bytes.Buffer
	addr    string // of the console
	wire    string // of the proxy
}

// serve serves the clinic. The noise is the same in each run.
func serve(t testing.TB, b backend.Backend, change func(*Options, *proxy.Options), edits ...string) *served {
	t.Helper()
	s := &served{engine: enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB, edits...), b), log: &bytes.Buffer{}}
	s.engine.Noise = audit.Source(7)
	log := slog.New(slog.NewJSONHandler(s.log, nil))
	owners := &owner.Service{Log: log, Backend: b, Engine: s.engine}
	s.engine.Observer = &owners.Recent
	po, co := proxy.Options{}, Options{Loopback: true, Database: s.engine.Database, Owner: owners, IsFrozen: owners.IsFrozen, Logger: log}
	if change != nil {
		change(&co, &po)
	}
	var err error
	if s.proxy, err = proxy.New(wire{s.engine}, po); err != nil {
		t.Fatal(err)
	}
	co.Connect, owners.Wire = s.proxy.Connect, s.proxy
	s.console = New(co)
	ctx, cancel := context.WithCancel(context.Background())
	var ended []chan error
	for _, on := range []struct {
		addr  *string
		serve func(context.Context, net.Listener) error
	}{{&s.wire, s.proxy.Serve}, {&s.addr, s.console.Serve}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		*on.addr = l.Addr().String()
		end := make(chan error, 1)
		ended = append(ended, end)
		go func() { end <- on.serve(ctx, l) }()
	}
	t.Cleanup(func() {
		cancel()
		for _, end := range ended {
			if err := <-end; err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// until waits for one of the sessions to be so, and gives it.
func (s *served) until(t testing.TB, is func(*session) bool) *session {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		s.console.mu.Lock()
		list := slices.Collect(maps.Values(s.console.sessions))
		s.console.mu.Unlock()
		if i := slices.IndexFunc(list, is); i >= 0 {
			return list[i]
		}
	}
	t.Fatal("no session became so")
	return nil
}

// has says whether a session is the browser's.
func (b *browser) has(s *session) bool {
	_, token, _ := strings.Cut(b.token, ".")
	return s.token == hashOf(token)
}

func clinic(t testing.TB) backend.Backend { return enginetest.Wild.Open(t, funcs.DuckDB) }

// browser is a client with the secrets of one log-in.
type browser struct {
	testing.TB
	at      string
	token   string
	cookies []*http.Cookie
}

func (s *served) browser(t testing.TB) *browser { return &browser{TB: t, at: s.addr} }

// login logs in.
func (s *served) login(t testing.TB, user string) *browser {
	t.Helper()
	b := s.browser(t)
	status, body := b.enter(map[string]string{"user": user, "password": "demo"})
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	return b
}

// owner follows a link to the owner's page.
func (s *served) owner(t testing.TB) *browser {
	t.Helper()
	b := s.browser(t)
	if status, body := b.enter(map[string]string{"link": strings.TrimPrefix(s.console.OwnerLink("root", time.Minute), "#link=")}); status != http.StatusOK || !strings.Contains(body, `"owner":true`) {
		t.Fatalf("%d %s", status, body)
	}
	return b
}

// enter posts a log-in and keeps its secrets.
func (b *browser) enter(by map[string]string) (status int, body string) {
	b.Helper()
	r, body := b.post("login", by)
	var is struct{ Token string }
	if r.StatusCode == http.StatusOK {
		if err := json.Unmarshal([]byte(body), &is); err != nil {
			b.Fatal(err)
		}
		b.token, b.cookies = is.Token, r.Cookies()
	}
	return r.StatusCode, body
}

// request is one to the console, as its page makes it.
func (b *browser) request(method, path string, body io.Reader) *http.Request {
	b.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, "http://"+b.at+path, body)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("X-Dpsql-Token", b.token)
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	return r
}

// response is one whose body was read.
type response struct {
	StatusCode int
	Header     http.Header
}

func (r response) Cookies() []*http.Cookie { return (&http.Response{Header: r.Header}).Cookies() }

// send gives the response, and its whole body.
func (b *browser) send(r *http.Request) (response, string) {
	b.Helper()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		b.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		b.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header}, string(body)
}

func (b *browser) post(endpoint string, body any) (response, string) {
	b.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.Fatal(err)
	}
	return b.send(b.request(http.MethodPost, "/api/"+endpoint, bytes.NewReader(text)))
}

// ask posts a statement with the cursor at its end, and gives what comes back.
func (b *browser) ask(endpoint, sql string) string {
	b.Helper()
	r, body := b.post(endpoint, asked{SQL: sql, Cursor: len(sql)})
	if r.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d %s", sql, r.StatusCode, body)
	}
	return body
}

// event is one of a run.
type event struct {
	name string
	data string
}

// run asks a statement and gives the events.
func (b *browser) run(sql string) []event {
	b.Helper()
	return b.events(b.ask("run", sql))
}

// events are those of a stream.
func (b *browser) events(stream string) (list []event) {
	b.Helper()
	for _, text := range strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(text, "event: "), "\ndata: ")
		if !ok {
			b.Fatalf("no event: %q", text)
		}
		list = append(list, event{name, data})
	}
	return list
}

// of gives the data of a run's events of one name.
func of(list []event, name string) (out []string) {
	for _, e := range list {
		if e.name == name {
			out = append(out, e.data)
		}
	}
	return out
}

// decoded reads JSON.
func decoded[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}
