package release

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// silent is so small a scale that noise is 0 but for a probability below e^-10000 (times bounds up to 100): what is left is the clipping, exactly.
var silent = dp.Scale{Num: 1, Den: dp.MaxScaleDen}

// chosenAnalysis is a count of units, a fixed count, a chosen count and a chosen sum of both signs by a text key; public: of the keys a, b, c. With cap the number
// of a unit's groups is chosen.
func chosenAnalysis(public, cap bool) *sensitivity.Analysis {
	a := unknown(sqltype.Text)
	count := &sensitivity.Choice{Index: 0, Measure: 2, Edges: []uint64{1, 2, 3, 4, 5, 7, 9, 12}}
	sum := &sensitivity.Choice{Index: 1, Measure: 3, Edges: []uint64{2, 3, 5, 9, 20}}
	a.Choices = []*sensitivity.Choice{count, sum}
	a.Measures = []sensitivity.Measure{
		{Kind: sensitivity.Units, Contribution: sensitivity.Contribution{PerGroup: 1, Hi: 1}, ContributionChoice: sensitivity.ContributionChoice{Factor: 1}, Subdivision: 1}, {Kind: sensitivity.CountRows, Contribution: sensitivity.Contribution{PerGroup: 50, Hi: 50}, ContributionChoice: sensitivity.ContributionChoice{Factor: 1}, Subdivision: 1},
		{Kind: sensitivity.CountRows, Contribution: sensitivity.Contribution{PerGroup: 12, Hi: 12}, ContributionChoice: sensitivity.ContributionChoice{Bound: count, Factor: 1}, Subdivision: 1},
		{Kind: sensitivity.SumValues, Contribution: sensitivity.Contribution{PerGroup: 20, Lo: -20, Hi: 20}, ContributionChoice: sensitivity.ContributionChoice{Bound: sum, Factor: 1}, Subdivision: 1},
	}
	if public {
		a.Groups = sensitivity.Groups{Public: true, Count: 3, Sources: []sensitivity.Source{{Keys: []int{0}, Tuples: [][]sqltype.Value{{"a"}, {"b"}, {"c"}}}}}
	}
	if cap {
		c := &sensitivity.Choice{Index: 2, Measure: -1, Edges: []uint64{1, 2, 4}}
		a.Choices, a.Limit.Cap, a.Limit.Capped = append(a.Choices, c), c, true
	}
	return a
}

// chosenPlan has silent noise, choices of a threshold, and tells lost mass.
func chosenPlan(a *sensitivity.Analysis, threshold uint64) *price.Quote {
	p := &price.Quote{Price: 0.5, Mechanism: price.Laplace, UnitsFromSelection: -1, Measures: make([]dp.Event, len(a.Measures)), Lost: make([]*price.Lost, len(a.Measures)), Loss: dp.Loss{Pure: 0.5, Renyi: 0.25, Delta: 1e-9}}
	groups := []uint64{a.Limit.PerUnit}
	if a.Limit.Cap != nil {
		groups = a.Limit.Cap.Edges
	}
	for _, c := range a.Choices {
		p.Choices = append(p.Choices, dp.AboveThreshold{Edges: uint64(len(c.Edges)), Threshold: threshold, Scale: silent})
	}
	for i, m := range a.Measures {
		if a.CanBeClipped(i) {
			ev := dp.Clipped{Noise: dp.LaplaceNoise, Least: 1, Groups: []uint64{a.LostMoves(&m)}, Ratio: silent}
			p.Lost[i] = &price.Lost{Event: ev}
		}
		if !a.Groups.Public && m.Kind == sensitivity.Units {
			p.UnitsFromSelection = i
			continue
		}
		p.Measures[i] = dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: m.PerGroup, Groups: groups[0]}, Scale: silent}
		if m.Bound != nil || a.Limit.Cap != nil {
			p.Measures[i] = dp.Clipped{Noise: dp.LaplaceNoise, Least: 1, Groups: groups, Ratio: silent}
		}
	}
	if !a.Groups.Public {
		for _, g := range groups {
			p.Selections = append(p.Selections, dp.Selection{Groups: g, Scale: silent, Threshold: 1, Delta: 1e-9})
		}
	}
	return p
}

// entry is one (unit, group) row: the rank of the group within its unit, and the partials.
type entry struct {
	unit, rank int
	key        string
	fixed      int64
	parts      [2]int64 // of the chosen count and sum
}

