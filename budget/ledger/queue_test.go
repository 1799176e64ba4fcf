package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Those who come while a batch is written are written together in the next: as many syncs as batches, not as sessions.
func TestManySessionsShareASync(t *testing.T) {
	d := &disk{}
	l := must(onDisk(t, tempPath(t), d))(t)
	r := count(t, l.Filter(), "ann", 1, 0.01)
	entered, hold := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(entered); <-hold })
	d.forget()
	d.fail = func(what string) error { // the first one's sync ends when all others wait
		if what == "sync wal" {
			once()
		}
		return nil
	}
	var wg sync.WaitGroup
	reserve := func() {
		if _, err := l.Reserve(ctx, r); err != nil {
			t.Error(err)
		}
	}
	wg.Go(reserve)
	<-entered
	for range 63 {
		wg.Go(reserve)
	}
	for waiting := 0; waiting < 63; {
		time.Sleep(time.Millisecond)
		l.queue.mu.Lock()
		waiting = len(l.queue.waiting)
		l.queue.mu.Unlock()
	}
	close(hold)
	wg.Wait()
	if got, want := d.forget(), []string{"write wal", "sync wal", "write wal", "sync wal"}; !slices.Equal(got, want) {
		t.Errorf("64 reservations: %q, want %q", got, want)
	}
	if b := must(l.balance("ann", 1))(t); b.Dataset.Statements != 64 {
		t.Errorf("%+v", b)
	}
	if err := errors.Join(l.Verify(ctx), l.Close()); err != nil {
		t.Fatal(err)
	}
}

// A batch that cannot be written leaves no trace: nobody of it is told an id, and the balance is the one before.
func TestFailedBatchLeavesNoTrace(t *testing.T) {
	d := &disk{}
	l := must(onDisk(t, tempPath(t), d))(t)
	r := count(t, l.Filter(), "ann", 1, 0.01)
	id := must(l.Reserve(ctx, r))(t)
	d.fail = func(what string) error {
		if what == "write wal" {
			return fmt.Errorf("full: %w", syscall.ENOSPC)
		}
		return nil
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			var err error
			switch i {
			case 0:
				err = l.Commit(ctx, id, Release{Key: Hash{1}, Payload: []byte("1")})
			case 1:
				err = l.Freeze(ctx, "ann", "owner")
			default:
				_, err = l.Reserve(ctx, r)
			}
			if err == nil {
				t.Error("no error")
			}
		})
	}
	wg.Wait()
	if _, ok := l.state.frozen["ann"]; ok || l.state.outstanding[id] == nil || len(l.state.releases.stored) != 0 || l.state.datasets[0].all.statements != 1 {
		t.Errorf("%+v", l.state)
	}
	if err := l.Close(); err != nil && !strings.Contains(err.Error(), "disk") { // the log cannot be folded into the file
		t.Fatal(err)
	}
}

// Adding a record and taking it back is nothing, whatever the record and whatever came before.
func TestUndo(t *testing.T) {
	filter, tb := demoHead(t).Filter, t
	rapid.Check(t, func(t *rapid.T) {
		s := newState()
		at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
		next := func(batch ...*Record) {
			at = at.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 30}).Draw(t, "hours")) * time.Hour)
			if rapid.IntRange(0, 3).Draw(t, "drop") == 0 {
				s.releases.dropExpired(at)
			}
			before := s.seen()
			var undo []func()
			var added []*Record
			for _, r := range batch {
				r.Version, r.Seq, r.Previous, r.Time, r.Owner = version, s.seq+1, s.last, at, "me"
				if s.check(r) == nil {
					undo, added = append(undo, s.undo(r)), append(added, r)
					s.add(r, Hash{byte(r.Seq)})
				}
			}
			for _, f := range slices.Backward(undo) {
				f()
			}
			if after := s.seen(); !reflect.DeepEqual(before, after) {
				t.Fatalf("%+v, after %+v taken back: %+v", before, added, after)
			}
			for _, r := range added {
				s.add(r, Hash{byte(r.Seq)})
			}
			if got, want := s.seenKin(), s.families(); !reflect.DeepEqual(got, want) {
				t.Fatalf("families %v, of what is stored %v", got, want)
			}
		}
		for i := range 2 {
			next(&Record{Head: &Head{Dataset: fmt.Sprint(i), People: "p", Filter: filter, Window: WindowDay, Lifetime: &Lifetime{100}, Epoch: "1"}})
		}
		t.Repeat(map[string]func(*rapid.T){
			"batch": func(t *rapid.T) {
				set, who := rapid.SampledFrom([]string{"0", "1"}).Draw(t, "set"), rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "who")
				anyOpen := int64(0)
				if ids := s.open(); len(ids) > 0 {
					anyOpen = rapid.SampledFrom(ids).Draw(t, "id")
				}
				fit := *s.find(set).head.Filter
				fit.QueryEpsilon = rapid.SampledFrom([]float64{0.5, 1}).Draw(t, "usual")
				roles := rapid.SampledFrom([][]Role{nil, {{"lab", 0.5}}, {{"lab", 1}, {"ward", 1}}}).Draw(t, "roles")
				s := Reservation{Payer: Payer{Analyst: who, Quota: 1, Roles: roles}, Price: 0.5, Events: Events{nil}}
				s.Loss.Pure = 0.25
				family := rapid.SampledFrom([]Hash{{}, {8}, {9}}).Draw(t, "family")
				key := rapid.SampledFrom([]Hash{{1}, {2}}).Draw(t, "key")
				lives := time.Duration(rapid.SampledFrom([]int{20, 100}).Draw(t, "lives")) * time.Hour
				records := []*Record{
					{Opening: &Opening{Dataset: set, Epoch: "2", Shared: true}},
					{Reserve: &Charge{Reservation: s, Order: filter.Order, Dataset: set, Epoch: "1"}},
					{Reserve: &Charge{Reservation: s, Order: filter.Order, Dataset: set, Epoch: "2"}},
					{Commit: &Commit{Reservation: anyOpen, Key: key, Family: family, Expires: at.Add(lives)}},
					{Fail: &Failure{Reservation: anyOpen}},
					{Fail: &Failure{Reservation: anyOpen, Class: FailResource}},
					{Pardon: &Pardon{Analyst: who, By: "x"}},
					{Pardon: &Pardon{By: "x"}},
					{Recovery: &Recovery{[]int64{anyOpen}}},
					{Epoch: &Epoch{Epoch: "3", Dataset: set}},
					{Freeze: &Freeze{Analyst: who, On: true, By: "x"}},
					{Checkpoint: &Checkpoint{Bytes: 1}},
					{Grant: &Grant{set, who, 1, "x", "y", ""}},
					{Grant: &Grant{set, "", 1, "x", "y", "lab"}},
					{Promise: &Promise{set, must(filter.Raised(filter.Epsilon+float64(at.Sub(time.Unix(0, 0))/time.Hour)/1e4, filter.Delta))(tb), &Lifetime{1000}, "x", "y"}},
					{Fit: &Fit{set, &fit}},
					{Freeze: &Freeze{Analyst: who, By: "x"}},
					{Departure: &Departure{ID: "m", To: "there", By: "x"}},
					{Arrival: &Arrival{ID: "m", From: "here", By: "x"}},
				}
				next(rapid.SliceOfNDistinct(rapid.SampledFrom(records), 1, 4, rapid.ID).Draw(t, "records")...)
			},
		})
	})
}

