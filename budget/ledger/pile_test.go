package ledger

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// Ten thousand releases of one key, made with dpsql.fresh: few of them are looked at, of any order of prices, and what answers is what would if all were.
func TestPiles(t *testing.T) {
	const most = 10_000
	analysts := []string{"ann", "bob"}
	rnd := rand.New(rand.NewPCG(1, 2))
	head := demoHead(t)
	for name, price := range map[string]func(i int) float64{
		"equal":   func(int) float64 { return 0.1 },
		"rising":  func(i int) float64 { return 0.1 + float64(i)/most },
		"falling": func(i int) float64 { return 1.1 - float64(i)/most },
		"random":  func(int) float64 { return float64(1+rnd.IntN(12)) / 10 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newState()
			l := &book{state: s, service: service{dataset: &dataset{head: &head}, epoch: "1"}, opt: Options{Cache: Cache{TTL: 24 * time.Hour, Scope: ScopeDataset}}}
			begin := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
			commit := func(i int, kept bool) {
				s.outstanding[1] = &openCharge{Charge: &Charge{Reservation: Reservation{Payer: Payer{Analyst: analysts[i%2]}, Price: price(i)}}, of: l.service.dataset, epoch: "1"}
				at := begin.Add(time.Duration(i) * time.Second)
				r := &Record{Version: version, Seq: int64(i + 1), Time: at, Commit: &Commit{Reservation: 1, Key: Hash{7}, Expires: at.Add(l.opt.Cache.TTL), Family: Hash{9}}}
				back := s.undo(r)
				if s.add(r, Hash{}); !kept {
					back()
				}
			}
			agrees := func(now time.Time) {
				t.Helper()
				for _, scope := range []string{ScopeDataset, ScopeAnalyst} {
					l.opt.Cache.Scope = scope
					for _, who := range analysts {
						var want int64
						price := 0.0
						for i := range s.releases.stored[Hash{7}] {
							if ref := &s.releases.stored[Hash{7}][i]; l.canAnswer(ref, who, now) && ref.price >= price {
								want, price = ref.seq, ref.price
							}
						}
						if got := l.best(Hash{7}, who, now); (got == nil) != (want == 0) || got != nil && got.seq != want {
							t.Errorf("%s, %s at %s: %v answers, not %d", scope, who, now, got, want)
						}
						if related := slices.Collect(l.eachOfFamily([]Hash{{9}}, who, now)); len(related) > 1 || len(related) == 1 && related[0].seq != want || (len(related) == 0) != (want == 0) {
							t.Errorf("%s, %s at %s: related are %v, not %d", scope, who, now, related, want)
						}
					}
				}
				looked := 0
				for range s.releases.candidates(Hash{7}) {
					looked++
				}
				if looked > few*len(analysts) || looked == 0 && len(s.releases.stored) > 0 {
					t.Errorf("%d are looked at of %d", looked, len(s.releases.stored[Hash{7}]))
				}
				if p, many := s.releases.piles[Hash{7}], len(s.releases.stored[Hash{7}]) > few; (p != nil) != many || many && !reflect.DeepEqual(p, pileOf(s.releases.stored[Hash{7}])) {
					t.Errorf("the pile of %d is %v", len(s.releases.stored[Hash{7}]), p)
				}
			}
			for i := range most {
				if i%100 == 50 {
					commit(i, false)
				}
				if commit(i, true); i < 3*few || i%1000 == 0 {
					agrees(begin.Add(time.Duration(i) * time.Second))
				}
			}
			end := begin.Add(most * time.Second)
			agrees(end)
			if refs, _ := s.recently(end); len(refs) != most || refs[0].seq != 1 || refs[most-1].seq != most {
				t.Errorf("%d are new since the last checkpoint", len(refs))
			}
			for _, left := range []int{most / 2, few, 0} { // all but so many have expired
				now := begin.Add(l.opt.Cache.TTL + time.Duration(most-left-1)*time.Second)
				if gone := s.releases.dropExpired(now); len(s.releases.stored[Hash{7}]) != left || len(gone) == 0 {
					t.Errorf("%d are left, not %d", len(s.releases.stored[Hash{7}]), left)
				}
				agrees(now)
			}
			if len(s.releases.piles)+len(s.releases.related)+len(s.releases.stored) != 0 {
				t.Errorf("left: %v %v", s.releases.piles, s.releases.related)
			}
		})
	}
}

