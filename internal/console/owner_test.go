package console

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/proxy"
)

// TestOwnersAlone: an analyst's secrets open none of the owner's endpoints, and the owner's none of an analyst's, whichever of them are mixed.
func TestOwnersAlone(t *testing.T) {
	s := serve(t, clinic(t), nil)
	ann, boss := s.login(t, "ann"), s.owner(t)
	refused := func(e string, b *browser, change func(*http.Request)) {
		t.Helper()
		r := b.request("POST", "/api/"+e, strings.NewReader(anyBody))
		change(r)
		if resp, text := b.send(r); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", e, resp.StatusCode, text)
		}
	}
	for _, of := range []struct {
		who, other *browser
		endpoints  []string
	}{{ann, boss, ownersEndpoints}, {boss, ann, endpoints}} {
		for _, e := range of.endpoints {
			refused(e, of.who, func(*http.Request) {})
			refused(e, of.who, func(r *http.Request) { r.Header.Set("X-Dpsql-Token", of.other.token) })
			refused(e, of.other, func(r *http.Request) { r.Header.Set("X-Dpsql-Token", of.who.token) })
			refused(e, of.who, func(r *http.Request) { r.AddCookie(of.other.cookies[0]) })
		}
	}
	ann.ask("budget", "")
	boss.ask("owner/budget", "")
	if b, err := s.console.o.Owner.Budget(); err != nil || len(b.Frozen) != 0 {
		t.Errorf("%+v %v", b.Frozen, err)
	}
}

// order freezes or unfreezes.
func (b *browser) order(what, analyst string) {
	b.Helper()
	if r, body := b.post("owner/"+what, map[string]string{"analyst": analyst}); r.StatusCode != http.StatusOK {
		b.Fatalf("%s %q: %d %s", what, analyst, r.StatusCode, body)
	}
}

