package data

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// Panicked is a part's panic, passed on to who waits for the parts, with the part's stack.
type Panicked struct {
	Value any
	Stack []byte
}

func (p *Panicked) Error() string {
	return fmt.Sprintf("a part of a computation panicked: %T\n%s", p.Value, p.Stack)
}

// Unwrap is the value, where it is an error.
func (p *Panicked) Unwrap() error { err, _ := p.Value.(error); return err }

// Parts runs parts at once and waits for all. A panic in one of them would end the whole process, so it is passed on: the caller panics with the first.
func Parts(n int, part func(i int)) {
	var wait sync.WaitGroup
	var once sync.Once
	var failed *Panicked
	for i := range n {
		wait.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					once.Do(func() { failed = &Panicked{p, debug.Stack()} })
				}
			}()
			part(i)
		})
	}
	wait.Wait()
	if failed != nil {
		panic(failed)
	}
}

// Aside does something that cannot be interrupted, and ends without it when stop does: it is finished aside then, for nobody.
func Aside(stop func() error, do func()) error {
	done := make(chan *Panicked, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- &Panicked{p, debug.Stack()}
				return
			}
			done <- nil
		}()
		do()
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case failed := <-done:
			if failed != nil {
				panic(failed)
			}
			return stop()
		case <-tick.C:
			if err := stop(); err != nil {
				return err
			}
		}
	}
}
