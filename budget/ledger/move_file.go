package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
)

// openSource takes the ledger of a place from everybody else, also one that has departed.
func openSource(ctx context.Context, from Place) (*book, source, error) {
	if from.SQLite != "" {
		l, err := openFileToMove(ctx, from.SQLite)
		if err != nil {
			return nil, nil, err
		}
		return l.book, l.file, nil
	}
	l, err := openServerToMove(ctx, from.Postgres)
	if err != nil {
		return nil, nil, err
	}
	return l.book, l.server, nil
}

func openLanding(to Place) (landing, error) {
	if to.SQLite != "" {
		abs, err := filepath.Abs(to.SQLite)
		return &fileLanding{path: abs}, err
	}
	return newServerLanding(to.Postgres)
}

func openFileToMove(ctx context.Context, path string) (*SQLite, error) {
	return take(ctx, path, Options{}, func(l *SQLite) error {
		l.opening.moving = true
		return l.openExisting()
	})
}

// alone: a file has one owner.
func (l *file) alone(context.Context) error { return nil }

func (l *file) asides(name string) iter.Seq2[aside, error] {
	return func(yield func(aside, error) bool) {
		if n, err := queryText(l.db, "SELECT count(*) FROM sqlite_schema WHERE name = '"+name+"'"); err != nil || n == "0" {
			if err != nil {
				yield(aside{}, damaged(err))
			}
			return
		}
		stmt, _, err := l.db.Prepare("SELECT seq, " + asideTables[name] + " FROM " + name + " ORDER BY seq")
		if err != nil {
			yield(aside{}, damaged(err))
			return
		}
		more := true
		for more && stmt.Step() {
			more = yield(aside{stmt.ColumnInt64(0), stmt.ColumnBlob(1, []byte{})}, nil)
		}
		if err := errors.Join(stmt.Err(), stmt.Close()); err != nil && more {
			yield(aside{}, damaged(err))
		}
	}
}

// fileLanding makes a file under another name, and gives it its own when it is whole.
type fileLanding struct {
	path string
	file *file // nil before stage
}

// landingSuffix ends the name of a file that is not whole yet.
const landingSuffix = "-moving"

func (d *fileLanding) there(ctx context.Context) (*book, error) {
	if none, err := emptyFile(d.path); none || err != nil {
		return nil, err
	}
	l, err := openFileToMove(ctx, d.path)
	if err != nil {
		return nil, err
	}
	return l.book, nil
}

// emptyFile says whether there is nothing: also where a server was refused by the mark, which leaves a database without a table.
func emptyFile(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	f := &file{path: path}
	isNew, err := f.connect(connect, true)
	return isNew, errors.Join(err, f.close())
}

func (d *fileLanding) mark(w waterline) error { return moveMark(d.path, w) }

func (d *fileLanding) stage(_ context.Context, rows iter.Seq2[row, error], asides func(string) iter.Seq2[aside, error]) (err error) {
	temp := d.path + landingSuffix
	for _, end := range []string{"", "-wal", "-shm", "-journal"} { // of a move that was cut
		if err := os.Remove(temp + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return err
	}
	d.file = &file{path: temp}
	if _, err := d.file.connect(connect, true); err != nil {
		return err
	}
	db := d.file.db
	if err := db.Exec(fmt.Sprintf("BEGIN IMMEDIATE; PRAGMA application_id=%d; PRAGMA user_version=%d;%s", applicationID, format, schema+sumsSchema)); err != nil {
		return err
	}
	insert, _, err := db.Prepare("INSERT INTO records (seq, body, hash) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	for one, err := range rows {
		if err != nil {
			return err
		}
		if err := run(insert, one.seq, one.body, one.hash[:]); err != nil {
			return err
		}
	}
	for name, column := range asideTables {
		if err := d.fill("INSERT INTO "+name+" (seq, "+column+") VALUES (?, ?)", asides(name)); err != nil {
			return err
		}
	}
	return db.Exec("COMMIT")
}

func (d *fileLanding) fill(sql string, asides iter.Seq2[aside, error]) (err error) {
	var stmt *sqlite3.Stmt
	if stmt, _, err = d.file.db.Prepare(sql); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	for one, err := range asides {
		if err != nil {
			return err
		}
		if err := run(stmt, one.seq, one.body); err != nil {
			return err
		}
	}
	return nil
}

func (d *fileLanding) staged() (store, source) { return d.file, d.file }

// publish gives the file its name. A file that came there meanwhile stays.
func (d *fileLanding) publish(context.Context) error {
	if err := d.close(); err != nil { // which brings the write-ahead log into the file
		return err
	}
	temp := d.path + landingSuffix
	f, err := os.OpenFile(temp, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if none, err := emptyFile(d.path); none && err == nil {
		if err := os.Remove(d.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Link(temp, d.path); err != nil {
		return err
	}
	if err := SyncDir(filepath.Dir(d.path)); err != nil {
		return err
	}
	return os.Remove(temp)
}

func (d *fileLanding) close() error {
	if d.file == nil {
		return nil
	}
	f := d.file
	d.file = nil
	return f.close()
}
