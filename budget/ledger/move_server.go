package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
)

func openServerToMove(ctx context.Context, at Server) (*Postgres, error) {
	return join(ctx, at, Options{}, idleLock, func(l *Postgres) error {
		l.opening.moving = true
		return l.openExisting(ctx)
	})
}

// alone refuses a ledger in which servers take part. One that comes later finds the departure, or makes it refused.
func (s *server) alone(ctx context.Context) error {
	c, err := s.connected(ctx)
	if err != nil {
		return err
	}
	var n int
	if err := c.QueryRow(ctx, "SELECT count(*) FROM "+s.schema+".leases WHERE expires > now()").Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("%w: %d servers take part in it: stop them first (one that was killed counts for %v)", ErrInUse, n, leaseTime)
	}
	return nil
}

func (s *server) asides(name string) iter.Seq2[aside, error] {
	return func(yield func(aside, error) bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var there bool
		c, err := s.connected(ctx)
		if err == nil {
			err = c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", s.schema+"."+name).Scan(&there)
		}
		if err != nil || !there {
			if err != nil {
				yield(aside{}, readFailed(err))
			}
			return
		}
		list, err := c.Query(ctx, "SELECT seq, "+asideTables[name]+" FROM "+s.schema+"."+name+" ORDER BY seq")
		if err != nil {
			yield(aside{}, readFailed(err))
			return
		}
		defer list.Close()
		for list.Next() {
			var one aside
			err := list.Scan(&one.seq, &one.body)
			if !yield(one, err) || err != nil {
				return
			}
		}
		if err := list.Err(); err != nil {
			yield(aside{}, readFailed(err))
		}
	}
}

// serverLanding fills a schema in a transaction.
type serverLanding struct {
	*server
	at Server
}

func newServerLanding(at Server) (landing, error) {
	s, err := newServer(at) // idle 0: the server does not cut a transaction that waits for the other place
	if err != nil {
		return nil, err
	}
	return &serverLanding{s, at}, nil
}

func (d *serverLanding) there(ctx context.Context) (*book, error) {
	exists, err := d.exists(ctx)
	if err != nil || !exists || d.isEmpty() {
		return nil, err
	}
	l, err := openServerToMove(ctx, d.at)
	if err != nil {
		return nil, err
	}
	return l.book, nil
}

func (d *serverLanding) mark(w waterline) error { return moveMark(d.path, w) }

func (d *serverLanding) stage(ctx context.Context, rows iter.Seq2[row, error], asides func(string) iter.Seq2[aside, error]) error {
	c, err := d.connected(ctx)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(applicationID)); err != nil { // others that would make one wait
		return err
	}
	there, err := d.exists(ctx)
	if err != nil {
		return err
	}
	if !there {
		if _, err := c.Exec(ctx, fmt.Sprintf(tables, d.schema, format)); err != nil {
			return err
		}
	}
	if err := d.unused(ctx); err != nil {
		return err
	}
	var end row
	err = d.fill(ctx, "records", []string{"seq", "body", "hash"}, values(rows, func(r row) []any { end = r; return []any{r.seq, r.body, r.hash[:]} }))
	for name, column := range asideTables {
		if err == nil {
			_, err = c.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+d.schema+"."+name+" (seq bigint PRIMARY KEY, "+column+" bytea NOT NULL)")
		}
		if err == nil {
			err = d.fill(ctx, name, []string{"seq", column}, values(asides(name), func(a aside) []any { return []any{a.seq, a.body} }))
		}
	}
	if err == nil {
		_, err = c.Exec(ctx, "UPDATE "+d.schema+".head SET format = $1, seq = $2, hash = $3", format, end.seq, end.hash[:])
	}
	return err
}

// unused locks the head of a ledger in which nothing is, and refuses another.
func (d *serverLanding) unused(ctx context.Context) error {
	var seq int64
	if err := d.conn.QueryRow(ctx, "SELECT seq FROM "+d.schema+".head FOR UPDATE").Scan(&seq); err != nil {
		return err
	}
	if seq != 0 || !d.isEmpty() {
		return errors.New("ledger: another ledger was begun there")
	}
	return nil
}

// fill copies rows into a table.
func (d *serverLanding) fill(ctx context.Context, table string, columns []string, next func() ([]any, error)) error {
	_, err := d.conn.CopyFrom(ctx, pgx.Identifier{d.named, table}, columns, pgx.CopyFromFunc(next))
	return err
}

// values gives one row after the other as COPY wants them; nil ends.
func values[T any](list iter.Seq2[T, error], of func(T) []any) func() ([]any, error) {
	next, stop := iter.Pull2(list)
	return func() ([]any, error) {
		one, err, more := next()
		if err != nil || !more {
			stop()
			return nil, err
		}
		return of(one), nil
	}
}

func (d *serverLanding) staged() (store, source) { return d.server, d.server }

func (d *serverLanding) publish(context.Context) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // not the caller's: the old place is closed
	defer cancel()
	tag, err := d.conn.Exec(ctx, "COMMIT")
	if err == nil && tag.String() != "COMMIT" {
		err = errors.New("ledger: the server rolled the transaction back")
	}
	if err != nil {
		return err
	}
	var found durability
	if err := d.conn.QueryRow(ctx, "SELECT current_setting('fsync'), current_setting('full_page_writes')").Scan(&found.fsync, &found.pages); err != nil {
		return err
	}
	return found.check()
}

func (d *serverLanding) close() error {
	d.drop()
	return nil
}