// More releases of a key than are looked at one by one, before and after a start: the dearest answers, each analyst where releases are theirs, and of a family it does not keep other keys from being found.
func TestFreshReleases(t *testing.T) { both(t, testFreshReleases) }

func testFreshReleases(t *testing.T) {
	path := tempPath(t)
	h := &hands{}
	h.set(t, "2026-11-21 12:00")
	opt := frequent(h.options())
	l := open(t, path, demoHead(t), opt)
	f := l.Filter()
	store := func(key byte, analyst string, price float64) {
		t.Helper()
		id := must(l.Reserve(ctx, count(t, f, analyst, 1, price)))(t)
		if err := l.Commit(ctx, id, Release{Key: Hash{key}, Payload: fmt.Append(nil, key, analyst, price), Family: Hash{9}}); err != nil {
			t.Fatal(err)
		}
	}
	store(2, "bob", 0.01)
	for i := range 2 * few {
		store(1, []string{"ann", "bob"}[i%2], []float64{0.05, 0.03, 0.02}[i%3])
	}
	for range 2 {
		for _, scope := range []string{ScopeDataset, ScopeAnalyst} {
			if err := l.SetCache(Cache{TTL: 24 * time.Hour, Scope: scope}); err != nil {
				t.Fatal(err)
			}
			for _, who := range []string{"ann", "bob"} {
				one, ok, err := l.Lookup(ctx, Hash{1}, who)
				if err != nil || !ok || one.Price != 0.05 || scope == ScopeAnalyst && one.Analyst != who {
					t.Errorf("%s, %s: %+v %v", scope, who, one, err)
				}
			}
			list, err := l.Related(ctx, []Hash{{9}}, "bob", 16)
			if err != nil || len(list) != 2 || list[0].Price != 0.05 || list[1].Key != (Hash{2}) {
				t.Errorf("%s: related are %+v %v", scope, list, err)
			}
		}
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
		l = reopen(t, l, path, demoHead(t), opt)
	}
	own := must(l.Releases("ann"))(t)
	if all := must(l.AllReleases())(t); len(all) != 2*few+1 {
		t.Errorf("%d releases of everybody", len(all))
	}
	if len(own) != few {
		t.Errorf("%d of ann's releases are listed, not %d", len(own), few)
	}
}

// watched is a store that looks at the ledger's locks while a release is read from it.
type watched struct {
	store
	l    *book
	read int
	free bool
}

func (w *watched) payload(seq int64) ([]byte, error) {
	w.read++
	if w.free = w.l.mu.TryLock(); w.free {
		w.l.mu.Unlock()
	}
	return w.store.payload(seq)
}

// A stored release is read, however large, while others may ask what they ask of the state alone; it is opened with the key under which it was found.
func TestReleasesAreReadOutsideTheState(t *testing.T) { both(t, testReleasesAreReadOutsideTheState) }

func testReleasesAreReadOutsideTheState(t *testing.T) {
	opt := dayCache()
	opt.Cache.Key = testKey(t, 1)
	l := open(t, tempPath(t), demoHead(t), opt)
	id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
	if err := l.Commit(ctx, id, Release{Key: Hash{1}, Payload: []byte("large"), Family: Hash{9}}); err != nil {
		t.Fatal(err)
	}
	w := &watched{store: l.store, l: l.book}
	l.store = w
	one, ok, err := l.Lookup(ctx, Hash{1}, "ann")
	if err != nil || !ok || string(one.Payload) != "large" || w.read != 1 || !w.free {
		t.Errorf("%+v %v, read %d times, the state free %v", one, err, w.read, w.free)
	}
	list, err := l.Related(ctx, []Hash{{9}}, "ann", 16)
	if err != nil || len(list) != 1 || string(list[0].Payload) != "large" || w.read != 2 || !w.free {
		t.Errorf("%+v %v, read %d times, the state free %v", list, err, w.read, w.free)
	}
}
