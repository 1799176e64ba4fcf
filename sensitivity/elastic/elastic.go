// Package elastic bounds how many rows of a tree of equi-joins one unit changes, from how often the values of join keys occur: elastic sensitivity (Johnson, Near, Song 2018), at the level of units.
// It makes formulas from the statement and the policy alone; the frequencies that they are evaluated at are secret, and so is what comes out.
package elastic

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Side is a leaf of the tree: a relation of which each row is one unit's, or a public one. Each side of a self-join is a table of its own.
type Side struct {
	Name string
	// Rows of one unit, at most; 0: public, the same in all neighbouring databases.
	Rows uint64
	// Unique keys, which hold in every neighbouring database.
	Unique [][]string
	// Caps are frequencies that are enforced, and not measured: of the rows with one value of the columns no more than so many are kept, by an order of their own values. Of several each counts all rows, and those are kept that all keep.
	Caps []*Cap
}

// changed bounds the rows that one unit changes: its own, and where rows are kept up to a cap, as many of others, which leave as its rows come; but where nothing but the cap's columns is seen of rows, who leaves is not seen, and how many there are with a value
// changes by the unit's own at most.
//
// Proof: of the rows with one value of the cap's columns those before the cut come, in an order of their own. A unit's r rows with it take at most r places, so at most r others leave, and there are min(n + r, Most) of them for min(n, Most): at most r more. Seen by these columns alone, rows
// with one value are alike, so this number is all that is seen of them. The r of all values are at most Rows together.
// Of several caps: the unit's own rows are at most Rows. Another row that is kept in one database alone is before the cut of each cap there and behind the cut of some cap in the other. Each cap counts all rows, whatever the others do, so of it those are at most Rows, as above: with all caps that many each.
func (t *Side) changed() uint64 {
	if len(t.Caps) == 1 && t.Caps[0].Bag {
		return t.Rows
	}
	return multiply(1+uint64(len(t.Caps)), t.Rows)
}

// swing bounds by how much one unit changes how often a value of any columns occurs: as its rows come, as many of others leave for each cap.
func (t *Side) swing() uint64 { return multiply(max(1, uint64(len(t.Caps))), t.Rows) }

// Cap is an enforced frequency.
type Cap struct {
	Columns []string
	Most    uint64
	Bag     bool // nothing but Columns is read of the rows that are kept; of one of several caps it says nothing
}

// Column is one of a tree's.
type Column struct {
	Side *Side
	Name string
}

// Pair is an equality of a join.
type Pair struct{ Left, Right Column }

// Node is a tree of joins: a table, or a join of two nodes.
type Node struct {
	Side        *Side // nil: a join
	Left, Right *Node
	On          []Pair
}

// Frequency is how often, at most, one value of a key occurs in a table: what must be measured.
type Frequency struct {
	Side    *Side
	Columns []string // sorted
}

func (f Frequency) String() string { return f.Side.Name + "." + strings.Join(f.Columns, "+") }

// ErrLarge is of a tree whose formula is too large: with keys of several columns what is asked of a subtree may double with each join above it.
var ErrLarge = errors.New("elastic: the formula of these joins is too large")

// maxQuestions limits the keys that are asked of all subtrees of a tree together.
const maxQuestions = 2000

// Rows bounds how many rows of the tree's result one unit changes.
//
// Proof: S(n, k) bounds, for every database D within k units of the given one and D' with one unit more or less, the rows of the result of n that only one of them has; mf(n, c, k) how often a value of c occurs in it at D. Table: the rows of the unit, and where
// a cap cuts as many that make room for them (changed; where a cap is a bag, rows are told apart by its columns alone here and below). mf at distance k is at most mf + k rows (each unit brings at most so many, or as many of others leave as its rows go, for each cap: swing), the cap where one is enforced, 1 for a unique key; of a public table all stands still. Join of A and B on a = b:
// what only one of A B and A' B' has is a row of A or A' that the other does not have with one of B, or one of A' with a row of B or B' that the other does not have: at most S_A mf_B(b) + S_B mf_A'(a), and mf_A'(a) <= mf_A(a) + S_A. Where keys, caps and public
// tables alone bound mf_A(a), that bound holds at every distance, hence for mf_A'(a) too, and the product S_A S_B is not needed. Nor is it where they bound mf_B(b): the same argument with the sides exchanged. A unit owns rows
// on both sides, so this is the self-join's form whatever the tables are. A value of c, columns of A and B, meets at most mf_A(c's of A) rows of A and each of them at most mf_B(b and c's of B) of B, or the other way around: the smaller. (FLEX's
// Lemma 3 and Theorem 1, with a unit's rows for a row.) At(k) at one database is at most At(k+1) at its neighbour, since each frequency moves by at most the unit's rows.
func Rows(n *Node) (*Formula, error) {
	return newBuilder().formula(n)
}

// builder makes a formula; expressions are places among its steps.
type builder struct {
	f        *Formula
	leaf     map[*Side]int    // from left to right
	span     map[*Node][2]int // a node's leaves, from one up to below another
	columns  []Column
	number   map[Column]int   // its place among columns
	answered map[question]int // what often answered
	answers  int
}

func newBuilder() *builder {
	return &builder{f: &Formula{}, leaf: map[*Side]int{}, span: map[*Node][2]int{}, number: map[Column]int{}, answered: map[question]int{}}
}

func (b *builder) formula(n *Node) (*Formula, error) {
	if err := b.walk(n); err != nil {
		return nil, err
	}
	root, err := b.rows(n)
	if err != nil {
		return nil, err
	}
	b.f.root = root
	return b.f, nil
}

