package owner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/watch/watches"
	"github.com/dpsql/dpsql/internal/ops"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/proxy"
)

// Service is a running server as its owner may ask and stop it: by the commands on its socket, and by the owner's page of the console.
type Service struct {
	Log     *slog.Logger
	Backend backend.Backend
	Engine  *server.Engine
	Wire    *proxy.Server
	Audit   *ops.Audit // nil without one
	Recent  ops.Recent

	reading sync.Mutex // guards the rest: the history as it was read last, and until when that is enough
	last    []ledger.Spent
	until   time.Time
}

// Freeze stops an analyst, or everybody, and ends what of theirs is open.
func (s *Service) Freeze(ctx context.Context, analyst, by string) error {
	if err := s.Engine.Freeze(ctx, analyst, by); err != nil {
		return err
	}
	for _, a := range s.Engine.Policy().Analysts {
		if analyst == "" || a.Name == analyst {
			s.Wire.Terminate(a.Name)
		}
	}
	s.Log.Warn("frozen", "analyst", analyst, "by", by)
	return nil
}

// IsFrozen says whether the owner has stopped an analyst, or everybody.
func (s *Service) IsFrozen(ctx context.Context, analyst string) bool {
	_, _, err := s.Engine.Ledger.Lookup(ctx, ledger.Hash{}, analyst)
	return errors.Is(err, ledger.ErrFrozen)
}

// Unfreeze lifts just that freeze.
func (s *Service) Unfreeze(ctx context.Context, analyst, by string) error {
	err := s.Engine.Unfreeze(ctx, analyst, by)
	if err == nil {
		s.Log.Warn("freeze lifted", "analyst", analyst, "by", by)
	}
	return err
}

// Accounts is the owner's view of the budget.
func (s *Service) Accounts() (ledger.Accounts, error) { return s.Engine.Accounts() }

// Policy is the one in force.
func (s *Service) Policy() *policy.Policy { return s.Engine.Policy() }

// Grant gives an analyst more of the data set's budget in the present window.
func (s *Service) Grant(ctx context.Context, analyst string, epsilon float64, by, reason string) error {
	err := s.Engine.Grant(ctx, analyst, epsilon, by, reason)
	if err == nil {
		s.Log.Warn("granted", "analyst", analyst, "epsilon", epsilon, "by", by, "reason", reason)
	}
	return err
}

// History tells how the budget was spent.
func (s *Service) History(ctx context.Context) ([]ledger.Spent, error) {
	return s.Engine.History(ctx)
}

// Statements lists charges with what was asked.
func (s *Service) Statements(ctx context.Context, f ledger.StatementFilter) (StatementsPage, error) {
	list, next, err := s.Engine.Statements(ctx, f)
	return StatementsPage{Charges: list, Next: next}, err
}

// Watches lists all analysts' watches.
func (s *Service) Watches(ctx context.Context) ([]*watches.Watch, error) {
	return s.Engine.Watches.List(ctx, "")
}

// Budget is the report of dpsql budget show.
func (s *Service) Budget() (Budget, error) {
	a, err := s.Accounts()
	return Report(a, s.Policy()), err
}

// OverTime is how a data set's budget was spent, and when it ends.
type OverTime struct {
	Curves    []Curve    `json:"curves"`
	Forecasts []Forecast `json:"forecasts"`
}

// OverTime reads the whole ledger, as History does, and statements wait meanwhile. Where that takes more than a second, it is not read again for twenty times as long.
func (s *Service) OverTime(ctx context.Context) (OverTime, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if now := time.Now(); now.After(s.until) {
		list, err := s.History(ctx)
		if err != nil {
			return OverTime{}, err
		}
		s.last = list
		if took := time.Since(now); took > time.Second {
			s.until = now.Add(20 * took)
		}
	}
	history := s.last
	b, err := s.Budget()
	now := time.Now()
	out := OverTime{Curves: curves(history, now), Forecasts: []Forecast{}}
	for _, d := range b.Datasets {
		if d.Dataset == s.Policy().Dataset {
			out.Forecasts = forecasts(history, d, now)
		}
	}
	return out, err
}

// ReleaseOf is a stored release.
type ReleaseOf struct {
	Charge    int64       `json:"charge"`
	Statement ledger.Hash `json:"statement"` // the fingerprint
	Analyst   string      `json:"analyst"`   // who paid
	Price     float64     `json:"price"`
	Made      time.Time   `json:"made"`
	Expires   time.Time   `json:"expires"`
	Bytes     int64       `json:"bytes"` // on disk
}

// Releases lists what is answered again at no charge.
func (s *Service) Releases() ([]ReleaseOf, error) {
	list, err := s.Engine.Ledger.AllReleases()
	out := []ReleaseOf{}
	for _, r := range list {
		out = append(out, ReleaseOf{r.Reservation, r.Key, r.Analyst, r.Price, r.Made, r.Expires, r.Bytes})
	}
	return out, err
}

// AnalystOf is an analyst of the policy in force, and what that analyst sees.
type AnalystOf struct {
	Name       string         `json:"name"`
	Epsilon    float64        `json:"epsilon"` // the quota
	MaxPrice   float64        `json:"max_price"`
	Roles      []string       `json:"roles"`       // those with a budget
	OtherRoles []string       `json:"other_roles"` // those without one
	Tables     []server.Table `json:"tables"`
}

// Analysts lists them.
func (s *Service) Analysts() ([]AnalystOf, error) {
	out := []AnalystOf{}
	for _, a := range s.Policy().Analysts {
		one := AnalystOf{Name: a.Name, Epsilon: a.Epsilon, MaxPrice: a.MaxQueryEpsilon, Roles: []string{}, OtherRoles: append([]string{}, a.OtherRoles...)}
		for _, r := range a.Roles {
			one.Roles = append(one.Roles, r.Name)
		}
		var err error
		if one.Tables, err = s.Engine.Tables(a.Name); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// State is what a server does now.
type State struct {
	Health  string          `json:"health"` // "ok", or what is wrong, as /healthz says
	Running []proxy.Running `json:"running"`
	Ended   []ops.Ended     `json:"ended"` // badly, since the start
}

// State tells of this server alone, not of others over the same ledger.
func (s *Service) State(ctx context.Context) State {
	out := State{Health: "ok", Running: s.Wire.Running(), Ended: s.Recent.List()}
	if err := s.Healthy(ctx); err != nil {
		out.Health = err.Error()
	}
	return out
}

// Verify reads the whole ledger again.
func (s *Service) Verify(ctx context.Context) error { return s.Engine.Verify(ctx) }

// Healthy is what /healthz says: whether the ledger and the backend can be asked.
func (s *Service) Healthy(ctx context.Context) error {
	switch err := s.Engine.Healthy(); {
	case errors.Is(err, ledger.ErrPromise):
		return errors.New("the budget was raised, and this server has not read the policy since")
	case errors.Is(err, ledger.ErrNotDurable):
		return errors.New("the ledger's database may lose charges: fsync or full_page_writes is off")
	case err != nil:
		return errors.New("the ledger cannot be read")
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tx, err := s.Backend.Begin(ctx)
	if err != nil {
		return errors.New("the backend does not answer")
	}
	tx.Close()
	if s.Audit != nil && s.Audit.Failing() {
		return ops.Degraded("the audit log cannot be written")
	}
	return nil
}
