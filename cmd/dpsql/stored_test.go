package main

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/proxy"
)

// storedVariable names the policy of a server whose database answers from memory.
const storedVariable = "DPSQL_TEST_STORED"

// waitVariable says how long that database takes for an answer; nothing without.
const waitVariable = "DPSQL_TEST_STORED_WAIT"

// asStored serves a policy over a stored backend until it is killed, if this process is that server: what is left is dpsql's own way, from the wire to the ledger.
func asStored() bool {
	path := os.Getenv(storedVariable)
	if path == "" {
		return false
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := serveStored(context.Background(), path, log); err != nil {
		log.Error("stored", "error", err.Error())
		os.Exit(1)
	}
	return true
}

func serveStored(ctx context.Context, path string, log *slog.Logger) error {
	p, err := policy.Load(path)
	if err != nil {
		return err
	}
	b, err := openBackend(ctx, p)
	if err != nil {
		return err
	}
	wait, err := time.ParseDuration(cmp.Or(os.Getenv(waitVariable), "0"))
	if err != nil {
		return err
	}
	e, err := server.Open(ctx, server.Options{Policy: p, Backend: &stored{Backend: b, wait: wait}, Logger: log})
	if err != nil {
		return err
	}
	o, err := (&daemon{policy: p, Service: owner.Service{Log: log}}).wireOptions(ctx)
	if err != nil {
		return err
	}
	wire, err := proxy.New(wire{e}, o)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	log.Info("serving", "listen", l.Addr().String())
	return wire.Serve(ctx, l)
}

// stored is a database that asks another one once for each text, whatever the parameters, and then gives the same rows again.
type stored struct {
	backend.Backend
	wait    time.Duration
	answers sync.Map // text to [][]secret.Value
}

type storedTx struct {
	of *stored
	tx backend.Tx // nil until something is asked that is not known
}

// Begin opens nothing yet.
func (s *stored) Begin(context.Context) (backend.Tx, error) { return &storedTx{of: s}, nil }

// Query gives what was answered before.
func (t *storedTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	if known, ok := t.of.answers.Load(sql); ok {
		time.Sleep(t.of.wait)
		return &storedRows{rows: known.([][]secret.Value)}, nil
	}
	var err error
	if t.tx == nil {
		if t.tx, err = t.of.Backend.Begin(ctx); err != nil {
			return nil, err
		}
	}
	rows, err := t.tx.Query(ctx, sql, args, want)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := [][]secret.Value{}
	for rows.Next() {
		out = append(out, append([]secret.Value(nil), rows.Row()...))
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	t.of.answers.Store(sql, out)
	return &storedRows{rows: out}, nil
}

func (t *storedTx) Close() {
	if t.tx != nil {
		t.tx.Close()
	}
}

type storedRows struct {
	rows [][]secret.Value
	row  []secret.Value
}

func (r *storedRows) Next() bool {
	if len(r.rows) == 0 {
		return false
	}
	r.row, r.rows = r.rows[0], r.rows[1:]
	return true
}

func (r *storedRows) Row() []secret.Value { return r.row }

func (r *storedRows) Err() error { return nil }

func (r *storedRows) Close() {}