// question is how often a value of columns occurs in a node's result.
type question struct {
	of      *Node
	columns string // their numbers, ascending
}

// walk numbers the tables.
func (b *builder) walk(n *Node) error {
	from := len(b.leaf)
	if n.Side != nil {
		if _, twice := b.leaf[n.Side]; twice {
			return fmt.Errorf("elastic: %s is in the tree twice", n.Side.Name)
		}
		b.leaf[n.Side] = from
	} else {
		for _, kid := range []*Node{n.Left, n.Right} {
			if err := b.walk(kid); err != nil {
				return err
			}
		}
	}
	b.span[n] = [2]int{from, len(b.leaf)}
	return nil
}

// has: a column is of a node's result.
func (b *builder) has(n *Node, column int) bool {
	at, ok := b.leaf[b.columns[column].Side]
	return ok && at >= b.span[n][0] && at < b.span[n][1]
}

// sides are the columns of a join's equalities.
func (b *builder) sides(n *Node) (left, right []int) {
	for _, p := range n.On {
		left, right = append(left, b.columnOf(p.Left)), append(right, b.columnOf(p.Right))
	}
	return left, right
}

func (b *builder) columnOf(c Column) int {
	at, ok := b.number[c]
	if !ok {
		at = len(b.columns)
		b.columns, b.number[c] = append(b.columns, c), at
	}
	return at
}

func (b *builder) rows(n *Node) (int, error) {
	if n.Side != nil {
		return b.constant(n.Side.changed()), nil
	}
	if len(n.On) == 0 {
		return 0, errors.New("elastic: a join without an equality has no frequency")
	}
	l, err := b.rows(n.Left)
	if err != nil {
		return 0, err
	}
	r, err := b.rows(n.Right)
	if err != nil {
		return 0, err
	}
	var sum []int
	left, right := b.sides(n)
	both := true // a row that is new on the left meets one that is new on the right beside those that sum counts
	for _, side := range []struct {
		changed int
		other   *Node
		key     []int
	}{{l, n.Right, right}, {r, n.Left, left}} {
		if b.is(side.changed, 0) {
			both = false
			continue
		}
		often, err := b.often(side.other, side.key)
		if err != nil {
			return 0, err
		}
		sum = append(sum, b.product(side.changed, often))
		both = both && b.f.steps[often].degree > 0 // degree 0: the frequency holds in the neighbour too
	}
	if both {
		sum = append(sum, b.product(l, r))
	}
	switch len(sum) {
	case 0:
		return b.constant(0), nil
	case 1:
		return sum[0], nil
	}
	return b.step(step{kind: plus, of: sum}), nil
}

// often bounds how often a value of columns occurs in a node's result. What it answers follows from the node and the set of columns alone, so that each is asked once.
func (b *builder) often(n *Node, columns []int) (int, error) {
	columns = slices.Clone(columns)
	slices.Sort(columns)
	columns = slices.Compact(columns)
	q := question{n, fmt.Sprint(columns)}
	if at, ok := b.answered[q]; ok {
		return at, nil
	}
	if b.answers++; b.answers > maxQuestions {
		return 0, ErrLarge
	}
	at, err := b.answer(n, columns)
	b.answered[q] = at
	return at, err
}

func (b *builder) answer(n *Node, columns []int) (int, error) {
	if len(columns) == 0 {
		return 0, errors.New("elastic: a key without columns")
	}
	for _, c := range columns {
		if !b.has(n, c) {
			return 0, fmt.Errorf("elastic: %s is not of this join", b.columns[c].Side.Name)
		}
	}
	if n.Side != nil {
		return b.sideFrequency(n.Side, columns), nil
	}
	var of [2][]int
	for _, c := range columns {
		side := 0
		if b.has(n.Right, c) {
			side = 1
		}
		of[side] = append(of[side], c)
	}
	left, right := b.sides(n)
	var ways []int
	for first, kids := range [2][2]*Node{{n.Left, n.Right}, {n.Right, n.Left}} {
		if len(of[first]) == 0 { // any of its rows may meet it
			continue
		}
		here, err := b.often(kids[0], of[first])
		if err != nil {
			return 0, err
		}
		there, err := b.often(kids[1], slices.Concat([2][]int{right, left}[first], of[1-first]))
		if err != nil {
			return 0, err
		}
		ways = append(ways, b.product(here, there))
	}
	return b.least(ways), nil
}

func (b *builder) sideFrequency(t *Side, columns []int) int {
	var names []string
	for _, c := range columns {
		names = append(names, b.columns[c].Name)
	}
	slices.Sort(names)
	within := func(key []string) bool {
		return !slices.ContainsFunc(key, func(k string) bool { return !slices.Contains(names, k) })
	}
	if slices.ContainsFunc(t.Unique, within) {
		return b.constant(1)
	}
	most, capped := uint64(math.MaxUint64), false
	for _, c := range t.Caps {
		if within(c.Columns) {
			most, capped = min(most, c.Most), true
		}
	}
	if capped {
		return b.constant(most)
	}
	at := slices.IndexFunc(b.f.Frequencies, func(o Frequency) bool { return o.Side == t && slices.Equal(o.Columns, names) })
	if at < 0 {
		at = len(b.f.Frequencies)
		b.f.Frequencies = append(b.f.Frequencies, Frequency{t, names})
	}
	f := step{kind: frequency, number: uint64(at), rows: t.swing()}
	if f.rows > 0 { // a public table's is the same at every distance
		f.degree = 1
	}
	return b.step(f)
}
