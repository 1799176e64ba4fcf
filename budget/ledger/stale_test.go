package ledger

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Two servers over one ledger, each with the policy that it read last, while either raises the budget and either reads its policy again, in any order: one that has read another promise than the ledger's charges nothing and
// shows no balance, the other admits just what a list of charges does, and nobody goes beyond the own quota, or a role's.
func TestStaleServers(t *testing.T) {
	t.Parallel()
	run := 0
	tb := t
	rapid.Check(t, func(t *rapid.T) {
		if run++; run > 8 { // each operation is a round trip
			return
		}
		path := fmt.Sprint(tb.TempDir(), "/", run)
		newSchema(tb, path)
		var (
			servers [2]*opened
			knows   [2]float64
			spent   = map[string]float64{}
			epsilon = 2.0
		)
		for i := range servers {
			l, err := openAt(path, pureHead(tb, epsilon), frequent(Options{}))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close() //nolint:errcheck // rapid's runs end here
			servers[i], knows[i] = l, epsilon
		}
		payers := []Payer{{Analyst: "ann", Quota: 0.7, Roles: []Role{{"lab", 1}}}, {Analyst: "bob", Quota: 1, Roles: []Role{{"lab", 1}}}, {Analyst: "eve", Quota: 2}}
		quotas := map[string]float64{"ann": 0.7, "bob": 1, "eve": 2, "lab": 1}
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				i, p := rapid.IntRange(0, 1).Draw(t, "server"), rapid.SampledFrom(payers).Draw(t, "payer")
				r := count(tb, servers[i].Filter(), p.Analyst, 1, rapid.SampledFrom([]float64{0.1, 0.4}).Draw(t, "price"))
				r.Payer = p
				_, err := servers[i].Reserve(ctx, r)
				if knows[i] != epsilon {
					if !errors.Is(err, ErrPromise) {
						t.Fatalf("under epsilon %g, which is %g by now: %v", knows[i], epsilon, err)
					}
					return
				}
				names, fits := []string{p.Analyst}, spent["all"]+r.Loss.Pure <= epsilon
				for _, role := range p.Roles {
					names = append(names, role.Name)
				}
				for _, name := range names {
					fits = fits && spent[name]+r.Loss.Pure <= quotas[name]
				}
				var d *Denied
				if fits != (err == nil) || err != nil && !errors.As(err, &d) {
					t.Fatalf("%v; spent %v", err, spent)
				}
				if err == nil {
					for _, name := range append(names, "all") {
						spent[name] += r.Loss.Pure
					}
				}
			},
			"raise": func(t *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(t, "server")
				larger := epsilon + rapid.SampledFrom([]float64{0.5, 2}).Draw(t, "more")
				if err := servers[i].Raise(ctx, pureHead(tb, larger), "owner", "more"); err != nil {
					t.Fatal(err)
				}
				epsilon, knows[i] = larger, larger
			},
			"reload": func(t *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(t, "server")
				for _, to := range []float64{epsilon + 1, epsilon} { // what nobody promised is refused
					if err := servers[i].SetHead(ctx, pureHead(tb, to)); (err == nil) != (to == epsilon) {
						t.Fatal(err)
					}
				}
				knows[i] = epsilon
			},
			"": func(t *rapid.T) {
				for i, l := range servers {
					for _, p := range payers {
						b, err := l.Balance(p)
						if stale := knows[i] != epsilon; stale != errors.Is(err, ErrPromise) || !stale && err != nil {
							t.Fatalf("knows %g, promised %g: %v", knows[i], epsilon, err)
						}
						if err == nil && (b.Analyst.Rooms.Pure != p.Quota || b.Analyst.Spent.Pure > p.Quota || len(b.Roles) > 0 && b.Roles[0].Spent.Pure > b.Roles[0].Rooms.Pure) {
							t.Fatalf("%+v", b)
						}
					}
				}
			},
		})
		if err := servers[0].Verify(ctx); err != nil {
			t.Fatal(err)
		}
	})
}
