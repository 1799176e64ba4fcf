package pgtest

import (
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/testdata/sakila"
)

// LoadSakila makes a database holding Sakila with its keys, analysed. It gives no rights: an owner does that.
func (s *Server) LoadSakila(db string) error {
	if err := s.CreateDB(db); err != nil {
		return err
	}
	return s.with(db, func(ctx context.Context, c *pgx.Conn) error {
		if err := runFile(ctx, c, "schema.sql"); err != nil {
			return err
		}
		for _, t := range sakila.Tables {
			if err := copySakila(ctx, c, t); err != nil {
				return err
			}
		}
		if err := runFile(ctx, c, "keys.sql"); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "VACUUM ANALYZE")
		return err
	})
}

func runFile(ctx context.Context, c *pgx.Conn, name string) error {
	text, err := fs.ReadFile(sakila.FS, name)
	if err == nil {
		_, err = c.Exec(ctx, string(text))
	}
	if err != nil {
		return fmt.Errorf("pgtest: %s: %w", name, err)
	}
	return nil
}

func copySakila(ctx context.Context, c *pgx.Conn, table string) error {
	f, err := sakila.FS.Open(table + ".csv.gz")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return copyIn(ctx, c, table, z)
}
