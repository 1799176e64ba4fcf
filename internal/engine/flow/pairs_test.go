package flow

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// TestManyMeasures: graphs over one list of edges have the values of graphs of their own, in whatever order they are asked, however wide their weights are.
func TestManyMeasures(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 15))
	rounds := 1500
	if testing.Short() {
		rounds = 300
	}
	for range rounds {
		measures := 1 + rng.IntN(4)
		together, alone := &Pairs{}, make([]*Graph, measures)
		lists := make([][]pair, measures)
		most := make([]int64, measures)
		for j := range most {
			most[j] = int64(1) << []int{2, 4, 9, 17, 33, 62}[rng.IntN(6)]
		}
		lefts, rights := 1+rng.Int32N(6), 1+rng.Int32N(6)
		for range rng.IntN(60) {
			l, r, weights := rng.Int32N(lefts), rng.Int32N(rights), make([]int64, measures)
			for j := range weights {
				if rng.IntN(3) > 0 {
					weights[j] = rng.Int64N(most[j])
				}
				lists[j] = append(lists[j], pair{l, r, weights[j]})
			}
			if err := together.Add(l, r, weights...); err != nil {
				t.Fatal(err)
			}
		}
		for j, list := range lists {
			alone[j] = of(t, list)
		}
		graphs, err := together.Graphs()
		if err != nil {
			t.Fatal(err)
		}
		for range 12 * len(graphs) {
			j := rng.IntN(measures)
			limit := rng.Int64N(most[j]) >> rng.IntN(3)
			if a, b := graphs[j].Value(limit), alone[j].Value(limit); a != b || graphs[j].Total() != alone[j].Total() {
				t.Fatalf("measure %d of %v: at cap %d %d, alone %d", j, lists, limit, a, b)
			}
		}
	}
}

// TestColumn: numbers come back as they were put, in the bytes that they need.
func TestColumn(t *testing.T) {
	for v, width := range map[int64]int{0: 1, 255: 1, 256: 2, 65535: 2, 65536: 4, 1<<32 - 1: 4, 1 << 32: 8, Most: 8} {
		c := newColumn(3, widthOf(v))
		c.set(1, v)
		if wide := c.widened(8, 2); widthOf(v) != width || c.at(1) != v || c.at(0) != 0 || c.at(2) != 0 || wide.at(1) != v {
			t.Errorf("%d: %d, %d and %d in %d bytes", v, c.at(1), wide.at(1), c.at(0), widthOf(v))
		}
	}
}

// TestEnd: whenever the time ends, taking in and searching end at one of the next looks, of which there is one every so many edges.
func TestEnd(t *testing.T) {
	wrong := errors.New("the time has ended")
	rng := rand.New(rand.NewPCG(16, 17))
	pairs := make([][2]int32, 600_000)
	for i := range pairs {
		pairs[i] = [2]int32{rng.Int32N(3000), rng.Int32N(2000)}
	}
	looks, last := 0, -1
	p := &Pairs{Within: Within{End: func() error {
		if looks++; last >= 0 && looks > last {
			return wrong
		}
		return nil
	}}}
	for _, e := range pairs {
		if err := p.Add(e[0], e[1], 1); err != nil {
			t.Fatal(err)
		}
	}
	again := *p // the same chunks, which a graph leaves empty
	again.chunks = nil
	for _, c := range p.chunks {
		d := *c
		d.weights = []column{c.weights[0]}
		again.chunks = append(again.chunks, &d)
	}
	g := graph(t, p)
	if looks < 4*len(pairs)/mostChunk {
		t.Errorf("%d looks while %d pairs were put in order", looks, len(pairs))
	}
	looks = 0
	whole := g.Value(150)
	all := looks
	looks, last = 0, all/2
	if less := g.Value(150); all < 5 || less >= whole || looks != all/2+1 {
		t.Errorf("ended: %d of %d, after %d looks of %d", less, whole, looks, all)
	}
	if g.Value(150) != 0 || looks != all/2+1 {
		t.Error("it goes on")
	}
	looks, last = 0, 5
	if _, err := again.Graphs(); !errors.Is(err, wrong) || looks != 6 {
		t.Errorf("%v after %d looks", err, looks)
	}
}
