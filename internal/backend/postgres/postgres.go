// Package postgres is the backend over PostgreSQL 13 or newer, through a pool of pgx connections. A connection's settings are
// fixed once, when it is made: empty search_path, UTC, read-only; jit is off unless the owner says otherwise. A statement is
// one REPEATABLE READ READ ONLY transaction, whose snapshot PostgreSQL takes at the first query.
//
// Statements travel unnamed and in one round trip each: analysts' statements seldom repeat (a repeat is answered from the
// stored release), so a cache of prepared statements would cost a round trip and memory in the server for nothing.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/dialect/postgres"
)

const (
	minVersion     = 13
	connectTimeout = 10 * time.Second
	// After a cancel request the server has this long to answer before the connection is given up.
	cancelPatience = 5 * time.Second
)

// Options are the owner's settings of the connection.
type Options struct {
	Settings         map[string]string // of each session, such as work_mem; the fixed ones are refused
	PoolSize         int               // connections at most; 0 is pgx's own: 4 or one a core
	StatementTimeout time.Duration     // 0 is none beside the caller's context
}

// DB is a pool of connections. It is safe for concurrent use.
type DB struct{ pool *pgxpool.Pool }

var _ backend.Backend = (*DB)(nil)

// Open connects to a PostgreSQL by URL or keyword string, and checks its version and the settings.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err) // pgx takes passwords out of this error
	}
	setup, err := setupStatement(o)
	if err != nil {
		return nil, err
	}
	if o.PoolSize > 0 {
		config.MaxConns = int32(min(o.PoolSize, 1<<15))
	}
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // BEGIN tells as much
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error { return prepareSession(ctx, c.PgConn(), setup) }
	cc := config.ConnConfig
	cc.DefaultQueryExecMode = pgx.QueryExecModeExec
	if cc.ConnectTimeout == 0 {
		cc.ConnectTimeout = connectTimeout
	}
	cc.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelPatience}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return &DB{pool: pool}, nil
}

// fixed settings are part of what the printed SQL means, or of the promise that nothing is written.
var fixed = map[string]string{
	"search_path":                         "",
	"timezone":                            "UTC",
	"datestyle":                           "ISO, MDY",
	"intervalstyle":                       "postgres",
	"client_encoding":                     "UTF8",
	"standard_conforming_strings":         "on",
	"transform_null_equals":               "off",
	"default_transaction_read_only":       "on",
	"default_transaction_isolation":       "repeatable read",
	"statement_timeout":                   "0",
	"idle_in_transaction_session_timeout": "0",
}

// defaults may be set otherwise: they change speed only.
var defaults = map[string]string{"jit": "off"}

