package data

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"os"
	"sync"
)

// Limits are what a table's features may take: Memory bytes, and of what is more Disk bytes of a file, which File makes: one without a name. Without Memory all is in memory. Rows is how many there may be; 0: any number.
type Limits struct {
	Rows   int
	Memory int
	Disk   int64
	File   func() (*os.File, error)
}

// ErrLarge is a table that would be over its limits.
var ErrLarge = errors.New("data: the rows would be over their limits")

var errDisk = errors.New("data: what was written to disk cannot be read again")

// Spill sets limits, before the first row.
func (b *Builder) Spill(l Limits) { b.limits = l }

// disk has the features of chunks, each sealed (AES-256-GCM) with its number; the key is in memory alone and of one table, so no number is used twice.
type disk struct {
	file *os.File
	aead cipher.AEAD
	end  int64
	at   map[int]int64 // of a chunk

	buffer []byte // of spill

	mu   sync.Mutex
	err  error     // the first of reading
	all  []*Cursor // that have memory
	free []*Cursor // of them, those that are closed

	copying sync.Mutex
	own     *Cursor // of copied
}

// close gives the file, which has no name, free.
func (d *disk) close() {
	if d == nil {
		return
	}
	for _, c := range d.all {
		clear(c.held)
	}
	_ = d.file.Close() // nothing of it is read any more
}

// Two bytes hold a value: it is a whole number of Steps, of size 1 at most (Builder.Add).
const valueBytes = 2

// spill writes the last chunk, which is full, to disk, and gives its memory back.
func (b *Builder) spill() ([]float32, error) {
	t := b.t
	if t.disk == nil {
		d := &disk{at: map[int]int64{}}
		var key [32]byte
		if _, err := rand.Read(key[:]); err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key[:])
		if err != nil {
			return nil, err
		}
		if d.aead, err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
		if d.file, err = b.limits.File(); err != nil {
			return nil, err
		}
		t.disk = d
	}
	chunk := len(t.x) - 1
	x := t.x[chunk]
	d := t.disk
	if d.buffer == nil {
		d.buffer = make([]byte, 0, valueBytes*len(x)+d.aead.Overhead())
	}
	plain := d.buffer
	for _, v := range x {
		plain = binary.LittleEndian.AppendUint16(plain, uint16(int16(v/Step))) //nolint:gosec // at most 2^14
	}
	sealed := d.aead.Seal(plain[:0], d.nonce(chunk), plain, nil) // in its place: no plain copy is left
	if d.end+int64(len(sealed)) > b.limits.Disk {
		return nil, ErrLarge
	}
	if _, err := d.file.WriteAt(sealed, d.end); err != nil {
		return nil, err
	}
	d.at[chunk] = d.end
	d.end += int64(len(sealed))
	t.x[chunk] = nil
	return x, nil
}

func (d *disk) nonce(chunk int) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, d.aead.NonceSize()-8), uint64(chunk)) //nolint:gosec // a count
}

// load reads a chunk.
func (d *disk) load(chunk int, into []float32, buffer []byte) error {
	if _, err := d.file.ReadAt(buffer, d.at[chunk]); err != nil {
		return err
	}
	plain, err := d.aead.Open(buffer[:0], d.nonce(chunk), buffer, nil)
	if err != nil {
		return errDisk
	}
	for i := range into {
		into[i] = float32(int16(binary.LittleEndian.Uint16(plain[valueBytes*i:]))) * Step //nolint:gosec // its sign
	}
	clear(plain)
	return nil
}

// Err is the first failure of reading what is on disk: rows that were read since may be zeros, and nothing that was computed of them may be released.
func (t *Table) Err() error {
	if t.disk == nil {
		return nil
	}
	t.disk.mu.Lock()
	defer t.disk.mu.Unlock()
	return t.disk.err
}

// OnDisk is how many bytes are on disk: a secret.
func (t *Table) OnDisk() int64 {
	if t.disk == nil {
		return 0
	}
	return t.disk.end
}

// Cursor reads rows one after the other, with one chunk of those on disk in memory. Each goroutine has its own.
type Cursor struct {
	table  *Table
	chunk  int
	held   []float32
	buffer []byte
}

// Cursor begins a reading.
func (t *Table) Cursor() *Cursor {
	if d := t.disk; d != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if n := len(d.free); n > 0 {
			c := d.free[n-1]
			d.free = d.free[:n-1]
			return c
		}
	}
	return &Cursor{table: t, chunk: -1}
}

// Close ends it; what it holds serves the next, and is overwritten with the table.
func (c *Cursor) Close() {
	if c.held == nil {
		return
	}
	d := c.table.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = append(d.free, c)
}

// Row is one row's features, not to be changed, until the next call.
func (c *Cursor) Row(i int) []float32 {
	t := c.table
	x := t.x[i>>t.shift]
	if x == nil {
		x = c.load(i >> t.shift)
	}
	at := (i & (1<<t.shift - 1)) * t.width
	return x[at : at+t.width : at+t.width]
}

func (c *Cursor) load(chunk int) []float32 {
	if chunk == c.chunk {
		return c.held
	}
	t := c.table
	d, n := t.disk, t.width<<t.shift
	if c.held == nil {
		c.held, c.buffer = make([]float32, n), make([]byte, valueBytes*n+d.aead.Overhead())
		d.mu.Lock()
		d.all = append(d.all, c)
		d.mu.Unlock()
	}
	c.chunk = chunk
	if err := d.load(chunk, c.held, c.buffer); err != nil {
		clear(c.held)
		d.mu.Lock()
		if d.err == nil {
			d.err = err
		}
		d.mu.Unlock()
	}
	return c.held
}

// copied is a copy of a row that is on disk.
func (t *Table) copied(i int) []float32 {
	d := t.disk
	d.copying.Lock()
	defer d.copying.Unlock()
	if d.own == nil {
		d.own = t.Cursor()
	}
	return append([]float32(nil), d.own.Row(i)...)
}
