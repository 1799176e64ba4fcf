package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/testdata/demo"
)

// What the tests of the documents, which come by the wire, need of this package's own tests.

func filterOf(e *Engine) *budget.Filter { return e.ledger.Filter() }

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
func FailFor(e *Engine, analyst string) {
	for range ledger.MaxFailures {
		e.unnoted.add(analyst)
	}
}

// RaisedElsewhere makes the ledger refuse as one does that another server shares and has raised (budget/ledger's TestRaiseBesideServers, cmd/dpsql's TestTwoProxies).
func RaisedElsewhere(e *Engine) { e.ledger = raisedElsewhere{e.ledger} }

type raisedElsewhere struct{ ledger.Ledger }

func (raisedElsewhere) ReserveAll(context.Context, []ledger.Reservation) ([]int64, error) {
	return nil, ledger.ErrPromise
}

func (raisedElsewhere) Balance(ledger.Payer) (ledger.Balance, error) {
	return ledger.Balance{}, ledger.ErrPromise
}

// The tests of what a statement with one release is made of.

// staged is a private statement, also behind EXPLAIN; one without stages for others.
func (p *Prepared) staged() *stagedStatement {
	if private, ok := inner(p.kind).(*privateStatement); ok {
		return private.stagedStatement
	}
	return &stagedStatement{statement: p.statement}
}

// analysis is that of the first stage; of a statement that is not private, that it is not.
func (p *Prepared) analysis() *sensitivity.Analysis {
	if list := p.staged().stages; len(list) > 0 {
		return list[0].an
	}
	return &sensitivity.Analysis{Class: sensitivity.Public, Query: p.query}
}

// withAnalysis is a private statement of one stage with another analysis.
func (p *Prepared) withAnalysis(an *sensitivity.Analysis) *Prepared {
	out, staged, st := *p, *p.staged(), *p.staged().stages[0]
	st.an, staged.stages = an, append([]*stage{&st}, staged.stages[1:]...)
	out.kind = &privateStatement{stagedStatement: &staged}
	return &out
}

func (p *Prepared) price() (*price.Quote, error) { return p.staged().stages[0].price() }

func priceOf(s *Session, a *sensitivity.Analysis) (*price.Quote, error) {
	return price.New(a, s.request())
}

func running(p *Prepared) *run { return &run{stagedStatement: p.staged()} }

// PostgresURL is a PostgreSQL 15 of the tests.
func PostgresURL(t testing.TB) string { return server(t).URL("postgres") }
