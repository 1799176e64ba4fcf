package release

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// Release is what was released of one statement: per group its keys and one noisy integer a measure, unclamped. Groups are in
// the order of their domains, or sorted by key where they were selected, never in the order of a scan.
type Release struct {
	Plan   *price.Quote // as it was charged
	Chosen price.Chosen // bounds that were chosen on the data
	Run    *price.Run   // what noise the groups have
	Tops   []Top        // what was measured again later, in order
	Lost   []*Lost      // a measure: what its bounds took away; nil: nothing
	Groups []Group      // where memory holds them: Each gives them wherever they are
	Shape  *reuse.Shape // what it is of, where others may be computed from it
	Of     *Release     // that it was computed from; nil: it is of the data
	Data   string       // names the state of the data, which does not change under that name; "": it may have changed since

	many  many // nil: Groups are all
	count int  // of many
	cells int  // MostCells of the groups that it had
}

// WithoutGroups is what there is to know of a release beside its groups.
func (r *Release) WithoutGroups() *Release {
	return &Release{Plan: r.Plan, Chosen: r.Chosen, Run: r.Run, Tops: r.Tops, Lost: r.Lost, cells: r.MostCells()}
}

// Top is one measuring more, for a higher price: a group's value became the weighted mean of what it was and of the fresh one, rounded.
type Top struct {
	Plan    *price.Quote
	Weights [][2]int64 // a measure: of what it was, of the fresh one; one of them may be 0
}

// LastQuote is the plan of the last charge.
func (r *Release) LastQuote() *price.Quote {
	if n := len(r.Tops); n > 0 {
		return r.Tops[n-1].Plan
	}
	return r.Plan
}

// EarlierQuote is the plan that was charged before LastQuote, which is a top-up of that; nil: there was none.
func (r *Release) EarlierQuote() *price.Quote {
	switch n := len(r.Tops); n {
	case 0:
		return nil
	case 1:
		return r.Plan
	default:
		return r.Tops[n-2].Plan
	}
}

// Group is one released group.
type Group struct {
	Keys   []sqltype.Value
	Values []*big.Int // nil of a tree
	Trees  [][]Block  // a measure; of those that are no tree empty
	Picks  [][]int    // a measure: which of its candidates were picked, in order
	Cells  int        // of how many released groups of Release.Of the values are the sums; 0: of none, they are its own
}

// ErrLarge says that a release has more groups than one may have. How many there are was released, so this tells nothing else.
var ErrLarge = errors.New("release: too many groups")

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

// NewPlaceholder is a release of a plan without its numbers, each bound the least one: for what would be computed from it. Of groups that are chosen it has none.
func NewPlaceholder(a *sensitivity.Analysis, p *price.Quote) (*Release, error) {
	r := &Release{Plan: p, Run: p.Run()}
	if len(a.Choices) > 0 {
		r.Chosen = make(price.Chosen, len(a.Choices))
		var err error
		if r.Run, err = p.Resolve(a, r.Chosen); err != nil {
			return nil, err
		}
	}
	if !a.Groups.Public {
		return r, nil
	}
	for _, keys := range domain(a) {
		g := Group{Keys: keys}
		for range a.Measures {
			g.Values = append(g.Values, new(big.Int))
		}
		r.Groups = append(r.Groups, g)
	}
	return r, nil
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
		if !lessKeys(r.Groups[i-1].Keys, r.Groups[i].Keys) { // (0)
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

// opened is one row of totals, out of its cover.
type opened struct {
	keys   []sqltype.Value
	values []*big.Int
	units  int64
}

var errShape = errors.New("release: a row of totals does not have the plan's shape")

func open(a *sensitivity.Analysis, cols []sqlgen.Column, row []secret.Value) (opened, error) {
	out := opened{keys: make([]sqltype.Value, len(a.Keys)), values: make([]*big.Int, len(a.Measures))}
	if len(row) != len(cols) {
		return out, errShape
	}
	for i, c := range cols {
		v := secret.Open(row[i])
		switch c.Role {
		case sqlgen.RoleKey:
			out.keys[c.Index] = v
		case sqlgen.RoleUnits:
			n, err := integer(v)
			if err != nil || !n.IsInt64() {
				return out, errShape
			}
			out.units = n.Int64()
		case sqlgen.RoleMeasure:
			n, err := integer(v)
			if err != nil {
				return out, err
			}
			out.values[c.Index] = n
		default:
			return out, errShape
		}
	}
	return out, nil
}

// integer reads a total; NULL (nobody, or only NULL partials) is 0.
func integer(v sqltype.Value) (*big.Int, error) {
	switch v := v.(type) {
	case nil:
		return new(big.Int), nil
	case int64:
		return big.NewInt(v), nil
	case decimal.Decimal:
		if !v.IsInteger() {
			return nil, errShape
		}
		return v.BigInt(), nil
	}
	return nil, errShape
}

// domain lists all tuples of the public groups, in the order of the sources.
func domain(a *sensitivity.Analysis) [][]sqltype.Value {
	out := [][]sqltype.Value{make([]sqltype.Value, len(a.Keys))}
	for _, s := range a.Groups.Sources {
		next := make([][]sqltype.Value, 0, len(out)*len(s.Tuples))
		for _, o := range out {
			for _, t := range s.Tuples {
				n := append([]sqltype.Value(nil), o...)
				for i, k := range s.Keys {
					n[k] = t[i]
				}
				next = append(next, n)
			}
		}
		out = next
	}
	return out
}

// keyText is equal for equal keys: canonical values, each with its length.
func keyText(keys []sqltype.Value) string {
	var b strings.Builder
	for _, k := range keys {
		var s string
		switch k := k.(type) {
		case nil:
			b.WriteString("n;")
			continue
		case decimal.Decimal:
			s = k.String() // without trailing zeros
		case float64:
			if k == 0 {
				k = 0 // -0 is 0
			}
			s = strconv.FormatFloat(k, 'g', -1, 64)
		default:
			s = fmt.Sprint(k)
		}
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	return b.String()
}

func lessKeys(a, b []sqltype.Value) bool {
	for i := range a {
		switch {
		case a[i] == nil && b[i] == nil:
			continue
		case a[i] == nil:
			return false
		case b[i] == nil:
			return true
		}
		if c := sqltype.Compare(a[i], b[i]); c != 0 {
			return c < 0
		}
	}
	return false
}
