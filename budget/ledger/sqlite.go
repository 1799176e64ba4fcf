package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SQLite is a ledger in one file, owned by one process. Each batch is one transaction that is synced before any of its methods returns.
type SQLite struct {
	*book
	*file
}

var (
	_ Ledger = (*SQLite)(nil)
	_ store  = (*file)(nil)
)

// OpenSQLite takes the ledger at path to serve a data set, creating it if there is none, and appends an opening, with the
// head before it if it is the data set's first. The error wraps ErrInUse, ErrNotDurable, ErrMismatch, ErrRolledBack or
// ErrForeign, or is a *CorruptError; the file is then as it was. The filter in force is the ledger's own (Filter): a policy that
// changed only query.price goes on with the order that the budget began with.
func OpenSQLite(ctx context.Context, path string, head Head, opt Options) (*SQLite, error) {
	return openWith(ctx, path, head, opt, connect)
}

// OpenForOwner takes an existing ledger while no server has it, for Accounts, Records, Verify, Freeze, Unfreeze, Grant and Raise; the rest
// is refused with ErrOwner. It appends nothing by itself. The error is as OpenSQLite's, or wraps ErrNotExist.
func OpenForOwner(ctx context.Context, path string) (*SQLite, error) {
	return openOwner(ctx, path, Options{})
}

func openOwner(ctx context.Context, path string, opt Options) (*SQLite, error) {
	return take(ctx, path, opt, (*SQLite).openExisting)
}

// openExisting reads a ledger that is there.
func (l *SQLite) openExisting() error {
	if _, err := os.Stat(l.path); errors.Is(err, fs.ErrNotExist) {
		return ErrNotExist
	} else if err != nil {
		return err
	}
	if _, err := l.connect(connect, false); err != nil {
		return err
	}
	if err := l.loadFile(); err != nil {
		return err
	}
	if !l.opening.unmarked { // an owner makes no mark: whoever serves next is to see that it is missing
		if err := l.openMark(); err != nil {
			return err
		}
	}
	return l.prepare()
}

func openWith(ctx context.Context, path string, head Head, opt Options, connect connector) (*SQLite, error) {
	head, err := head.own()
	if err != nil {
		return nil, err
	}
	return take(ctx, path, opt, func(l *SQLite) error { return l.open(head, connect) })
}

// take makes a ledger by an opening that may fail half-way.
func take(ctx context.Context, path string, opt Options, opening func(*SQLite) error) (*SQLite, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, err := newBook(opt)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path) // never a URI
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := notLinked(abs); err != nil {
		return nil, err
	}
	l := &SQLite{b, &file{path: abs, before: opt.Mark, disk: cmp.Or[spoolDisk](opt.disk, osDisk{})}}
	b.place, b.store, b.spools = Place{SQLite: abs}.String(), l.file, spoolsBeside(abs, opt.disk)
	if err := opening(l); err != nil {
		err = fmt.Errorf("%s: %w", path, l.named(err))
		if end := l.Close(); !isDamage(end) {
			err = errors.Join(err, end)
		}
		return nil, err
	}
	return l, l.foldLog()
}

func (l *SQLite) open(head Head, connect connector) error {
	if info, err := os.Stat(l.path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 && hasLog(l.path) {
		if err := l.markAllows(); err != nil {
			return err
		}
	}
	// The analysts' names and statements' hashes in it are for the owner alone.
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	isNew, err := l.attach(connect, true)
	if err == nil && isNew {
		err = l.markAllows()
	}
	if err == nil {
		err = makeDurable(l.db)
	}
	if err != nil {
		return err
	}
	if !isNew { // the tables of a new one come with the first record, in its transaction
		if err := l.enter(head); err != nil {
			return err
		}
	}
	if err := l.serve(head, &Opening{Dataset: head.Dataset, Epoch: head.Epoch, Unmarked: l.opening.unmarked}); err != nil {
		return err
	}
	if err := l.mark.file.Sync(); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(l.path))
}

// markAllows refuses a new file in the place of a ledger that was written, there or where its people's ledger was before.
func (l *SQLite) markAllows() error {
	for _, path := range []string{l.path, l.before} {
		if path == "" {
			continue
		}
		w, err := readMark(path)
		if err == nil {
			err = w.passed(path, 0)
		}
		if err != nil {
			return err
		}
	}
	return l.ofData(l.opt.Data, Hash{})
}

// loadFile reads every record.
func (l *SQLite) loadFile() error {
	w, err := readMark(l.path)
	if err != nil {
		return err
	}
	if err := l.load(w, l.path); err != nil {
		return inUse(err)
	}
	if l.state.version > l.format {
		return &CorruptError{Seq: l.state.seq, Reason: fmt.Sprintf("a record of version %d in a file of format %d", l.state.version, l.format)}
	}
	l.opening.unmarked = w.seq == 0
	return nil
}

// enter reads the ledger and compares the policy with what it promised, before anything is written.
func (l *SQLite) enter(head Head) error {
	if err := l.loadFile(); err != nil {
		return err
	}
	var err error
	if known := l.state.find(head.Dataset); known != nil {
		err = known.head.Accepts(head)
	} else {
		err = l.state.checkHead(&head)
	}
	if err != nil {
		return err
	}
	return errors.Join(l.openMark(), l.prepare())
}
