package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/proxy"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/testdata/demo"
)

// The examples of the documents run as an analyst's would: over the wire, through the proxy, before the demo or the clinic.

// Place is where an example runs.
type Place struct {
	On      string            `yaml:"on"`      // demo (default) or clinic
	As      string            `yaml:"as"`      // the user; the demo's analyst or the clinic's ann
	Given   string            `yaml:"given"`   // what happened before: a key of givens
	Policy  [][]string        `yaml:"policy"`  // edits of the policy: old and new text
	Connect map[string]string `yaml:"connect"` // what the client gives otherwise: user, password, dbname
}

// user is who asks.
func (p Place) user() string {
	switch {
	case p.As != "":
		return p.As
	case p.On == "clinic":
		return "ann"
	}
	return "analyst"
}

// own says that the example needs a server of its own: with the policy's own budget, which others have not used.
func (p Place) own() bool { return p.Given != "" || p.As != "" }

// plenty is a budget that the examples of one server share.
var plenty = []string{"{epsilon: 20, delta: 1e-6}", "{epsilon: 10000, delta: 1e-6}"}

func (p Place) policy(t *testing.T) *policy.Policy {
	t.Helper()
	var edits []string
	if !p.own() {
		edits = plenty
	}
	for _, e := range p.Policy {
		edits = append(edits, e...)
	}
	if p.On == "clinic" {
		return enginetest.ClinicPolicyFor(t, funcs.DuckDB, edits...)
	}
	file, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(file)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("the policy has no %q", edits[i])
		}
		text = strings.ReplaceAll(text, edits[i], edits[i+1])
	}
	pol, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

// clinicTables is what the clinic's policy says of its tables.
func clinicTables() string {
	_, text, _ := strings.Cut(enginetest.ClinicPolicy, "unit: ")
	text, _, _ = strings.Cut(text, "budget:")
	return "unit: " + text
}

// served is a proxy before an engine.
type served struct {
	engine *server.Engine
	addr   string
	clock  time.Time
	name   string

	mu   sync.Mutex
	last error // what the engine said last
}

// site has the servers of one test.
type site struct {
	t       *testing.T
	servers map[string]*served
}

func newSite(t *testing.T) *site { return &site{t, map[string]*served{}} }

// serve gives a place's server: one for all examples of a policy, but for those that need their own.
func (w *site) serve(t *testing.T, p Place) *served {
	t.Helper()
	key := fmt.Sprint(p.On, p.Policy)
	if s := w.servers[key]; s != nil && !p.own() {
		return s
	}
	var data backend.Backend
	if data = enginetest.DemoDuck(t); p.On == "clinic" {
		data = enginetest.Tame.Open(t, funcs.DuckDB)
	}
	pol := p.policy(t)
	s := &served{name: pol.Dataset, clock: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)}
	e, err := server.Open(context.Background(), server.Options{Policy: pol, Backend: data, LedgerPath: filepath.Join(w.t.TempDir(), "ledger"),
		Now: func() time.Time { return s.clock }})
	if err != nil {
		t.Fatal(err)
	}
	s.engine = e
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- proxy.Serve(ctx, l, listening{e, s}, proxy.Options{}) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		_ = e.Close()
	})
	s.addr = l.Addr().String()
	if !p.own() {
		w.servers[key] = s
	}
	return s
}

// listening is an engine that keeps what it answered: the wire does not carry an error's id.
type listening struct {
	*server.Engine
	to *served
}

type listeningSession struct {
	*session.Session
	to *served
}

type listeningPrepared struct {
	*engine.Prepared
	to *served
}

func (s *served) heard(err error) error {
	if err != nil {
		s.mu.Lock()
		s.last = err
		s.mu.Unlock()
	}
	return err
}

func (w listening) Open(user, application string) (proxy.Session, error) {
	s, err := session.NewSession(w.Engine, user, application)
	if err != nil {
		return nil, w.to.heard(err)
	}
	return listeningSession{s, w.to}, nil
}

func (w listeningSession) Prepare(ctx context.Context, st pgsyntax.Statement, params []sqltype.OID) (proxy.Prepared, error) {
	p, err := engine.Prepare(ctx, w.Session, st, params)
	if err != nil {
		return nil, w.to.heard(err)
	}
	return listeningPrepared{p, w.to}, nil
}

func (w listeningPrepared) Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error) {
	a, err := w.Prepared.Run(ctx, args)
	return a, w.to.heard(err)
}

func (s *served) dial(user, password, database string) (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return pgconn.Connect(ctx, fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", user, password, s.addr, database))
}

var hasParameter = regexp.MustCompile(`\$[1-9]`)

// ask runs one statement; one with $1 is prepared only.
func (s *served) ask(c *pgconn.PgConn, sql string) error {
	s.mu.Lock()
	s.last = nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if hasParameter.MatchString(sql) {
		_, err := c.Prepare(ctx, "", sql, nil)
		return err
	}
	return c.Exec(ctx, sql).Close()
}

// id is a refusal's stable id: the wire has only the SQLSTATE.
func (s *served) id(sql string, err error) string {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return "no error of a server: " + err.Error()
	}
	var ids []string
	for _, k := range sqlerr.Kinds() {
		if k.Code == pe.Code {
			ids = append(ids, k.ID)
		}
	}
	if len(ids) == 1 {
		return ids[0]
	}
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	for _, e := range []error{last, parseError(sql)} {
		if id := sqlerr.ID(e); slices.Contains(ids, id) {
			return id
		}
	}
	return sqlerr.Unsupported.ID // of the proxy's own, by which session statements are refused
}

