package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/backend"
)

var _ backend.Named = (*DB)(nil)

// Name is made of the cluster's identifier, which standbys share and no other cluster has, and the database's number. Where the role may not read the
// identifier, it is made of the address.
func (d *DB) Name(ctx context.Context) (string, error) {
	var name string
	err := d.pool.QueryRow(ctx, "SELECT format('PostgreSQL %s/%s', s.system_identifier, d.oid) FROM pg_catalog.pg_control_system() s, pg_catalog.pg_database d WHERE d.datname = current_database()").Scan(&name)
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		c := d.pool.Config().ConnConfig
		return fmt.Sprintf("PostgreSQL %s:%d/%s", c.Host, c.Port, c.Database), nil
	}
	if err != nil {
		return "", failure(ctx, err)
	}
	return name, nil
}
