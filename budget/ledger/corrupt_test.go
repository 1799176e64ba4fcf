package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// filled makes a ledger of head, opening, and three reservations with their commits: records 1 to 8.
func filled(t *testing.T) string {
	path := tempPath(t)
	answerThree(t, open(t, path, demoHead(t), dayCache()))
	return path
}

// answerThree makes three answers and closes.
func answerThree(t *testing.T, l Ledger) {
	t.Helper()
	for i := range 3 {
		id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
		if err := l.Commit(ctx, id, Release{Key: Hash{byte(i)}, Payload: fmt.Appendf(nil, "release %d", i), Family: Hash{9}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// tamper changes the file as somebody with SQLite at hand would.
func tamper(t *testing.T, path, sql string) {
	t.Helper()
	db := must(sqlite3.Open(path))(t)
	err := db.Exec("DROP TRIGGER records_stay; DROP TRIGGER records_keep;" + sql)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A changed record is found at the next opening, which names it and leaves the file alone.
func TestBrokenRecordsAreFound(t *testing.T) {
	rehashed := func(seq int, from, to string) string {
		return fmt.Sprintf(`UPDATE records SET body = CAST(replace(CAST(body AS TEXT), '%s', '%s') AS BLOB) WHERE seq = %d`, from, to, seq)
	}
	for name, c := range map[string]struct {
		sql string
		seq int64
	}{
		"a smaller price":        {rehashed(5, `"price":0.5`, `"price":0.1`), 5},
		"the last record":        {rehashed(8, `"bytes":9`, `"bytes":8`), 8},
		"another hash":           {"UPDATE records SET hash = zeroblob(32) WHERE seq = 4", 4},
		"a record less":          {"DELETE FROM records WHERE seq = 5", 5},
		"no head":                {"DELETE FROM records WHERE seq = 1", 1},
		"no records":             {"DELETE FROM records", 1},
		"a record twice":         {"INSERT INTO records SELECT 9, body, hash FROM records WHERE seq = 7", 9},
		"two records swapped":    {"UPDATE records SET seq = -seq WHERE seq IN (3, 5); UPDATE records SET seq = 8 + seq WHERE seq < 0", 3},
		"a body that is no JSON": {"UPDATE records SET body = x'00' WHERE seq = 6", 6},
		"no table":               {"DROP TABLE records", 1},
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t)
			tamper(t, path, c.sql)
			before := must(os.ReadFile(path))(t)
			_, err := OpenSQLite(ctx, path, demoHead(t), dayCache())
			var broken *CorruptError
			if !errors.As(err, &broken) || broken.Seq != c.seq {
				t.Fatalf("opening: %v, want record %d", err, c.seq)
			}
			if !bytes.Equal(before, must(os.ReadFile(path))(t)) {
				t.Error("the file was changed")
			}
		})
	}
}

// Flipped bytes anywhere in the file never open as another balance.
func TestFlippedBytesNeverGiveBudgetBack(t *testing.T) {
	path := filled(t)
	whole := must(os.ReadFile(path))(t)
	want := must(open(t, path, demoHead(t), dayCache()).balance("ann", 1))(t)
	for at := 0; at < len(whole); at += 997 {
		bent := bytes.Clone(whole)
		bent[at] ^= 0x41
		copied := tempPath(t)
		if err := os.WriteFile(copied, bent, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := OpenSQLite(ctx, copied, demoHead(t), dayCache())
		if err != nil {
			continue
		}
		if b := must(l.balance("ann", 1))(t); !reflect.DeepEqual(b, want) {
			t.Errorf("byte %d: balance %+v", at, b)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The records cannot be changed through the ledger's own connection, and another statement's end cannot stop a charge.
func TestAppendOnlyAndDetached(t *testing.T) {
	l := open(t, tempPath(t), demoHead(t), dayCache())
	for _, sql := range []string{"DELETE FROM records", "UPDATE records SET body = x'00'"} {
		if err := l.db.Exec(sql); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := l.Reserve(gone, count(t, l.Filter(), "ann", 1, 0.5)); !errors.Is(err, context.Canceled) {
		t.Errorf("reserving for a client that is gone: %v", err)
	}
	if b := must(l.balance("ann", 1))(t); b.Dataset.Statements != 0 {
		t.Errorf("it was charged: %+v", b)
	}
}

// A failed COMMIT stops the ledger: nobody knows what is on disk. A failed body leaves no trace.
func TestFailedWrites(t *testing.T) {
	path := tempPath(t)
	l := open(t, path, demoHead(t), dayCache())
	r := count(t, l.Filter(), "ann", 1, 0.5)
	seq := l.state.seq
	const full = "CREATE TEMP TRIGGER full BEFORE INSERT ON records BEGIN SELECT raise(ABORT, 'disk full'); END"
	if err := l.db.Exec(full); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve(ctx, r); err == nil {
		t.Fatal("no error")
	}
	if err := l.db.Exec("DROP TRIGGER full"); err != nil {
		t.Fatal(err)
	}
	if l.state.seq != seq || l.Healthy() != nil {
		t.Fatal("a failed body left a trace")
	}
	must(l.Reserve(ctx, r))(t)
	l.db.CommitHook(func() bool { return false })
	if _, err := l.Reserve(ctx, r); err == nil {
		t.Fatal("a failed COMMIT was no error")
	}
	l.db.CommitHook(nil)
	if _, err := l.Reserve(ctx, r); !errors.Is(err, ErrBroken) {
		t.Fatalf("after it: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if b := must(open(t, path, demoHead(t), dayCache()).balance("ann", 1))(t); b.Dataset.Statements != 1 {
		t.Errorf("balance %+v", b)
	}
}

// Verify finds what a well-chained record may still lie about.
func TestVerifyFindsFalseCharges(t *testing.T) { both(t, testVerifyFindsFalseCharges) }

func testVerifyFindsFalseCharges(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Charge)
		want  string
	}{
		"loss x 0.9":  {func(c *Charge) { c.Loss.Pure, c.Loss.Renyi = 0.9*c.Loss.Pure, 0.9*c.Loss.Renyi }, "below its events' loss"},
		"over budget": {func(c *Charge) { c.Loss.Pure, c.Loss.Renyi = 30, 30 }, "(data_set) did not hold"},
		"over quota":  {func(c *Charge) { c.Quota = 1e-3 }, "(analyst) did not hold"},
	} {
		path := filled(t)
		l := open(t, path, demoHead(t), dayCache())
		charge := &Charge{Reservation: count(t, l.Filter(), "ann", 1, 0.5), Order: l.Filter().Order}
		c.spoil(charge)
		write(t, l, &Record{Reserve: charge})
		var broken *CorruptError
		if err := l.Verify(ctx); !errors.As(err, &broken) || broken.Seq != 10 || !strings.Contains(broken.Reason, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// write appends a record past all admission.
func write(t *testing.T, l *opened, r *Record) {
	t.Helper()
	if err := appendTo(l, r); err != nil {
		t.Fatal(err)
	}
}

// appendTo says of a charge whose it is, where the test does not, and appends the record.
func appendTo(l *opened, r *Record) error {
	if c := r.Reserve; c != nil && c.Dataset == "" {
		c.Dataset, c.Epoch = l.service.dataset.head.Dataset, l.service.epoch
	}
	return l.do(&entry{ctx: ctx, decide: func(time.Time) ([]*Record, error) { return []*Record{r}, nil }})
}

// Verify finds charges in a window that the lifetime did not hold, in one that was used up, and to a frozen analyst; at every
// later opening too.
func TestVerifyFindsChargesBeyondPromises(t *testing.T) {
	both(t, testVerifyFindsChargesBeyondPromises)
}

func testVerifyFindsChargesBeyondPromises(t *testing.T) {
	charge := func(l *opened) *Record {
		return &Record{Reserve: &Charge{Reservation: count(t, l.Filter(), "ann", 1, 0.5)}}
	}
	for want, spoil := range map[string]func(l *opened, h *hands){
		"(lifetime) did not hold": func(l *opened, h *hands) {
			for range 3 {
				must(l.Reserve(ctx, charge(l).Reserve.Reservation))(t)
				h.now = h.now.AddDate(0, 1, 0)
			}
			write(t, l, charge(l))
		},
		"(data_set) did not hold": func(l *opened, h *hands) {
			spendAll(t, l)
			h.now = h.now.AddDate(0, 0, 1)
			write(t, l, charge(l))
		},
		"frozen analyst": func(l *opened, _ *hands) {
			if err := l.Freeze(ctx, "", "owner"); err != nil {
				t.Fatal(err)
			}
			write(t, l, charge(l))
		},
	} {
		h, path := &hands{}, tempPath(t)
		h.set(t, "2026-11-21 12:00")
		l := open(t, path, monthly(t), h.options())
		spoil(l, h)
		seq := l.state.seq
		for range 2 {
			var broken *CorruptError
			if err := l.Verify(ctx); !errors.As(err, &broken) || broken.Seq != seq || !strings.Contains(broken.Reason, want) {
				t.Errorf("%s: %v", want, err)
			}
			l = reopen(t, l, path, monthly(t), h.options())
		}
	}
}

// Verify finds sums in memory that are not the records'.
func TestVerifyFindsOtherSums(t *testing.T) { both(t, testVerifyFindsOtherSums) }

func testVerifyFindsOtherSums(t *testing.T) {
	for want, bend := range map[string]func(*state){
		"balance is another":                func(s *state) { s.datasets[0].windows-- },
		"balance is another in the process": func(s *state) { s.datasets[0].accounts[payee{name: "ann"}].failures++ },
		`data set "demo"`:                   func(s *state) { s.datasets[0].epoch = "0" },
		"is another in the process":         func(s *state) { s.datasets[0].grants = map[payee]granted{{true, "lab"}: {epsilon: 1}} },
		"freezes are others":                func(s *state) { s.frozen["bob"] = FrozenAnalyst{} },
		"at record 10":                      func(s *state) { s.seq++ },
	} {
		l := open(t, filled(t), demoHead(t), dayCache())
		bend(l.state)
		if err := l.Verify(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// No record may follow that breaks the ledger's grammar, however it is signed.
func TestRecordsThatMayNotFollow(t *testing.T) { both(t, testRecordsThatMayNotFollow) }

func testRecordsThatMayNotFollow(t *testing.T) {
	l := open(t, filled(t), demoHead(t), dayCache())
	id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	good := func() *Charge {
		return &Charge{Reservation: count(t, l.Filter(), "ann", 1, 0.5), Order: l.Filter().Order}
	}
	head := demoHead(t)
	for name, r := range map[string]*Record{
		"nothing":             {},
		"two kinds":           {Reserve: good(), Fail: &Failure{Reservation: id}},
		"a second head":       {Head: &head},
		"recovers nothing":    {Opening: &Opening{Dataset: "demo", Epoch: "1"}},
		"recovers another":    {Opening: &Opening{Dataset: "demo", Epoch: "1", Recovered: []int64{id + 1}}},
		"no epoch":            {Opening: &Opening{Dataset: "demo", Recovered: []int64{id}}},
		"no data set":         {Opening: &Opening{Epoch: "1", Recovered: []int64{id}}},
		"no such data set":    {Opening: &Opening{Dataset: "other", Epoch: "1", Recovered: []int64{id}}},
		"an empty epoch":      {Epoch: &Epoch{}},
		"nobody froze":        {Freeze: &Freeze{On: true}},
		"another order":       {Reserve: &Charge{Reservation: good().Reservation, Order: 2}},
		"closes another":      {Commit: &Commit{Reservation: 3}},
		"time that runs back": {Reserve: good(), Time: l.state.clock.Add(-1)},
	} {
		if err := appendTo(l, r); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	for name, spoil := range map[string]func(*Head){
		"no data set": func(h *Head) { h.Dataset = "" },
		"no people":   func(h *Head) { h.People = "" },
		"no epoch":    func(h *Head) { h.Epoch = "" },
		"a window":    func(h *Head) { h.Window = "fortnight" },
		"a lifetime":  func(h *Head) { h.Lifetime = &Lifetime{math.NaN()} },
		"a room":      func(h *Head) { h.Filter.RenyiRoom *= 2 },
	} {
		h := demoHead(t)
		spoil(&h)
		if _, err := openAt(tempPath(t), h, dayCache()); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
	if _, err := openAt(tempPath(t), demoHead(t), Options{Cache: Cache{TTL: 1}}); err == nil {
		t.Error("a cache without a scope: opened")
	}
}
