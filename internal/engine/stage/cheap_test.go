package stage_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// gate is a database that lets the first few queries for encounters wait until it opens, or their statements end.
type gate struct {
	backend.Backend
	mu         sync.Mutex
	held, most int
	open       chan struct{}
}

func (g *gate) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := g.Backend.Begin(ctx)
	return &gatedTx{tx, g}, err
}

type gatedTx struct {
	backend.Tx
	g *gate
}

func (t *gatedTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	t.g.mu.Lock()
	wait := strings.Contains(sql, "encounters") && t.g.held < t.g.most
	if wait {
		t.g.held++
	}
	t.g.mu.Unlock()
	if wait {
		select {
		case <-t.g.open:
		case <-ctx.Done():
		}
	}
	return t.Tx.Query(ctx, sql, args, want)
}

// TestCheapQuestionsKeepNobodyWaiting: eight sessions of one analyst ask at the least price, anew or not, and at the price of others without a turn to read; who asks the same at a larger price, or while they have no reservation, is answered meanwhile.
func TestCheapQuestionsKeepNobodyWaiting(t *testing.T) {
	const sql = "select count(*) from encounters"
	p := enginetest.ClinicPolicyFor(t, funcs.DuckDB, "epsilon: 20,", "epsilon: 100,")
	p.Limits.StatementsAtOnce = 2
	real := enginetest.Tame.Open(t, funcs.DuckDB)
	e := enginetest.EngineOn(t, p, real)
	g := &gate{Backend: real, most: 2, open: make(chan struct{})}
	e.Backend = g
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // ends what waits for good
	defer cancel()
	bob := enginetest.NewSession(e, t, "bob")
	var (
		wg  sync.WaitGroup
		all []*enginetest.Prepared
	)
	for i := range 8 {
		s := enginetest.NewSession(e, t, "ann")
		enginetest.Set(t, s, "dpsql.fresh", []string{"on", "off"}[i%2])
		if i < 6 {
			enginetest.Set(t, s, "dpsql.price", "0.0005")
		}
		one, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	ask := func(list []*enginetest.Prepared) {
		for _, p := range list {
			wg.Go(func() {
				if _, err := p.Run(ctx, nil); err != nil {
					t.Errorf("ann: %v", err)
				}
			})
		}
	}
	until := func(what string, is func() bool) {
		for !is() {
			select {
			case <-ctx.Done():
				t.Errorf("%s never came", what)
				return
			case <-time.After(time.Millisecond):
			}
		}
	}
	waiting := func(n int) func() bool {
		return func() bool {
			_, waiting := e.Queues.Turns.Held()
			return waiting >= n
		}
	}
	ask(all[:6]) // three of them anew; of the others the first has the key, and a turn, or waits for one, or for the reservation of one that asks anew
	until("the database", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.held == 2
	})
	until("who waits for a turn", waiting(1))
	ask(all[6:]) // at bob's price: neither has a turn
	until("who waits at bob's price", waiting(3))
	dear, err := enginetest.Prepare(bob, sql)
	if err == nil {
		_, err = dear.Run(ctx, nil)
	}
	if err != nil {
		t.Errorf("bob: %v", err)
	}
	close(g.open)
	wg.Wait()
	if n := enginetest.PaidFor(t, bob); n < 5 || n > 6 { // bob, four of ann's anew, and who of her others had a turn before bob's release was there
		t.Errorf("%d charges", n)
	}
}
