package server

import (
	"context"
	"fmt"
	"sync"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/policy"
)

// Freeze stops an analyst's private statements, or everybody's (""), from now on and over restarts. by says who did it. A
// statement that runs already ends: it is paid for.
func (e *Engine) Freeze(ctx context.Context, analyst, by string) error {
	if _, known := e.Policy().Analyst(analyst); analyst != "" && !known {
		return sqlerr.New(sqlerr.UndefinedObject, "the policy in force has no analyst %q", analyst)
	}
	return e.Ledger.Freeze(ctx, analyst, by)
}

// Unfreeze lifts just that freeze, and pardons the analyst's resource failures; "" lifts the one of everybody, and pardons everybody's.
func (e *Engine) Unfreeze(ctx context.Context, analyst, by string) error {
	if err := e.Ledger.Unfreeze(ctx, analyst, by); err != nil {
		return fmt.Errorf("lifting the freeze: %w", err)
	}
	e.Unnoted.Pardon(analyst)
	return nil
}

// Grant gives an analyst, or a role that has a budget, more of the data set's budget in the present window.
func (e *Engine) Grant(ctx context.Context, to string, epsilon float64, by, reason string) error {
	p := e.Policy()
	if _, known := p.Analyst(to); !known && !p.HasRole(to) {
		return sqlerr.New(sqlerr.UndefinedObject, "the policy in force has no analyst %q, and no role of that name with a budget", to)
	}
	return e.Ledger.Grant(ctx, GrantOf(p, to, epsilon, by, reason))
}

// GrantOf is a grant to an analyst, or to a role that has a budget by the policy: no analyst has its name.
func GrantOf(p *policy.Policy, to string, epsilon float64, by, reason string) ledger.Grant {
	g := ledger.Grant{Dataset: p.Dataset, Analyst: to, Epsilon: epsilon, By: by, Reason: reason}
	if p.HasRole(to) {
		g.Analyst, g.Role = "", to
	}
	return g
}

// Accounts is the owner's view of the budget: of every analyst of the policy, and whoever else was charged.
func (e *Engine) Accounts() (ledger.Accounts, error) {
	p := e.Policy()
	return e.Ledger.AccountsOf(p.Dataset, e.Ledger.Filter(), Payers(p))
}

// Payers are a policy's analysts with their quotas.
func Payers(p *policy.Policy) []ledger.Payer {
	out := make([]ledger.Payer, len(p.Analysts))
	for i, a := range p.Analysts {
		out[i] = PayerOf(a)
	}
	return out
}

// History tells how the budget was spent.
func (e *Engine) History(ctx context.Context) ([]ledger.Spent, error) {
	return e.Ledger.History(ctx, e.Policy().Dataset)
}

// Secret is one that all servers over the ledger share, for salts.
func (e *Engine) Secret(ctx context.Context) ([]byte, error) { return e.Ledger.Secret(ctx) }

// Statements lists charges with what was asked, for the owner.
func (e *Engine) Statements(ctx context.Context, f ledger.StatementFilter) ([]ledger.StatementCharge, int64, error) {
	return e.Ledger.Statements(ctx, e.Policy().Dataset, f)
}

// Verify reads the whole ledger again; a *ledger.CorruptError names the first broken record.
func (e *Engine) Verify(ctx context.Context) error { return e.Ledger.Verify(ctx) }

// Healthy reports whether the ledger takes charges: what /healthz says.
func (e *Engine) Healthy() error { return e.Ledger.Healthy() }

// Table is a table as an analyst may see it.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// Tables lists what an analyst may see.
func (e *Engine) Tables(analyst string) ([]Table, error) {
	tables, err := e.World.Load().Catalogs.Visible(analyst)
	if err != nil {
		return nil, err
	}
	var out []Table
	for _, t := range tables {
		row := Table{Name: t.Name}
		for _, c := range t.Columns {
			if c.Visible {
				row.Columns = append(row.Columns, c.Name)
			}
		}
		out = append(out, row)
	}
	return out, nil
}

// UnnotedFailures counts, by analyst, resource failures that the ledger could not note: until this process ends, or the owner pardons, they count beside those that it did.
type UnnotedFailures struct {
	mu sync.Mutex
	n  map[string]int
}

// Add counts a failure of an analyst.
func (c *UnnotedFailures) Add(analyst string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[analyst]++
}

// Pardon forgets an analyst's failures; "" everybody's.
func (c *UnnotedFailures) Pardon(analyst string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if analyst == "" {
		clear(c.n)
	} else {
		delete(c.n, analyst)
	}
}

// Of is how many an analyst has.
func (c *UnnotedFailures) Of(analyst string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[analyst]
}

// PayerOf is an analyst as the ledger charges one.
func PayerOf(a *policy.Analyst) ledger.Payer {
	p := ledger.Payer{Analyst: a.Name, Quota: a.Epsilon}
	for _, r := range a.Roles {
		p.Roles = append(p.Roles, ledger.Role{Name: r.Name, Quota: r.Epsilon})
	}
	return p
}
