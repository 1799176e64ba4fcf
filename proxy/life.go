package proxy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// life is how a connection and its running statement are ended by others.
type life struct {
	ctx      context.Context // ends with the connection
	cancel   context.CancelFunc
	stopping atomic.Bool

	mu         sync.Mutex // guards all below
	cancelRun  context.CancelCauseFunc
	runs       Running // while cancelRun is there
	terminated bool
}

// Running is a statement that runs, for the owner.
type Running struct {
	User   string    `json:"analyst"`
	Client string    `json:"client"` // the address
	Since  time.Time `json:"since"`
	Text   string    `json:"text"` // its first 1023 bytes
}

// begin gives a statement its context, which a CancelRequest ends. done must be called when it is over.
func (l *life) begin(what Running) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(l.ctx)
	l.mu.Lock()
	l.cancelRun, l.runs = cancel, what
	if l.terminated {
		cancel(errShutdown)
	}
	l.mu.Unlock()
	return ctx, func() {
		l.mu.Lock()
		l.cancelRun = nil
		l.mu.Unlock()
		cancel(nil)
	}
}

func (l *life) cancelRunning(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancelRun != nil {
		l.cancelRun(why)
	}
}

// running is the statement that runs, if there is one.
func (l *life) running() (what Running, runs bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs, l.cancelRun != nil
}

// terminate cancels a running statement, and each that begins after it.
func (l *life) terminate() {
	l.mu.Lock()
	l.terminated = true
	l.mu.Unlock()
	l.cancelRunning(errShutdown)
}
