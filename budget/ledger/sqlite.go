package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"github.com/dpsql/dpsql/internal/spool"
)

// SQLite is a ledger in one file, owned by one process. Each batch is one transaction that is synced before any of its methods returns.
type SQLite struct {
	*book
	*file
}

// file is SQLite's store.
type file struct {
	path   string
	before string // the path whose mark a new file is held against too
	disk   spoolDisk
	db     *sqlite3.Conn
	format int // of the file
	mark   *mark

	insertRecord, insertRelease, deleteRelease, selectRelease *sqlite3.Stmt
}

var (
	_ Ledger = (*SQLite)(nil)
	_ store  = (*file)(nil)
)

// errMark is a mark that could not be moved: what it should name is durable.
var errMark = errors.New("ledger: the mark beside the file cannot be moved")

// foreignFormat refuses a ledger that this program cannot read on.
func foreignFormat(of int) error {
	cure := fmt.Sprintf("an older dpsql wrote to it, so build dpsql at commit %s and raise the format with its dpsql budget move", raisingCommit)
	if of > format {
		cure = "a newer dpsql wrote to it, so bring that program back, not an older copy of the ledger"
	}
	return fmt.Errorf("%w of format %d to %d but of format %d: %s", ErrForeign, oldestFormat, format, of, cure)
}

// applicationID marks the file as ours ("dpsl"). format names the newest version of records that a ledger may hold. A ledger gets this
// format with its first record of this version. One before oldestFormat is refused: the program at raisingCommit raises it.
const (
	applicationID = 0x6470736c
	format        = version
	oldestFormat  = 5
	raisingCommit = "9abc5b2"
)

// The records can only be added to; releases are dropped when they expire.
const schema = `
CREATE TABLE records (seq INTEGER PRIMARY KEY, body BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
CREATE TABLE releases (seq INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT;
CREATE TRIGGER records_stay BEFORE DELETE ON records BEGIN SELECT raise(ABORT, 'records are append-only'); END;
CREATE TRIGGER records_keep BEFORE UPDATE ON records BEGIN SELECT raise(ABORT, 'records are append-only'); END;
`

// connector opens the database file; tests put a file layer that counts or fails under SQLite.
type connector func(abs string) (*sqlite3.Conn, error)

func connect(abs string) (*sqlite3.Conn, error) {
	return sqlite3.OpenFlags(abs, sqlite3.OPEN_READWRITE|sqlite3.OPEN_NOFOLLOW)
}

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
	if !l.unmarked { // an owner makes no mark: whoever serves next is to see that it is missing
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
	if err := l.serve(head, &Opening{Dataset: head.Dataset, Epoch: head.Epoch, Unmarked: l.unmarked}); err != nil {
		return err
	}
	if err := l.mark.file.Sync(); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(l.path))
}

// connect takes the file, to write to it.
func (l *file) connect(connect connector, mayBeNew bool) (isNew bool, err error) {
	if isNew, err = l.attach(connect, mayBeNew); err == nil {
		err = makeDurable(l.db)
	}
	return isNew, err
}

