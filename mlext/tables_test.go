package mlext

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/sidetable"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

func aTable(name string, cells ...int64) *Table {
	return &Table{Name: name, Rows: len(cells), Columns: []TableColumn{{Name: "a", OID: sqltype.OIDInt4, Typmod: -1, Grid: "1", Cells: cells}}, Sources: []Source{{Schema: "public", Table: "t", Columns: []string{"a"}}}}
}

// TestTables: a synthetic table is found by its name and its owner's, by each proxy, as it was stored last; names are each owner's own and not a model's; it counts among what its owner stores, and moves with the models.
func TestTables(t *testing.T) {
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
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			one, two := s[0].Tables(), s[1].Tables()
			cells := func(of Tables, name string, want ...int) {
				t.Helper()
				list, err := of.Named(ctx, name)
				must(err)
				if len(list) != len(want) {
					t.Fatalf("%s are %d tables", name, len(list))
				}
				for i, x := range list {
					made, err := of.Load(ctx, &x)
					must(err)
					if x.Table.Rows != want[i] || made.Rows != want[i] || len(made.Columns[0].Cells) != want[i] {
						t.Errorf("%s of %s has %v, listed as %v", x.Name, x.Owner, made, x.Table)
					}
				}
			}
			before, err := s[0].Bytes(ctx, "ann")
			must(err)
			must(one.Keep(ctx, "ann", aTable("s", 1, 2, NoCell), false))
			must(one.Keep(ctx, "bob", aTable("s", 4), false))
			m, _ := released(t, "linear_regression")
			m.Name = "s"
			must(s[0].Keep(ctx, "ann", m, false))
			cells(one, "s", 3, 1)
			cells(two, "ann.s", 3)
			if _, err := s[1].Get(ctx, Name{Text: "s"}, "ann"); err != nil {
				t.Errorf("the model of its name: %v", err)
			}
			if list, err := s[0].List(ctx, "bob"); err != nil || len(list) != 0 {
				t.Errorf("bob's models are %v, %v", list, err)
			}
			if n, err := s[0].Bytes(ctx, "ann"); err != nil || n <= before {
				t.Errorf("%d bytes are stored, %d before, %v", n, before, err)
			}
			if own, _, err := s[0].Named(ctx, "bob"); err != nil || own != 1 {
				t.Errorf("bob has %d models and tables, %v", own, err)
			}
			replaced, err := one.Named(ctx, "ann.s")
			must(err)
			must(two.Keep(ctx, "ann", aTable("s", 1, 2, 3, 4), true))
			cells(one, "ann.s", 4) // not as it was when it was read before
			s[1].beside[0].read = nil
			if _, err := two.Load(ctx, &replaced[0]); sqlerr.ID(err) != sqlerr.UndefinedTable.ID { // whose columns may be others
				t.Errorf("the rows of a table that was replaced: %v", err)
			}
			if err := one.Keep(ctx, "ann", aTable("s", 7), false); sqlerr.ID(err) != sqlerr.DuplicateObject.ID || !strings.Contains(err.Error(), "another synthetic table") {
				t.Errorf("a name that is taken: %v", err)
			}
			cells(one, "s_2", 1)
			release, err := one.Hold(ctx, "x", "ann", false)
			must(err)
			if _, err := two.Hold(ctx, "x", "ann", false); sqlerr.ID(err) != sqlerr.DuplicateObject.ID {
				t.Errorf("a name that is held: %v", err)
			}
			other, err := s[0].Hold(ctx, "x", "ann", false) // a model's
			must(err)
			other()
			release()
			to, err := OpenFile(filepath.Join(t.TempDir(), "moved"), "clinic", nil)
			must(err)
			if n, err := s[0].CopyTo(ctx, to); err != nil || n != 1 {
				t.Errorf("%d models are copied, %v", n, err)
			}
			cells(to.Tables(), "s", 4, 1)
			if err := two.Drop(ctx, "none", "ann"); sqlerr.ID(err) != sqlerr.UndefinedObject.ID {
				t.Errorf("DROP of what is not there: %v", err)
			}
			must(two.Drop(ctx, "s", "ann"))
			cells(one, "s", 1)
			cells(one, "ann.s")
			if list, err := one.List(ctx); err != nil || len(list) != 2 {
				t.Errorf("%d tables, %v", len(list), err)
			}
		})
	}
}

