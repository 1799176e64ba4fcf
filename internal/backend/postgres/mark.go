package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/backend"
)

// mark is the state of some relations' schema: who they and those below and above them are, and a digest of the rows of
// pg_catalog that say what they are.
type mark struct {
	oids   string // an array's text
	digest string
	// seen is the last snapshot (pg_current_snapshot) in which the digest was found as it should be.
	seen *atomic.Pointer[string]
}

var _ backend.Marker = (*DB)(nil)

// Relations, and all that their rows come from or are given by: what views read, partitions, parents.
const relatedQuery = `
	WITH RECURSIVE r(oid) AS (
		SELECT w::oid FROM unnest($1::int8[]) w
		UNION SELECT x.oid FROM r, LATERAL (
			SELECT d.refobjid FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
			WHERE w.ev_class = r.oid
			UNION ALL SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = r.oid
			UNION ALL SELECT i.inhparent FROM pg_inherits i WHERE i.inhrelid = r.oid) x(oid))
	SELECT oid FROM r ORDER BY oid`

// The statements that each connection has prepared.
const (
	markStatement     = "dpsql_mark"
	snapshotStatement = "dpsql_snapshot"
	snapshotQuery     = "SELECT pg_current_snapshot()::text"
)

// A row's xmin changes whenever the row does. ANALYZE and VACUUM write pg_class in place; TRUNCATE and the like are seen without
// need, which costs a look at the schema. row_security_active depends on the role too.
const markQuery = `
	SELECT md5(coalesce(string_agg(x, ' ' ORDER BY x), '')) FROM (
		SELECT 'c' || oid || '.' || xmin || row_security_active(oid) FROM pg_class WHERE oid = ANY ($1::oid[])
		UNION ALL SELECT 'a' || attrelid || '.' || attnum || '.' || xmin FROM pg_attribute WHERE attrelid = ANY ($1::oid[]) AND attnum > 0
		UNION ALL SELECT 'i' || indexrelid || '.' || xmin FROM pg_index WHERE indrelid = ANY ($1::oid[])
		UNION ALL SELECT 'k' || oid || '.' || xmin FROM pg_constraint WHERE conrelid = ANY ($1::oid[])
		UNION ALL SELECT 't' || oid || '.' || xmin FROM pg_trigger WHERE tgrelid = ANY ($1::oid[])
		UNION ALL SELECT 'r' || oid || '.' || xmin FROM pg_rewrite WHERE ev_class = ANY ($1::oid[])
		UNION ALL SELECT 'h' || inhrelid || '.' || inhparent || '.' || xmin FROM pg_inherits WHERE inhparent = ANY ($1::oid[])
	) s(x)`

// Mark reads what the relations are made of.
func (d *DB) Mark(ctx context.Context, names []backend.RelationName) (backend.Mark, error) {
	var m mark
	err := d.inSnapshot(ctx, func(t pgx.Tx) error {
		oids, err := named(ctx, t, names)
		if err != nil {
			return err
		}
		if oids, err = collectOIDs(t.Query(ctx, relatedQuery, oids)); err != nil {
			return err
		}
		var text []string
		for _, oid := range oids {
			text = append(text, strconv.FormatInt(oid, 10))
		}
		m.oids = "{" + strings.Join(text, ",") + "}"
		m.digest, err = digest(ctx, t.Conn().PgConn(), m.oids)
		return err
	})
	m.seen = &atomic.Pointer[string]{}
	return m, err
}

func digest(ctx context.Context, c *pgconn.PgConn, oids string) (string, error) {
	r := c.ExecPrepared(ctx, markStatement, [][]byte{[]byte(oids)}, nil, nil).Read()
	return oneText(r)
}

// oneText is an answer of one row and column.
func oneText(r *pgconn.Result) (string, error) {
	if r.Err != nil {
		return "", r.Err
	}
	if len(r.Rows) != 1 || len(r.Rows[0]) != 1 {
		return "", errors.New("postgres: an answer of one value was expected")
	}
	return string(r.Rows[0][0]), nil
}

// compare says whether the transaction's snapshot sees the schema of the mark. snapshot is its pg_current_snapshot: where it
// is the one that was compared last, the same transactions are visible, hence the same rows of pg_catalog.
func (m *mark) compare(ctx context.Context, c *pgconn.PgConn, snapshot string) error {
	if last := m.seen.Load(); last != nil && *last == snapshot {
		return nil
	}
	now, err := digest(ctx, c, m.oids)
	switch {
	case err != nil:
		return err
	case now != m.digest:
		return backend.ErrSchema
	}
	m.seen.Store(&snapshot)
	return nil
}

// beginAt sends BEGIN and asks for the snapshot in one round trip.
func beginAt(ctx context.Context, c *pgconn.PgConn) (snapshot string, err error) {
	b := &pgconn.Batch{}
	b.ExecParams(begin, nil, nil, nil, nil)
	b.ExecPrepared(snapshotStatement, nil, nil, nil)
	results, err := c.ExecBatch(ctx, b).ReadAll()
	if err != nil {
		return "", err
	}
	return oneText(results[len(results)-1])
}

// BeginMarked opens a transaction whose snapshot sees the schema of the mark: the digest is its first query, and PostgreSQL reads
// rows of pg_catalog with the transaction's snapshot like any others.
//
// Proof: claim: the rows that the statement sees fulfil the constraints that the mark's schema says are enforced. They are those of
// the transaction's snapshot; each was written by a transaction that committed before it, under constraints whose catalog rows
// were then as the digest says, or were checked when these constraints were made (unvalidated ones are not told by Describe).
func (d *DB) BeginMarked(ctx context.Context, m backend.Mark) (backend.Tx, error) {
	at, ok := m.(mark)
	if !ok {
		return nil, backend.NewError(backend.FailOther, "mark", fmt.Errorf("postgres: a mark of type %T", m))
	}
	t, err := d.retried(ctx, func(ctx context.Context) (*tx, error) { return d.begin(ctx, &at) })
	if err != nil {
		return nil, err
	}
	return t, nil
}
