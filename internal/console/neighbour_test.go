package console

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/proxy"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// neighbourly are what one analyst asks: answers, prices, refusals and mistakes. The widths of their intervals follow from the policy alone; those of an average, or of a
// chosen bound, follow from released numbers.
var neighbourly = []string{
	"SELECT gender, count(*) FROM patients GROUP BY gender",
	"SELECT readmitted, count(*), sum(days), sum(medications) FROM encounters GROUP BY readmitted",
	"SELECT count(*) AS n FROM prescriptions WHERE dose > 3",
	"SELECT e.kind_id, count(*) / 2.0 AS half FROM patients p JOIN encounters e USING (patient_id) GROUP BY 1",
	"SELECT * FROM patients",
	"SELECT count(*) FROM encounters WHERE 1 / (days - 3) > 0",
	"SELECT max(free) FROM encounters",
	"SELECT count(*) FROM nothing",
	"SELECT city_id, count(*) FROM patients GROUP BY city_id, weight / 0",
	"SET dpsql.price = 100",
	"SET dpsql.price = 1",
	"SHOW dpsql.budget",
	"SELECT count(*) FROM encounters WHERE cost > 10",
	"SELECT count(*) FROM encounters WHERE patient_id BETWEEN 1 AND 3",
	"SELECT * FROM kinds",
	"EXPLAIN (VERBOSE) SELECT diag, count(*) FROM encounters GROUP BY diag",
	"not SQL",
}

// arbitrary is what follows from when the test runs, and from random secrets.
var arbitrary = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?|\b1\d{9}\.\d{6}\b|"token":"[^"]*"|\b\d+ s:`) // or seconds since 1970

// lines are what a page is sent.
type lines []string

func (l *lines) say(of, text string) {
	*l = append(*l, of+": "+arbitrary.ReplaceAllString(text, "ARBITRARY"))
}

// ownerless serves a clinic without an owner: whatever asks one fails.
func ownerless(t *testing.T, b backend.Backend) *served {
	t.Helper()
	return serve(t, b, func(o *Options, _ *proxy.Options) { o.Owner = nil })
}

// post says what a request is answered with, whatever its status.
func (l *lines) post(b *browser, endpoint string, body any) {
	b.Helper()
	r, text := b.post(endpoint, body)
	l.say(fmt.Sprintf("%s %v, %d", endpoint, body, r.StatusCode), text)
}

// entered is what log-ins, links, and a session that ended are answered with.
func entered(t *testing.T, s *served) (l lines) {
	b := s.browser(t)
	link := func(user string) map[string]string {
		return map[string]string{"link": strings.TrimPrefix(s.console.Link(user, time.Minute), "#link=")}
	}
	for _, by := range []map[string]string{{"user": "ann", "password": "demo"}, {"user": "ann", "password": "wrong"}, {"user": "eve", "password": "demo"}, {"user": "", "password": ""}, {"link": "none"}} {
		l.post(b, "login", by)
	}
	for _, user := range []string{"ann", "eve"} {
		by := link(user)
		for _, endpoint := range []string{"link", "login", "link", "login"} {
			r, text := b.post(endpoint, by)
			l.say(fmt.Sprintf("%s of %s, %d", endpoint, user, r.StatusCode), text)
		}
	}
	l.post(b, "link", map[string]string{"link": "none"})
	for _, end := range []func(*browser){
		func(b *browser) { b.ask("logout", "") },
		func(*browser) { s.proxy.Terminate("ann") },
		func(*browser) {
			if err := s.engine.Freeze(t.Context(), "ann", "root"); err != nil {
				t.Fatal(err)
			}
			s.proxy.Terminate("ann")
		},
	} {
		b := s.login(t, "ann")
		end(b)
		for _, e := range endpoints {
			l.post(b, e, asked{SQL: "SELECT count(*) FROM patients"})
		}
	}
	return l
}

// interrupted is what a page is sent while a statement runs, and when it is cancelled.
func interrupted(t *testing.T, c enginetest.Clinic) (l lines) {
	began, tick := make(chan struct{}, 1), make(chan time.Time)
	s := ownerless(t, stalled{c.Open(t, funcs.DuckDB), began})
	s.engine.Hooks.After = func(time.Duration) <-chan time.Time { return tick }
	b := s.login(t, "ann")
	const sql = "SELECT count(*) FROM encounters"
	ended := make(chan []event)
	go func() { ended <- b.run(sql) }()
	<-began
	for range 2 {
		tick <- time.Time{}
	}
	l.post(b, "explain", asked{SQL: sql})
	l.post(b, "run", asked{SQL: sql})
	l.post(b, "cancel", struct{}{})
	for _, e := range <-ended {
		l.say(e.name+" of "+sql, e.data)
	}
	l.post(b, "budget", struct{}{})
	l.post(b, "statements", struct{}{})
	if n := strings.Count(strings.Join(l, "\n"), "progress of "); n != 2 {
		t.Errorf("progress was told %d times: %q", n, l)
	}
	return l
}

