package ledger

import (
	"errors"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Who asks again and again at a small price, anew or not, keeps nobody from asking at a larger one: only what would answer is waited for.
func TestCheapQuestionsKeepNobody(t *testing.T) {
	t.Parallel()
	eachStore(t, dayCache(), func(t *testing.T, a, b Ledger) {
		cheap, dear := once(t, a, 1), once(t, a, 1)
		cheap.Price, cheap.Once, dear.Enough = 0.001, false, 0.08
		id := must(a.Reserve(ctx, cheap))(t)
		if err := b.Fail(ctx, must(b.Reserve(ctx, dear))(t), "beside a cheap one"); err != nil {
			t.Fatal(err)
		}
		if err := a.Commit(ctx, id, Release{Key: dear.Statement, Payload: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		id = must(b.Reserve(ctx, dear))(t)
		var by *InFlightError
		if _, err := a.Reserve(ctx, dear); !errors.As(err, &by) || by.Reservation != id {
			t.Errorf("one that is enough: %v", err)
		}
	})
}

// Who serves another policy's text, or another data set, does not wait: the release would not answer there.
func TestAnotherEpochDoesNotWait(t *testing.T) {
	t.Parallel()
	visits, studies := twoHeads(t)
	at, list := proxies(t, 1, visits, dayCache())
	a, b, other := list[0], joined(t, at, visits, dayCache(), usual), joined(t, at, studies, dayCache(), usual)
	if err := a.setEpoch("2"); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Postgres{a, b, other} {
		must(l.Reserve(ctx, once(t, l, 1)))(t)
	}
	if _, err := b.Reserve(ctx, once(t, b, 1)); !errors.As(err, new(*InFlightError)) {
		t.Errorf("the same epoch: %v", err)
	}
}

// A charge below its events' loss is refused, whichever part of it is too small.
func TestChargesBelowTheirLoss(t *testing.T) {
	t.Parallel()
	l := open(t, tempPath(t), demoHead(t), dayCache())
	whole := count(t, l.Filter(), "ann", 1, 0.5)
	whole.Events = append(whole.Events, dp.Selection{Groups: 4, Scale: dp.Scale{Num: 41, Den: 8}, Threshold: 600, Delta: 1e-9})
	whole.Loss = must(l.Filter().Sum(whole.Events))(t)
	for name, part := range map[string]func(*dp.Loss) *float64{
		"pure": func(o *dp.Loss) *float64 { return &o.Pure }, "Renyi": func(o *dp.Loss) *float64 { return &o.Renyi }, "delta": func(o *dp.Loss) *float64 { return &o.Delta },
	} {
		r := whole
		*part(&r.Loss) *= 0.9
		if _, err := l.Reserve(ctx, r); err == nil || whole.Loss == r.Loss {
			t.Errorf("0.9 of %s: %v", name, err)
		}
	}
	must(l.Reserve(ctx, whole))(t)
}

// A server that has as many records, but not those that were read, is another ledger.
func TestEquallyLongForkIsRefused(t *testing.T) {
	t.Parallel()
	at, list := proxies(t, 1, demoHead(t), dayCache())
	r := count(t, list[0].Filter(), "ann", 1, 0.1)
	must(list[0].Reserve(ctx, r))(t)
	psql(t, at, `DROP TRIGGER stays ON records; UPDATE records SET (body, hash) = (body || '\x20', sha256(body || '\x20')) WHERE seq = (SELECT max(seq) FROM records);
		UPDATE head SET hash = (SELECT hash FROM records ORDER BY seq DESC LIMIT 1)`)
	if _, err := list[0].Reserve(ctx, r); !errors.Is(err, ErrRolledBack) {
		t.Error(err)
	}
}

// A batch that could not be written leaves no trace in the analyst's account, nor in those of the roles.
func TestFailedBatchTakesRolesBack(t *testing.T) {
	t.Parallel()
	l := open(t, tempPath(t), demoHead(t), dayCache())
	r := count(t, l.Filter(), "ann", 1, 0.5)
	r.Roles = []Role{{"lab", 5}}
	full := func(sql string) {
		t.Helper()
		if err := l.db.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	const trigger = "CREATE TEMP TRIGGER full BEFORE INSERT ON records BEGIN SELECT raise(ABORT, 'disk full'); END"
	for n := range int64(2) { // of accounts that are new, and of known ones
		full(trigger)
		if _, err := l.Reserve(ctx, r); err == nil {
			t.Fatal("no error")
		}
		full("DROP TRIGGER full")
		set := must(l.Accounts())(t).Datasets[0]
		if a := set.Roles["lab"]; a.Statements != n || set.Account.Statements != n || n > 0 && a.Spent != set.Account.Spent {
			t.Errorf("after %d: %+v beside %+v", n, a, set.Account)
		}
		must(l.Reserve(ctx, r))(t)
	}
}
