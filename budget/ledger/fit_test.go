package ledger

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// usually is a monthly budget of epsilon 10, of statements at this price: order 10.29 at 0.5, 3.98 at 0.01.
func usually(t testing.TB, price float64) Head { return promising(t, 10, price) }

func promising(t testing.TB, epsilon, price float64) Head {
	head := demoHead(t)
	head.Window, head.Lifetime = WindowMonth, &Lifetime{200}
	head.Filter = must(budget.NewFilter(budget.Params{Epsilon: epsilon, Delta: 1e-6, QueryEpsilon: price, Accountant: budget.AccountantRDP}))(t)
	return head
}

// fits are the records that changed the order.
func fits(t testing.TB, l *book) (out []Record) {
	t.Helper()
	for r, err := range l.Records(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Fit != nil {
			out = append(out, r)
		}
	}
	return out
}

// held is how many more statements of a price the window of now holds.
func held(t testing.TB, l *book, price float64) int64 {
	t.Helper()
	b := must(l.balance("ann", 1))(t)
	if *b.Filter != *l.Filter() || b.Dataset.Rooms.Renyi != b.Filter.RenyiRoom {
		t.Errorf("the balance is of %+v, the window's filter is %+v", b.Filter, l.Filter())
	}
	return b.StatementsLeft(dp.Loss{Pure: price, Renyi: b.Filter.RenyiLimit(price)})
}

// A window keeps the order that the policy asked for at its first charge; the next one has that of the policy then, over restarts from checkpoints, and so has one whose budget was raised.
func TestOrderOfAWindow(t *testing.T) { both(t, testOrderOfAWindow) }

func testOrderOfAWindow(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-22 12:00")
	l := open(t, path, usually(t, 0.5), frequent(h.options()))
	order := func(want float64, records int) {
		t.Helper()
		owners := must(l.Accounts())(t).Datasets[0]
		if f := l.Filter(); f.Order != want || owners.Filter.Order != want || owners.Began.Order != want || len(fits(t, l.book)) != records {
			t.Errorf("order %g, to the owner %g, want %g; %d records", f.Order, owners.Filter.Order, want, len(fits(t, l.book)))
		}
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
	}
	charge := func() {
		t.Helper()
		must(l.Reserve(ctx, gaussian(t, l.Filter(), "ann", 1, 0.01)))(t)
	}
	if err := l.SetHead(ctx, usually(t, 0.1)); err != nil {
		t.Fatal(err)
	}
	order(4.05, 0) // nothing was charged yet
	if err := l.SetHead(ctx, usually(t, 0.5)); err != nil {
		t.Fatal(err)
	}
	order(10.29, 0)
	charge()
	if err := l.SetHead(ctx, usually(t, 0.01)); err != nil {
		t.Fatal(err)
	}
	order(10.29, 0)
	charge()
	h.set(t, "2026-12-01 12:00")
	order(3.98, 0)
	old := must(l.AccountsOf("demo", usually(t, 0.5).Filter, nil))(t).Datasets[0] // to one with another policy
	if old.Filter.Order != 10.29 || old.Account.Rooms.Renyi != old.Filter.RenyiRoom {
		t.Errorf("%+v", old)
	}
	charge()
	order(3.98, 1)
	for range 6 { // and a checkpoint
		charge()
	}
	l = reopen(t, l, path, usually(t, 0.5), frequent(h.options()))
	order(3.98, 1)
	charge()
	raised := promising(t, 20, 0.5)
	if err := errors.Join(l.Raise(ctx, raised, "owner", "more"), l.SetHead(ctx, raised)); err != nil {
		t.Fatal(err)
	}
	order(3.98, 1) // in the window that was begun
	charge()
	h.set(t, "2027-01-01 12:00")
	order(3.18, 1)
	larger := promising(t, 21, 0.5)
	if err := errors.Join(l.Raise(ctx, larger, "owner", "more"), l.SetHead(ctx, larger)); err != nil {
		t.Fatal(err)
	}
	order(larger.Filter.Order, 1) // before the first charge
	charge()
	order(larger.Filter.Order, 2)
	l = reopen(t, l, path, larger, frequent(h.options()))
	order(larger.Filter.Order, 2)
	own := must(l.Charges(ctx, "ann"))(t)
	for i, want := range []float64{10.29, 10.29, 3.98, 3.98, 3.98} {
		if own[i].Order != want {
			t.Errorf("charge %d at order %g, want %g", i+1, own[i].Order, want)
		}
	}
	if b := must(l.balance("ann", 1))(t); b.Lifetime.Spent != 10+20+21 || b.Lifetime.Windows != 3 {
		t.Errorf("%+v", b.Lifetime)
	}
	for i, at := range must(l.History(ctx, "demo"))(t) {
		if !(at.All > 0 && at.All < 0.01) {
			t.Errorf("charge %d: %g of the budget", i+1, at.All)
		}
	}
}

