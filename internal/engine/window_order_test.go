package engine_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestOrderOfTheWindow: a statement is priced and charged at the order of the window that pays: prepared in an earlier one, when the window turns between its price and its charge, and as a top-up of an earlier window's release. The order is
// that of query.price at the window's first charge.
func TestOrderOfTheWindow(t *testing.T) {
	for _, mechanism := range []string{"gaussian", "laplace"} {
		t.Run(mechanism, func(t *testing.T) { testOrderOfTheWindow(t, mechanism) })
	}
}

func testOrderOfTheWindow(t *testing.T, mechanism string) {
	ctx := context.Background()
	now := time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)
	turn, heard := func() {}, &enginetest.HeardLog{}
	e, err := server.Open(ctx, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, enginetest.MonthlyAt("0.5")...), Backend: enginetest.Turning{Backend: enginetest.Tame.Open(t, funcs.DuckDB), Turn: func() { turn() }}, Observer: heard,
		LedgerPath: filepath.Join(t.TempDir(), "ledger"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	s := enginetest.NewSession(e, t, "ann")
	enginetest.Set(t, s, "dpsql.notices", "full")
	// paid is the last charge, which has to be at this order, of its window's price tag or the difference of two, and as the owner heard and the notice said.
	paid := func(order, price, was float64, a *answer.Answer) {
		t.Helper()
		all := enginetest.Charges(t, e)
		c, f := all[len(all)-1], enginetest.FilterOf(e)
		tag := f.RenyiLimit(price) - f.RenyiLimit(was)
		if c.Order != order || f.Order != order || c.Price != price || c.Loss.Renyi > tag*(1+1e-9) || math.IsInf(c.Loss.Pure, 1) && c.Loss.Renyi < 0.9*tag {
			t.Errorf("charged %+v at order %g, of a tag of %g at order %g", c.Loss, c.Order, tag, order)
		}
		if own, err := f.Sum(c.Events); err != nil || own != c.Loss {
			t.Errorf("charged %+v, its events lose %+v: %v", c.Loss, own, err)
		}
		if h := (*heard)[len((*heard))-1]; h.Order != order || h.Loss != c.Loss || h.Outcome != server.Answered {
			t.Errorf("the owner heard %+v", h)
		}
		if a != nil && !strings.Contains(a.Notice, fmt.Sprintf("\ncharge: price %s (", server.Number(price))) || a != nil && !strings.Contains(a.Notice, fmt.Sprintf("Renyi %s at order %s", server.Number(c.Loss.Renyi), server.Number(order))) {
			t.Errorf("charged %+v, told: %s", c.Loss, a.Notice)
		}
		if err := e.Verify(ctx); err != nil {
			t.Error(err)
		}
	}
	usual := func(query string) {
		t.Helper()
		if err := e.Reload(ctx, enginetest.ClinicPolicyFor(t, funcs.DuckDB, enginetest.MonthlyAt(query)...)); err != nil {
			t.Fatal(err)
		}
	}
	enginetest.Set(t, s, "dpsql.mechanism", mechanism)
	enginetest.Set(t, s, "dpsql.price", "0.1")
	_, a := enginetest.Ask(t, s, "select count(*) from encounters")
	paid(10.29, 0.1, 0, a)
	early, err := enginetest.Prepare(s, "select count(*) from visits")
	if err != nil {
		t.Fatal(err)
	}
	usual("0.01")
	if told := enginetest.Explained(t, s, "select count(*) from patients"); !strings.Contains(told, "at order 10.3,") {
		t.Errorf("the window keeps its order: %s", told)
	}
	enginetest.Ask(t, s, "select count(*) from patients")
	paid(10.29, 0.1, 0, nil)

	now = now.Add(12 * time.Hour)
	if told := enginetest.Explained(t, s, "select count(*) from labs"); !strings.Contains(told, "at order 3.98,") {
		t.Errorf("the next window has another one: %s", told)
	}
	a, err = early.Run(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	paid(3.98, 0.1, 0, a)
	rows := enginetest.MustTry(t, s, `select l.charge, l."order", l.renyi, l.renyi_spent, b.renyi_spent, b."order" from dpsql.ledger l cross join dpsql.budget b where b.scope = 'analyst' order by l.charge desc limit 2`)
	if rows[0][1] != 3.98 || rows[0][5] != 3.98 || rows[0][2] != rows[0][3] || rows[0][3] != rows[0][4] || rows[1][1] != 10.29 {
		t.Errorf("%v", rows)
	}
	// The release of the earlier window is free at its price, and topped up at the order of this one.
	_, a = enginetest.Ask(t, s, "select count(*) from encounters")
	b, err := s.Balance()
	if err != nil {
		t.Fatal(err)
	}
	if left := s.LeftLine(b, dp.Loss{}); !strings.Contains(a.Notice, "spent: nothing") || !strings.Contains(a.Notice, left) {
		t.Errorf("%s; want %s", a.Notice, left)
	}
	enginetest.Set(t, s, "dpsql.price", "0.25")
	_, a = enginetest.Ask(t, s, "select count(*) from encounters")
	paid(3.98, 0.25, 0.1, a)

	// The window turns between the price and the charge.
	usual("0.5")
	heards, turns := len((*heard)), 0
	turn = func() {
		if turns++; turns == 1 {
			now = now.AddDate(0, 1, 0)
		}
	}
	_, a = enginetest.Ask(t, s, "select count(*) from labs")
	turn = func() {}
	if paid(10.29, 0.25, 0, a); turns != 2 || len((*heard)) != heards+1 {
		t.Errorf("%d snapshots were opened, the owner heard %d times", turns, len((*heard))-heards)
	}
}

// TestServersBeginAWindow: sessions of two servers with different query.price ask at once when a window begins. All are answered, and charged at one order, that of whoever was first.
func TestServersBeginAWindow(t *testing.T) {
	both := enginetest.TogetherUnder(t, [2][]string{enginetest.MonthlyAt("0.5"), enginetest.MonthlyAt("0.01")})
	var (
		wg    sync.WaitGroup
		begin = make(chan struct{})
		list  []*enginetest.Prepared
	)
	for i := range 8 {
		s := enginetest.NewSession(both[i%2], t, []string{"ann", "bob"}[i/2%2])
		enginetest.Set(t, s, "dpsql.price", "0.1")
		p, err := enginetest.Prepare(s, fmt.Sprintf("select count(*) from encounters where days + 0 > %d", i))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if a, b := list[0].Filter.Order, list[1].Filter.Order; a == b {
		t.Fatalf("both servers have order %g", a)
	}
	for _, p := range list {
		wg.Go(func() {
			<-begin
			if _, err := p.Run(context.Background(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	wg.Wait()
	order := enginetest.FilterOf(both[0]).Order
	for _, c := range enginetest.Charges(t, both[0]) {
		if c.Order != order || c.Loss.Renyi > enginetest.FilterOf(both[0]).RenyiLimit(0.1)*(1+1e-9) {
			t.Errorf("charged %+v at order %g, the window's is %g", c.Loss, c.Order, order)
		}
	}
	for i, e := range both {
		if n := len(enginetest.Charges(t, e)); n != len(list) || enginetest.FilterOf(e).Order != order {
			t.Errorf("server %d: %d charges, order %g", i, n, enginetest.FilterOf(e).Order)
		}
		if err := e.Verify(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// restless is a ledger whose windows have another order whenever one is charged, until it is at rest.
type restless struct {
	ledger.Ledger
	asked, moves int
}

func (r *restless) ReserveAll(ctx context.Context, list []ledger.Reservation) ([]int64, error) {
	if r.asked++; r.asked <= r.moves {
		return nil, ledger.ErrOrder
	}
	return r.Ledger.ReserveAll(ctx, list)
}

// TestOrderIsAskedThrice: a statement is not priced for ever at orders that its window does not have: after the third it ends as a failure of the ledger, told to the owner once. Nothing is charged.
func TestOrderIsAskedThrice(t *testing.T) {
	heard := &enginetest.HeardLog{}
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), enginetest.Tame.Open(t, funcs.DuckDB))
	e.Observer = heard
	for i, c := range []struct {
		moves int
		id    string
	}{{1, ""}, {2, ""}, {3, "ledger_unavailable"}, {1000, "ledger_unavailable"}} {
		l := &restless{e.Ledger, 0, c.moves}
		e.Ledger = l
		before := len(enginetest.Charges(t, e))
		_, err := enginetest.Try(enginetest.NewSession(e, t, "ann"), fmt.Sprintf("select count(*) from encounters where days + 0 > %d", i))
		if paid := len(enginetest.Charges(t, e)) - before; sqlerr.ID(err) != c.id || l.asked != min(c.moves+1, 3) || (paid == 1) != (c.id == "") || len((*heard)) != i+1 || (*heard)[i].Error != c.id {
			t.Errorf("%d changes: %v, asked %d times, %d charges, %+v", c.moves, err, l.asked, paid, (*heard))
		}
		e.Ledger = l.Ledger
	}
}
