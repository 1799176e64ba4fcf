// Package elastic bounds how many rows of a tree of equi-joins one unit changes, from how often the values of join keys occur: elastic sensitivity (Johnson, Near, Song 2018), at the level of units.
// It makes formulas from the statement and the policy alone; the frequencies that they are evaluated at are secret, and so is what comes out.
package elastic

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// Table is a scan. Each scan of a self-join is a table of its own.
type Table struct {
	Name string
	// Rows of one unit, at most; 0: public, the same in all neighbouring databases.
	Rows uint64
	// Unique keys, which hold in every neighbouring database.
	Unique [][]string
	// Cap is a frequency that is enforced: of the rows with one value of the columns no more than so many are kept, by a hash of their own units. There is one at most: what one cap lets in
	// another would cut again.
	Cap *Cap
}

// changed bounds the rows that one unit changes: its own, and where rows are kept up to a cap, as many of others, which leave as its rows come; but where nothing but the cap's columns is seen of rows, who leaves is not seen, and how many there are with a value
// changes by the unit's own at most.
//
// Proof: of the rows with one value of the cap's columns those before the cut come, in an order of their own. A unit's r rows with it take at most r places, so at most r others leave, and there are min(n + r, Most) of them for min(n, Most): at most r more. Seen by these columns alone, rows
// with one value are alike, so this number is all that is seen of them. The r of all values are at most Rows together.
func (t *Table) changed() uint64 {
	if t.Cap != nil && !t.Cap.Bag {
		return multiply(2, t.Rows)
	}
	return t.Rows
}

// Cap is an enforced frequency.
type Cap struct {
	Columns []string
	Most    uint64
	Fixed   bool // Most stands for the frequency, which is not measured
	Bag     bool // nothing but Columns is read of the rows that are kept
}

// Column is one of a tree's.
type Column struct {
	Table *Table
	Name  string
}

// Pair is an equality of a join.
type Pair struct{ Left, Right Column }

// Node is a tree of joins: a table, or a join of two nodes.
type Node struct {
	Table       *Table // nil: a join
	Left, Right *Node
	On          []Pair
}

// Frequency is how often, at most, one value of a key occurs in a table: what must be measured.
type Frequency struct {
	Table   *Table
	Columns []string // sorted
}

func (f Frequency) String() string { return f.Table.Name + "." + strings.Join(f.Columns, "+") }

// Formula is a bound as a function of distance: sums and products of whole numbers and frequencies.
type Formula struct {
	Frequencies []Frequency
	root        expression
	degree      int
}

// expression is nondecreasing in distance k, and for k >= 1 grows from k to k+1 by a factor of at most ((k+1)/k)^degree.
type expression interface {
	at(f *Formula, values []uint64, k uint64) uint64
	print(f *Formula) string
	degree() int
}

// Rows bounds how many rows of the tree's result one unit changes.
//
// Proof: S(n, k) bounds, for every database D within k units of the given one and D' with one unit more or less, the rows of the result of n that only one of them has; mf(n, c, k) how often a value of c occurs in it at D. Table: the rows of the unit, and where
// a cap cuts as many that make room for them (changed; where a cap is a bag, rows are told apart by its columns alone here and below). mf at distance k is at most mf + k rows (each unit brings at most so many), the cap where one is enforced, 1 for a unique key; of a public table all stands still. Join of A and B on a = b:
// what only one of A B and A' B' has is a row of A or A' that the other does not have with one of B, or one of A' with a row of B or B' that the other does not have: at most S_A mf_B(b) + S_B mf_A'(a), and mf_A'(a) <= mf_A(a) + S_A: a unit owns rows
// on both sides, so this is the self-join's form whatever the tables are. A value of c, columns of A and B, meets at most mf_A(c's of A) rows of A and each of them at most mf_B(b and c's of B) of B, or the other way around: the smaller. (FLEX's
// Lemma 3 and Theorem 1, with a unit's rows for a row.) At(k) at one database is at most At(k+1) at its neighbour, since each frequency moves by at most the unit's rows.
func Rows(n *Node) (*Formula, error) {
	f := &Formula{}
	e, err := f.rows(n)
	if err != nil {
		return nil, err
	}
	f.root, f.degree = e, e.degree()
	return f, nil
}

