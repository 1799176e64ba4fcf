package ledger

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
)

// What an analyst is told of the own charges is the same whatever others ask, in both ledgers, over windows, data sets and restarts.
func TestOwnChargesTellNothingOfOthers(t *testing.T) { both(t, testOwnCharges) }

func testOwnCharges(t *testing.T) {
	var told [2][]OwnCharge
	for i := range told {
		others := i == 0
		now := time.Date(2026, 5, 30, 9, 0, 0, 0, time.UTC)
		opt := Options{Cache: Cache{TTL: time.Hour, Scope: ScopeDataset}, Now: func() time.Time { return now }, every: 7}
		a, b := demoHead(t), demoHead(t)
		a.Window, a.Lifetime, b.Window, b.Lifetime, b.Dataset = WindowMonth, &Lifetime{100}, WindowMonth, &Lifetime{100}, "another"
		path := tempPath(t)
		l := reopen(t, nil, path, b, opt)
		must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.01)))(t) // of another data set: it may be another ann
		l = reopen(t, l, path, a, opt)
		ask := func(who string, price float64, normal bool) int64 {
			t.Helper()
			if who != "ann" && !others {
				return 0
			}
			r := count(t, l.Filter(), who, 1, price)
			if normal {
				r = gaussian(t, l.Filter(), who, 1, price)
			}
			return must(l.Reserve(ctx, r))(t)
		}
		end := func(id int64, err error) {
			t.Helper()
			if id > 0 && err != nil {
				t.Fatal(err)
			}
		}
		for day := range 4 { // the third is in June
			bob := ask("bob", 0.02, day == 1)
			id := ask("ann", 0.01, false)
			must(l.Charges(ctx, "ann"))(t)
			ask("anna", 0.02, false)
			if bob > 0 {
				end(bob, l.Commit(ctx, bob, Release{Key: Hash{7, byte(day)}, Payload: []byte("bob's")}))
			}
			end(id, l.Commit(ctx, id, Release{Key: Hash{byte(day)}, Payload: []byte("ann's")}))
			now = now.AddDate(0, 0, 1)
		}
		failed, cancelled, left := ask("ann", 0.03, true), ask("ann", 0.01, false), ask("ann", 0.01, false)
		end(failed, l.Fail(ctx, failed, "memory"))
		end(cancelled, l.Abandon(ctx, []int64{cancelled}))
		ask("bob", 0.01, false)
		told[i] = must(l.Charges(ctx, "ann"))(t)
		if got := states(told[i]); !slices.Equal(got, []string{"committed", "committed", "committed", "committed", "failed", "cancelled", "reserved"}) {
			t.Errorf("states %v", got)
		}
		if l.file != nil { // the next owner closes what is open; on a server another does when the lease has ended
			l = reopen(t, l, path, a, opt)
			if got := states(must(l.Charges(ctx, "ann"))(t)); got[5] != StateCancelled || got[6] != StateRecovered {
				t.Errorf("after a restart %v", got)
			}
		} else {
			end(left, l.Commit(ctx, left, Release{Key: Hash{9}}))
		}
		told[i] = append(told[i], must(l.Charges(ctx, "ann"))(t)...)
		if cyd := must(l.Charges(ctx, "cyd"))(t); len(cyd) != 0 {
			t.Errorf("cyd never asked: %+v", cyd)
		}
	}
	for i := range told {
		for j := range told[i] {
			told[i][j].Reservation = 0 // never shown
		}
	}
	if !reflect.DeepEqual(told[0], told[1]) {
		t.Errorf("with others %+v\nalone %+v", told[0], told[1])
	}
	own := told[1][:7]
	var total float64
	for i, c := range own {
		if c.Window.Equal(own[max(0, i-1)].Window) {
			total += c.Loss.Pure
		} else {
			total = c.Loss.Pure
		}
		if c.Number != int64(i+1) || math.Abs(c.Total.Pure-total) > 1e-12 && !math.IsInf(total, 1) || c.Statement == (Hash{}) || len(c.Mechanisms) != 1 {
			t.Errorf("%d: %+v, in all %g", i, c, total)
		}
	}
	if own[1].Window.Equal(own[2].Window) || own[3].Mechanisms[0] == own[4].Mechanisms[0] || !math.IsInf(own[5].Total.Pure, 1) {
		t.Errorf("%+v", own)
	}
}

func states(list []OwnCharge) (out []string) {
	for _, c := range list {
		out = append(out, c.State)
	}
	return out
}

// Only the last charges are kept at hand, with numbers and sums of all.
func TestOwnChargesAreBounded(t *testing.T) {
	t.Parallel()
	var o ownCharges
	for i := range int64(2*ownMost + 5) {
		o.charged("ann", "", &OwnCharge{Reservation: i + 1})
		o.end(StateCommitted, i+1)
	}
	p := o.by["ann"]
	if n := len(p.charges); n != ownMost+5 || p.charges[n-1].Number != 2*ownMost+5 || p.charges[0].State != StateCommitted || len(o.open) != 0 {
		t.Errorf("%d charges are kept, %d open", n, len(o.open))
	}
}

// The owner is shown those of the policy who were never charged too, by their quotas of now and with what was granted.
func TestAccountsOf(t *testing.T) { both(t, testAccountsOf) }

func testAccountsOf(t *testing.T) {
	l := open(t, tempPath(t), demoHead(t), dayCache())
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	if err := l.Grant(ctx, Grant{Dataset: "demo", Analyst: "bob", Epsilon: 3, By: "owner", Reason: "thesis"}); err != nil {
		t.Fatal(err)
	}
	payers := []Payer{{Analyst: "bob", Quota: 2, Roles: []Role{{"students", 4}}}, {Analyst: "ann", Quota: 100}}
	for _, of := range []string{"demo", "another"} {
		a := must(l.AccountsOf(of, nil, payers))(t)
		d := a.Datasets[0]
		bob, known := d.Analysts["bob"]
		switch {
		case len(a.Datasets) != 1 || d.Analysts["ann"].Statements != 1:
			t.Errorf("%+v", a)
		case of == "another":
			if known {
				t.Errorf("bob is of another data set: %+v", bob)
			}
		case bob.Granted != 3 || bob.Rooms.Pure != 5 || bob.Left.Pure != 5 || bob.Statements != 0 || d.Roles["students"].Rooms.Pure != 4 || d.Analysts["ann"].Rooms.Pure != 20:
			t.Errorf("%+v", d)
		}
	}
}
