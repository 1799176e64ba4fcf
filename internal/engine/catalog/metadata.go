package catalog

import (
	"context"
	"errors"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Statements over PostgreSQL's own catalogs are answered from what the policy publishes to the analyst: the database is not asked, and nothing is charged.

// metaCatalog is the catalog of a statement over PostgreSQL's catalogs: those first, as they are found first, and dpsql's own tables.
type metaCatalog struct {
	*session.Catalog
	database *pgmeta.Database
}

// Table implements plan.Catalog.
func (c metaCatalog) Table(schema, name string) (*plan.Table, bool) {
	if t, ok := c.database.Table(schema, name); ok {
		return t, true
	}
	if schema == server.Own {
		return c.Catalog.Table(schema, name)
	}
	return nil, false
}

// relationsRead says what a statement's FROM names: tables of the policy, and relations of PostgreSQL's catalogs.
func relationsRead(s *session.Session, q *pgsyntax.Select) (data, catalogs bool) {
	ctes, meta := withNames(q), s.Database()
	pgsyntax.Walk(q, &pgsyntax.Visitor{Table: func(t pgsyntax.TableExpr) bool {
		name, ok := t.(*pgsyntax.TableName)
		switch _, function := t.(*pgsyntax.TableFunc); {
		case function:
			catalogs = true
		case !ok || name.Schema == "" && ctes[name.Name]:
		default:
			t, is := s.Found(meta, name.Schema, name.Name)
			catalogs = catalogs || is
			data = data || t != nil && !s.Catalog.Own(t)
		}
		return true
	}})
	return data, catalogs
}

// withNames are the names that WITH gives in a statement.
func withNames(q *pgsyntax.Select) map[string]bool {
	out := map[string]bool{}
	pgsyntax.Walk(q, &pgsyntax.Visitor{Query: func(q *pgsyntax.Select) bool {
		for _, w := range q.With {
			out[w.Name] = true
		}
		return true
	}})
	return out
}

// mostLookups is how many names of a statement are looked up as synthetic tables, each in the store: as many as an analyst may have. Others do not exist.
const mostLookups = 100

// syntheticNames are the names in FROM that may mean synthetic tables.
func syntheticNames(q *pgsyntax.Select, isKnown func(name string) bool) (names []string) {
	ctes := withNames(q)
	pgsyntax.Walk(q, &pgsyntax.Visitor{Table: func(t pgsyntax.TableExpr) bool {
		n, ok := t.(*pgsyntax.TableName)
		if ok && len(names) < mostLookups && !slices.Contains(names, n.Name) && (n.Schema == session.SyntheticSchema || n.Schema == "" && !isKnown(n.Name) && !ctes[n.Name]) {
			names = append(names, n.Name)
		}
		return true
	}})
	return names
}

// withSynthetic is the session's catalog with the synthetic tables that a statement's FROM may mean.
func withSynthetic(ctx context.Context, s *session.Session, q *pgsyntax.Select) (plan.Catalog, error) {
	names := syntheticNames(q, func(name string) bool {
		_, known := s.Catalog.Table("", name)
		return known
	})
	if names == nil {
		return s.Catalog, nil
	}
	return s.WithSynthetic(ctx, names)
}

// readsSynthetic says whether a statement reads a synthetic table, which it may not beside others.
func readsSynthetic(s *session.Session, q *plan.Query) (synthetic bool, err error) {
	var other *plan.Scan
	name := ""
	for _, sc := range server.ScansOf(q.Root) {
		switch {
		case s.Catalog.IsSynthetic(sc.Table):
			synthetic, name = true, sc.Table.Name
		case sc.Table != nil:
			other = sc
		}
	}
	if synthetic && other != nil {
		return true, sqlerr.New(sqlerr.Unsupported, "synthetic table %s cannot be read together with table %s", name, other.Table.Name).At(other.Pos).WithHint("Read it in a statement of its own, and compare the answers.")
	}
	if synthetic {
		plan.VisitRels(q.Root, func(r plan.Rel) bool {
			if a, ok := r.(*plan.Aggregate); ok && len(a.Errors) > 0 && err == nil {
				err = sqlerr.New(sqlerr.Unsupported, "%s of synthetic rows is not known: how far they are from the real ones is not measured", a.Errors[0].Kind).At(a.Pos).WithHint("Leave it out, or ask the private table.")
			}
			return true
		})
	}
	return synthetic, err
}

// BoundStatement is a statement whose names are resolved.
type BoundStatement struct {
	Query     *plan.Query
	Meta      *pgmeta.Session // set for statements over PostgreSQL's own catalogs
	ReadsData bool            // it reads tables of the data
	Predicts  bool            // it uses models
	Synthetic bool            // it reads a synthetic table, and no other
}

// BindStatement resolves a statement: over data, or over PostgreSQL's catalogs where it reads nothing else.
func BindStatement(ctx context.Context, s *session.Session, stmt *pgsyntax.Select, opts plan.BindOptions) (b BoundStatement, err error) {
	made := new(int)
	opts.Models = predictions{ctx, s, made}
	defer func() { b.Predicts = *made > 0 }()
	var catalogs bool
	b.ReadsData, catalogs = relationsRead(s, stmt)
	if b.ReadsData || !catalogs {
		var tables plan.Catalog
		if tables, err = withSynthetic(ctx, s, stmt); err != nil {
			return b, err
		}
		if b.Query, err = plan.Bind(stmt, s.Along(tables), opts); err == nil {
			b.Synthetic, err = readsSynthetic(s, b.Query)
		}
		if err == nil || b.ReadsData || b.Synthetic {
			return b, err
		}
	}
	q, meta, metaErr := bindMeta(ctx, s, stmt, opts) // perhaps a function of the catalogs, or a cast to one of their types
	switch {
	case catalogs || metaErr == nil:
		b.Query, b.Meta, err = q, meta, metaErr
	case code(err) == sqlerr.Unsupported.Code && hasReadFurther(metaErr, err):
		err = metaErr // the catalogs have what the data's functions stopped at
	}
	return b, err
}

func bindMeta(ctx context.Context, s *session.Session, stmt *pgsyntax.Select, opts plan.BindOptions) (*plan.Query, *pgmeta.Session, error) {
	session := &pgmeta.Session{Database: s.DatabaseWithSynthetic(ctx), Values: s.Values, Parameters: s.Parameters}
	opts.Meta = session
	q, err := plan.Bind(stmt, s.Along(metaCatalog{s.Catalog, session.Database}), opts)
	return q, session, err
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

// Statement is a statement over PostgreSQL's own catalogs.
type Statement struct {
	*session.Statement
	Meta *pgmeta.Session
}

// Run implements session.Kind: it answers from the catalog alone.
func (c *Statement) Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error) {
	rows, err := c.Meta.Run(ctx, c.Query, args, func(t *plan.Table) ([][]sqltype.Value, error) { return c.Session.OwnRows(ctx, t) })
	if err != nil {
		if ctx.Err() != nil {
			err = c.Session.Uncharged(ctx, err)
		}
		return nil, err
	}
	return &answer.Answer{Rows: rows, Tag: "SELECT"}, nil
}
