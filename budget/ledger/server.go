package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Server says where a shared ledger is.
type Server struct {
	URL  string // search_path in it names the ledger's schema; dpsql_ledger without
	Path string // of this machine: the high-water mark is the file Path-mark
}

// The ways in which a shared ledger is refused, beside those of a file.
var (
	ErrUnavailable = errors.New("ledger: the ledger's server does not answer")
	ErrClock       = errors.New("ledger: this machine's clock and that of the ledger's server differ")
)

const (
	defaultSchema = "dpsql_ledger"
	patience      = 5 * time.Second  // for a server that does not answer, or does not write
	oneCall       = 15 * time.Second // for one that is slow
	idleLock      = 5 * time.Second
	clockDrift    = time.Minute // windows are calendar windows: minutes do no harm, and more is a mistake
)

// tables are made under a lock, so that two proxies may start at once. %[1]s is the schema, %[2]d the format.
const tables = `
CREATE SCHEMA IF NOT EXISTS %[1]s;
CREATE TABLE %[1]s.records (seq bigint PRIMARY KEY, body bytea NOT NULL, hash bytea NOT NULL);
CREATE TABLE %[1]s.releases (seq bigint PRIMARY KEY, payload bytea NOT NULL);
CREATE TABLE %[1]s.leases (owner text PRIMARY KEY, expires timestamptz NOT NULL);
CREATE TABLE %[1]s.head (single boolean PRIMARY KEY CHECK (single), format int NOT NULL, seq bigint NOT NULL, hash bytea NOT NULL);
INSERT INTO %[1]s.head VALUES (true, %[2]d, 0, '\x');
CREATE FUNCTION %[1]s.stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'records are append-only'; END $$;
CREATE TRIGGER stays BEFORE DELETE OR UPDATE OR TRUNCATE ON %[1]s.records EXECUTE FUNCTION %[1]s.stays();
`

// server is PostgreSQL's store. One connection does everything; where it is cut, the next batch opens another.
type server struct {
	config *pgx.ConnConfig
	schema string // quoted; named is not
	named  string
	path   string // beside which the mark lies
	clock  func() time.Time
	idle   time.Duration // after which the server cuts a transaction that does nothing: a stopped proxy must not keep the lock
	mark   *mark
	conn   *pgx.Conn
}

// newServer reads where a ledger is.
func newServer(at Server) (*server, error) {
	config, err := pgx.ParseConfig(at.URL)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	s := &server{config: config, named: defaultSchema, path: at.Path}
	if named := config.RuntimeParams["search_path"]; named != "" {
		s.named = named
	}
	s.schema = pgx.Identifier{s.named}.Sanitize()
	config.RuntimeParams["search_path"] = "pg_catalog"
	config.RuntimeParams["application_name"] = "dpsql ledger"
	return s, nil
}

func (s *server) place() string { return fmt.Sprintf("%s/%s", s.config.Host, s.config.Database) }

// querier is a connection, or a transaction.
type querier interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}

func (s *server) exists(ctx context.Context) (there bool, err error) {
	c, err := s.connected(ctx)
	if err != nil {
		return false, err
	}
	return s.made(ctx, c)
}

// made asks whether there are tables, by a statement that takes a snapshot of its own: to_regclass would ask a cache that does not hear of others while it waits for a lock.
func (s *server) made(ctx context.Context, q querier) (there bool, err error) {
	err = q.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'head')", s.named).Scan(&there)
	return there, readFailed(err)
}

func (s *server) create(ctx context.Context) error {
	w, err := readMark(s.path)
	if err != nil {
		return err
	}
	if err := w.passed(s.path, 0); err != nil {
		return err
	}
	return readFailed(pgx.BeginTxFunc(ctx, s.conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(applicationID)); err != nil {
			return err
		}
		if there, err := s.made(ctx, tx); err != nil || there {
			return err
		}
		_, err := tx.Exec(ctx, fmt.Sprintf(tables, s.schema, format))
		return err
	}))
}

// isEmpty says whether head and records agree that nothing was written.
func (s *server) isEmpty() bool {
	ctx, cancel := context.WithTimeout(context.Background(), oneCall)
	defer cancel()
	var none bool
	err := s.conn.QueryRow(ctx, "SELECT seq = 0 AND NOT EXISTS (SELECT FROM "+s.schema+".records) FROM "+s.schema+".head").Scan(&none)
	return err == nil && none
}

