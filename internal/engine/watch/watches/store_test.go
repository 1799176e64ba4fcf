package watches

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/noise"
)

func key(t *testing.T, of byte) Sealer {
	t.Helper()
	k, err := ledger.NewKey(bytes.Repeat([]byte{of}, ledger.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// stores are a file's, and two of one server's.
func stores(t *testing.T) (file *Store, servers [2]*Store) {
	t.Helper()
	file, err := OpenFile(filepath.Join(t.TempDir(), "ledger-watches"), "clinic")
	if err != nil {
		t.Fatal(err)
	}
	pg := pgtest.Start(t)
	if err := pg.Exec("postgres", "CREATE SCHEMA dpsql_ledger"); err != nil {
		t.Fatal(err)
	}
	for i := range servers {
		if servers[i], err = OpenServer(pg.URL("postgres"), "clinic"); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*Store{file, servers[0], servers[1]} {
		s.SetKeys([]Sealer{key(t, 7), key(t, 8)})
	}
	return file, servers
}

func someWatch(owner, name string) *Watch {
	return &Watch{Owner: owner, Name: name, Statement: "SELECT 1", Threshold: 10, Every: time.Hour, Times: 2, Event: dp.Watch{PerUnit: 1, Threshold: 10, Alerts: 2, Scale: dp.Scale{Num: 9, Den: 2}}, State: StateLooking, Secret: noise.WatchState{Raised: 77, Alerts: 1}}
}

// TestStore: what is created is listed with its secret, by its owner's name alone; a name is given once, a stale version keeps nothing, and a key that is not there opens nothing.
func TestStore(t *testing.T) {
	ctx := context.Background()
	file, servers := stores(t)
	for kind, s := range map[string][2]*Store{"file": {file, file}, "server": servers} {
		a, b := s[0], s[1]
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
		}
		if list, err := a.List(ctx, ""); err != nil || len(list) != 0 {
			t.Fatalf("%s: %v, %v", kind, list, err)
		}
		must(a.Create(ctx, someWatch("ann", "w")))
		must(b.Create(ctx, someWatch("bob", "w")))
		if err := b.Create(ctx, someWatch("ann", "w")); sqlerr.ID(err) != sqlerr.DuplicateObject.ID {
			t.Errorf("%s: a name is given twice: %v", kind, err)
		}
		list, err := b.List(ctx, "ann")
		must(err)
		if len(list) != 1 || list[0].Secret != (noise.WatchState{Raised: 77, Alerts: 1}) || list[0].Event != someWatch("", "").Event {
			t.Fatalf("%s: %+v", kind, list)
		}
		other, err := a.List(ctx, "ann")
		must(err)
		list[0].Looks = 5
		if ok, err := b.Save(ctx, list[0]); !ok || err != nil {
			t.Errorf("%s: %v, %v", kind, ok, err)
		}
		if ok, err := a.Save(ctx, other[0]); ok || err != nil {
			t.Errorf("%s: a stale watch is kept: %v, %v", kind, ok, err)
		}
		list[0].Looks = 6
		if ok, err := b.Save(ctx, list[0]); !ok || err != nil {
			t.Errorf("%s: a second change: %v, %v", kind, ok, err)
		}
		a.SetKeys([]Sealer{key(t, 8), key(t, 7)}) // another one seals, and both open
		if list, err = a.List(ctx, ""); err != nil || len(list) != 2 || list[0].Looks != 6 || list[1].Owner != "bob" {
			t.Errorf("%s: %+v, %v", kind, list, err)
		}
		a.SetKeys([]Sealer{key(t, 9)})
		if list, err = a.List(ctx, "ann"); err != nil || len(list) != 1 || list[0].Name != "w" || list[0].IsLooking() || list[0].Secret != (noise.WatchState{}) {
			t.Errorf("%s: without the key: %+v, %v", kind, list, err)
		}
		if ok, err := a.Drop(ctx, "ann", "w"); !ok || err != nil {
			t.Errorf("%s: %v, %v", kind, ok, err)
		}
		if ok, err := b.Drop(ctx, "ann", "w"); ok || err != nil {
			t.Errorf("%s: dropped twice: %v, %v", kind, ok, err)
		}
	}
}

// TestSealedWatchIsBound: a sealed watch in the place of another one opens nothing.
func TestSealedWatchIsBound(t *testing.T) {
	ctx := context.Background()
	s, err := OpenFile(filepath.Join(t.TempDir(), "w"), "clinic")
	if err != nil {
		t.Fatal(err)
	}
	s.SetKeys([]Sealer{key(t, 7)})
	for _, name := range []string{"a", "b"} {
		if err := s.Create(ctx, someWatch("ann", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.table.Exec(ctx, "UPDATE watches SET body = (SELECT body FROM watches WHERE name = 'a') WHERE name = 'b'"); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(ctx, "")
	if err != nil || !list[0].IsLooking() || list[1].IsLooking() {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestMoveTo: all watches are in the new place and none in the old one; what is there already stays as it is.
func TestMoveTo(t *testing.T) {
	ctx := context.Background()
	file, servers := stores(t)
	for _, w := range []*Watch{someWatch("ann", "w"), someWatch("bob", "w")} {
		if err := file.Create(ctx, w); err != nil {
			t.Fatal(err)
		}
	}
	newer := someWatch("ann", "w")
	newer.Looks = 40
	if err := servers[0].Create(ctx, newer); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := file.MoveTo(ctx, servers[0]); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := file.List(ctx, ""); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if list, err := servers[1].List(ctx, ""); err != nil || len(list) != 2 || list[0].Looks != 40 || list[1].Owner != "bob" || !list[1].IsLooking() {
		t.Errorf("moved: %v, %v", list, err)
	}
}
