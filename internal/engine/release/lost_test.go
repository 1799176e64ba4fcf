package release

import (
	"math"
	"math/big"
	"reflect"
	"slices"
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

// lostColumns are those of sqlgen.Lost for an analysis all of whose measures that lose are told of.
func lostColumns(a *sensitivity.Analysis) (out []sqlgen.Column) {
	for i := range a.Measures {
		for range a.Measures[i].LostSides() {
			if a.CanBeClipped(i) {
				for range sensitivity.LostClasses {
					out = append(out, sqlgen.Column{Role: sqlgen.RoleLost, Index: len(out), Type: sqltype.Numeric})
				}
			}
		}
	}
	return out
}

// makerOfLost has read its groups.
func makerOfLost(t interface{ Fatal(...any) }, a *sensitivity.Analysis, p *price.Quote, in []entry) *Releaser {
	m, err := New(a, p, noise.NewSource(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Read(partColumns, parts(a, in)); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLostIsRead: with noise that is 0 each number comes back at its measure, sign and class, with the C of the released bounds, and the sum and number of the released groups.
func TestLostIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := chosenAnalysis(rapid.Bool().Draw(t, "public"), rapid.Bool().Draw(t, "cap is chosen"))
		p := chosenPlan(a, rapid.Uint64Range(0, 6).Draw(t, "threshold"))
		m := makerOfLost(t, a, p, drawEntries(t, int(a.Limit.PerUnit)))
		cols := lostColumns(a)
		var row []sqltype.Value
		var told []int64
		for range cols {
			x := rapid.Int64Range(0, 1<<40).Draw(t, "lost")
			row, told = append(row, decimal.NewFromInt(x)), append(told, x)
		}
		b, ok := m.LostBounds()
		if !ok {
			t.Fatal("nothing is lost")
		}
		if err := m.ReadLost(cols, &table{rows: [][]sqltype.Value{row}}); err != nil {
			t.Fatal(err)
		}
		next := 0
		for i, l := range m.r.Lost {
			if (l != nil) != a.CanBeClipped(i) {
				t.Fatalf("measure %d: %+v", i, l)
			}
			if l == nil {
				continue
			}
			if !l.fits(&a.Measures[i]) || l.Unit != b.Units[i] || l.Count != len(m.r.Groups) {
				t.Fatalf("measure %d: %+v", i, l)
			}
			for _, side := range l.Sides {
				for _, n := range side {
					if n.Int64() != told[next] {
						t.Fatalf("number %d of measure %d is %s, it was %d", next, i, n, told[next])
					}
					next++
				}
			}
			base := new(big.Int)
			for _, g := range m.r.Groups {
				if v := g.Values[i]; v.Sign() > 0 || len(l.Sides) > 1 {
					base.Add(base, new(big.Int).Abs(v))
				}
			}
			if base.Cmp(l.Base) != 0 {
				t.Fatalf("measure %d is spread over %s, the groups' sum is %s", i, l.Base, base)
			}
		}
		if next != len(told) {
			t.Fatalf("%d numbers of %d are told", next, len(told))
		}
		if _, ok := m.LostBounds(); !ok {
			t.Fatal("the bounds are gone")
		}
		if err := m.ReadLost(cols, &table{rows: [][]sqltype.Value{row}}); err == nil { // noise serves once
			t.Fatal("read twice")
		}
		if bare := m.r.WithoutGroups(); !reflect.DeepEqual(bare.Lost, m.r.Lost) {
			t.Fatalf("%+v is kept", bare.Lost)
		}
	})
}

// TestLostRefuses: what sqlgen.Lost cannot return is a failure that tells nothing.
func TestLostRefuses(t *testing.T) {
	a := chosenAnalysis(true, true)
	in := []entry{{1, 1, "a", 5, [2]int64{3, -4}}, {1, 2, "b", 5, [2]int64{2, 30}}, {2, 1, "a", 1, [2]int64{1, 0}}}
	good := func() []sqltype.Value {
		var row []sqltype.Value
		for i := range lostColumns(a) {
			row = append(row, int64(i))
		}
		return row
	}
	for name, c := range map[string]func() ([]sqlgen.Column, secret.Rows){
		"no row": func() ([]sqlgen.Column, secret.Rows) { return lostColumns(a), &table{} },
		"two rows": func() ([]sqlgen.Column, secret.Rows) {
			return lostColumns(a), &table{rows: [][]sqltype.Value{good(), good()}}
		},
		"a number less in the row": func() ([]sqlgen.Column, secret.Rows) {
			return lostColumns(a), &table{rows: [][]sqltype.Value{good()[1:]}}
		},
		"a column less": func() ([]sqlgen.Column, secret.Rows) {
			n := len(lostColumns(a)) - 1
			return lostColumns(a)[:n], &table{rows: [][]sqltype.Value{good()[:n]}}
		},
		"a column more": func() ([]sqlgen.Column, secret.Rows) {
			return append(lostColumns(a), sqlgen.Column{Role: sqlgen.RoleLost, Index: len(good())}), &table{rows: [][]sqltype.Value{append(good(), int64(1))}}
		},
		"another role": func() ([]sqlgen.Column, secret.Rows) {
			cols := lostColumns(a)
			cols[0].Role = sqlgen.RoleMeasure
			return cols, &table{rows: [][]sqltype.Value{good()}}
		},
		"columns in another order": func() ([]sqlgen.Column, secret.Rows) {
			cols := lostColumns(a)
			cols[0], cols[1] = cols[1], cols[0]
			return cols, &table{rows: [][]sqltype.Value{good()}}
		},
		"text": func() ([]sqlgen.Column, secret.Rows) {
			row := good()
			row[2] = "7"
			return lostColumns(a), &table{rows: [][]sqltype.Value{row}}
		},
		"half a step": func() ([]sqlgen.Column, secret.Rows) {
			row := good()
			row[2] = decimal.RequireFromString("0.5")
			return lostColumns(a), &table{rows: [][]sqltype.Value{row}}
		},
		"a failure after the row": func() ([]sqlgen.Column, secret.Rows) {
			return lostColumns(a), &table{rows: [][]sqltype.Value{good()}, err: errShape}
		},
	} {
		m := makerOfLost(t, a, chosenPlan(a, 1), in)
		cols, rows := c()
		if err := m.ReadLost(cols, rows); err == nil || m.r.Lost != nil {
			t.Errorf("%s is read: %+v", name, m.r.Lost)
		}
	}
	m, err := New(a, chosenPlan(a, 1), noise.NewSource(), 10) // before its bounds are chosen
	if err != nil {
		t.Fatal(err)
	}
	if err := m.ReadLost(lostColumns(a), &table{rows: [][]sqltype.Value{good()}}); err == nil {
		t.Error("read before bounds are")
	}
}

// TestTopUpCarriesLost: what was told of lost mass stays what it is when values are measured again, and is not asked for again.
func TestTopUpCarriesLost(t *testing.T) {
	a := chosenAnalysis(true, false)
	p := chosenPlan(a, 1)
	in := []entry{{1, 1, "a", 5, [2]int64{3, -4}}, {2, 1, "a", 1, [2]int64{1, 0}}, {3, 1, "b", 1, [2]int64{8, 20}}}
	m := makerOfLost(t, a, p, in)
	var row []sqltype.Value
	for i := range lostColumns(a) {
		row = append(row, int64(i))
	}
	if err := m.ReadLost(lostColumns(a), &table{rows: [][]sqltype.Value{row}}); err != nil {
		t.Fatal(err)
	}
	r, err := silentTopUp(a, m.r, partColumns, parts(a, in), noise.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	if !sameLost(r.Lost, m.r.Lost) || len(r.Lost) == 0 {
		t.Errorf("%+v is left of %+v", r.Lost, m.r.Lost)
	}
	text, err := Encode(a, r)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := Decode(a, text, nil); err != nil || !sameLost(back.Lost, m.r.Lost) {
		t.Errorf("%v: %+v comes back", err, back)
	}
}

// TestLostHasNoise: each number of lost mass comes with noise of its event's law and with its own: of 2,000 releases the mean square of each number's noise is the law's, and the products of any two have a mean of 0. Both bounds are over 7 deviations away: false alarms below 1e-10.
func TestLostHasNoise(t *testing.T) {
	const draws = 2000
	a := chosenAnalysis(true, true)
	in := []entry{{1, 1, "a", 5, [2]int64{3, -4}}, {1, 2, "b", 5, [2]int64{2, 30}}, {2, 1, "a", 1, [2]int64{1, 0}}}
	for kind, square := range map[dp.NoiseKind]float64{dp.LaplaceNoise: 2, dp.GaussianNoise: 1} { // of a scale of 1
		p := chosenPlan(a, 0)
		for i, l := range p.Lost {
			if l != nil {
				ev := l.Event.(dp.Clipped)
				ev.Noise, ev.Ratio = kind, dp.Scale{Num: 1000, Den: 1}
				p.Lost[i] = &price.Lost{Event: ev}
			}
		}
		cols := lostColumns(a)
		row := make([]sqltype.Value, len(cols))
		for i := range row {
			row[i] = int64(1000 * i)
		}
		of := make([][]float64, len(cols)) // the noise in units of its scale, for each number
		for range draws {
			m := makerOfLost(t, a, p, in)
			if err := m.ReadLost(cols, &table{rows: [][]sqltype.Value{row}}); err != nil {
				t.Fatal(err)
			}
			next := 0
			for i, l := range m.r.Lost {
				if l == nil {
					continue
				}
				law, err := dp.LawOf(m.r.Run.Lost[i].Event)
				if err != nil || law.Noise != kind {
					t.Fatalf("%+v, %v", law, err)
				}
				for _, n := range slices.Concat(l.Sides...) {
					of[next] = append(of[next], float64(n.Int64()-row[next].(int64))/law.Scale.Float())
					next++
				}
			}
			if next != len(cols) {
				t.Fatalf("%d numbers, not %d", next, len(cols))
			}
		}
		for i := range of {
			for j := range of[:i+1] {
				mean := 0.0
				for k := range of[i] {
					mean += of[i][k] * of[j][k] / draws
				}
				switch {
				case i == j && math.Abs(mean/square-1) > 0.4:
					t.Errorf("%s: the mean square of number %d is %g, of its law %g", kind, i, mean, square)
				case i != j && math.Abs(mean/square) > 0.25:
					t.Errorf("%s: numbers %d and %d have noise together: %g", kind, i, j, mean)
				}
			}
		}
	}
}