// client is one of the proxy, and all that it was warned of.
type client struct {
	*pgconn.PgConn
	notices []string
}

func (s *served) client(t *testing.T) *client {
	t.Helper()
	c := &client{}
	cfg, err := pgconn.ParseConfig(fmt.Sprintf("postgres://ann:demo@%s/clinic?sslmode=disable&options=-c%%20dpsql.notices%%3Dbrief", s.wire))
	if err != nil {
		t.Fatal(err)
	}
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { c.notices = append(c.notices, n.Message) }
	if c.PgConn, err = pgconn.ConnectConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// transcript is all that one analyst's page is sent, without secrets, times and released numbers. Of those it has where they stand and how wide their intervals are.
func transcript(t *testing.T, c enginetest.Clinic) (l lines) {
	s := ownerless(t, c.Open(t, funcs.DuckDB))
	b, wire := s.login(t, "ann"), s.client(t)
	wide := 0
	set := func(sql string) {
		if strings.HasPrefix(sql, "SET ") {
			if _, err := wire.Exec(t.Context(), sql).ReadAll(); err != nil && !strings.Contains(err.Error(), "price") {
				t.Fatal(err)
			}
		}
	}
	const unrounded = "SET dpsql.rounding = off" // the widths of rounded intervals follow from released numbers
	b.run(unrounded)
	set(unrounded)
	for _, e := range endpoints {
		if e != "explain" && e != "run" && e != "logout" && e != "values" {
			l.say(e, b.ask(e, ""))
		}
	}
	columns := decoded[struct{ Columns table }](t, b.ask("schema", "")).Columns
	at := columns.Rows[slices.IndexFunc(columns.Rows, func(r []*string) bool { return *r[3] == "readmitted" })]
	_, body := b.post("values", map[string]string{"schema": *at[0], "table": *at[1], "column": "readmitted"})
	if !strings.Contains(body, "NO") {
		t.Errorf("values: %s", body)
	}
	l.say("values", body)
	for _, sql := range neighbourly {
		set(sql)
		l.say("explain "+sql, b.ask("explain", sql))
		r, body := b.post("run", asked{SQL: sql, Cursor: len(sql)})
		if r.StatusCode != 200 {
			l.say(fmt.Sprint(r.StatusCode), body)
			continue
		}
		for _, e := range append(b.events(body), b.run(sql)...) { // what is charged, and the repeat
			if e.name == "notice" && strings.Contains(e.data, "wider than") { // released numbers decide: it is what any client of the proxy is sent
				wide++
				_ = wire.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
				if text := decoded[struct{ Text string }](t, e.data).Text; !slices.Contains(wire.notices, text) {
					t.Errorf("%s: the proxy does not say %q, but %q", sql, text, wire.notices)
				}
				continue
			}
			if e.name != "rows" {
				l.say(e.name+" of "+sql, e.data)
				continue
			}
			rows, intervals := rowsOf(t, []event{e})
			for i, row := range rows {
				for _, in := range intervals[i] {
					if row[in.Of] == nil && in.Why != "" { // of a greatest value without a range
						l.say("NULL of "+sql, in.Why)
						continue
					}
					if in.Low == nil || in.High == nil || row[in.Of] == nil {
						t.Errorf("%s: no number in row %d: %+v", sql, i, in)
						continue
					}
					*row[in.Of] = fmt.Sprintf("a number, %.6g wide", *in.High-*in.Low)
				}
				text, err := json.Marshal(row)
				if err != nil {
					t.Fatal(err)
				}
				l.say("row of "+sql, string(text))
			}
		}
		for _, e := range []string{"budget", "statements"} {
			l.say(e, b.ask(e, ""))
		}
	}
	l.say("logout", b.ask("logout", ""))
	if wide == 0 {
		t.Errorf("%s: no interval is called wide", c.Name)
	}
	return slices.Concat(l, entered(t, s), interrupted(t, c))
}

// TestNeighbours: what every endpoint of an analyst sends is the same with and without one person, but for the released numbers themselves.
//
// It tests the claim of Server.endpoints.
func TestNeighbours(t *testing.T) {
	with := transcript(t, enginetest.Wild)
	for _, c := range enginetest.Without {
		without := transcript(t, c)
		if len(with) != len(without) {
			t.Errorf("%s: %d lines, %d without", c.Name, len(with), len(without))
			continue
		}
		for i := range with {
			if with[i] != without[i] {
				t.Errorf("%s:\n  %s\n  %s", c.Name, with[i], without[i])
			}
		}
	}
	if len(with) < 4*len(neighbourly) {
		t.Errorf("%d lines", len(with))
	}
}
