package proxy

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestAnswersOfAllSessions: the answers that clients do not read are bounded over all sessions. Who holds most is ended, and of equals the one that asks is refused, and goes on.
func TestAnswersOfAllSessions(t *testing.T) {
	row := []sqltype.Value{int64(1)}
	one := 100_000 * answerBytes([][]sqltype.Value{row})
	e := newScripted()
	addr := startProxy(t, e, Options{MaxAllAnswers: 3*one + one/2})
	const rows = "select generate_series(1, 100000)"
	opened := func() *player {
		p := hijacked(t, addr)
		p.send(t, `Query {"String":"begin"}`)
		p.until(t, []string{"ReadyForQuery"}, false, "")
		return p
	}
	asks := func(p *player, portal string) string {
		t.Helper()
		p.send(t, `Parse {"Name":"","Query":"`+rows+`"}
Bind {"DestinationPortal":"`+portal+`"}
Execute {"Portal":"`+portal+`","MaxRows":1}
Sync`)
		return p.until(t, []string{"ReadyForQuery"}, true, "")
	}
	a, b, c, d := opened(), opened(), opened(), opened()
	for _, p := range []*player{a, b, c} {
		if got := asks(p, "a"); !strings.Contains(got, "PortalSuspended") {
			t.Fatal(got)
		}
	}
	if got := asks(d, "a"); !strings.Contains(got, "ERROR 53400") || !strings.Contains(got, "unread answers of all sessions") {
		t.Error(got)
	}
	a.send(t, `Query {"String":"rollback; begin"}`) // it gives its answer up
	a.until(t, []string{"ReadyForQuery"}, false, "")
	d.send(t, `Query {"String":"rollback; begin"}`)
	d.until(t, []string{"ReadyForQuery"}, false, "")
	if got := asks(d, "a"); !strings.Contains(got, "PortalSuspended") {
		t.Error(got)
	}
	d.send(t, `Query {"String":"rollback"}`)
	d.until(t, []string{"ReadyForQuery"}, false, "")
	if got := asks(b, "b"); !strings.Contains(got, "PortalSuspended") { // two: the most
		t.Error(got)
	}
	open := sessionsOf(e)
	if got := asks(a, "a"); !strings.Contains(got, "PortalSuspended") {
		t.Error(got)
	}
	for sessionsOf(e) == open { // until the session that held two has ended
		time.Sleep(time.Millisecond)
	}
	c.send(t, `Execute {"Portal":"a","MaxRows":1}
Sync`)
	if got := c.until(t, []string{"ReadyForQuery"}, true, ""); !strings.Contains(got, "PortalSuspended") {
		t.Error(got)
	}
}

func sessionsOf(e *scripted) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}

// TestUnreadAnswerEnds: a session that sends to a client which does not read ends where its user holds the most in all sessions, though another session holds more.
func TestUnreadAnswerEnds(t *testing.T) {
	srv, err := New(newScripted(), Options{MaxAllAnswers: 100})
	if err != nil {
		t.Fatal(err)
	}
	with := func(user string) *connection {
		conn, other := net.Pipe()
		t.Cleanup(func() { _ = errors.Join(conn.Close(), other.Close()) })
		s := newSession(srv, conn)
		s.user = user
		return s
	}
	greedy, other, honest := with("a"), with("a"), with("b")
	sent := make(chan error)
	go func() {
		_, err := greedy.wire.tap.Write([]byte("a row"))
		sent <- err
	}()
	for i, step := range []struct {
		of      *connection
		bytes   int
		refused bool
	}{{greedy, 32, false}, {other, 31, false}, {honest, 35, false}, {honest, 40, false}, {honest, 0, false}, {other, 101, true}, {other, 60, false}, {honest, 50, false}} {
		if err := step.of.hold(step.bytes); (err != nil) != step.refused {
			t.Errorf("%d: %v", i, err)
		}
		if ended := greedy.life.ctx.Err() != nil; ended != (i >= 3) {
			t.Errorf("%d: ended %v", i, ended)
		}
	}
	if err := <-sent; err == nil {
		t.Error("it was sent to nobody")
	}
	if other.life.ctx.Err() == nil || honest.life.ctx.Err() != nil {
		t.Error("another session ended")
	}
	for _, s := range []*connection{greedy, other, honest} {
		if err := s.hold(0); err != nil {
			t.Error(err)
		}
	}
	if a := srv.answers; a.all != 0 || len(a.held)+len(a.ofUser) != 0 {
		t.Errorf("%+v", a)
	}
}
