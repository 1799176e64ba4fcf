package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/dpsql/dpsql/budget"
)

// SQLite is a ledger in one file, owned by one process. Writes are serial: each is one transaction that is synced before
// its method returns. Group commit would take the queue on mu as one batch; nothing outside would change.
type SQLite struct {
	path  string
	cache Cache
	now   func() time.Time
	owner string

	mu     sync.Mutex // guards all below
	db     *sqlite3.Conn
	state  *state
	broken bool // a COMMIT failed: what is on disk is not known
	sweep  int  // size of state.stored at which expired releases are dropped next

	insertRecord, insertRelease, deleteRelease, selectRelease *sqlite3.Stmt
}

var _ Ledger = (*SQLite)(nil)

// applicationID marks the file as ours ("dpsl"), and format is the layout of its tables.
const (
	applicationID = 0x6470736c
	format        = 1
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

// OpenSQLite takes the ledger at path, creating it if there is none, and appends an opening. The error wraps ErrInUse,
// ErrNotDurable, ErrMismatch or ErrForeign, or is a *CorruptError; the file is then as it was. The filter in force is the
// ledger's own (Filter): a policy that changed only query.epsilon goes on with the order that the window began with.
func OpenSQLite(ctx context.Context, path string, head Head, opt Options) (*SQLite, error) {
	return openWith(ctx, path, head, opt, func(abs string) (*sqlite3.Conn, error) {
		return sqlite3.OpenFlags(abs, sqlite3.OPEN_READWRITE|sqlite3.OPEN_NOFOLLOW)
	})
}

// openWith lets tests put a file layer that counts or fails under SQLite.
func openWith(ctx context.Context, path string, head Head, opt Options, connect func(abs string) (*sqlite3.Conn, error)) (*SQLite, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := head.validate(); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	filter := *head.Filter // the caller's stays the caller's
	head.Filter = &filter
	if opt.Cache.TTL < 0 || opt.Cache.TTL > 0 && opt.Cache.Scope != ScopeDataset && opt.Cache.Scope != ScopeAnalyst {
		return nil, fmt.Errorf("ledger: stored releases with ttl %v, scope %q", opt.Cache.TTL, opt.Cache.Scope)
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
	if err := l.open(head, connect); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), l.closeDB())
	}
	return l, nil
}

func (l *SQLite) open(head Head, connect func(string) (*sqlite3.Conn, error)) error {
	// The analysts' names and statements' hashes in it are for the owner alone.
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if l.db, err = connect(l.path); err != nil {
		return inUse(err)
	}
	if err := answers(l.db, "PRAGMA locking_mode=exclusive", "exclusive"); err != nil {
		return err
	}
	isNew, err := l.ours() // before anything is changed in a file that may be somebody else's
	if err != nil {
		return err
	}
	if err := makeDurable(l.db); err != nil {
		return err
	}
	if isNew {
		err = l.create(head)
	} else {
		err = l.load(head)
	}
	if err != nil {
		return err
	}
	if err := l.prepare(); err != nil {
		return err
	}
	if err := l.appendOpening(head.Epoch); err != nil {
		return err
	}
	return syncDir(filepath.Dir(l.path))
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
	case layout != fmt.Sprint(format):
		return false, fmt.Errorf("%w of format %d but of format %s", ErrForeign, format, layout)
	}
	return false, nil
}

func (l *SQLite) create(head Head) error {
	return l.transact(&Record{Head: &head}, func() error {
		if err := l.db.Exec(fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", applicationID, format) + schema); err != nil {
			return err
		}
		return l.prepare()
	})
}

// load reads every record and checks the chain.
func (l *SQLite) load(head Head) error {
	st := newState()
	for _, err := range readChain(l.db, st) {
		if err != nil {
			return inUse(err)
		}
	}
	if st.head == nil {
		return &CorruptError{Seq: 1, Reason: "it is missing"}
	}
	l.state = st
	return st.head.accepts(head)
}

// accepts compares what the first record says with what the policy says.
func (h *Head) accepts(asked Head) error {
	switch {
	case h.Dataset != asked.Dataset:
		return fmt.Errorf("%w: it is data set %q's, not %q's", ErrMismatch, h.Dataset, asked.Dataset)
	case h.People != asked.People:
		return fmt.Errorf("%w: its people are %q, not %q", ErrMismatch, h.People, asked.People)
	case h.Window != asked.Window:
		return fmt.Errorf("%w: its window is %q, not %q", ErrMismatch, h.Window, asked.Window)
	case !h.Filter.SamePromise(asked.Filter):
		return fmt.Errorf("%w: it promises epsilon %g, delta %g by accountant %s; the policy says %g, %g, %s. A promise that was made stays: "+
			"restore the policy's budget", ErrMismatch, h.Filter.Epsilon, h.Filter.Delta, h.Filter.Accountant,
			asked.Filter.Epsilon, asked.Filter.Delta, asked.Filter.Accountant)
	}
	return nil
}

func (l *SQLite) prepare() error {
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
func (l *SQLite) appendOpening(epoch string) error {
	o := &Opening{Epoch: epoch}
	for id := range l.state.outstanding {
		o.Recovered = append(o.Recovered, id)
	}
	slices.Sort(o.Recovered)
	gone := l.state.dropExpired(l.time())
	return l.transact(&Record{Opening: o}, func() error { return l.dropReleases(gone) })
}

// Filter is the filter in force.
func (l *SQLite) Filter() *budget.Filter { return l.state.head.Filter }

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
	errs = append(errs, l.db.Close())
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
