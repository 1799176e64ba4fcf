package release

import (
	"math/big"
	"reflect"
	"slices"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// loud is so wide a scale that a silent top-up replaces what had it.
var loud = dp.Scale{Num: 1000, Den: 1}

// silentTopUp tops up a release whose values are wide noise, so that fresh ones replace them exactly.
func silentTopUp(a *sensitivity.Analysis, old *Release, cols []sqlgen.Column, rows *table, src *noise.Source) (*Release, error) {
	run := *old.Run
	run.Measures = make([]dp.Event, len(a.Measures))
	top := &price.Quote{Price: 1, Mechanism: price.Laplace, UnitsFromSelection: -1, Measures: make([]dp.Event, len(a.Measures))}
	for i := range a.Measures {
		run.Measures[i] = dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: loud}
		top.Measures[i] = dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: silent}
	}
	released := *old
	released.Run = &run
	m, err := NewTopUp(a, top, &released, src)
	if err != nil {
		return nil, err
	}
	return m.Read(cols, rows)
}

// valuesOf are a release's numbers by key.
func valuesOf(r *Release) map[string][]int64 {
	out := map[string][]int64{}
	for _, g := range r.Groups {
		var v []int64
		for _, x := range g.Values {
			v = append(v, x.Int64())
		}
		out[g.Keys[0].(string)] = v
	}
	return out
}

// TestTopUpIsClipped: what a top-up measures are the totals of partials clipped at the bounds that the release chose, within its number of groups, of its
// groups: whatever the data is now, and whatever would be chosen on it.
func TestTopUpIsClipped(t *testing.T) {
	src := noise.NewSource()
	rapid.Check(t, func(t *rapid.T) {
		a := chosenAnalysis(rapid.Bool().Draw(t, "public"), rapid.Bool().Draw(t, "cap is chosen"))
		if a.Limit.Cap == nil && rapid.Bool().Draw(t, "one group") {
			a.Limit.PerUnit = 1
		}
		p := chosenPlan(a, 1)
		old := &Release{Plan: p, Chosen: make(price.Chosen, len(a.Choices))}
		edges := make([]int64, len(a.Choices))
		for i, c := range a.Choices {
			old.Chosen[i] = rapid.IntRange(0, len(c.Edges)-1).Draw(t, "edge")
			edges[i] = int64(c.Edges[old.Chosen[i]])
		}
		var err error
		if old.Run, err = p.Resolve(a, old.Chosen); err != nil {
			t.Fatal(err)
		}
		want := map[string][]int64{}
		for _, k := range []string{"a", "b", "c"} {
			if a.Groups.Public || rapid.Bool().Draw(t, k) {
				old.Groups = append(old.Groups, Group{Keys: []sqltype.Value{k}, Values: []*big.Int{big.NewInt(-7), big.NewInt(-7), big.NewInt(-7), big.NewInt(-7)}})
				want[k] = make([]int64, 4)
			}
		}
		in := drawEntries(t, int(a.Limit.PerUnit))
		for _, e := range in {
			v := want[e.key]
			if v == nil || len(edges) == 3 && int64(e.rank) > edges[2] {
				continue
			}
			v[0]++
			v[1] += e.fixed
			for i, x := range e.parts {
				v[2+i] += max(-edges[i], min(edges[i], x))
			}
		}
		r, err := silentTopUp(a, old, partColumns, parts(a, in), src)
		if err != nil {
			t.Fatal(err)
		}
		if got := valuesOf(r); !reflect.DeepEqual(got, want) {
			t.Fatalf("at %v: %v, they are %v of %v", edges, got, want, in)
		}
		if !slices.Equal(r.Chosen, old.Chosen) || r.Plan != old.Plan || len(r.Tops) != 1 {
			t.Fatalf("%+v was %+v", r, old)
		}
	})
}

