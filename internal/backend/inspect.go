package backend

import (
	"context"

	"github.com/dpsql/dpsql/internal/sqltype"
)

// Surveyor is a backend that can list what its role may read: every table (partitions count with their table), view and
// foreign table outside the system's schemas, ordered by schema and name. It reads the schema only, never values or statistics.
type Surveyor interface {
	Survey(ctx context.Context) ([]sqltype.Relation, error)
}

// Auditor is a backend that has roles: it tells what the connected one may do beyond reading the listed relations.
type Auditor interface {
	Audit(ctx context.Context, listed []RelationName) (*Audit, error)
}

// Audit is what the role may do that it need not, and what it needs and may not.
type Audit struct {
	Role     string // the connected one
	Findings []Finding
	Script   string // SQL for an administrator that cures every finding; empty if there is none
}

// Finding is one right too much or too little, with the statement that cures it.
type Finding struct{ What, Fix string }
