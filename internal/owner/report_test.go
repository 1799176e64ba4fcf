package owner

import (
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/policy"
)

// An unspent budget that is a multiple of the usual price is reported to hold that many statements.
func TestReportWholePrices(t *testing.T) {
	for _, c := range []struct {
		epsilon, price float64
		want           int64
	}{{2, 0.2, 10}, {3, 0.2, 15}, {10, 0.1, 100}, {6, 0.3, 20}} {
		f, err := budget.NewFilter(budget.Params{Epsilon: c.epsilon, QueryEpsilon: c.price, Accountant: budget.AccountantPure})
		if err != nil {
			t.Fatal(err)
		}
		rooms, err := f.Rooms(1)
		if err != nil {
			t.Fatal(err)
		}
		d := ledger.DatasetAccounts{Dataset: "clinic", Filter: f, Began: f, Account: ledger.Account{Rooms: rooms, Left: rooms}}
		got := Report(ledger.Accounts{Datasets: []ledger.DatasetAccounts{d}}, &policy.Policy{Dataset: "other"}).Datasets[0].Accounts[0].More
		if got != c.want {
			t.Errorf("%g holds %d statements of %g, want %d", c.epsilon, got, c.price, c.want)
		}
	}
}
