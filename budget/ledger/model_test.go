package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// model is a ledger without a file: a list of charges from which all that the store says follows by brute force.
type model struct {
	heads   []Head
	current *Head
	epoch   string
	now     time.Time // what the clock shows
	clock   time.Time // of the last record
	charges []*modelCharge
	frozen  map[string]bool
	stops   modelStops
	cache   Cache
	grants  []modelGrant
	windows map[[2]string]float64     // charged: of a data set, what it promised last before its end
	asks    map[string]*budget.Filter // what each data set's policy asks of a window that begins; heads have that of the window charged last
}

type modelCharge struct {
	Reservation
	id      int64
	dataset string
	window  string
	epoch   string
	open    bool
	failed  bool
	release *modelRelease
}

type modelRelease struct {
	key     Hash
	payload string
	expires time.Time
}

// time is the later of the clock and the last record.
func (m *model) time() time.Time {
	if m.now.Before(m.clock) {
		return m.clock
	}
	return m.now
}

// wrote notes that a record was written.
func (m *model) wrote() { m.clock = m.time() }

// windowName names the window of a moment, by other means than the store's.
func windowName(per string, at time.Time) string {
	switch per {
	case WindowDay:
		return at.Format(time.DateOnly)
	case WindowWeek:
		return fmt.Sprint(at.ISOWeek())
	case WindowMonth:
		return at.Format("2006-01")
	case WindowQuarter:
		return fmt.Sprint(at.Year(), (at.Month()-1)/3)
	}
	return ""
}

// best is the release that a lookup must give.
func (m *model) best(key Hash, analyst string) (text string, ok bool) {
	price := 0.0
	for _, c := range m.charges {
		if s := c.release; s != nil && s.key == key && c.dataset == m.current.Dataset && c.epoch == m.epoch && c.Price >= price &&
			(m.cache.Scope == ScopeDataset || c.Analyst == analyst) && m.time().Before(s.expires) {
			text, ok, price = s.payload, true, c.Price
		}
	}
	return text, ok
}

func (m *model) isFrozen(analyst string) bool { return m.frozen[""] || m.frozen[analyst] }

var modelFilters = sync.OnceValue(func() []*budget.Filter {
	var out []*budget.Filter
	for _, p := range []budget.Params{
		{Epsilon: 20, Delta: 1e-6, QueryEpsilon: 0.5, Accountant: budget.AccountantRDP},
		{Epsilon: 8, Delta: 1e-7, QueryEpsilon: 0.2, Accountant: budget.AccountantRDP},
	} {
		out = append(out, modelFilter(p))
	}
	return out
})

// The store against the model under random reservations, commits, failures, look-ups, freezes, grants, raises, other usual prices, reloads, restarts for either
// data set, and a clock that jumps both ways.
func TestModel(t *testing.T) { both(t, testModel) }

