package session

import (
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// pathCatalog looks names without a schema up along a search_path.
type pathCatalog struct {
	plan.Catalog
	path []string
}

// Table implements plan.Catalog.
func (c pathCatalog) Table(schema, name string) (*plan.Table, bool) {
	if schema != "" {
		return c.Catalog.Table(schema, name)
	}
	for _, in := range c.path {
		if t, ok := c.Catalog.Table(in, name); ok {
			return t, true
		}
	}
	return nil, false
}

// path are the schemas of a search_path that is not the default one, pg_catalog among them.
func (s *Session) path() []string {
	if s.Values.Path == "" {
		return nil
	}
	return (&pgmeta.Session{Database: s.Database(), Values: s.Values}).Path()
}

// Along is a catalog whose names without a schema follow search_path. The default path is the catalog's own.
func (s *Session) Along(c plan.Catalog) plan.Catalog {
	if path := s.path(); path != nil {
		return pathCatalog{c, path}
	}
	return c
}

// Found is what a name of FROM is: a relation of PostgreSQL's catalogs, or a table that the session may see.
func (s *Session) Found(meta *pgmeta.Database, schema, name string) (t *plan.Table, catalogs bool) {
	schemas := s.path()
	if schema != "" || schemas == nil {
		schemas = []string{schema}
	}
	for _, in := range schemas {
		if _, ok := meta.Table(in, name); ok {
			return nil, true
		}
		if t, ok := s.Catalog.Table(in, name); ok {
			return t, false
		}
	}
	return nil, schema == "pg_catalog" || schema == "information_schema"
}

// Database is what an analyst's sessions read of the catalogs, one for all of them.
func (s *Session) Database() *pgmeta.Database {
	if d, ok := s.World.Published.Load(s.User); ok {
		return d.(*pgmeta.Database)
	}
	d, _ := s.World.Published.LoadOrStore(s.User, pgmeta.New(s.Engine.Database(), s.User, s.Catalog, s.published()))
	return d.(*pgmeta.Database)
}

// published are the tables that the analyst may see, and dpsql's own.
func (s *Session) published() []*plan.Table {
	tables := s.World.Catalogs.VisibleOf(s.Catalog.Catalog)
	for _, t := range OwnTables {
		tables = append(tables, t.Table)
	}
	return tables
}