func (f *Formula) rows(n *Node) (expression, error) {
	if n.Table != nil {
		return constant(n.Table.changed()), nil
	}
	if len(n.On) == 0 {
		return nil, fmt.Errorf("elastic: a join without an equality has no frequency")
	}
	l, err := f.rows(n.Left)
	if err != nil {
		return nil, err
	}
	r, err := f.rows(n.Right)
	if err != nil {
		return nil, err
	}
	var sum plus
	a, b := sides(n)
	if l != constant(0) {
		often, err := f.often(n.Right, b)
		if err != nil {
			return nil, err
		}
		sum = append(sum, product(l, often))
	}
	if r != constant(0) {
		often, err := f.often(n.Left, a)
		if err != nil {
			return nil, err
		}
		sum = append(sum, product(r, often))
	}
	if l != constant(0) && r != constant(0) {
		sum = append(sum, product(l, r))
	}
	switch len(sum) {
	case 0:
		return constant(0), nil
	case 1:
		return sum[0], nil
	}
	return sum, nil
}

func sides(n *Node) (left, right []Column) {
	for _, p := range n.On {
		left, right = append(left, p.Left), append(right, p.Right)
	}
	return left, right
}

// often bounds how often a value of columns occurs in a node's result.
func (f *Formula) often(n *Node, columns []Column) (expression, error) {
	if n.Table != nil {
		return f.tableOften(n.Table, columns)
	}
	var of [2][]Column
	for _, c := range columns {
		switch {
		case has(n.Left, c.Table):
			of[0] = append(of[0], c)
		case has(n.Right, c.Table):
			of[1] = append(of[1], c)
		default:
			return nil, fmt.Errorf("elastic: %s is not of this join", c.Table.Name)
		}
	}
	a, b := sides(n)
	var ways least
	for first, kids := range [2][2]*Node{{n.Left, n.Right}, {n.Right, n.Left}} {
		if len(of[first]) == 0 { // any of its rows may meet it
			continue
		}
		key := [2][]Column{b, a}[first]
		here, err := f.often(kids[0], of[first])
		if err != nil {
			return nil, err
		}
		there, err := f.often(kids[1], append(slices.Clone(key), of[1-first]...))
		if err != nil {
			return nil, err
		}
		ways = append(ways, product(here, there))
	}
	if len(ways) == 1 {
		return ways[0], nil
	}
	return ways, nil
}

func has(n *Node, t *Table) bool {
	if n.Table != nil {
		return n.Table == t
	}
	return has(n.Left, t) || has(n.Right, t)
}

