package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/sqltype"
)

const defaultSchema = "public"

const relationsQuery = `
	SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text, c.relhassubclass AND c.relkind <> 'p'
	FROM ROWS FROM (unnest($1::text[]), unnest($2::text[])) WITH ORDINALITY AS w(s, t, i)
	JOIN pg_namespace n ON n.nspname = w.s
	JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.t
	WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')
	ORDER BY w.i`

// Newer servers know NOT NULL constraints that were never checked; contype 'n' does not exist in older ones.
// A column whose collation is not deterministic has type OID 0: equality there is not of bytes, which units and keys rest on.
const columnsQuery = `
	SELECT a.attname::text, CASE WHEN EXISTS (SELECT FROM pg_collation c WHERE c.oid = a.attcollation AND NOT c.collisdeterministic)
		THEN 0::oid ELSE a.atttypid END, a.atttypmod, a.attnotnull AND NOT EXISTS (
		SELECT FROM pg_constraint k WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND k.conkey[1] = a.attnum AND NOT k.convalidated)
	FROM pg_attribute a WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

// Unique indexes, whether or not a constraint named them: whole, valid, immediate; INCLUDE columns are no part of a key.
const keysQuery = `
	SELECT ARRAY(SELECT a.attname::text FROM generate_series(0, i.indnkeyatts - 1) p
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[p] ORDER BY p)
	FROM pg_index i
	WHERE i.indrelid = $1 AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indisready
		AND NOT i.indisexclusion AND i.indpred IS NULL AND i.indexprs IS NULL
	ORDER BY i.indisprimary DESC, i.indexrelid`

// Foreign keys that were checked and whose triggers are on; not those over periods, which mean containment.
const foreignKeysQuery = `
	SELECT n.nspname::text, r.relname::text,
		ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY u(n, i)
			JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.n ORDER BY u.i),
		ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u(n, i)
			JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.n ORDER BY u.i)
	FROM pg_constraint k JOIN pg_class r ON r.oid = k.confrelid JOIN pg_namespace n ON n.oid = r.relnamespace
	WHERE k.conrelid = $1 AND k.contype = 'f' AND k.convalidated
		AND coalesce(to_jsonb(k) ->> 'conperiod', 'false') = 'false'
		AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgenabled NOT IN ('O', 'A'))
	ORDER BY k.oid`

// Describe reads pg_catalog in one snapshot. A table with inheritance children is KindOther without keys: its constraints
// do not bind the children's rows, which a SELECT gives too.
func (d *DB) Describe(ctx context.Context, names []backend.RelationName) ([]sqltype.Relation, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	defer conn.Release()
	var out []sqltype.Relation
	read := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, conn, read, func(t pgx.Tx) error {
		out, err = describe(ctx, t, names)
		return err
	})
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	return out, nil
}

type found struct {
	oid      uint32
	relation sqltype.Relation
	inherits bool // has children whose rows it gives without binding them
}

func describe(ctx context.Context, t pgx.Tx, names []backend.RelationName) ([]sqltype.Relation, error) {
	schemas, tables := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		schemas[i], tables[i] = n.Schema, n.Name
		if n.Schema == "" {
			schemas[i] = defaultSchema
		}
	}
	q, err := t.Query(ctx, relationsQuery, schemas, tables)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(q, func(row pgx.CollectableRow) (found, error) {
		var f found
		var kind string
		err := row.Scan(&f.oid, &f.relation.Schema, &f.relation.Name, &kind, &f.inherits)
		f.relation.Kind = kindOf(kind, f.inherits)
		return f, err
	})
	if err != nil {
		return nil, err
	}
	var out []sqltype.Relation
	for _, f := range all {
		if err := f.fill(ctx, t); err != nil {
			return nil, err
		}
		out = append(out, f.relation)
	}
	return out, nil
}

func kindOf(relkind string, inherits bool) sqltype.RelationKind {
	switch {
	case relkind == "r" && !inherits:
		return sqltype.KindTable
	case relkind == "v":
		return sqltype.KindView
	}
	return sqltype.KindOther
}

func (f *found) fill(ctx context.Context, t pgx.Tx) error {
	q, err := t.Query(ctx, columnsQuery, f.oid)
	if err != nil {
		return err
	}
	r := &f.relation
	r.Columns, err = pgx.CollectRows(q, func(row pgx.CollectableRow) (sqltype.RelationColumn, error) {
		var c sqltype.RelationColumn
		var oid uint32
		err := row.Scan(&c.Name, &oid, &c.Type.Typmod, &c.NotNull)
		c.Type.OID = sqltype.OID(oid)
		c.NotNull = c.NotNull && !f.inherits
		return c, err
	})
	if err != nil || f.inherits {
		return err
	}
	if q, err = t.Query(ctx, keysQuery, f.oid); err != nil {
		return err
	}
	if r.Keys, err = pgx.CollectRows(q, pgx.RowTo[[]string]); err != nil {
		return err
	}
	if q, err = t.Query(ctx, foreignKeysQuery, f.oid); err != nil {
		return err
	}
	r.ForeignKeys, err = pgx.CollectRows(q, func(row pgx.CollectableRow) (sqltype.RelationForeignKey, error) {
		var k sqltype.RelationForeignKey
		err := row.Scan(&k.RefSchema, &k.RefTable, &k.Columns, &k.RefColumns)
		return k, err
	})
	return err
}
