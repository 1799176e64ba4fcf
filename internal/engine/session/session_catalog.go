package session

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// lastFacts are the rows of dpsql.last: the facts about an answer.
type lastFacts interface {
	Rows(ctx context.Context) ([][]sqltype.Value, error)
}

// Catalog is an analyst's catalog with dpsql's own tables beside it.
type Catalog struct {
	plan.Catalog
	tables    map[string]*plan.Table
	synthetic map[*plan.Table]*mlext.Stored // that the last bound statement reads
}

// Table resolves dpsql.* and everything that the policy shows.
func (c *Catalog) Table(schema, name string) (*plan.Table, bool) {
	if schema == server.Own {
		t, ok := c.tables[name]
		return t, ok
	}
	return c.Catalog.Table(schema, name)
}

// Own reports one of dpsql's own tables, or a synthetic one: the proxy has its rows, and the database has no such table.
func (c *Catalog) Own(t *plan.Table) bool { return c.tables[t.Name] == t || c.IsSynthetic(t) }

// IsSynthetic reports a synthetic table.
func (c *Catalog) IsSynthetic(t *plan.Table) bool { return c.synthetic[t] != nil }
