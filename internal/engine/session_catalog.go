package engine

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// lastFacts are the rows of dpsql.last: the facts about an answer.
type lastFacts interface {
	rows(ctx context.Context) ([][]sqltype.Value, error)
}

// sessionCatalog is an analyst's catalog with dpsql's own tables beside it.
type sessionCatalog struct {
	plan.Catalog
	tables map[string]*plan.Table
}

// Table resolves dpsql.* and everything that the policy shows.
func (c *sessionCatalog) Table(schema, name string) (*plan.Table, bool) {
	if schema == own {
		t, ok := c.tables[name]
		return t, ok
	}
	return c.Catalog.Table(schema, name)
}

// own reports one of dpsql's own tables.
func (c *sessionCatalog) own(t *plan.Table) bool { return c.tables[t.Name] == t }
