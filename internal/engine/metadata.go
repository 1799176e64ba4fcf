package engine

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Statements over PostgreSQL's own catalogs are answered from what the policy publishes to the analyst: the database is not asked, and nothing is charged.

// database is what an analyst's sessions read of the catalogs, one for all of them.
func (s *Session) database() *pgmeta.Database {
	if d, ok := s.world.published.Load(s.user); ok {
		return d.(*pgmeta.Database)
	}
	tables := s.world.catalogs.VisibleOf(s.catalog.Catalog)
	for _, t := range ownTables {
		tables = append(tables, t.Table)
	}
	d, _ := s.world.published.LoadOrStore(s.user, pgmeta.New(s.engine.Database(), s.user, s.catalog, tables))
	return d.(*pgmeta.Database)
}

// metaCatalog is the catalog of a statement over PostgreSQL's catalogs: those first, as they are found first, and dpsql's own tables.
type metaCatalog struct {
	*sessionCatalog
	database *pgmeta.Database
}

// Table implements plan.Catalog.
func (c metaCatalog) Table(schema, name string) (*plan.Table, bool) {
	if t, ok := c.database.Table(schema, name); ok {
		return t, true
	}
	if schema == own {
		return c.sessionCatalog.Table(schema, name)
	}
	return nil, false
}

// own is the schema of dpsql's own tables.
const own = "dpsql"

// reads says what a statement's FROM names: tables of the policy, and relations of PostgreSQL's catalogs.
func (s *Session) reads(q *pgsyntax.Select) (data, catalogs bool) {
	ctes := map[string]bool{}
	pgsyntax.Walk(q, &pgsyntax.Visitor{Query: func(q *pgsyntax.Select) bool {
		for _, w := range q.With {
			ctes[w.Name] = true
		}
		return true
	}})
	meta := s.database()
	pgsyntax.Walk(q, &pgsyntax.Visitor{Table: func(t pgsyntax.TableExpr) bool {
		name, ok := t.(*pgsyntax.TableName)
		switch _, function := t.(*pgsyntax.TableFunc); {
		case function:
			catalogs = true
		case !ok || name.Schema == "" && ctes[name.Name]:
		default:
			t, is := s.found(meta, name.Schema, name.Name)
			catalogs = catalogs || is
			data = data || t != nil && !s.catalog.own(t)
		}
		return true
	}})
	return data, catalogs
}

// bind resolves a statement: over data, or over PostgreSQL's catalogs where it reads nothing else.
func (p *Prepared) bind(ctx context.Context) (*plan.Query, error) {
	s := p.session
	made := new(int)
	opts := plan.BindOptions{ParamTypes: p.params, Session: s.constants(), Values: s.values, Models: predictions{ctx, s, made}}
	defer func() { p.predicts = *made > 0 }()
	data, catalogs := s.reads(p.stmt)
	p.meta, p.readsData = nil, data
	if !catalogs {
		q, err := plan.Bind(p.stmt, s.along(s.catalog), opts)
		if err == nil || data {
			return q, err
		}
		q, metaErr := p.bindMeta(opts) // perhaps a function of the catalogs, or a cast to one of their types
		if metaErr == nil {
			return q, nil
		}
		if code(err) == sqlerr.Unsupported.Code && hasReadFurther(metaErr, err) {
			err = metaErr // the catalogs have what the data's functions stopped at
		}
		return nil, err
	}
	if data {
		return plan.Bind(p.stmt, s.along(s.catalog), opts)
	}
	return p.bindMeta(opts)
}

func (p *Prepared) bindMeta(opts plan.BindOptions) (*plan.Query, error) {
	s := p.session
	session := &pgmeta.Session{Database: s.database(), Values: s.values, Parameters: s.parameters}
	opts.Meta = session
	q, err := plan.Bind(p.stmt, s.along(metaCatalog{s.catalog, session.Database}), opts)
	if err != nil {
		return nil, err
	}
	p.meta = session
	return q, nil
}

// hasReadFurther: a statement was read beyond what it was refused for, or was refused there for another reason.
func hasReadFurther(now, before error) bool {
	if code(now) != sqlerr.Unsupported.Code || position(now) > position(before) {
		return true
	}
	return sqlerr.ID(now) != sqlerr.ID(before) && (position(now) == position(before) || sqlerr.ID(before) == sqlerr.UnsupportedType.ID) // arguments are read before their function
}

func code(err error) string {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

// position is where an error stands in the statement, from 1; 0 where it has no place.
func position(err error) int {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Pos
}

// analyzeFree keeps a statement that reads no table of the data: there is nothing to bound.
func (p *Prepared) analyzeFree(q *plan.Query, preview string) {
	s := p.session
	p.query, p.program, p.stages, p.public, p.inBackend, p.outer = q, nil, nil, nil, nil, nil
	p.an = &sensitivity.Analysis{Class: sensitivity.Public, Query: q}
	p.shown = nil
	p.preview, p.under, p.filter, p.values, p.world = preview, s.now, s.filter, s.values, s.world
}

// runMeta answers from the catalog alone.
func (p *Prepared) runMeta(ctx context.Context, args []sqltype.Value) (*Answer, error) {
	rows, err := p.meta.Run(ctx, p.query, args, func(t *plan.Table) ([][]sqltype.Value, error) { return p.session.ownRows(ctx, t) })
	if err != nil {
		if ctx.Err() != nil {
			err = p.session.uncharged(ctx, err)
		}
		return nil, err
	}
	return &Answer{Rows: rows, Tag: "SELECT"}, nil
}

// UseParameters gives the session the settings that SHOW knows: current_setting, set_config and pg_settings read and change them.
func (s *Session) UseParameters(p pgmeta.Parameters) { s.parameters = p }