// connected is the connection, a new one where there is none. A server that may forget what it committed is refused.
func (s *server) connected(ctx context.Context) (*pgx.Conn, error) {
	if s.conn != nil && !s.conn.IsClosed() {
		return s.conn, nil
	}
	c, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := s.durable(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	s.conn = c
	return c, nil
}

// begin waits for the lock, and gives what others wrote. What fails on a connection that was cut is tried on a new one: nothing is written yet.
func (s *server) begin(known waterline, lock bool) ([]row, error) {
	until := time.Now().Add(patience)
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), oneCall)
		rows, err := s.tryBegin(ctx, known, lock)
		cancel()
		if err == nil || !lost(err) || time.Now().Add(wait).After(until) {
			if lost(err) && !errors.Is(err, ErrUnavailable) {
				err = fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			return rows, err
		}
		time.Sleep(wait)
	}
}

func (s *server) tryBegin(ctx context.Context, known waterline, lock bool) ([]row, error) {
	c, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	begin, end := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ""
	if lock { // READ COMMITTED: the second statement sees all that was committed before the first got its lock
		begin, end = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", " FOR UPDATE"
	}
	var b pgx.Batch
	b.Queue(begin)
	b.Queue("SELECT format, seq, hash, clock_timestamp(), " + fmt.Sprintf(settings, true) + " FROM " + s.schema + ".head" + end)
	b.Queue("SELECT seq, body, hash FROM "+s.schema+".records WHERE seq > $1 ORDER BY seq", known.seq)
	r := c.SendBatch(ctx, &b)
	rows, err := s.readNew(r, known)
	if err := errors.Join(err, r.Close()); err != nil {
		s.end()
		return nil, err
	}
	return rows, nil
}

func (s *server) readNew(r pgx.BatchResults, known waterline) ([]row, error) {
	if _, err := r.Exec(); err != nil {
		return nil, err
	}
	var (
		layout int
		head   waterline
		hash   []byte
		there  time.Time
		found  durability
	)
	if err := r.QueryRow().Scan(&layout, &head.seq, &hash, &there, &found.fsync, &found.pages, &found.commit); err != nil {
		return nil, err
	}
	if err := found.check(); err != nil { // (2) of durability.go: fsync and full_page_writes are read in the transaction, before anything is written
		return nil, err
	}
	copy(head.hash[:], hash)
	if layout < oldestFormat || layout > format {
		return nil, foreignFormat(layout)
	}
	if s.clock != nil {
		if drift := s.clock().Sub(there); drift.Abs() > clockDrift {
			return nil, fmt.Errorf("%w by %v: set them right", ErrClock, drift.Round(time.Second))
		}
	}
	if head.seq < known.seq || head.seq == known.seq && head.seq > 0 && head.hash != known.hash {
		return nil, fmt.Errorf("%w: the server's ledger ends at record %d and was read to record %d before. It was restored from a backup, or a standby took "+
			"over that had not all of it, and what was charged since is not in it", ErrRolledBack, head.seq, known.seq)
	}
	list, err := r.Query()
	if err != nil {
		return nil, err
	}
	rows, err := pgx.CollectRows(list, readPGRow)
	if err == nil && head.seq != known.seq+int64(len(rows)) {
		err = &CorruptError{Seq: known.seq + int64(len(rows)), Reason: fmt.Sprintf("the ledger's head names record %d as the last", head.seq)}
	}
	return rows, err
}

func readPGRow(r pgx.CollectableRow) (row, error) {
	var (
		out  row
		hash []byte
	)
	err := r.Scan(&out.seq, &out.body, &hash)
	copy(out.hash[:], hash)
	return out, err
}

