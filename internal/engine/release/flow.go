package release

import (
	"context"
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/secret"
	"github.com/dpsql/dpsql/internal/sqltype"
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
func (m *Maker) flows(cols []sqlgen.Column, rows secret.Rows) (*Release, error) {
	if flow.Up+flow.Down > noise.ChoiceSteps {
		return nil, errShape
	}
	f, err := readFlows(m.a, cols, rows) // (1)
	if err != nil {
		return nil, err
	}
	f.until(m.ended)
	chosen := make(measure.Chosen, len(m.choosers))
	for i, c := range m.choosers { // (2)
		choice := m.a.Choices[i]
		scores, err := flow.Scores(f.of(choice.Measure), choice.Edges[:c.Event().Edges], m.a.Limit.PerUnit, c.Most())
		if err == nil {
			err = m.end()
		}
		if err != nil {
			return nil, err
		}
		if chosen[i], err = c.ChooseSteps(scores); err != nil {
			return nil, err
		}
	}
	if m.r.Run, err = m.r.Plan.Resolve(m.a, chosen); err != nil { // (3)
		return nil, err
	}
	m.r.Chosen = chosen
	if err := m.mechanisms(); err != nil {
		return nil, err
	}
	return m.r, m.release(f.each(m.r, m.end))
}

// Until is the statement's time: where it ends, so does what is computed of its rows.
func (m *Maker) Until(ctx context.Context) { m.end = ctx.Err }

func (m *Maker) ended() bool { return m.end() != nil }

// groupFlows are those of one group.
type groupFlows struct {
	keys   []sqltype.Value
	units  [2]numbers
	pairs  []flow.Pairs  // a measure, while they are read
	graphs []*flow.Graph // a measure
}

// groupsOfFlows are all groups that have rows.
type groupsOfFlows struct {
	a      *sensitivity.Analysis
	groups []*groupFlows
}

// numbers gives units numbers from 0 on.
type numbers struct {
	ints  map[int64]int32
	texts map[string]int32
	next  int32
}

// of numbers a unit: canonical values are equal where their texts are.
func (n *numbers) of(v sqltype.Value) (int32, error) {
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
	if at = n.next; whole {
		n.ints[i] = at
	} else {
		n.texts[text] = at
	}
	n.next++
	return at, nil
}

// readFlows reads a row for each group and pair of units.
func readFlows(a *sensitivity.Analysis, cols []sqlgen.Column, rows secret.Rows) (*groupsOfFlows, error) {
	if a.Pairs == nil || !a.Groups.Public {
		return nil, errShape
	}
	at := map[string]*groupFlows{} // nil: without rows yet
	for _, keys := range domain(a) {
		at[keyText(keys)] = nil
	}
	f := &groupsOfFlows{a: a}
	keys, units, weights := make([]sqltype.Value, len(a.Keys)), [2]sqltype.Value{}, make([]int64, len(a.Measures))
	for rows.Next() {
		if err := openPair(cols, rows.Row(), keys, &units, weights); err != nil {
			return nil, err
		}
		text := keyText(keys)
		g, public := at[text]
		if !public { // (4)
			continue
		}
		if g == nil {
			g = &groupFlows{keys: append([]sqltype.Value(nil), keys...), pairs: make([]flow.Pairs, len(a.Measures))}
			at[text] = g
			f.groups = append(f.groups, g)
		}
		left, err := g.units[0].of(units[0])
		if err != nil {
			return nil, err
		}
		right, err := g.units[1].of(units[1])
		if err != nil {
			return nil, err
		}
		for i, w := range weights {
			if err := g.pairs[i].Add(left, right, w); err != nil {
				return nil, err
			}
		}
	}
	for _, g := range f.groups {
		g.units = [2]numbers{}
		for i := range g.pairs {
			g.graphs = append(g.graphs, g.pairs[i].Graph())
		}
		g.pairs = nil
	}
	return f, rows.Err()
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

// until lets the search for flows end.
func (f *groupsOfFlows) until(ended func() bool) {
	for _, g := range f.groups {
		for _, one := range g.graphs {
			one.Until(ended)
		}
	}
}

// of are a measure's graphs.
func (f *groupsOfFlows) of(measure int) []*flow.Graph {
	out := make([]*flow.Graph, len(f.groups))
	for i, g := range f.groups {
		out[i] = g.graphs[measure]
	}
	return out
}

// each gives the groups' flows at a release's caps, once.
func (f *groupsOfFlows) each(r *Release, end func() error) func(func(opened) error) error {
	return func(use func(opened) error) error {
		for _, g := range f.groups {
			out := opened{keys: g.keys, values: make([]*big.Int, len(f.a.Measures))}
			for i, m := range f.a.Measures {
				_, edge := r.Plan.Edge(m.Bound, r.Chosen)
				out.values[i] = big.NewInt(g.graphs[i].Value(int64(m.Clip(edge)))) //nolint:gosec // a cap is at most 2^53
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
