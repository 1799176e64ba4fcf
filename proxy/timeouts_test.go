package proxy

import "testing"

// TestOwnTimeouts: the limits that a session sets for itself hold, and are told as PostgreSQL tells them.
func TestOwnTimeouts(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{})
	for _, c := range []struct{ name, send, want string }{
		{"statement", `Query {"String":"set statement_timeout = 20"}
Query {"String":"select pg_sleep(20)"}
Query {"String":"reset statement_timeout; select 1 as x"}
Terminate`, `CommandComplete SET
ReadyForQuery I
RowDescription pg_sleep:25/-1/-1
ErrorResponse ERROR 57014 canceling statement due to statement timeout
ReadyForQuery I
CommandComplete RESET
RowDescription x:23/-1/4
DataRow "1"
CommandComplete SELECT 1
ReadyForQuery I
(closed)
`},
		{"transaction", `Query {"String":"set idle_in_transaction_session_timeout = 20"}
Query {"String":"begin"}`, `CommandComplete SET
ReadyForQuery I
CommandComplete BEGIN
ReadyForQuery T
ErrorResponse FATAL 25P03 terminating connection due to idle-in-transaction timeout
(closed)
`},
		{"session", `Query {"String":"set idle_session_timeout = 20"}`, `CommandComplete SET
ReadyForQuery I
ErrorResponse FATAL 57P05 terminating connection due to idle-session timeout
(closed)
`},
	} {
		p := hijacked(t, addr)
		p.send(t, c.send)
		if got := p.until(t, []string{"-"}, false, ""); got != c.want {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}
