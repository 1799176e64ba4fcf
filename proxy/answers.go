package proxy

import (
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// answers counts the memory of the answers of all sessions, about: of those that portals hold unread, and of those that are sent, to clients that may not read them.
type answers struct {
	mu     sync.Mutex
	held   map[*connection]int
	ofUser map[string]int
	all    int
}

func newAnswers() *answers { return &answers{held: map[*connection]int{}, ofUser: map[string]int{}} }

// set says what a session holds. Under mu.
func (a *answers) set(s *connection, bytes int) {
	more := bytes - a.held[s]
	a.all += more
	if a.held[s] = bytes; bytes == 0 {
		delete(a.held, s)
	}
	if a.ofUser[s.user] += more; a.ofUser[s.user] == 0 {
		delete(a.ofUser, s.user)
	}
}

// most is the session that holds most, of the user who holds most; of equals the one that asks; nil where nobody holds anything. Under mu.
func (a *answers) most(asks *connection) *connection {
	user := asks.user
	for u, bytes := range a.ofUser {
		if bytes > a.ofUser[user] {
			user = u
		}
	}
	var most *connection
	for s, bytes := range a.held {
		if s.user == user && (most == nil || bytes > a.held[most] || bytes == a.held[most] && s == asks) {
			most = s
		}
	}
	return most
}

// hold says what answers a session holds from now on. Where those of all sessions are too much it ends the session that holds most, of the user who holds most: so nobody's unread answers keep others from theirs. Where
// that is the one that asks, its new answer is given up.
//
// It does not wait for room: a client may hold an answer for ever, and all would wait for that one.
func (s *connection) hold(bytes int) error {
	a := s.srv.answers
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.held[s]
	for a.set(s, bytes); a.all > s.srv.opts.MaxAllAnswers; {
		most := a.most(s)
		if most == s {
			a.set(s, min(before, bytes))
			if bytes <= before { // it holds nothing new
				return nil
			}
			return sqlerr.New(sqlerr.SessionLimit, "the unread answers of all sessions hold more than %d bytes, and yours the most of them", s.srv.opts.MaxAllAnswers).
				WithHint("Read answers as they come, close cursors, or ask for fewer rows. What is stored costs nothing to ask again.")
		}
		a.set(most, 0)
		most.log.Warn("connection ended: the unread answers of all sessions are more than limits.all_answer_memory, and its are the most", "user", most.user)
		most.life.cancel()
		_ = most.wire.raw.Close()
	}
	s.kept.holding = bytes
	return nil
}

// holdsUnread counts what is left of the answers when a message is done.
func (s *connection) holdsUnread() {
	if s.kept.holding > 0 {
		_ = s.hold(s.kept.unread()) // never more than before
	}
}
