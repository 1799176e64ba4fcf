package engine_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestCharged: the owner hears of a charge, as it is, before the first private row is read.
func TestCharged(t *testing.T) {
	log := &chargedLog{}
	b := &begun{Backend: enginetest.Tame.Open(t, funcs.DuckDB), log: log}
	e, err := server.Open(t.Context(), server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB), Backend: b, LedgerPath: filepath.Join(t.TempDir(), "ledger"), Observer: log})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	ann := enginetest.NewSession(e, t, "ann")
	enginetest.MustTry(t, ann, "select count(*) from encounters where days + 0 > 7654")
	enginetest.MustTry(t, ann, "select count(*) from encounters where days + 0 > 7654")
	enginetest.MustTry(t, ann, "TRAIN DP MODEL m USING logistic_regression TARGET y WITH (epsilon = 0.5, max_rows_per_unit = 1) AS SELECT days, readmitted = 'NO' AS y FROM encounters")
	if want := []string{"charged", "read", "answered", "free", "charged", "read", "answered"}; !slices.Equal(slices.Compact(log.said), want) {
		t.Errorf("%q, want %q", log.said, want)
	}
}

// chargedLog is what was heard and what was read, in order.
type chargedLog struct {
	said []string
	last server.AuditEvent
}

func (l *chargedLog) Charged(h server.AuditEvent) {
	l.said, l.last = append(l.said, string(h.Outcome)), h
}

func (l *chargedLog) Ended(h server.AuditEvent) {
	if h.Reservation != 0 && (h.Reservation != l.last.Reservation || h.Price != l.last.Price || h.Loss != l.last.Loss || h.Plan != l.last.Plan) {
		l.said = append(l.said, "another charge")
	}
	l.said = append(l.said, string(h.Outcome))
}

// begun tells the log of each query.
type begun struct {
	backend.Backend
	log *chargedLog
}

func (b *begun) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := b.Backend.Begin(ctx)
	return &begunTx{tx, b.log}, err
}

type begunTx struct {
	backend.Tx
	log *chargedLog
}

func (t *begunTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	t.log.said = append(t.log.said, "read")
	return t.Tx.Query(ctx, sql, args, want)
}
