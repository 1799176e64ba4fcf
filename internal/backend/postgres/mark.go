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

// mark is the state of some relations' schema: what their names mean, who they and those below and above them are, and a digest of
// the rows of pg_catalog that say what they are.
type mark struct {
	args   [][]byte // of the digest: OIDs, schemas, names, OIDs of functions, as texts of arrays
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

// The functions of users that the views among some relations call.
const relatedFunctionsQuery = `
	WITH RECURSIVE r(oid) AS (SELECT w::oid FROM unnest($1::int8[]) w),` + calledFunctions + `
	SELECT oid FROM f WHERE oid >= 16384 ORDER BY oid`

// The statements that each connection has prepared. On a standby pg_current_snapshot does not tell which transactions are in
// progress: there the schema is digested each time.
const (
	markStatement     = "dpsql_mark"
	snapshotStatement = "dpsql_snapshot"
	snapshotQuery     = "SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE pg_current_snapshot()::text END"
)

// A row's xmin changes whenever the row does. ANALYZE and VACUUM write pg_class in place; TRUNCATE and the like are seen without
// need, which costs a look at the schema. row_security_active depends on the role too, and what a
// view shows on its owner's.
const markQuery = `
	SELECT md5(coalesce(string_agg(x, ' ' ORDER BY x), '')) FROM (
		SELECT 'n' || quote_ident(w.s) || '.' || quote_ident(w.t) || '=' || coalesce(c.oid::text, '') FROM unnest($2::text[], $3::text[]) w(s, t)
			LEFT JOIN pg_namespace n ON n.nspname = w.s LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.t
		UNION ALL SELECT 'c' || oid || '.' || xmin || row_security_active(oid) FROM pg_class WHERE oid = ANY ($1::oid[])
		UNION ALL SELECT 'a' || attrelid || '.' || attnum || '.' || xmin FROM pg_attribute WHERE attrelid = ANY ($1::oid[]) AND attnum > 0
		UNION ALL SELECT 'i' || indexrelid || '.' || xmin FROM pg_index WHERE indrelid = ANY ($1::oid[]) AND indisunique
		UNION ALL SELECT 'k' || oid || '.' || xmin FROM pg_constraint WHERE conrelid = ANY ($1::oid[])
		UNION ALL SELECT 't' || oid || '.' || xmin FROM pg_trigger WHERE tgrelid = ANY ($1::oid[])
		UNION ALL SELECT 'r' || oid || '.' || xmin FROM pg_rewrite WHERE ev_class = ANY ($1::oid[])
		UNION ALL SELECT 'o' || c.oid || '.' || r.oid || r.rolbypassrls || r.rolsuper FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
			WHERE c.oid = ANY ($1::oid[]) AND c.relkind = 'v'
		UNION ALL SELECT 'm' || m.roleid || '.' || m.member || '.' || m.xmin FROM pg_class c JOIN pg_auth_members m ON m.member = c.relowner
			WHERE c.oid = ANY ($1::oid[]) AND c.relkind = 'v'
		UNION ALL SELECT 'h' || inhrelid || '.' || inhparent || '.' || xmin FROM pg_inherits WHERE inhparent = ANY ($1::oid[])
		UNION ALL SELECT 'f' || oid || '.' || xmin FROM pg_proc WHERE oid = ANY ($4::oid[])
		UNION ALL SELECT 'e' || e.oid || '.' || e.xmin FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_enum e ON e.enumtypid IN (t.oid, t.typelem)
			WHERE a.attrelid = ANY ($1::oid[]) AND t.oid >= 16384
	) s(x)`

// Mark reads what the relations are made of.
func (d *DB) Mark(ctx context.Context, names []backend.RelationName) (backend.Mark, error) {
	m := mark{seen: &atomic.Pointer[string]{}}
	err := d.inSnapshot(ctx, func(t pgx.Tx) error {
		oids, err := named(ctx, t, names)
		if err != nil {
			return err
		}
		if oids, err = collectOIDs(t.Query(ctx, relatedQuery, oids)); err != nil {
			return err
		}
		called, err := collectOIDs(t.Query(ctx, relatedFunctionsQuery, oids))
		if err != nil {
			return err
		}
		var numbers, schemas, tables, functions []string
		for _, oid := range oids {
			numbers = append(numbers, strconv.FormatInt(oid, 10))
		}
		for _, oid := range called {
			functions = append(functions, strconv.FormatInt(oid, 10))
		}
		for _, n := range names {
			if n.Schema == "" {
				n.Schema = defaultSchema
			}
			schemas, tables = append(schemas, n.Schema), append(tables, n.Name)
		}
		m.args = [][]byte{arrayText(numbers), arrayText(schemas), arrayText(tables), arrayText(functions)}
		m.digest, err = digest(ctx, t.Conn().PgConn(), m.args)
		return err
	})
	return m, err
}

// arrayText spells an array, each element quoted.
func arrayText(list []string) []byte {
	var b strings.Builder
	for i, x := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(x) + `"`)
	}
	return []byte("{" + b.String() + "}")
}

