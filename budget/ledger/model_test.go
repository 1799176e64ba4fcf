package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/dp"
)

// model is a ledger without a file: what the store must agree with after every step.
type model struct {
	filter      *budget.Filter
	spent       map[string]dp.Loss // by analyst; "" is the data set
	failures    map[string]int64
	outstanding map[int64]Reservation
	stored      []modelRelease
	now         time.Time
}

type modelRelease struct {
	key     Hash
	analyst string
	price   float64
	payload string
	expires time.Time
}

// best is the release that a lookup must give.
func (m *model) best(key Hash, analyst string, c Cache) (text string, ok bool) {
	price := 0.0
	for _, s := range m.stored {
		if s.key == key && (c.Scope == ScopeDataset || s.analyst == analyst) && m.now.Before(s.expires) && s.price >= price {
			text, ok, price = s.payload, true, s.price
		}
	}
	return text, ok
}

// The store against the model under random reservations, commits, failures, look-ups, hours and restarts.
func TestModel(t *testing.T) {
	quotas := map[string]float64{"ann": 1, "bob": 0.25, "guest": 0.01}
	analysts := rapid.SampledFrom([]string{"ann", "bob", "guest"})
	dir := t.TempDir()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		path := filepath.Join(dir, fmt.Sprint(run))
		cache := Cache{TTL: 5 * time.Hour, Scope: rapid.SampledFrom([]string{ScopeDataset, ScopeAnalyst}).Draw(t, "scope")}
		head := modelHead(t)
		m := &model{filter: head.Filter, spent: map[string]dp.Loss{}, failures: map[string]int64{}, outstanding: map[int64]Reservation{},
			now: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}
		start := func() *SQLite {
			l, err := OpenSQLite(ctx, path, head, Options{Cache: cache, Now: func() time.Time { return m.now }})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		l := start()
		anyOpen := func(t *rapid.T) int64 {
			ids := []int64{-1} // no such reservation
			for id := range m.outstanding {
				ids = append(ids, id)
			}
			return rapid.SampledFrom(sorted(ids)).Draw(t, "id")
		}
		closed := func(id int64, err error) bool {
			if _, known := m.outstanding[id]; !known {
				if !errors.Is(err, ErrNotOpen) {
					t.Fatalf("closing %d: %v", id, err)
				}
				return false
			}
			if err != nil {
				t.Fatal(err)
			}
			return true
		}
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				r := drawReservation(t, m.filter, analysts.Draw(t, "analyst"), quotas)
				rooms, err := m.filter.Rooms(r.Quota)
				if err != nil {
					t.Fatal(err)
				}
				all, own := m.filter.Admits(m.spent[""], r.Loss), rooms.Admits(m.spent[r.Analyst], r.Loss)
				id, err := l.Reserve(ctx, r)
				var denied *Denied
				switch {
				case all && own && err == nil:
					m.outstanding[id] = r
					m.spent[""], m.spent[r.Analyst] = m.spent[""].Plus(r.Loss), m.spent[r.Analyst].Plus(r.Loss)
				case all && own || !errors.As(err, &denied) || (denied.Scope == ScopeDataset) != !all:
					t.Fatalf("data set admits %v, analyst %v: %v", all, own, err)
				}
			},
			"commit": func(t *rapid.T) {
				id, key := anyOpen(t), Hash{rapid.Byte().Draw(t, "key") % 4}
				text := rapid.SampledFrom([]string{"", "1", "a longer release"}).Draw(t, "release")
				if closed(id, l.Commit(ctx, id, Release{Key: key, Payload: []byte(text)})) {
					r := m.outstanding[id]
					m.stored = append(m.stored, modelRelease{key, r.Analyst, r.Price, text, m.now.Add(cache.TTL)})
					delete(m.outstanding, id)
				}
			},
			"fail": func(t *rapid.T) {
				id := anyOpen(t)
				if closed(id, l.Fail(ctx, id, "disk")) {
					m.failures[""]++
					m.failures[m.outstanding[id].Analyst]++
					delete(m.outstanding, id)
				}
			},
			"lookup": func(t *rapid.T) {
				key, analyst := Hash{rapid.Byte().Draw(t, "key") % 4}, analysts.Draw(t, "analyst")
				got, found, err := l.Lookup(ctx, key, analyst)
				want, ok := m.best(key, analyst, cache)
				if err != nil || found != ok || ok && string(got.Payload) != want {
					t.Fatalf("lookup: %+v %v %v, want %q %v", got, found, err, want, ok)
				}
			},
			"hours": func(t *rapid.T) { m.now = m.now.Add(time.Duration(rapid.IntRange(1, 4).Draw(t, "n")) * time.Hour) },
			"restart": func(t *rapid.T) {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = start()
				clear(m.outstanding)
			},
			"": func(t *rapid.T) {
				for analyst, quota := range quotas {
					b, err := l.Balance(analyst, quota)
					if err != nil || b.Dataset.Spent != m.spent[""] || b.Analyst.Spent != m.spent[analyst] ||
						b.Dataset.Failures != m.failures[""] || b.Analyst.Failures != m.failures[analyst] {
						t.Fatalf("%s: %+v %v, want %+v", analyst, b, err, m)
					}
				}
			},
		})
		if err := l.Verify(ctx); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Close(), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
	})
}

func modelHead(t *rapid.T) Head {
	f, err := budget.NewFilter(budget.Params{Epsilon: 20, Delta: 1e-6, QueryEpsilon: 0.5, Accountant: budget.AccountantRDP})
	if err != nil {
		t.Fatal(err)
	}
	return Head{Dataset: "demo", People: "demo", Filter: f, Epoch: "1"}
}

func drawReservation(t *rapid.T, f *budget.Filter, analyst string, quotas map[string]float64) Reservation {
	s := dp.Sensitivity{PerGroup: rapid.Uint64Range(1, 20).Draw(t, "per group"), Groups: rapid.Uint64Range(1, 4).Draw(t, "groups")}
	price := rapid.SampledFrom([]float64{0.1, 0.5, 3}).Draw(t, "price")
	r := Reservation{Analyst: analyst, Quota: quotas[analyst], Statement: Hash{3}, Price: price}
	kind := rapid.SampledFrom([]string{"laplace", "gaussian", "selection"}).Draw(t, "kind")
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
	default:
		ev, err = f.Selection(s.Groups, f.Limit(price), 5e-8)
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

// 64 sessions race for the last of a budget: the data set's and the quota are never exceeded, and nothing is left lying.
func TestRaceForTheLastEpsilon(t *testing.T) {
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
	b := must(l.Balance("analyst 0", 0.6))(t)
	if admitted != 10 || denied != 118 || b.Dataset.Spent.Pure > 1 || b.Dataset.Statements != 10 || b.Analyst.Spent.Pure > 0.6 {
		t.Errorf("%d admitted, %d denied, balance %+v", admitted, denied, b)
	}
	if err := l.Verify(ctx); err != nil {
		t.Fatal(err)
	}
}
