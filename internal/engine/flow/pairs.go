package flow

import (
	"errors"
	"math"
)

// Within is what pairs and graphs may take of memory and time. The zero value has no limit; an engine's statements have both.
type Within struct {
	Memory *Share
	End    func() error // whether the statement's time has ended, and how
}

// Pairs takes in, for each pair of units, how much its rows weigh together, in whole steps: a number for each measure.
type Pairs struct {
	Within
	chunks        []*chunk
	totals        []int64 // a measure
	widths        []int   // a measure: the bytes of its largest weight
	pairs         int
	lefts, rights int32 // number of units of each kind
}

// chunk holds pairs in the order in which they came: so none is moved while they come.
type chunk struct {
	left, right []int32
	weights     []column // a measure
}

// A group with few pairs has a small chunk, and the next ones double up to mostChunk.
const leastChunk, mostChunk = 16, 1 << 16

var (
	errPair = errors.New("flow: a pair has a negative unit or weight, or not the weights of the others")
	errMany = errors.New("flow: too many pairs")
)

// Most is where sums end: of what a unit's rows weigh, and of a flow. Whether weights add up to more is a secret, so it is no error.
const Most = math.MaxInt64 / 4

// atMost adds what is not negative and at most Most each.
func atMost(a, b int64) int64 { return min(a+b, Most) }

// Add takes one pair in. Units are numbered from 0, each kind for itself; a pair may come several times. All pairs have the same number of weights.
func (p *Pairs) Add(left, right int32, weights ...int64) error {
	largest := int64(0)
	for _, w := range weights {
		if w < 0 {
			return errPair
		}
		largest = max(largest, w)
	}
	if p.totals == nil {
		p.totals, p.widths = make([]int64, len(weights)), make([]int, len(weights))
		for j := range p.widths {
			p.widths[j] = 1
		}
	}
	switch {
	case left < 0 || right < 0 || left == math.MaxInt32 || right == math.MaxInt32 || len(weights) != len(p.totals):
		return errPair
	case p.pairs == math.MaxInt32:
		return errMany
	case largest == 0:
		return nil
	}
	c, err := p.room()
	if err != nil {
		return err
	}
	i := len(c.left)
	c.left, c.right = append(c.left, left), append(c.right, right)
	for j, w := range weights {
		w = min(w, Most)
		width := widthOf(w)
		if width > c.weights[j].width {
			if err := p.Memory.Take(int64((width - c.weights[j].width) * cap(c.left))); err != nil {
				return err
			}
			c.weights[j] = c.weights[j].widened(width, i)
		}
		c.weights[j].set(int32(i), w)
		p.totals[j], p.widths[j] = atMost(p.totals[j], w), max(p.widths[j], width)
	}
	p.pairs++
	p.lefts, p.rights = max(p.lefts, left+1), max(p.rights, right+1)
	return nil
}

// room is a chunk that takes one pair more.
func (p *Pairs) room() (*chunk, error) {
	size := leastChunk
	if n := len(p.chunks); n > 0 {
		last := p.chunks[n-1]
		if len(last.left) < cap(last.left) {
			return last, nil
		}
		size = min(2*cap(last.left), mostChunk)
	}
	if err := p.Memory.Take(int64(size * (8 + len(p.totals)))); err != nil {
		return nil, err
	}
	c := &chunk{left: make([]int32, 0, size), right: make([]int32, 0, size), weights: make([]column, len(p.totals))}
	for j := range c.weights {
		c.weights[j] = newColumn(size, 1)
	}
	p.chunks = append(p.chunks, c)
	return c, nil
}

func (p *Pairs) ended() error {
	if p.End == nil {
		return nil
	}
	return p.End()
}

// Graphs ends the taking in: a graph a measure, over one list of edges. They share what a search for flows writes to, so that one is asked after the other; who goes back and forth between them waits for a unit's sums each time.
func (p *Pairs) Graphs() ([]*Graph, error) {
	n := &net{end: p.End}
	if err := p.edges(n); err != nil {
		return nil, err
	}
	out := make([]*Graph, len(p.totals))
	for j := range out {
		weight, err := p.column(n, j)
		if err != nil {
			return nil, err
		}
		out[j] = &Graph{net: n, weight: weight, total: p.totals[j]}
	}
	for _, c := range p.chunks {
		p.Memory.Give(int64(8 * cap(c.left)))
	}
	*p = Pairs{}
	return out, nil
}

// edges makes the net of the pairs' units, without weights.
func (p *Pairs) edges(n *net) error {
	units := [2]int{int(p.lefts), int(p.rights)}
	width := 1
	for _, w := range p.widths {
		width = max(width, w)
	}
	if err := p.Memory.Take(int64(p.pairs*(12+width) + (units[0]+units[1])*32 + 8)); err != nil {
		return err
	}
	n.starts, n.backStart = make([]int32, units[0]+1), make([]int32, units[1]+1)
	n.to, n.from, n.back = make([]int32, p.pairs), make([]int32, p.pairs), make([]int32, p.pairs)
	n.flows = newColumn(p.pairs, width)
	for kind, u := range units {
		n.have[kind], n.caps[kind] = make([]int64, u), make([]int64, u)
		n.depth[kind], n.next[kind], n.queue[kind] = make([]int32, u), make([]int32, u), make([]int32, 0, u)
	}
	for _, c := range p.chunks {
		if err := p.ended(); err != nil {
			return err
		}
		for i, l := range c.left {
			n.starts[l+1]++
			n.backStart[c.right[i]+1]++
		}
	}
	for u := range p.lefts {
		n.starts[u+1] += n.starts[u]
	}
	for u := range p.rights {
		n.backStart[u+1] += n.backStart[u]
	}
	at := n.next[0]
	copy(at, n.starts)
	for _, c := range p.chunks {
		if err := p.ended(); err != nil {
			return err
		}
		for i, l := range c.left {
			n.to[at[l]], n.from[at[l]] = c.right[i], l
			at[l]++
		}
	}
	at = n.next[1]
	copy(at, n.backStart)
	for e, r := range n.to {
		if e%mostChunk == 0 {
			if err := p.ended(); err != nil {
				return err
			}
		}
		n.back[at[r]] = int32(e)
		at[r]++
	}
	return nil
}

// column brings a measure's weights from the chunks, where nothing is left of them, into the order of the edges.
func (p *Pairs) column(n *net, j int) (column, error) {
	if err := p.Memory.Take(int64(p.pairs * p.widths[j])); err != nil {
		return column{}, err
	}
	out := newColumn(p.pairs, p.widths[j])
	at := n.next[0]
	copy(at, n.starts)
	for _, c := range p.chunks {
		if err := p.ended(); err != nil {
			return column{}, err
		}
		for i, l := range c.left {
			out.set(at[l], c.weights[j].at(int32(i)))
			at[l]++
		}
		p.Memory.Give(int64(c.weights[j].width * cap(c.left)))
		c.weights[j] = column{}
	}
	return out, nil
}
