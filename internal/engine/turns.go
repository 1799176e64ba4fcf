package engine

import (
	"context"
	"sync"
)

// turns let each analyst have a few statements that read the database at once, so that nobody's flood takes all connections.
type turns struct {
	mu    sync.Mutex
	taken map[string]int
	freed chan struct{} // closed, and made anew, whenever a turn ends
}

// take waits for one of most turns, or for the context.
func (t *turns) take(ctx context.Context, analyst string, most int) (done func(), err error) {
	for {
		t.mu.Lock()
		if t.taken == nil {
			t.taken, t.freed = map[string]int{}, make(chan struct{})
		}
		if t.taken[analyst] < most {
			t.taken[analyst]++
			t.mu.Unlock()
			return func() { t.give(analyst) }, nil
		}
		wait := t.freed
		t.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (t *turns) give(analyst string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken[analyst]--; t.taken[analyst] == 0 {
		delete(t.taken, analyst)
	}
	close(t.freed)
	t.freed = make(chan struct{})
}

// turn is this session's: it is taken before a statement asks for a connection.
func (s *Session) turn(ctx context.Context) (done func(), err error) {
	return s.engine.turns.take(ctx, s.analyst.Name, int(s.world.policy.Limits.StatementsAtOnce))
}
