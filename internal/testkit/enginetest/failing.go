package enginetest

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
)

// Failing is a real backend that goes wrong at a chosen place, for private statements only.
type Failing struct {
	backend.Backend
	Query    error
	AfterRow int // rows before Row
	Row      error
	Wait     bool // until the context ends
	Entered  chan struct{}
	mu       sync.Mutex
	Private  int
}

// Begin implements backend.Backend.
func (f *Failing) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := f.Backend.Begin(ctx)
	return &failingTx{tx, f}, err
}

type failingTx struct {
	backend.Tx
	f *Failing
}

func (t *failingTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	if !strings.Contains(sql, "encounters") {
		return t.Tx.Query(ctx, sql, args, want)
	}
	t.f.mu.Lock()
	t.f.Private++
	t.f.mu.Unlock()
	if t.f.Wait {
		if t.f.Entered != nil {
			close(t.f.Entered)
		}
		<-ctx.Done()
		return nil, backend.NewError(backend.FailCanceled, "57014", ctx.Err())
	}
	if t.f.Query != nil {
		return nil, t.f.Query
	}
	rows, err := t.Tx.Query(ctx, sql, args, want)
	if err != nil || t.f.Row == nil {
		return rows, err
	}
	return &failingRows{rows, t.f, 0}, nil
}

type failingRows struct {
	secret.Rows
	f *Failing
	n int
}

func (r *failingRows) Next() bool {
	r.n++
	return r.n <= r.f.AfterRow && r.Rows.Next()
}

func (r *failingRows) Err() error { return r.f.Row }

// ErrBackend is an error that tells of a row.
var ErrBackend = backend.NewError(backend.FailOther, "22012", errors.New("ERROR: patient 4711 has a division by zero"))

// Turning is a backend that does something whenever a snapshot is opened: between a statement's price and its charge.
type Turning struct {
	backend.Backend
	Turn func()
}

// Begin implements backend.Backend.
func (b Turning) Begin(ctx context.Context) (backend.Tx, error) {
	b.Turn()
	return b.Backend.Begin(ctx)
}

// BrokenLedger fails where it is told to.
type BrokenLedger struct {
	ledger.Ledger
	ReserveErr, CommitErr, LookupErr error
}

// ReserveAll implements ledger.Ledger.
func (b BrokenLedger) ReserveAll(ctx context.Context, list []ledger.Reservation) ([]int64, error) {
	if b.ReserveErr != nil {
		return nil, b.ReserveErr
	}
	return b.Ledger.ReserveAll(ctx, list)
}

// Commit implements ledger.Ledger.
func (b BrokenLedger) Commit(ctx context.Context, id int64, r ledger.Release) error {
	if b.CommitErr != nil {
		return b.CommitErr
	}
	return b.Ledger.Commit(ctx, id, r)
}

// Lookup implements ledger.Ledger.
func (b BrokenLedger) Lookup(ctx context.Context, key ledger.Hash, analyst string) (*ledger.Stored, bool, error) {
	if b.LookupErr != nil {
		return nil, false, b.LookupErr
	}
	return b.Ledger.Lookup(ctx, key, analyst)
}

// RaiseElsewhere makes the ledger refuse as one does that another server shares and has raised (budget/ledger's TestRaiseBesideServers, cmd/dpsql's TestTwoProxies).
func RaiseElsewhere(e *server.Engine) { e.Ledger = raisedElsewhere{e.Ledger} }

type raisedElsewhere struct{ ledger.Ledger }

func (raisedElsewhere) ReserveAll(context.Context, []ledger.Reservation) ([]int64, error) {
	return nil, ledger.ErrPromise
}

func (raisedElsewhere) Balance(ledger.Payer) (ledger.Balance, error) {
	return ledger.Balance{}, ledger.ErrPromise
}
