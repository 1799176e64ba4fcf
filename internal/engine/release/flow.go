package release

import (
	"context"
	"errors"
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// flows reads the pairs of a statement over rows of two units, chooses a cap for each measure and releases the groups' flows at them.
//
// Proof: claim: the result is the outcome of the plan's events in their order. (1) The graphs of a group have the units of its rows as nodes and what pairs of them add up to as edges (sqlgen.pairs), so that one unit more or less, of either kind, is a node with its edges, in at most
// Limit.PerUnit groups. (2) Each choice takes the scores of its caps once, which one unit more changes by a number of an interval of Up + Down steps (flow.Scores), no more than ChoiceSteps: ChooseSteps' assumption (1). They are cut at a public number (Most). (3) The caps are now released,
// and so are the scales that follow from them. A group's flow at a cap t changes by at most t with one unit (flow.Graph.Value), in at most Limit.PerUnit groups: what the plan's event at that cap is for. Then Read's proof holds. (4) Rows of other than the public groups are dropped, and groups without rows have flow 0. A row that
// does not fit is a failure that tells nothing; what weights add up to is none (flow.Most).
// Not claimed: that the pairs' number stays hidden where they take more time or memory (flow.ErrMemory) than there is; that is a failure as of any resource, paid for and counted (docs/threat-model.md, Time).
func (m *Releaser) flows(cols []sqlgen.Column, rows secret.Rows) (*Release, error) {
	if flow.Up+flow.Down > noise.ChoiceSteps {
		return nil, errShape
	}
	f, err := m.readFlows(cols, rows) // (1) graphs of units and pairs
	if err != nil {
		return nil, err
	}
	return m.drawn(f)
}

// readFlows reads pairs; where it is not this statement's turn (flow.ErrTurn) Read may be called once more: nothing was made of the rows.
func (m *Releaser) readFlows(cols []sqlgen.Column, rows secret.Rows) (*Flows, error) {
	f, err := readFlows(m.a, m.within(), cols, rows)
	m.read = !errors.Is(err, flow.ErrTurn)
	return f, err
}

// drawn chooses the caps and releases the flows at them: (2) and (3).
func (m *Releaser) drawn(f *Flows) (_ *Release, err error) {
	chosen := make(price.Chosen, len(m.selectors))
	for i, c := range m.selectors { // (2) each choice takes its scores once
		scores, err := f.scores(m, i)
		if err != nil {
			return nil, err
		}
		if chosen[i], err = c.ChooseSteps(scores); err != nil {
			return nil, err
		}
	}
	if m.r.Run, err = m.r.Plan.Resolve(m.a, chosen); err != nil { // (3) scales follow from released caps
		return nil, err
	}
	m.r.Chosen = chosen
	if err := m.mechanisms(); err != nil {
		return nil, err
	}
	return m.r, m.release(f.each(m.r, m.end))
}

// ReadFlows reads pairs once for many releases, each of a Releaser of its own: for the accuracy bench, which draws hundreds of answers. What is computed of them is kept.
func ReadFlows(a *sensitivity.Analysis, cols []sqlgen.Column, rows secret.Rows) (*Flows, error) {
	f, err := readFlows(a, flow.Within{}, cols, rows)
	if err == nil {
		f.kept = &keptFlows{map[keptScores][]int64{}, map[keptFlow]int64{}}
	}
	return f, err
}

// Draw is Read of rows that ReadFlows has read: the same choices, flows and noise.
func (m *Releaser) Draw(f *Flows) (*Release, error) {
	if m.read || m.old != nil || m.a != f.a || f.kept == nil {
		return nil, errShape
	}
	m.read = true
	return m.drawn(f)
}

// keptFlows are what was computed of pairs that are released many times: of those that are read by ReadFlows, whose time has no end.
type keptFlows struct {
	scores map[keptScores][]int64
	values map[keptFlow]int64
}

type keptScores struct {
	choice int
	edges  uint64
	most   int64
}

type keptFlow struct {
	of    *flow.Graph
	limit int64
}

// UseContext is the statement's time: where it ends, so does what is computed of its rows.
func (m *Releaser) UseContext(ctx context.Context) { m.end = ctx.Err }

// UseMemory is the statement's share of the memory that all pairs of units take; without one there is no limit. The caller ends it.
func (m *Releaser) UseMemory(s *flow.Share) { m.memory = s }

func (m *Releaser) within() flow.Within { return flow.Within{Memory: m.memory, End: m.end} }

// groupFlows are those of one group.
type groupFlows struct {
	keys   []sqltype.Value
	units  [2]numbers
	pairs  flow.Pairs    // while they are read
	graphs []*flow.Graph // a measure
}

// Flows are those of all groups that have rows. Secret.
type Flows struct {
	a      *sensitivity.Analysis
	groups []*groupFlows
	kept   *keptFlows // nil: they are released once
}

// What a group and a unit take of memory, about, beside pairs and texts: entries of maps, of which a third may be empty.
const (
	groupBytes = 1 << 10
	unitBytes  = 40
	textBytes  = 80
)

// numbers gives units numbers from 0 on.
type numbers struct {
	ints  map[int64]int32
	texts map[string]int32
	next  int32
	bytes int64 // of memory
}

// of numbers a unit: canonical values are equal where their texts are.
func (n *numbers) of(v sqltype.Value, memory *flow.Share) (int32, error) {
	if n.ints == nil {
		n.ints, n.texts = map[int64]int32{}, map[string]int32{}
	}
	var at int32
	var known bool
	i, whole := v.(int64)
	text := ""
	if whole {
		at, known = n.ints[i]
	} else {
		text = keyText([]sqltype.Value{v})
		at, known = n.texts[text]
	}
	switch {
	case known:
		return at, nil
	case v == nil || n.next == math.MaxInt32-1:
		return 0, errShape
	}
	bytes := int64(unitBytes)
	if !whole {
		bytes = int64(textBytes + len(text))
	}
	if err := memory.Take(bytes); err != nil {
		return 0, err
	}
	n.bytes += bytes
	if at = n.next; whole {
		n.ints[i] = at
	} else {
		n.texts[text] = at
	}
	n.next++
	return at, nil
}

// looks is after how many rows it is looked whether the time has ended.
const looks = 1 << 12

// readFlows reads a row for each group and pair of units. What they take of memory is held until the statement gives it back.
func readFlows(a *sensitivity.Analysis, within flow.Within, cols []sqlgen.Column, rows secret.Rows) (*Flows, error) {
	if a.Pairs == nil || !a.Groups.Public {
		return nil, errShape
	}
	at := map[string]*groupFlows{} // nil: without rows yet
	for _, keys := range domain(a) {
		at[keyText(keys)] = nil
	}
	f := &Flows{a: a}
	keys, units, weights := make([]sqltype.Value, len(a.Keys)), [2]sqltype.Value{}, make([]int64, len(a.Measures))
	for read := 0; rows.Next(); read++ {
		if read%looks == 0 && within.End != nil {
			if err := within.End(); err != nil {
				return nil, err
			}
		}
		if err := openPair(cols, rows.Row(), keys, &units, weights); err != nil {
			return nil, err
		}
		text := keyText(keys)
		g, public := at[text]
		if !public { // (4) other than the public groups
			continue
		}
		if g == nil {
			if err := within.Memory.Take(groupBytes); err != nil {
				return nil, err
			}
			g = &groupFlows{keys: append([]sqltype.Value(nil), keys...), pairs: flow.Pairs{Within: within}}
			at[text] = g
			f.groups = append(f.groups, g)
		}
		if err := g.add(&units, weights); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, g := range f.groups {
		within.Memory.Give(g.units[0].bytes + g.units[1].bytes)
		g.units = [2]numbers{}
		var err error
		if g.graphs, err = g.pairs.Graphs(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// add takes a pair in.
func (g *groupFlows) add(units *[2]sqltype.Value, weights []int64) error {
	left, err := g.units[0].of(units[0], g.pairs.Memory)
	if err != nil {
		return err
	}
	right, err := g.units[1].of(units[1], g.pairs.Memory)
	if err != nil {
		return err
	}
	return g.pairs.Add(left, right, weights...)
}

// openPair opens one row into values that the next one takes the place of.
func openPair(cols []sqlgen.Column, row []secret.Value, keys []sqltype.Value, units *[2]sqltype.Value, weights []int64) error {
	if len(row) != len(cols) || len(cols) != len(keys)+len(units)+len(weights) {
		return errShape
	}
	for i, c := range cols {
		v := secret.Open(row[i])
		switch {
		case c.Role == sqlgen.RoleKey && c.Index < len(keys):
			keys[c.Index] = v
		case c.Role == sqlgen.RoleUnit && c.Index < len(units):
			units[c.Index] = v
		case c.Role == sqlgen.RoleMeasure && c.Index < len(weights):
			w, ok := v.(int64)
			if !ok || w < 0 {
				return errShape
			}
			weights[c.Index] = w
		default:
			return errShape
		}
	}
	return nil
}

// scores are those of a choice's caps.
func (f *Flows) scores(m *Releaser, choice int) ([]int64, error) {
	c, by := m.a.Choices[choice], m.selectors[choice]
	key := keptScores{choice, by.Event().Edges, by.Most()}
	if f.kept != nil && f.kept.scores[key] != nil {
		return f.kept.scores[key], nil
	}
	scores, err := flow.Scores(f.of(c.Measure), c.Edges[:key.edges], m.a.Limit.PerUnit, key.most)
	if err == nil {
		err = m.end()
	}
	if f.kept != nil && err == nil {
		f.kept.scores[key] = scores
	}
	return scores, err
}

// value is a graph's flow at a cap.
func (f *Flows) value(g *flow.Graph, limit int64) int64 {
	if f.kept == nil {
		return g.Value(limit)
	}
	key := keptFlow{g, limit}
	v, known := f.kept.values[key]
	if !known {
		v = g.Value(limit)
		f.kept.values[key] = v
	}
	return v
}

// of are a measure's graphs.
func (f *Flows) of(measure int) []*flow.Graph {
	out := make([]*flow.Graph, len(f.groups))
	for i, g := range f.groups {
		out[i] = g.graphs[measure]
	}
	return out
}

// each gives the groups' flows at a release's caps, once.
func (f *Flows) each(r *Release, end func() error) func(func(opened) error) error {
	return func(use func(opened) error) error {
		for _, g := range f.groups {
			out := opened{keys: g.keys, values: make([]*big.Int, len(f.a.Measures))}
			for i, m := range f.a.Measures {
				_, edge := r.Plan.Edge(m.Bound, r.Chosen)
				out.values[i] = big.NewInt(f.value(g.graphs[i], int64(m.Clip(edge)))) //nolint:gosec // a cap is at most 2^53
			}
			if err := end(); err != nil { // the flows may be less than they are
				return err
			}
			if err := use(out); err != nil {
				return err
			}
		}
		return nil
	}
}
