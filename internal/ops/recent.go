package ops

import (
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/dpsql/dpsql/internal/engine/server"
)

// mostRecent is how many statements that ended badly are remembered.
const mostRecent = 200

// Recent remembers the last private statements that failed, or were denied or canceled, for the owner's page. The oldest of whoever has most gives way, so nobody pushes out all of others'. The audit log has all of them, and those before the start.
type Recent struct {
	mu   sync.Mutex
	list []Ended
}

// Ended is one of them.
type Ended struct {
	Time      time.Time      `json:"time"`
	Analyst   string         `json:"analyst"`
	Outcome   server.Outcome `json:"outcome"`
	Error     string         `json:"error,omitempty"`
	Statement string         `json:"statement"` // the fingerprint, as in the audit log
	Charge    int64          `json:"charge,omitempty"`
}

// Charged does nothing.
func (r *Recent) Charged(server.AuditEvent) {}

// Ended remembers one.
func (r *Recent) Ended(h server.AuditEvent) {
	switch h.Outcome {
	case server.Failed, server.Denied, server.Canceled:
	default:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, Ended{time.Now().UTC(), h.Analyst, h.Outcome, h.Error, hex.EncodeToString(h.Statement[:]), h.Reservation})
	if len(r.list) <= mostRecent {
		return
	}
	of, most := map[string]int{}, ""
	for _, e := range r.list {
		if of[e.Analyst]++; of[e.Analyst] > of[most] {
			most = e.Analyst
		}
	}
	i := slices.IndexFunc(r.list, func(e Ended) bool { return e.Analyst == most })
	r.list = slices.Delete(r.list, i, i+1)
}

// List is what is remembered, the latest first.
func (r *Recent) List() []Ended {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := append([]Ended{}, r.list...)
	slices.Reverse(list)
	return list
}
