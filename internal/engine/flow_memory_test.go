package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// pairsHeld asks for what the flows' memory holds and how many statements wait for it; a statement may be on its way there.
func pairsHeld(t *testing.T, e *server.Engine, what string, is func(bytes int64, waiting int) bool) {
	t.Helper()
	for range 6000 {
		if is(e.Queues.Pairs.Held()) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	bytes, waiting := e.Queues.Pairs.Held()
	t.Fatalf("%s: %d bytes are held, and %d statements wait", what, bytes, waiting)
}

func nothing(bytes int64, waiting int) bool { return bytes == 0 && waiting == 0 }

// TestFlowMemory: a statement whose pairs take more than limits.flow_memory fails as of any resource, charged and counted, topped up too, and leaves nothing held; others go on.
func TestFlowMemory(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ShopSession(t, enginetest.AllShop, d)
		limits := &s.World.Policy.Limits
		limits.FlowMemory = 4 << 10
		enginetest.Refused(t, s, "SELECT count(*) FROM lineitem", sqlerr.ResourceFailure, 1)
		enginetest.Refused(t, s, "SELECT l_shipmode, sum(l_quantity) FROM lineitem GROUP BY 1", sqlerr.ResourceFailure, 1)
		if n := enginetest.Blamed(t, s.Engine); n != 2 {
			t.Errorf("%s: %d failures are counted", d, n)
		}
		pairsHeld(t, s.Engine, "failures", nothing)
		enginetest.MustTry(t, s, "SELECT count(*) FROM orders")
		limits.FlowMemory = 64 << 10
		for range 2 { // what one held the next one has
			enginetest.Set(t, s, "dpsql.fresh", "on")
			enginetest.MustTry(t, s, "SELECT l_shipmode, count(*), sum(l_quantity) FROM lineitem GROUP BY 1")
		}
		enginetest.Set(t, s, "dpsql.fresh", "off")
		limits.FlowMemory = 4 << 10
		enginetest.Set(t, s, "dpsql.price", "2")
		enginetest.Refused(t, s, "SELECT l_shipmode, count(*), sum(l_quantity) FROM lineitem GROUP BY 1", sqlerr.ResourceFailure, 1)
		pairsHeld(t, s.Engine, "a top-up", nothing)
	}
	if text := fmt.Sprint(server.Logged(fmt.Errorf("reading: %w", flow.ErrMemory))); !strings.Contains(text, "limits.flow_memory") {
		t.Errorf("the owner's log says %s", text)
	}
}

// rowsGate stops rows over lineitem before their end, until it is opened.
type rowsGate struct {
	backend.Backend
	came, open chan struct{}
}

type rowsGateTx struct {
	backend.Tx
	g *rowsGate
}

type gatedRows struct {
	secret.Rows
	g     *rowsGate
	ended bool
}

func (g *rowsGate) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := g.Backend.Begin(ctx)
	return &rowsGateTx{tx, g}, err
}

func (t *rowsGateTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	rows, err := t.Tx.Query(ctx, sql, args, want)
	return &gatedRows{Rows: rows, g: t.g}, err
}

func (r *gatedRows) Next() bool {
	if r.ended || r.Rows.Next() {
		return !r.ended
	}
	r.ended = true
	r.g.came <- struct{}{}
	<-r.g.open
	return false
}

