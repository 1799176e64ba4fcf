package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Unique indexes, whether or not a constraint named them, with why they are no keys: a key is whole, valid, immediate, and
// compares as the type's own = does. INCLUDE columns are no part of it. The index of a partitioned table is valid once each
// partition has its own.
const keysQuery = `
	SELECT i.indrelid, x.relname::text,
		ARRAY(SELECT a.attname::text FROM generate_series(0, i.indnkeyatts - 1) p
			JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[p] ORDER BY p),
		CASE WHEN NOT (i.indisvalid AND i.indisready AND i.indislive) THEN 'its index is not valid'
			WHEN i.indisexclusion THEN 'it is over periods'
			WHEN NOT i.indimmediate THEN 'it is deferrable'
			WHEN i.indpred IS NOT NULL THEN 'it is a partial index'
			WHEN i.indexprs IS NOT NULL THEN 'it is over expressions'
			WHEN m.amname <> 'btree' OR EXISTS (SELECT FROM pg_opclass o
				WHERE o.oid = ANY (i.indclass::oid[]) AND (o.opcnamespace <> 'pg_catalog'::regnamespace OR NOT o.opcdefault AND o.opcname !~ '_pattern_ops$'))
				THEN 'its index compares in a way of its own'
			ELSE '' END
	FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
	WHERE i.indrelid = ANY ($1::int8[]::oid[]) AND i.indisunique
	ORDER BY i.indisprimary DESC, i.indexrelid`

// Foreign keys, with why they are not enforced: they were checked and all their triggers are on, also those of the
// constraints that partitions have of them. Those over periods mean containment. The constraint that leads to a partition of the
// referenced table hangs below the one to the whole.
const foreignKeysQuery = `
	SELECT k.conrelid, k.conname::text, n.nspname::text, r.relname::text,
		ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY u(n, i)
			JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.n ORDER BY u.i),
		ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u(n, i)
			JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.n ORDER BY u.i),
		EXISTS (SELECT FROM pg_constraint p WHERE p.oid = k.conparentid AND p.conrelid = k.conrelid),
		CASE WHEN to_jsonb(k) ->> 'conperiod' = 'true' THEN 'it is over periods'
			WHEN to_jsonb(k) ->> 'conenforced' = 'false' THEN 'it is NOT ENFORCED'
			WHEN EXISTS (SELECT FROM pg_constraint d WHERE d.oid = ANY (down.oids) AND NOT d.convalidated) THEN 'it is NOT VALID'
			WHEN EXISTS (SELECT FROM pg_trigger t WHERE t.tgconstraint = ANY (down.oids || up.oids) AND t.tgenabled NOT IN ('O', 'A'))
				THEN 'its triggers are disabled'
			ELSE '' END
	FROM pg_constraint k JOIN pg_class r ON r.oid = k.confrelid JOIN pg_namespace n ON n.oid = r.relnamespace,
		LATERAL (WITH RECURSIVE d(oid) AS (
			SELECT k.oid UNION SELECT c.oid FROM d JOIN pg_constraint c ON c.conparentid = d.oid) SELECT array_agg(oid) FROM d) down(oids),
		LATERAL (WITH RECURSIVE u(oid) AS (
			SELECT k.conparentid UNION SELECT c.conparentid FROM u JOIN pg_constraint c ON c.oid = u.oid WHERE c.conparentid <> 0)
			SELECT array_agg(oid) FROM u WHERE oid <> 0) up(oids)
	WHERE k.conrelid = ANY ($1::int8[]::oid[]) AND k.contype = 'f'
	ORDER BY k.oid`

// CHECK constraints that were checked for all rows, and those of the domains that columns have, of which VALUE is the column.
const checksQuery = `
	SELECT k.conrelid, '', pg_get_expr(k.conbin, k.conrelid) FROM pg_constraint k
	WHERE k.conrelid = ANY ($1::int8[]::oid[]) AND k.contype = 'c' AND k.convalidated AND coalesce(to_jsonb(k) ->> 'conenforced', 'true') = 'true'
	UNION ALL SELECT a.attrelid, a.attname::text, pg_get_expr(k.conbin, 0)
	FROM pg_attribute a CROSS JOIN LATERAL (
		WITH RECURSIVE of(typ) AS (
			SELECT a.atttypid UNION ALL SELECT t.typbasetype FROM of JOIN pg_type t ON t.oid = of.typ WHERE t.typtype = 'd')
		SELECT typ FROM of) base
	JOIN pg_constraint k ON k.contypid = base.typ AND k.contype = 'c' AND k.convalidated
	WHERE a.attrelid = ANY ($1::int8[]::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
	ORDER BY 1, 2, 3`

// constraints reads keys, CHECK constraints and foreign keys into the entries.
func (c *catalog) constraints(oids []int64, of map[uint32]*entry) error {
	err := c.each(keysQuery, oids, func(q pgx.Rows) error {
		var rel uint32
		u := sqltype.Unenforced{Kind: sqltype.UnenforcedKey}
		if err := q.Scan(&rel, &u.Name, &u.Columns, &u.Reason); err != nil {
			return err
		}
		if e := of[rel]; e != nil && !e.refuses(u) {
			e.Keys = append(e.Keys, u.Columns)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.each(checksQuery, oids, func(q pgx.Rows) error {
		var rel uint32
		var k sqltype.RelationCheck
		if err := q.Scan(&rel, &k.Column, &k.Expr); err != nil {
			return err
		}
		if e := of[rel]; e != nil && e.Kind == sqltype.KindTable {
			e.Checks = append(e.Checks, k)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.each(foreignKeysQuery, oids, func(q pgx.Rows) error {
		var rel uint32
		var partial bool
		u := sqltype.Unenforced{Kind: sqltype.UnenforcedForeignKey}
		if err := q.Scan(&rel, &u.Name, &u.RefSchema, &u.RefTable, &u.Columns, &u.RefColumns, &partial, &u.Reason); err != nil {
			return err
		}
		if e := of[rel]; e != nil && !e.refuses(u) {
			e.ForeignKeys = append(e.ForeignKeys, sqltype.RelationForeignKey{
				Columns: u.Columns, RefSchema: u.RefSchema, RefTable: u.RefTable, RefColumns: u.RefColumns, Partial: partial})
		}
		return nil
	})
}

// refuses notes a constraint that does not bind all rows.
func (e *entry) refuses(u sqltype.Unenforced) bool {
	if u.Reason == "" {
		u.Reason = e.unbound
	}
	if u.Reason == "" {
		return false
	}
	e.Unenforced = append(e.Unenforced, u)
	return true
}
