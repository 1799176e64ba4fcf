package mlext

import (
	"slices"
	"testing"
)

// TestPartitions: bins cover a range once, from its beginning on, and follow from the policy alone; each row is in one bin of each partition; a range of few steps has no more bins than steps; and what is no number has none.
func TestPartitions(t *testing.T) {
	for _, f := range []Feature{{Name: "amount", Hi: 1e5, To: 100000}, {Name: "few", Hi: 3, To: 3}, {Name: "degrees", Lo: -3, Hi: 5, From: -30, To: 50}, {Name: "moment", Lo: 1e14, Hi: 2e14, From: 1e14, To: 2e14}} {
		for _, bins := range []int{2, 16, 64} {
			list := f.partitions(bins)
			if len(list) == 0 || f.Lo != 0 && len(list) != 1 {
				t.Fatalf("%s: %v", f.Name, list)
			}
			for _, p := range list {
				if len(p) >= bins || !slices.IsSorted(p) || len(slices.Compact(slices.Clone(p))) != len(p) || p[0] < 1 || p[len(p)-1] > f.To-f.From {
					t.Errorf("%s: %v", f.Name, p)
				}
				for i, n := range p {
					if p.bin(n-1) != i || p.bin(n) != i+1 {
						t.Errorf("%s: step %d is in bin %d", f.Name, n, p.bin(n))
					}
				}
			}
			for _, n := range []int64{f.From, (f.From + f.To) / 2, f.To} {
				x, ones := f.bins(list, n, 0.5, nil), 0
				for _, v := range x {
					if v == 0.5 {
						ones++
					}
				}
				if len(x) != binWidth(list) || ones != len(list) {
					t.Errorf("%s: step %d is %v", f.Name, n, x)
				}
			}
		}
	}
	amount := Feature{Hi: 1e5, To: 100000}
	if list := amount.partitions(16); list[0].bin(500) != 0 || list[1].bin(500) == 0 {
		t.Errorf("an amount of 500 is in the bin of 0: %v", list)
	}
	for _, f := range []Feature{{Boolean: true, Levels: []string{"false", "true"}, To: 1}, {Levels: []string{"a", "b", "c"}, To: 2}, {Length: 4, Hi: 255, To: 255}, {Hi: 1, To: 1}, {Lo: 4, Hi: 4}} {
		if list := f.partitions(16); list != nil {
			t.Errorf("%v: %v", f, list)
		}
	}
}
