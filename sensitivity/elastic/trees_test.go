package elastic

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomTree is of so many tables and any shape, with keys of one column or several, some of them unique or capped.
func randomTree(rng *rand.Rand, leaves, columns int) *Node {
	column := func() string { return fmt.Sprint("c", rng.IntN(columns)) }
	var nodes []*Node
	tables := map[*Node][]*Side{}
	for i := range leaves {
		t := &Side{Name: fmt.Sprint("t", i), Rows: rng.Uint64N(6)}
		for range rng.IntN(3) / 2 {
			t.Unique = append(t.Unique, slices.Compact([]string{column(), column()}))
		}
		for range rng.IntN(5) / 3 * (1 + rng.IntN(2)) {
			t.Caps = append(t.Caps, &Cap{Columns: []string{column()}, Most: 1 + rng.Uint64N(100), Bag: rng.IntN(2) == 0})
		}
		nodes = append(nodes, &Node{Side: t})
		tables[nodes[i]] = []*Side{t}
	}
	for len(nodes) > 1 {
		at := rng.IntN(len(nodes) - 1)
		n := &Node{Left: nodes[at], Right: nodes[at+1]}
		some := func(of *Node) Column { return Column{tables[of][rng.IntN(len(tables[of]))], column()} }
		for range 1 + rng.IntN(3) {
			n.On = append(n.On, Pair{some(n.Left), some(n.Right)})
		}
		tables[n] = slices.Concat(tables[n.Left], tables[n.Right])
		nodes = slices.Replace(nodes, at, at+2, n)
	}
	return nodes[0]
}

// plain computes a bound as the recursion says it, asking for everything again wherever it stands.
type plain struct {
	f      *Formula
	values []uint64
	k      uint64
}

func (p plain) rows(n *Node) uint64 {
	if n.Side != nil {
		return n.Side.changed()
	}
	var a, b []Column
	for _, e := range n.On {
		a, b = append(a, e.Left), append(b, e.Right)
	}
	l, r := p.rows(n.Left), p.rows(n.Right)
	sum, both := uint64(0), l > 0 && r > 0
	if l > 0 {
		often, moves := p.often(n.Right, b)
		sum, both = add(sum, multiply(l, often)), both && moves
	}
	if r > 0 {
		often, moves := p.often(n.Left, a)
		sum, both = add(sum, multiply(r, often)), both && moves
	}
	if both {
		sum = add(sum, multiply(l, r))
	}
	return sum
}

// often also says whether a private table's measured frequency is in it, which a neighbour moves.
func (p plain) often(n *Node, columns []Column) (often uint64, moves bool) {
	if t := n.Side; t != nil {
		var names []string
		for _, c := range columns {
			names = append(names, c.Name)
		}
		within := func(key []string) bool {
			return !slices.ContainsFunc(key, func(k string) bool { return !slices.Contains(names, k) })
		}
		if slices.ContainsFunc(t.Unique, within) {
			return 1, false
		}
		most, capped := uint64(math.MaxUint64), false
		for _, c := range t.Caps {
			if within(c.Columns) {
				most, capped = min(most, c.Most), true
			}
		}
		if capped {
			return most, false
		}
		slices.Sort(names)
		names = slices.Compact(names)
		at := slices.IndexFunc(p.f.Frequencies, func(q Frequency) bool { return q.Side == t && slices.Equal(q.Columns, names) })
		return add(p.values[at], multiply(p.k, multiply(max(1, uint64(len(t.Caps))), t.Rows))), t.Rows > 0
	}
	var has func(n *Node, t *Side) bool
	has = func(n *Node, t *Side) bool {
		return n.Side == t || n.Side == nil && (has(n.Left, t) || has(n.Right, t))
	}
	of, on := map[*Node][]Column{}, map[*Node][]Column{}
	for _, kid := range []*Node{n.Left, n.Right} {
		for _, c := range columns {
			if has(kid, c.Side) {
				of[kid] = append(of[kid], c)
			}
		}
	}
	for _, e := range n.On {
		on[n.Left], on[n.Right] = append(on[n.Left], e.Left), append(on[n.Right], e.Right)
	}
	least := uint64(math.MaxUint64)
	for _, kids := range [][2]*Node{{n.Left, n.Right}, {n.Right, n.Left}} {
		if len(of[kids[0]]) > 0 {
			here, first := p.often(kids[0], of[kids[0]])
			there, second := p.often(kids[1], slices.Concat(on[kids[1]], of[kids[1]]))
			least, moves = min(least, multiply(here, there)), moves || first || second
		}
	}
	return least, moves
}

