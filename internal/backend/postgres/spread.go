package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/backend"
)

// Citus keeps where tables lie in pg_dist_partition: partmethod n is a table as a whole, with repmodel t one that each machine has a copy of; others are cut by
// the column of partkey, a printed Var. Who is not let read it is told nothing. Only an administrator can make tables in pg_catalog.
const (
	spreadThere = `SELECT coalesce(has_table_privilege(to_regclass('pg_catalog.pg_dist_partition'), 'SELECT'), false)`
	spreadQuery = `
	SELECT n.nspname::text, c.relname::text,
		CASE WHEN d.logicalrelid IS NULL OR d.partmethod::text = 'n' AND d.repmodel::text <> 't' THEN 'whole'
			WHEN d.partmethod::text = 'n' THEN 'copied' ELSE 'cut' END,
		coalesce((SELECT a.attname::text FROM pg_attribute a
			WHERE a.attrelid = c.oid AND a.attnum = substring(d.partkey::text from ':varattno ([0-9]+)')::int2), ''),
		coalesce(d.colocationid, 0)::int8
	FROM unnest($1::int8[]) WITH ORDINALITY AS w(oid, i)
	JOIN pg_class c ON c.oid = w.oid::oid JOIN pg_namespace n ON n.oid = c.relnamespace
	LEFT JOIN pg_catalog.pg_dist_partition d ON d.logicalrelid::oid = c.oid
	WHERE c.relkind IN ('r', 'p')
	ORDER BY w.i`
)

// Spread tells where the tables lie, of a PostgreSQL that is distributed by Citus; nothing where none of them is.
func (d *DB) Spread(ctx context.Context, listed []backend.RelationName) (out []backend.Spread, err error) {
	err = d.inSnapshot(ctx, func(t pgx.Tx) error {
		var there bool
		if err := t.QueryRow(ctx, spreadThere).Scan(&there); err != nil || !there {
			return err
		}
		oids, err := named(ctx, t, listed)
		if err != nil {
			return err
		}
		rows, err := t.Query(ctx, spreadQuery, oids)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByPos[backend.Spread])
		return err
	})
	for _, s := range out {
		if s.How != backend.Whole {
			return out, err
		}
	}
	return nil, err
}
