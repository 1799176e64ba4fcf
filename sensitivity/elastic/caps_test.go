package elastic

import (
	"math/rand/v2"
	"testing"
)

// TestCapsSwing: a unit whose row is the first by two keys keeps one row out for each; both have another key of one value, so without the unit that occurs twice as often again as one cap would let it. No unit moves it by more than the formula says for each unit of distance.
func TestCapsSwing(t *testing.T) {
	c := read(t, "table a 1 cap=x:1 cap=z:1\ntable b 1\njoin n a b a.y=b.y")
	w := c.world(rand.New(rand.NewPCG(1, 1)))
	of := func(x, z, y, at int) unit {
		return unit{{row{"x": x, "z": z, "y": y, hash: at}}, {row{"y": y, hash: at}}}
	}
	all := database{tables: c.tables, public: make(unit, 2), units: []unit{of(1, 1, 9, 0), of(1, 2, 5, 1), of(2, 1, 5, 2), of(3, 3, 5, 3)}}
	less := all
	less.units = all.units[1:]
	a := c.tables[0]
	if most, now := w.often(all, a, []string{"y"}), w.often(less, a, []string{"y"}); most != 1 || now != 3 || now > most+a.swing() {
		t.Fatalf("y occurs %d times, without the unit %d; it may move by %d", most, now, a.swing())
	}
}
