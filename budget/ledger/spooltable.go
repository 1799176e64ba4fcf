package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// spoolTable keeps spools as rows of a shared ledger's database, so that every proxy may answer from them. Each has connections of its own: what waits for the ledger's lock does not wait for a spool.
// What is written, or read, passes through a file without a name on this machine.
type spoolTable struct {
	*server
	dir string
}

// spoolRow is how many bytes one row has, spoolTime how long all rows of one spool may take.
const (
	spoolRow  = 1 << 20
	spoolTime = 10 * time.Minute
)

func (t spoolTable) table() string { return t.schema + ".spool" }

func (t spoolTable) create(int64) (spoolFile, func() error, error) {
	f, err := scratchFile(t.dir)
	return f, nil, err
}

// with runs on a connection of its own.
func (t spoolTable) with(use func(ctx context.Context, c *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), spoolTime)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, t.config)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if err := t.durable(ctx, c); err != nil {
		return err
	}
	return use(ctx, c)
}

// keep writes all rows in one transaction: a crash leaves all of them or none.
func (t spoolTable) keep(reservation int64, f spoolFile, of SpoolRef) error {
	return t.with(func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if err := t.make(ctx, tx); err != nil {
				return err
			}
			buffer := make([]byte, spoolRow)
			for n, at := 0, int64(0); at < of.Bytes; n++ {
				text := buffer[:min(spoolRow, of.Bytes-at)]
				if _, err := io.ReadFull(io.NewSectionReader(f, at, int64(len(text))), text); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, "INSERT INTO "+t.table()+" VALUES ($1, $2, $3)", reservation, n, text); err != nil {
					return err
				}
				at += int64(len(text))
			}
			return nil
		})
	})
}

// make makes the table, under a lock: two proxies may do so at once.
func (t spoolTable) make(ctx context.Context, tx pgx.Tx) error {
	there, err := t.there(ctx, tx)
	if err != nil || there {
		return err
	}
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(applicationID)); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+t.table()+" (reservation bigint, n int, body bytea NOT NULL, PRIMARY KEY (reservation, n))")
	return err
}

func (t spoolTable) there(ctx context.Context, q querier) (there bool, err error) {
	err = q.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", t.table()).Scan(&there)
	return there, readFailed(err)
}

func (t spoolTable) open(reservation int64) (spoolFile, error) {
	f, err := scratchFile(t.dir)
	if err != nil {
		return nil, err
	}
	at := int64(0)
	err = t.with(func(ctx context.Context, c *pgx.Conn) error {
		there, err := t.there(ctx, c)
		if err != nil || !there {
			return errors.Join(err, fs.ErrNotExist)
		}
		rows, err := c.Query(ctx, "SELECT body FROM "+t.table()+" WHERE reservation = $1 ORDER BY n", reservation)
		if err != nil {
			return err
		}
		var body pgtype.DriverBytes
		_, err = pgx.ForEachRow(rows, []any{&body}, func() error {
			n, err := f.WriteAt(body, at)
			at += int64(n)
			return err
		})
		return err
	})
	if err == nil && at == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (t spoolTable) remove(reservation int64) error {
	return t.with(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "DELETE FROM "+t.table()+" WHERE reservation = $1", reservation)
		return readFailed(err)
	})
}

func (t spoolTable) sweep(upTo int64, keep []int64) error {
	return t.with(func(ctx context.Context, c *pgx.Conn) error {
		there, err := t.there(ctx, c)
		if err != nil || !there {
			return err
		}
		_, err = c.Exec(ctx, "DELETE FROM "+t.table()+" WHERE reservation <= $1 AND reservation <> ALL ($2)", upTo, append([]int64{}, keep...)) // nil would be NULL
		return readFailed(err)
	})
}

func (t spoolTable) room(int64) error { return nil }

func (t spoolTable) scratch() string { return t.dir }

func (s *server) spoolTable() spoolTable { return spoolTable{s, s.path + spoolFolder} }
