package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Relations of users that the role may read, if only some columns: not partitions, whose rows their table gives, nor what
// belongs to an extension.
const surveyQuery = `
	SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition
		AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
		AND has_schema_privilege(n.oid, 'USAGE') AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
		AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
	ORDER BY n.nspname, c.relname`

var _ backend.Surveyor = (*DB)(nil)

// Survey describes every relation that the role may read.
func (d *DB) Survey(ctx context.Context) ([]sqltype.Relation, error) {
	var out []sqltype.Relation
	err := d.inSnapshot(ctx, func(t pgx.Tx) error {
		oids, err := collectOIDs(t.Query(ctx, surveyQuery))
		if err != nil {
			return err
		}
		out, err = (&catalog{ctx: ctx, tx: t}).describe(oids)
		return err
	})
	return out, err
}
