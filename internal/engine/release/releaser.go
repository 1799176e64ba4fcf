package release

import (
	"context"
	"math/big"
	"slices"
	"sort"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Releaser is a release before the data was asked: mechanisms with their noise drawn, as far as it is known how much it takes.
type Releaser struct {
	a     *sensitivity.Analysis
	r     *Release
	mechs []*noise.Mechanism
	apart []*noise.Mechanism      // of measures that are read apart
	picks []*noise.PermuteAndFlip // of measures that are picks
	sel   *noise.Selector         // nil where groups are public
	most  int
	read  bool

	src        *noise.Source          // where bounds are chosen, mechanisms are made afterwards
	thresholds []*noise.Threshold     // one a choice
	selectors  []*noise.BoundSelector // the same of flows
	smoother   *noise.Smoother        // of the scale of joined rows; nil: there is none, or it is known
	old        *Release               // what is topped up; nil: nothing is
	spool      *spool.Limits
	end        func() error // whether the statement's time has ended, and how
	memory     *flow.Share  // of rows of two units
}

// maxAhead limits the numbers that one measure draws ahead.
const maxAhead = 1 << 17

// New makes the mechanisms and draws their noise: for public groups all of it, up to maxAhead numbers a measure; where groups are
// selected, whose number is not known, a first batch. Where bounds are chosen only the choices' noise can be drawn before the data is asked;
// the scales of the others are not known yet. The release will have most groups at most.
func New(a *sensitivity.Analysis, p *price.Quote, src *noise.Source, most int) (*Releaser, error) {
	m := &Releaser{a: a, r: &Release{Plan: p}, most: most, src: src, end: context.Background().Err}
	if a.Groups.Public && a.Groups.Count > uint64(most) {
		return nil, ErrLarge
	}
	if !p.Fits(a) || slices.ContainsFunc(a.Choices, func(c *sensitivity.Choice) bool { return (c.By == sensitivity.ByFlow) != (a.Pairs != nil) }) {
		return nil, errShape
	}
	if p.Scale != nil {
		return m, m.smooth()
	}
	for i, ev := range p.Choices {
		switch ev := ev.(type) {
		case dp.AboveThreshold:
			c, err := src.Threshold(ev)
			if err != nil {
				return nil, err
			}
			m.thresholds = append(m.thresholds, c)
		case dp.Choice:
			c, err := src.BoundSelector(ev, a.Choices[i].Edges[:ev.Edges])
			if err != nil {
				return nil, err
			}
			m.selectors = append(m.selectors, c)
		default:
			return nil, errShape
		}
	}
	if len(p.Choices) > 0 {
		return m, nil
	}
	var err error
	if m.r.Run, err = p.Resolve(a, nil); err != nil {
		return nil, err
	}
	return m, m.mechanisms()
}

// mechanisms makes those of the plan that is run.
func (m *Releaser) mechanisms() error {
	m.mechs = make([]*noise.Mechanism, len(m.r.Run.Measures))
	m.apart = make([]*noise.Mechanism, len(m.r.Run.Measures))
	m.picks = make([]*noise.PermuteAndFlip, len(m.r.Run.Measures))
	for i, ev := range m.r.Run.Measures {
		if ev == nil {
			continue
		}
		var err error
		if p := m.a.Measures[i].Pick; p != nil {
			picks, ok := ev.(dp.Picks)
			if !ok {
				return errShape
			}
			if m.picks[i], err = m.src.PermuteAndFlip(picks, len(p.Values)); err != nil {
				return err
			}
			continue
		}
		if m.mechs[i], err = m.src.Mechanism(ev); err != nil {
			return err
		}
		if m.a.Groups.Public {
			if err := m.mechs[i].Ahead(int(min(m.a.Groups.Count, maxAhead))); err != nil {
				return err
			}
		}
		if m.a.Measures[i].NeedsOwnScan() {
			m.apart[i], m.mechs[i] = m.mechs[i], nil
		}
	}
	if m.a.Groups.Public {
		return nil
	}
	var err error
	m.sel, err = m.src.Selector(*m.r.Run.Selection)
	return err
}

// Read reads the rows of the printed statement and releases them; once.
//
// Proof: claim: the result is the outcome of exactly the plan's events on totals whose sensitivity is the analysis' claim.
// (0) The print gives at most one row for each tuple of keys: it groups by canonical keys (sqlgen.Private, (4)), and keyText and
// lessKeys tell apart what those do. A second row would let the last one win, or release one group twice: a failure.
// (1) Public groups: every tuple of the domain gets fresh noise on every measure, whether or not a row came for it (its total
// is 0 then); rows of other tuples are dropped. So the set of groups is public. (2) Unknown groups: each row's number of units
// goes through the selector once; only kept groups exist afterwards, with the selector's own noisy number as the Units measure,
// and get fresh noise on the others. (3) Noise is drawn anew for every entry; nothing of the row but totals and keys of kept
// groups leaves this function; groups are ordered by their keys. (4) A row that does not fit the plan's types is a failure
// that tells nothing. Source: design sections 4 and 5; package noise for (2)'s selection.
func (m *Releaser) Read(cols []sqlgen.Column, rows secret.Rows) (*Release, error) {
	if m.read || m.old == nil && (m.a.Limit.Norm > 0 || m.smoother != nil) && m.r.Chosen == nil { // Bounds or Scale comes first
		return nil, errShape
	}
	m.read = true
	switch {
	case m.old != nil:
		return m.topUp(cols, rows)
	case m.a.Pairs != nil:
		return m.flows(cols, rows)
	case len(m.thresholds) > 0 && m.a.Limit.Norm == 0:
		return m.choose(cols, rows)
	case m.smoother != nil && m.isAtLastEdge():
		return m.r, m.release(func(func(opened) error) error { return nil })
	}
	return m.r, m.release(m.plain(cols, rows))
}

// plain reads rows of totals.
func (m *Releaser) plain(cols []sqlgen.Column, rows secret.Rows) func(func(opened) error) error {
	return func(use func(opened) error) error {
		for rows.Next() {
			row, err := open(m.a, cols, rows.Row())
			if err != nil {
				return err
			}
			if err := use(row); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

// release reads groups' totals one by one and releases them.
func (m *Releaser) release(each func(func(opened) error) error) error {
	switch {
	case m.sel == nil && m.spool != nil && m.a.Groups.Count > uint64(m.spool.Items):
		return m.r.publicMany(m.a, each, m.mechs, *m.spool)
	case m.sel == nil:
		return m.r.public(m.a, each, m.mechs)
	case m.spool != nil:
		return m.r.unknownMany(m.a, each, m.mechs, m.sel, m.most, *m.spool)
	}
	return m.r.unknown(each, m.mechs, m.sel, m.most)
}

func (r *Release) public(a *sensitivity.Analysis, each func(func(opened) error) error, mechs []*noise.Mechanism) error {
	tuples := domain(a)
	totals, err := totalsOf(tuples, len(mechs), each)
	if err != nil {
		return err
	}
	for i, t := range tuples {
		noisy, err := addNoise(mechs, totals[i])
		if err != nil {
			return err
		}
		r.Groups = append(r.Groups, Group{Keys: t, Values: inSteps(a, noisy)})
	}
	return nil
}

// totalsOf gathers the totals of groups that are known: 0 where no row came, nothing of other groups' rows.
func totalsOf(groups [][]sqltype.Value, measures int, each func(func(opened) error) error) ([][]*big.Int, error) {
	at := make(map[string]int, len(groups))
	totals := make([][]*big.Int, len(groups))
	for i, keys := range groups {
		at[keyText(keys)] = i
	}
	err := each(func(row opened) error {
		if i, ok := at[keyText(row.keys)]; ok {
			if totals[i] != nil { // Read, (0)
				return errShape
			}
			totals[i] = row.values
		}
		return nil
	})
	zero := make([]*big.Int, measures)
	for i := range zero {
		zero[i] = new(big.Int)
	}
	for i := range totals {
		if totals[i] == nil {
			totals[i] = zero
		}
	}
	return totals, err
}

func (r *Release) unknown(each func(func(opened) error) error, mechs []*noise.Mechanism, sel *noise.Selector, most int) error {
	err := each(func(row opened) error {
		g, kept, err := r.keep(row, mechs, sel)
		if err != nil || !kept {
			return err
		}
		if len(r.Groups) == most {
			return ErrLarge
		}
		r.Groups = append(r.Groups, g)
		return nil
	})
	if err != nil {
		return err
	}
	sort.Slice(r.Groups, func(i, j int) bool { return lessKeys(r.Groups[i].Keys, r.Groups[j].Keys) })
	for i := 1; i < len(r.Groups); i++ {
		if !lessKeys(r.Groups[i-1].Keys, r.Groups[i].Keys) { // (0) two groups of the same keys
			return errShape
		}
	}
	return nil
}

// keep releases a row's group if the selector keeps it.
func (r *Release) keep(row opened, mechs []*noise.Mechanism, sel *noise.Selector) (g Group, kept bool, err error) {
	n, kept, err := sel.Keep(row.units)
	if err != nil || !kept {
		return g, false, err
	}
	noisy, err := addNoise(mechs, row.values)
	if err != nil {
		return g, false, err
	}
	if i := r.Plan.UnitsFromSelection; i >= 0 {
		noisy[i] = big.NewInt(n)
	}
	return Group{Keys: row.keys, Values: noisy}, true, nil
}

// inSteps brings values in parts of steps to steps, rounded as nearest does: post-processing.
func inSteps(a *sensitivity.Analysis, values []*big.Int) []*big.Int {
	for i, m := range a.Measures {
		if m.Subdivision > 1 {
			values[i] = nearest(values[i], new(big.Int).SetUint64(m.Subdivision))
		}
	}
	return values
}

// nearest is sum/n, n positive, rounded to the nearest integer, half to even: equal weights, and an even number of parts, tie often, and must not all tie away from zero.
func nearest(sum, n *big.Int) *big.Int {
	q, rest := new(big.Int).DivMod(sum, n, new(big.Int)) // floors
	if c := rest.Lsh(rest, 1).Cmp(n); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func addNoise(mechs []*noise.Mechanism, totals []*big.Int) ([]*big.Int, error) {
	out := make([]*big.Int, len(mechs))
	for i, m := range mechs {
		if m == nil {
			continue
		}
		v, err := m.Add(totals[i])
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}
