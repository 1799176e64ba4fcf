package ops

import (
	"testing"

	"github.com/dpsql/dpsql/internal/engine/server"
)

// TestRecent: the list is bounded, and one analyst's many failures push out no others'.
func TestRecent(t *testing.T) {
	var r Recent
	add := func(who string, n int) {
		for range n {
			r.Ended(server.AuditEvent{Analyst: who, Outcome: server.Failed})
		}
	}
	for _, well := range []server.Outcome{server.Answered, server.Free, server.Alerted} {
		r.Ended(server.AuditEvent{Analyst: "ann", Outcome: well})
	}
	add("ann", 2)
	add("noisy", 3*mostRecent)
	add("bob", 1)
	add("noisy", 3*mostRecent)
	of := map[string]int{}
	for _, e := range r.List() {
		of[e.Analyst]++
	}
	if len(r.List()) != mostRecent || of["ann"] != 2 || of["bob"] != 1 || r.List()[0].Analyst != "noisy" {
		t.Errorf("%v", of)
	}
	add("ann", mostRecent) // both have as many, and the latest are kept
	if of := len(r.List()); of != mostRecent || r.List()[0].Analyst != "ann" {
		t.Errorf("%d", of)
	}
}
