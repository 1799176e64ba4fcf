package ledger

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/dp"
)

var ctx = context.Background()

// must fails the test on an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// demoHead is the demo's budget: epsilon 20, delta 1e-6, statements of 0.5; order 3.18.
func demoHead(t testing.TB) Head {
	f := must(budget.NewFilter(budget.Params{Epsilon: 20, Delta: 1e-6, QueryEpsilon: 0.5, Accountant: budget.AccountantRDP}))(t)
	return Head{Dataset: "demo", People: "demo", Filter: f, Epoch: "1"}
}

func pureHead(t testing.TB, epsilon float64) Head {
	f := must(budget.NewFilter(budget.Params{Epsilon: epsilon, QueryEpsilon: epsilon / 10, Accountant: budget.AccountantPure}))(t)
	return Head{Dataset: "demo", People: "demo", Filter: f, Epoch: "1"}
}

func dayCache() Options { return Options{Cache: Cache{TTL: 24 * time.Hour, Scope: ScopeDataset}} }

func tempPath(t testing.TB) string { return filepath.Join(t.TempDir(), "test.ledger") }

func open(t testing.TB, path string, head Head, opt Options) *SQLite {
	t.Helper()
	l := must(OpenSQLite(ctx, path, head, opt))(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// count is a statement that counts people at a price.
func count(t testing.TB, f *budget.Filter, analyst string, quota, epsilon float64) Reservation {
	t.Helper()
	s := dp.Sensitivity{PerGroup: 1, Groups: 1}
	ev := dp.Laplace{Sensitivity: s, Scale: must(f.LaplaceScale(s, f.Limit(epsilon)))(t)}
	return Reservation{
		Analyst: analyst, Quota: quota, Statement: Hash{1}, Price: epsilon,
		Events: Events{ev}, Loss: must(f.Loss(ev))(t),
	}
}

// gaussian is the same with Gaussian noise: no pure side.
func gaussian(t testing.TB, f *budget.Filter, analyst string, quota, epsilon float64) Reservation {
	t.Helper()
	s := dp.Sensitivity{PerGroup: 1, Groups: 1}
	ev := dp.Gaussian{Sensitivity: s, Scale: must(f.GaussianScale(s, f.Limit(epsilon)))(t)}
	return Reservation{
		Analyst: analyst, Quota: quota, Statement: Hash{2}, Price: epsilon,
		Events: Events{ev}, Loss: must(f.Loss(ev))(t),
	}
}
