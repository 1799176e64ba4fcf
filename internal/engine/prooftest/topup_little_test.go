package prooftest

import (
	"context"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTopUpOfLittle: who asks for a little more gets what is there, free, unchanged for everybody; from a quarter more on it is measured again, and
// nobody's answer is less exact for it.
func TestTopUpOfLittle(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	bob := enginetest.NewSession(s.Engine, t, "bob")
	for _, x := range []*session.Session{s, bob} {
		enginetest.Set(t, x, "dpsql.mechanism", "laplace")
		enginetest.Set(t, x, "dpsql.notices", "brief")
	}
	const sql = "select count(*), sum(free) from encounters"
	_, first := enginetest.Ask(t, s, sql)
	_, errs, _ := enginetest.LastAnswered(t, s)
	for _, epsilon := range []string{"0.50000001", "0.5000000101", "0.501", "0.62"} {
		enginetest.Set(t, s, "dpsql.price", epsilon)
		if n := enginetest.Charged(t, s.Engine, func() {
			_, a := enginetest.Ask(t, s, sql)
			if fmt.Sprint(a.Rows) != fmt.Sprint(first.Rows) || !strings.Contains(a.Notice, "only a price a quarter higher measures again") {
				t.Errorf("at %s: %v, %q", epsilon, a.Rows, a.Notice)
			}
		}); n != 0 {
			t.Errorf("at %s: %d charges", epsilon, n)
		}
	}
	enginetest.FailFor(s.Engine, "ann") // free answers are given to whom nothing else is
	if _, a := enginetest.Ask(t, s, sql); fmt.Sprint(a.Rows) != fmt.Sprint(first.Rows) {
		t.Errorf("%v was %v", a.Rows, first.Rows)
	}
	s.Engine.Unnoted.Pardon("ann")
	enginetest.Set(t, s, "dpsql.price", "0.63")
	if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, sql) }); n != 1 {
		t.Errorf("a quarter more: %d charges", n)
	}
	_, a := enginetest.Ask(t, bob, sql)
	_, now, free := enginetest.LastAnswered(t, bob)
	if !free || strings.Contains(a.Notice, "measuring again") {
		t.Errorf("bob: free %t, %q", free, a.Notice)
	}
	for i := range now {
		if now[i] > errs[i]*1.001 {
			t.Errorf("measure %d: an error of %g was %g", i+1, now[i], errs[i])
		}
	}
}

// TestTopUpOfSelections: where groups were selected and one person is in several, their numbers of persons are topped up with noise for as many groups as the
// selection was for.
func TestTopUpOfSelections(t *testing.T) {
	db := enginetest.Clinic{Name: "shared diagnoses", Data: neighbour.Inside, Change: []string{
		`INSERT INTO "public"."encounters" SELECT 100000 + u.i, 1000 + u.i % 400, 1, 1, NULL, NULL, NULL, NULL, 'd' || u.i // 400, 'NO', NULL, NULL, 1 FROM range(1600) u(i)`}}
	for _, c := range []struct {
		groups, mechanism string
		edits             []string
	}{{"4", "laplace", enginetest.AutoEdits[4:]}, {"3", "laplace", enginetest.AutoEdits}, {"auto", "laplace", enginetest.AutoEdits}, {"4", "gaussian", enginetest.AutoEdits[4:]}, {"3", "gaussian", enginetest.AutoEdits}} {
		s := enginetest.ClinicSession(t, db, funcs.DuckDB, c.edits...)
		enginetest.Set(t, s, "dpsql.mechanism", c.mechanism)
		enginetest.Set(t, s, "dpsql.max_groups", c.groups)
		const sql = "select diag, count(distinct patient_id), count(*) from encounters group by 1 order by 1"
		enginetest.Set(t, s, "dpsql.price", "3")
		p, first := enginetest.Ask(t, s, sql)
		enginetest.Set(t, s, "dpsql.price", "5")
		_, again := enginetest.Ask(t, s, sql)
		r := s.Last.(*private.LastAnswer).Releases[0].Release
		if p.Analysis().Groups.Public || p.Analysis().Limit.PerUnit < 2 || len(first.Rows) < 2 || len(again.Rows) != len(first.Rows) || len(r.Tops) != 1 || r.Plan.UnitsFromSelection < 0 {
			t.Fatalf("%s: public %t, %d groups a unit, %v, %v", c.groups, p.Analysis().Groups.Public, p.Analysis().Limit.PerUnit, first.Rows, again.Rows)
		}
		for i, ev := range r.LastQuote().Measures {
			before, err := r.Run.Event(i)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := enginetest.SensitivityOf(t, ev), enginetest.SensitivityOf(t, before); got != want || want.Groups != r.Run.Selection.Groups || want.Groups < 2 {
				t.Errorf("%s: measure %d is topped up for %+v, its release is for %+v", c.groups, i+1, got, want)
			}
		}
	}
}

