package flow

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// held asks for what a memory holds, and how many shares wait for it: they may be on their way there.
func held(t *testing.T, m *Memory, bytes int64, waiting int) {
	t.Helper()
	for range 6000 {
		if b, w := m.Held(); b == bytes && w == waiting {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b, w := m.Held()
	t.Fatalf("%d bytes are held, and %d shares wait; want %d and %d", b, w, bytes, waiting)
}

func share(t *testing.T, m *Memory, most int64) *Share {
	t.Helper()
	s, err := m.Share(context.Background(), most)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMemoryAlone: who reads alone waits for all that are open, one after the other, nobody is let in meanwhile, and a wait that is given up is forgotten.
func TestMemoryAlone(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute) // what would wait for ever fails
	defer stop()
	var m Memory
	first := share(t, &m, 10*grain)
	short, cancel := context.WithCancel(ctx)
	given := make(chan error)
	go func() {
		_, err := m.Exclusive(short, 10*grain)
		given <- err
	}()
	opened := make(chan *Share, 3)
	turn := func(open func(context.Context, int64) (*Share, error)) {
		s, err := open(ctx, 10*grain)
		if err != nil {
			t.Error(err)
		}
		opened <- s
	}
	turns := func(n int) {
		for range 6000 {
			m.mu.Lock()
			is := m.turns
			m.mu.Unlock()
			if is == n {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("not %d turns", n)
	}
	go turn(m.Exclusive)
	go turn(m.Exclusive)
	turns(3)
	go turn(m.Share)
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("a turn that is given up: %v", err)
	}
	turns(2)
	if len(opened) > 0 {
		t.Error("somebody is alone beside another")
	}
	first.End()
	for left := range 3 {
		s := <-opened
		if s == nil {
			return
		}
		if s.exclusive != (left < 2) || len(opened) > 0 {
			t.Errorf("the %d. that is opened is alone: %t; %d beside it", left+1, s.exclusive, len(opened))
		}
		if err := s.Take(10 * grain); err != nil {
			t.Error(err)
		}
		s.End()
	}
	held(t, &m, 0, 0)
	turns(0)
}

// TestMemory: shares hold at most the limit together. One that needs more waits for the others; where it is too large alone, or all others wait, it fails.
func TestMemory(t *testing.T) {
	const k = grain
	ctx, stop := context.WithTimeout(context.Background(), time.Minute) // what would wait for ever fails
	defer stop()
	var m Memory
	a, b := share(t, &m, 10*k), share(t, &m, 10*k)
	if err := errors.Join(a.Take(1), a.Take(k-1), a.Take(5*k), b.Take(3*k)); err != nil {
		t.Fatal(err)
	}
	held(t, &m, 9*k, 0)
	if err := a.Take(5 * k); !errors.Is(err, ErrMemory) || errors.Is(err, ErrTurn) {
		t.Errorf("more than the limit alone: %v", err)
	}
	waits := make(chan error)
	go func() { waits <- b.Take(4 * k) }()
	held(t, &m, 9*k, 1)
	if err := a.Take(2 * k); !errors.Is(err, ErrTurn) {
		t.Errorf("all others wait: %v", err)
	}
	a.Give(5 * k)
	if err := <-waits; err != nil {
		t.Errorf("given back: %v", err)
	}
	held(t, &m, 8*k, 0)
	short, cancel := context.WithCancel(ctx)
	c, err := m.Share(short, 10*k)
	if err != nil {
		t.Fatal(err)
	}
	go func() { waits <- c.Take(4 * k) }()
	held(t, &m, 8*k, 1)
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended: %v", err)
	}
	c.End()
	held(t, &m, 8*k, 0)
	a.End()
	a.End()
	b.End()
	held(t, &m, 0, 0)
	if err := a.Take(1); err == nil {
		t.Error("a share that has ended takes more")
	}
	var none *Share
	if err := none.Take(1 << 60); err != nil {
		t.Error(err)
	}
	none.Give(1)
	none.End()
	if m.open != 0 {
		t.Errorf("%d shares are open", m.open)
	}
}

// TestMemoryOfMany: many at once never hold more than the limit, none waits for ever, and those that fail leave nothing behind.
func TestMemoryOfMany(t *testing.T) {
	const most = 40 * grain
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	var m Memory
	var all sync.WaitGroup
	over, fitted := make(chan int64, 1000), make(chan struct{}, 1000)
	for i := range 8 {
		rng := rand.New(rand.NewPCG(uint64(i), 11))
		all.Go(func() {
			for range 100 {
				s, err := m.Share(ctx, most)
				if err != nil {
					t.Error(err)
					return
				}
				for range rng.IntN(8) {
					if err = s.Take(rng.Int64N(8 * grain)); err != nil {
						break
					}
					if used, _ := m.Held(); used > most || used < s.held {
						over <- used
					}
					runtime.Gosched()
					if rng.IntN(4) == 0 {
						s.Give(s.held - s.spare)
					}
				}
				if err != nil && !errors.Is(err, ErrMemory) {
					t.Error(err)
				}
				if s.End(); err == nil {
					fitted <- struct{}{}
				}
			}
		})
	}
	all.Wait()
	held(t, &m, 0, 0)
	if len(over) > 0 || len(fitted) < 100 || m.open != 0 {
		t.Errorf("%d times over the limit, %d of 800 fitted, %d are open", len(over), len(fitted), m.open)
	}
}

// TestMemoryIsTheHeaps: what is taken is what the heap holds, while pairs come and when the graphs are made.
func TestMemoryIsTheHeaps(t *testing.T) {
	heap := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	var m Memory
	share := share(t, &m, 1<<30)
	rng := rand.New(rand.NewPCG(12, 13))
	before := heap()
	p := &Pairs{Within: Within{Memory: share}}
	near := func(when string) {
		t.Helper()
		taken, _ := m.Held()
		if is := heap() - before; is > taken+taken/20 || is < taken-taken/5 {
			t.Errorf("%s: %d bytes are taken, the heap has %d more", when, taken, is)
		}
	}
	for range 100_000 {
		if err := p.Add(rng.Int32N(50_000), rng.Int32N(30_000), rng.Int64N(4), rng.Int64N(1<<rng.Int64N(20)), rng.Int64N(1<<40)); err != nil {
			t.Fatal(err)
		}
	}
	near("pairs")
	graphs, err := p.Graphs()
	if err != nil {
		t.Fatal(err)
	}
	near("graphs")
	for _, g := range graphs {
		g.Value(10)
	}
	near("flows")
	runtime.KeepAlive(graphs)
	share.End()
	held(t, &m, 0, 0)
}

// TestMemoryFails: wherever the memory ends, pairs are refused, and all is given back.
func TestMemoryFails(t *testing.T) {
	build := func(most int64) (err error) {
		var m Memory
		share := share(t, &m, most)
		p := &Pairs{Within: Within{Memory: share}}
		for i := range int32(2000) {
			if err = p.Add(i, i%7, int64(i), 1<<(i/40)); err != nil {
				break
			}
		}
		if err == nil {
			_, err = p.Graphs()
		}
		if used, _ := m.Held(); used > most {
			t.Errorf("%d bytes of %d", used, most)
		}
		share.End()
		held(t, &m, 0, 0)
		return err
	}
	failed := 0
	for most := int64(0); ; most += grain {
		err := build(most)
		if err == nil {
			break
		}
		if failed++; !errors.Is(err, ErrMemory) {
			t.Fatal(err)
		}
	}
	if failed < 20 {
		t.Errorf("%d limits were met", failed)
	}
}
