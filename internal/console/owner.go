package console

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/owner"
)

// Owner is a running server in its owner's hands: owner.Service.
type Owner interface {
	Budget() (owner.Budget, error)
	OverTime(ctx context.Context) (owner.OverTime, error)
	Statements(ctx context.Context, f ledger.StatementFilter) (owner.StatementsPage, error)
	Releases() ([]owner.ReleaseOf, error)
	Analysts() ([]owner.AnalystOf, error)
	State(ctx context.Context) owner.State
	Freeze(ctx context.Context, analyst, by string) error
	Unfreeze(ctx context.Context, analyst, by string) error
}

// budgetPage is the report of dpsql budget show, and its words.
type budgetPage struct {
	owner.Budget
	Words owner.Words `json:"words"`
}

func (c *Server) ownersBudget(*session, http.ResponseWriter, *http.Request) (any, error) {
	b, err := c.o.Owner.Budget()
	return budgetPage{b, b.Words()}, err
}

// ownersTime is what reading a large ledger may take, as on the owner's socket.
const ownersTime = 5 * time.Minute

// ownersHistory is how the budget was spent, and when it ends.
func (c *Server) ownersHistory(_ *session, w http.ResponseWriter, r *http.Request) (any, error) {
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(ownersTime)); err != nil {
		return nil, err
	}
	return c.o.Owner.OverTime(r.Context())
}

// ownersStatements lists charges with what was asked. Who read which is in the server's log.
func (c *Server) ownersStatements(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var f ledger.StatementFilter
	if !c.read(w, r, &f) {
		return nil, nil
	}
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(ownersTime)); err != nil {
		return nil, err
	}
	c.log.Warn("statements were read on the owner's page", "by", s.user, "session", s.id, "analyst", f.Analyst, "fingerprint", f.Fingerprint, "text", f.Text != "")
	page, err := c.o.Owner.Statements(r.Context(), f)
	for i := range page.Charges {
		page.Charges[i].Text = owner.Harmless(page.Charges[i].Text)
	}
	return page, err
}

// ownersReleases lists the stored releases.
func (c *Server) ownersReleases(*session, http.ResponseWriter, *http.Request) (any, error) {
	return c.o.Owner.Releases()
}

// ownersAnalysts lists the analysts of the policy in force.
func (c *Server) ownersAnalysts(*session, http.ResponseWriter, *http.Request) (any, error) {
	return c.o.Owner.Analysts()
}

// ownersState is what the server does now. Running statements have their texts, and who read them is in the server's log.
func (c *Server) ownersState(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
	state := c.o.Owner.State(r.Context())
	if n := len(state.Running); n > 0 {
		c.log.Warn("running statements were read on the owner's page", "by", s.user, "session", s.id, "statements", n)
	}
	for i := range state.Running {
		state.Running[i].Text = owner.Harmless(state.Running[i].Text)
	}
	return state, nil
}

// freeze stops an analyst, or everybody; unfreeze lifts just that. Both answer with the budget's report.
func (c *Server) freeze(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	return c.freezer(s, w, r, c.o.Owner.Freeze)
}

func (c *Server) unfreeze(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	return c.freezer(s, w, r, c.o.Owner.Unfreeze)
}

func (c *Server) freezer(s *session, w http.ResponseWriter, r *http.Request, do func(ctx context.Context, analyst, by string) error) (any, error) {
	var in struct{ Analyst *string } // null is a mistake, not everybody
	if !c.read(w, r, &in) {
		return nil, nil
	}
	if in.Analyst == nil {
		return nil, errors.New("the request names no analyst")
	}
	if err := do(r.Context(), *in.Analyst, s.user+" (console)"); err != nil {
		return nil, err
	}
	return c.ownersBudget(s, w, r)
}

// ownersProblem is an error as the owner's commands say it.
func ownersProblem(err error) problem {
	p := shown(err, "")
	if p.Code == "" {
		p = problem{Message: err.Error()}
	}
	return p
}
