package duckdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

type tx struct {
	conn *sql.Conn // nil once closed
	rows *rows     // the open answer, if any
}

// Begin opens a read-only transaction on a connection of its own.
func (d *DB) Begin(ctx context.Context) (backend.Tx, error) {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	if _, err := conn.ExecContext(ctx, "BEGIN TRANSACTION READ ONLY"); err != nil {
		discard(conn)
		return nil, unavailable(ctx, err)
	}
	return &tx{conn: conn}, nil
}

// Query runs one statement; the answer of the one before is closed.
func (t *tx) Query(ctx context.Context, text string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	if t.conn == nil {
		return nil, backend.NewError(backend.FailOther, "closed", fmt.Errorf("duckdb: query on a closed transaction"))
	}
	if t.rows != nil {
		t.rows.Close()
	}
	bound := make([]any, len(args))
	for i, a := range args {
		v, err := bind(a)
		if err != nil {
			return nil, backend.NewError(backend.FailOther, "parameter", fmt.Errorf("duckdb: parameter $%d: %w", i+1, err))
		}
		bound[i] = v
	}
	r, err := t.conn.QueryContext(ctx, text, bound...)
	if err != nil {
		return nil, failure(ctx, err)
	}
	columns, err := r.Columns()
	if err == nil && len(columns) != len(want) {
		err = fmt.Errorf("duckdb: %d columns came, %d were wanted", len(columns), len(want))
	}
	if err != nil {
		_ = r.Close()
		return nil, backend.NewError(backend.FailOther, "columns", err)
	}
	t.rows = newRows(ctx, r, want)
	return t.rows, nil
}

// Close ends the transaction; a connection that cannot be rolled back is thrown away.
func (t *tx) Close() {
	if t.conn == nil {
		return
	}
	if t.rows != nil {
		t.rows.Close()
	}
	if _, err := t.conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		discard(t.conn)
	} else {
		_ = t.conn.Close() // back to the pool
	}
	t.conn = nil
}

func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

type rows struct {
	ctx   context.Context
	under *sql.Rows
	want  []sqltype.Type
	raw   []any // what the driver gave
	into  []any // pointers to raw
	row   []secret.Value
	err   error
}

var _ secret.Rows = (*rows)(nil)

func newRows(ctx context.Context, under *sql.Rows, want []sqltype.Type) *rows {
	r := &rows{ctx: ctx, under: under, want: want}
	r.raw, r.into, r.row = make([]any, len(want)), make([]any, len(want)), make([]secret.Value, len(want))
	for i := range r.raw {
		r.into[i] = &r.raw[i]
	}
	return r
}

// Next reads one row and hides it.
func (r *rows) Next() bool {
	if r.err != nil {
		return false
	}
	if !r.under.Next() {
		if err := r.under.Err(); err != nil {
			r.err = failure(r.ctx, err)
		}
		return false
	}
	if err := r.under.Scan(r.into...); err != nil {
		r.fail(failure(r.ctx, err))
		return false
	}
	for i, v := range r.raw {
		hidden, err := convert(v, r.want[i])
		if err != nil {
			hidden = secret.Unreadable{}
		}
		r.row[i], r.raw[i] = secret.Of(hidden), nil // nothing plain stays where printing could reach it
	}
	return true
}

func (r *rows) fail(err error) {
	r.err = err
	r.Close()
}

// Format prints nothing of an answer: the driver's buffers below hold rows as they came.
func (*rows) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(rows)")) }

// Row is valid until the next call of Next.
func (r *rows) Row() []secret.Value { return r.row }

// Err tells why Next returned false; nil at the end.
func (r *rows) Err() error { return r.err }

// Close frees the answer; it may be called twice.
func (r *rows) Close() {
	_ = r.under.Close() // what it could say, Next has said
	clear(r.raw)
	clear(r.row)
}
