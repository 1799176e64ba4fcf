package ledger

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// isDamage is what SQLite says of a file that was cut, or whose pages are not what it wrote.
func isDamage(err error) bool {
	return errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB)
}

// named gives what SQLite says of a damaged file the number of the first record that cannot be read any more. A file that never was a database is foreign, unless a mark says that a ledger was there.
func (l *SQLite) named(err error) error {
	if !isDamage(err) || errors.As(err, new(*CorruptError)) {
		return err
	}
	w, noMark := readMark(l.path)
	if noMark != nil || w.seq == 0 && errors.Is(err, sqlite3.NOTADB) {
		return errors.Join(err, noMark)
	}
	records, whole := l.readable()
	if whole {
		return fmt.Errorf("ledger: the file was cut or written over (%s): its records 1 to %d can be read, what lies beside them can not. Nothing is served from it, and it is kept as it is. %s", sqlite(err), records, restore)
	}
	first := &CorruptError{Seq: records + 1, Reason: fmt.Sprintf("the file was cut or written over (%s)", sqlite(err))}
	if w.seq > 0 {
		first.Reason += fmt.Sprintf(", and its mark is at record %d", w.seq)
	}
	return first
}

// sqlite is SQLite's own word for an error.
func sqlite(err error) string {
	if errors.Is(err, sqlite3.NOTADB) {
		return "it is no SQLite database any more"
	}
	return "SQLite finds it malformed"
}

// readable is how many records from the first can still be read, and whether nothing stops after them. SQLite reads a file that is shorter than it should be only where damage is looked for; nothing is written.
func (l *SQLite) readable() (records int64, whole bool) {
	if l.db == nil {
		return 0, false
	}
	if _, err := l.db.Config(sqlite3.DBCONFIG_WRITABLE_SCHEMA, true); err != nil {
		return 0, false
	}
	st := newState()
	for _, err := range readChain(l.chain(0), st) {
		if err != nil {
			return st.seq, false
		}
	}
	return st.seq, st.seq > 0
}
