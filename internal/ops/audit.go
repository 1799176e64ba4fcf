package ops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
)

// Audit writes lines of JSON for each private statement: who, when, canonical plan, charge, outcome. The plan holds the
// analyst's own constants, so the file is readable by its owner alone. The ledger, not this file, is what charges rest on: a line that
// cannot be written is logged and counted, and the statement's answer goes out.
//
// A charge has a line of its own, which is on disk before the first private row is read. So no answer was ever seen whose charge has no line, in the file or,
// where it could not be written, in the server's log.
type Audit struct {
	mu    sync.Mutex
	path  string
	file  *os.File
	cut   bool  // the file may end within a line
	wrote int64 // lines
	log   *slog.Logger
	now   func() time.Time
	disk  func(*os.File) error // makes what was written durable

	syncing sync.Mutex // taken before mu
	synced  int64      // of wrote

	failures atomic.Int64
	failing  atomic.Bool
}

// OpenAudit opens a file to append to, creating it with mode 0600.
func OpenAudit(path string, log *slog.Logger) (*Audit, error) {
	return openAudit(path, log, syncFile)
}

func openAudit(path string, log *slog.Logger, disk func(*os.File) error) (*Audit, error) {
	a := &Audit{path: path, log: log, now: time.Now, disk: disk}
	return a, a.Reopen()
}

// Reopen closes the file and opens it again: after it was moved away by a log rotation.
func (a *Audit) Reopen() error {
	a.syncing.Lock()
	defer a.syncing.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := a.create()
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	old := a.file
	a.file, a.cut = f, endsWithinLine(a.path)
	return a.end(old)
}

// create opens the file. A new one is there only when its name is durable.
func (a *Audit) create() (*os.File, error) {
	const flags, mode = os.O_WRONLY | os.O_APPEND | os.O_CREATE, 0o600
	f, err := os.OpenFile(a.path, flags|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return os.OpenFile(a.path, flags, mode)
	}
	if err != nil {
		return nil, err
	}
	folder, err := os.Open(filepath.Dir(a.path))
	if err == nil {
		err = errors.Join(a.disk(folder), folder.Close())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(a.path))
	}
	return f, nil
}

// end syncs and closes a file. Under syncing and mu.
func (a *Audit) end(f *os.File) error {
	if f == nil {
		return nil
	}
	err := a.disk(f)
	if err == nil {
		a.synced = a.wrote
	}
	return errors.Join(err, f.Close())
}

// syncFile makes what was written durable. A pipe or a device has nothing to sync.
func syncFile(f *os.File) error {
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// endsWithinLine says whether a file's last line has no end, as after a full disk.
func endsWithinLine(path string) bool {
	f, err := os.Open(path) //nolint:gosec // G304: the owner names the path
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it was read
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	last := []byte{0}
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

// Failing says whether the last line could not be written.
func (a *Audit) Failing() bool { return a.failing.Load() }

// line is one entry.
type line struct {
	Time        time.Time      `json:"time"`
	Analyst     string         `json:"analyst"`
	Outcome     server.Outcome `json:"outcome"`
	Error       string         `json:"error,omitempty"`
	Statement   string         `json:"statement"` // key of the release: the ledger's records name it too
	Reservation int64          `json:"reservation,omitempty"`
	Price       float64        `json:"price,omitempty"`
	Epsilon     *float64       `json:"epsilon,omitempty"` // none: not bounded by a pure epsilon
	Renyi       float64        `json:"renyi,omitempty"`
	Order       float64        `json:"order,omitempty"`
	Delta       float64        `json:"delta,omitempty"`
	Plan        string         `json:"plan"`
}

// Charged appends the line of a charge, and returns when it is on disk.
func (a *Audit) Charged(h server.AuditEvent) { a.append(h, true) }

// Ended appends the line of a statement that ended.
func (a *Audit) Ended(h server.AuditEvent) { a.append(h, false) }

func (a *Audit) append(h server.AuditEvent, durably bool) {
	key, err := h.Statement.MarshalText()
	if err == nil {
		l := line{Analyst: h.Analyst, Outcome: h.Outcome, Error: h.Error, Statement: string(key), Reservation: h.Reservation, Price: h.Price, Plan: sqltype.CutText(h.Plan, ledger.MaxText)}
		if h.Reservation != 0 {
			l.Renyi, l.Order, l.Delta = h.Loss.Renyi, h.Order, h.Loss.Delta
			if !math.IsInf(h.Loss.Pure, 1) {
				l.Epsilon = &h.Loss.Pure
			}
			if math.IsInf(l.Renyi, 1) {
				l.Renyi = 0
			}
		}
		var number int64
		if number, err = a.write(&l); err == nil && durably {
			err = a.sync(number)
		}
	}
	a.failing.Store(err != nil)
	if err != nil {
		a.failures.Add(1)
		a.log.Error("the audit log could not be written", "error", err.Error(), "analyst", h.Analyst, "outcome", h.Outcome, "reservation", h.Reservation, "price", h.Price)
	}
}

// write appends a line and gives its number.
func (a *Audit) write(l *line) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l.Time = a.now().UTC()
	text, err := json.Marshal(l)
	if err != nil {
		return 0, err
	}
	if a.file == nil {
		return 0, errors.New("closed")
	}
	text = append(text, '\n')
	if a.cut { // what was cut gets its end
		text = append([]byte{'\n'}, text...)
	}
	if n, err := a.file.Write(text); err != nil {
		a.cut = a.cut && n == 0 || n > 0
		return 0, err
	}
	a.cut = false
	a.wrote++
	return a.wrote, nil
}

// sync returns when the line of that number is on disk. One sync is for all lines that were written before it began.
func (a *Audit) sync(number int64) error {
	a.syncing.Lock()
	defer a.syncing.Unlock()
	if a.synced >= number {
		return nil
	}
	a.mu.Lock()
	file, wrote := a.file, a.wrote
	a.mu.Unlock()
	if file == nil {
		return errors.New("closed")
	}
	if err := a.disk(file); err != nil {
		return err
	}
	a.synced = wrote
	return nil
}

// Close closes the file.
func (a *Audit) Close() error {
	a.syncing.Lock()
	defer a.syncing.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.file
	a.file = nil
	return a.end(f)
}