func (f *Formula) tableOften(t *Table, columns []Column) (expression, error) {
	var names []string
	for _, c := range columns {
		if c.Table != t {
			return nil, fmt.Errorf("elastic: a column of %s in a key of %s", c.Table.Name, t.Name)
		}
		names = append(names, c.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil, fmt.Errorf("elastic: a key of %s without columns", t.Name)
	}
	within := func(key []string) bool {
		return !slices.ContainsFunc(key, func(k string) bool { return !slices.Contains(names, k) })
	}
	if slices.ContainsFunc(t.Unique, within) {
		return constant(1), nil
	}
	most := uint64(math.MaxUint64)
	if t.Cap != nil && within(t.Cap.Columns) {
		if most = t.Cap.Most; t.Cap.Fixed {
			return constant(most), nil
		}
	}
	at := slices.IndexFunc(f.Frequencies, func(o Frequency) bool { return o.Table == t && slices.Equal(o.Columns, names) })
	if at < 0 {
		at = len(f.Frequencies)
		f.Frequencies = append(f.Frequencies, Frequency{t, names})
	}
	return frequency{at, most}, nil
}

type constant uint64

func (c constant) at(*Formula, []uint64, uint64) uint64 { return uint64(c) }
func (c constant) print(*Formula) string                { return fmt.Sprint(uint64(c)) }
func (c constant) degree() int                          { return 0 }

type frequency struct {
	of   int
	most uint64
}

func (q frequency) at(f *Formula, values []uint64, k uint64) uint64 {
	return min(q.most, add(values[q.of], multiply(k, f.Frequencies[q.of].Table.Rows)))
}

func (q frequency) print(f *Formula) string {
	s := f.Frequencies[q.of].String()
	if m := f.Frequencies[q.of].Table.Rows; m > 0 {
		s += fmt.Sprintf(" + %d k", m)
	}
	if q.most != math.MaxUint64 {
		return fmt.Sprintf("min(%s, %d)", s, q.most)
	}
	return "(" + s + ")"
}

func (q frequency) degree() int { return 1 }

type times [2]expression

func product(a, b expression) expression {
	if a == constant(1) {
		return b
	}
	if b == constant(1) {
		return a
	}
	return times{a, b}
}

func (t times) at(f *Formula, v []uint64, k uint64) uint64 {
	return multiply(t[0].at(f, v, k), t[1].at(f, v, k))
}
func (t times) print(f *Formula) string { return t[0].print(f) + " * " + t[1].print(f) }
func (t times) degree() int             { return t[0].degree() + t[1].degree() }

type plus []expression

func (p plus) at(f *Formula, v []uint64, k uint64) (sum uint64) {
	for _, e := range p {
		sum = add(sum, e.at(f, v, k))
	}
	return sum
}
func (p plus) print(f *Formula) string { return "(" + joined(f, p, " + ") + ")" }
func (p plus) degree() int             { return highest(p) }

type least []expression

func (l least) at(f *Formula, v []uint64, k uint64) uint64 {
	out := uint64(math.MaxUint64)
	for _, e := range l {
		out = min(out, e.at(f, v, k))
	}
	return out
}
func (l least) print(f *Formula) string { return "min(" + joined(f, l, ", ") + ")" }
func (l least) degree() int             { return highest(l) }

func joined(f *Formula, list []expression, by string) string {
	var out []string
	for _, e := range list {
		out = append(out, e.print(f))
	}
	return strings.Join(out, by)
}

func highest(list []expression) (d int) {
	for _, e := range list {
		d = max(d, e.degree())
	}
	return d
}

// add and multiply stay at the largest number.
func add(a, b uint64) uint64 {
	s, over := bits.Add64(a, b, 0)
	if over > 0 {
		return math.MaxUint64
	}
	return s
}

func multiply(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high > 0 {
		return math.MaxUint64
	}
	return low
}

// String is the formula, with frequencies by table and columns, and k for the distance.
func (f *Formula) String() string { return f.root.print(f) }

// At is the bound at a distance, for measured frequencies (in the order of Frequencies; of a key that does not occur 0).
func (f *Formula) At(values []uint64, k uint64) uint64 { return f.root.at(f, values, k) }

// Smooth is the smooth bound max over k of e^(-beta k) At(k): at least the change that any one unit makes, or 2^64-1, and its logarithm moves by at most beta with any one unit. It is rounded up, by less than 1e-9 of itself.
//
// Proof: smoothness: At(k) here <= At(k+1) there (Rows), so e^(-beta k) At(k) here <= e^beta e^(-beta (k+1)) At(k+1) there (Nissim, Raskhodnikova, Smith 2007, Lemma 2.3). How far: for k >= 1 each frequency and
// each minimum, sum or product of such grows from k to k+1 by at most ((k+1)/k)^degree <= e^(degree/k), which e^-beta outweighs from k = degree/beta on. Numbers stay at M = 2^64-1: what is added,
// multiplied or compared is a whole number, so At is the smaller of M and the bound in exact numbers, and all of the above holds of that too, as x <= y gives min(x, M) <= min(y, M) and x <= r y gives min(x, M) <= r min(y, M) for r >= 1. So nothing may depend on whether some At(k) is cut: with a beta of the analyst's
// choice one at k and not one at k-1 is, thus one here and none there. Where At(0) is cut, the bound may be too small, but is M, above which there is no edge (Grid.Step).
func (f *Formula) Smooth(values []uint64, beta float64) float64 {
	if !(beta > 0) {
		return math.Inf(1)
	}
	best := 0.0
	for k := 0.0; k <= math.Ceil(float64(f.degree)/beta)+1; k++ {
		best = math.Max(best, math.Exp(-beta*k)*float64(f.At(values, uint64(k))))
	}
	return best * (1 + 1e-10)
}
