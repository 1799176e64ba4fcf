package elastic

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// Formula is a bound as a function of distance: sums and products of whole numbers and frequencies. What stands in several places is one step, and computed once.
type Formula struct {
	Frequencies []Frequency
	steps       []step // each reads those before it
	root        int
}

// step is an expression: nondecreasing in distance k, and for k >= 1 it grows from k to k+1 by a factor of at most ((k+1)/k)^degree.
type step struct {
	kind   kind
	number uint64 // of a constant; of a frequency its index
	rows   uint64 // of a frequency: what a unit adds
	of     []int  // the others': what they are made of
	degree int
}

type kind byte

const (
	constant kind = iota + 1
	frequency
	plus
	times
	least
)

// step gives an expression its place.
func (b *builder) step(s step) int {
	for _, at := range s.of {
		if d := b.f.steps[at].degree; s.kind == times {
			s.degree += d
		} else {
			s.degree = max(s.degree, d)
		}
	}
	b.f.steps = append(b.f.steps, s)
	return len(b.f.steps) - 1
}

func (b *builder) constant(n uint64) int { return b.step(step{kind: constant, number: n}) }

// is: a step is this constant.
func (b *builder) is(at int, n uint64) bool {
	return b.f.steps[at].kind == constant && b.f.steps[at].number == n
}

func (b *builder) product(x, y int) int {
	if b.is(x, 1) {
		return y
	}
	if b.is(y, 1) {
		return x
	}
	return b.step(step{kind: times, of: []int{x, y}})
}

func (b *builder) least(of []int) int {
	of = slices.Compact(of)
	if len(of) == 1 {
		return of[0]
	}
	return b.step(step{kind: least, of: of})
}

// At is the bound at a distance, for measured frequencies (in the order of Frequencies; of a key that does not occur 0).
func (f *Formula) At(values []uint64, k uint64) uint64 {
	return f.compute(make([]uint64, len(f.steps)), values, k)
}

// compute is At, with room for what the steps are.
func (f *Formula) compute(room, values []uint64, k uint64) uint64 {
	for i := range f.steps[:f.root+1] {
		switch s := &f.steps[i]; s.kind {
		case constant:
			room[i] = s.number
		case frequency:
			room[i] = add(values[s.number], multiply(k, s.rows))
		case plus:
			sum := uint64(0)
			for _, at := range s.of {
				sum = add(sum, room[at])
			}
			room[i] = sum
		case times:
			room[i] = multiply(room[s.of[0]], room[s.of[1]])
		case least:
			out := uint64(math.MaxUint64)
			for _, at := range s.of {
				out = min(out, room[at])
			}
			room[i] = out
		default:
			panic("elastic: a step of no kind")
		}
	}
	return room[f.root]
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
func (f *Formula) String() string {
	var b strings.Builder
	f.print(&b, f.root, math.MaxInt)
	return b.String()
}

// Longer reports that String is longer than so many bytes. A formula has an expression in full wherever it stands, so its text may be far longer than its steps are many.
func (f *Formula) Longer(most int) bool {
	var b strings.Builder
	f.print(&b, f.root, most)
	return b.Len() > most
}

// print writes a step; where there are more than most bytes it adds no other.
func (f *Formula) print(b *strings.Builder, at, most int) {
	if b.Len() > most {
		return
	}
	s := &f.steps[at]
	between := map[kind][3]string{plus: {"(", " + ", ")"}, times: {"", " * ", ""}, least: {"min(", ", ", ")"}}[s.kind]
	switch s.kind {
	case constant:
		fmt.Fprint(b, s.number)
	case frequency:
		b.WriteString("(" + f.Frequencies[s.number].String())
		if s.rows > 0 {
			fmt.Fprintf(b, " + %d k", s.rows)
		}
		b.WriteString(")")
	default:
		b.WriteString(between[0])
		for i, of := range s.of {
			if i > 0 {
				b.WriteString(between[1])
			}
			f.print(b, of, most)
		}
		b.WriteString(between[2])
	}
}

// Text is a digest of the formula with names for its frequencies, whatever the order of its sums and products: formulas of one text are one function of the frequencies that are named.
func (f *Formula) Text(names []string) string {
	texts := make([]string, len(f.steps)) // each once, however often it is read
	for i, s := range f.steps {
		var parts []string
		for _, at := range s.of {
			parts = append(parts, texts[at])
		}
		slices.Sort(parts)
		if s.kind == frequency {
			parts = append(parts, names[s.number])
			s.number = 0
		}
		texts[i] = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%d %d %d %q", s.kind, s.number, s.rows, parts)))
	}
	return texts[f.root]
}
