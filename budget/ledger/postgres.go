package ledger

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Postgres is a ledger in a PostgreSQL database that several proxies share. Each batch is one transaction under the lock of one row, which first reads
// what others wrote: so every charge is admitted beside all others, of whichever proxy. A reservation lives under its process's lease (lease.go).
type Postgres struct {
	*book
	*server
	leases *leases // nil for an owner
}

var (
	_ Ledger = (*Postgres)(nil)
	_ store  = (*server)(nil)
)

// pace is how long a process that is not heard of keeps its reservations, and the lock.
type pace struct{ lease, idle time.Duration }

// OpenPostgres takes part in the ledger of a database, creating it where there is none, and appends an opening, with the head before it if it is the
// data set's first. The error wraps ErrUnavailable, ErrNotDurable, ErrMismatch, ErrRolledBack, ErrClock or ErrForeign, or is a *CorruptError.
func OpenPostgres(ctx context.Context, at Server, head Head, opt Options) (*Postgres, error) {
	return joinServing(ctx, at, head, opt, pace{leaseTime, idleLock})
}

func joinServing(ctx context.Context, at Server, head Head, opt Options, p pace) (*Postgres, error) {
	head, err := head.own()
	if err != nil {
		return nil, err
	}
	return join(ctx, at, opt, p.idle, func(l *Postgres) error { return l.enter(ctx, head, p.lease) })
}

// OpenPostgresForOwner is OpenForOwner of a database's ledger. Servers go on beside it.
func OpenPostgresForOwner(ctx context.Context, at Server) (*Postgres, error) {
	return join(ctx, at, Options{}, idleLock, func(l *Postgres) error { return l.openExisting(ctx) })
}

// openExisting reads a ledger that is there.
func (l *Postgres) openExisting(ctx context.Context) error {
	there, err := l.exists(ctx)
	switch {
	case err != nil:
		return err
	case !there:
		return ErrNotExist
	}
	if err := l.loadAll(); err != nil || l.opening.unmarked { // as of a file
		return err
	}
	l.mark, err = openMark(l.path)
	return err
}

func join(ctx context.Context, at Server, opt Options, idle time.Duration, opening func(*Postgres) error) (*Postgres, error) {
	s, err := newServer(at)
	if err != nil {
		return nil, err
	}
	s.idle = idle
	if opt.Now == nil {
		s.clock = time.Now
	}
	b, err := newBook(opt)
	if err != nil {
		return nil, err
	}
	b.place, b.store, b.spools = Place{Postgres: at}.String(), s, s.spoolTable()
	l := &Postgres{book: b, server: s}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := opening(l); err != nil {
		return nil, errors.Join(fmt.Errorf("ledger in PostgreSQL %s: %w", s.place(), err), l.Close())
	}
	return l, nil
}

// enter creates or reads the ledger, takes a lease and serves.
func (l *Postgres) enter(ctx context.Context, head Head, lease time.Duration) error {
	there, err := l.exists(ctx)
	if err != nil {
		return err
	}
	if !there || l.isEmpty() {
		err = l.ofData(l.opt.Data, Hash{})
	}
	if err == nil && !there {
		err = l.create(ctx)
	}
	if err == nil {
		err = l.loadAll()
	}
	if err != nil {
		return err
	}
	if known := l.state.find(head.Dataset); known != nil { // before anything is written
		if err := known.head.Accepts(head); err != nil {
			return err
		}
	}
	if l.mark, err = openMark(l.path); err != nil {
		return err
	}
	if l.leases, err = startLeases(ctx, l, lease); err != nil {
		return err
	}
	if err := l.serve(head, &Opening{Dataset: head.Dataset, Epoch: head.Epoch, Shared: true, Unmarked: l.opening.unmarked}); err != nil {
		return err
	}
	return errors.Join(l.mark.file.Sync(), SyncDir(filepath.Dir(l.path)))
}

// loadAll reads every record; none is a ledger that nobody served yet.
func (l *Postgres) loadAll() error {
	w, err := readMark(l.path)
	if err != nil {
		return err
	}
	l.opening.unmarked = w.seq == 0
	missing := func(err error) bool {
		var first *CorruptError
		return errors.As(err, &first) && first.Seq == 1
	}
	if err = l.load(w, l.path); !missing(err) {
		return err
	}
	if l.isEmpty() {
		l.opening.unmarked = false // a new one has none
		return w.passed(l.path, 0)
	}
	return l.load(w, l.path) // another process may have written the first since
}
