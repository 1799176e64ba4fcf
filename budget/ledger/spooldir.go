package ledger

import (
	"cmp"
	"errors"
	"fmt"
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

func spoolsBeside(path string, disk spoolDisk) spoolDir {
	return spoolDir{path + spoolFolder, cmp.Or[spoolDisk](disk, osDisk{})}
}
