package owner

import (
	"math"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/policy"
)

// TestReportOfDelta: where delta is spent and epsilon is not, the words say so, and how many statements without a delta fit.
func TestReportOfDelta(t *testing.T) {
	f, err := budget.NewFilter(budget.Params{Epsilon: 2, Delta: 1e-6, QueryEpsilon: 0.2, Accountant: budget.AccountantPure})
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := f.Rooms(1)
	if err != nil {
		t.Fatal(err)
	}
	spent := dp.Loss{Pure: 0.2, Delta: 0.9999 * rooms.Delta}
	d := ledger.DatasetAccounts{Dataset: "clinic", Filter: f, Began: f, Account: ledger.Account{Rooms: rooms, Spent: spent, Left: rooms.Left(spent)}}
	b := Report(ledger.Accounts{Datasets: []ledger.DatasetAccounts{d}}, &policy.Policy{Dataset: "clinic", Query: policy.Query{Delta: 1e-9}})
	a, words := b.Datasets[0].Accounts[0], b.Words().Datasets[0]
	if a.More != 9 || !a.NoDelta || a.UsedEpsilon == nil || *a.UsedEpsilon > 0.11 || words.Rows[0][1] != "100 % of delta" || !strings.Contains(strings.Join(words.Legend, "\n"), "of delta: less is spent of epsilon") {
		t.Errorf("%+v %v", a, words)
	}
}

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

// TestReportExplainsEpsilon: where all answers have a larger part of epsilon than of the budget, as Renyi losses do, the legend says why.
func TestReportExplainsEpsilon(t *testing.T) {
	const why = "it is at most 10"
	f, err := budget.NewFilter(budget.Params{Epsilon: 10, Delta: 1e-6, QueryEpsilon: 0.5, Accountant: budget.AccountantRDP})
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := f.Rooms(1)
	if err != nil {
		t.Fatal(err)
	}
	for pure, explained := range map[float64]bool{math.Inf(1): true, 2.44: false} {
		spent := dp.Loss{Pure: pure, Renyi: 0.244 * rooms.Renyi}
		d := ledger.DatasetAccounts{Dataset: "clinic", Filter: f, Began: f, Account: ledger.Account{Rooms: rooms, Spent: spent, Left: rooms.Left(spent)}}
		words := Report(ledger.Accounts{Datasets: []ledger.DatasetAccounts{d}}, &policy.Policy{Dataset: "clinic"}).Words().Datasets[0]
		if got := strings.Join(words.Legend, "\n"); words.Rows[0][1] != "24.4 %" || strings.Contains(got, why) != explained {
			t.Errorf("%v\n%s", words.Rows, got)
		}
	}
}
