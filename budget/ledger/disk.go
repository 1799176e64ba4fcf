package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dpsql/dpsql/internal/spool"
)

// spoolDisk is the file system. Tests put one that fails, or forgets what was not synced, in its place.
type spoolDisk interface {
	create(path string) (spoolFile, error) // which must not be there; its folder is made
	open(path string) (spoolFile, error)
	remove(path string) error
	list(dir string) ([]string, error) // none where there is no folder
	syncDir(dir string) error          // so that its names are durable
	free(dir string) (int64, error)    // bytes that can be written there
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

// SyncDir makes a new file's name durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// scratchFile is a spool without a name.
func scratchFile(dir string) (spoolFile, error) { return spool.Scratch(dir) }

// room is an error where so many bytes more would leave less of a ledger's disk free than is kept.
func room(disk spoolDisk, beside string, bytes, keep int64) error {
	free, err := disk.free(filepath.Dir(beside))
	if err != nil {
		return err
	}
	return spool.Room(free, bytes, keep)
}
