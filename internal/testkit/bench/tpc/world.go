package tpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// World is an engine before a database, on an empty ledger.
type World struct {
	Session *session.Session
	engine  *server.Engine
	over    backend.Backend
	dir     string
	log     bytes.Buffer // what the owner's log says of failures
}

// Open starts an engine under a policy.
func Open(ctx context.Context, text []byte, user string, over backend.Backend) (w *World, err error) {
	w = &World{over: over}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	p, err := policy.Parse("policy.yaml", text)
	if err != nil {
		return w, err
	}
	if w.dir, err = os.MkdirTemp("", "dpsql-bench-"); err != nil {
		return w, err
	}
	w.engine, err = server.Open(ctx, server.Options{Policy: p, Backend: over, LedgerPath: filepath.Join(w.dir, "ledger"),
		Logger: slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelError}))})
	if err != nil {
		return w, err
	}
	w.Session, err = session.NewSession(w.engine, user, "")
	return w, err
}

// Close ends the engine and its database.
func (w *World) Close() error {
	var err error
	if w.engine != nil {
		err = w.engine.Close()
	}
	return errors.Join(err, w.over.Close(), os.RemoveAll(w.dir))
}

// Verifier is that of the policies' analyst, whom nobody logs in as.
func Verifier() (string, error) { return policy.MakeVerifier("bench", policy.DefaultIterations) }

// OpenPostgres asks a loaded database of a server, at a URL.
func (b Bench) OpenPostgres(ctx context.Context, url string) (*World, error) {
	over, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		return nil, err
	}
	return b.open(ctx, "postgres", url, over)
}

// OpenDuckDB asks the cached file.
func (b Bench) OpenDuckDB(ctx context.Context) (*World, error) {
	path, err := b.DuckDB()
	if err != nil {
		return nil, err
	}
	over, err := duckdb.Open(ctx, path, duckdb.Options{})
	if err != nil {
		return nil, err
	}
	return b.open(ctx, "duckdb", path, over)
}

func (b Bench) open(ctx context.Context, kind, where string, over backend.Backend) (*World, error) {
	verifier, err := Verifier()
	if err != nil {
		return nil, errors.Join(err, over.Close())
	}
	text, err := b.Policy(kind, where, verifier)
	if err != nil {
		return nil, errors.Join(err, over.Close())
	}
	return Open(ctx, text, "bench", over)
}

// Fate is what became of a statement: answered, refused by an error's id, or failed, which is a bug unless a resource ran out.
type Fate struct {
	How    string // answered, refused, failed
	Detail string // id and message; of a failure, what the owner's log says
	// Of an answered statement. Answer is nil where arithmetic on released numbers failed.
	Answer  *answer.Answer
	Columns []answer.Column
}

func (f Fate) String() string {
	if f.How == "answered" {
		return f.How
	}
	return f.How + ": " + f.Detail
}

// Ask asks one statement the whole way.
func (w *World) Ask(ctx context.Context, text string) Fate {
	st, err := pgsyntax.Parse(text)
	if err != nil {
		return refused(err)
	}
	p, err := engine.Prepare(ctx, w.Session, st[0], nil)
	if err != nil {
		return refused(err)
	}
	w.log.Reset()
	a, err := p.Run(ctx, nil)
	if err == nil {
		return Fate{How: "answered", Answer: a, Columns: p.Columns()}
	}
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) && w.log.Len() == 0 {
		if ofReleased[e.ID] {
			return Fate{How: "answered", Detail: e.Message}
		}
		return refused(err)
	}
	return Fate{How: "failed", Detail: fmt.Sprintf("%v; %s", err, strings.TrimSpace(w.log.String()))}
}

// ofReleased are errors of arithmetic on released numbers: noise may make a divisor zero, after which the release is kept and can be asked again.
var ofReleased = map[string]bool{sqlerr.DivisionByZero.ID: true, sqlerr.NumericRange.ID: true}

func refused(err error) Fate {
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) {
		return Fate{How: "refused", Detail: e.ID + ": " + e.Message}
	}
	return Fate{How: "failed", Detail: err.Error()}
}
