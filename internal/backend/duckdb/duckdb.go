// Package duckdb is the backend over an embedded DuckDB: the owner's own file, opened read-only, or tables loaded into memory
// (the demo's, and those of a folder of CSV and Parquet files). Before anything is asked, DuckDB's settings are fixed to PostgreSQL's meaning (integer division, order of
// NULLs, UTC), no file, network or extension can be reached any more, and the configuration is locked.
//
// A statement's snapshot is one READ ONLY transaction; DuckDB fixes it at the first query. Answers are materialised by
// DuckDB within its memory limit. Numeric parameters are bound as text, since the driver cannot bind decimals: the printed
// SQL has to write CAST($n AS DECIMAL(p, s)).
package duckdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	driver "github.com/duckdb/duckdb-go/v2"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/dialect/duckdb"
)

// Options are the owner's settings of the embedded database.
type Options struct {
	Threads     int    // worker threads; 0 is one a core
	MemoryLimit string // such as "4GB"; "" is DuckDB's own, 80% of the machine's
	TempDir     string // where large intermediate results may be spilled; "" is nowhere: they fail at the memory limit
}

// DB is one open database. It is safe for concurrent use.
type DB struct {
	db      *sql.DB
	opened  string // names this opening
	catalog string // DuckDB's name for the database, to tell it from the system's own
	// checkedKeys are what the opening of files found to be unique, by table: nobody writes afterwards.
	checkedKeys map[string][][]string
}

var _ backend.Backend = (*DB)(nil)

// Open opens the owner's file, read-only. The path may not hold ?, # or %, which the driver would read as a URL's.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("duckdb: %w", err)
	}
	if strings.ContainsAny(full, "?#%") {
		return nil, errors.New("duckdb: a path with ?, # or % cannot be opened: rename the file")
	}
	return open(ctx, full+"?access_mode=READ_ONLY", nil, o)
}

// OpenMemory makes a database in memory. load fills it over a connection that may still write and read files; afterwards
// the settings are fixed and locked.
func OpenMemory(ctx context.Context, load func(ctx context.Context, conn *sql.Conn) error, o Options) (*DB, error) {
	return open(ctx, "", load, o)
}

func open(ctx context.Context, dsn string, load func(context.Context, *sql.Conn) error, o Options) (_ *DB, err error) {
	connector, err := driver.NewConnector(dsn, nil)
	if err != nil {
		return nil, fmt.Errorf("duckdb: %w", err)
	}
	db := sql.OpenDB(connector)
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("duckdb: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := set(ctx, conn, meaning(o)); err != nil {
		return nil, err
	}
	if load != nil {
		if err := load(ctx, conn); err != nil {
			return nil, fmt.Errorf("duckdb: loading: %w", err)
		}
	}
	if err := set(ctx, conn, locks); err != nil {
		return nil, err
	}
	d := &DB{db: db, opened: rand.Text()}
	if err := conn.QueryRowContext(ctx, "SELECT current_database()").Scan(&d.catalog); err != nil {
		return nil, fmt.Errorf("duckdb: %w", err)
	}
	return d, nil
}

type setting struct{ name, value string }

// meaning is set before anything is loaded: values are then read in UTC whatever the machine's zone, within the memory that the
// owner gave (DuckDB would spill people's rows into ./.tmp), and nothing is fetched from the network.
func meaning(o Options) []setting {
	s := []setting{
		{"integer_division", "true"},
		{"default_null_order", "nulls_last_on_asc_first_on_desc"},
		{"default_order", "ascending"},
		{"default_collation", ""},
		{"TimeZone", "UTC"},
		// What occurs twice would be computed once, also where it stands inside of TRY, but then outside of it: a value that has no room would raise.
		{"disabled_optimizers", "common_subexpressions"},
		{"temp_directory", o.TempDir},
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"allow_persistent_secrets", "false"},
	}
	if o.Threads > 0 {
		s = append(s, setting{"threads", strconv.Itoa(o.Threads)})
	}
	if o.MemoryLimit != "" {
		s = append(s, setting{"memory_limit", o.MemoryLimit})
	}
	return s
}

// locks are set when everything is loaded, in this order: the last forbids to set any more.
var locks = []setting{
	{"preserve_insertion_order", "false"}, // files are numbered by it
	{"enable_external_access", "false"},
	{"lock_configuration", "true"},
}

func set(ctx context.Context, conn *sql.Conn, list []setting) error {
	for _, s := range list {
		if _, err := conn.ExecContext(ctx, "SET GLOBAL "+s.name+" = "+quote(s.value)); err != nil {
			return fmt.Errorf("duckdb: setting %s: %w", s.name, err)
		}
	}
	return nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Opened implements backend.Steady: a file that is open for reading is locked against writers.
func (d *DB) Opened() string { return d.opened }

// Dialect is DuckDB's.
func (d *DB) Dialect() dialect.Dialect { return duckdb.Dialect }

// Close closes the database; open transactions fail.
func (d *DB) Close() error { return d.db.Close() }