var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$`)

// setupStatement is the one statement that fixes a session's settings.
func setupStatement(o Options) (string, error) {
	all := map[string]string{}
	for name, value := range defaults {
		all[name] = value
	}
	for name, value := range o.Settings {
		name = strings.ToLower(name)
		if !settingName.MatchString(name) {
			return "", fmt.Errorf("postgres: %q is no name of a setting", name)
		}
		if _, ok := fixed[name]; ok {
			return "", fmt.Errorf("postgres: the setting %s is fixed by dpsql: take it out of backend.settings", name)
		}
		all[name] = value
	}
	for name, value := range fixed {
		all[name] = value
	}
	if o.StatementTimeout > 0 {
		all["statement_timeout"] = strconv.FormatInt(max(o.StatementTimeout.Milliseconds(), 1), 10)
	}
	var calls []string
	for name, value := range all {
		if strings.ContainsRune(value, 0) {
			return "", fmt.Errorf("postgres: the setting %s holds a zero byte", name)
		}
		calls = append(calls, fmt.Sprintf("pg_catalog.set_config(%s, %s, false)", quote(name), quote(value)))
	}
	sort.Strings(calls)
	return "SELECT " + strings.Join(calls, ", "), nil
}

// quote writes an escape string, which reads alike whatever standard_conforming_strings is so far.
func quote(s string) string {
	return "E'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(s) + "'"
}

func prepareSession(ctx context.Context, c *pgconn.PgConn, setup string) error {
	if err := checkVersion(c.ParameterStatus("server_version")); err != nil {
		return err
	}
	if err := checkEncoding(c.ParameterStatus("server_encoding")); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, setup).ReadAll(); err != nil {
		return err
	}
	for _, p := range [][2]string{{markStatement, markQuery}, {snapshotStatement, snapshotQuery}} {
		if _, err := c.Prepare(ctx, p[0], p[1], nil); err != nil {
			return err
		}
	}
	return nil
}

func checkVersion(text string) error {
	digits := text
	if i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = text[:i]
	}
	major, err := strconv.Atoi(digits)
	if err != nil {
		return fmt.Errorf("postgres: the server's version %q is not understood", text)
	}
	if major < minVersion {
		return fmt.Errorf("postgres: the server is version %s; dpsql needs %d or newer", text, minVersion)
	}
	return nil
}

// Dialect is PostgreSQL's.
func (d *DB) Dialect() dialect.Dialect { return postgres.Dialect }

// Close waits for open transactions and closes the pool.
func (d *DB) Close() error {
	d.pool.Close()
	return nil
}

const begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// Begin opens a transaction. A pooled connection may have died since it was last used (the server was restarted): then
// every idle one is thrown away, and a fresh one is tried. Nothing was asked of the data yet.
func (d *DB) Begin(ctx context.Context) (backend.Tx, error) {
	t, err := d.retried(ctx, func(ctx context.Context) (*tx, error) { return d.begin(ctx, nil) })
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (d *DB) retried(ctx context.Context, begin func(context.Context) (*tx, error)) (*tx, error) {
	t, err := begin(ctx)
	var dead *deadConn
	if errors.As(err, &dead) && ctx.Err() == nil {
		d.pool.Reset()
		t, err = begin(ctx)
	}
	switch {
	case errors.Is(err, backend.ErrSchema):
		return nil, err
	case err != nil:
		return nil, unavailable(ctx, err)
	}
	return t, nil
}

// deadConn is a pooled connection's failure at BEGIN.
type deadConn struct{ error }

func (e *deadConn) Unwrap() error { return e.error }

// begin opens a transaction, and compares the schema with a mark if there is one.
func (d *DB) begin(ctx context.Context, at *mark) (*tx, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	c := conn.Conn().PgConn()
	if at == nil {
		_, err = c.Exec(ctx, begin).ReadAll()
	} else {
		var snapshot string
		if snapshot, err = snapshotAfter(ctx, c, begin); err == nil {
			err = at.compare(ctx, c, snapshot)
		}
	}
	switch {
	case errors.Is(err, backend.ErrSchema):
		(&tx{conn: conn}).Close()
		return nil, err
	case err != nil:
		closed := conn.Conn().IsClosed()
		conn.Release() // a connection that is closed or not idle is destroyed
		if closed {
			return nil, &deadConn{err}
		}
		return nil, err
	}
	return &tx{conn: conn}, nil
}

// Describe reads pg_catalog in one snapshot. Only what PostgreSQL enforces on every row that a SELECT gives is told as a key,
// a foreign key or NOT NULL.
func (d *DB) Describe(ctx context.Context, names []backend.RelationName) ([]sqltype.Relation, error) {
	var out []sqltype.Relation
	err := d.inSnapshot(ctx, func(t pgx.Tx) error {
		oids, err := named(ctx, t, names)
		if err != nil {
			return err
		}
		out, err = (&catalog{ctx: ctx, tx: t}).describe(oids)
		return err
	})
	return out, err
}

// inSnapshot runs reads of the schema in one snapshot; as in Begin, a pooled connection that died since it was last used is none.
func (d *DB) inSnapshot(ctx context.Context, read func(pgx.Tx) error) error {
	o := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	t, err := d.pool.BeginTx(ctx, o)
	var none *pgconn.ConnectError
	if err != nil && !errors.As(err, &none) && ctx.Err() == nil {
		d.pool.Reset()
		t, err = d.pool.BeginTx(ctx, o)
	}
	if err != nil {
		return unavailable(ctx, err)
	}
	defer func() { _ = t.Rollback(ctx) }() // it has only read
	if err := read(t); err != nil {
		return unavailable(ctx, err)
	}
	return nil
}