// TestTopUpOfNorms: the second scan of a top-up is scaled to the norms that the release chose, not to others.
func TestTopUpOfNorms(t *testing.T) {
	ctx := context.Background()
	for _, sql := range []string{normStatements[0], normStatements[1], "select kind_id, sum(days), sum(free) from encounters group by 1"} {
		s := enginetest.ClinicSession(t, vectors(), funcs.DuckDB, append([]string{"epsilon: 20,", "epsilon: 1000,"}, normEdits[1]...)...)
		p := normPlan(t, s, sql)
		enginetest.Ask(t, s, sql)
		mp := s.Last.(*private.LastAnswer).Releases[0].Release.Plan
		widest, narrow := make([]uint64, len(p.Analysis().Choices)), make(price.Chosen, len(p.Analysis().Choices))
		for i, c := range p.Analysis().Choices {
			widest[i] = c.Edges[len(c.Edges)-1]
			narrow[i] = 2
		}
		run, err := mp.Resolve(p.Analysis(), narrow)
		if err != nil {
			t.Fatal(err)
		}
		was, _, err := s.Engine.Ledger.Lookup(ctx, p.Staged().Key(p.Staged().Stages[0], nil, nil), "ann")
		if err != nil {
			t.Fatal(err)
		}
		made, err := stage.Decoded(p.Staged().Stages[0], was)
		if err != nil {
			t.Fatal(err)
		}
		old := &release.Release{Plan: mp, Chosen: narrow, Run: run, Groups: made.Groups}
		want, err := normTotals(p, s.Engine.Backend, old.Edges(p.Analysis()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := normTotals(p, s.Engine.Backend, widest, nil); err != nil || reflect.DeepEqual(other.Groups, want.Groups) {
			t.Fatalf("%s: norms make no difference (%v)", sql, err)
		}
		top := &price.Quote{Price: 2, Mechanism: price.Gaussian, UnitsFromSelection: -1}
		for _, ev := range run.Measures { // so quiet that it is not heard beside a release's noise, which it replaces
			top.Measures = append(top.Measures, dp.Gaussian{Sensitivity: enginetest.SensitivityOf(t, ev), Scale: dp.Scale{Num: 1, Den: 64}})
		}
		tx, err := s.Engine.Begin(ctx, p.World)
		if err != nil {
			t.Fatal(err)
		}
		maker, err := release.NewTopUp(p.Analysis(), top, old, s.Engine.Noise)
		if err != nil {
			t.Fatal(err)
		}
		at := &private.StageRun{Stage: p.Staged().Stages[0], Release: old, Releaser: maker}
		err = enginetest.RunOf(p).Read(ctx, tx, at)
		r := at.Release
		tx.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]*big.Int{}
		for _, g := range r.Groups {
			got[neighbour.Group(g.Keys)] = g.Values
		}
		for key, v := range want.Groups {
			for i, x := range v[:len(p.Analysis().Measures)] {
				fine := big.NewInt(int64(max(1, p.Analysis().Measures[i].Subdivision)))
				d := new(big.Int).Sub(x, new(big.Int).Mul(got[key][i], fine))
				if d.Lsh(d, 1).CmpAbs(fine) > 0 {
					t.Errorf("%s: measure %d of %s is %s, not %s/%s", sql, i+1, key, got[key][i], x, fine)
				}
			}
		}
	}
}

// TestTopUpOfDistinctValues: what is measured again is the number of distinct values that the database has, with the plan's noise: quiet noise shows it and replaces what was released with loud noise; loud noise
// is not missing: all of four numbers within 2000 of the mean without it, where the scale is 10^7, has a probability below 1e-10.
func TestTopUpOfDistinctValues(t *testing.T) {
	ctx := context.Background()
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, enginetest.Roomy...)
		p, err := enginetest.Prepare(s, "select kind_id, count(distinct diag) from encounters group by 1")
		if err != nil {
			t.Fatal(err)
		}
		mp, err := p.Staged().Stages[0].Price()
		if err != nil {
			t.Fatal(err)
		}
		truth := enginetest.Unnoised(t, p)
		ev, err := mp.Run().Event(0)
		if err != nil {
			t.Fatal(err)
		}
		noise := func(num, den uint64) []dp.Event {
			return []dp.Event{dp.Laplace{Sensitivity: enginetest.SensitivityOf(t, ev), Scale: dp.Scale{Num: num, Den: den}}}
		}
		loud := mp.Run()
		loud.Measures = noise(1e7, 1)
		for _, quiet := range []bool{true, false} {
			old := &release.Release{Plan: mp, Run: loud}
			for _, g := range truth.Groups {
				old.Groups = append(old.Groups, release.Group{Keys: g.Keys, Values: []*big.Int{big.NewInt(1 << 40)}})
			}
			top := &price.Quote{Price: 2, Mechanism: price.Laplace, UnitsFromSelection: -1, Measures: loud.Measures}
			if quiet {
				top.Measures = noise(1, 1<<10)
			}
			maker, err := release.NewTopUp(p.Analysis(), top, old, s.Engine.Noise)
			if err != nil || maker == nil {
				t.Fatal(maker, err)
			}
			tx, err := s.Engine.Begin(ctx, p.World)
			if err != nil {
				t.Fatal(err)
			}
			at := &private.StageRun{Stage: p.Staged().Stages[0], Release: old, Releaser: maker}
			err = enginetest.RunOf(p).Read(ctx, tx, at)
			tx.Close()
			if err != nil || len(at.Release.Groups) != len(truth.Groups) {
				t.Fatal(at.Release, err)
			}
			heard := false
			for i, g := range at.Release.Groups {
				v, exact := g.Values[0].Int64(), truth.Groups[i].Values[0].Int64()
				if quiet && v != exact {
					t.Errorf("%s: %v has %d distinct values, not %d", d, g.Keys, exact, v)
				}
				off := v - (1<<40+exact)/2
				heard = heard || off > 2000 || off < -2000
			}
			if !quiet && !heard {
				t.Errorf("%s: no noise in %v", d, at.Release.Groups)
			}
		}
	}
}