// hasLog says whether something lies in the file's write-ahead log.
func hasLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// attach takes the file and tells a new one from a ledger. It writes nothing.
func (l *file) attach(connect connector, mayBeNew bool) (isNew bool, err error) {
	log := hasLog(l.path)
	if l.db, err = connect(l.path); err != nil {
		return false, inUse(err)
	}
	if log { // it stays where it is while the file may be refused, or is somebody else's
		if _, err := l.db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err != nil {
			return false, err
		}
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
	return isNew, nil
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
func (l *file) ours() (isNew bool, err error) {
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
	if err != nil || l.format < oldestFormat || l.format > format {
		return false, foreignFormat(l.format)
	}
	return false, nil
}

// foldLog lets the write-ahead log be folded into the file when it is closed.
func (l *file) foldLog() error {
	_, err := l.db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, false)
	return err
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
	return l.ofData(l.data, Hash{})
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
	l.unmarked = w.seq == 0
	return nil
}

// enter reads the ledger and compares the policy with what it promised, before anything is written.
func (l *SQLite) enter(head Head) error {
	if err := l.loadFile(); err != nil {
		return err
	}
	var err error
	if known := l.state.find(head.Dataset); known != nil {
		err = known.head.accepts(head)
	} else {
		err = l.state.checkHead(&head)
	}
	if err != nil {
		return err
	}
	return errors.Join(l.openMark(), l.prepare())
}

func (l *file) openMark() (err error) {
	l.mark, err = openMark(l.path)
	return err
}

// prepare makes ready to write.
func (l *file) prepare() error {
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

// begin takes the turn to write. Nobody else writes, so nothing is new.
func (l *file) begin(waterline, bool) ([]row, error) {
	if l.db == nil {
		return nil, ErrClosed
	}
	return nil, inUse(l.db.Exec("BEGIN IMMEDIATE"))
}

// write inserts and commits. After a failed COMMIT nobody knows what is on disk; after any other failure nothing is. So that none fails for want of disk, nothing is written where little is free: it can be once there is more.
func (l *file) write(c change) error {
	err := room(l.disk, l.path, c.bytes(), leastFree)
	if err == nil {
		err = l.insert(c)
	}
	if err == nil {
		if err = l.db.Exec("COMMIT"); err == nil {
			l.format = format
			last := c.rows[len(c.rows)-1]
			if err := l.mark.move(waterline{last.seq, last.hash}); err != nil {
				return fmt.Errorf("%w: %w", errMark, err)
			}
			return nil
		}
		err = fmt.Errorf("%w: %w", errUncertain, err)
	}
	if !l.db.GetAutocommit() {
		if rollback := l.db.Exec("ROLLBACK"); rollback != nil {
			err = fmt.Errorf("%w: %w: %w", errUncertain, err, rollback)
		}
	}
	return err
}

// leastFree is how much of the disk a write leaves free: part of the reserve that Room keeps for it.
const leastFree = spool.Reserve / 4

// bytes are about how many a write takes: in the log, and from there in the file.
func (c *change) bytes() (n int64) {
	for _, r := range c.rows {
		n += int64(len(r.body))
	}
	for _, r := range c.releases {
		n += int64(len(r.payload))
	}
	if c.sums != nil {
		n += int64(len(c.sums.text) + len(c.sums.segment))
	}
	return 2 * n
}

func (l *file) insert(c change) error {
	if l.format == 0 { // a new file
		if err := l.db.Exec(fmt.Sprintf("PRAGMA application_id=%d;", applicationID) + schema); err != nil {
			return err
		}
		if err := errors.Join(l.openMark(), l.prepare()); err != nil {
			return err
		}
	}
	if l.format != format { // an older program must not go on in a file with records that it does not know
		if err := l.db.Exec(fmt.Sprintf("PRAGMA user_version=%d", format)); err != nil {
			return err
		}
	}
	for _, seq := range c.gone {
		if err := run(l.deleteRelease, seq); err != nil {
			return err
		}
	}
	for _, r := range c.releases {
		if err := run(l.insertRelease, r.seq, r.payload); err != nil {
			return err
		}
	}
	for _, r := range c.rows {
		if err := run(l.insertRecord, r.seq, r.body, r.hash[:]); err != nil {
			return err
		}
	}
	if c.sums != nil {
		return l.insertSums(*c.sums)
	}
	return nil
}

// end gives the turn up.
func (l *file) end() {
	if l.db != nil && !l.db.GetAutocommit() {
		_ = l.db.Exec("ROLLBACK") // where that fails the next begin does too
	}
}

func (l *file) shared() bool { return false }

func (l *file) close() error {
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

// run executes a prepared statement over a number and blobs.
func run(s *sqlite3.Stmt, seq int64, blobs ...[]byte) error {
	if err := s.BindInt64(1, seq); err != nil {
		return err
	}
	for i, b := range blobs {
		if len(b) == 0 { // an empty slice would bind NULL
			if err := s.BindZeroBlob(i+2, 0); err != nil {
				return err
			}
		} else if err := s.BindBlob(i+2, b); err != nil {
			return err
		}
	}
	return errors.Join(s.Exec(), s.ClearBindings())
}

// inUse tells a file that another process holds from one that fails.
func inUse(err error) error {
	switch {
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED):
		return ErrInUse
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
	err = stmt.Err()
	if again := stmt.Close(); err == nil { // it gives the same error again
		err = again
	}
	return text, err
}

// SyncDir makes a new file's name durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
