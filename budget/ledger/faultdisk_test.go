package ledger

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// memory is a disk in memory whose power can be cut. What was not synced since is then kept, lost or torn, sector by sector; a file that was
// never synced may not be there. Each operation that changes something is a step, at which it can fail.
type memory struct {
	mu    sync.Mutex
	files map[string]*inode
	steps int
	fault func(step int) error // nil: none
	liar  bool                 // a sync that does nothing: what a removed one would be
}

type inode struct {
	now, synced []byte
	known       bool // its name is durable
	unsynced    []span
}

// span is a write since the last sync; a truncation is one without text.
type span struct {
	at   int64
	text []byte
	size int64 // of the file after a truncation
}

const sector = 512

func (m *memory) step() error {
	m.steps++
	if m.fault != nil {
		return m.fault(m.steps)
	}
	return nil
}

// powerCut gives the disk that is found afterwards.
func (m *memory) powerCut(rng *rand.Rand, kept float64) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := &memory{files: map[string]*inode{}}
	for name, f := range m.files {
		if !f.known && rng.Float64() >= kept {
			continue
		}
		text := slices.Clone(f.synced)
		for _, w := range f.unsynced {
			text = w.land(text, rng, kept)
		}
		out.files[name] = &inode{now: text, synced: slices.Clone(text), known: true}
	}
	return out
}

// land does as much of a write as the power was there for.
func (w span) land(text []byte, rng *rand.Rand, kept float64) []byte {
	if w.text == nil {
		if rng.Float64() < kept {
			text = resized(text, w.size)
		}
		return text
	}
	for done := int64(0); done < int64(len(w.text)); {
		n := min(sector-(w.at+done)%sector, int64(len(w.text))-done)
		if rng.Float64() < kept {
			text = resized(text, max(int64(len(text)), w.at+done+n))
			copy(text[w.at+done:], w.text[done:done+n])
		}
		done += n
	}
	return text
}

func resized(text []byte, size int64) []byte {
	if size <= int64(len(text)) {
		return text[:size:size]
	}
	return append(text, make([]byte, size-int64(len(text)))...)
}

func (m *memory) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		if err := m.step(); err != nil {
			return nil, flags, err
		}
		m.files[name] = &inode{}
	}
	return &memoryFile{m, m.files[name]}, flags, nil
}

func (m *memory) Delete(name string, _ bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		return sqlite3.IOERR_DELETE_NOENT
	}
	if err := m.step(); err != nil {
		return err
	}
	delete(m.files, name)
	return nil
}

func (m *memory) Access(name string, _ vfs.AccessFlag) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[name] != nil, nil
}

func (m *memory) FullPathname(name string) (string, error) { return name, nil }

type memoryFile struct {
	disk *memory
	*inode
}

func (f *memoryFile) Close() error { return nil }

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if off >= int64(len(f.now)) {
		return 0, io.EOF
	}
	n := copy(p, f.now[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.step(); err != nil {
		return 0, err
	}
	f.now = resized(f.now, max(int64(len(f.now)), off+int64(len(p))))
	copy(f.now[off:], p)
	f.unsynced = append(f.unsynced, span{at: off, text: slices.Clone(p)})
	return len(p), nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.step(); err != nil {
		return err
	}
	f.now = slices.Clone(resized(f.now, size))
	f.unsynced = append(f.unsynced, span{size: size})
	return nil
}

func (f *memoryFile) Sync(vfs.SyncFlag) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.step(); err != nil {
		return err
	}
	if !f.disk.liar {
		f.synced, f.unsynced, f.known = slices.Clone(f.now), nil, true
	}
	return nil
}

func (f *memoryFile) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.now)), nil
}

func (f *memoryFile) Lock(vfs.LockLevel) error                        { return nil }
func (f *memoryFile) Unlock(vfs.LockLevel) error                      { return nil }
func (f *memoryFile) CheckReservedLock() (bool, error)                { return false, nil }
func (f *memoryFile) SectorSize() int                                 { return sector }
func (f *memoryFile) DeviceCharacteristics() vfs.DeviceCharacteristic { return 0 }

// on opens a ledger over a disk of this kind.
func (m *memory) on(name, path string, head Head) (*SQLite, error) {
	vfs.Register(name, m)
	opt := frequent(dayCache())
	opt.disk = memorySpools{m}
	return openWith(ctx, path, head, opt, func(abs string) (*sqlite3.Conn, error) {
		return sqlite3.OpenFlags(fmt.Sprintf("file:%s?vfs=%s", abs, name), sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE|sqlite3.OPEN_URI)
	})
}
