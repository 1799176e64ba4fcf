package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

const defaultSchema = "public"

const namedQuery = `
	SELECT c.oid
	FROM ROWS FROM (unnest($1::text[]), unnest($2::text[])) WITH ORDINALITY AS w(s, t, i)
	JOIN pg_namespace n ON n.nspname = w.s
	JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.t
	WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')
	ORDER BY w.i`

// With whether it has children that inherit from it, and partitions that are no plain tables.
const relationsQuery = `
	SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text,
		c.relkind <> 'p' AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid),
		c.relkind = 'p' AND EXISTS (
			WITH RECURSIVE part(oid) AS (
				SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = c.oid
				UNION SELECT i.inhrelid FROM part JOIN pg_inherits i ON i.inhparent = part.oid)
			SELECT FROM part JOIN pg_class l ON l.oid = part.oid WHERE l.relkind NOT IN ('r', 'p')),
		CASE WHEN row_security_active(c.oid) THEN quote_ident(current_user) ELSE '' END, coalesce(obj_description(c.oid, 'pg_class'), ''), quote_ident(current_user)
	FROM unnest($1::int8[]) WITH ORDINALITY AS w(oid, i)
	JOIN pg_class c ON c.oid = w.oid::oid JOIN pg_namespace n ON n.oid = c.relnamespace
	ORDER BY w.i`