func drawEntries(t *rapid.T, perUnit int) []entry {
	var out []entry
	for u := range rapid.IntRange(0, 12).Draw(t, "units") {
		keys := rapid.Permutation([]string{"a", "b", "c", "other"}).Draw(t, "keys")
		for r := range rapid.IntRange(1, perUnit).Draw(t, "groups") {
			n := rapid.Int64Range(0, 15).Draw(t, "count")
			out = append(out, entry{u, r + 1, keys[r], rapid.Int64Range(0, 50).Draw(t, "fixed"), [2]int64{n, rapid.Int64Range(-25, 25).Draw(t, "sum")}})
		}
	}
	return out
}

func index(edges []uint64, x int64) int {
	return len(edges) - len(slices.DeleteFunc(slices.Clone(edges), func(e uint64) bool { return int64(e) < x }))
}

func size(x int64) int64 { return max(x, -x) }

var partColumns = []sqlgen.Column{
	{Role: sqlgen.RoleKey}, {Role: sqlgen.RolePart}, {Role: sqlgen.RoleRank}, {Role: sqlgen.RoleBucket}, {Role: sqlgen.RoleCount}, {Role: sqlgen.RoleSigned}, {Role: sqlgen.RoleSum},
	{Role: sqlgen.RoleMeasure, Index: 1},
}

// parts are the rows that sqlgen.histogram's statement returns for such entries.
func parts(a *sensitivity.Analysis, in []entry) *table {
	type group struct {
		key            any
		part, rank, at int
	}
	type totals struct{ count, signed, sum, fixed int64 }
	rows := map[group]*totals{}
	var order []group
	add := func(g group, signed, sum, fixed int64) {
		if rows[g] == nil {
			rows[g] = &totals{}
			order = append(order, g)
		}
		r := rows[g]
		r.count, r.signed, r.sum, r.fixed = r.count+1, r.signed+signed, r.sum+sum, r.fixed+fixed
	}
	largest := map[int][3]int64{}
	for _, e := range in {
		rank := 0
		if c := a.Limit.Cap; c != nil {
			rank = index(c.Edges, int64(e.rank))
		}
		add(group{e.key, sqlgen.PartTotals, rank, 0}, 0, 0, e.fixed)
		l := largest[e.unit]
		for i, x := range e.parts {
			if x != 0 {
				add(group{e.key, 3 + i, rank, index(a.Choices[i].Edges, size(x))}, x/size(x), x, 0)
			}
			l[i] = max(l[i], size(x))
		}
		l[2] = max(l[2], int64(e.rank))
		largest[e.unit] = l
	}
	if a.CountsUnitsSeparately() {
		for _, l := range largest {
			for i, c := range a.Choices {
				if l[i] > 0 {
					add(group{nil, -(i + 1), 0, index(c.Edges, l[i])}, 0, 0, 0)
				}
			}
		}
	}
	out := &table{}
	if !a.Groups.Public {
		text := func(g group) string {
			if g.key == nil {
				return ""
			}
			return g.key.(string)
		}
		slices.SortStableFunc(order, func(x, y group) int { return strings.Compare(text(x), text(y)) })
	}
	for _, g := range order {
		r := rows[g]
		row := []sqltype.Value{g.key, int64(g.part), int64(g.rank), int64(g.at), r.count, r.signed, decimal.NewFromInt(r.sum), nil}
		if g.part == sqlgen.PartTotals {
			row[7] = r.fixed
		}
		out.rows = append(out.rows, row)
	}
	return out
}