func testModel(t *testing.T) {
	analysts := rapid.SampledFrom([]string{"ann", "bob", "guest"})
	epochs := rapid.SampledFrom([]string{"1", "2"})
	dir, tb, inPG := t.TempDir(), t, strings.Contains(t.Name(), "/postgres")
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		path := filepath.Join(dir, fmt.Sprint(run))
		if inPG {
			if run > 10 && os.Getenv("DPSQL_LONG") == "" { // each operation is a round trip
				return
			}
			newSchema(tb, path)
		}
		m := &model{frozen: map[string]bool{}, windows: map[[2]string]float64{}, asks: map[string]*budget.Filter{}, now: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
			cache: Cache{TTL: 50 * time.Hour, Scope: rapid.SampledFrom([]string{ScopeDataset, ScopeAnalyst}).Draw(t, "scope")}}
		pers := rapid.SampledFrom([]string{"", WindowDay, WindowDay, WindowWeek, WindowMonth, WindowQuarter})
		for i, f := range modelFilters() {
			m.heads = append(m.heads, Head{Dataset: fmt.Sprint("set ", i), People: "all", Filter: f, Window: pers.Draw(t, "per"), Lifetime: &Lifetime{60}})
			m.asks[m.heads[i].Dataset] = f
		}
		start := func(t *rapid.T) *opened {
			m.current = &m.heads[rapid.IntRange(0, 1).Draw(t, "data set")]
			m.epoch = epochs.Draw(t, "epoch")
			l, err := openAt(path, m.policy(), frequent(Options{Cache: m.cache, Now: func() time.Time { return m.now }}))
			if err != nil {
				t.Fatal(err)
			}
			m.wrote()
			return l
		}
		l := start(t)
		anyOpen := func(t *rapid.T) (id int64, c *modelCharge) {
			ids, of := []int64{-1}, map[int64]*modelCharge{} // -1: no such reservation
			for _, c := range m.charges {
				if c.open {
					ids, of[c.id] = append(ids, c.id), c
				}
			}
			id = rapid.SampledFrom(ids).Draw(t, "id")
			return id, of[id]
		}
		closed := func(c *modelCharge, err error) bool {
			if c == nil {
				if !errors.Is(err, ErrNotOpen) {
					t.Fatalf("closing no reservation: %v", err)
				}
				return false
			}
			if err != nil {
				t.Fatal(err)
			}
			c.open = false
			m.wrote()
			return true
		}
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				if *l.Filter() != *m.filter() {
					t.Fatalf("the window's filter is %+v, not %+v", l.Filter(), m.filter())
				}
				r := drawReservation(t, m.filter(), m.payer(analysts.Draw(t, "analyst")))
				scope, role := m.admits(t, r)
				id, err := l.Reserve(ctx, r)
				var denied *Denied
				switch {
				case m.isFrozen(r.Analyst):
					if !errors.Is(err, ErrFrozen) {
						t.Fatalf("frozen: %v", err)
					}
				case m.stops.stopped[r.Analyst]:
					if !errors.Is(err, ErrStopped) {
						t.Fatalf("stopped: %v", err)
					}
				case scope == "" && err == nil:
					m.wrote()
					m.current.Filter = m.filter()
					m.windows[m.window(m.current)] = m.current.Filter.Epsilon
					m.charges = append(m.charges, &modelCharge{Reservation: r, id: id, dataset: m.current.Dataset,
						window: windowName(m.current.Window, m.time()), epoch: m.epoch, open: true})
				case scope == "" || !errors.As(err, &denied) || denied.Scope != scope || denied.Role != role:
					t.Fatalf("the model denies by %q %q: %v", scope, role, err)
				}
			},
			"commit": func(t *rapid.T) {
				id, c := anyOpen(t)
				s := &modelRelease{key: Hash{rapid.Byte().Draw(t, "key") % 4}, expires: m.time().Add(m.cache.TTL),
					payload: rapid.SampledFrom([]string{"", "1", "a longer release"}).Draw(t, "release")}
				if closed(c, l.Commit(ctx, id, Release{Key: s.key, Payload: []byte(s.payload)})) {
					c.release = s
				}
			},
			"fail": func(t *rapid.T) {
				id, c := anyOpen(t)
				class := rapid.SampledFrom([]string{"disk", FailResource, FailResource, FailStage}).Draw(t, "class")
				if closed(c, l.Fail(ctx, id, class)) {
					c.failed = true
					m.stops.failed(m, c, class)
				}
			},
			"lookup": func(t *rapid.T) {
				key, analyst := Hash{rapid.Byte().Draw(t, "key") % 4}, analysts.Draw(t, "analyst")
				got, found, err := l.Lookup(ctx, key, analyst)
				want, ok := m.best(key, analyst)
				if m.isFrozen(analyst) {
					if !errors.Is(err, ErrFrozen) {
						t.Fatalf("frozen: %v", err)
					}
				} else if err != nil || found != ok || ok && string(got.Payload) != want {
					t.Fatalf("lookup: %+v %v %v, want %q %v", got, found, err, want, ok)
				}
			},
			"freeze": func(t *rapid.T) {
				who, on := rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(t, "who"), rapid.SampledFrom([]bool{true, false, false}).Draw(t, "on")
				do := l.Unfreeze
				if on {
					do = l.Freeze
				}
				if err := do(ctx, who, "owner"); err != nil {
					t.Fatal(err)
				}
				pardoned := !on && m.stops.pardon(m, who)
				if m.frozen[who] != on || pardoned {
					m.frozen[who] = on
					m.wrote()
				}
			},
			"reload": func(t *rapid.T) {
				epoch := epochs.Draw(t, "epoch")
				m.cache.Scope = rapid.SampledFrom([]string{ScopeDataset, ScopeAnalyst}).Draw(t, "scope")
				if err := errors.Join(l.setEpoch(epoch), l.SetCache(m.cache)); err != nil {
					t.Fatal(err)
				}
				if epoch != m.epoch {
					m.epoch = epoch
					m.wrote()
				}
			},
			"grant": func(t *rapid.T) {
				g := Grant{Dataset: m.current.Dataset, Epsilon: rapid.SampledFrom([]float64{0.1, 0.5, 3}).Draw(t, "granted"), By: "owner", Reason: "thesis"}
				to := payee{name: analysts.Draw(t, "analyst")}
				if to.role = rapid.Bool().Draw(t, "role"); to.role {
					to.name = map[string]string{"ann": "lab", "bob": "ward", "guest": "nobody's"}[to.name]
					g.Role = to.name
				} else {
					g.Analyst = to.name
				}
				if err := l.Grant(ctx, g); err != nil {
					t.Fatal(err)
				}
				m.wrote()
				m.grants = append(m.grants, modelGrant{m.window(m.current), to, g.Epsilon})
			},
			"raise": func(t *rapid.T) { m.raise(t, l) },
			"price": func(t *rapid.T) { // another query.price: no record, no epoch
				asks := m.filter()
				m.asks[m.current.Dataset] = modelFilter(budget.Params{Epsilon: asks.Epsilon, Delta: asks.Delta, QueryEpsilon: rapid.SampledFrom([]float64{0.01, 0.2, 0.5}).Draw(t, "usual"), Accountant: asks.Accountant})
				if err := l.SetHead(ctx, m.policy()); err != nil {
					t.Fatal(err)
				}
			},
			"clock": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int{1, 5, 5, 24, 24, 24 * 8, 24 * 40, -24, -24 * 60}).Draw(t, "hours")) * time.Hour)
			},
			"restart": func(t *rapid.T) {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = start(t)
				for _, c := range m.charges {
					c.open = false
				}
			},
			"": func(t *rapid.T) {
				if err := errors.Join(m.same(l), m.stops.same(l)); err != nil {
					t.Fatal(err)
				}
			},
		})
		if err := l.Verify(ctx); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Close(), os.Remove(path+MarkSuffix)); err != nil {
			t.Fatal(err)
		}
	})
}

