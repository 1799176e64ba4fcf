package mlext

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// TestCubes: a cube is listed without its releases, loaded with them, by each proxy, and not after DROP. A name is given once by each maker. Cubes count among what their maker stores, and move with the models. Sessions that ask at once, before there is a table, are all answered.
func TestCubes(t *testing.T) {
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file, err := OpenFile(filepath.Join(t.TempDir(), "ledger-models"), "clinic", nil)
	must(err)
	pg := pgtest.Start(t)
	must(pg.Exec("postgres", "CREATE SCHEMA dpsql_ledger"))
	var servers [2]*Store
	for range 8 { // a race that one round seldom loses
		must(pg.Exec("postgres", "DROP TABLE IF EXISTS dpsql_ledger.cubes"))
		for i := range servers {
			servers[i], err = OpenServer(pg.URL("postgres"), "clinic", nil)
			must(err)
		}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if list, err := servers[1].Cubes().Recent(ctx); err != nil || len(list) != 0 {
					t.Error(list, err)
				}
			})
		}
		wg.Wait()
	}
	for kind, s := range map[string][2]*Store{"file": {file, file}, "server": servers} {
		made := &Cube{Statement: "SELECT 1", Price: 2, Epoch: "e", Levels: []CubeLevel{{Columns: []string{"a"}, Groups: 2, Key: [32]byte{1}, Release: json.RawMessage(`{"v":1}`)}}}
		one, two := s[0].Cubes(), s[1].Cubes()
		release, err := one.Hold(ctx, "c", "ann")
		must(err)
		if _, err := two.Hold(ctx, "c", "ann"); sqlerr.ID(err) != sqlerr.DuplicateObject.ID {
			t.Errorf("%s: held twice: %v", kind, err)
		}
		must(one.Keep(ctx, "ann", "c", made))
		release()
		if err := one.Free(ctx, "c", "ann"); sqlerr.ID(err) != sqlerr.DuplicateObject.ID {
			t.Errorf("%s: the name is free: %v", kind, err)
		}
		must(one.Free(ctx, "c", "bob"))
		two.store.changed() // some seconds later
		list, err := two.Recent(ctx)
		if err != nil || len(list) != 1 || list[0].Cube == nil || list[0].Cube.Levels[0].Release != nil || list[0].Cube.Levels[0].Groups != 2 {
			t.Fatalf("%s: %+v, %v", kind, list, err)
		}
		whole, err := two.Load(ctx, &list[0])
		if err != nil || string(whole.Levels[0].Release) != `{"v":1}` || whole.Price != 2 {
			t.Errorf("%s: %+v, %v", kind, whole, err)
		}
		if own, _, err := s[1].Named(ctx, "ann"); err != nil || own != 1 {
			t.Errorf("%s: ann has %d: %v", kind, own, err)
		}
		if n, err := s[0].Bytes(ctx, "ann"); err != nil || n == 0 {
			t.Errorf("%s: %d bytes: %v", kind, n, err)
		}
		moved, err := OpenFile(filepath.Join(t.TempDir(), "moved"), "clinic", nil)
		must(err)
		_, err = s[0].CopyTo(ctx, moved)
		must(err)
		if list, err := moved.Cubes().Recent(ctx); err != nil || len(list) != 1 {
			t.Errorf("%s: moved %v, %v", kind, list, err)
		}
		must(moved.Close())
		if ok, err := one.Drop(ctx, "c", "bob"); ok || err != nil {
			t.Errorf("%s: bob drops: %t, %v", kind, ok, err)
		}
		if ok, err := one.Drop(ctx, "c", "ann"); !ok || err != nil {
			t.Errorf("%s: %t, %v", kind, ok, err)
		}
		if whole, err := two.Load(ctx, &list[0]); whole != nil || err != nil {
			t.Errorf("%s: after DROP: %+v, %v", kind, whole, err)
		}
	}
	must(file.Close())
}