// TestOwner: the owner sees who spent what by which statement, what is stored, who may ask, and what failed. A freeze ends an analyst's sessions, and has a name in the ledger.
func TestOwner(t *testing.T) {
	s := serve(t, clinic(t), nil)
	ann, bob, boss := s.login(t, "ann"), s.login(t, "bob"), s.owner(t)
	if o := decoded[owner.OverTime](t, boss.ask("owner/history", "")); len(o.Curves) != 0 || len(o.Forecasts) != 0 {
		t.Errorf("before a charge: %+v", o)
	}
	const first, second = "SELECT count(*) FROM patients", "SELECT gender, count(*) FROM patients GROUP BY gender"
	ann.run(first)
	bob.run(strings.Replace(second, "FROM", "/*\u2066 \u202e*/ FROM", 1))
	b := decoded[owner.Budget](t, boss.ask("owner/budget", ""))
	if len(b.Datasets) != 1 || b.Datasets[0].Accounts[0].Statements != 2 || len(b.Frozen) != 0 {
		t.Errorf("%+v", b)
	}
	var printed strings.Builder
	if err := b.Print(&printed); err != nil {
		t.Fatal(err)
	}
	words := decoded[budgetPage](t, boss.ask("owner/budget", "")).Words // are the command's, line by line
	lines := append(slices.Clone(words.Stops), "lifetime "+words.Lifetime, "data set clinic: "+words.Datasets[0].Budget)
	for _, l := range words.Datasets[0].Legend {
		lines = append(lines, "  "+l)
	}
	table := append([][]string{words.Datasets[0].Columns}, words.Datasets[0].Rows...)
	for _, row := range table {
		lines = append(lines, "  "+strings.Join(row, " "))
	}
	flat := regexp.MustCompile(" {2,}").ReplaceAllString(printed.String(), " ")
	for _, l := range lines {
		if !strings.Contains(flat, strings.ReplaceAll(l, "  ", " ")+"\n") {
			t.Errorf("%q is not in\n%s", l, printed.String())
		}
	}
	if len(lines) != strings.Count(printed.String(), "\n") || len(table) != len(b.Datasets[0].Accounts)+1 {
		t.Errorf("%d lines of\n%s", len(lines), printed.String())
	}
	o := decoded[owner.OverTime](t, boss.ask("owner/history", ""))
	if len(o.Curves) != 3 || o.Curves[1].Name != "ann" || o.Curves[1].Points[0].Y <= 0 || len(o.Forecasts) != len(b.Datasets[0].Accounts) || o.Forecasts[0].Analyst != "" || !strings.HasPrefix(o.Forecasts[0].Text, "ends about 20") {
		t.Errorf("%+v", o)
	}
	list := func(f ledger.StatementFilter) (texts []string) {
		t.Helper()
		r, body := boss.post("owner/statements", f)
		if r.StatusCode != 200 {
			t.Fatalf("%d %s", r.StatusCode, body)
		}
		for _, c := range decoded[owner.StatementsPage](t, body).Charges {
			texts = append(texts, c.Analyst+": "+c.Text)
		}
		return texts
	}
	if got := list(ledger.StatementFilter{Before: 1 << 53}); !slices.Equal(got, []string{"bob: " + strings.Replace(second, "FROM", `/*\u2066 \u202e*/ FROM`, 1), "ann: " + first}) { // in the order in which it was written
		t.Errorf("%q", got)
	}
	for _, f := range []ledger.StatementFilter{{Analyst: "ann"}, {Text: "(*) from PATIENTS", Analyst: "ann"}} {
		if got := list(f); !slices.Equal(got, []string{"ann: " + first}) {
			t.Errorf("%+v: %q", f, got)
		}
	}
	if got := decoded[[]owner.ReleaseOf](t, boss.ask("owner/releases", "")); len(got) != 2 || got[0].Analyst != "ann" || got[0].Bytes <= 0 || !got[0].Expires.After(got[0].Made) {
		t.Errorf("%+v", got)
	}
	if got := decoded[[]owner.AnalystOf](t, boss.ask("owner/analysts", "")); len(got) < 3 || !slices.ContainsFunc(got, func(a owner.AnalystOf) bool { return a.Name == "ann" && a.Epsilon > 0 && len(a.Tables) > 2 }) {
		t.Errorf("%+v", got)
	}
	if state := decoded[owner.State](t, boss.ask("owner/state", "")); state.Health != "ok" || len(state.Running) != 0 || len(state.Ended) != 0 {
		t.Errorf("%+v", state)
	}

	// Nobody is frozen by mistake.
	for _, body := range []any{map[string]any{}, map[string]any{"analyst": nil}, map[string]string{"analyst": "eve"}} {
		if r, text := boss.post("owner/freeze", body); r.StatusCode != 422 {
			t.Errorf("%v: %d %s", body, r.StatusCode, text)
		}
	}
	r, body := boss.post("owner/freeze", map[string]string{"analyst": "ann"})
	b = decoded[owner.Budget](t, body)
	if r.StatusCode != 200 || len(b.Frozen) != 1 || b.Frozen[0].Analyst != "ann" || b.Frozen[0].By != "root (console)" {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	const frozen = "this session has ended: the owner of the data has frozen your account"
	for range 2 { // also when the session is long gone
		if r, body := ann.post("budget", struct{}{}); r.StatusCode != 401 || !strings.Contains(body, frozen) {
			t.Errorf("ann goes on: %d %s", r.StatusCode, body)
		}
	}
	stranger := s.browser(t)
	stranger.cookies, stranger.token = ann.cookies, ann.token+"x"
	if r, body := stranger.post("budget", struct{}{}); r.StatusCode != 401 || strings.Contains(body, "frozen") {
		t.Errorf("without the token: %d %s", r.StatusCode, body)
	}
	bob.ask("budget", "")
	if got := of(s.login(t, "ann").run(first), "error"); len(got) != 1 || !strings.Contains(got[0], "PV016") {
		t.Errorf("%s", got)
	}
	if got := decoded[owner.State](t, boss.ask("owner/state", "")).Ended; len(got) != 1 || got[0].Analyst != "ann" || got[0].Outcome != "denied" || got[0].Error != "frozen" {
		t.Errorf("%+v", got)
	}
	boss.order("freeze", "")
	if r, body := bob.post("budget", struct{}{}); r.StatusCode != 401 || !strings.Contains(body, frozen) {
		t.Errorf("bob goes on: %d %s", r.StatusCode, body)
	}
	for _, who := range []string{"ann", ""} {
		boss.order("unfreeze", who)
	}
	if got := s.login(t, "ann").run(first); len(of(got, "done")) != 1 {
		t.Errorf("%s %s", got, boss.ask("owner/budget", ""))
	}
	boss.ask("owner/logout", "")
	for _, line := range []string{`"the owner's page was opened","by":"root"`, `"statements were read on the owner's page","by":"root"`, `"frozen","analyst":"ann","by":"root (console)"`,
		`"freeze lifted","analyst":"","by":"root (console)"`, `"the owner's page was closed","by":"root"`} {
		if !strings.Contains(s.log.String(), line) {
			t.Errorf("the log has no %s", line)
		}
	}
	if strings.Contains(s.log.String(), "count(*)") {
		t.Error("a statement is in the log")
	}
}

// TestOwnerSeesBehindComments: comments and blanks do not hide from the owner what is asked, neither of what runs nor in the ledger.
func TestOwnerSeesBehindComments(t *testing.T) {
	began := make(chan struct{}, 1)
	s := serve(t, stalled{clinic(t), began}, nil)
	ann, boss := s.login(t, "ann"), s.owner(t)
	const want = "days > 2"
	for _, sql := range []string{
		"SELECT count(*) FROM encounters /*" + strings.Repeat("x", 9000) + "*/ WHERE days > 2 /*" + strings.Repeat("x", 9000) + "*/", "SELECT count(*) FROM encounters" + strings.Repeat("\n", 9000) + "WHERE days > 2" + strings.Repeat("\n", 9000),
		"SELECT count(*) FROM encounters WHERE diag <> '" + strings.Repeat(" ", 9000) + "' AND days > 2 AND diag <> '" + strings.Repeat("\n", 9000) + "'",
	} {
		ended := make(chan []event)
		go func() { ended <- ann.run(sql) }()
		<-began
		if got := decoded[owner.State](t, boss.ask("owner/state", "")).Running; len(got) != 1 || !strings.Contains(got[0].Text, want) {
			t.Errorf("running: %.100q", got)
		}
		ann.ask("cancel", "")
		<-ended
		_, body := boss.post("owner/statements", ledger.StatementFilter{Before: 1 << 53})
		if got := decoded[owner.StatementsPage](t, body).Charges; len(got) == 0 || !strings.Contains(got[0].Text, want) {
			t.Errorf("ledger: %.100q", body)
		}
	}
}

// TestOwnerPardons: an analyst whom failures stopped can be frozen too. To unfreeze everybody lifts the stop, as the command does, and no freeze of a single analyst.
func TestOwnerPardons(t *testing.T) {
	s := serve(t, clinic(t), nil)
	ann, boss := s.login(t, "ann"), s.owner(t)
	s.engine.Backend = &enginetest.Failing{Backend: s.engine.Backend, Query: backend.NewError(backend.FailResource, "53200", errors.New("out of memory"))}
	for i := range ledger.MaxFailures {
		ann.run(fmt.Sprintf("SELECT count(*) FROM encounters WHERE days + 0 > %d", i))
	}
	for _, step := range []struct {
		what, analyst   string
		frozen, stopped int
	}{{"freeze", "ann", 1, 1}, {"freeze", "", 2, 1}, {"unfreeze", "", 1, 0}, {"unfreeze", "ann", 0, 0}} {
		boss.order(step.what, step.analyst)
		if b := decoded[owner.Budget](t, boss.ask("owner/budget", "")); len(b.Frozen) != step.frozen || len(b.Stopped) != step.stopped {
			t.Errorf("%s %q: %+v %+v", step.what, step.analyst, b.Frozen, b.Stopped)
		}
	}
}

// TestOwnerSeesRunning: a statement that runs is listed until its analyst is frozen, which ends it.
func TestOwnerSeesRunning(t *testing.T) {
	began := make(chan struct{}, 1)
	s := serve(t, stalled{clinic(t), began}, nil)
	b, boss := s.login(t, "ann"), s.owner(t)
	const sql, seen = "SELECT count(*) /* \u202e\x1b[2J */\nFROM encounters", "SELECT count(*) /* \\u202e\\u001b[2J */\nFROM encounters"
	ended := make(chan []event)
	go func() { ended <- b.run(sql) }()
	<-began
	got := decoded[owner.State](t, boss.ask("owner/state", "")).Running
	if len(got) != 1 || got[0].User != "ann" || got[0].Text != seen || got[0].Since.IsZero() || !strings.HasPrefix(got[0].Client, "127.0.0.1:") {
		t.Errorf("%+v", got)
	}
	if line := `"running statements were read on the owner's page","by":"root"`; strings.Count(s.log.String(), line) != 1 {
		t.Error("the log has not who read what runs")
	}
	boss.order("freeze", "ann")
	if list := <-ended; len(of(list, "error")) != 1 {
		t.Errorf("%v", list)
	}
	if got := decoded[owner.State](t, boss.ask("owner/state", "")); len(got.Running) != 0 || len(got.Ended) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestOwnerSessionEnds: the owner's session ends when it is idle, old or logged out, and its link works once and within its time.
func TestOwnerSessionEnds(t *testing.T) {
	s := serve(t, clinic(t), nil)
	late := time.Duration(0)
	after := func(d time.Duration) {
		s.console.mu.Lock()
		late += d
		s.console.mu.Unlock()
	}
	s.console.mu.Lock()
	s.console.now = func() time.Time { return time.Now().Add(late) }
	s.console.mu.Unlock()
	over := func(what string, b *browser) {
		t.Helper()
		for _, e := range ownersEndpoints {
			r := b.request("POST", "/api/"+e, strings.NewReader(anyBody))
			if resp, text := b.send(r); resp.StatusCode != 401 {
				t.Errorf("%s, %s: %d %s", what, e, resp.StatusCode, text)
			}
		}
	}
	b := s.owner(t)
	after(31 * time.Minute)
	over("idle", b)
	b = s.owner(t)
	for range 24 {
		after(29 * time.Minute)
		b.ask("owner/state", "")
	}
	after(29 * time.Minute)
	over("old", b)
	b = s.owner(t)
	b.ask("owner/logout", "")
	over("logged out", b)
	s.owner(t)
	after(time.Hour)
	s.console.endIdle()
	if n := strings.Count(s.log.String(), "the owner's page was closed"); n != 4 {
		t.Errorf("%d of 4 ends are in the log", n)
	}
	link := s.console.OwnerLink("root", time.Minute)
	for i, want := range []int{200, 401} {
		if status, body := s.browser(t).enter(map[string]string{"link": strings.TrimPrefix(link, "#link=")}); status != want {
			t.Errorf("%d: %d %s", i, status, body)
		}
	}
	link = s.console.OwnerLink("root", time.Minute)
	after(2 * time.Minute)
	if status, body := s.browser(t).enter(map[string]string{"link": strings.TrimPrefix(link, "#link=")}); status != 401 {
		t.Errorf("an old link: %d %s", status, body)
	}
	for _, e := range slices.Concat(endpoints, ownersEndpoints) { // of nobody
		if r, body := s.browser(t).post(e, struct{}{}); r.StatusCode != 401 {
			t.Errorf("%s: %d %s", e, r.StatusCode, fmt.Sprint(body))
		}
	}
}

// TestEndSessionsThatDoNotRead: a command ends all of an analyst's sessions, also those whose client does not read an answer. None of them asks meanwhile.
func TestEndSessionsThatDoNotRead(t *testing.T) {
	s := serve(t, clinic(t), func(o *Options, _ *proxy.Options) { o.Write = time.Hour })
	var all []*browser
	for range 3 {
		b := s.login(t, "ann")
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		if err := b.request("POST", "/api/run", strings.NewReader(`{"sql": "SELECT repeat('x', 4000) FROM generate_series(1, 10000)"}`)).Write(conn); err != nil {
			t.Fatal(err)
		}
		s.until(t, func(se *session) bool { return se.isRunning() && b.has(se) }) // 40 MB are in no buffer
		all = append(all, b)
	}
	all = append(all, s.login(t, "ann"))
	if n := s.console.EndSessions("ann"); n != len(all) {
		t.Errorf("%d sessions", n)
	}
	for _, b := range all {
		if r, body := b.post("budget", struct{}{}); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%d %s", r.StatusCode, body)
		}
	}
	s.login(t, "bob").ask("budget", "")
}

// TestEndSessionsDuringLogin: an analyst's log-in that is under way when the sessions are ended is refused. Another analyst's goes on.
func TestEndSessionsDuringLogin(t *testing.T) {
	arrived, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, clinic(t), nil)
	connect := s.console.o.Connect
	s.console.o.Connect = func(from net.Addr, user string, ended func()) net.Conn {
		arrived <- struct{}{}
		<-goOn
		return connect(from, user, ended)
	}
	entered := map[string]chan int{"ann": make(chan int, 1), "bob": make(chan int, 1)}
	for user, status := range entered {
		go func() {
			is, _ := s.browser(t).enter(map[string]string{"user": user, "password": "demo"})
			status <- is
		}()
		<-arrived
	}
	s.console.EndSessions("ann")
	close(goOn)
	if ann, bob := <-entered["ann"], <-entered["bob"]; ann != http.StatusUnauthorized || bob != http.StatusOK {
		t.Errorf("ann %d, bob %d", ann, bob)
	}
	s.console.mu.Lock()
	defer s.console.mu.Unlock()
	if n := len(s.console.sessions); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// TestEndSessions: the owner's sessions are ended by a command, and so are an analyst's; their links are void then, and nobody else's end.
func TestEndSessions(t *testing.T) {
	s := serve(t, clinic(t), nil)
	works := func(b *browser, path string) bool {
		r, _ := b.post(path, struct{}{})
		return r.StatusCode == http.StatusOK
	}
	ann, bob, boss, other := s.login(t, "ann"), s.login(t, "bob"), s.owner(t), s.owner(t)
	links := map[string]string{"boss": s.console.OwnerLink("root", time.Minute), "ann": s.console.Link("ann", 0)}
	alive := func(who string) bool {
		status, _ := s.browser(t).enter(map[string]string{"link": strings.TrimPrefix(links[who], "#link=")})
		return status == http.StatusOK
	}
	if n := s.console.EndSessions(""); n != 2 || works(boss, "owner/budget") || works(other, "owner/budget") || alive("boss") || !works(ann, "budget") || !alive("ann") {
		t.Errorf("%d of the owner's", n)
	}
	if n := s.console.EndSessions("ann"); n != 2 || works(ann, "budget") || alive("ann") || !works(bob, "budget") || !works(s.owner(t), "owner/budget") {
		t.Errorf("%d of ann's", n)
	}
	if n := strings.Count(s.log.String(), "the owner's page was closed"); n != 2 {
		t.Errorf("%d of 2 ends are in the log", n)
	}
}
