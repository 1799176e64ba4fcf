package release

import (
	"context"
	"errors"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// treeMaker is a release of one tree of two levels over the public groups a and b.
func treeMaker(t *testing.T) (*Releaser, *sensitivity.Analysis) {
	t.Helper()
	tree := &sensitivity.Tree{Grid: decimal.NewFromInt(1), Hi: 15, Width: 1, Count: 16, Fans: []int64{4, 4}, Quantiles: []sensitivity.Quantile{{Fraction: 0.5}}}
	a := &sensitivity.Analysis{Agg: &plan.Aggregate{}, Keys: []sensitivity.Key{{Type: sqltype.Text, Public: true}}, People: -1,
		Groups: sensitivity.Groups{Public: true, Count: 2, Sources: []sensitivity.Source{{Keys: []int{0}, Tuples: [][]sqltype.Value{{"a"}, {"b"}}}}},
		Limit:  sensitivity.GroupLimit{PerUnit: 2}, Measures: []sensitivity.Measure{{Kind: sensitivity.Leaves, ValueRange: sensitivity.ValueRange{Grid: decimal.NewFromInt(1)}, Contribution: sensitivity.Contribution{Hi: 1, PerGroup: 1}, ContributionChoice: sensitivity.ContributionChoice{Factor: 1}, Subdivision: 1, Tree: tree}}}
	ev := dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 4}, Scale: dp.Scale{Num: 1, Den: 1 << 10}}
	m, err := New(a, &price.Quote{Price: 1, Mechanism: price.Laplace, Measures: []dp.Event{ev}, UnitsFromSelection: -1}, noise.NewSource(), 10)
	if err != nil {
		t.Fatal(err)
	}
	return m, a
}

var treeCols = []sqlgen.Column{{Role: sqlgen.RoleKey, Type: sqltype.Text}, {Role: sqlgen.RoleBucket, Type: sqltype.Int8}, {Role: sqlgen.RoleCount, Type: sqltype.Int8}}

func rowsOf(rows ...[]sqltype.Value) *table { return &table{rows: rows} }

// TestReadTree: what is released are the blocks on the way to the quantiles, of each group that is public, whether or not rows came for it, and nothing of other groups. Noise of scale 2^-10 is 0 but for
// e^-1024.
func TestReadTree(t *testing.T) {
	m, a := treeMaker(t)
	r, err := m.Read(nil, rowsOf())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.ReadTree(t.Context(), 0, treeCols, rowsOf([]sqltype.Value{"a", int64(3), int64(2)}, []sqltype.Value{"a", int64(9), int64(5)}, []sqltype.Value{"z", int64(0), int64(100)})); err != nil {
		t.Fatal(err)
	}
	if len(r.Groups) != 2 || len(r.Groups[0].Trees[0]) != 2 || len(r.Groups[1].Trees[0]) != 1 {
		t.Fatalf("%+v", r.Groups)
	}
	root, below := r.Groups[0].Trees[0][0], r.Groups[0].Trees[0][1]
	if text := root.Counts; text[0].Int64() != 2 || text[1].Int64() != 0 || text[2].Int64() != 5 || below.Level != 1 || below.Node != 2 || below.Counts[1].Int64() != 5 {
		t.Errorf("%+v, %+v", root, below)
	}
	for _, n := range r.Groups[1].Trees[0][0].Counts {
		if n.Sign() != 0 {
			t.Errorf("a group of nobody counts %s", n)
		}
	}
	if err := m.ReadTree(t.Context(), 0, treeCols, rowsOf()); err == nil {
		t.Error("a tree is read twice: its noise would be drawn again")
	}
	text, err := Encode(a, r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(a, text, nil)
	if err != nil || len(again.Groups[0].Trees[0]) != 2 {
		t.Errorf("%+v, %v", again, err)
	}
	a.Measures[0].Tree.Fans = []int64{5, 4}
	if _, err := Decode(a, text, nil); err == nil {
		t.Error("blocks of another shape are taken")
	}
}

// TestReadTreeRefuses: rows that do not fit are a failure.
func TestReadTreeRefuses(t *testing.T) {
	for name, rows := range map[string][][]sqltype.Value{
		"a leaf twice":             {{"a", int64(1), int64(1)}, {"a", int64(1), int64(1)}},
		"a group twice":            {{"a", int64(1), int64(1)}, {"b", int64(1), int64(1)}, {"a", int64(2), int64(1)}},
		"a leaf beyond the last":   {{"a", int64(16), int64(1)}},
		"a leaf before the first":  {{"a", int64(-1), int64(1)}},
		"fewer than no rows":       {{"a", int64(1), int64(-1)}},
		"a part of a row":          {{"a", int64(1), decimal.RequireFromString("0.5")}},
		"more rows than there are": {{"a", int64(1), decimal.RequireFromString("1e30")}},
		"a column too few":         {{"a", int64(1)}},
	} {
		m, _ := treeMaker(t)
		if _, err := m.Read(nil, rowsOf()); err != nil {
			t.Fatal(err)
		}
		if err := m.ReadTree(t.Context(), 0, treeCols, rowsOf(rows...)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	m, _ := treeMaker(t)
	if err := m.ReadTree(t.Context(), 0, treeCols, rowsOf()); err == nil {
		t.Error("a tree is read before the totals")
	}
}

// ending is a context that ends once it was asked a number of times.
type ending struct {
	context.Context
	asked, most int
}

func (e *ending) Err() error {
	if e.asked++; e.asked > e.most {
		return context.DeadlineExceeded
	}
	return nil
}

// TestReadTreeEnds: the end of its context ends the reading of trees wherever it is, between groups and between the nodes of one. It is asked once a group and once a node: of group a two are looked at, of b one.
func TestReadTreeEnds(t *testing.T) {
	const asks = 5
	for most := 0; most <= asks; most++ {
		m, _ := treeMaker(t)
		if _, err := m.Read(nil, rowsOf()); err != nil {
			t.Fatal(err)
		}
		ctx := &ending{Context: t.Context(), most: most}
		err := m.ReadTree(ctx, 0, treeCols, rowsOf([]sqltype.Value{"a", int64(3), int64(2)}, []sqltype.Value{"a", int64(9), int64(5)}))
		if errors.Is(err, context.DeadlineExceeded) != (most < asks) || ctx.asked != min(most+1, asks) {
			t.Errorf("after %d of %d: %v", ctx.asked, most, err)
		}
	}
}

// TestTreeNoise: each node that is looked at has noise of its own, once: the blocks of two releases of one tree differ in every entry but for e^-12 each, and a block that is looked at twice in one release is one.
func TestTreeNoise(t *testing.T) {
	m, a := treeMaker(t)
	wide := dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 4}, Scale: dp.Scale{Num: 1 << 40, Den: 1}}
	var before []Block
	for range 2 {
		m.r.Plan.Measures[0] = wide
		m2, err := New(a, m.r.Plan, noise.NewSource(), 10)
		if err != nil {
			t.Fatal(err)
		}
		r, err := m2.Read(nil, rowsOf())
		if err != nil {
			t.Fatal(err)
		}
		if err := m2.ReadTree(t.Context(), 0, treeCols, rowsOf()); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, g := range r.Groups {
			for i, b := range g.Trees[0] {
				for k, c := range b.Counts {
					if seen[c.String()] || i == 0 && before != nil && before[0].Counts[k].Cmp(c) == 0 {
						t.Errorf("noise %s twice", c)
					}
					seen[c.String()] = true
				}
			}
		}
		before = r.Groups[0].Trees[0]
	}
}
