package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/dpsql/dpsql/budget"
)

// SQLite is a ledger in one file, owned by one process. Writes are serial: each is one transaction that is synced before
// its method returns. Group commit would take the queue on mu as one batch; nothing outside would change.
type SQLite struct {
	path  string
	now   func() time.Time
	owner string

	mu      sync.Mutex // guards all below
	cache   Cache
	db      *sqlite3.Conn
	format  int // of the file
	state   *state
	mark    *mark
	serving *dataset // nil: opened for the owner
	broken  bool     // a COMMIT failed: what is on disk is not known
	sweep   int      // size of state.stored at which expired releases are dropped next

	insertRecord, insertRelease, deleteRelease, selectRelease *sqlite3.Stmt
}

var _ Ledger = (*SQLite)(nil)

// applicationID marks the file as ours ("dpsl"). format names the tables' layout and what their records may hold: 1 has the
// same tables and records of version 1 only; it becomes 2 with the first record of version 2.
const (
	applicationID = 0x6470736c
	format        = 2
)

// The records can only be added to; releases are dropped when they expire.
const schema = `
CREATE TABLE records (seq INTEGER PRIMARY KEY, body BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
CREATE TABLE releases (seq INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT;
CREATE TRIGGER records_stay BEFORE DELETE ON records BEGIN SELECT raise(ABORT, 'records are append-only'); END;
CREATE TRIGGER records_keep BEFORE UPDATE ON records BEGIN SELECT raise(ABORT, 'records are append-only'); END;
`

// firstSweep is the number of stored releases from which expired ones are looked for while running.
const firstSweep = 1024

// connector opens the database file; tests put a file layer that counts or fails under SQLite.
type connector func(abs string) (*sqlite3.Conn, error)

func connect(abs string) (*sqlite3.Conn, error) {
	return sqlite3.OpenFlags(abs, sqlite3.OPEN_READWRITE|sqlite3.OPEN_NOFOLLOW)
}

// OpenSQLite takes the ledger at path to serve a data set, creating it if there is none, and appends an opening, with the
// head before it if it is the data set's first. The error wraps ErrInUse, ErrNotDurable, ErrMismatch, ErrRolledBack or
// ErrForeign, or is a *CorruptError; the file is then as it was. The filter in force is the ledger's own (Filter): a policy that
// changed only query.epsilon goes on with the order that the budget began with.
func OpenSQLite(ctx context.Context, path string, head Head, opt Options) (*SQLite, error) {
	return openWith(ctx, path, head, opt, connect)
}

// OpenForOwner takes an existing ledger while no server has it, for Accounts, Records, Verify, Freeze and Unfreeze; the rest
// is refused with ErrOwner. It appends nothing by itself. The error is as OpenSQLite's, or wraps ErrNotExist.
func OpenForOwner(ctx context.Context, path string) (*SQLite, error) {
	return openOwner(ctx, path, Options{})
}

func openOwner(ctx context.Context, path string, opt Options) (*SQLite, error) {
	return take(ctx, path, opt, func(l *SQLite) error {
		if _, err := os.Stat(l.path); errors.Is(err, fs.ErrNotExist) {
			return ErrNotExist
		} else if err != nil {
			return err
		}
		if _, err := l.connect(connect, false); err != nil {
			return err
		}
		if err := l.load(); err != nil {
			return err
		}
		return l.prepare()
	})
}

func openWith(ctx context.Context, path string, head Head, opt Options, connect connector) (*SQLite, error) {
	if err := head.validate(); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	filter := *head.Filter // the caller's stays the caller's
	head.Filter = &filter
	if head.Lifetime != nil {
		lifetime := *head.Lifetime
		head.Lifetime = &lifetime
	}
	return take(ctx, path, opt, func(l *SQLite) error { return l.open(head, connect) })
}

// take makes a ledger by an opening that may fail half-way.
func take(ctx context.Context, path string, opt Options, opening func(*SQLite) error) (*SQLite, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := opt.Cache.validate(); err != nil {
		return nil, err
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	abs, err := filepath.Abs(path) // never a URI
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	l := &SQLite{path: abs, cache: opt.Cache, now: opt.Now, owner: hex.EncodeToString(id[:]), state: newState(), sweep: firstSweep}
	if err := opening(l); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), l.closeDB())
	}
	return l, nil
}

