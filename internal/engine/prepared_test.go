package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/testdata/demo"
)

// What the tests of the documents, which come by the wire, need of this package's own tests.

func filterOf(e *server.Engine) *budget.Filter { return e.Ledger.Filter() }

// DemoPolicy is the text of the demo's policy, ClinicPolicy that of the clinic's.
func DemoPolicy() string {
	text, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// ClinicPolicy is the policy of the clinic's text, for DuckDB.
func ClinicPolicy(t testing.TB, edits ...string) *policy.Policy {
	return clinicPolicyFor(t, funcs.DuckDB, edits...)
}

// ClinicTables is what the clinic's policy says of its tables.
func ClinicTables() string {
	_, text, _ := strings.Cut(clinicPolicy, "unit: ")
	text, _, _ = strings.Cut(text, "budget:")
	return "unit: " + text
}

// DemoData and ClinicData are the databases below, in memory.
func DemoData(t testing.TB) backend.Backend   { return demoDuck(t) }
func ClinicData(t testing.TB) backend.Backend { return tame.open(t, funcs.DuckDB) }

// FailFor counts resource failures of an analyst that the ledger could not note, as many as stop one.
func FailFor(e *server.Engine, analyst string) {
	for range ledger.MaxFailures {
		e.Unnoted.Add(analyst)
	}
}

// RaisedElsewhere makes the ledger refuse as one does that another server shares and has raised (budget/ledger's TestRaiseBesideServers, cmd/dpsql's TestTwoProxies).
func RaisedElsewhere(e *server.Engine) { e.Ledger = raisedElsewhere{e.Ledger} }

type raisedElsewhere struct{ ledger.Ledger }

func (raisedElsewhere) ReserveAll(context.Context, []ledger.Reservation) ([]int64, error) {
	return nil, ledger.ErrPromise
}

func (raisedElsewhere) Balance(ledger.Payer) (ledger.Balance, error) {
	return ledger.Balance{}, ledger.ErrPromise
}

// prepared is a prepared statement whose stages tests look at, and change.
type prepared struct {
	*Prepared
	changed *stage.Staged // by withAnalysis
}

// staged is a private statement, also behind EXPLAIN; one without stages for others.
func (p *prepared) staged() *stage.Staged {
	if p.changed != nil {
		return p.changed
	}
	if staged := p.Prepared.Staged(); staged != nil {
		return staged
	}
	return &stage.Staged{Statement: p.Statement}
}

// analysis is that of the first stage; of a statement that is not private, that it is not.
func (p *prepared) analysis() *sensitivity.Analysis {
	if list := p.staged().Stages; len(list) > 0 {
		return list[0].An
	}
	return &sensitivity.Analysis{Class: sensitivity.Public, Query: p.Query}
}

// withAnalysis is a private statement of one stage with another analysis, which is printed and released, and not run.
func (p *prepared) withAnalysis(an *sensitivity.Analysis) *prepared {
	staged, st := *p.staged(), *p.staged().Stages[0]
	st.An, staged.Stages = an, append([]*stage.Stage{&st}, staged.Stages[1:]...)
	return &prepared{p.Prepared, &staged}
}

func (p *prepared) price() (*price.Quote, error) { return p.staged().Stages[0].Price() }

func priceOf(s *session.Session, a *sensitivity.Analysis) (*price.Quote, error) {
	return price.New(a, s.Request())
}

func running(p *prepared) *private.Run { return &private.Run{Staged: p.staged()} }

// PostgresURL is a PostgreSQL 15 of the tests.
func PostgresURL(t testing.TB) string { return sharedServer(t).URL("postgres") }
