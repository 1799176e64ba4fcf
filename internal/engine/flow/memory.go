package flow

import (
	"context"
	"errors"
	"sync"
)

// ErrMemory is of a statement whose pairs do not fit. It is told to the owner alone: how many pairs there are is a secret.
var ErrMemory = errors.New("rows of two units take more than limits.flow_memory")

// Memory is what the pairs and graphs of all statements of a process hold together, about: what is allocated, not what the garbage collector has yet to find. The zero value is ready.
type Memory struct {
	mu      sync.Mutex
	used    int64         // bytes
	open    int           // shares that are not ended
	waiting int           // of them wait for what others give back
	given   chan struct{} // closed when something is
}

// Held says how many bytes are held, and how many shares wait. Both are secrets: tests look at them, no metric and no log does.
func (m *Memory) Held() (bytes int64, waiting int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.waiting
}

// grain is what a share takes at least, so that single units do not.
const grain = 4 << 10

// Share is one statement's part of a memory, used by one goroutine. A nil one has no limit.
type Share struct {
	of    *Memory
	ctx   context.Context
	most  int64 // of the whole memory
	held  int64
	spare int64 // of held, not in use
}

// Share opens a share of a memory of at most so many bytes. Its End gives back what it holds.
func (m *Memory) Share(ctx context.Context, most int64) *Share {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open++
	return &Share{of: m, ctx: ctx, most: most}
}

// Take takes so many bytes. While others hold too much for that it waits: until they give back, or the context ends. It fails where this share alone would be too large, and where all others wait too, of whom nobody would give anything back.
func (s *Share) Take(bytes int64) error {
	switch {
	case s == nil:
		return nil
	case s.of == nil || bytes < 0: // ended
		return ErrMemory
	case bytes <= s.spare:
		s.spare -= bytes
		return nil
	}
	need := max(bytes-s.spare, grain)
	m := s.of
	m.mu.Lock()
	for m.used+need > s.most {
		if s.held+need > s.most || m.waiting+1 >= m.open {
			m.mu.Unlock()
			return ErrMemory
		}
		if m.given == nil {
			m.given = make(chan struct{})
		}
		given := m.given
		m.waiting++
		m.mu.Unlock()
		select {
		case <-given:
		case <-s.ctx.Done():
		}
		m.mu.Lock()
		if m.given == given { // nothing was given
			m.waiting--
			m.mu.Unlock()
			return s.ctx.Err()
		}
	}
	m.used += need
	m.mu.Unlock()
	s.held += need
	s.spare += need - bytes
	return nil
}

// Give gives bytes back that were taken.
func (s *Share) Give(bytes int64) {
	if s == nil || s.of == nil {
		return
	}
	if s.spare += bytes; s.spare >= 2*grain {
		s.of.give(s.spare, 0)
		s.held, s.spare = s.held-s.spare, 0
	}
}

// End gives all back. Nothing can be taken afterwards.
func (s *Share) End() {
	if s == nil || s.of == nil {
		return
	}
	s.of.give(s.held, 1)
	*s = Share{}
}

// give takes bytes, and ended shares, back. All who wait look again; none of them counts as waiting before it has looked.
func (m *Memory) give(bytes int64, ended int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= bytes
	m.open -= ended
	m.waiting = 0
	if m.given != nil {
		close(m.given)
		m.given = nil
	}
}