// write inserts and commits, in one round trip. What the server itself refuses is not written; where the connection ends nobody knows.
func (s *server) write(c change) error {
	ctx, cancel := context.WithTimeout(context.Background(), oneCall)
	defer cancel()
	if c.sums != nil { // before the batch, which is prepared as a whole
		for _, table := range []string{"sums", "segments"} {
			if _, err := s.conn.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+s.schema+"."+table+" (seq bigint PRIMARY KEY, body bytea NOT NULL)"); err != nil {
				return s.notWritten(err)
			}
		}
	}
	var b pgx.Batch
	if len(c.gone) > 0 {
		b.Queue("DELETE FROM "+s.schema+".releases WHERE seq = ANY ($1)", c.gone)
	}
	if n := len(c.releases); n > 0 {
		seqs, payloads := make([]int64, n), make([][]byte, n)
		for i, r := range c.releases {
			seqs[i], payloads[i] = r.seq, r.payload
		}
		b.Queue("INSERT INTO "+s.schema+".releases SELECT * FROM unnest($1::bigint[], $2::bytea[])", seqs, payloads)
	}
	seqs, bodies, hashes := make([]int64, len(c.rows)), make([][]byte, len(c.rows)), make([][]byte, len(c.rows))
	for i, r := range c.rows {
		seqs[i], bodies[i], hashes[i] = r.seq, r.body, r.hash[:]
	}
	b.Queue("INSERT INTO "+s.schema+".records SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[])", seqs, bodies, hashes)
	if c.sums != nil {
		b.Queue("DELETE FROM " + s.schema + ".sums")
		b.Queue("INSERT INTO "+s.schema+".sums VALUES ($1, $2)", c.sums.seq, c.sums.text)
		if c.sums.segment != nil {
			b.Queue("INSERT INTO "+s.schema+".segments VALUES ($1, $2)", c.sums.seq, c.sums.segment)
		}
		b.Queue("DELETE FROM "+s.schema+".segments WHERE seq = ANY ($1)", c.sums.gone)
	}
	last := c.rows[len(c.rows)-1]
	b.Queue("UPDATE "+s.schema+".head SET format = $1, seq = $2, hash = $3", format, last.seq, last.hash[:])
	b.Queue("COMMIT")
	b.Queue("SELECT current_setting('fsync'), current_setting('full_page_writes')")
	r := s.conn.SendBatch(ctx, &b)
	var (
		tag   pgconn.CommandTag
		found durability
		err   error
	)
	for range b.Len() - 1 {
		if tag, err = r.Exec(); err != nil {
			break
		}
	}
	if err == nil {
		err = r.QueryRow().Scan(&found.fsync, &found.pages)
	}
	if end := r.Close(); err == nil {
		err = end
	}
	switch {
	case err == nil && tag.String() == "COMMIT":
		if err := found.check(); err != nil { // (3) of durability.go: they are read again after the COMMIT. The records are there, but a crash may take them away
			return fmt.Errorf("%w: %w", errUncertain, err)
		}
		if err := s.mark.move(waterline{last.seq, last.hash}); err != nil {
			return fmt.Errorf("%w: %w", errMark, err)
		}
		return nil
	case err == nil: // it was rolled back
		return errors.New("ledger: the server rolled the transaction back")
	}
	return s.notWritten(err)
}

// notWritten is the end of a transaction that the server refused, or of which it did not answer.
func (s *server) notWritten(err error) error {
	if lost(err) {
		s.drop()
		return fmt.Errorf("%w: %w", errUncertain, err)
	}
	s.end()
	return err
}

// lost tells a connection that ended, or a server that goes down, from what a server refuses.
func lost(err error) bool {
	if err == nil {
		return false
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.Severity == "FATAL" || refused.Severity == "PANIC"
	}
	return !isOurs(err)
}

// isOurs are the errors that are made here.
func isOurs(err error) bool {
	var broken *CorruptError
	return errors.As(err, &broken) || errors.Is(err, ErrForeign) || errors.Is(err, ErrRolledBack) || errors.Is(err, ErrClock) || errors.Is(err, ErrNotDurable)
}

// end gives the lock up; a connection on which that fails is dropped.
func (s *server) end() {
	if s.conn == nil || s.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := s.conn.Exec(ctx, "ROLLBACK"); err != nil {
		s.drop()
	}
}

func (s *server) drop() {
	if s.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.conn.Close(ctx) // whatever state it is in
		s.conn = nil
	}
}

func (s *server) shared() bool { return true }

func (s *server) close() error {
	s.drop()
	return s.mark.close()
}
