package engine

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/price"
)

// NewSession begins a session of an analyst who has proved who they are. application is the client's application_name: notices are
// on for psql alone.
func NewSession(e *Engine, user, application string) (*Session, error) {
	s := &Session{engine: e, user: user}
	if err := s.refresh(); err != nil {
		return nil, err
	}
	p := s.world.policy
	s.start = settings{epsilon: min(p.Query.Epsilon, s.analyst.MaxQueryEpsilon), mechanism: price.Mechanism(p.Query.Mechanism), maxGroups: p.Query.MaxGroups,
		bounding: p.Query.Bounding, notices: "off", low: lowKeep, rounding: roundError}
	if application == "psql" {
		s.start.notices = "brief"
	}
	s.now = s.start
	return s, nil
}

// refresh takes over the policy in force: what one may no longer see does not exist from the next statement on.
func (s *Session) refresh() error {
	s.filter = s.engine.ledger.Filter()
	w := s.engine.world.Load()
	if s.world == w {
		return nil
	}
	a, ok := w.policy.Analyst(s.user)
	if !ok {
		return sqlerr.New(sqlerr.InvalidAuth, "role %q does not exist", s.user)
	}
	cat, err := w.catalogs.For(s.user)
	if err != nil {
		return err
	}
	s.world, s.analyst, s.catalog = w, a, newSessionCatalog(cat)
	s.start.epsilon, s.now.epsilon = min(s.start.epsilon, a.MaxQueryEpsilon), min(s.now.epsilon, a.MaxQueryEpsilon)
	return nil
}

// withOrderRetries makes an attempt at the order of the window that pays, and again where a public table has grown since the analysis (errGrown). Where that is another than the one that it was priced at, since the window began since, or another server began it, nothing was charged: the attempt is made again, which has to
// price anew by the session's filter. Windows are longer than statements: at the third time something is wrong with the ledger, or with the clock that it is given.
func (s *Session) withOrderRetries(attempt func(again bool) error) error {
	for tries := 1; ; tries++ {
		err := attempt(tries > 1)
		switch {
		case errors.Is(err, errGrown) && tries < mostOrders:
			if c, ok := s.world.public.(*publicCache); ok {
				c.forget()
			}
			continue
		case errors.Is(err, errGrown):
			return s.uncharged(context.Background(), err)
		case !errors.Is(err, ledger.ErrOrder):
			return err
		case tries == mostOrders:
			return s.ledgerFailed(err)
		}
		s.filter = s.engine.ledger.Filter()
	}
}

const mostOrders = 3
