package mlext

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Table is a synthetic table as it is stored: rows that were drawn from released marginals.
type Table struct {
	Name    string        `json:"name"`
	Columns []TableColumn `json:"columns"`
	Rows    int           `json:"rows"`
	Card    []Fact        `json:"card"`
	Sources []Source      `json:"sources"`
}

// TableColumn is a column of a synthetic table. A category's cells are places in Levels; a number's are steps, each Grid wide. A cell of NULL is NoCell.
type TableColumn struct {
	Name   string      `json:"name"`
	OID    sqltype.OID `json:"oid"`
	Typmod int32       `json:"typmod"`
	Levels []string    `json:"levels,omitempty"`
	Grid   string      `json:"grid,omitempty"`
	Cells  []int64     `json:"cells,omitempty"`
}

// NoCell is a cell of NULL.
const NoCell = -1 << 62

// Tables are the synthetic tables of a data set, which lie beside its models. A table is its maker's, and of all who may read what it was made from; names are each maker's own.
type Tables struct{ store *Store }

// Tables are the store's synthetic tables.
func (s *Store) Tables() Tables { return Tables{s.beside[0]} }

func (s *Store) decodeTable(r *row) (*Table, error) {
	text, err := s.open(r.Owner, r.Body)
	if err != nil {
		return nil, err
	}
	t := new(Table)
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("mlext: a stored synthetic table cannot be read: %w", err)
	}
	for _, c := range t.Columns {
		if len(c.Cells) != t.Rows {
			return nil, fmt.Errorf("mlext: a stored synthetic table has columns of different length")
		}
	}
	return t, nil
}

// head is the table as it is listed: without cells, and without what they mean.
func (t *Table) head() *Table {
	h := &Table{Name: t.Name, Rows: t.Rows, Sources: t.Sources}
	for _, c := range t.Columns {
		h.Columns = append(h.Columns, TableColumn{Name: c.Name, OID: c.OID, Typmod: c.Typmod})
	}
	return h
}

// mostTables is how many tables an analyst has at most: every client that reads the catalogs goes through all that it may see.
const mostTables = 100

// Hold keeps a free name for a table, as Store.Hold does for a model.
func (t Tables) Hold(ctx context.Context, name, owner string, replace bool) (release func(), err error) {
	if err := t.few(ctx, name, owner); err != nil {
		return nil, err
	}
	return t.store.Hold(ctx, name, owner, replace)
}

// Free refuses a name that the analyst has given already, and more tables than one may have.
func (t Tables) Free(ctx context.Context, name, owner string, replace bool) error {
	if err := t.few(ctx, name, owner); err != nil {
		return err
	}
	return t.store.Free(ctx, name, owner, replace)
}

// few refuses one more table where the analyst has too many.
func (t Tables) few(ctx context.Context, name, owner string) error {
	list, err := t.store.rows(ctx, "", "''", "dataset = $1 AND owner = $2", t.store.dataset, owner)
	if err != nil || len(list) < mostTables || slices.ContainsFunc(list, func(x Stored) bool { return x.Name == name }) {
		return err
	}
	return sqlerr.New(sqlerr.TooLong, "you have %d synthetic tables already", len(list)).WithHint("Drop one that you can do without: SHOW DP SYNTHETIC TABLES lists them. What it cost stays spent.")
}

// Keep stores a table. Where its name was taken although it was held, it overwrites nothing: what was paid for is kept by the first free name of s_2, s_3 ..., which is in the error.
func (t Tables) Keep(ctx context.Context, owner string, made *Table, replace bool) error {
	name := made.Name
	for i := 2; ; i++ {
		text, err := json.Marshal(made)
		if err != nil {
			return err
		}
		ok, err := t.store.putText(ctx, owner, made.Name, Head{Kind: "synthetic table", Method: rand.Text(), Table: made.head()}, text, replace)
		switch {
		case err != nil:
			return err
		case !ok:
			made.Name, replace = fmt.Sprintf("%s_%d", short(name), i), false
		case made.Name != name:
			return sqlerr.New(sqlerr.DuplicateObject, "another synthetic table %q was stored while this one was made", name).WithHint("Both are kept, this one as %s. What it cost stays spent.", made.Name)
		default:
			return nil
		}
	}
}

