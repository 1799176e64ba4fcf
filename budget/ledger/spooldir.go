package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/spool"
)

// spoolDir keeps spools in a folder beside a SQLite ledger: a file for each, named by its reservation.
type spoolDir struct {
	dir  string
	disk spoolDisk
}

// spoolDisk is the file system. Tests put one that fails, or forgets what was not synced, in its place.
type spoolDisk interface {
	create(path string) (spoolFile, error) // which must not be there; its folder is made
	open(path string) (spoolFile, error)
	remove(path string) error
	list(dir string) ([]string, error) // none where there is no folder
	syncDir(dir string) error          // so that its names are durable
	free(dir string) (int64, error)    // bytes that can be written there
}

const (
	spoolFolder = "-spool"
	spoolSuffix = ".spool"
)

func (d spoolDir) path(reservation int64) string {
	return filepath.Join(d.dir, fmt.Sprint(reservation)+spoolSuffix)
}

func (d spoolDir) create(reservation int64) (spoolFile, func() error, error) {
	f, err := d.disk.create(d.path(reservation))
	return f, func() error { return d.remove(reservation) }, err
}

func (d spoolDir) remove(reservation int64) error { return d.disk.remove(d.path(reservation)) }

// keep syncs the file, its name, and the folder's.
func (d spoolDir) keep(_ int64, f spoolFile, _ SpoolRef) error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := d.disk.syncDir(d.dir); err != nil {
		return err
	}
	return d.disk.syncDir(filepath.Dir(d.dir))
}

func (d spoolDir) open(reservation int64) (spoolFile, error) {
	return d.disk.open(d.path(reservation))
}

func (d spoolDir) sweep(upTo int64, keep []int64) error {
	names, err := d.disk.list(d.dir)
	for _, name := range names {
		number, ours := strings.CutSuffix(name, spoolSuffix)
		n, bad := strconv.ParseInt(number, 10, 64)
		if _, kept := slices.BinarySearch(keep, n); !ours || bad != nil || n > upTo || kept {
			continue
		}
		err = errors.Join(err, d.remove(n))
	}
	return err
}

func (d spoolDir) scratch() string { return d.dir }

func (d spoolDir) room(bytes int64) error { return room(d.disk, d.dir, bytes, spool.Reserve) }

// room is an error where so many bytes more would leave less of a ledger's disk free than is kept.
func room(disk spoolDisk, beside string, bytes, keep int64) error {
	free, err := disk.free(filepath.Dir(beside))
	if err != nil {
		return err
	}
	return spool.Room(free, bytes, keep)
}

// osDisk is the operating system's.
type osDisk struct{}

func (osDisk) create(path string) (spoolFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

func (osDisk) open(path string) (spoolFile, error) { return os.Open(path) }

func (osDisk) remove(path string) error { return os.Remove(path) }

func (osDisk) list(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (osDisk) syncDir(dir string) error { return SyncDir(dir) }

func (osDisk) free(dir string) (int64, error) { return spool.Free(dir) }

// scratchFile is a spool without a name.
func scratchFile(dir string) (spoolFile, error) { return spool.Scratch(dir) }
