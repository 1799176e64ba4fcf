package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"
	"time"
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

// NewSpool begins the spool of an outstanding reservation's release.
func (l *book) NewSpool(id int64, release Hash) (*Spool, error) {
	if err := l.forServing(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	key, err := l.cache.Key, l.state.checkOutstanding(id)
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	f, forget, err := l.spools.create(id)
	if err != nil {
		return nil, fmt.Errorf("ledger: spool: %w", err)
	}
	return &Spool{file: f, key: key, release: release, reservation: id, sum: sha256.New(), room: l.spools.room, forget: forget}, nil
}

// Scratch is a folder beside the ledger for files that have no name.
func (l *book) Scratch() string { return l.spools.scratch() }

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

// keepSpool makes a release's spool durable, before the record that names it. Where nothing is stored, it has done when its answer has.
func (l *book) keepSpool(s *Spool, id int64, release Hash, ttl time.Duration) (*SpoolRef, error) {
	if s == nil {
		return nil, nil
	}
	if s.reservation != id || s.release != release || s.sum == nil {
		return nil, errors.New("ledger: the spool of another release")
	}
	s.named.Hash = Hash(s.sum.Sum(nil))
	s.sum = nil
	if ttl == 0 {
		return &s.named, nil
	}
	if err := l.spools.keep(id, s.file, s.named); err != nil {
		return nil, fmt.Errorf("ledger: spool: %w", err)
	}
	return &s.named, nil
}

// openSpool opens a committed release's spool and holds it against the record. gone: there is none.
func (l *book) openSpool(ref *storedRef, key Hash) (s *Spool, gone bool, err error) {
	f, err := l.spools.open(ref.reservation)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("ledger: spool: %w", err)
	}
	s = &Spool{file: f, release: key, reservation: ref.reservation, named: *ref.spool}
	if ref.sealed != "" {
		l.mu.Lock()
		s.key = l.cache.Key
		l.mu.Unlock()
	}
	switch reason, err := heldAgainst(f, *ref.spool); {
	case err != nil:
		return nil, false, errors.Join(fmt.Errorf("ledger: spool: %w", err), s.Close())
	case reason != "":
		if err := s.Close(); err != nil {
			return nil, false, fmt.Errorf("ledger: spool: %w", err)
		}
		return nil, false, &BrokenRelease{Seq: ref.seq, Reason: reason}
	}
	return s, false, nil
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

// verifySpool says what is wrong with a commit's spool, which must be there until it expires, or "".
func (l *book) verifySpool(c *Commit, now time.Time) string {
	if c.Spool == nil || !now.Before(c.Expires) {
		return ""
	}
	f, err := l.spools.open(c.Reservation)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "its spool is missing"
	case err != nil:
		return fmt.Sprintf("its spool cannot be read: %v", err)
	}
	defer func() { _ = f.Close() }()
	reason, err := heldAgainst(f, *c.Spool)
	if err != nil {
		return fmt.Sprintf("its spool cannot be read: %v", err)
	}
	return reason
}

// sweepSpools removes what no stored release needs and no outstanding reservation may still write: left by a crash, a failure, or expired. What cannot be removed now is tried again.
//
// A reservation that is neither outstanding nor stored never is again, and all up to the last known record are known.
func (l *book) sweepSpools() error {
	l.mu.Lock()
	upTo, keep := l.state.seq, l.state.open()
	for _, refs := range l.state.stored {
		for _, ref := range refs {
			if ref.spool != nil {
				keep = append(keep, ref.reservation)
			}
		}
	}
	l.mu.Unlock()
	slices.Sort(keep)
	return l.spools.sweep(upTo, keep)
}

// expired drops what has expired where there is much, or a spool among it. Under mu, in a batch that writes.
func (l *book) expired(now time.Time) []int64 {
	many := len(l.state.stored) >= l.sweep || l.state.held.expired(now) >= mostExpired
	spool := !l.state.nextSpool.IsZero() && !l.state.nextSpool.After(now)
	if !many && !spool {
		return nil
	}
	gone := l.state.dropExpired(now)
	l.state.held.dead = 0
	l.unswept = l.unswept || spool
	if many {
		l.sweep = max(firstSweep, 2*len(l.state.stored))
	}
	return gone
}

// sweepExpired removes the spools that expired releases had.
func (l *book) sweepExpired() {
	l.mu.Lock()
	due := l.unswept && l.ready() == nil
	l.unswept = false
	l.mu.Unlock()
	if due {
		_ = l.sweepSpools() // the next one that expires, or a start, tries again
	}
}

// expires notes when a stored release's spool does.
func (s *state) expires(ref storedRef) {
	if ref.spool != nil && (s.nextSpool.IsZero() || ref.expires.Before(s.nextSpool)) {
		s.nextSpool = ref.expires
	}
}

// lookUpSpool opens the spool of a stored release that was found. One that is gone has expired meanwhile, or is missing.
func (l *book) lookUpSpool(ctx context.Context, found *storedRef, key Hash, analyst string) (*Spool, error) {
	s, gone, err := l.openSpool(found, key)
	if err != nil || !gone {
		return s, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.best(key, analyst, l.time()); now == nil || now.seq != found.seq {
		return nil, ctx.Err()
	}
	return nil, &BrokenRelease{Seq: found.seq, Reason: "its spool is missing"}
}

// StoredBytes is what an analyst's stored releases take on disk, large ones in spools too, about. Those that have expired do not count.
func (l *book) StoredBytes(analyst string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serving == nil {
		return 0
	}
	own := l.state.held.of[holder{l.serving.head.Dataset, analyst}]
	if own == nil {
		return 0
	}
	l.state.held.expire(own, l.time())
	return own.bytes
}

// Room is an error where a release of so many bytes would take what stays free of the ledger's disk, so that charges and small releases can still be written. What lies in a database is that database's.
func (l *book) Room(bytes int64) error { return l.spools.room(bytes) }

// measure counts what is stored, once the records are read: a checkpoint does not say how large releases are.
func (l *book) measure() error {
	sizes, err := l.store.sizes()
	if err != nil {
		return err
	}
	var all []*storedRef
	for _, refs := range l.state.stored {
		for i := range refs {
			all = append(all, &refs[i])
		}
	}
	slices.SortFunc(all, func(a, b *storedRef) int { return cmp.Compare(a.seq, b.seq) })
	l.state.held = holdings{}
	for _, ref := range all {
		if ref.bytes = sizes[ref.seq]; ref.spool != nil {
			ref.bytes += ref.spool.Bytes
		}
		l.state.held.add(ref.holder(), ref.ending())
	}
	return nil
}