// Drop removes a table of the analyst's own.
func (t Tables) Drop(ctx context.Context, name, owner string) error {
	list, err := t.store.rows(ctx, owner, "''", "dataset = $1 AND owner = $2 AND name = $3", t.store.dataset, owner, name)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return sqlerr.New(sqlerr.UndefinedObject, "synthetic table %q does not exist", name).WithHint("SHOW DP SYNTHETIC TABLES lists those that there are; each analyst drops their own.")
	}
	defer t.store.changed()
	return t.store.db.Exec(ctx, "DELETE FROM models WHERE dataset = $1 AND owner = $2 AND name = $3", t.store.dataset, owner, name)
}

// List gives the heads of all tables, whoever made them: who may see which is the caller's to decide, by their Sources.
func (t Tables) List(ctx context.Context) ([]Stored, error) {
	return t.store.rows(ctx, "", "''", "dataset = $1", t.store.dataset)
}

// listedFor is how long Recent goes by what it listed, where another proxy makes tables too.
const listedFor = 5 * time.Second

// Recent is List as it was a few seconds ago at most: clients ask the catalogs in dozens of statements.
func (t Tables) Recent(ctx context.Context) ([]Stored, error) { return t.store.recent(ctx) }

func (s *Store) recent(ctx context.Context) ([]Stored, error) {
	s.mu.Lock()
	list, at := s.listed, s.listedAt
	s.mu.Unlock()
	if list != nil && time.Since(at) < listedFor {
		return slices.Clone(list), nil
	}
	at = time.Now()
	list, err := s.rows(ctx, "", "''", "dataset = $1", s.dataset)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes.Before(at) {
		s.listed, s.listedAt = append([]Stored{}, list...), at
	}
	return list, nil
}

// Named gives the heads of the tables that a name means, written as name or as owner.name, whoever made them.
func (t Tables) Named(ctx context.Context, name string) ([]Stored, error) {
	return t.store.rows(ctx, "", "''", "dataset = $1 AND (name = $2 OR owner || '.' || name = $2)", t.store.dataset, name)
}

// Load reads the rows of a table that was listed. Where another one has its name by now, it does not read that one: it may be made of other columns.
func (t Tables) Load(ctx context.Context, x *Stored) (*Table, error) {
	s := t.store
	if made := s.remembered(x.Method); made != nil {
		return made, nil
	}
	list, err := s.rows(ctx, "", "body", "dataset = $1 AND owner = $2 AND name = $3", s.dataset, x.Owner, x.Name)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0 || list[0].Method != x.Method:
		return nil, sqlerr.New(sqlerr.UndefinedTable, "synthetic table %q was dropped or replaced while it was read", x.Name).WithHint("Run the statement again.")
	case list[0].broken != nil:
		return nil, list[0].broken
	}
	s.remember(x.Method, list[0].rows)
	return list[0].rows, nil
}

// readTable is a table that is remembered, with the number in its head.
type readTable struct {
	id string
	*Table
}

// mostRemembered is how many cells of all tables are remembered: 64 MB.
const mostRemembered = 8 << 20

func (s *Store) remembered(id string) *Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.read, func(r readTable) bool { return r.id == id })
	if i < 0 {
		return nil
	}
	r := s.read[i]
	s.read = append(slices.Delete(s.read, i, i+1), r)
	return r.Table
}

// remember keeps a table's rows, and forgets those that were read longest ago.
func (s *Store) remember(id string, t *Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = append(slices.DeleteFunc(s.read, func(r readTable) bool { return r.id == id }), readTable{id, t})
	cells := 0
	for i, r := range slices.Backward(s.read) {
		if cells += r.Rows * len(r.Columns); cells > mostRemembered {
			s.read = slices.Clone(s.read[i+1:])
			return
		}
	}
}

// Broken says that the table's text cannot be read, and why.
func (m *Stored) Broken() error { return m.broken }
