package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is the real file layer with an ear and a fault: it notes writes and syncs by kind of file, and can fail them.
type disk struct {
	vfs.VFS
	mu   sync.Mutex
	said []string
	fail func(what string) error
}

func (d *disk) does(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		if err := d.fail(what); err != nil {
			return err
		}
	}
	if len(d.said) == 0 || d.said[len(d.said)-1] != what { // runs of writes as one
		d.said = append(d.said, what)
	}
	return nil
}

func (d *disk) forget() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	said := d.said
	d.said = nil
	return said
}

func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	kind := map[string]string{".ledger": "db", ".ledger-wal": "wal"}[filepath.Ext(name.String())]
	if err := d.does("open " + kind); err != nil {
		return nil, flags, err
	}
	f, flags, err := d.VFS.(vfs.VFSFilename).OpenFilename(name, flags)
	return &diskFile{f, d, kind}, flags, err
}

type diskFile struct {
	vfs.File
	disk *disk
	kind string
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.disk.does("write " + f.kind); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *diskFile) Sync(flags vfs.SyncFlag) error {
	if err := f.disk.does("sync " + f.kind); err != nil {
		return err
	}
	return f.File.Sync(flags)
}

// onDisk opens a ledger over a disk of the test's own.
func onDisk(t *testing.T, path string, d *disk) (*SQLite, error) {
	d.VFS = vfs.Find("")
	vfs.Register(t.Name(), d)
	t.Cleanup(func() { vfs.Unregister(t.Name()) })
	return openWith(ctx, path, demoHead(t), dayCache(), func(abs string) (*sqlite3.Conn, error) {
		return sqlite3.OpenFlags("file:"+abs+"?vfs="+t.Name(), sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI)
	})
}

// Reserve and Commit each return only after the log was synced: a lost sync is a difference here.
func TestEveryChargeIsSynced(t *testing.T) {
	d := &disk{}
	l := must(onDisk(t, tempPath(t), d))(t)
	r := count(t, l.Filter(), "ann", 1, 0.1)
	opening := d.forget()
	if last := opening[len(opening)-1]; last != "sync wal" {
		t.Errorf("the opening ends with %q: %q", last, opening)
	}
	want := []string{"write wal", "sync wal"}
	for range 5 {
		id := must(l.Reserve(ctx, r))(t)
		if got := d.forget(); !slices.Equal(got, want) {
			t.Errorf("Reserve: %q, want %q", got, want)
		}
		if err := l.Commit(ctx, id, Release{Payload: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		if got := d.forget(); !slices.Equal(got, want) {
			t.Errorf("Commit: %q, want %q", got, want)
		}
	}
	for name, write := range map[string]func() error{
		"Freeze":   func() error { return l.Freeze(ctx, "ann", "owner") },
		"SetEpoch": func() error { return l.setEpoch("2") },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
		if got := d.forget(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// A full disk refuses the charge; once there is room the ledger may go on or ask for a restart, but never forgets a charge.
func TestFailingDisk(t *testing.T) {
	for _, what := range []string{"write wal", "sync wal"} {
		t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
			d, path := &disk{}, tempPath(t)
			l := must(onDisk(t, path, d))(t)
			r := count(t, l.Filter(), "ann", 1, 0.1)
			must(l.Reserve(ctx, r))(t)
			d.fail = func(op string) error {
				if op == what {
					return fmt.Errorf("%s: %w", op, syscall.EIO)
				}
				return nil
			}
			if id, err := l.Reserve(ctx, r); err == nil {
				t.Fatalf("reservation %d, though its record is not on disk", id)
			}
			if err := l.Freeze(ctx, "bob", "owner"); err == nil {
				t.Fatal("a freeze, though its record is not on disk")
			}
			d.fail = nil
			admitted := int64(1)
			if _, err := l.Reserve(ctx, r); err == nil {
				admitted++
			} else if !errors.Is(err, ErrBroken) {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, path, demoHead(t), dayCache())
			if b := must(again.balance("ann", 1))(t); b.Dataset.Statements < admitted {
				t.Errorf("%d statements on disk, %d were admitted", b.Dataset.Statements, admitted)
			}
			if err := again.Verify(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// A mark that cannot be moved stops the ledger, and what was charged stays.
func TestFailingMark(t *testing.T) {
	path := tempPath(t)
	l := open(t, path, demoHead(t), dayCache())
	r := count(t, l.Filter(), "ann", 1, 0.1)
	file := l.mark.file
	l.mark.file = must(os.Open(path + MarkSuffix))(t) // read-only
	if _, err := l.Reserve(ctx, r); err == nil {
		t.Fatal("no error")
	}
	if _, err := l.Reserve(ctx, r); !errors.Is(err, ErrBroken) {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	l = reopen(t, l, path, demoHead(t), dayCache())
	if b := must(l.balance("ann", 1))(t); b.Dataset.Statements != 1 {
		t.Errorf("%+v", b)
	}
}

// Where the log cannot be made, the ledger does not start.
func TestNoLogNoLedger(t *testing.T) {
	d := &disk{fail: func(op string) error {
		if op == "open wal" {
			return fmt.Errorf("%s: %w", op, syscall.EACCES)
		}
		return nil
	}}
	l, err := onDisk(t, tempPath(t), d)
	if err == nil {
		t.Fatal(errors.Join(errors.New("it started"), l.Close()))
	}
	t.Log(err)
}
