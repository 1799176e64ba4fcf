package session

import (
	"fmt"
	"sync"
	"time"
)

// Progress tells of work that takes long: first after two seconds, then every five, from a goroutine of its own. It says the seconds that passed, the step, and
// the whole charge. It never says how much time is left.
//
// Proof: which steps a statement has, their order and its charge follow from the statement, the policy, the settings and the ledger. When a step begins is
// response time, which the promise does not cover: so a word of progress is off unless an analyst asks for it, as the console's page does, and nothing else of the proxy tells time.
type Progress struct {
	mu           sync.Mutex
	Step, charge string
	stop, ended  chan struct{}
}

// When progress is told: first, and again.
const (
	ProgressAfter = 2 * time.Second
	ProgressEvery = 5 * time.Second
)

// StartProgress begins to tell. after is time.After, but for tests.
func StartProgress(tell func(text string), after func(time.Duration) <-chan time.Time) *Progress {
	p := &Progress{stop: make(chan struct{}), ended: make(chan struct{})}
	started := time.Now()
	go func() {
		defer close(p.ended)
		for wait := ProgressAfter; ; wait = ProgressEvery {
			select {
			case <-p.stop:
				return
			case <-after(wait):
				tell(p.text(time.Since(started)))
			}
		}
	}()
	return p
}

func (p *Progress) text(took time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%.0f s: %s", took.Seconds(), p.Step)
	if p.charge != "" {
		text += "; charged: " + p.charge
	}
	return text
}

// At says which step begins.
func (p *Progress) At(step string) {
	if p != nil {
		p.mu.Lock()
		p.Step = step
		p.mu.Unlock()
	}
}

// Charged says what the whole work was charged.
func (p *Progress) Charged(charge string) {
	if p != nil {
		p.mu.Lock()
		p.charge = charge
		p.mu.Unlock()
	}
}

// End ends it: nothing is told afterwards.
func (p *Progress) End() {
	if p != nil {
		close(p.stop)
		<-p.ended
	}
}

// Working begins to tell of a statement where dpsql.progress is on, and gives what ends that.
func (s *Session) Working(step string) (end func()) {
	if s.tell == nil || !s.Now.progress || s.Progress != nil { // a statement within another has the other's
		return func() {}
	}
	after := s.Engine.Hooks.After
	if after == nil {
		after = time.After
	}
	s.Progress = StartProgress(s.tell, after)
	s.Progress.At(step)
	s.Progress.Charged("nothing yet")
	return func() {
		s.Progress.End()
		s.Progress = nil
	}
}