// TestFlowMemoryShared: two sessions have one limit. While one holds too much of it the other waits, and is answered when that ends, also by a cancel; a cancel ends the wait as well. Nothing stays held.
func TestFlowMemoryShared(t *testing.T) {
	for _, d := range enginetest.Dialects {
		real := enginetest.AllShop.Open(t, d)
		e := enginetest.EngineOn(t, enginetest.ShopPolicyFor(t, d, "statement_timeout: 20s", "statement_timeout: 600s"), real)
		g := &rowsGate{real, make(chan struct{}), make(chan struct{})}
		start := func(by backend.Backend, sql string) (end chan error, cancel func()) {
			e.Backend = by
			p, err := enginetest.Prepare(enginetest.NewSession(e, t, "ann"), sql)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			end = make(chan error, 1)
			go func() {
				_, err := p.Run(ctx, nil)
				end <- err
			}()
			return end, cancel
		}
		most := &e.World.Load().Policy.Limits.FlowMemory
		*most = 1 << 20
		for _, how := range []string{"ends", "is cancelled", "is given up"} {
			first, cancel := start(g, "SELECT count(*) FROM lineitem WHERE l_quantity > 0 OR l_shipmode <> '"+how+"'")
			<-g.came
			holds, _ := e.Queues.Pairs.Held()
			if holds < 4<<10 {
				t.Fatalf("%s: the first holds %d bytes", d, holds)
			}
			*most = holds + 4<<10 // of the second's share: what it needs alone; the first took its own under 1 MiB
			second, cancelSecond := start(real, "SELECT count(*) FROM lineitem WHERE l_quantity > 1 OR l_shipmode <> '"+how+"'")
			pairsHeld(t, e, how, func(_ int64, waiting int) bool { return waiting == 1 })
			switch how {
			case "is given up":
				cancelSecond()
				if err := <-second; sqlerr.ID(err) != sqlerr.QueryCanceled.ID {
					t.Errorf("%s: a wait is cancelled: %v", d, err)
				}
			case "is cancelled":
				cancel()
			}
			g.open <- struct{}{}
			if err := <-first; (err == nil) == (how == "is cancelled") {
				t.Errorf("%s: the first %s: %v", d, how, err)
			}
			if how != "is given up" {
				if err := <-second; err != nil {
					t.Errorf("%s: the first %s, the second: %v", d, how, errors.Join(err, errors.Unwrap(err)))
				}
			}
			cancel()
			cancelSecond()
			pairsHeld(t, e, how, nothing)
			*most = 1 << 20
		}
		if n := enginetest.Blamed(t, e); n != 0 {
			t.Errorf("%s: %d failures are counted", d, n)
		}
	}
}

// TestFlowMemoryTurns: two statements that fit one by one, and together do not, are both answered: the one that would wait for the other, which waits for it, gives back what it holds and reads once more when the other has ended. So are top-ups.
func TestFlowMemoryTurns(t *testing.T) {
	for _, d := range enginetest.Dialects {
		real := enginetest.AllShop.Open(t, d)
		e := enginetest.EngineOn(t, enginetest.ShopPolicyFor(t, d, "statement_timeout: 20s", "statement_timeout: 600s"), real)
		most := &e.World.Load().Policy.Limits.FlowMemory
		for _, epsilon := range []string{"0.5", "1"} {
			*most = 1 << 20
			start := func(what string) (*rowsGate, chan error) {
				g := &rowsGate{real, make(chan struct{}), make(chan struct{})}
				e.Backend = g
				s := enginetest.NewSession(e, t, "ann")
				enginetest.Set(t, s, "dpsql.price", epsilon)
				p, err := enginetest.Prepare(s, "SELECT count(*) FROM lineitem WHERE l_quantity > 0 OR l_shipmode <> '"+what+"'")
				if err != nil {
					t.Fatal(err)
				}
				end := make(chan error, 1)
				go func() {
					_, err := p.Run(context.Background(), nil)
					end <- err
				}()
				<-g.came
				return g, end
			}
			probe, probed := start("a probe")
			holds, _ := e.Queues.Pairs.Held()
			probe.open <- struct{}{}
			if err := <-probed; err != nil {
				t.Fatal(err)
			}
			*most = 2 * holds
			first, ends := start("the first")
			second, andEnds := start("the second")
			first.open <- struct{}{}
			pairsHeld(t, e, "a stand-off", func(_ int64, waiting int) bool { return waiting == 1 })
			second.open <- struct{}{}
			if err := <-ends; err != nil {
				t.Fatalf("%s: the first: %v", d, errors.Join(err, errors.Unwrap(err)))
			}
			select {
			case <-second.came: // its rows are read once more
				second.open <- struct{}{}
			case err := <-andEnds:
				t.Fatalf("%s: the second did not read again: %v", d, err)
			}
			if err := <-andEnds; err != nil {
				t.Fatalf("%s: the second: %v", d, errors.Join(err, errors.Unwrap(err)))
			}
			pairsHeld(t, e, "both", nothing)
		}
		if n := enginetest.Blamed(t, e); n != 0 {
			t.Errorf("%s: %d failures are counted", d, n)
		}
	}
}