// TestChosenBoundsAreExact: with noise that is 0, the first edge is chosen that no more units than the threshold are beyond, units being counted once however many groups they
// are in; one edge more as groups are few, unless it is the first or the last; where all units together are no more than the threshold, there are too few, and the first edge serves. Each group's
// totals are those of its partials clipped there, within the chosen number of groups. Which edge it is, is told.
func TestChosenBoundsAreExact(t *testing.T) {
	src := noise.NewSource()
	rapid.Check(t, func(t *rapid.T) {
		a := chosenAnalysis(rapid.Bool().Draw(t, "public"), rapid.Bool().Draw(t, "cap is chosen"))
		if a.Limit.Cap == nil && rapid.Bool().Draw(t, "one group") {
			a.Limit.PerUnit = 1
		}
		threshold := rapid.Uint64Range(0, 6).Draw(t, "threshold")
		in := drawEntries(t, int(a.Limit.PerUnit))
		p := chosenPlan(a, threshold)
		r, err := make1(a, p, partColumns, parts(a, in), src)
		if err != nil {
			t.Fatal(err)
		}
		// By brute force.
		if len(r.Chosen) != len(a.Choices) {
			t.Fatalf("chosen %v", r.Chosen)
		}
		for i, c := range a.Choices {
			units := func(edge int64) uint64 {
				beyond := map[int]bool{}
				for _, e := range in {
					x := int64(e.rank)
					if i < 2 {
						x = size(e.parts[i])
					}
					if x > edge {
						beyond[e.unit] = true
					}
				}
				return uint64(len(beyond))
			}
			want := slices.IndexFunc(c.Edges, func(e uint64) bool { return e == c.Edges[len(c.Edges)-1] || units(int64(e)) <= threshold })
			if c.IsCap() && !a.Groups.Public && units(0) <= 3 && want > 0 { // three times the selection's threshold: no larger cap is taken
				want = 0
			}
			switch {
			case units(0) <= threshold:
				want = noise.TooFew
			case want > 0 && a.Groups.Public: // three groups are few, unknown ones are not
				want = min(want+1, len(c.Edges)-1)
			}
			if r.Chosen[i] != want || r.Chosen.HasTooFewPeople(c) != (want == noise.TooFew) {
				t.Fatalf("choice %d is %d, not %d, of %v", i, r.Chosen[i], want, in)
			}
		}
		at := func(i int) int64 { return int64(a.Choices[i].Edges[max(0, r.Chosen[i])]) }
		want := map[string][]int64{}
		for _, e := range in {
			if len(a.Choices) == 3 && int64(e.rank) > at(2) {
				continue
			}
			if want[e.key] == nil {
				want[e.key] = make([]int64, 4)
			}
			v := want[e.key]
			v[0]++
			v[1] += e.fixed
			for i, x := range e.parts {
				v[2+i] += max(-at(i), min(at(i), x))
			}
		}
		got := map[string][]int64{}
		for _, g := range r.Groups {
			v := make([]int64, len(g.Values))
			for i, x := range g.Values {
				v[i] = x.Int64()
			}
			got[g.Keys[0].(string)] = v
		}
		if a.Groups.Public {
			delete(want, "other")
			for _, k := range []string{"a", "b", "c"} {
				if want[k] == nil {
					want[k] = make([]int64, 4)
				}
			}
		} else {
			for k, v := range want {
				if v[0] <= 1 { // the selection's threshold
					delete(want, k)
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("groups %v, they are %v at %v", got, want, r.Chosen)
		}
	})
}

// TestPartsRefuse: rows that the statement with chosen bounds can't return are a failure: a second row of a part among them, which would count a unit twice.
func TestPartsRefuse(t *testing.T) {
	in := []entry{{1, 1, "a", 5, [2]int64{3, -4}}, {1, 2, "b", 5, [2]int64{2, 30}}, {2, 1, "a", 1, [2]int64{1, 0}}}
	for _, public := range []bool{true, false} {
		a := chosenAnalysis(public, true)
		p := chosenPlan(a, 1)
		if _, err := make1(a, p, partColumns, parts(a, in), noise.NewSource()); err != nil {
			t.Fatal(err)
		}
		find := func(rows *table, part int64) []sqltype.Value {
			for _, r := range rows.rows {
				if r[1] == part {
					return r
				}
			}
			t.Fatalf("no part %d", part)
			return nil
		}
		for name, spoil := range map[string]func(*table){
			"a part of no measure":      func(r *table) { find(r, 3)[1] = int64(5) },
			"a part of a fixed measure": func(r *table) { find(r, 3)[1] = int64(2) },
			"a part of no choice":       func(r *table) { find(r, -1)[1] = int64(-4) },
			"a bucket beyond":           func(r *table) { find(r, -1)[3] = int64(9) },
			"a bucket below 0":          func(r *table) { find(r, 3)[3] = int64(-1) },
			"a rank below 0":            func(r *table) { find(r, 3)[2] = int64(-1) },
			"units below 0":             func(r *table) { find(r, -1)[4] = int64(-1) },
			"text for a number":         func(r *table) { find(r, 3)[6] = "7" },
			"half a step":               func(r *table) { find(r, 3)[6] = decimal.RequireFromString("0.5") },
			"a count beyond 64 bits":    func(r *table) { find(r, -1)[4] = decimal.New(1, 30) },
			"a column less":             func(r *table) { r.rows[0] = r.rows[0][:7] },
			"a group's totals twice":    func(r *table) { r.rows = append(r.rows, find(r, sqlgen.PartTotals)) },
			"a measure's bucket twice":  func(r *table) { r.rows = append(r.rows, find(r, 3)) },
			"a choice's units twice":    func(r *table) { r.rows = append(r.rows, find(r, -2)) },
			"a group without totals": func(r *table) {
				r.rows = slices.DeleteFunc(r.rows, func(row []sqltype.Value) bool { return row[0] == "b" && row[1] == int64(sqlgen.PartTotals) })
				if public { // where it counts as 0
					r.err = errShape
				}
			},
			"a group's rows apart": func(r *table) {
				first := slices.IndexFunc(r.rows, func(row []sqltype.Value) bool { return row[0] == "a" && row[1] != int64(sqlgen.PartTotals) })
				r.rows = append(slices.Delete(r.rows, first, first+1), r.rows[first])
				if public { // whose rows may come in any order
					r.err = errShape
				}
			},
			"a choice's units after a group": func(r *table) {
				at := slices.IndexFunc(r.rows, func(row []sqltype.Value) bool { return row[1] == int64(-1) })
				r.rows = append(slices.Delete(r.rows, at, at+1), r.rows[at])
				if public {
					r.err = errShape
				}
			},
			"a failure after the last row": func(r *table) { r.err = errShape },
		} {
			rows := parts(a, in)
			spoil(rows)
			if r, err := make1(a, p, partColumns, rows, noise.NewSource()); err == nil {
				t.Errorf("public %t, %s: %v", public, name, r.Groups)
			}
		}
	}
	// The noise of a choice serves once.
	a := chosenAnalysis(true, true)
	m, err := New(a, chosenPlan(a, 1), noise.NewSource(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Read(partColumns, parts(a, in)); err != nil {
		t.Fatal(err)
	}
	if r, err := m.Read(partColumns, parts(a, in)); err == nil {
		t.Errorf("read twice: %v", r.Groups)
	}
}

// manyGroups is what comes back of n groups of one unit each, made as it is read.
type manyGroups struct {
	n, at int
	held  uint64 // bytes in use, halfway
}

func (r *manyGroups) Next() bool {
	r.at++
	if r.at == r.n {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		r.held = m.HeapAlloc
	}
	return r.at <= 2*r.n
}
func (r *manyGroups) Err() error { return nil }
func (r *manyGroups) Close()     {}
func (r *manyGroups) Row() []secret.Value {
	key, part, bucket, sum := any(fmt.Sprintf("group %09d", r.at/2)), int64(sqlgen.PartTotals), int64(0), int64(0)
	switch {
	case r.at == 1:
		key, part = nil, -1
	case r.at%2 == 1:
		part, bucket, sum = 3, 1, 2
	}
	var out []secret.Value
	for _, v := range []sqltype.Value{key, part, int64(0), bucket, int64(1), int64(1), decimal.NewFromInt(sum), int64(1)} {
		out = append(out, secret.Of(v))
	}
	return out
}

// TestUnknownGroupsAreNotHeld: of unknown groups none but the released ones are held in memory, however many there are.
func TestUnknownGroupsAreNotHeld(t *testing.T) {
	const n = 100_000
	a := chosenAnalysis(false, false)
	p := chosenPlan(a, 1)
	p.Selections[0].Threshold = 5
	rows := &manyGroups{n: n}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := make1(a, p, partColumns, rows, noise.NewSource())
	if err != nil || len(r.Groups) != 0 || rows.at != 2*n+1 {
		t.Fatalf("%+v, %v at %d", r, err, rows.at)
	}
	if rows.held > before.HeapAlloc+8<<20 {
		t.Errorf("halfway %d MB are held, %d MB were", rows.held>>20, before.HeapAlloc>>20)
	}
}

// lostSide has a number in each class.
func lostSide(number func() *big.Int) []*big.Int {
	out := make([]*big.Int, sensitivity.LostClasses)
	for i := range out {
		out[i] = number()
	}
	return out
}

// drawLost is what may have been released of lost mass.
func drawLost(t *rapid.T, a *sensitivity.Analysis, p *price.Quote) []*Lost {
	out := make([]*Lost, len(a.Measures))
	number := func() *big.Int { return big.NewInt(rapid.Int64().Draw(t, "lost")) }
	for i := range out {
		if p.LostOf(i) == nil {
			continue
		}
		out[i] = &Lost{Unit: rapid.Uint64Min(1).Draw(t, "unit"), Base: new(big.Int).Abs(number()), Most: new(big.Int).Abs(number()), Count: rapid.IntRange(0, 1000).Draw(t, "groups that count")}
		for range a.Measures[i].LostSides() {
			out[i].Sides = append(out[i].Sides, lostSide(number))
		}
	}
	return out
}

func sameLost(a, b []*Lost) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// TestStoredFormWithChoices: choices, clipped noise, lost mass, one of several selections, what was chosen and the bounds that follow come back as they were.
func TestStoredFormWithChoices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := chosenAnalysis(rapid.Bool().Draw(t, "public"), rapid.Bool().Draw(t, "cap is chosen"))
		p := chosenPlan(a, rapid.Uint64Range(1, 100).Draw(t, "threshold"))
		r := &Release{Plan: p, Chosen: make(price.Chosen, len(a.Choices))}
		for i := range r.Chosen {
			ev := p.Choices[i].(dp.AboveThreshold)
			ev.Edges = rapid.Uint64Range(1, uint64(len(a.Choices[i].Edges))).Draw(t, "edges") // some may not be drawable
			p.Choices[i], r.Chosen[i] = ev, rapid.IntRange(noise.TooFew, int(ev.Edges)-1).Draw(t, "chosen")
		}
		var err error
		if r.Run, err = p.Resolve(a, r.Chosen); err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "groups") {
			g := Group{Keys: []sqltype.Value{fmt.Sprint(i)}}
			for range a.Measures {
				g.Values = append(g.Values, big.NewInt(rapid.Int64().Draw(t, "v")))
			}
			r.Groups = append(r.Groups, g)
		}
		r.Lost = drawLost(t, a, p)
		text, err := Encode(a, r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(a, text, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(back.Plan, r.Plan) || !reflect.DeepEqual(back.Run, r.Run) || !slices.Equal(back.Chosen, r.Chosen) || !sameLost(back.Lost, r.Lost) || !reflect.DeepEqual(back.Plan.Events(), r.Plan.Events()) {
			t.Fatalf("%+v\n%+v\nwas\n%+v\n%+v", back.Plan, back.Run, r.Plan, r.Run)
		}
		again, err := Encode(a, back)
		if err != nil || string(again) != string(text) {
			t.Fatalf("encoded again: %v\n%s\n%s", err, again, text)
		}
	})
}

// TestDecodeRefusesChoices: a stored form whose choices, events or selections do not fit the statement is refused.
func TestDecodeRefusesChoices(t *testing.T) {
	a := chosenAnalysis(false, true)
	p := chosenPlan(a, 3)
	encode := func(change func(*price.Quote, *Release)) string {
		q := *p
		q.Choices, q.Measures, q.Selections = slices.Clone(p.Choices), slices.Clone(p.Measures), slices.Clone(p.Selections)
		r := &Release{Plan: &q, Chosen: price.Chosen{1, 2, 1}, Lost: make([]*Lost, len(a.Measures))}
		q.Lost = slices.Clone(p.Lost)
		for i := range r.Lost {
			r.Lost[i] = &Lost{Unit: 5, Base: big.NewInt(9), Most: big.NewInt(4), Count: 3}
			for range a.Measures[i].LostSides() {
				r.Lost[i].Sides = append(r.Lost[i].Sides, lostSide(func() *big.Int { return big.NewInt(-1) }))
			}
		}
		change(&q, r)
		text, err := Encode(a, r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	good := encode(func(*price.Quote, *Release) {})
	if _, err := Decode(a, []byte(good), nil); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*price.Quote, *Release){
		"nothing chosen":           func(_ *price.Quote, r *Release) { r.Chosen = nil },
		"a choice's outcome less":  func(_ *price.Quote, r *Release) { r.Chosen = r.Chosen[:2] },
		"an outcome more":          func(_ *price.Quote, r *Release) { r.Chosen = append(r.Chosen, 0) },
		"an edge below too few":    func(_ *price.Quote, r *Release) { r.Chosen[0] = -2 },
		"lost mass of no measure":  func(_ *price.Quote, r *Release) { r.Lost = append(r.Lost, r.Lost[0]) },
		"lost mass of fewer":       func(_ *price.Quote, r *Release) { r.Lost = r.Lost[:3] },
		"no outcome of lost mass":  func(_ *price.Quote, r *Release) { r.Lost[1] = nil },
		"lost mass without a unit": func(_ *price.Quote, r *Release) { r.Lost[1].Unit = 0 },
		"lost mass without a base": func(_ *price.Quote, r *Release) { r.Lost[1].Base = nil },
		"a base below 0":           func(_ *price.Quote, r *Release) { r.Lost[1].Base = big.NewInt(-1) },
		"fewer groups than 0":      func(_ *price.Quote, r *Release) { r.Lost[1].Count = -1 },
		"a sign less":              func(_ *price.Quote, r *Release) { r.Lost[3].Sides = r.Lost[3].Sides[:1] },
		"a sign more":              func(_ *price.Quote, r *Release) { r.Lost[1].Sides = append(r.Lost[1].Sides, r.Lost[1].Sides[0]) },
		"a class is NULL":          func(_ *price.Quote, r *Release) { r.Lost[1].Sides[0][1] = nil },
		"a class less":             func(_ *price.Quote, r *Release) { r.Lost[1].Sides[0] = r.Lost[1].Sides[0][1:] },
		"no event of lost mass":    func(p *price.Quote, _ *Release) { p.Lost[1] = nil },
		"an edge beyond":           func(_ *price.Quote, r *Release) { r.Chosen[0] = 8 },
		"a cap beyond":             func(_ *price.Quote, r *Release) { r.Chosen[2] = 3 },
		"a choice less":            func(p *price.Quote, _ *Release) { p.Choices = p.Choices[:2] },
		"a choice more":            func(p *price.Quote, _ *Release) { p.Choices = append(p.Choices, p.Choices[0]) },
		"more edges than there are": func(p *price.Quote, _ *Release) {
			p.Choices[0] = dp.AboveThreshold{Edges: 9, Threshold: 3, Scale: silent}
		},
		"a choice of a flow":     func(p *price.Quote, _ *Release) { p.Choices[0] = dp.Choice{Edges: 8, Slope: silent, Scale: silent} },
		"a measure less":         func(p *price.Quote, _ *Release) { p.Measures[3] = nil },
		"noise of a fixed bound": func(p *price.Quote, _ *Release) { p.Measures[2] = laplace },
		"a clip that was not priced": func(p *price.Quote, _ *Release) {
			p.Measures[2] = dp.Clipped{Noise: dp.LaplaceNoise, Least: 3, Groups: []uint64{1, 2, 4}, Ratio: silent}
		},
		"no selection":            func(p *price.Quote, _ *Release) { p.Selections = nil },
		"one selection":           func(p *price.Quote, _ *Release) { p.Selections = p.Selections[1:2] },
		"a selection less":        func(p *price.Quote, _ *Release) { p.Selections = p.Selections[:2] },
		"selections in a row":     func(p *price.Quote, _ *Release) { p.Measures[3] = p.Selections[0] },
		"another cap's selection": func(p *price.Quote, _ *Release) { p.Selections[1] = p.Selections[2] },
	} {
		bad := encode(change)
		if r, err := Decode(a, []byte(bad), nil); err == nil {
			t.Errorf("%s is read: %+v", name, r.Run)
		}
	}
	for name, c := range map[string][2]string{
		"a choice in another place": {`"chosen":[1,2,1]`, `"chosen":[1,2,"1"]`}, "a choice that is a measure": {`above_threshold`, `clipped_noise`}, "an event without edges": {`"edges":8`, `"edges":0`},
	} {
		bad := strings.Replace(good, c[0], c[1], 1)
		if bad == good {
			t.Fatalf("%s: nothing was changed in %s", name, good)
		}
		if r, err := Decode(a, []byte(bad), nil); err == nil {
			t.Errorf("%s is read: %+v", name, r.Run)
		}
	}
	if r, err := Decode(chosenAnalysis(false, false), []byte(good), nil); err == nil {
		t.Errorf("read for a statement without a chosen cap: %+v", r.Run)
	}
}
