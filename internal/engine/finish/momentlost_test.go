package finish

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestStatistics: each statistic of plan.Aggregates has a whole row, but those that are a count or an average, and another name of one. No row is of anything else.
func TestStatistics(t *testing.T) {
	names := map[plan.AggFunc]bool{}
	for name, facts := range plan.Aggregates {
		if !facts.IsStatistic || slices.Contains([]plan.AggFunc{"regr_count", "regr_avgx", "regr_avgy"}, name) {
			continue
		}
		name = name.Full()
		names[name] = true
		row, ok := statistics[name]
		if !ok || row.least == 0 || row.value == nil || row.divisors == nil || row.ofBase == nil || row.width == nil || row.ends == (span{}) || (row.lost == nil) != (row.of != "") {
			t.Errorf("%s has no whole row", name)
			continue
		}
		c := figures{n: dual{v: 10}, sxx: dual{v: 20}, syy: dual{v: 30}, sxy: dual{v: 15}, mostX: 100, mostY: 100}
		of, _ := row.value(c)
		c.n.v, c.sxx.v, c.syy.v, c.sxy.v = 2*c.n.v, 2*c.sxx.v, 2*c.syy.v, 2*c.sxy.v
		if twice, _ := row.value(c); (math.Abs(twice.v-2*of.v) < 1e-9) != (facts.GrowsWithRows || of.v == 0) {
			t.Errorf("%s is %g, and %g among twice the rows", name, of.v, twice.v)
		}
	}
	for name, row := range statistics {
		if !names[name] || row.base().lost == nil {
			t.Errorf("%s is no statistic, or is made of none", name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a statistic without a row has a value")
		}
	}()
	statisticOf("twin")
}

// TestLostRange: whatever a clip, a clamp or a norm takes from units, each statistic of all rows is in the range of what is left and the number of rows lost. Some statistics of what is left are far from those of all rows, so that a range of nothing would not hold.
func TestLostRange(t *testing.T) {
	const middleX, middleY, hx, hy = 40.0, -3.0, 20.0, 5.0
	of := func(s [6]float64) figures { // rows and the sums about the middles: x, y, x^2 - hx^2/2, y^2 - hy^2/2, x y
		n := s[0]
		c := figures{mostX: hx * hx, mostY: hy * hy}
		dx, dy := s[1]/n, s[2]/n
		for at, v := range map[*dual]float64{&c.n: n, &c.x: middleX + dx, &c.y: middleY + dy, &c.sxx: s[3] + n*hx*hx/2 - n*dx*dx, &c.syy: s[4] + n*hy*hy/2 - n*dy*dy, &c.sxy: s[5] - n*dx*dy} {
			at.v = v
		}
		return c
	}
	most := [6]float64{1, hx, hy, hx * hx / 2, hy * hy / 2, hx * hy}
	r := rand.New(rand.NewSource(22))
	moved := 0
	for range 20_000 {
		var all, left [6]float64
		bound, way, lean, corner := float64(1+r.Intn(4)), r.Intn(3), 2*r.Float64()-1, r.Intn(3)
		for range 2 + r.Intn(20) {
			var unit, kept [6]float64
			rows := 1 + r.Intn(3)
			if r.Intn(8) == 0 {
				rows = 1 + r.Intn(40)
			}
			for k := range rows {
				dx, dy := hx*(2*r.Float64()-1), hy*(2*r.Float64()-1)
				switch { // those with many rows have the ends of the ranges
				case corner == 0 || corner == 1 && rows > 4:
					dx, dy = math.Copysign(hx, lean), math.Copysign(hy, r.Float64()-0.5)
				case rows > 4:
					dx, dy = math.Copysign(hx, lean), math.Copysign(hy, lean)
				case corner == 2:
					dx = math.Copysign(dx, -lean)
				}
				row := [6]float64{1, dx, dy, dx*dx - hx*hx/2, dy*dy - hy*hy/2, dx * dy}
				for i, x := range row {
					if unit[i] += x; float64(k) < bound {
						kept[i] += x
					}
				}
			}
			for i := range unit {
				all[i] += unit[i]
				switch way {
				case 0: // a clip keeps some of the rows
					left[i] += kept[i]
				case 1: // a bound clamps each sum
					left[i] += min(max(unit[i], -bound*most[i]), bound*most[i])
				default: // a norm scales each sum down to what it may be, none by more than the rows
					left[i] += unit[i] * min(1, bound*most[i]/math.Max(math.Abs(unit[i]), 1e-9))
				}
			}
		}
		was, is := of(left), of(all)
		for name, stat := range statistics {
			truth, ok := stat.value(is)
			if !ok || is.sxx.v < 1e-6 || is.syy.v < 1e-6 {
				continue
			}
			before, _ := stat.value(was)
			base := lostRange(stat.base(), was, all[0]-left[0], middleX, middleY)
			s := stat.ofBase(base.lo, base.hi)
			if slack := 1e-9 * (1 + math.Abs(truth.v)); truth.v < s.lo-slack || truth.v > s.hi+slack {
				t.Fatalf("way %d: %s of all is %g, of what is left %g, and its range %v", way, name, truth.v, before.v, s)
			}
			if math.Abs(truth.v-before.v) > 0.2*math.Abs(truth.v) {
				moved++
			}
		}
	}
	if moved < 10_000 {
		t.Errorf("only %d statistics are moved", moved)
	}
}