func (l *SQLite) open(head Head, connect connector) error {
	// The analysts' names and statements' hashes in it are for the owner alone.
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	isNew, err := l.connect(connect, true)
	if err != nil {
		return err
	}
	if isNew {
		err = l.create(head)
	} else {
		err = l.enter(head)
	}
	if err != nil {
		return err
	}
	if err := l.appendOpening(head); err != nil {
		return err
	}
	if err := l.mark.file.Sync(); err != nil {
		return err
	}
	l.serving = l.state.current
	return syncDir(filepath.Dir(l.path))
}

// connect takes the file and tells a new one from a ledger.
func (l *SQLite) connect(connect connector, mayBeNew bool) (isNew bool, err error) {
	if l.db, err = connect(l.path); err != nil {
		return false, inUse(err)
	}
	if err := answers(l.db, "PRAGMA locking_mode=exclusive", "exclusive"); err != nil {
		return false, err
	}
	if isNew, err = l.ours(); err != nil { // before anything is changed in a file that may be somebody else's
		return false, err
	}
	if isNew && !mayBeNew {
		return false, fmt.Errorf("%w: it is empty", ErrForeign)
	}
	return isNew, makeDurable(l.db)
}

// makeDurable makes a COMMIT return only when it is on disk: write-ahead log, synced at every commit.
func makeDurable(db *sqlite3.Conn) error {
	if err := answers(db, "PRAGMA journal_mode=wal", "wal"); err != nil {
		return err
	}
	if err := db.Exec("PRAGMA synchronous=FULL; PRAGMA fullfsync=on; PRAGMA checkpoint_fullfsync=on; PRAGMA trusted_schema=off; PRAGMA cell_size_check=on"); err != nil {
		return inUse(err)
	}
	return answers(db, "PRAGMA synchronous", "2")
}

// answers runs a pragma and refuses any other answer.
func answers(db *sqlite3.Conn, pragma, want string) error {
	got, err := queryText(db, pragma)
	if err != nil {
		return inUse(err)
	}
	if got != want {
		return fmt.Errorf("%w: %s answers %q", ErrNotDurable, pragma, got)
	}
	return nil
}

// ours tells a new file from a ledger, and refuses any other.
func (l *SQLite) ours() (isNew bool, err error) {
	app, err := queryText(l.db, "PRAGMA application_id")
	if err != nil {
		return false, inUse(err)
	}
	layout, err := queryText(l.db, "PRAGMA user_version")
	if err != nil {
		return false, err
	}
	objects, err := queryText(l.db, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return false, err
	}
	switch {
	case app == "0" && layout == "0" && objects == "0":
		return true, nil
	case app != fmt.Sprint(applicationID):
		return false, ErrForeign
	}
	l.format, err = strconv.Atoi(layout)
	if err != nil || l.format < 1 || l.format > format {
		return false, fmt.Errorf("%w of format 1 to %d but of format %s", ErrForeign, format, layout)
	}
	return false, nil
}

func (l *SQLite) create(head Head) error {
	w, err := readMark(l.path)
	if err != nil {
		return err
	}
	if err := w.passed(l.path, 0); err != nil {
		return err
	}
	return l.transact(&Record{Head: &head}, func() error {
		if err := l.db.Exec(fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", applicationID, format) + schema); err != nil {
			return err
		}
		return l.prepare()
	})
}

// load reads every record and checks the chain, and that it is not older than its mark.
func (l *SQLite) load() error {
	w, err := readMark(l.path)
	if err != nil {
		return err
	}
	st := newState()
	for _, err := range readChain(l.db, st) {
		if err != nil {
			return inUse(err)
		}
		if err := w.holds(l.path, st.seq, st.last); err != nil {
			return err
		}
	}
	if len(st.datasets) == 0 {
		return &CorruptError{Seq: 1, Reason: "it is missing"}
	}
	if st.version > l.format {
		return &CorruptError{Seq: st.seq, Reason: fmt.Sprintf("a record of version %d in a file of format %d", st.version, l.format)}
	}
	l.state = st
	return w.passed(l.path, st.seq)
}