func drawReservation(t *rapid.T, f *budget.Filter, p Payer) Reservation {
	s := dp.Sensitivity{PerGroup: rapid.Uint64Range(1, 20).Draw(t, "per group"), Groups: rapid.Uint64Range(1, 4).Draw(t, "groups")}
	price := rapid.SampledFrom([]float64{0.1, 0.5, 3}).Draw(t, "price")
	r := Reservation{Payer: p, Statement: Hash{3}, Price: price}
	kind := rapid.SampledFrom([]string{"laplace", "gaussian", "selection", "gaussian selection"}).Draw(t, "kind")
	var (
		ev  dp.Event
		b   dp.Scale
		err error
	)
	switch kind {
	case "laplace":
		b, err = f.LaplaceScale(s, f.Limit(price))
		ev = dp.Laplace{Sensitivity: s, Scale: b}
	case "gaussian":
		b, err = f.GaussianScale(s, f.Limit(price))
		ev = dp.Gaussian{Sensitivity: s, Scale: b}
	case "gaussian selection":
		ev, err = f.Selection(dp.GaussianNoise, s.Groups, f.Limit(price), 5e-8)
	default:
		ev, err = f.Selection("", s.Groups, f.Limit(price), 5e-8)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Events = Events{ev}
	if r.Loss, err = f.Sum(r.Events); err != nil {
		t.Fatal(err)
	}
	return r
}

// 64 sessions race for the last of a budget with statements of three stages: each is charged whole or not at all, and what does not fit whole is charged nothing.
func TestRaceOfStages(t *testing.T) { both(t, testRaceOfStages) }

func testRaceOfStages(t *testing.T) {
	l := open(t, tempPath(t), pureHead(t, 1), Options{})
	part := count(t, l.Filter(), "ann", 1, 0.1)
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		admitted int
	)
	for range 64 {
		wg.Go(func() {
			ids, err := l.ReserveAll(ctx, []Reservation{part, part, part})
			var d *Denied
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && len(ids) == 3 && ids[1] == ids[0]+1 && ids[2] == ids[1]+1:
				admitted++
			case !errors.As(err, &d) || d.Charge.Pure < 0.29:
				t.Error(ids, err)
			}
		})
	}
	wg.Wait()
	b := must(l.balance("ann", 1))(t)
	if admitted != 3 || b.Dataset.Statements != 9 {
		t.Errorf("%d admitted, balance %+v", admitted, b)
	}
	other := part
	other.Analyst = "bob"
	free := part
	free.Loss = dp.Loss{}
	for name, list := range map[string][]Reservation{"two analysts": {part, other}, "nothing": nil, "a stage below its loss": {part, free}} {
		if _, err := l.ReserveAll(ctx, list); err == nil {
			t.Errorf("%s are reserved", name)
		}
	}
	if _, err := l.ReserveAll(ctx, []Reservation{part, part}); err == nil || must(l.balance("ann", 1))(t).Dataset.Statements != 9 {
		t.Error("two stages are charged where one fits")
	}
	must(l.Reserve(ctx, part))(t)
	if err := l.Verify(ctx); err != nil {
		t.Fatal(err)
	}
}

// 64 sessions race for the last of a budget: the data set's and the quota are never exceeded, and nothing is left lying.
func TestRaceForTheLastEpsilon(t *testing.T) { both(t, testRaceForTheLastEpsilon) }

func testRaceForTheLastEpsilon(t *testing.T) {
	l := open(t, tempPath(t), pureHead(t, 1), Options{})
	var (
		wg               sync.WaitGroup
		mu               sync.Mutex
		admitted, denied int
	)
	reservations := make([]Reservation, 64)
	for i := range reservations {
		reservations[i] = count(t, l.Filter(), fmt.Sprint("analyst ", i%2), 0.6, 0.1)
	}
	for _, r := range reservations {
		wg.Go(func() {
			for range 2 {
				_, err := l.Reserve(ctx, r)
				var d *Denied
				mu.Lock()
				switch {
				case err == nil:
					admitted++
				case errors.As(err, &d):
					denied++
				default:
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	b := must(l.balance("analyst 0", 0.6))(t)
	if admitted != 10 || denied != 118 || b.Dataset.Spent.Pure > 1 || b.Dataset.Statements != 10 || b.Analyst.Spent.Pure > 0.6 {
		t.Errorf("%d admitted, %d denied, balance %+v", admitted, denied, b)
	}
	if err := l.Verify(ctx); err != nil {
		t.Fatal(err)
	}
}
