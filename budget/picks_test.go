package budget

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// TestPicksLossHolds: between two candidates d rows apart the smaller one is picked with probability exp(-d/b)/2. Rows that one unit adds to it, to the other or to both change that by no more than is charged,
// group by group, on both sides of the filter; nine tenths of the charge do not hold.
func TestPicksLossHolds(t *testing.T) {
	for _, f := range chosenFilters(t) {
		for _, s := range []dp.Sensitivity{{PerGroup: 1, Groups: 1}, {PerGroup: 4, Groups: 1}, {PerGroup: 3, Groups: 7}} {
			for _, scale := range []dp.Scale{{Num: 3, Den: 2}, {Num: 40, Den: 1}, {Num: 1, Den: 4}} {
				claim, err := f.Loss(dp.Picks{Sensitivity: s, Scale: scale})
				if err != nil {
					t.Fatal(err)
				}
				b, groups := scale.Float(), float64(s.Groups)
				first := func(apart float64) float64 { // ln P(the first candidate), which has that many rows more
					if apart < 0 {
						return apart/b - math.Ln2
					}
					return math.Log1p(-math.Exp(-apart/b) / 2)
				}
				pure, renyi := 0.0, 0.0
				for apart := -20.0; apart <= 20; apart++ {
					for change := -float64(s.PerGroup); change <= float64(s.PerGroup); change++ {
						p, q, otherP, otherQ := first(apart), first(apart+change), first(-apart), first(-apart-change)
						pure = math.Max(pure, groups*math.Max(math.Abs(p-q), math.Abs(otherP-otherQ)))
						if a := f.Order; a != 0 {
							x, y := a*p+(1-a)*q, a*otherP+(1-a)*otherQ
							renyi = math.Max(renyi, groups*(math.Max(x, y)+math.Log1p(math.Exp(-math.Abs(x-y))))/(a-1))
						}
					}
				}
				if pure > claim.Pure*(1+1e-9) || renyi > claim.Renyi*(1+1e-9) {
					t.Errorf("%+v of scale %g: loses %g, %g, claimed %+v", s, b, pure, renyi, claim)
				}
				if pure <= 0.9*claim.Pure || claim.Delta != 0 {
					t.Errorf("%+v of scale %g: loses %g at most, claimed %+v", s, b, pure, claim)
				}
			}
		}
		least, err := f.PicksScale(dp.Sensitivity{PerGroup: 2, Groups: 3}, f.Limit(0.1))
		if err != nil {
			t.Fatal(err)
		}
		loss, err := f.Loss(dp.Picks{Sensitivity: dp.Sensitivity{PerGroup: 2, Groups: 3}, Scale: least})
		if err != nil || loss.Pure > 0.1 || loss.Renyi > f.RenyiLimit(0.1) || loss.Pure < 0.0999 {
			t.Errorf("scale %g: %+v, %v", least.Float(), loss, err)
		}
	}
	if _, err := demoFilter(t).Loss(dp.Picks{}); err == nil {
		t.Error("picks of nothing have a price")
	}
}
