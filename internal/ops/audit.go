package ops

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"time"

	"github.com/dpsql/dpsql/internal/engine"
)

// Audit writes one line of JSON for each private statement: who, when, canonical plan, charge, outcome. The plan holds the
// analyst's own constants, so the file is readable by its owner alone. The ledger, not this file, is what charges rest on: a line that
// cannot be written is logged, and the statement's answer goes out.
type Audit struct {
	mu   sync.Mutex
	path string
	file *os.File
	log  *slog.Logger
	now  func() time.Time
}

// OpenAudit opens a file to append to, creating it with mode 0600.
func OpenAudit(path string, log *slog.Logger) (*Audit, error) {
	a := &Audit{path: path, log: log, now: time.Now}
	return a, a.Reopen()
}

// Reopen closes the file and opens it again: after it was moved away by a log rotation.
func (a *Audit) Reopen() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := os.OpenFile(a.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	old := a.file
	a.file = f
	if old == nil {
		return nil
	}
	return old.Close()
}

// line is one entry.
type line struct {
	Time        time.Time      `json:"time"`
	Analyst     string         `json:"analyst"`
	Outcome     engine.Outcome `json:"outcome"`
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

// Heard appends one line.
func (a *Audit) Heard(h engine.Heard) {
	key, err := h.Statement.MarshalText()
	if err == nil {
		l := line{Analyst: h.Analyst, Outcome: h.Outcome, Error: h.Error, Statement: string(key), Reservation: h.Reservation, Price: h.Price, Plan: h.Plan}
		if h.Reservation != 0 {
			l.Renyi, l.Order, l.Delta = h.Loss.Renyi, h.Order, h.Loss.Delta
			if !math.IsInf(h.Loss.Pure, 1) {
				l.Epsilon = &h.Loss.Pure
			}
			if math.IsInf(l.Renyi, 1) {
				l.Renyi = 0
			}
		}
		err = a.write(&l)
	}
	if err != nil {
		a.log.Error("the audit log could not be written", "error", err.Error())
	}
}

func (a *Audit) write(l *line) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	l.Time = a.now().UTC()
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if a.file == nil {
		return errors.New("closed")
	}
	_, err = a.file.Write(append(text, '\n'))
	return err
}

// Close closes the file.
func (a *Audit) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.file
	a.file = nil
	if f == nil {
		return nil
	}
	return f.Close()
}
