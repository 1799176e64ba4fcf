package session

import (
	"context"
	"hash/fnv"
	"io"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// SyntheticSchema is the schema that synthetic tables are named in. It may be left out where the policy has no table of that name.
const SyntheticSchema = "synthetic"

// MayReadSources says whether the analyst may read, by the policy in force, every column that something was made from.
//
// Proof: (1) each is looked up in the analyst's own catalog, whatever search_path says; (2) what has no sources is nobody's.
func (s *Session) MayReadSources(sources []mlext.Source) bool {
	for _, src := range sources {
		t, ok := s.Catalog.Table(src.Schema, src.Table) // (1) in the analyst's own catalog
		for _, c := range src.Columns {
			ok = ok && slices.ContainsFunc(t.Columns, func(col plan.TableColumn) bool { return col.Name == c && col.Visible })
		}
		if !ok {
			return false
		}
	}
	return len(sources) > 0 // (2) without sources it is nobody's
}

// WithSynthetic is the session's catalog with the synthetic tables that a statement names, whose heads are read from their store: names have a schema, or "". One that is not there, or that the analyst may not read, is left out.
//
// Proof: claim: who reads a synthetic table (1) may read, by the policy in force, all that it was made from (MayReadSources), and (2) is not frozen, as for stored answers. Each binding of a statement looks again, and so does each run (Bound.Predicts). Rows are found by the table that this call made.
func (s *Session) WithSynthetic(ctx context.Context, names []string) (plan.Catalog, error) {
	found := map[string]*plan.Table{}
	s.Catalog.synthetic = map[*plan.Table]*mlext.Stored{}
	for _, name := range names {
		list, err := s.Engine.Models.Tables().Named(ctx, name)
		if err != nil {
			return nil, s.ModelsFailed(ctx, err)
		}
		if own := slices.IndexFunc(list, func(x mlext.Stored) bool { return x.Owner == s.Analyst.Name && x.Name == name }); own >= 0 {
			list = list[own : own+1]
			switch x := &list[0]; {
			case x.Broken() != nil:
				return nil, s.ModelsFailed(ctx, x.Broken())
			case !s.MayReadSources(x.Table.Sources):
				return nil, sqlerr.New(sqlerr.Privilege, "permission denied for synthetic table %s: it was made from columns that you may not read", name).WithHint("Ask the owner of the data for the right to read what it was made from.")
			}
		}
		list = slices.DeleteFunc(list, func(x mlext.Stored) bool { return x.Broken() != nil || !s.MayReadSources(x.Table.Sources) }) // (1)
		switch len(list) {
		case 0:
		case 1:
			if err := s.NotFrozen(ctx); err != nil { // (2)
				return nil, err
			}
			t := boundSynthetic(&list[0])
			found[name], s.Catalog.synthetic[t] = t, &list[0]
		default:
			return nil, sqlerr.New(sqlerr.InvalidParam, "synthetic table %q is of several analysts", name).WithHint("Name it with its owner: synthetic.\"%s.%s\" or synthetic.\"%s.%s\".", list[0].Owner, list[0].Name, list[1].Owner, list[1].Name)
		}
	}
	return syntheticCatalog{s.Catalog, found}, nil
}

// DatabaseWithSynthetic is what the analyst's sessions read of the catalogs, with the synthetic tables that the analyst may read.
func (s *Session) DatabaseWithSynthetic(ctx context.Context) *pgmeta.Database {
	list, err := s.Engine.Models.Tables().Recent(ctx)
	if err != nil { // the catalogs are answered without the store
		s.Engine.Log.Error("the synthetic tables cannot be listed", "analyst", s.Analyst.Name, "error", err.Error())
	}
	list = slices.DeleteFunc(list, func(x mlext.Stored) bool { return x.Broken() != nil || !s.MayReadSources(x.Table.Sources) })
	if len(list) == 0 {
		return s.Database()
	}
	tables := s.published()
	for i := range list {
		tables = append(tables, boundSynthetic(&list[i]))
	}
	return pgmeta.New(s.Engine.Database(), s.User, s.Catalog, tables)
}

// boundSynthetic is a synthetic table as statements are bound to it.
func boundSynthetic(x *mlext.Stored) *plan.Table {
	h := fnv.New32a()
	_, _ = io.WriteString(h, x.Owner+"\x00"+x.Name) // a hash never fails
	t := &plan.Table{OID: 1<<30 | h.Sum32()>>3, Schema: SyntheticSchema, Name: x.Name, Public: true, UnitCol: -1, Description: "synthetic rows, made by " + x.Owner}
	for _, c := range x.Table.Columns {
		t.Columns = append(t.Columns, plan.TableColumn{Name: c.Name, Type: typeOf(&c), Visible: true})
	}
	return t
}

type syntheticCatalog struct {
	plan.Catalog
	found map[string]*plan.Table
}

// Table implements plan.Catalog: the policy's tables come first.
func (c syntheticCatalog) Table(schema, name string) (*plan.Table, bool) {
	if schema != SyntheticSchema {
		if t, ok := c.Catalog.Table(schema, name); ok || schema != "" {
			return t, ok
		}
	}
	if t, ok := c.found[name]; ok {
		return t, true
	}
	return c.Catalog.Table(schema, name)
}
