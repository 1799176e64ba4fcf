package pgtest

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/testdata/demo"
)

// Reader is the role that may only read, as a proxy's should be.
const Reader = "dpsql_reader"

const copyCSV = "COPY %s FROM STDIN (FORMAT csv, HEADER true)"

// Exec runs statements in a database as superuser.
func (s *Server) Exec(db, sql string) error {
	return s.with(db, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, sql)
		return err
	})
}

// CreateDB makes an empty database, in place of the one that an earlier run of a test made (go test -count).
func (s *Server) CreateDB(name string) error {
	name = pgx.Identifier{name}.Sanitize()
	return s.with("postgres", func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "CREATE DATABASE "+name)
		return err
	})
}

// LoadDemo makes a database holding the demo's tables with their keys, analysed, and lets dpsql_reader read them.
func (s *Server) LoadDemo(db string) error {
	if err := s.CreateDB(db); err != nil {
		return err
	}
	return s.with(db, func(ctx context.Context, c *pgx.Conn) error {
		for _, t := range demo.Tables {
			if err := loadDemoTable(ctx, c, t); err != nil {
				return err
			}
		}
		return finish(ctx, c)
	})
}

func loadDemoTable(ctx context.Context, c *pgx.Conn, t demo.Table) (err error) {
	bare := t
	bare.ForeignKeys = nil // added after the rows: one check in place of one a row
	if _, err := c.Exec(ctx, bare.DDL()); err != nil {
		return err
	}
	f, err := OpenDemo(t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := copyIn(ctx, c, t.Name, f); err != nil {
		return err
	}
	for _, k := range t.ForeignKeys {
		add := fmt.Sprintf("ALTER TABLE %q ADD FOREIGN KEY (%q) REFERENCES %q (%q)", t.Name, k.Column, k.Ref, k.RefColumn)
		if _, err := c.Exec(ctx, add); err != nil {
			return err
		}
	}
	return nil
}

func copyIn(ctx context.Context, c *pgx.Conn, table string, r io.Reader) error {
	_, err := c.PgConn().CopyFrom(ctx, r, fmt.Sprintf(copyCSV, pgx.Identifier{table}.Sanitize()))
	if err != nil {
		return fmt.Errorf("pgtest: COPY %s: %w", table, err)
	}
	return nil
}

// GrantReader gives statistics to the planner and lets dpsql_reader read a database that was filled otherwise.
func (s *Server) GrantReader(db string) error { return s.with(db, finish) }

// finish gives statistics to the planner and rights to the reader.
func finish(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, `
		DO $$ BEGIN
			CREATE ROLE `+Reader+` LOGIN;
		EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
		END $$;
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO `+Reader)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "VACUUM ANALYZE")
	return err
}

func (s *Server) with(db string, do func(context.Context, *pgx.Conn) error) (err error) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.URL(db))
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	return do(ctx, c)
}

// fatalStart tells from the log that waiting on is of no use.
func fatalStart(log string) bool {
	return strings.Contains(log, "could not create any TCP/IP sockets") || strings.Contains(log, "database system is shut down")
}

// CopyFile fills a table, or some of its columns, from a gzipped CSV file with a header.
func (s *Server) CopyFile(db, into, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return s.with(db, func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.PgConn().CopyFrom(ctx, z, fmt.Sprintf(copyCSV, into)); err != nil {
			return fmt.Errorf("COPY %s: %w", into, err)
		}
		return nil
	})
}

// CopyText fills a table from CSV without a header.
func (s *Server) CopyText(db, into string, rows io.Reader) error {
	return s.with(db, func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.PgConn().CopyFrom(ctx, rows, fmt.Sprintf("COPY %s FROM STDIN (FORMAT csv)", into)); err != nil {
			return fmt.Errorf("COPY %s: %w", into, err)
		}
		return nil
	})
}

// OpenDemo gives a table's file as plain CSV: a header line, then the rows; an empty field is NULL.
func OpenDemo(t demo.Table) (*gzip.Reader, error) {
	f, err := demo.FS.Open(t.File())
	if err != nil {
		return nil, err
	}
	return gzip.NewReader(f)
}
