package spool

import (
	"container/heap"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Order says how items are compared, how much memory one takes about, and how it is written.
type Order[T any] struct {
	Compare func(a, b T) int
	Size    func(T) int
	Append  func(dst []byte, v T) []byte
	Read    func(b []byte) (v T, rest []byte, err error)
}

// Limits are a sorter's.
type Limits struct {
	Dir    string // where the file is, without a name: it is gone with the process
	Memory int    // bytes of items that are held until they are written, about
	Items  int    // as many items at most are held; 0: Memory alone decides
	File   int64  // bytes of the file, at most
}

// ErrLarge is a file that would be over its limit.
var ErrLarge = errors.New("spool: the file would be over its limit")

// Sorter takes items in and gives them in order: those that are equal as they came. Up to its limits it holds them; what is more goes to disk, sorted, in runs, and is merged as
// it is read. The file has no name, and its blocks are encrypted (AES-256-GCM) with a key that is in memory alone.
type Sorter[T any] struct {
	order  Order[T]
	limits Limits
	held   []T
	bytes  int
	count  int
	runs   []run
	file   *os.File
	end    int64
	aead   cipher.AEAD
	blocks uint64
}

// run is a part of the file in order; first is its first block's number.
type run struct {
	at, end int64
	first   uint64
}

// blockBytes is about how much one read and its key stream are for: each run has one in memory while they are merged.
const blockBytes = 16 << 10

// NewSorter makes an empty one.
func NewSorter[T any](o Order[T], l Limits) *Sorter[T] { return &Sorter[T]{order: o, limits: l} }

// Len is how many items it has.
func (s *Sorter[T]) Len() int { return s.count }

// Spilled says whether there is more than it holds in memory.
func (s *Sorter[T]) Spilled() bool { return len(s.runs) > 0 }

// Bytes is how many there are on disk.
func (s *Sorter[T]) Bytes() int64 { return s.end }

// Add takes an item in.
func (s *Sorter[T]) Add(v T) error {
	s.held = append(s.held, v)
	s.bytes += s.order.Size(v)
	s.count++
	if s.bytes >= s.limits.Memory || s.limits.Items > 0 && len(s.held) > s.limits.Items {
		return s.spill()
	}
	return nil
}

// spill writes what is held as a run.
func (s *Sorter[T]) spill() error {
	if s.file == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	slices.SortStableFunc(s.held, s.order.Compare)
	r := run{at: s.end, first: s.blocks}
	var block []byte
	for _, v := range s.held {
		if block = s.order.Append(block, v); len(block) >= blockBytes {
			if err := s.write(block); err != nil {
				return err
			}
			block = block[:0]
		}
	}
	if len(block) > 0 {
		if err := s.write(block); err != nil {
			return err
		}
	}
	r.end = s.end
	s.runs = append(s.runs, r)
	clear(s.held)
	s.held, s.bytes = s.held[:0], 0
	return nil
}

func (s *Sorter[T]) open() (err error) {
	if s.file, err = Scratch(s.limits.Dir); err != nil {
		return err
	}
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		return err
	}
	s.aead, err = cipher.NewGCM(block)
	return err
}

// Scratch makes a file without a name in a folder, which is made where there is none.
func Scratch(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "scratch-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// nonce is a block's number: the key is of one sorter, which writes each once.
func (s *Sorter[T]) nonce(block uint64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, s.aead.NonceSize()-8), block)
}

func (s *Sorter[T]) write(plain []byte) error {
	out := s.aead.Seal(make([]byte, 4, 4+len(plain)+s.aead.Overhead()), s.nonce(s.blocks), plain, nil)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	if s.end+int64(len(out)) > s.limits.File {
		return ErrLarge
	}
	free, err := Free(s.limits.Dir)
	if err == nil {
		err = Room(free, int64(len(out)), Reserve)
	}
	if err != nil {
		return err
	}
	n, err := s.file.WriteAt(out, s.end)
	s.end += int64(n)
	s.blocks++
	return err
}

// Each gives all items in order, as often as it is called. Nothing may be added any more.
func (s *Sorter[T]) Each(yield func(T) error) error {
	slices.SortStableFunc(s.held, s.order.Compare) // the last to come: after equal ones of all runs
	m := &merge[T]{sorter: s}
	for i, r := range s.runs {
		c := &cursor[T]{run: r, number: i}
		more, err := c.next(s)
		if err != nil {
			return err
		}
		if more {
			m.cursors = append(m.cursors, c)
		}
	}
	if len(s.held) > 0 {
		m.cursors = append(m.cursors, &cursor[T]{number: len(s.runs), now: s.held[0], held: s.held[1:]})
	}
	heap.Init(m)
	for len(m.cursors) > 0 {
		c := m.cursors[0]
		if err := yield(c.now); err != nil {
			return err
		}
		switch more, err := c.next(s); {
		case err != nil:
			return err
		case more:
			heap.Fix(m, 0)
		default:
			heap.Pop(m)
		}
	}
	return nil
}

// Close gives memory and disk free.
func (s *Sorter[T]) Close() error {
	s.held, s.runs = nil, nil
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}

// cursor reads a run, or what is held.
type cursor[T any] struct {
	run
	number int
	now    T
	held   []T
	block  []byte
	sealed []byte
}

// next takes the next item up.
func (c *cursor[T]) next(s *Sorter[T]) (more bool, err error) {
	switch {
	case len(c.held) > 0:
		c.now, c.held = c.held[0], c.held[1:]
		return true, nil
	case len(c.block) == 0 && c.at >= c.end:
		return false, nil
	case len(c.block) == 0:
		if err := c.read(s); err != nil {
			return false, fmt.Errorf("spool: %w", err)
		}
	}
	c.now, c.block, err = s.order.Read(c.block)
	return err == nil, err
}

func (c *cursor[T]) read(s *Sorter[T]) error {
	var size [4]byte
	if _, err := s.file.ReadAt(size[:], c.at); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(size[:]))
	if c.at+4+n > c.end {
		return errors.New("a block is longer than its run")
	}
	c.sealed = slices.Grow(c.sealed[:0], int(n))[:n]
	if _, err := s.file.ReadAt(c.sealed, c.at+4); err != nil {
		return err
	}
	plain, err := s.aead.Open(c.sealed[:0], s.nonce(c.first), c.sealed, nil)
	if err != nil {
		return err
	}
	c.block, c.at, c.first = plain, c.at+4+n, c.first+1
	return nil
}

// merge is the heap of what is read next.
type merge[T any] struct {
	sorter  *Sorter[T]
	cursors []*cursor[T]
}

func (m *merge[T]) Len() int { return len(m.cursors) }

func (m *merge[T]) Less(i, j int) bool {
	a, b := m.cursors[i], m.cursors[j]
	if c := m.sorter.order.Compare(a.now, b.now); c != 0 {
		return c < 0
	}
	return a.number < b.number
}

func (m *merge[T]) Swap(i, j int) { m.cursors[i], m.cursors[j] = m.cursors[j], m.cursors[i] }

func (m *merge[T]) Push(any) { panic("spool: nothing is pushed") }

func (m *merge[T]) Pop() any {
	last := m.cursors[len(m.cursors)-1]
	m.cursors = m.cursors[:len(m.cursors)-1]
	return last
}
