package ledger

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"github.com/dpsql/dpsql/internal/spool"
)

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

// The records can only be added to; releases are dropped when they expire.
const schema = `
CREATE TABLE records (seq INTEGER PRIMARY KEY, body BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
CREATE TABLE releases (seq INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT;
CREATE TRIGGER records_stay BEFORE DELETE ON records BEGIN SELECT raise(ABORT, 'records are append-only'); END;
CREATE TRIGGER records_keep BEFORE UPDATE ON records BEGIN SELECT raise(ABORT, 'records are append-only'); END;
`

// sumsSchema is for a file that has checkpoints.
const sumsSchema = `
CREATE TABLE IF NOT EXISTS sums (seq INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS segments (seq INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
`

// connector opens the database file; tests put a file layer that counts or fails under SQLite.
type connector func(abs string) (*sqlite3.Conn, error)

func connect(abs string) (*sqlite3.Conn, error) {
	return sqlite3.OpenFlags(abs, sqlite3.OPEN_READWRITE|sqlite3.OPEN_NOFOLLOW)
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

// insertSums keeps a checkpoint's sums in place of older ones, and its segment beside them.
func (l *file) insertSums(c sumsChange) error {
	err := l.db.Exec(sumsSchema + "DELETE FROM sums")
	if err != nil {
		return err
	}
	once := func(sql string, seq int64, blobs ...[]byte) error {
		stmt, _, err := l.db.Prepare(sql)
		if err != nil {
			return err
		}
		return errors.Join(run(stmt, seq, blobs...), stmt.Close())
	}
	err = once("INSERT INTO sums (seq, body) VALUES (?, ?)", c.seq, c.text)
	if err == nil && c.segment != nil {
		err = once("INSERT INTO segments (seq, body) VALUES (?, ?)", c.seq, c.segment)
	}
	for _, seq := range c.gone {
		err = errors.Join(err, once("DELETE FROM segments WHERE seq = ?", seq))
	}
	return err
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
