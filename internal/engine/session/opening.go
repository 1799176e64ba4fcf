package session

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/server"
)

// NewSession begins a session of an analyst who has proved who they are. application is the client's application_name: notices are
// on for psql alone.
func NewSession(e *server.Engine, user, application string) (*Session, error) {
	s := &Session{Engine: e, User: user}
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	p := s.World.Policy
	s.Start = Settings{Epsilon: min(p.Query.Epsilon, s.Analyst.MaxQueryEpsilon), Mechanism: price.Mechanism(p.Query.Mechanism), maxGroups: p.Query.MaxGroups,
		Bounding: p.Query.Bounding, Notices: "off", Low: LowKeep, Rounding: RoundError, Consistent: ConsistentOn}
	if application == "psql" {
		s.Start.Notices = "brief"
	}
	s.Now = s.Start
	return s, nil
}

// Refresh takes over the policy in force: what one may no longer see does not exist from the next statement on.
func (s *Session) Refresh() error {
	s.Filter = s.Engine.Ledger.Filter()
	w := s.Engine.World.Load()
	if s.World == w {
		return nil
	}
	a, ok := w.Policy.Analyst(s.User)
	if !ok {
		return sqlerr.New(sqlerr.InvalidAuth, "role %q does not exist", s.User)
	}
	cat, err := w.Catalogs.For(s.User)
	if err != nil {
		return err
	}
	s.World, s.Analyst, s.Catalog = w, a, newCatalog(cat)
	s.Start.Epsilon, s.Now.Epsilon = min(s.Start.Epsilon, a.MaxQueryEpsilon), min(s.Now.Epsilon, a.MaxQueryEpsilon)
	return nil
}

// WithOrderRetries makes an attempt at the order of the window that pays, and again where a public table has grown since the analysis (ErrGrown). Where that is another than the one that it was priced at, since the window began since, or another server began it, nothing was charged: the attempt is made again, which has to
// price anew by the session's filter. Windows are longer than statements: at the third time something is wrong with the ledger, or with the clock that it is given.
func (s *Session) WithOrderRetries(attempt func(again bool) error) error {
	for tries := 1; ; tries++ {
		err := attempt(tries > 1)
		switch {
		case errors.Is(err, server.ErrGrown) && tries < mostOrders:
			if c, ok := s.World.Public.(*server.PublicCache); ok {
				c.Forget()
			}
			continue
		case errors.Is(err, server.ErrGrown):
			return s.Uncharged(context.Background(), err)
		case !errors.Is(err, ledger.ErrOrder):
			return err
		case tries == mostOrders:
			return s.LedgerFailed(err)
		}
		s.Filter = s.Engine.Ledger.Filter()
	}
}

const mostOrders = 3
