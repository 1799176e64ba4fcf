package data

import (
	"errors"
	"testing"
)

// TestAside: what cannot be interrupted is left when stop says so, and its panic is its caller's.
func TestAside(t *testing.T) {
	no, hold := errors.New("no"), make(chan bool)
	if err := Aside(func() error { return no }, func() { <-hold }); !errors.Is(err, no) {
		t.Error(err)
	}
	close(hold)
	done := false
	if err := Aside(func() error { return nil }, func() { done = true }); err != nil || !done {
		t.Error(err, done)
	}
	for name, run := range map[string]func(){
		"aside": func() { _ = Aside(func() error { return nil }, func() { panic("one") }) },
		"parts": func() { Parts(2, func(int) { panic("one") }) },
	} {
		func() {
			defer func() {
				if p, ok := recover().(*Panicked); !ok || p.Value != "one" {
					t.Errorf("%s: %v", name, p)
				}
			}()
			run()
		}()
	}
}
