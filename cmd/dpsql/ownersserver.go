package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/ops"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/proxy"
)

// ownersServer is what an owner may ask of a running server: the commands on its socket, and the owner's page of the console.
type ownersServer struct {
	log     *slog.Logger
	backend backend.Backend
	engine  *server.Engine
	wire    *proxy.Server
	audit   *ops.Audit // nil without one
}

// Freeze stops an analyst, or everybody, and ends what of theirs is open.
func (s *ownersServer) Freeze(ctx context.Context, analyst, by string) error {
	if err := s.engine.Freeze(ctx, analyst, by); err != nil {
		return err
	}
	for _, a := range s.engine.Policy().Analysts {
		if analyst == "" || a.Name == analyst {
			s.wire.Terminate(a.Name)
		}
	}
	s.log.Warn("frozen", "analyst", analyst, "by", by)
	return nil
}

// Unfreeze lifts just that freeze.
func (s *ownersServer) Unfreeze(ctx context.Context, analyst, by string) error {
	err := s.engine.Unfreeze(ctx, analyst, by)
	if err == nil {
		s.log.Warn("freeze lifted", "analyst", analyst, "by", by)
	}
	return err
}

// Accounts is the owner's view of the budget.
func (s *ownersServer) Accounts() (ledger.Accounts, error) { return s.engine.Accounts() }

// Policy is the one in force.
func (s *ownersServer) Policy() *policy.Policy { return s.engine.Policy() }

// Grant gives an analyst more of the data set's budget in the present window.
func (s *ownersServer) Grant(ctx context.Context, analyst string, epsilon float64, by, reason string) error {
	err := s.engine.Grant(ctx, analyst, epsilon, by, reason)
	if err == nil {
		s.log.Warn("granted", "analyst", analyst, "epsilon", epsilon, "by", by, "reason", reason)
	}
	return err
}

// History tells how the budget was spent.
func (s *ownersServer) History(ctx context.Context) ([]ledger.Spent, error) {
	return s.engine.History(ctx)
}

// Statements lists charges with what was asked.
func (s *ownersServer) Statements(ctx context.Context, f ledger.StatementFilter) (owner.StatementsPage, error) {
	list, next, err := s.engine.Statements(ctx, f)
	return owner.StatementsPage{Charges: list, Next: next}, err
}

// Verify reads the whole ledger again.
func (s *ownersServer) Verify(ctx context.Context) error { return s.engine.Verify(ctx) }

// healthy is what /healthz says: whether the ledger and the backend can be asked.
func (s *ownersServer) healthy(ctx context.Context) error {
	switch err := s.engine.Healthy(); {
	case errors.Is(err, ledger.ErrPromise):
		return errors.New("the budget was raised, and this server has not read the policy since")
	case errors.Is(err, ledger.ErrNotDurable):
		return errors.New("the ledger's database may lose charges: fsync or full_page_writes is off")
	case err != nil:
		return errors.New("the ledger cannot be read")
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tx, err := s.backend.Begin(ctx)
	if err != nil {
		return errors.New("the backend does not answer")
	}
	tx.Close()
	if s.audit != nil && s.audit.Failing() {
		return ops.Degraded("the audit log cannot be written")
	}
	return nil
}
