package mlext

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// Cube is what CREATE DP CUBE released: the levels of one statement, read in one snapshot.
type Cube struct {
	Statement string      `json:"statement"` // the query
	Made      time.Time   `json:"made"`
	Price     float64     `json:"price"`
	Epoch     string      `json:"epoch"` // of the policy: under another one no question is the same
	Levels    []CubeLevel `json:"levels"`
}

// CubeLevel is one grouping set. Release is in the body alone.
type CubeLevel struct {
	Columns     []string        `json:"columns"` // what it is grouped by
	Groups      int             `json:"groups"`
	Key         [32]byte        `json:"key"`
	Family      [32]byte        `json:"family"` // zero: no other question is computed from it
	Reservation int64           `json:"reservation"`
	Release     json.RawMessage `json:"release,omitempty"`
}

// Cubes are the cubes of a data set, which lie beside its models. Names are each maker's own.
type Cubes struct{ store *Store }

// Cubes are the store's cubes.
func (s *Store) Cubes() Cubes { return Cubes{s.beside[1]} }

func (s *Store) decodeCube(r *row) (*Cube, error) {
	text, err := s.open(r.Owner, r.Body)
	if err != nil {
		return nil, err
	}
	c := new(Cube)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("mlext: a stored cube cannot be read: %w", err)
	}
	return c, nil
}

func (c *Cube) head() *Cube {
	h := *c
	h.Levels = nil
	for _, l := range c.Levels {
		l.Release = nil
		h.Levels = append(h.Levels, l)
	}
	return &h
}

// mostCubes is how many cubes an analyst has at most: each statement over private rows looks through all of them.
const mostCubes = 100

// Hold keeps a free name for a cube, as Store.Hold does for a model.
func (c Cubes) Hold(ctx context.Context, name, owner string) (release func(), err error) {
	if err := c.few(ctx, owner); err != nil {
		return nil, err
	}
	return c.store.Hold(ctx, name, owner, false)
}

// Free refuses a name that the analyst has given already, and more cubes than one may have.
func (c Cubes) Free(ctx context.Context, name, owner string) error {
	if err := c.few(ctx, owner); err != nil {
		return err
	}
	return c.store.Free(ctx, name, owner, false)
}

func (c Cubes) few(ctx context.Context, owner string) error {
	list, err := c.store.rows(ctx, "", "''", "dataset = $1 AND owner = $2", c.store.dataset, owner)
	if err != nil || len(list) < mostCubes {
		return err
	}
	return sqlerr.New(sqlerr.TooLong, "you have %d cubes already", len(list)).WithHint("Drop one that you can do without: SELECT cube FROM dpsql.cubes lists them. What it cost stays spent.")
}

// Keep stores a cube under a name that is held.
func (c Cubes) Keep(ctx context.Context, owner, name string, made *Cube) error {
	text, err := json.Marshal(made)
	if err != nil {
		return err
	}
	ok, err := c.store.putText(ctx, owner, name, Head{Kind: ofCubes, Method: rand.Text(), Cube: made.head()}, text, false)
	if err == nil && !ok {
		return c.store.taken(ctx, name, owner, false)
	}
	return err
}

// Drop removes a cube of the analyst's own; ok is false where there is none.
func (c Cubes) Drop(ctx context.Context, name, owner string) (ok bool, err error) {
	defer c.store.changed()
	gone, err := c.store.db.Read(ctx, "DELETE FROM models WHERE dataset = $1 AND owner = $2 AND name = $3 RETURNING name", c.store.dataset, owner, name)
	return len(gone) > 0, err
}

// Recent gives the heads of all cubes, as they were a few seconds ago at most: each statement over private rows asks.
func (c Cubes) Recent(ctx context.Context) ([]Stored, error) { return c.store.recent(ctx) }

// Load reads the releases of a cube that was listed; nil where it was dropped since.
func (c Cubes) Load(ctx context.Context, x *Stored) (*Cube, error) {
	list, err := c.store.rows(ctx, "", "body", "dataset = $1 AND owner = $2 AND name = $3", c.store.dataset, x.Owner, x.Name)
	if err != nil || len(list) == 0 || list[0].Method != x.Method {
		return nil, err
	}
	return list[0].cube, list[0].broken
}
