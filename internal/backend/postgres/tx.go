package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

type tx struct {
	conn *pgxpool.Conn // nil once closed
	rows *rows         // the open answer, if any
	mark *mark         // of a marked transaction
}

// Query runs one statement; the answer of the one before is closed. Rows stream: a failure may come from Next.
func (t *tx) Query(ctx context.Context, text string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	r, fields, err := t.open(ctx, text, args)
	if err != nil {
		return nil, err
	}
	r.row = make([]secret.Value, len(want))
	if r.decode, err = decoders(fields, want); err != nil {
		r.Close()
		return nil, backend.NewError(backend.FailOther, "columns", err)
	}
	t.rows = r
	return r, nil
}

// open sends a statement, and tells the columns that come.
func (t *tx) open(ctx context.Context, text string, args []backend.Arg) (*rows, []pgconn.FieldDescription, error) {
	if t.conn == nil {
		return nil, nil, backend.NewError(backend.FailOther, "closed", errors.New("postgres: query on a closed transaction"))
	}
	if t.rows != nil {
		t.rows.Close()
	}
	p, err := encodeArgs(args)
	if err != nil {
		return nil, nil, backend.NewError(backend.FailOther, "parameter", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &rows{ctx: ctx, cancel: cancel}
	r.under = t.conn.Conn().PgConn().ExecParams(ctx, text, p.values, p.oids, p.formats, []int16{binaryFormat})
	fields := r.under.FieldDescriptions()
	if fields == nil { // it failed, or it is no statement that gives rows
		r.finish()
		if r.err == nil {
			r.err = backend.NewError(backend.FailOther, "columns", errors.New("postgres: the statement gives no columns"))
		}
		return nil, nil, r.err
	}
	return r, fields, nil
}

// Close ends the transaction and gives the connection back; the pool destroys it unless it is idle then.
func (t *tx) Close() {
	if t.conn == nil {
		return
	}
	if t.rows != nil {
		t.rows.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), cancelPatience)
	defer cancel()
	_, _ = t.conn.Conn().PgConn().Exec(ctx, "ROLLBACK").ReadAll() // what fails leaves a connection that the pool destroys
	t.conn.Release()
	t.conn = nil
}

type rows struct {
	ctx    context.Context
	cancel context.CancelFunc
	under  *pgconn.ResultReader
	decode []decoder
	row    []secret.Value
	done   bool
	err    error
}

var _ secret.Rows = (*rows)(nil)

// Next reads one row and hides it.
func (r *rows) Next() bool {
	if r.done {
		return false
	}
	if !r.under.NextRow() {
		r.finish()
		return false
	}
	for i, b := range r.under.Values() {
		if b == nil {
			r.row[i] = secret.Of(nil)
			continue
		}
		v, err := r.decode[i](b)
		if err != nil {
			v = secret.Unreadable{}
		}
		r.row[i] = secret.Of(v)
	}
	return true
}

// finish reads to the end of the answer.
func (r *rows) finish() {
	r.done = true
	if _, err := r.under.Close(); err != nil {
		r.err = failure(r.ctx, err)
	}
	r.cancel()
	clear(r.row)
}

// Format prints nothing of an answer: the driver's buffers below hold rows as they came.
func (*rows) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(rows)")) }

// Row is valid until the next call of Next.
func (r *rows) Row() []secret.Value { return r.row }

// Err tells why Next returned false; nil at the end.
func (r *rows) Err() error { return r.err }

// Close stops an answer that was not read to its end; it may be called twice.
func (r *rows) Close() {
	if r.done {
		return
	}
	r.done = true
	r.cancel() // a cancel request: the rest is not worth waiting for
	_, _ = r.under.Close()
	clear(r.row)
}
