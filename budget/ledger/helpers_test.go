package ledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
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

// frequent makes a checkpoint every few records.
func frequent(opt Options) Options {
	opt.every = 5
	return opt
}

// both runs a test on SQLite and on PostgreSQL: what it asks of its ledger is the same.
func both(t *testing.T, test func(t *testing.T)) {
	t.Parallel() // they wait for disks
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// tempPath is a place for a new ledger, in a test of PostgreSQL in a schema of its own.
func tempPath(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "test.ledger")
	if strings.Contains(t.Name(), "/postgres") {
		newSchema(t, path)
	}
	return path
}

// newSchema keeps the ledger of this path in PostgreSQL.
func newSchema(t testing.TB, path string) Server {
	t.Helper()
	s := must(postgres())(t)
	at := Server{URL: fmt.Sprintf("%s&search_path=ledger_%d", s.URL("postgres"), schemas.Add(1)), Path: path}
	inPostgres.Store(path, at)
	return at
}

var (
	schemas    atomic.Int64
	inPostgres sync.Map // path to Server
	stopServer = func() {}
	postgres   = sync.OnceValues(func() (*pgtest.Server, error) {
		s, stop, err := pgtest.StartShared("fsync=on", "full_page_writes=on")
		if err == nil {
			stopServer = stop
		}
		return s, err
	})
)

// opened is a ledger of either kind, with what tests look at inside.
type opened struct {
	*book
	*file // nil in PostgreSQL
	close func() error
}

// balance is of an analyst without roles, whose quota is a share of the budget.
func (l *book) balance(analyst string, share float64) (Balance, error) {
	if f := l.Filter(); f != nil {
		share *= f.Epsilon
	}
	return l.Balance(Payer{Analyst: analyst, Quota: share})
}

// setEpoch goes on under another epoch of the same promise.
func (l *book) setEpoch(epoch string) error {
	head := l.service.promise
	head.Epoch = epoch
	return l.SetHead(ctx, head)
}

// Close closes it.
func (o *opened) Close() error { return o.close() }

func open(t testing.TB, path string, head Head, opt Options) *opened {
	t.Helper()
	l := must(openAt(path, head, opt))(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func openAt(path string, head Head, opt Options) (*opened, error) {
	if at, ok := inPostgres.Load(path); ok {
		l, err := OpenPostgres(ctx, at.(Server), head, opt)
		if err != nil {
			return nil, err
		}
		return &opened{l.book, nil, l.Close}, nil
	}
	l, err := OpenSQLite(ctx, path, head, opt)
	if err != nil {
		return nil, err
	}
	return &opened{l.book, l.file, l.Close}, nil
}

// kept is what a ledger that nobody has open holds.
func kept(t testing.TB, path string) []byte {
	t.Helper()
	at, ok := inPostgres.Load(path)
	if !ok {
		return must(os.ReadFile(path))(t)
	}
	l := must(OpenPostgresForOwner(ctx, at.(Server)))(t)
	defer l.Close() //nolint:errcheck // read only
	var all []byte
	for one, err := range l.chain(0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(append(all, one.body...), one.hash[:]...)
	}
	return all
}

// count is a statement that counts people at a price.
func count(t testing.TB, f *budget.Filter, analyst string, quota, epsilon float64) Reservation {
	t.Helper()
	s := dp.Sensitivity{PerGroup: 1, Groups: 1}
	ev := dp.Laplace{Sensitivity: s, Scale: must(f.LaplaceScale(s, f.Limit(epsilon)))(t)}
	return Reservation{
		Payer: Payer{Analyst: analyst, Quota: quota * f.Epsilon}, Statement: Hash{1}, Price: epsilon,
		Events: Events{ev}, Loss: must(f.Loss(ev))(t),
	}
}

// gaussian is the same with Gaussian noise: no pure side.
func gaussian(t testing.TB, f *budget.Filter, analyst string, quota, epsilon float64) Reservation {
	t.Helper()
	s := dp.Sensitivity{PerGroup: 1, Groups: 1}
	ev := dp.Gaussian{Sensitivity: s, Scale: must(f.GaussianScale(s, f.Limit(epsilon)))(t)}
	return Reservation{
		Payer: Payer{Analyst: analyst, Quota: quota * f.Epsilon}, Statement: Hash{2}, Price: epsilon,
		Events: Events{ev}, Loss: must(f.Loss(ev))(t),
	}
}

// Frozen reports whether the analyst, or everybody, is frozen, as far as this process has heard.
func (l *book) Frozen(analyst string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.checkFrozen(analyst) != nil
}