// enter reads the ledger and compares the policy with what it promised; a new data set gets its head.
func (l *SQLite) enter(head Head) error {
	if err := l.load(); err != nil {
		return err
	}
	if known := l.state.find(head.Dataset); known != nil {
		if err := known.head.accepts(head); err != nil {
			return err
		}
		return l.prepare()
	}
	if err := l.state.checkHead(&head); err != nil {
		return err
	}
	if err := l.prepare(); err != nil {
		return err
	}
	return l.transact(&Record{Head: &head}, func() error { return nil })
}

// accepts compares what the data set's head says with what the policy says.
func (h *Head) accepts(asked Head) error {
	switch {
	case h.People != asked.People:
		return fmt.Errorf("%w: its people are %q, not %q. A promise that was made stays: restore the policy's people", ErrMismatch, h.People, asked.People)
	case h.Window != asked.Window:
		return fmt.Errorf("%w: its window is %q, not %q. A promise that was made stays: restore the policy's budget.per", ErrMismatch, h.Window, asked.Window)
	case !sameLifetime(h.Lifetime, asked.Lifetime):
		return fmt.Errorf("%w: its lifetime is %s, not %s. A promise that was made stays: restore the policy's budget.lifetime: %s",
			ErrMismatch, h.Lifetime, asked.Lifetime, h.Lifetime)
	case !h.Filter.SamePromise(asked.Filter):
		return fmt.Errorf("%w: it promises epsilon %g, delta %g by accountant %s; the policy says %g, %g, %s. A promise that was made stays: "+
			"restore the policy's budget", ErrMismatch, h.Filter.Epsilon, h.Filter.Delta, h.Filter.Accountant,
			asked.Filter.Epsilon, asked.Filter.Delta, asked.Filter.Accountant)
	}
	return nil
}

// prepare makes ready to write.
func (l *SQLite) prepare() (err error) {
	if l.mark == nil {
		if l.mark, err = openMark(l.path); err != nil {
			return err
		}
	}
	for _, p := range []struct {
		stmt **sqlite3.Stmt
		sql  string
	}{
		{&l.insertRecord, "INSERT INTO records (seq, body, hash) VALUES (?, ?, ?)"},
		{&l.insertRelease, "INSERT INTO releases (seq, payload) VALUES (?, ?)"},
		{&l.deleteRelease, "DELETE FROM releases WHERE seq = ?"},
		{&l.selectRelease, "SELECT payload FROM releases WHERE seq = ?"},
	} {
		if *p.stmt != nil {
			continue
		}
		stmt, _, err := l.db.PrepareFlags(p.sql, sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return err
		}
		*p.stmt = stmt
	}
	return nil
}

// appendOpening takes over what a process before left outstanding, and drops the payloads that nobody may ask for again.
func (l *SQLite) appendOpening(head Head) error {
	o := &Opening{Dataset: head.Dataset, Epoch: head.Epoch}
	for id := range l.state.outstanding {
		o.Recovered = append(o.Recovered, id)
	}
	slices.Sort(o.Recovered)
	gone := l.state.dropExpired(l.time())
	return l.transact(&Record{Opening: o}, func() error { return l.dropReleases(gone) })
}

// Filter is the filter in force; nil for an owner.
func (l *SQLite) Filter() *budget.Filter {
	if l.serving == nil {
		return nil
	}
	return l.serving.head.Filter
}

// Close gives the file free. Outstanding reservations stay charged.
func (l *SQLite) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closeDB()
}

func (l *SQLite) closeDB() error {
	if l.db == nil {
		return nil
	}
	var errs []error
	for _, stmt := range []*sqlite3.Stmt{l.insertRecord, l.insertRelease, l.deleteRelease, l.selectRelease} {
		errs = append(errs, stmt.Close())
	}
	errs = append(errs, l.db.Close(), l.mark.close())
	l.db = nil
	return errors.Join(errs...)
}

// inUse tells a file that another process holds from one that fails.
func inUse(err error) error {
	switch {
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED):
		return fmt.Errorf("%w: %w", ErrInUse, err)
	case errors.Is(err, sqlite3.NOTADB):
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	return err
}

func queryText(db *sqlite3.Conn, sql string) (string, error) {
	stmt, _, err := db.Prepare(sql)
	if err != nil {
		return "", err
	}
	text := ""
	if stmt.Step() {
		text = stmt.ColumnText(0)
	}
	return text, errors.Join(stmt.Err(), stmt.Close())
}

// syncDir makes a new file's name durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