// The numbers of docs/budget.md, "What to choose": a window that was begun holds what its order holds, whatever the policy says by then; the next one what the policy's does.
func TestNextWindowHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		epsilon, price float64
		then           [2]float64 // epsilon and price of the policy later on, in this window and the next
		of             float64    // statements of that price
		this, next     int64
	}{
		{10, 0.5, [2]float64{10, 0.01}, 0.01, 17171, 29673},
		{1, 0.1, [2]float64{10, 0.1}, 0.1, 110, 311},
		{0.1, 0.1, [2]float64{10, 0.1}, 0.1, 99, 311}, // no room for an order at first
	} {
		h, path := &hands{}, tempPath(t)
		h.set(t, "2026-11-22 12:00")
		l := open(t, path, promising(t, c.epsilon, c.price), h.options())
		must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 1e-6)))(t) // next to nothing
		later := promising(t, c.then[0], c.then[1])
		if c.epsilon != c.then[0] {
			if err := l.Raise(ctx, later, "owner", "more"); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.SetHead(ctx, later); err != nil {
			t.Fatal(err)
		}
		if n := held(t, l.book, c.of); n < c.this-1 || n > c.this {
			t.Errorf("the window that was begun with %+v holds %d", c, n)
		}
		h.set(t, "2026-12-22 12:00")
		if n := held(t, l.book, c.of); n != c.next {
			t.Errorf("the next window of %+v holds %d", c, n)
		}
		must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 1e-6)))(t)
		if n := held(t, l.book, c.of); n < c.next-1 {
			t.Errorf("the next window of %+v holds %d once it is charged", c, n)
		}
	}
}

// A budget without windows is one window: it keeps the order of its first charge.
func TestOrderForEver(t *testing.T) { both(t, testOrderForEver) }

func testOrderForEver(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-22 12:00")
	for i, price := range []float64{0.5, 0.01, 0.5, 0.1} {
		head := usually(t, price)
		head.Window, head.Lifetime = "", nil
		l := open(t, path, head, h.options())
		if want := []float64{10.29, 3.98, 3.98, 3.98}[i]; l.Filter().Order != want {
			t.Errorf("opening %d: order %g, want %g", i, l.Filter().Order, want)
		}
		if i > 0 {
			must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
		}
		if err := errors.Join(l.Verify(ctx), l.Close()); err != nil {
			t.Fatal(err)
		}
		h.now = h.now.AddDate(1, 0, 0)
	}
}

// What was priced at the order of a window that is over is not charged in the next one, and leaves nothing behind: it is priced anew.
func TestPricedAtAnotherOrder(t *testing.T) { both(t, testPricedAtAnotherOrder) }

func testPricedAtAnotherOrder(t *testing.T) {
	h := &hands{}
	h.set(t, "2026-11-30 12:00")
	l := open(t, tempPath(t), usually(t, 0.5), h.options())
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	if err := l.SetHead(ctx, usually(t, 0.01)); err != nil {
		t.Fatal(err)
	}
	old := l.Filter()
	dear := gaussian(t, old, "ann", 1, 0.5)
	dear.Filter = old
	h.set(t, "2026-12-01 12:00")
	seq := l.state.seq
	if _, err := l.Reserve(ctx, dear); !errors.Is(err, ErrOrder) || l.state.seq != seq {
		t.Fatalf("%d records, %v", l.state.seq-seq, err)
	}
	dear = gaussian(t, l.Filter(), "ann", 1, 0.5)
	dear.Filter = l.Filter()
	must(l.Reserve(ctx, dear))(t)
	if b := must(l.balance("ann", 1))(t); b.Dataset.Spent != dear.Loss || dear.Filter.Order == old.Order {
		t.Errorf("%+v, charged %+v", b.Dataset, dear.Loss)
	}
	// A denied statement, and one that is not written, begin no window.
	h.set(t, "2027-01-01 12:00")
	if err := l.SetHead(ctx, usually(t, 0.5)); err != nil {
		t.Fatal(err)
	}
	deniedBy(t, l, count(t, l.Filter(), "ann", 1e-3, 0.5), ScopeAnalyst)
	bad := count(t, l.Filter(), "ann", 1, 0.5)
	bad.Price = 0
	if _, err := l.Reserve(ctx, bad); err == nil || len(fits(t, l.book)) != 1 || must(l.balance("ann", 1))(t).Window.Charged {
		t.Errorf("%v; %d records of orders", err, len(fits(t, l.book)))
	}
}

