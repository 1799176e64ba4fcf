package server

import (
	"context"
	"slices"
	"sync"
)

// Turns let each analyst have a few statements that read the database at once, so that nobody's flood takes all connections.
type Turns struct {
	Mu      sync.Mutex
	Taken   map[string]int
	Waiting map[string][]waiter // in the order in which they came
}

// waiter is handed a turn by closing it, where no more than most are taken.
type waiter struct {
	turn chan struct{}
	most int
}

// Take waits for one of most turns, or for the context.
func (t *Turns) Take(ctx context.Context, analyst string, most int) (done func(), err error) {
	done = sync.OnceFunc(func() { t.give(analyst) })
	t.Mu.Lock()
	if t.Taken == nil {
		t.Taken, t.Waiting = map[string]int{}, map[string][]waiter{}
	}
	if t.Taken[analyst] < most {
		t.Taken[analyst]++
		t.Mu.Unlock()
		return done, nil
	}
	mine := waiter{make(chan struct{}), most}
	t.Waiting[analyst] = append(t.Waiting[analyst], mine)
	t.Mu.Unlock()
	select {
	case <-mine.turn:
		return done, nil
	case <-ctx.Done():
	}
	t.Mu.Lock()
	left := len(t.Waiting[analyst])
	t.Waiting[analyst] = slices.DeleteFunc(t.Waiting[analyst], func(w waiter) bool { return w == mine })
	handed := len(t.Waiting[analyst]) == left
	t.Mu.Unlock()
	if handed {
		done()
	}
	return nil, ctx.Err()
}

// give hands a turn over, or back.
func (t *Turns) give(analyst string) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if next := t.Waiting[analyst]; len(next) > 0 && t.Taken[analyst] <= next[0].most {
		close(next[0].turn)
		t.Waiting[analyst] = next[1:]
		return
	}
	if t.Taken[analyst]--; t.Taken[analyst] == 0 {
		delete(t.Taken, analyst)
		delete(t.Waiting, analyst)
	}
}