// Newer servers know NOT NULL constraints that were never checked; contype 'n' does not exist in older ones.
// A column whose collation is not deterministic has type OID 0: equality there is not of bytes, which units and keys rest on.
// So has one that newer servers compute where it is read, which may fail. A domain is the type that it is made of.
// A collation that is neither the database's ("default", 100) nor "C" (950) is told: where two collations meet PostgreSQL fails.
// What can keep its text: a generated column is computed from immutable casts, and neither it nor a trigger reads other generated columns.
// The last column is the definition. attnum is in it because renaming can give two columns each other's name.
const columnsQuery = `
	SELECT a.attrelid, a.attname::text,
		CASE WHEN EXISTS (SELECT FROM pg_collation c WHERE c.oid = a.attcollation AND NOT c.collisdeterministic)
			THEN 0::oid ELSE base.typ END, base.mod,
		a.attnotnull AND NOT EXISTS (SELECT FROM pg_constraint k
			WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND k.conkey[1] = a.attnum AND NOT k.convalidated),
		coalesce(col_description(a.attrelid, a.attnum), ''), NOT has_column_privilege(a.attrelid, a.attnum, 'SELECT'), a.attnum, a.attgenerated = 'v',
		a.attcollation NOT IN (0, 100, 950),
		CASE WHEN a.attgenerated <> '' THEN '' WHEN 'i' = (
			SELECT p.provolatile FROM pg_type t LEFT JOIN pg_cast k ON k.castsource = t.oid AND k.casttarget = 'text'::regtype
				JOIN pg_proc p ON p.oid = coalesce(nullif(k.castfunc, 0), t.typoutput) WHERE t.oid = base.typ)
			THEN 'generated' ELSE 'trigger' END,
		concat_ws(' ', a.attnum, CASE WHEN a.attcollation = 100 THEN (SELECT quote_ident(datcollate) || ' ' || quote_ident(datctype) FROM pg_database WHERE datname = current_database())
				ELSE (SELECT quote_ident(n.nspname) || '.' || quote_ident(l.collname) FROM pg_collation l JOIN pg_namespace n ON n.oid = l.collnamespace WHERE l.oid = a.attcollation) END,
			(SELECT 'AS ' || pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE a.attgenerated <> '' AND d.adrelid = a.attrelid AND d.adnum = a.attnum))
	FROM pg_attribute a CROSS JOIN LATERAL (
		WITH RECURSIVE of(typ, mod) AS (
			SELECT a.atttypid, a.atttypmod
			UNION ALL SELECT t.typbasetype, t.typtypmod FROM of JOIN pg_type t ON t.oid = of.typ WHERE t.typtype = 'd')
		SELECT of.typ, of.mod FROM of JOIN pg_type t ON t.oid = of.typ WHERE t.typtype <> 'd') base
	WHERE a.attrelid = ANY ($1::int8[]::oid[]) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

// The enums that columns or their elements may have.
const enumsQuery = `
	SELECT t.oid, t.typarray, n.nspname::text, t.typname::text,
		coalesce((SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid), '{}')
	FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
	WHERE t.typtype = 'e' AND (t.oid = ANY ($1::int8[]::oid[]) OR t.typarray = ANY ($1::int8[]::oid[]))`

const ancestorsQuery = `
	WITH RECURSIVE up(oid, parent) AS (
		SELECT inhrelid, inhparent FROM pg_inherits WHERE inhrelid = ANY ($1::int8[]::oid[])
		UNION SELECT up.oid, i.inhparent FROM up JOIN pg_inherits i ON i.inhrelid = up.parent)
	SELECT up.oid, n.nspname::text, c.relname::text
	FROM up JOIN pg_class c ON c.oid = up.parent JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY 2, 3`

// named gives the OIDs of the relations that exist.
func named(ctx context.Context, t pgx.Tx, names []backend.RelationName) ([]int64, error) {
	schemas, tables := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		schemas[i], tables[i] = n.Schema, n.Name
		if n.Schema == "" {
			schemas[i] = defaultSchema
		}
	}
	return collectOIDs(t.Query(ctx, namedQuery, schemas, tables))
}

func collectOIDs(q pgx.Rows, err error) ([]int64, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(q, func(row pgx.CollectableRow) (int64, error) {
		var oid uint32
		err := row.Scan(&oid)
		return int64(oid), err
	})
}

// catalog reads the schema within one snapshot; it lives as long as one call.
type catalog struct {
	ctx   context.Context
	tx    pgx.Tx
	views map[uint32]*view
}

// entry is one relation as pg_catalog has it.
type entry struct {
	sqltype.Relation
	oid      uint32
	relkind  string
	attnums  []int16 // of Columns
	unbound  string  // why no constraint binds the rows it gives
	virtual  bool    // has columns that are computed where they are read
	inherits bool    // has children whose rows it gives too
}

// each runs a query about relations, given by OID, and scans its rows.
func (c *catalog) each(query string, oids []int64, scan func(pgx.Rows) error) error {
	q, err := c.tx.Query(c.ctx, query, oids)
	if err != nil {
		return err
	}
	defer q.Close()
	for q.Next() {
		if err := scan(q); err != nil {
			return err
		}
	}
	return q.Err()
}

// describe tells all of the relations.
func (c *catalog) describe(oids []int64) ([]sqltype.Relation, error) {
	entries, err := c.entries(oids)
	if err != nil {
		return nil, err
	}
	var out []sqltype.Relation
	for _, e := range entries {
		if e.relkind == "v" || e.relkind == "m" {
			if err := c.describeView(e); err != nil {
				return nil, err
			}
			if err := c.tx.QueryRow(c.ctx, definitionQuery, int64(e.oid)).Scan(&e.Definition); err != nil {
				return nil, err
			}
		}
		out = append(out, e.Relation)
	}
	return out, nil
}

// entries reads everything but what views are made of.
func (c *catalog) entries(oids []int64) ([]*entry, error) {
	var all []*entry
	of := map[uint32]*entry{}
	err := c.each(relationsQuery, oids, func(q pgx.Rows) error {
		e := &entry{}
		var foreignPart bool
		err := q.Scan(&e.oid, &e.Schema, &e.Name, &e.relkind, &e.inherits, &foreignPart, &e.RowSecurity, &e.Comment, &e.Reader)
		e.classify(foreignPart)
		all, of[e.oid] = append(all, e), e
		return err
	})
	if err != nil {
		return nil, err
	}
	err = c.each(columnsQuery, oids, func(q pgx.Rows) error {
		var rel, oid uint32
		var col sqltype.RelationColumn
		var attnum int16
		var virtual bool
		err := q.Scan(&rel, &col.Name, &oid, &col.Type.Typmod, &col.NotNull, &col.Comment, &col.Denied, &attnum, &virtual, &col.Collate, &col.TextBy, &col.Definition)
		if e := of[rel]; e != nil {
			if col.Type.OID = sqltype.OID(oid); virtual {
				col.Type.OID, e.virtual = 0, true
			}
			if e.Kind != sqltype.KindTable {
				col.NotNull, col.TextBy = false, ""
			}
			e.Columns, e.attnums = append(e.Columns, col), append(e.attnums, attnum)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := c.enums(all); err != nil {
		return nil, err
	}
	for _, e := range all {
		for i := range e.Columns {
			if e.Columns[i].Type.IsReadable() {
				e.Columns[i].TextBy = ""
			}
		}
	}
	err = c.each(ancestorsQuery, oids, func(q pgx.Rows) error {
		var rel uint32
		var name sqltype.QualifiedName
		err := q.Scan(&rel, &name.Schema, &name.Name)
		if e := of[rel]; e != nil {
			e.PartOf = append(e.PartOf, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, c.constraints(oids, of)
}

// enums gives columns of enums and of arrays of them their types.
func (c *catalog) enums(all []*entry) error {
	var unknown []int64
	for _, e := range all {
		for _, col := range e.Columns {
			if col.Type.OID != 0 && !col.Type.IsKnown() {
				unknown = append(unknown, int64(col.Type.OID))
			}
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	types := map[sqltype.OID]sqltype.Type{}
	err := c.each(enumsQuery, unknown, func(q pgx.Rows) error {
		var oid, array uint32
		var e sqltype.Enum
		if err := q.Scan(&oid, &array, &e.Schema, &e.Name, &e.Labels); err != nil {
			return err
		}
		e.OID, e.Array = sqltype.OID(oid), sqltype.OID(array)
		t := sqltype.EnumType(e)
		types[t.OID] = t
		if a, ok := sqltype.ArrayOf(t); ok {
			types[a.OID] = a
		}
		return nil
	})
	for _, e := range all {
		for i := range e.Columns {
			if t, ok := types[e.Columns[i].Type.OID]; ok {
				e.Columns[i].Type = t
			}
		}
	}
	return err
}

// classify settles the kind, and whether constraints bind all rows.
func (e *entry) classify(foreignPart bool) {
	e.Partitioned = e.relkind == "p"
	switch {
	case e.relkind == "v":
		e.Kind = sqltype.KindView
	case e.relkind == "m":
		e.Kind = sqltype.KindMatView
	case e.relkind == "f":
		e.Kind, e.unbound = sqltype.KindForeign, "the table is a foreign one"
	case foreignPart:
		e.Kind, e.unbound = sqltype.KindForeign, "a partition of the table is a foreign one"
	case e.inherits:
		e.Kind, e.unbound = sqltype.KindOther, "it does not bind the rows of the tables that inherit from this one"
	case e.relkind == "r" || e.relkind == "p":
		e.Kind = sqltype.KindTable
	default:
		e.Kind, e.unbound = sqltype.KindOther, "the relation is of an unknown kind"
	}
}
