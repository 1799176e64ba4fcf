package release

import (
	"errors"
	"math/big"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/noise"
)

// endless are rows of n groups of a thousand people, in no order; look is called now and then.
type endless struct {
	n, at int
	look  func()
}

func (r *endless) Next() bool {
	if r.at++; r.at%7_000 == 0 {
		r.look()
	}
	return r.at <= r.n
}
func (r *endless) Err() error { return nil }
func (r *endless) Close()     {}
func (r *endless) Row() []secret.Value {
	key := "place " + strconv.Itoa(r.at*7919%r.n)
	return []secret.Value{secret.Of(key), secret.Of(int64(1000)), secret.Of(int64(1000)), secret.Of(int64(r.at))}
}

// heap is what is reachable.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestManyGroups: ten times as many groups take no more memory, from the rows to what is read of the stored spool; as they were kept, so they are found, in order.
func TestManyGroups(t *testing.T) {
	const groups = 100_000
	a := unknown(sqltype.Text)
	peak := map[int]uint64{}
	for _, n := range []int{groups / 10, groups} {
		base := heap()
		look := func() {
			now := heap()
			peak[n] = max(peak[n], now-min(base, now))
		}
		dir := t.TempDir()
		f, err := budget.NewFilter(budget.Params{Epsilon: 1, QueryEpsilon: 1, Accountant: budget.AccountantPure})
		if err != nil {
			t.Fatal(err)
		}
		l, err := ledger.OpenSQLite(t.Context(), filepath.Join(dir, "ledger"), ledger.Head{Dataset: "d", People: "d", Filter: f, Epoch: "1"}, ledger.Options{Cache: ledger.Cache{TTL: time.Hour, Scope: ledger.ScopeDataset}})
		if err != nil {
			t.Fatal(err)
		}
		ev := dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: 100, Den: 1}}
		loss, err := f.Loss(ev)
		if err != nil {
			t.Fatal(err)
		}
		id, err := l.Reserve(t.Context(), ledger.Reservation{Payer: ledger.Payer{Analyst: "ann", Quota: 1}, Price: 0.01, Events: ledger.Events{ev}, Loss: loss})
		if err != nil {
			t.Fatal(err)
		}
		m, err := New(a, unknownPlan(), noise.NewSource(), 10*groups)
		if err != nil {
			t.Fatal(err)
		}
		m.SpoolTo(spool.Limits{Dir: l.Scratch(), Memory: 1 << 20, Items: 5000, File: 1 << 30})
		r, err := m.Read(columns(1, 0, 1), &endless{n: n, look: look})
		if err != nil {
			t.Fatal(err)
		}
		to, err := l.NewSpool(id, ledger.Hash{1})
		if err == nil {
			err = r.Spool(a, to, 1<<30)
		}
		if err != nil {
			t.Fatal(err)
		}
		look()
		text, err := Encode(a, r)
		if err == nil {
			err = l.Commit(t.Context(), id, ledger.Release{Key: ledger.Hash{1}, Payload: text, Spool: to})
		}
		if err != nil {
			t.Fatal(err)
		}
		stored, ok, err := l.Lookup(t.Context(), ledger.Hash{1}, "ann")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		again, err := Decode(a, stored.Payload, stored.Spool)
		if err != nil {
			t.Fatal(err)
		}
		var last []sqltype.Value
		read, sum := 0, new(big.Int)
		if err := again.Each(func(g *Group) error {
			if read++; read%7_000 == 0 {
				look()
			}
			if last != nil && !lessKeys(last, g.Keys) {
				return errors.New("out of order")
			}
			last = g.Keys
			sum.Add(sum, g.Values[0])
			return nil
		}); err != nil || read != n || again.Len() != n {
			t.Errorf("%d groups of %d: %v", read, n, err)
		}
		if mean := sum.Int64() / int64(n); mean < 990 || mean > 1010 { // its noise has deviations of 3 a group
			t.Errorf("the mean is %d, of groups of 1000", mean)
		}
		if err := errors.Join(r.Close(), again.Close(), l.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Logf("at most %v bytes", peak)
	if peak[groups] > 16<<20 || peak[groups] > 2*peak[groups/10]+4<<20 {
		t.Errorf("%d groups take %d bytes, %d take %d", groups/10, peak[groups/10], groups, peak[groups])
	}
}

// TestTooLargeForDisk: a release over its file's limit is none.
func TestTooLargeForDisk(t *testing.T) {
	m, err := New(unknown(sqltype.Text), unknownPlan(), noise.NewSource(), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	m.SpoolTo(spool.Limits{Dir: t.TempDir(), Memory: 1 << 10, File: 1 << 12})
	if r, err := m.Read(columns(1, 0, 1), &endless{n: 10_000, look: func() {}}); !errors.Is(err, spool.ErrLarge) || r != nil && r.IsOnDisk() {
		t.Error(err)
	}
}
