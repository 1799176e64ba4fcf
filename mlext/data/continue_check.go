package data

import "sync"

// ContinueCheck is a question whether to go on that parts of a computation ask now and again, one at a time; the first no is everybody's, and what was computed since is worth nothing. A nil one is always answered by yes.
type ContinueCheck struct {
	mu   sync.Mutex
	stop func() error
	err  error
}

// Ask makes the question.
func Ask(stop func() error) *ContinueCheck { return &ContinueCheck{stop: stop} }

// CanContinue asks.
func (a *ContinueCheck) CanContinue() bool {
	if a == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = a.stop()
	}
	return a.err == nil
}

// Err is the no, if there was one.
func (a *ContinueCheck) Err() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// Between is how many rows may be computed between two questions, of so many multiplications each: some milliseconds of work, on a slow machine too.
func Between(multiplications int) int { return max(1, (1<<20)/max(1, multiplications)) }
