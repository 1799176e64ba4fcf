package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/testdata/demo"
)

// What the tests of the documents, which come by the wire, need of this package's own tests.

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
	return enginetest.ClinicPolicyFor(t, funcs.DuckDB, edits...)
}

// ClinicTables is what the clinic's policy says of its tables.
func ClinicTables() string {
	_, text, _ := strings.Cut(enginetest.ClinicPolicy, "unit: ")
	text, _, _ = strings.Cut(text, "budget:")
	return "unit: " + text
}

// DemoData and ClinicData are the databases below, in memory.
func DemoData(t testing.TB) backend.Backend   { return enginetest.DemoDuck(t) }
func ClinicData(t testing.TB) backend.Backend { return enginetest.Tame.Open(t, funcs.DuckDB) }

// RaisedElsewhere makes the ledger refuse as one does that another server shares and has raised (budget/ledger's TestRaiseBesideServers, cmd/dpsql's TestTwoProxies).
func RaisedElsewhere(e *server.Engine) { e.Ledger = raisedElsewhere{e.Ledger} }

type raisedElsewhere struct{ ledger.Ledger }

func (raisedElsewhere) ReserveAll(context.Context, []ledger.Reservation) ([]int64, error) {
	return nil, ledger.ErrPromise
}

func (raisedElsewhere) Balance(ledger.Payer) (ledger.Balance, error) {
	return ledger.Balance{}, ledger.ErrPromise
}

// PostgresURL is a PostgreSQL 15 of the tests.
func PostgresURL(t testing.TB) string { return enginetest.SharedServer(t).URL("postgres") }
