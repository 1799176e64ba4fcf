package engine_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestDecodingTakesATurn: of one analyst as many large stored releases are decoded at once as there are turns, for answers, EXPLAIN, top-ups and what is computed from them; who waits for one pays nothing. Small ones, others' and new questions wait for none, and all are given back.
func TestDecodingTakesATurn(t *testing.T) {
	const (
		large = "select kind_id, days, medications, count(*), sum(cost) from encounters group by 1, 2, 3"
		part  = "select kind_id, days, medications, count(*) from encounters group by 1, 2, 3"
		small = "select gender, count(*) from patients group by 1"
	)
	first := enginetest.Limited(t, func(*policy.Policy) {})
	e := first.Engine
	enginetest.MustTry(t, first, large)
	enginetest.MustTry(t, first, small)
	if n := len(first.Last.(*private.LastAnswer).Releases[0].Release.Groups); n != 0 {
		t.Errorf("dpsql.last keeps %d groups", n)
	}
	var held []func()
	for range max(2, runtime.GOMAXPROCS(0)) {
		done, err := e.Queues.Decoding.Take(context.Background(), "ann", max(2, runtime.GOMAXPROCS(0)))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, done)
	}
	waiting := func() int {
		_, waiting := e.Queues.Decoding.Held()
		return waiting
	}
	n := enginetest.Charged(t, e, func() {
		for _, q := range []string{large, "explain verbose " + large, part, "explain verbose " + part} {
			ctx, cancel := context.WithCancel(context.Background())
			s, ended := enginetest.NewSession(e, t, "ann"), make(chan error, 1)
			p, err := enginetest.Prepare(s, q)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				_, err := p.Run(ctx, nil)
				ended <- err
			}()
			for waiting() == 0 {
				select {
				case err := <-ended:
					t.Fatalf("%s waited for no turn: %v", q, err)
				case <-time.After(time.Millisecond):
				}
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", q, err)
			}
		}
		enginetest.MustTry(t, enginetest.NewSession(e, t, "ann"), small)
		enginetest.MustTry(t, enginetest.NewSession(e, t, "bob"), large)
	})
	if n != 0 {
		t.Errorf("%d charges for what is stored", n)
	}
	enginetest.MustTry(t, enginetest.NewSession(e, t, "ann"), "select ward, count(*) from patients group by 1")
	held[0]() // one turn does for all that follow, one after the other
	s := enginetest.NewSession(e, t, "ann")
	for _, q := range []string{large, "explain verbose " + large, part, "explain verbose " + part} {
		enginetest.MustTry(t, s, q)
	}
	enginetest.Set(t, s, "dpsql.price", "2")
	enginetest.MustTry(t, s, "explain verbose "+large)
	enginetest.MustTry(t, s, large)
	enginetest.SetTarget(t, s, "1000000")
	enginetest.MustTry(t, s, "explain verbose "+large)
	enginetest.MustTry(t, s, large)
	for _, done := range held[1:] {
		done()
	}
	if analysts, _ := e.Queues.Decoding.Held(); analysts != 0 {
		t.Errorf("turns of %d analysts are kept", analysts)
	}
}