func digest(ctx context.Context, c *pgconn.PgConn, args [][]byte) (string, error) {
	return oneText(c.ExecPrepared(ctx, markStatement, args, nil, nil).Read())
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

// compare says whether the present snapshot sees the schema of the mark. snapshot is its pg_current_snapshot, "" on a standby: where it
// is the one that was compared last, the same transactions are visible, hence the same rows of pg_catalog.
func (m *mark) compare(ctx context.Context, c *pgconn.PgConn, snapshot string) error {
	if last := m.seen.Load(); snapshot != "" && last != nil && *last == snapshot {
		return nil
	}
	now, err := digest(ctx, c, m.args)
	switch {
	case err != nil:
		return err
	case now != m.digest:
		return backend.ErrSchema
	}
	m.seen.Store(&snapshot)
	return nil
}

// snapshotAfter sends BEGIN or ROLLBACK and asks for the snapshot in one round trip.
func snapshotAfter(ctx context.Context, c *pgconn.PgConn, command string) (snapshot string, err error) {
	b := &pgconn.Batch{}
	b.ExecParams(command, nil, nil, nil, nil)
	b.ExecPrepared(snapshotStatement, nil, nil, nil)
	results, err := c.ExecBatch(ctx, b).ReadAll()
	if err != nil {
		return "", err
	}
	return oneText(results[len(results)-1])
}

// BeginMarked opens a transaction whose snapshot sees the schema of the mark: the digest is its first query, and PostgreSQL reads
// rows of pg_catalog with the transaction's snapshot like any others. Where the schema is another, nothing was asked yet.
//
// Proof: claim: after Confirm, the statement read the relations that the policy was bound to, and the rows that it saw fulfil the
// constraints that the mark's schema says are enforced. (1) PostgreSQL looks up names, views and children with the newest catalog,
// not with the transaction's snapshot; so Confirm digests again, after the statement, in a newer snapshot. A row of pg_catalog that
// changed in between has another xmin, and does not get the old one back; so where both digests are the mark's, all that was
// looked up in between was as the mark says. (2) Among what is digested is what the names mean. (3) The rows are those of the
// transaction's snapshot; each was written by a transaction that committed before it, under constraints whose catalog rows were
// then as the digest says, or was checked when these were made (unvalidated ones are not told by Describe).
func (d *DB) BeginMarked(ctx context.Context, m backend.Mark) (backend.Tx, error) {
	at, ok := m.(mark)
	if !ok {
		return nil, backend.NewError(backend.FailOther, "mark", fmt.Errorf("postgres: a mark of type %T", m))
	}
	t, err := d.retried(ctx, func(ctx context.Context) (*tx, error) { return d.begin(ctx, &at) })
	if err != nil {
		return nil, err
	}
	t.mark = &at
	return t, nil
}

// Confirm ends the transaction and says whether the schema was that of its mark until then; else ErrSchema.
func (t *tx) Confirm(ctx context.Context) error {
	if t.mark == nil || t.conn == nil {
		return backend.NewError(backend.FailOther, "mark", errors.New("postgres: no marked transaction to confirm"))
	}
	if t.rows != nil {
		t.rows.Close()
	}
	c := t.conn.Conn().PgConn()
	snapshot, err := snapshotAfter(ctx, c, "ROLLBACK")
	if err == nil {
		err = t.mark.compare(ctx, c, snapshot)
	}
	t.conn.Release() // the pool destroys it unless it is idle
	t.conn = nil
	if err != nil && !errors.Is(err, backend.ErrSchema) {
		return failure(ctx, err)
	}
	return err
}
