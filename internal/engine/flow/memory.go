package flow

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrMemory is of a statement whose pairs do not fit. It is told to the owner alone: how many pairs there are is a secret.
var ErrMemory = errors.New("rows of two units take more than limits.flow_memory")

// ErrTurn is of a share that would fit alone, while all others wait too: its statement gives all back and reads once more by itself (Memory.Exclusive).
var ErrTurn = fmt.Errorf("%w, with those of others that wait", ErrMemory)

// Memory is what the pairs and graphs of all statements of a process hold together, about: what is allocated, not what the garbage collector has yet to find. The zero value is ready.
type Memory struct {
	mu      sync.Mutex
	used    int64         // bytes
	open    int           // shares that are not ended
	waiting int           // of them wait for what others give back
	given   chan struct{} // closed when something is
	turns   int           // statements that read by themselves, or wait to: no other share is opened meanwhile
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
	of        *Memory
	ctx       context.Context
	most      int64 // of the whole memory
	held      int64
	spare     int64 // of held, not in use
	exclusive bool  // no other is open
}

// Share opens a share of a memory of at most so many bytes, once nobody reads by itself. Its End gives back what it holds.
func (m *Memory) Share(ctx context.Context, most int64) (*Share, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.turns > 0 {
		if err := m.wait(ctx); err != nil {
			return nil, err
		}
	}
	m.open++
	return &Share{of: m, ctx: ctx, most: most}, nil
}

// Exclusive opens a share once all that are open have ended, and none beside it until it ends. So those that stood in each other's way are read one after the other, and those that are open end, since nothing that they wait for waits for this one: its statement holds no share.
func (m *Memory) Exclusive(ctx context.Context, most int64) (*Share, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns++
	for m.open > 0 {
		if err := m.wait(ctx); err != nil {
			m.turns--
			m.changed()
			return nil, err
		}
	}
	m.open++
	return &Share{of: m, ctx: ctx, most: most, exclusive: true}, nil
}

// wait is for a change, or the context's end. The memory is locked before and after.
func (m *Memory) wait(ctx context.Context) error {
	if m.given == nil {
		m.given = make(chan struct{})
	}
	given := m.given
	m.mu.Unlock()
	defer m.mu.Lock()
	select {
	case <-given:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// changed lets all who wait look again; none of them counts as waiting before it has looked.
func (m *Memory) changed() {
	m.waiting = 0
	if m.given != nil {
		close(m.given)
		m.given = nil
	}
}

// Take takes so many bytes. While others hold too much for that it waits: until they give back, or the context ends. It fails where this share alone would be too large, and, by ErrTurn, where all others wait too, of whom nobody would give anything back.
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
		switch {
		case s.held+need > s.most:
			m.mu.Unlock()
			return ErrMemory
		case m.waiting+1 >= m.open:
			m.mu.Unlock()
			return ErrTurn
		}
		before := m.given
		if m.waiting++; before == nil {
			before = make(chan struct{})
			m.given = before
		}
		if err := m.wait(s.ctx); err != nil {
			if m.given == before { // nothing was given: it counts still
				m.waiting--
			}
			m.mu.Unlock()
			return err
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
		s.of.give(s.spare, 0, 0)
		s.held, s.spare = s.held-s.spare, 0
	}
}

// End gives all back. Nothing can be taken afterwards.
func (s *Share) End() {
	if s == nil || s.of == nil {
		return
	}
	turns := 0
	if s.exclusive {
		turns = 1
	}
	s.of.give(s.held, 1, turns)
	*s = Share{}
}

// give takes bytes, ended shares and ended turns back.
func (m *Memory) give(bytes int64, ended, turns int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= bytes
	m.open -= ended
	m.turns -= turns
	m.changed()
}
