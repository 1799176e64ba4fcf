package mlext

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// between does something before the next change of a model's readers is written.
type between struct {
	database
	once *sync.Once
	do   func()
}

func (b between) exec(ctx context.Context, sql string, args ...string) error {
	b.first(sql)
	return b.database.exec(ctx, sql, args...)
}

func (b between) read(ctx context.Context, sql string, args ...string) ([]string, error) {
	b.first(sql)
	return b.database.read(ctx, sql, args...)
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