// The order does not change within a window, whoever writes the record: none may follow, and one that was planted is named, as is a charge that is below its loss at the window's order.
func TestOrderChangesWithinAWindow(t *testing.T) { both(t, testOrderChangesWithinAWindow) }

func testOrderChangesWithinAWindow(t *testing.T) {
	h := &hands{}
	h.set(t, "2026-11-22 12:00")
	low, high := usually(t, 0.01).Filter, usually(t, 0.5).Filter
	began := func() *opened {
		l := open(t, tempPath(t), usually(t, 0.5), h.options())
		must(l.Reserve(ctx, gaussian(t, l.Filter(), "ann", 1, 0.5)))(t)
		return l
	}
	l := began()
	other, bare, wide := promising(t, 11, 0.5).Filter, *high, *low
	bare.Order, wide.RenyiRoom = 1.2, 2*low.RenyiRoom
	for name, f := range map[string]*Fit{"within a window": {"demo", low}, "no filter": {"demo", nil}, "no data set": {"other", low}} {
		if err := appendTo(l, &Record{Fit: f}); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	h.set(t, "2026-12-01 12:00")
	for name, f := range map[string]*budget.Filter{"another promise": other, "no order": &bare, "more room than the order gives": &wide} {
		if err := appendTo(l, &Record{Fit: &Fit{"demo", f}}); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	if err := appendTo(l, &Record{Fit: &Fit{"demo", low}}); err != nil {
		t.Errorf("before the first charge: %v", err)
	}
	planted := map[string]func(l *opened){
		"the order changes": func(l *opened) {
			d := l.state.find("demo")
			accounts, windows := d.accounts, d.windows
			d.windows = 0 // who plants it believes that nothing was charged
			r := &Record{Fit: &Fit{"demo", low}}
			write(t, l, r)
			d.accounts, d.windows = accounts, windows
		},
		"below its events' loss": func(l *opened) {
			cheap := gaussian(t, l.Filter(), "ann", 1, 0.5)
			cheap.Loss = must(low.Sum(cheap.Events))(t)
			write(t, l, &Record{Reserve: &Charge{Reservation: cheap, Order: high.Order}})
		},
	}
	for want, plant := range planted {
		h.set(t, "2026-11-22 12:00")
		l := began()
		seq := l.state.seq + 1
		plant(l)
		var broken *CorruptError
		if err := l.Verify(ctx); !errors.As(err, &broken) || broken.Seq != seq || !strings.Contains(broken.Reason, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Two servers, one with an older policy, when a window begins: whoever charges first fixes the order for both, and the other prices anew. One that has not read a raise charges nothing and fixes nothing.
func TestServersAtAWindowsTurn(t *testing.T) {
	t.Parallel()
	h := &hands{}
	h.set(t, "2026-11-22 12:00")
	at, list := proxies(t, 1, usually(t, 0.5), h.options())
	a, b := list[0], joined(t, at, usually(t, 0.01), h.options(), usual)
	a.silent() // the test moves their clock
	b.silent()
	ask := func(l *Postgres) error {
		r := gaussian(t, l.Filter(), "ann", 1, 0.01)
		r.Filter = l.Filter()
		_, err := l.Reserve(ctx, r)
		return err
	}
	for month, first := range []*Postgres{a, b} {
		second, want := map[*Postgres]*Postgres{a: b, b: a}[first], []float64{10.29, 3.98}[month]
		stale := second.Filter().Order
		if err := ask(first); err != nil {
			t.Fatal(err)
		}
		if err := ask(second); !errors.Is(err, ErrOrder) || stale == want {
			t.Errorf("priced at %g, in a window of %g: %v", stale, want, err)
		}
		if err := ask(second); err != nil || second.Filter().Order != want || first.Filter().Order != want {
			t.Errorf("order %g and %g, want %g: %v", second.Filter().Order, first.Filter().Order, want, err)
		}
		h.now = h.now.AddDate(0, 1, 0)
	}
	raised := promising(t, 20, 0.01)
	if err := errors.Join(b.Raise(ctx, raised, "owner", "more"), b.SetHead(ctx, raised)); err != nil {
		t.Fatal(err)
	}
	before := len(fits(t, b.book))
	if err := ask(a); !errors.Is(err, ErrPromise) {
		t.Errorf("under a promise that it has not read: %v", err)
	}
	if err := ask(b); err != nil || b.Filter().Order != raised.Filter.Order || len(fits(t, b.book)) != before+1 {
		t.Errorf("order %g, %d records: %v", b.Filter().Order, len(fits(t, b.book))-before, err)
	}
	if err := a.SetHead(ctx, promising(t, 20, 0.5)); err != nil {
		t.Fatal(err)
	}
	if err := ask(a); err != nil || a.Filter().Order != raised.Filter.Order {
		t.Errorf("order %g: %v", a.Filter().Order, err)
	}
	// All at once.
	h.now = h.now.AddDate(0, 1, 0)
	before = len(fits(t, b.book))
	var wg sync.WaitGroup
	for i := range 16 {
		l := []*Postgres{a, b}[i%2]
		wg.Go(func() {
			err := ask(l)
			for errors.Is(err, ErrOrder) {
				err = ask(l)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(fits(t, b.book)) - before; n > 1 {
		t.Errorf("%d orders in one window", n)
	}
	for _, l := range []*Postgres{a, b} {
		if bal := must(l.balance("ann", 1))(t); bal.Dataset.Statements != 16 {
			t.Errorf("%+v", bal.Dataset)
		}
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
	}
}

// testdata/version4-order is a ledger that the program of format 4 wrote on 2026-11-22, at its clock's 2026-10-30, a checkpoint every 5 records: a monthly budget of 10 in Gaussian statements of 0.5, ann two (one with a release), raised to 20, and bob three. Its month keeps the
// order of the first record, the next one has that of the policy.
func TestOrderOfVersion4(t *testing.T) {
	path := raised(t, "version4-order")
	h := &hands{}
	h.set(t, "2026-10-30 13:00")
	o := must(openOwner(ctx, path, h.options()))(t)
	if acc := must(o.Accounts())(t).Datasets[0]; acc.Analysts["bob"].Statements != 3 || acc.Filter.Order != 10.29 || acc.Began.Epsilon != 10 || acc.Filter.Epsilon != 20 {
		t.Errorf("%+v", acc)
	}
	if err := errors.Join(o.Verify(ctx), o.Close()); err != nil {
		t.Fatal(err)
	}
	head := promising(t, 20, 0.01)
	l := open(t, path, head, frequent(h.options()))
	must(l.Reserve(ctx, gaussian(t, l.Filter(), "ann", 1, 0.5)))(t)
	if b := must(l.balance("ann", 1))(t); b.Filter.Order != 10.29 || b.Dataset.Statements != 6 || b.Began.Order != 10.29 {
		t.Errorf("%+v", b)
	}
	if s, ok, err := l.Lookup(ctx, Hash{9}, "bob"); !ok || err != nil || string(s.Payload) != "54,864" {
		t.Errorf("%+v %v %v", s, ok, err)
	}
	h.set(t, "2026-11-02 13:00")
	must(l.Reserve(ctx, gaussian(t, l.Filter(), "ann", 1, 0.01)))(t)
	l = reopen(t, l, path, head, h.options())
	if b := must(l.balance("ann", 1))(t); *b.Filter != *head.Filter || b.Filter.Order == 10.29 || b.Lifetime.Spent != 40 || b.Dataset.Statements != 1 {
		t.Errorf("%+v", b)
	}
	if got := must(queryText(l.db, "PRAGMA user_version"))(t); got != fmt.Sprint(version) || l.Verify(ctx) != nil {
		t.Errorf("format %s, %v", got, l.Verify(ctx))
	}
}