// seen is a state as values.
func (s *state) seen() any {
	type set struct {
		dataset
		accounts map[payee]account
	}
	var sets []set
	for _, d := range s.datasets {
		one := set{*d, map[payee]account{}}
		for who, a := range d.accounts {
			one.accounts[who] = *a
		}
		one.accounts, one.grants, one.failed = nil, copied(d.grants), copied(d.failed)
		sets = append(sets, one)
	}
	open := map[int64]openCharge{}
	for id, c := range s.outstanding {
		open[id] = *c
	}
	stored := map[Hash][]storedRef{}
	for k, refs := range s.releases.stored {
		stored[k] = slices.Clone(refs)
	}
	frozen := map[string]FrozenAnalyst{}
	for k, f := range s.frozen {
		frozen[k] = f
	}
	return []any{copied(s.stopped), s.seenKin(), s.moved, s.checkpoint, slices.Clone(s.segments), slices.Clone(s.recent), s.version, s.seq, s.last, s.clock, s.current, sets, open, stored, frozen}
}

// copied is a copy of a map, of which no map and an empty one have the same.
func copied[K comparable, V any](m map[K]V) map[K]V {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

// seenKin are the families with their keys, sorted.
func (s *state) seenKin() map[Hash][]Hash {
	out := map[Hash][]Hash{}
	for f, keys := range s.releases.related {
		out[f] = slices.SortedFunc(slices.Values(keys), func(x, y Hash) int { return bytes.Compare(x[:], y[:]) })
	}
	return out
}

// families are what they must be, by what is stored.
func (s *state) families() map[Hash][]Hash {
	of := &state{releases: newStoredReleases()}
	for key, refs := range s.releases.stored {
		for _, ref := range refs {
			if ref.family != (Hash{}) && !slices.Contains(of.releases.related[ref.family], key) {
				of.releases.related[ref.family] = append(of.releases.related[ref.family], key)
			}
		}
	}
	return of.seenKin()
}

// Who reads is answered before the writes beside are durable: what it sees was.
func TestReadsDoNotWaitForTheSync(t *testing.T) {
	d := &disk{}
	l := must(onDisk(t, tempPath(t), d))(t)
	r := count(t, l.Filter(), "ann", 1, 0.01)
	if err := l.Commit(ctx, must(l.Reserve(ctx, r))(t), Release{Key: Hash{1}, Payload: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	entered, hold := make(chan struct{}, 2), make(chan struct{})
	d.fail = func(what string) error {
		if what == "sync wal" {
			entered <- struct{}{}
			<-hold
		}
		return nil
	}
	var wg sync.WaitGroup
	reserve := func() {
		if _, err := l.Reserve(ctx, r); err != nil {
			t.Error(err)
		}
	}
	waits := func(n int) {
		for waiting := 0; waiting < n; {
			time.Sleep(time.Millisecond)
			l.queue.mu.Lock()
			waiting = len(l.queue.waiting)
			l.queue.mu.Unlock()
		}
	}
	wg.Go(reserve)
	<-entered
	wg.Go(reserve) // leads the second batch
	waits(1)
	found := make(chan bool, 1)
	wg.Go(func() {
		_, ok, err := l.Lookup(ctx, Hash{1}, "ann")
		found <- ok && err == nil
	})
	waits(2)
	hold <- struct{}{}
	<-entered
	if !<-found { // while the second sync is held
		t.Error("the release was not found")
	}
	hold <- struct{}{}
	wg.Wait()
	d.fail = nil
	if err := errors.Join(l.Verify(ctx), l.Close()); err != nil {
		t.Fatal(err)
	}
}
