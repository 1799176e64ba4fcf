package server

import (
	"context"
	"slices"
	"sync"
)

// Turns let each analyst have a few statements that read the database at once, so that nobody's flood takes all connections.
type Turns struct {
	mu      sync.Mutex
	taken   map[string]int
	waiting map[string][]waiter // in the order in which they came
}

// waiter is handed a turn by closing it, where no more than most are taken.
type waiter struct {
	turn chan struct{}
	most int
}

// Held are how many analysts have turns, and how many statements wait for one.
func (t *Turns) Held() (analysts, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, list := range t.waiting {
		waiting += len(list)
	}
	return len(t.taken), waiting
}

// Take waits for one of most turns, or for the context.
func (t *Turns) Take(ctx context.Context, analyst string, most int) (done func(), err error) {
	done = sync.OnceFunc(func() { t.give(analyst) })
	t.mu.Lock()
	if t.taken == nil {
		t.taken, t.waiting = map[string]int{}, map[string][]waiter{}
	}
	if t.taken[analyst] < most {
		t.taken[analyst]++
		t.mu.Unlock()
		return done, nil
	}
	mine := waiter{make(chan struct{}), most}
	t.waiting[analyst] = append(t.waiting[analyst], mine)
	t.mu.Unlock()
	select {
	case <-mine.turn:
		return done, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	left := len(t.waiting[analyst])
	t.waiting[analyst] = slices.DeleteFunc(t.waiting[analyst], func(w waiter) bool { return w == mine })
	handed := len(t.waiting[analyst]) == left
	t.mu.Unlock()
	if handed {
		done()
	}
	return nil, ctx.Err()
}

// give hands a turn over, or back.
func (t *Turns) give(analyst string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if next := t.waiting[analyst]; len(next) > 0 && t.taken[analyst] <= next[0].most {
		close(next[0].turn)
		t.waiting[analyst] = next[1:]
		return
	}
	if t.taken[analyst]--; t.taken[analyst] == 0 {
		delete(t.taken, analyst)
		delete(t.waiting, analyst)
	}
}