// TestTopUpOfScaledVectors: the second scan's totals, which are scaled to the norms of the release, are what a top-up measures; a first scan's are refused.
func TestTopUpOfScaledVectors(t *testing.T) {
	src := noise.NewSource()
	a := chosenAnalysis(true, false)
	a.Limit.Norm = sensitivity.L2
	a.Measures, a.Choices = a.Measures[2:], a.Choices[:2]
	for i, c := range a.Choices {
		c.Measure = i
	}
	p := &price.Quote{Price: 0.5, Mechanism: price.Gaussian, UnitsFromSelection: -1, Loss: dp.Loss{Renyi: 0.25}}
	for _, c := range a.Choices {
		p.Choices = append(p.Choices, dp.AboveThreshold{Edges: uint64(len(c.Edges)), Threshold: 1, Scale: silent})
		p.Measures = append(p.Measures, dp.Clipped{Noise: dp.GaussianNormNoise, Least: 1, Groups: []uint64{1}, Ratio: silent})
	}
	old := &Release{Plan: p, Chosen: price.Chosen{2, 1}}
	var err error
	if old.Run, err = p.Resolve(a, old.Chosen); err != nil {
		t.Fatal(err)
	}
	if got := old.Edges(a); !slices.Equal(got, []uint64{3, 3}) {
		t.Fatalf("the release's norms are %v", got)
	}
	for _, k := range []string{"a", "b", "c"} {
		old.Groups = append(old.Groups, Group{Keys: []sqltype.Value{k}, Values: []*big.Int{big.NewInt(-7), big.NewInt(-7)}})
	}
	cols := []sqlgen.Column{{Role: sqlgen.RoleKey}, {Role: sqlgen.RoleMeasure}, {Role: sqlgen.RoleMeasure, Index: 1}}
	row := func(k string, x, y int64) []sqltype.Value {
		return []sqltype.Value{k, decimal.NewFromInt(x), decimal.NewFromInt(y)}
	}
	r, err := silentTopUp(a, old, cols, &table{rows: [][]sqltype.Value{row("c", 5, -6), row("a", 1, 2)}}, src)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := valuesOf(r), (map[string][]int64{"a": {1, 2}, "b": {0, 0}, "c": {5, -6}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v is %v", want, got)
	}
	first := []sqlgen.Column{{Role: sqlgen.RolePart}, {Role: sqlgen.RoleBucket}, {Role: sqlgen.RoleCount}}
	if r, err := silentTopUp(a, old, first, &table{rows: [][]sqltype.Value{{int64(-1), int64(1), int64(3)}}}, src); err == nil {
		t.Errorf("the first scan was read: %v", valuesOf(r))
	}
	if r, err := silentTopUp(a, old, cols, &table{rows: [][]sqltype.Value{row("a", 5, -6), row("a", 1, 2)}}, src); err == nil {
		t.Errorf("a group came twice: %v", valuesOf(r))
	}
}

// TestNoGainNoTopUp: where no value would become more exact, nothing is measured.
func TestNoGainNoTopUp(t *testing.T) {
	a := chosenAnalysis(true, false)
	p := chosenPlan(a, 1)
	run, err := p.Resolve(a, price.Chosen{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewTopUp(a, &price.Quote{Measures: run.Measures, UnitsFromSelection: -1}, &Release{Plan: p, Chosen: price.Chosen{1, 1}, Run: run}, noise.NewSource())
	if m != nil || err != nil {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestNoiseOfTopUps: a value is the mean of those numbers that weigh, and its noise that of the first of them.
func TestNoiseOfTopUps(t *testing.T) {
	at := func(scale uint64) dp.Event {
		return dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: scale, Den: 1}}
	}
	r := &Release{Run: &price.Run{Measures: []dp.Event{nil}, Selection: &dp.Selection{Scale: dp.Scale{Num: 9, Den: 1}}}}
	for i, step := range []struct {
		weights [2]int64
		of      int
		first   dp.Event
	}{{[2]int64{1, 0}, 1, *r.Run.Selection}, {[2]int64{1, 1}, 2, *r.Run.Selection}, {[2]int64{1, 0}, 2, *r.Run.Selection}, {[2]int64{0, 1}, 1, at(3)}, {[2]int64{2, 1}, 2, at(3)}} {
		r.Tops = append(r.Tops, Top{Plan: &price.Quote{Measures: []dp.Event{at(uint64(i))}}, Weights: [][2]int64{step.weights}})
		first, of, err := r.Noise(0)
		if err != nil || of != step.of || first != step.first {
			t.Errorf("after %d top-ups: %v, of %d, %v", i+1, first, of, err)
		}
	}
}
