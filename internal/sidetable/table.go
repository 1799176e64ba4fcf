package sidetable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"
)

// Spec is what a table is called and what columns it has, and what statements call it where that is another name.
type Spec struct{ Name, Columns, Called string }

func (s Spec) create(name string) string {
	return "CREATE TABLE IF NOT EXISTS " + name + " (" + s.Columns + ")"
}

// in is a statement with the table's name in the database.
func (s Spec) in(sql, table string) string {
	called := s.Called
	if called == "" {
		called = s.Name
	}
	return strings.Replace(strings.Replace(sql, " "+called+" ", " "+table+" ", 1), "INTO "+called, "INTO "+table, 1)
}

// Table runs statements about it, whose parameters are $1, $2 ...; rows are of one text column each. A statement names the table once, by its name alone or as Spec.Called says.
type Table interface {
	// Exec runs a statement.
	Exec(ctx context.Context, sql string, args ...string) error
	// Read runs a statement that gives rows.
	Read(ctx context.Context, sql string, args ...string) ([]string, error)
	// Object is one JSON text of pairs of names and expressions.
	Object(pairs string) string
	// Lock is not ok where another session has it.
	Lock(ctx context.Context, key int64) (unlock func(), ok bool, err error)
	// Beside opens another table of the same file or database; who closes this one closes both.
	Beside(spec Spec) (Table, error)
	// Close ends it.
	Close() error
}

// OpenFile opens the table in a file, which one process owns.
func OpenFile(path string, spec Spec) (Table, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	c, err := sqlite3.OpenFlags(abs, sqlite3.OPEN_READWRITE|sqlite3.OPEN_NOFOLLOW)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := c.Exec("PRAGMA synchronous = full"); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), c.Close())
	}
	t, err := (&file{openFile: &openFile{conn: c}}).Beside(spec)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), c.Close())
	}
	return t, nil
}

// OnServer is the table in a PostgreSQL ledger's database, in the ledger's schema. Nothing is asked before the first statement.
func OnServer(url string, spec Spec) (Table, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	schema := "dpsql_ledger"
	if named := config.RuntimeParams["search_path"]; named != "" {
		schema = named
	}
	config.RuntimeParams["search_path"] = "pg_catalog"
	return (&server{config: config, schema: schema}).Beside(spec)
}

// openFile is a SQLite file.
type openFile struct {
	mu   sync.Mutex
	conn *sqlite3.Conn
}

// file is one of its tables.
type file struct {
	*openFile
	spec Spec
}

// Beside opens another table of the file.
func (f *file) Beside(spec Spec) (Table, error) {
	t := &file{f.openFile, spec}
	return t, f.conn.Exec(spec.create(spec.Name))
}

// Object is one JSON text of pairs of names and expressions.
func (*file) Object(pairs string) string { return "json_object(" + pairs + ")" }

func (f *file) each(sql string, args []string, use func(*sqlite3.Stmt)) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	st, _, err := f.conn.Prepare(strings.ReplaceAll(f.spec.in(sql, f.spec.Name), "$", "?")) // SQLite numbers ?n as PostgreSQL does $n
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for i, a := range args {
		if err := st.BindText(i+1, a); err != nil {
			return err
		}
	}
	for st.Step() {
		use(st)
	}
	return st.Err()
}

// Exec runs a statement.
func (f *file) Exec(_ context.Context, sql string, args ...string) error {
	return f.each(sql, args, func(*sqlite3.Stmt) {})
}

// Read runs a statement of one text column.
func (f *file) Read(_ context.Context, sql string, args ...string) (out []string, err error) {
	err = f.each(sql, args, func(st *sqlite3.Stmt) { out = append(out, st.ColumnText(0)) })
	return out, err
}

// Close ends it.
func (f *file) Close() error { return f.conn.Close() }

// makeLock is held while a table is made: of two sessions that do so at once, PostgreSQL refuses one in spite of IF NOT EXISTS.
const makeLock = 0x64707371_74626c73

// server is a PostgreSQL database: a connection a statement, as they are few.
type server struct {
	config *pgx.ConnConfig
	schema string
	spec   Spec
	table  string // with its schema
}

// Beside is another table of the schema.
func (s *server) Beside(spec Spec) (Table, error) {
	return &server{s.config, s.schema, spec, pgx.Identifier{s.schema, spec.Name}.Sanitize()}, nil
}

// Object is one JSON text of pairs of names and expressions.
func (*server) Object(pairs string) string { return "json_build_object(" + pairs + ")::text" }

func (s *server) with(ctx context.Context, sql string, args []string, use func(*pgx.Conn, string, []any) error) error {
	c, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is left to be done
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a
	}
	sql = s.spec.in(sql, s.table)
	err = use(c, sql, list)
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Code == "42P01" { // no row yet
		if _, err = c.Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d); ", makeLock)+s.spec.create(s.table)); err == nil {
			err = use(c, sql, list)
		}
	}
	return err
}

// Exec runs a statement.
func (s *server) Exec(ctx context.Context, sql string, args ...string) error {
	return s.with(ctx, sql, args, func(c *pgx.Conn, sql string, list []any) error {
		_, err := c.Exec(ctx, sql, list...)
		return err
	})
}

// Read runs a statement of one text column.
func (s *server) Read(ctx context.Context, sql string, args ...string) (out []string, err error) {
	err = s.with(ctx, sql, args, func(c *pgx.Conn, sql string, list []any) error {
		rows, err := c.Query(ctx, sql, list...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return out, err
}

// Close ends it.
func (*server) Close() error { return nil }

// Lock is always there: one process has the file.
func (*file) Lock(context.Context, int64) (func(), bool, error) { return func() {}, true, nil }

// unlockTime is how long the server may take to give a lock back.
const unlockTime = 5 * time.Second

// Lock takes one of the database's, held by a connection of its own.
func (s *server) Lock(ctx context.Context, key int64) (unlock func(), ok bool, err error) {
	c, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return nil, false, err
	}
	unlock = func() {
		until, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTime)
		defer cancel()
		if ok { // before it returns: the server ends a session only some time after it is closed
			_, _ = c.Exec(until, "SELECT pg_advisory_unlock($1)", key)
		}
		_ = c.Close(until) // this gives the lock back at any rate
	}
	if _, err = c.Exec(ctx, "SET idle_session_timeout = 0"); err == nil || !errors.Is(err, ctx.Err()) { // older servers know no such limit
		err = c.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", key).Scan(&ok)
	}
	if err != nil || !ok {
		unlock()
		return nil, false, err
	}
	return unlock, true, nil
}