// TestMostTables: an analyst has at most so many tables; one of them can be replaced, and after a DROP there is room for another.
func TestMostTables(t *testing.T) {
	ctx := context.Background()
	s, err := OpenFile(filepath.Join(t.TempDir(), "ledger-models"), "clinic", nil)
	if err != nil {
		t.Fatal(err)
	}
	of := s.Tables()
	try := func(name, owner string) string {
		err := of.Free(ctx, name, owner, true)
		release, held := of.Hold(ctx, name, owner, true)
		if held == nil {
			release()
		}
		if sqlerr.ID(err) != sqlerr.ID(held) {
			t.Errorf("EXPLAIN says %v, and CREATE %v", err, held)
		}
		return sqlerr.ID(err)
	}
	for i := range mostTables {
		if got := try(fmt.Sprint("s", i), "ann"); got != "" {
			t.Fatalf("table %d: %s", i, got)
		}
		if err := of.Keep(ctx, "ann", aTable(fmt.Sprint("s", i), 1), false); err != nil {
			t.Fatal(err)
		}
	}
	if more, old, others := try("more", "ann"), try("s7", "ann"), try("more", "bob"); more != sqlerr.TooLong.ID || old != "" || others != "" {
		t.Errorf("one more: %q, one again: %q, another's: %q", more, old, others)
	}
	if err := of.Drop(ctx, "s7", "ann"); err != nil {
		t.Fatal(err)
	}
	if got := try("more", "ann"); got != "" {
		t.Errorf("after a DROP: %s", got)
	}
}

// counting counts the bytes that are read.
type counting struct {
	sidetable.Table
	bytes int
}

func (c *counting) Read(ctx context.Context, sql string, args ...string) ([]string, error) {
	list, err := c.Table.Read(ctx, sql, args...)
	for _, text := range list {
		c.bytes += len(text)
	}
	return list, err
}

// TestListsReadNoCells: whoever lists synthetic tables, or binds a statement to one, reads their heads alone, and rows that were read are remembered within one limit for all tables.
func TestListsReadNoCells(t *testing.T) {
	ctx := context.Background()
	s, err := OpenFile(filepath.Join(t.TempDir(), "ledger-models"), "clinic", nil)
	if err != nil {
		t.Fatal(err)
	}
	db := &counting{Table: s.beside[0].db}
	s.beside[0].db = db
	const cells, number = 100_000, 10
	for i := range number {
		if err := s.Tables().Keep(ctx, "ann", aTable(fmt.Sprintf("s%d", i), make([]int64, cells)...), false); err != nil {
			t.Fatal(err)
		}
	}
	db.bytes = 0
	for _, list := range []func() ([]Stored, error){
		func() ([]Stored, error) { return s.Tables().List(ctx) }, func() ([]Stored, error) { return s.Tables().Recent(ctx) },
		func() ([]Stored, error) { return s.Tables().Named(ctx, "s1") },
	} {
		found, err := list()
		if err != nil || len(found) == 0 || found[0].Table == nil || len(found[0].Table.Columns) != 1 || found[0].Table.Rows != cells {
			t.Errorf("found %v, %v", found, err)
		}
	}
	if db.bytes > cells/10 {
		t.Errorf("%d bytes are read of %d tables of %d cells", db.bytes, number, cells)
	}

	large := func(of int) *Table { return &Table{Rows: of, Columns: make([]TableColumn, 1)} }
	for i := range 2 * number {
		s.beside[0].remember(fmt.Sprint(i), large(mostRemembered/4))
		if s.beside[0].remembered("0") == nil { // it was read last but one
			t.Fatalf("the first is forgotten after %d", i)
		}
		held := 0
		for _, r := range s.beside[0].read {
			held += r.Rows
		}
		if held > mostRemembered {
			t.Fatalf("%d cells are remembered", held)
		}
	}
	s.beside[0].remember("large", large(mostRemembered+1))
	if s.beside[0].remembered("large") != nil {
		t.Error("a table above the limit is remembered")
	}
}
