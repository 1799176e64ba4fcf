package console

import (
	"crypto/rand"
	"net/http"
	"time"
)

// link lets whoever has its secret log in.
type link struct {
	account
	until time.Time // zero: as long as the console serves
	again bool      // it may be used more than once
}

// Link makes the secret of a link that logs in as a user. It works once, within a time; with 0 it works until the console ends.
func (c *Server) Link(user string, within time.Duration) (fragment string) {
	return c.newLink(account{user: user}, within)
}

// OwnerLink is a Link to the owner's page. What its user does there is recorded as by that name.
func (c *Server) OwnerLink(by string, within time.Duration) (fragment string) {
	return c.newLink(account{user: by, owner: true}, within)
}

func (c *Server) newLink(of account, within time.Duration) (fragment string) {
	secret, l := rand.Text()+rand.Text(), link{account: of}
	if l.again = within == 0; !l.again {
		l.until = c.now().Add(within)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links[hashOf(secret)] = l
	return "#link=" + secret
}

// findLink gives a link that works. It is called under c.mu.
func (c *Server) findLink(secret string) (l link, ok bool) {
	l, ok = c.links[hashOf(secret)]
	return l, ok && (l.until.IsZero() || c.now().Before(l.until))
}

// useLink gives a link that works, and uses it up if it works once. It is called under c.mu.
func (c *Server) useLink(secret string) (l link, ok bool) {
	if l, ok = c.findLink(secret); !l.again {
		delete(c.links, hashOf(secret))
	}
	return l, ok
}

// failLink answers for a link that does not work.
func (c *Server) failLink(w http.ResponseWriter) {
	c.fail(w, http.StatusUnauthorized, problem{Message: "this link does not work any more", Hint: "Ask for a new one, or log in with your password."})
}

// describeLink says whom a link logs in, so that the page can ask before it does: whoever follows a link of somebody else's should not ask as that user.
func (c *Server) describeLink(w http.ResponseWriter, r *http.Request) {
	var in struct{ Link string }
	r.Body = http.MaxBytesReader(w, r.Body, maxLoginBody)
	if !c.read(w, r, &in) {
		return
	}
	c.mu.Lock()
	l, ok := c.findLink(in.Link)
	c.mu.Unlock()
	if !ok {
		c.failLink(w)
		return
	}
	c.answer(w, nil, map[string]any{"user": l.user, "owner": l.owner, "database": c.o.Database()})
}
