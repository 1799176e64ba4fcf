package backend

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Surveyor is a backend that can list what its role may read: every table (partitions count with their table), view and
// foreign table outside the system's schemas, ordered by schema and name. It reads the schema only, never values or statistics.
type Surveyor interface {
	Survey(ctx context.Context) ([]sqltype.Relation, error)
}

// Auditor is a backend that has roles: it tells what the connected one may do beyond reading the listed relations.
type Auditor interface {
	Audit(ctx context.Context, listed []Listed) (*Audit, error)
}

// Listed is a relation that is read, and its columns that are; no columns are all that the role may read.
type Listed struct {
	RelationName
	Columns []string
}

// Audit is what the role may do that it need not, and what it needs and may not.
type Audit struct {
	Role     string // the connected one
	Instead  string // the role that dpsql should connect as, where this one cannot be made fit
	Findings []Finding
	Script   string // SQL for an administrator that cures every finding and lets the role read past row-level security where it has to; empty if there is nothing to do
}

// Finding is one right too much or too little, with the statement that cures it.
type Finding struct {
	What, Fix string
	Unread    RelationName // a listed relation that lacks nothing but SELECT
}

// Spreader is a backend whose tables may lie on several machines.
type Spreader interface {
	// Spread tells where the listed tables lie, without views; nothing where all are on one machine.
	Spread(ctx context.Context, listed []RelationName) ([]Spread, error)
}

// Spread is where one table lies.
type Spread struct {
	Schema, Name string
	How          string // Cut, Copied or Whole
	Column       string // by which it is cut
	Group        int64  // tables of one group that are cut lie together, row by row
}

// How a table lies on several machines.
const (
	Cut    = "cut"    // its rows are on one or the other, by a column
	Copied = "copied" // each has all of it
	Whole  = "whole"  // one has it
)

// Marker is a backend whose schema can change while it is served. What a policy rests on (keys, NOT NULL, types, views, row
// security) is then compared again in each statement's own snapshot.
type Marker interface {
	// Mark names the state of the relations' schema, and of what they are made of. Taken before Describe, it is never newer
	// than what Describe says.
	Mark(ctx context.Context, names []RelationName) (Mark, error)
	// BeginMarked is Begin where the schema, as the snapshot sees it, is that of the mark; else ErrSchema. Its Tx is a Confirmer.
	BeginMarked(ctx context.Context, m Mark) (Tx, error)
}

// Named is a backend whose database has a name of its own.
type Named interface {
	// Name is the same for every address and role by which the database is reached, and another for every other database.
	Name(ctx context.Context) (string, error)
}

// Steady is a backend whose data cannot change while it is open.
type Steady interface {
	// Opened names this opening: another one may have other data.
	Opened() string
}

// Confirmer is a transaction that can tell afterwards whether what it read was what its mark says. Confirm ends it; until it gave
// nil, nothing that was read may be shown.
type Confirmer interface {
	Confirm(ctx context.Context) error
}

// Mark is a backend's own; it means nothing to others.
type Mark any

// ErrSchema says that the schema is not what it was at the mark.
var ErrSchema = errors.New("backend: the schema has changed")
