package enginetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Keeping is a backend whose data nothing changes, each of whose statements runs once: tests that draw noise many times over one scan ask through it.
func Keeping(b backend.Backend) backend.Backend {
	return &keeping{steady: b.(steady), kept: map[string][][]secret.Value{}}
}

type steady interface {
	backend.Backend
	backend.Steady
}

type keeping struct {
	steady
	mu   sync.Mutex
	kept map[string][][]secret.Value
}

// Begin implements backend.Backend.
func (k *keeping) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := k.steady.Begin(ctx)
	return &keepingTx{tx, k}, err
}

// keepingTx has no short way for numbers, so all that it answers is kept.
type keepingTx struct {
	tx backend.Tx
	of *keeping
}

func (t *keepingTx) Close() { t.tx.Close() }

// Query implements backend.Tx.
func (t *keepingTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	key := fmt.Sprintf("%s\n%v %v", sql, args, want)
	t.of.mu.Lock()
	rows, ok := t.of.kept[key]
	t.of.mu.Unlock()
	if ok {
		return NewReplay(rows), nil
	}
	from, err := t.tx.Query(ctx, sql, args, want)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	for from.Next() {
		rows = append(rows, slices.Clone(from.Row()))
	}
	if err := from.Err(); err != nil {
		return nil, err
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.kept[key] = rows
	return NewReplay(rows), nil
}

// Replay gives rows that were kept as a backend would.
type Replay struct {
	rows [][]secret.Value
	at   int
}

// NewReplay begins at the first row.
func NewReplay(rows [][]secret.Value) *Replay { return &Replay{rows: rows} }

func (r *Replay) Next() bool          { r.at++; return r.at <= len(r.rows) }
func (r *Replay) Row() []secret.Value { return r.rows[r.at-1] }
func (r *Replay) Err() error          { return nil }
func (r *Replay) Close()              {}
