package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestOneReleaseForAll: sessions of two proxies that ask the same at once are charged once, also for several releases and for a top-up, and shown the same. With dpsql.fresh each pays.
func TestOneReleaseForAll(t *testing.T) {
	const sessions = 12
	both := enginetest.Together(t)
	for _, c := range []struct {
		sql, epsilon, fresh string
		charges, answers    int
	}{
		{"select count(*) from encounters", "0.5", "off", 1, 1},
		{"select count(*) from encounters", "1", "off", 1, 1},
		{"select (select count(*) from encounters where days > 3), (select avg(days) from encounters)", "0.5", "off", 2, 1},
		{"select count(*) from encounters where days > (select avg(days) from encounters where days > 2)", "0.5", "off", 2, 1},
		{"select count(*) from encounters where days > 4", "0.5", "on", sessions, 2},
	} {
		var (
			wg    sync.WaitGroup
			mu    sync.Mutex
			shown = map[string]bool{}
			begin = make(chan struct{})
		)
		for i := range sessions {
			s := enginetest.NewSession(both[i%2], t, []string{"ann", "bob"}[i/2%2])
			enginetest.Set(t, s, "dpsql.price", c.epsilon)
			enginetest.Set(t, s, "dpsql.fresh", c.fresh)
			wg.Go(func() {
				<-begin
				rows, err := enginetest.Try(s, c.sql)
				mu.Lock()
				defer mu.Unlock()
				if shown[fmt.Sprint(rows)] = true; err != nil {
					t.Errorf("%s: %v", c.sql, err)
				}
			})
		}
		n := enginetest.Charged(t, both[0], func() { close(begin); wg.Wait() })
		if n != c.charges || len(shown) > 1 && c.answers == 1 || len(shown) == 1 && c.answers > 1 {
			t.Errorf("%s at %s: %d charges, answers %v", c.sql, c.epsilon, n, shown)
		}
	}
}

// TestWaitForAnother: who waits for the release of another proxy's session can leave unpaid; who stays when that session leaves asks, and pays, itself.
func TestWaitForAnother(t *testing.T) {
	both := enginetest.Together(t)
	const sql = "select count(*) from encounters"
	f := &enginetest.Failing{Backend: both[0].Backend, Wait: true, Entered: make(chan struct{})}
	both[0].Backend = f
	first, err := enginetest.Prepare(enginetest.NewSession(both[0], t, "ann"), sql)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := first.Run(ctx, nil)
		done <- err
	}()
	<-f.Entered
	second, err := enginetest.Prepare(enginetest.NewSession(both[1], t, "bob"), sql)
	if err != nil {
		t.Fatal(err)
	}
	waiting, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	if _, err := second.Run(waiting, nil); sqlerr.ID(err) != sqlerr.QueryCanceled.ID {
		t.Errorf("a wait that its client ended: %v", err)
	}
	if n := len(enginetest.Charges(t, both[1])); n != 1 {
		t.Errorf("%d charges while the first still asks", n)
	}
	time.AfterFunc(20*time.Millisecond, cancel)
	a, err := second.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; sqlerr.ID(err) != sqlerr.QueryCanceled.ID {
		t.Error(err)
	}
	if c := enginetest.Charges(t, both[1]); len(c) != 2 || c[1].Analyst != "bob" {
		t.Errorf("%+v", c)
	}
	both[0].Backend = f.Backend
	if rows, err := enginetest.Try(enginetest.NewSession(both[0], t, "ann"), sql); err != nil || fmt.Sprint(rows) != fmt.Sprint(a.Rows) {
		t.Errorf("the first is shown %v, the second was %v; %v", rows, a.Rows, err)
	}
	if n := len(enginetest.Charges(t, both[0])); n != 2 {
		t.Errorf("%d charges after a repeat", n)
	}
}
