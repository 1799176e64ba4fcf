package release

import (
	"context"
	"fmt"
	"math/big"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// pairRows are rows of pairs.
type pairRows struct {
	rows [][]sqltype.Value
	at   int
}

func (r *pairRows) Next() bool { r.at++; return r.at <= len(r.rows) }
func (r *pairRows) Err() error { return nil }
func (r *pairRows) Close()     {}
func (r *pairRows) Row() []secret.Value {
	var out []secret.Value
	for _, v := range r.rows[r.at-1] {
		out = append(out, secret.Of(v))
	}
	return out
}

// TestReadFlows: pairs are added up by group and unit, however a unit is spelled; other groups' rows are dropped; what does not fit is a failure, and what weights add up to is none.
func TestReadFlows(t *testing.T) {
	a := &sensitivity.Analysis{Pairs: &sensitivity.Pairs{}, Keys: []sensitivity.Key{{Type: sqltype.Text}}, Measures: make([]sensitivity.Measure, 1),
		Groups: sensitivity.Groups{Public: true, Count: 2, Sources: []sensitivity.Source{{Keys: []int{0}, Tuples: [][]sqltype.Value{{"AIR"}, {nil}}}}}}
	cols := []sqlgen.Column{{Role: sqlgen.RoleKey}, {Role: sqlgen.RoleUnit}, {Role: sqlgen.RoleUnit, Index: 1}, {Role: sqlgen.RoleMeasure}}
	dec := decimal.RequireFromString
	most := int64(1) << 60
	f, err := readFlows(a, flow.Within{}, cols, &pairRows{rows: [][]sqltype.Value{
		{"AIR", int64(1), "x", int64(5)}, {"AIR", int64(2), "x", int64(7)}, {"SHIP", int64(1), "x", int64(100)}, {nil, dec("1.50"), "y", most}, {nil, dec("1.5"), "z", most}, {nil, dec("1.50"), "w", most},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, g := range f.groups {
		got += fmt.Sprint(g.keys, " ")
		for _, limit := range []int64{3, 6, 1 << 40} {
			got += fmt.Sprint(g.graphs[0].Value(limit), " ")
		}
	}
	if want := fmt.Sprint("[AIR] 3 6 12 [<nil>] 3 6 ", int64(1)<<40, " "); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	for name, row := range map[string][]sqltype.Value{"no unit": {"AIR", nil, "x", int64(1)}, "no second unit": {"AIR", int64(1), nil, int64(1)}, "no weight": {"AIR", int64(1), "x", nil},
		"a weight below 0": {"AIR", int64(1), "x", int64(-1)}, "a wide weight": {"AIR", int64(1), "x", big.NewInt(1)}, "a column less": {"AIR", int64(1), "x"}} {
		if _, err := readFlows(a, flow.Within{}, cols, &pairRows{rows: [][]sqltype.Value{row}}); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	if _, err := readFlows(&sensitivity.Analysis{}, flow.Within{}, cols, &pairRows{}); err == nil {
		t.Error("rows of one unit were read as pairs")
	}
}

// TestFlowsEnd: where the statement's time has ended nothing is chosen or released of what was read.
func TestFlowsEnd(t *testing.T) {
	a := &sensitivity.Analysis{Pairs: &sensitivity.Pairs{}, Groups: sensitivity.Groups{Public: true, Count: 1}, Limit: sensitivity.GroupLimit{PerUnit: 1}}
	a.Choices = []*sensitivity.Choice{{By: sensitivity.ByFlow, Edges: []uint64{1, 2, 4, 8}}}
	a.Measures = []sensitivity.Measure{{Kind: sensitivity.CountRows, Contribution: sensitivity.Contribution{Single: true, Hi: 8, PerGroup: 8}, ContributionChoice: sensitivity.ContributionChoice{Factor: 1, Bound: a.Choices[0]}, Subdivision: 1}}
	one := dp.Scale{Num: 1, Den: 1}
	p := &price.Quote{UnitsFromSelection: -1, Choices: []dp.Event{dp.Choice{Edges: 4, Slope: one, Scale: one}}, Measures: []dp.Event{dp.Clipped{Noise: dp.LaplaceNoise, Ratio: one, Least: 1, Groups: []uint64{1}}}}
	cols := []sqlgen.Column{{Role: sqlgen.RoleUnit}, {Role: sqlgen.RoleUnit, Index: 1}, {Role: sqlgen.RoleMeasure}}
	for _, ended := range []bool{false, true} {
		m, err := New(a, p, noise.NewSource(), 10)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if m.UseContext(ctx); ended {
			cancel()
		}
		rows := &pairRows{}
		for i := range int64(20) {
			rows.rows = append(rows.rows, []sqltype.Value{i % 3, i % 5, int64(4)})
		}
		if _, err := m.Read(cols, rows); (err != nil) != ended {
			t.Errorf("ended %t: %v", ended, err)
		}
		cancel()
	}
	a.Choices[0].By = sensitivity.ByUnits
	if _, err := New(a, p, noise.NewSource(), 10); err == nil {
		t.Error("a flow's cap is chosen by units")
	}
	a.Choices[0].By = sensitivity.ByFlow
	// While they are read it is looked every few rows.
	m, err := New(a, p, noise.NewSource(), 10)
	if err != nil {
		t.Fatal(err)
	}
	rows, ctx := &pairRows{}, &endsLater{Context: context.Background(), looks: 3}
	for range 5 * looks {
		rows.rows = append(rows.rows, []sqltype.Value{int64(1), int64(2), int64(3)})
	}
	m.UseContext(ctx)
	if _, err := m.Read(cols, rows); err == nil || rows.at > 4*looks {
		t.Errorf("%v after %d rows", err, rows.at)
	}
}

// TestDraw: without noise, Draw gives what Read does, at every cap, and again from what is kept; rows of another analysis, or read for one release, it refuses.
func TestDraw(t *testing.T) {
	a := &sensitivity.Analysis{Pairs: &sensitivity.Pairs{}, Groups: sensitivity.Groups{Public: true, Count: 1}, Limit: sensitivity.GroupLimit{PerUnit: 1}}
	cols := []sqlgen.Column{{Role: sqlgen.RoleUnit}, {Role: sqlgen.RoleUnit, Index: 1}, {Role: sqlgen.RoleMeasure}}
	rows := &pairRows{}
	for i := range int64(20) {
		rows.rows = append(rows.rows, []sqltype.Value{i % 3, i % 5, 1 + i%4})
	}
	seen := map[string]bool{}
	var last *Flows
	for edge := uint64(1); edge < 1<<10; edge *= 2 {
		a.Choices = []*sensitivity.Choice{{By: sensitivity.ByFlow, Edges: []uint64{edge, 1 << 10}}}
		a.Measures = []sensitivity.Measure{{Kind: sensitivity.CountRows, Contribution: sensitivity.Contribution{Single: true, Hi: 1 << 10, PerGroup: 1 << 10}, ContributionChoice: sensitivity.ContributionChoice{Factor: 1, Bound: a.Choices[0]}, Subdivision: 1}}
		p := &price.Quote{UnitsFromSelection: -1, Choices: []dp.Event{dp.Choice{Edges: 2, Slope: dp.Scale{Num: 20, Den: 1}, Scale: silent}}, Measures: []dp.Event{dp.Clipped{Noise: dp.LaplaceNoise, Ratio: dp.Scale{Num: 1, Den: 1 << 20}, Least: 1, Groups: []uint64{1}}}}
		own := *a // a flow that is kept is of one analysis
		made := func() *Releaser {
			m, err := New(&own, p, noise.NewSource(), 10)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		again := *rows
		want, err := made().Read(cols, &again)
		if err != nil {
			t.Fatal(err)
		}
		again = *rows
		f, err := ReadFlows(&own, cols, &again)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			m := made()
			got, err := m.Draw(f)
			if err != nil || got.Chosen[0] != want.Chosen[0] || got.Groups[0].Values[0].Cmp(want.Groups[0].Values[0]) != 0 {
				t.Fatalf("cap %d: %+v, read it is %+v: %v", edge, got, want, err)
			}
			if _, err := m.Draw(f); err == nil {
				t.Error("a Maker draws twice")
			}
		}
		seen[fmt.Sprint(want.Chosen, want.Groups[0].Values[0])] = true
		if last != nil {
			if _, err := made().Draw(last); err == nil {
				t.Error("another analysis' pairs are drawn of")
			}
		}
		last = f
		again = *rows
		if f, err := readFlows(&own, flow.Within{}, cols, &again); err != nil {
			t.Fatal(err)
		} else if _, err := made().Draw(f); err == nil {
			t.Error("pairs that are read for one release are drawn of")
		}
	}
	if len(seen) < 4 {
		t.Errorf("no caps but %v", seen)
	}
}

// endsLater is a context that has ended after some looks.
type endsLater struct {
	context.Context
	looks int
}

func (c *endsLater) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}
