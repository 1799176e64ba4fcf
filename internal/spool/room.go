package spool

import (
	"fmt"
	"math"
	"syscall"
)

// Reserve is how many bytes stay free on the ledger's disk, so that its records can still be written: releases, what is sorted, and rows of trainings end before.
const Reserve = 64 << 20

// Free is how many bytes can be written to a folder's disk.
func Free(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("spool: %w", err)
	}
	return int64(min(uint64(st.Bavail)*uint64(st.Bsize), math.MaxInt64)), nil //nolint:gosec,unconvert // other systems have other types
}

// Room is an error where so many bytes more would leave less than a part of the disk free.
func Room(free, bytes, keep int64) error {
	if free-bytes < keep {
		return fmt.Errorf("spool: of the disk %d bytes are free, and %d stay so: %w", free, keep, syscall.ENOSPC)
	}
	return nil
}
