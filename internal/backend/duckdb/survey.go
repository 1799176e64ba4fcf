package duckdb

import (
	"context"
	"database/sql"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

var _ backend.Surveyor = (*DB)(nil)

// Survey describes every table and view of the database, with the comments that its owner wrote.
func (d *DB) Survey(ctx context.Context) ([]sqltype.Relation, error) {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	defer func() { _ = conn.Close() }()
	names, comments, err := d.relations(ctx, conn)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	var out []sqltype.Relation
	for _, n := range names {
		r, found, err := d.describe(ctx, conn, n)
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		if !found {
			continue
		}
		r.Comment = comments[n]
		if err := d.columnComments(ctx, conn, &r); err != nil {
			return nil, unavailable(ctx, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func (d *DB) relations(ctx context.Context, conn *sql.Conn) (names []backend.RelationName, comments map[backend.RelationName]string, err error) {
	rows, err := conn.QueryContext(ctx, `
		SELECT schema_name, table_name, coalesce(comment, '') FROM duckdb_tables() WHERE database_name = $1 AND NOT internal AND NOT temporary
		UNION ALL SELECT schema_name, view_name, coalesce(comment, '') FROM duckdb_views() WHERE database_name = $1 AND NOT internal AND NOT temporary
		ORDER BY 1, 2`, d.catalog)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }()
	comments = map[backend.RelationName]string{}
	for rows.Next() {
		var n backend.RelationName
		var comment string
		if err := rows.Scan(&n.Schema, &n.Name, &comment); err != nil {
			return nil, nil, err
		}
		names = append(names, n)
		comments[n] = comment
	}
	return names, comments, rows.Err()
}

func (d *DB) columnComments(ctx context.Context, conn *sql.Conn, r *sqltype.Relation) error {
	rows, err := conn.QueryContext(ctx, `SELECT column_name, comment FROM duckdb_columns()
		WHERE database_name = $1 AND schema_name = $2 AND table_name = $3 AND comment IS NOT NULL`, d.catalog, r.Schema, r.Name)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, comment string
		if err := rows.Scan(&name, &comment); err != nil {
			return err
		}
		for i := range r.Columns {
			if r.Columns[i].Name == name {
				r.Columns[i].Comment = comment
			}
		}
	}
	return rows.Err()
}