// TestPlain: a formula, of which each expression is made and computed once, is what the recursion says.
func TestPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	shared := 0
	for range 2000 {
		n := randomTree(rng, 1+rng.IntN(7), 1+rng.IntN(4))
		b, f, err := built(n)
		if err != nil {
			t.Fatal(err)
		}
		values := f.values(rng, 9)
		for k := range uint64(3) {
			want := plain{f, values, k}.rows(n)
			if n := f.At(values, k); n != want {
				t.Fatalf("%s: %d at distance %d, the recursion says %d", f, n, k, want)
			}
		}
		if len(b.answered) > len(f.Frequencies)+2 && f.Longer(10*len(f.steps)) {
			shared++
		}
	}
	if shared < 100 {
		t.Errorf("%d formulas have shared expressions", shared)
	}
}

// built is a tree's formula, with its builder.
func built(n *Node) (*builder, *Formula, error) {
	b := newBuilder()
	f, err := b.formula(n)
	return b, f, err
}

// values are frequencies of up to e^upTo.
func (f *Formula) values(rng *rand.Rand, upTo float64) (out []uint64) {
	for range f.Frequencies {
		out = append(out, uint64(math.Exp(upTo*rng.Float64())))
	}
	return out
}

// chained are tables of which each is joined to the one before it; or to each, by columns of its own; or to each by one column that all are equal in.
func chained(leaves int, toEach, oneColumn bool) *Node {
	var tables []*Side
	var n *Node
	for i := range leaves {
		tables = append(tables, &Side{Name: fmt.Sprint("t", i), Rows: 2})
		if i == 0 {
			n = &Node{Side: tables[0]}
			continue
		}
		n = &Node{Left: n, Right: &Node{Side: tables[i]}}
		for j := range i {
			switch {
			case oneColumn:
				n.On = append(n.On, Pair{Column{tables[j], "c"}, Column{tables[i], "c"}})
			case toEach || j == i-1:
				n.On = append(n.On, Pair{Column{tables[j], fmt.Sprint("c", i)}, Column{tables[i], fmt.Sprint("c", j)}})
			}
		}
	}
	return n
}

// TestLarge: of a chain, or where all tables are equal in one column, each key is asked for once, and the formula has few steps, however long its text; where each join's key has a column of its own for each table before it, what is asked doubles with each, and ends with an error of its own.
func TestLarge(t *testing.T) {
	for leaves := 2; leaves <= 40; leaves++ {
		for _, oneColumn := range []bool{true, false} {
			b, f, err := built(chained(leaves, false, oneColumn))
			if err != nil {
				t.Fatal(err)
			}
			if b.answers > leaves*leaves || len(f.steps) > leaves*leaves+10 {
				t.Errorf("%d tables: %d keys are asked for, %d steps", leaves, b.answers, len(f.steps))
			}
			if leaves > 20 && !f.Longer(1<<16) { // its text would not end
				t.Errorf("the text of %d tables is short", leaves)
			}
		}
		_, f, err := built(chained(leaves, false, false))
		if err != nil {
			t.Fatal(err)
		}
		if leaves == 12 {
			text := len(f.String())
			if f.Longer(text) || !f.Longer(text-1) || text < 100*len(f.steps) {
				t.Errorf("%d steps have a text of %d bytes", len(f.steps), text)
			}
		}
	}
	last := 0
	for leaves := 2; leaves <= 12; leaves++ {
		b, _, err := built(chained(leaves, true, false))
		switch {
		case leaves <= 9 && err != nil:
			t.Errorf("%d tables: %v", leaves, err)
		case leaves > 10 && (!errors.Is(err, ErrLarge) || b.answers > maxQuestions+1):
			t.Errorf("%d tables: %d keys are asked for, %v", leaves, b.answers, err)
		case leaves > 3 && err == nil && b.answers < 3*last/2:
			t.Errorf("%d tables: %d keys are asked for, of one less %d", leaves, b.answers, last)
		}
		last = b.answers
	}
}

// TestNoTree: what is no tree of equi-joins has no formula.
func TestNoTree(t *testing.T) {
	a, b, c := &Side{Name: "a", Rows: 1}, &Side{Name: "b", Rows: 1}, &Side{Name: "c", Rows: 1}
	on := []Pair{{Column{a, "x"}, Column{b, "x"}}}
	for name, n := range map[string]*Node{
		"no equality":       {Left: &Node{Side: a}, Right: &Node{Side: b}},
		"a table twice":     {Left: &Node{Side: a}, Right: &Node{Side: a}, On: on},
		"another table's":   {Left: &Node{Side: a}, Right: &Node{Side: c}, On: on},
		"both of one side":  {Left: &Node{Side: a}, Right: &Node{Side: b}, On: []Pair{{Column{a, "x"}, Column{a, "y"}}}},
		"none of a table's": {Left: &Node{Left: &Node{Side: a}, Right: &Node{Side: b}, On: on}, Right: &Node{Side: c}, On: on},
	} {
		if f, err := Rows(n); err == nil {
			t.Errorf("%s: %s", name, f)
		}
	}
}
