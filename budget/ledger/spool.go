package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
)

// Spool is a release of many groups as it lies on disk: chunks, each sealed as a stored release is, with its number, so that none can stand in the place of another; of which and how many
// there are the COMMIT record's hash says. It is written once, then read as often as asked, chunk by chunk. A spool that was not committed is gone with Close.
type Spool struct {
	file        spoolFile
	key         *Key
	release     Hash
	reservation int64
	named       SpoolRef
	sum         hash.Hash // while it is written
	room        func(bytes int64) error
	forget      func() error
}

// SpoolRef is what a record says of a spool.
type SpoolRef struct {
	Chunks int   `json:"chunks"`
	Bytes  int64 `json:"bytes"` // as they are stored
	Hash   Hash  `json:"hash"`  // of all of them
}

// validate refuses what no commit writes.
func (r *SpoolRef) validate() error {
	if r != nil && (r.Chunks < 0 || r.Bytes < 0) {
		return errors.New("a spool of negative size")
	}
	return nil
}

// maxChunk limits a chunk, in bytes: what is longer was not written here.
const maxChunk = 64 << 20

// spools keeps them: in files beside the ledger, or in its database. Its methods may be called at once.
type spools interface {
	// create makes the place for a reservation's spool; forget gives it up.
	create(reservation int64) (f spoolFile, forget func() error, err error)
	// keep makes what was written durable; it returns before the record does that names it.
	keep(reservation int64, f spoolFile, of SpoolRef) error
	// open gives a spool that was kept; the error is fs.ErrNotExist where there is none.
	open(reservation int64) (spoolFile, error)
	// remove gives one up.
	remove(reservation int64) error
	// sweep removes those of reservations up to a number that are not among the ones to keep.
	sweep(upTo int64, keep []int64) error
	// scratch is a folder for files that have no name.
	scratch() string
	// room is an error where so many bytes more would take the disk's reserve. A database's disk is its own.
	room(bytes int64) error
}

// spoolFile is a file. Tests put one that fails, or forgets what was not synced, in its place.
type spoolFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
}

// Bytes is how many it has.
func (s *Spool) Bytes() int64 { return s.named.Bytes }

// Add writes one chunk more.
func (s *Spool) Add(chunk []byte) error {
	if s.sum == nil {
		return errors.New("ledger: a spool that is committed does not grow")
	}
	sealed, err := s.key.sealWith(s.binding(s.named.Chunks), chunk)
	if err != nil {
		return err
	}
	text := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(sealed)), uint32(len(sealed))), sealed...)
	if err := s.room(int64(len(text))); err != nil {
		return fmt.Errorf("ledger: spool: %w", err)
	}
	if _, err := s.file.WriteAt(text, s.named.Bytes); err != nil {
		return fmt.Errorf("ledger: spool: %w", err)
	}
	s.sum.Write(text)
	s.named.Chunks++
	s.named.Bytes += int64(len(text))
	return nil
}

func (s *Spool) binding(chunk int) []byte {
	return binary.BigEndian.AppendUint64(binding(s.release, s.reservation), uint64(chunk))
}

// Each gives the chunks in order. A chunk holds until the next.
func (s *Spool) Each(yield func(chunk []byte) error) error {
	n := 0
	return s.walk(func(sealed []byte) (err error) {
		if s.key != nil {
			if sealed, err = s.key.openWith(s.binding(n), sealed); err != nil {
				return fmt.Errorf("ledger: chunk %d of the spool of reservation %d does not open", n+1, s.reservation)
			}
		}
		n++
		return yield(sealed)
	})
}

// walk reads the chunks as they are stored, no further than the record says.
func (s *Spool) walk(use func(sealed []byte) error) error {
	r := io.NewSectionReader(s.file, 0, s.named.Bytes)
	var sealed []byte
	for range s.named.Chunks {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return fmt.Errorf("ledger: the spool of reservation %d: %w", s.reservation, err)
		}
		n := binary.BigEndian.Uint32(size[:])
		if n > maxChunk {
			return fmt.Errorf("ledger: the spool of reservation %d has a chunk of %d bytes", s.reservation, n)
		}
		sealed = slices.Grow(sealed[:0], int(n))[:n]
		if _, err := io.ReadFull(r, sealed); err != nil {
			return fmt.Errorf("ledger: the spool of reservation %d: %w", s.reservation, err)
		}
		if err := use(sealed); err != nil {
			return err
		}
	}
	return nil
}

// Close gives the file free; one that was never committed is gone.
func (s *Spool) Close() error {
	if s == nil || s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	if s.forget != nil {
		err = errors.Join(err, s.forget())
		s.forget = nil
	}
	return err
}

// heldAgainst says what is wrong with a spool's bytes, or "". The error is that of reading them.
func heldAgainst(f spoolFile, want SpoolRef) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, io.NewSectionReader(f, 0, want.Bytes+1))
	if err == nil && (n != want.Bytes || Hash(sum.Sum(nil)) != want.Hash) {
		return "its spool is not the one that was committed", nil
	}
	return "", err
}
