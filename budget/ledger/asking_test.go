package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// answered asks as the engine does: what is stored answers, what is being asked is waited for, and else it is charged, run and committed. It says who was charged.
func answered(ctx context.Context, l Ledger, r Reservation, made string, run func(id int64) error) (answer string, paid bool, err error) {
	for {
		s, ok, err := l.Lookup(ctx, r.Statement, r.Analyst)
		if err != nil {
			return "", false, err
		}
		if ok {
			return string(s.Payload), false, nil
		}
		id, err := l.Reserve(ctx, r)
		var by *InFlightError
		if errors.As(err, &by) {
			if err := l.Await(ctx, by.Reservation); err != nil {
				return "", false, err
			}
			continue
		}
		if err != nil {
			return "", false, err
		}
		if err = run(id); err == nil {
			err = l.Commit(ctx, id, Release{Key: r.Statement, Payload: []byte(made)})
		}
		if err != nil {
			_ = l.Abandon(context.WithoutCancel(ctx), []int64{id}) // where it cannot be written, a beat does it
		}
		return made, true, err
	}
}

// once is a statement that is charged once.
func once(t *testing.T, l Ledger, key byte) Reservation {
	t.Helper()
	r := count(t, l.Filter(), "ann", 1, 0.1)
	r.Statement, r.Once = Hash{key}, true
	return r
}

// eachStore runs a test over two users of one ledger: two proxies over PostgreSQL, and one process twice over a file.
func eachStore(t *testing.T, opt Options, test func(t *testing.T, a, b Ledger)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		_, both := proxies(t, 2, demoHead(t), opt)
		test(t, both[0], both[1])
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		l := must(OpenSQLite(ctx, t.TempDir()+"/ledger", demoHead(t), opt))(t)
		t.Cleanup(func() { _ = l.Close() })
		test(t, l, l)
	})
}

// Many who ask the same at once, of two proxies, are charged once, and all are given the one release; also where the first of them fails, or leaves, which are charged beside it.
func TestOneReleaseForAllWhoAsk(t *testing.T) {
	t.Parallel()
	eachStore(t, dayCache(), func(t *testing.T, a, b Ledger) {
		const sessions = 24
		for i, first := range []func(l Ledger, id int64) error{
			func(Ledger, int64) error { return nil },
			func(l Ledger, id int64) error { return errors.Join(errors.New("failed"), l.Fail(ctx, id, "resource")) },
			func(l Ledger, id int64) error {
				return errors.Join(errors.New("canceled"), l.Abandon(ctx, []int64{id}), l.Abandon(ctx, []int64{id}))
			},
		} {
			before := must(a.Balance(Payer{Analyst: "ann", Quota: 1}))(t).Dataset.Statements
			var (
				wg          sync.WaitGroup
				mu          sync.Mutex
				paid, wrong int
				shown       = map[string]int{}
				begun       = make(chan struct{})
			)
			for s := range sessions {
				l := []Ledger{a, b}[s%2]
				wg.Go(func() {
					<-begun
					answer, mine, err := answered(ctx, l, once(t, l, byte(i)), fmt.Sprint("by ", s), func(id int64) error {
						mu.Lock()
						paid++
						nth := paid
						mu.Unlock()
						if nth == 1 {
							return first(l, id)
						}
						return nil
					})
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						shown[answer]++
					case mine:
						wrong++
					default:
						t.Error(err)
					}
				})
			}
			close(begun)
			wg.Wait()
			if len(shown) != 1 || wrong != min(i, 1) || paid != 1+wrong {
				t.Errorf("%d: answers %v, %d failed, %d paid", i, shown, wrong, paid)
			}
			if n := must(b.Balance(Payer{Analyst: "ann", Quota: 1}))(t).Dataset.Statements - before; n != int64(paid) {
				t.Errorf("%d: %d are charged, %d paid", i, n, paid)
			}
		}
		if err := a.Verify(ctx); err != nil {
			t.Error(err)
		}
	})
}

// Nobody waits who could not be answered: another analyst where releases answer their payer alone, where nothing is stored, another statement, one that is asked anew on purpose; nor who knows the release and tops it up.
func TestWhoDoesNotWait(t *testing.T) {
	t.Parallel()
	own := dayCache()
	own.Cache.Scope = ScopeAnalyst
	eachStore(t, own, func(t *testing.T, a, b Ledger) {
		r := once(t, a, 1)
		id := must(a.Reserve(ctx, r))(t)
		var by *InFlightError
		if _, err := b.Reserve(ctx, r); !errors.As(err, &by) || by.Reservation != id {
			t.Errorf("the same: %v", err)
		}
		bob, other, anew := r, r, r
		bob.Analyst, other.Statement, anew.Once = "bob", Hash{2}, false
		for name, r := range map[string]Reservation{"bob's": bob, "another": other, "anew": anew} {
			if err := b.Fail(ctx, must(b.Reserve(ctx, r))(t), name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := a.Commit(ctx, id, Release{Key: r.Statement, Payload: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Reserve(ctx, r); !errors.As(err, &by) || by.Reservation != id || b.Await(ctx, id) != nil {
			t.Errorf("released since: %v", err)
		}
		r.Known = id
		must(b.Reserve(ctx, r))(t)
	})
	eachStore(t, Options{}, func(t *testing.T, a, b Ledger) {
		must(a.Reserve(ctx, once(t, a, 1)))(t)
		must(b.Reserve(ctx, once(t, b, 1)))(t)
	})
}

// A wait ends with its context; and with the lease of an owner that is not heard of any more, whose charge stays: the one who waited is charged itself, and a late commit is refused.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	at, list := proxies(t, 1, demoHead(t), dayCache())
	waiting := list[0]
	slow := joined(t, at, demoHead(t), dayCache(), quick)
	r := once(t, slow, 1)
	lost := must(slow.Reserve(ctx, r))(t)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := waiting.Await(gone, lost); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	slow.silent()
	joined(t, at, demoHead(t), dayCache(), quick) // a third, which looks at leases often
	answer, paid, err := answered(ctx, waiting, r, "mine", func(int64) error { return nil })
	if answer != "mine" || !paid || err != nil {
		t.Errorf("%s %v %v", answer, paid, err)
	}
	if err := slow.Commit(ctx, lost, Release{Key: r.Statement, Payload: []byte("late")}); !errors.Is(err, ErrNotOpen) {
		t.Errorf("a late commit: %v", err)
	}
	if s, ok, err := slow.Lookup(ctx, r.Statement, "ann"); !ok || err != nil || string(s.Payload) != "mine" {
		t.Errorf("%+v %v", s, err)
	}
	if n := must(slow.Balance(Payer{Analyst: "ann", Quota: 1}))(t).Dataset.Statements; n != 2 {
		t.Errorf("%d statements are charged", n)
	}
}

// What could not be abandoned, since the server did not answer, is closed by a later beat.
func TestAbandonedLater(t *testing.T) {
	t.Parallel()
	_, both := proxies(t, 2, demoHead(t), dayCache())
	a, b := both[0], both[1]
	id := must(a.Reserve(ctx, once(t, a, 1)))(t)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := a.Abandon(gone, []int64{id}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	a.silent()
	for range 2 { // the second has nothing to do
		if err := a.leases.beat(ctx); err != nil {
			t.Fatal(err)
		}
	}
	done, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	if err := b.Await(done, id); err != nil {
		t.Error(err)
	}
	if n := must(b.Balance(Payer{Analyst: "ann", Quota: 1}))(t).Dataset.Statements; n != 1 || len(a.held) != 0 {
		t.Errorf("%d statements are charged, %v are held", n, a.held)
	}
}