func parseError(sql string) error {
	_, err := pgsyntax.Parse(sql)
	return err
}

// shown is an error as psql shows it.
func shown(sql string, pe *pgconn.PgError) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:  %s\n", pe.Severity, pe.Message)
	if pe.Position > 0 {
		at := int(pe.Position) - 1
		line := 1
		for text := range strings.Lines(sql) {
			text = strings.TrimSuffix(text, "\n")
			if n := utf8.RuneCountInString(text); at > n {
				at -= n + 1
				line++
				continue
			}
			head := fmt.Sprintf("LINE %d: ", line)
			fmt.Fprintf(&b, "%s%s\n%s^\n", head, text, strings.Repeat(" ", len(head)+at))
			break
		}
	}
	if pe.Detail != "" {
		fmt.Fprintf(&b, "DETAIL:  %s\n", pe.Detail)
	}
	if pe.Hint != "" {
		fmt.Fprintf(&b, "HINT:  %s\n", pe.Hint)
	}
	return b.String()
}

// given is something that happened before an example: words for the reader, and what the test does.
type given struct {
	words string
	do    func(t *testing.T, s *served, user string)
}

var givens = map[string]given{
	"frozen": {"the owner has run `dpsql freeze`", func(t *testing.T, s *served, user string) {
		if err := s.engine.Freeze(context.Background(), user, "owner"); err != nil {
			t.Fatal(err)
		}
	}},
	"raised elsewhere": {"another server's owner has raised the budget", func(_ *testing.T, s *served, _ string) { enginetest.RaiseElsewhere(s.engine) }},
	"ledger closed":    {"the ledger cannot be written", func(_ *testing.T, s *served, _ string) { _ = s.engine.Close() }},
	"five failures":    {"five of this analyst's statements have ended in `resource_failure`", func(_ *testing.T, s *served, user string) { enginetest.FailFor(s.engine, user) }},
	"a window later": {"one window of the budget was used, and the next has begun", func(t *testing.T, s *served, user string) {
		c, err := s.dial(user, "demo", s.name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(context.Background()) }()
		if err := s.ask(c, "SELECT count(*) FROM encounters"); err != nil {
			t.Fatal(err)
		}
		s.clock = s.clock.AddDate(0, 1, 0)
	}},
	"twenty sessions": {"the analyst has twenty sessions already", func(t *testing.T, s *served, user string) {
		for range 20 {
			c, err := s.dial(user, "demo", s.name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close(context.Background()) })
		}
	}},
}

// mayFail begins a statement that fails before the one that is looked at.
const mayFail = "! "

// refusal runs statements of which only the last may fail, and must; where the place says how to connect, connecting must.
func (w *site) refusal(t *testing.T, p Place, list []string) (*pgconn.PgError, string) {
	t.Helper()
	s := w.serve(t, p)
	if p.Given != "" {
		g, ok := givens[p.Given]
		if !ok {
			t.Fatalf("nothing is called %q", p.Given)
		}
		g.do(t, s, p.user())
	}
	var pe *pgconn.PgError
	c, err := s.dial(p.connection(s.name))
	if p.Connect != nil {
		if !errors.As(err, &pe) {
			t.Fatalf("the connection is not refused: %v", err)
		}
		return pe, s.id("", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	for i, sql := range list {
		text, mayFail := strings.CutPrefix(sql, mayFail)
		err := s.ask(c, text)
		if i < len(list)-1 {
			if (err != nil) != mayFail {
				t.Fatalf("%s: %v", sql, err)
			}
			continue
		}
		if !errors.As(err, &pe) {
			t.Fatalf("%s\nis not refused: %v", sql, err)
		}
		return pe, s.id(sql, err)
	}
	t.Fatal("no statement")
	return nil, ""
}

// connection is what the client gives: user, password, database.
func (p Place) connection(database string) (string, string, string) {
	or := func(key, other string) string {
		if v, ok := p.Connect[key]; ok {
			return v
		}
		return other
	}
	return or("user", p.user()), or("password", "demo"), or("dbname", database)
}

// accepted runs statements that all must pass.
func (w *site) accepted(t *testing.T, p Place, list []string) {
	t.Helper()
	s := w.serve(t, p)
	c, err := s.dial(p.user(), "demo", s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	for _, sql := range list {
		if err := s.ask(c, sql); err != nil {
			var pe *pgconn.PgError
			if errors.As(err, &pe) {
				err = fmt.Errorf("%s\n%s", pe.Code, shown(sql, pe))
			}
			t.Errorf("%s\nis not accepted: %v", sql, err)
			return
		}
	}
}
