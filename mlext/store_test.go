package mlext

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/sidetable"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// between does something before the next change of a model's readers is written.
type between struct {
	sidetable.Table
	once *sync.Once
	do   func()
}

func (b between) Exec(ctx context.Context, sql string, args ...string) error {
	b.first(sql)
	return b.Table.Exec(ctx, sql, args...)
}

func (b between) Read(ctx context.Context, sql string, args ...string) ([]string, error) {
	b.first(sql)
	return b.Table.Read(ctx, sql, args...)
}

func (b between) first(sql string) {
	if strings.HasPrefix(sql, "UPDATE") {
		b.once.Do(b.do)
	}
}

// TestGrantBesideRevoke: a GRANT and a REVOKE of one model at the same time, from two proxies where the ledger is shared, are both in force afterwards.
func TestGrantBesideRevoke(t *testing.T) {
	ctx := context.Background()
	file, err := OpenFile(filepath.Join(t.TempDir(), "ledger-models"), "clinic", nil)
	if err != nil {
		t.Fatal(err)
	}
	pg := pgtest.Start(t)
	if err := pg.Exec("postgres", "CREATE SCHEMA dpsql_ledger"); err != nil {
		t.Fatal(err)
	}
	var servers [2]*Store
	for i := range servers {
		if servers[i], err = OpenServer(pg.URL("postgres"), "clinic", nil); err != nil {
			t.Fatal(err)
		}
	}
	for kind, s := range map[string][2]*Store{"file": {file, file}, "server": servers} {
		t.Run(kind, func(t *testing.T) {
			m, _ := released(t, "linear_regression")
			m.Name = "risk"
			if err := s[0].Keep(ctx, "ann", m, false); err != nil {
				t.Fatal(err)
			}
			must := func(s *Store, to string, off bool) {
				if err := s.Grant(ctx, Name{Text: "risk"}, "ann", to, off); err != nil {
					t.Error(err)
				}
			}
			are := func(want ...string) {
				t.Helper()
				got, err := s[0].Get(ctx, Name{Text: "risk"}, "ann")
				if err != nil {
					t.Fatal(err)
				}
				if slices.Sort(got.Readers); !slices.Equal(got.Readers, want) {
					t.Errorf("readers %v, want %v", got.Readers, want)
				}
			}
			must(s[0], "bob", false)
			must(&Store{db: between{s[0].db, new(sync.Once), func() { must(s[1], "bob", true) }}, dataset: s[0].dataset}, "carol", false)
			are("carol")
			for i := range 4 { // and as it comes
				name := fmt.Sprint("d", i)
				must(s[0], "bob", false)
				var both sync.WaitGroup
				both.Go(func() { must(s[0], name, false) })
				both.Go(func() { must(s[1], "bob", true) })
				both.Wait()
				must(s[0], name, true)
				are("carol")
			}
		})
	}
}

// TestMostReaders: a model is granted to so many analysts at most; after a REVOKE there is room again.
func TestMostReaders(t *testing.T) {
	ctx := context.Background()
	s, err := OpenFile(filepath.Join(t.TempDir(), "ledger-models"), "clinic", nil)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := released(t, "linear_regression")
	m.Name = "risk"
	if err := s.Keep(ctx, "ann", m, false); err != nil {
		t.Fatal(err)
	}
	grant := func(to string, off bool) error { return s.Grant(ctx, Name{Text: "risk"}, "ann", to, off) }
	for i := range mostReaders {
		if err := grant(fmt.Sprint("d", i), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := grant("bob", false); sqlerr.ID(err) != sqlerr.TooLong.ID {
		t.Errorf("one more: %v", err)
	}
	for _, step := range []struct {
		to  string
		off bool
	}{{"d1", false}, {"bob", true}, {"d0", true}, {"bob", false}} {
		if err := grant(step.to, step.off); err != nil {
			t.Errorf("%+v: %v", step, err)
		}
	}
}

// TestModelNameWithADot: no analyst can make owner.name mean a model of theirs: names with a dot are refused, and a model that was stored with one is its owner's alone, until it is renamed, but for those who name the owner.
func TestModelNameWithADot(t *testing.T) {
	ctx := context.Background()
	s, err := OpenFile(filepath.Join(t.TempDir(), "ledger-models"), "clinic", nil)
	if err != nil {
		t.Fatal(err)
	}
	keep := func(owner, name string, readers ...string) {
		m, _ := released(t, "linear_regression")
		m.Name = name
		if err := s.Keep(ctx, owner, m, false); err != nil {
			t.Fatal(err)
		}
		for _, to := range readers {
			if err := s.Grant(ctx, Name{owner, name}, owner, to, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	means := func(name Name, analyst, want string) {
		t.Helper()
		got := ""
		if m, err := s.Get(ctx, name, analyst); err == nil {
			got = m.Owner + " " + m.Name
		}
		if got != want {
			t.Errorf("%+v is %q for %s, want %q", name, got, analyst, want)
		}
	}
	keep("eve", "ann.m", "low") // as it was stored before
	means(Name{Text: "ann.m"}, "low", "")
	keep("ann", "m", "low", "eve")
	means(Name{Text: "ann.m"}, "low", "ann m")
	means(Name{Text: "ann.m"}, "eve", "ann m")
	means(Name{"eve", "ann.m"}, "low", "eve ann.m")
	keep("a", "b.m", "low")
	means(Name{Text: "a.b.m"}, "low", "")
	keep("a.b", "m", "low")
	means(Name{Text: "a.b.m"}, "low", "a.b m")
	keep("eve", "m")
	if err := s.Rename(ctx, Name{Text: "m"}, "ann.x", "eve"); err == nil || !strings.Contains(err.Error(), "has a dot") {
		t.Error(err)
	}
	if err := s.Rename(ctx, Name{"eve", "ann.m"}, "mine", "eve"); err != nil {
		t.Error(err)
	}
	means(Name{Text: "eve.mine"}, "low", "eve mine")
}
