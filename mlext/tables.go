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
	Cells  []int64     `json:"cells"`
}

// NoCell is a cell of NULL.
const NoCell = -1 << 62

// Tables are the synthetic tables of a data set, which lie beside its models. A table is its maker's, and of all who may read what it was made from; names are each maker's own.
type Tables struct{ store *Store }

// Tables are the store's synthetic tables.
func (s *Store) Tables() Tables { return Tables{s.tables} }

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

// Hold keeps a free name for a table, as Store.Hold does for a model.
func (t Tables) Hold(ctx context.Context, name, owner string, replace bool) (release func(), err error) {
	return t.store.Hold(ctx, name, owner, replace)
}

// Free refuses a name that the analyst has given already.
func (t Tables) Free(ctx context.Context, name, owner string, replace bool) error {
	return t.store.Free(ctx, name, owner, replace)
}

// Keep stores a table. Where its name was taken although it was held, it overwrites nothing: what was paid for is kept by the first free name of s_2, s_3 ..., which is in the error.
func (t Tables) Keep(ctx context.Context, owner string, made *Table, replace bool) error {
	name := made.Name
	for i := 2; ; i++ {
		text, err := json.Marshal(made)
		if err != nil {
			return err
		}
		ok, err := t.store.putText(ctx, owner, made.Name, Head{Kind: "synthetic table", Method: rand.Text()}, text, replace)
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

// List gives all tables, whoever made them: who may see which is the caller's to decide, by their Sources.
func (t Tables) List(ctx context.Context) ([]Stored, error) {
	return t.read(ctx, "dataset = $1", t.store.dataset)
}

// listedFor is how long Recent goes by what it listed, where another proxy makes tables too.
const listedFor = 5 * time.Second

// Recent is List as it was a few seconds ago at most: clients ask the catalogs in dozens of statements.
func (t Tables) Recent(ctx context.Context) ([]Stored, error) {
	s := t.store
	s.mu.Lock()
	list, at := s.listed, s.listedAt
	s.mu.Unlock()
	if list != nil && time.Since(at) < listedFor {
		return slices.Clone(list), nil
	}
	at = time.Now()
	list, err := t.List(ctx)
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

// Named gives the tables that a name means, written as name or as owner.name, whoever made them.
func (t Tables) Named(ctx context.Context, name string) ([]Stored, error) {
	return t.read(ctx, "dataset = $1 AND (name = $2 OR owner || '.' || name = $2)", t.store.dataset, name)
}

// read reads tables, those alone that are not remembered. A table's head has a number of its own.
func (t Tables) read(ctx context.Context, where string, args ...string) ([]Stored, error) {
	list, err := t.store.rows(ctx, "", "''", where, args...)
	if err != nil {
		return nil, err
	}
	var out []Stored
	for _, x := range list {
		if x.Table = t.store.remembered(x.Method); x.Table == nil {
			one, err := t.store.rows(ctx, "", "body", "dataset = $1 AND owner = $2 AND name = $3", t.store.dataset, x.Owner, x.Name)
			if err != nil {
				return nil, err
			}
			if len(one) == 0 { // it was dropped meanwhile
				continue
			}
			if x = one[0]; x.Table != nil && x.Method != "" {
				t.store.remember(x.Method, x.Table)
			}
		}
		out = append(out, x)
	}
	return out, nil
}

// mostRemembered is how many cells of tables are remembered.
const mostRemembered = 8 << 20

func (s *Store) remembered(id string) *Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read[id]
}

func (s *Store) remember(id string, t *Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cells := t.Rows * len(t.Columns)
	for _, other := range s.read {
		cells += other.Rows * len(other.Columns)
	}
	if cells > mostRemembered || s.read == nil {
		s.read = map[string]*Table{}
	}
	s.read[id] = t
}

// Broken says that the table's text cannot be read, and why.
func (m *Stored) Broken() error { return m.broken }
