package release

import (
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// choose reads the parts of a statement with automatic bounds, chooses the bounds and releases the groups at them.
//
// Proof: claim: the result is the outcome of the plan's events in their order. (1) Each choice takes, once, the exact numbers of units
// beyond each of its edges, of the cap what price.Quote.Visible makes of them, which one unit raises by at most 1 (sqlgen.histogram (4), claims.Measurer.choose); nothing but the edge that
// its mechanism gives is used of it. (2) The bounds are now released, so the scales that follow from them are public: the plan's events at
// those bounds are what the accountant priced for all of them (dp.Clipped, dp.OneOf). (3) A group's totals at the bounds are exact (sqlgen.histogram (3)), made of
// partials within the chosen cap alone, so one unit changes as many groups as the event says, each by no more. Then Read's proof holds. (4) A row that does
// not fit, or a second one for the same part, rank and bucket of a group, is a failure that tells nothing; a group or bucket without rows counts as 0.
func (m *Releaser) choose(cols []sqlgen.Column, rows secret.Rows) (*Release, error) {
	h, err := m.bounds(cols, rows)
	if err != nil {
		return nil, err
	}
	return m.r, m.release(h.each(m.r)) // (3) totals within the chosen cap
}

// Bounds reads the first scan of a statement whose vectors are scaled, and chooses the norms: the edges, one a choice, at which the second scan
// is printed. Then Read takes that one. See choose's proof, (1) and (2).
func (m *Releaser) Bounds(cols []sqlgen.Column, rows secret.Rows) ([]uint64, error) {
	if m.a.Limit.Norm == 0 || m.old != nil || m.r.Chosen != nil {
		return nil, errShape
	}
	if _, err := m.bounds(cols, rows); err != nil {
		return nil, err
	}
	return m.r.Edges(m.a), nil
}

// Edges are the edges that were chosen, one a choice.
func (r *Release) Edges(a *sensitivity.Analysis) []uint64 {
	out := make([]uint64, len(a.Choices))
	for i, c := range a.Choices {
		_, out[i] = r.Plan.Edge(c, r.Chosen)
	}
	return out
}

// bounds runs the choices and makes the mechanisms that they leave.
func (m *Releaser) bounds(cols []sqlgen.Column, rows secret.Rows) (*histogram, error) {
	h, err := readHistogram(m.a, cols, rows)
	if err != nil {
		return nil, err
	}
	chosen := make(price.Chosen, len(m.thresholds))
	for i, c := range m.thresholds { // (1) each choice takes its exact numbers once
		units, err := h.unitsBeyond(i, int(c.Event().Edges))
		if err != nil {
			return nil, err
		}
		if m.a.Choices[i].IsCap() {
			units = m.r.Plan.Visible(c.Event(), units)
		}
		if chosen[i], err = c.Choose(units); err != nil {
			return nil, err
		}
	}
	chosen = m.r.Plan.Settled(m.a, chosen)
	if m.r.Run, err = m.r.Plan.Resolve(m.a, chosen); err != nil { // (2) scales follow from released bounds
		return nil, err
	}
	m.r.Chosen = chosen
	return h, m.mechanisms()
}

// each gives the groups' totals at a release's bounds, once.
func (h *histogram) each(r *Release) func(func(opened) error) error {
	return func(use func(opened) error) error {
		if !h.a.Groups.Public {
			return h.stream(r, use)
		}
		for _, g := range h.groups {
			if err := use(h.totals(g, r)); err != nil {
				return err
			}
		}
		return nil
	}
}

// histogram is what came back, out of its cover: of public groups all of it, else the choices' parts, while the groups' rows are still to be read.
type histogram struct {
	a      *sensitivity.Analysis
	cols   []sqlgen.Column
	rows   secret.Rows
	next   *partRow // the first row of a group that was not taken; nil: there is none
	groups []*groupParts
	at     map[string]*groupParts
	beyond [][]int64 // a choice: units by bucket
	seen   map[slot]bool
}

// partRow is one row; of a choice's own part it has no group.
type partRow struct {
	part   int
	keys   []sqltype.Value
	group  string // the keys' text
	bucket bucket
	values []*big.Int
}

// own: of a choice's own part.
func (r *partRow) own() bool {
	_, own := sqlgen.ChoiceOf(r.part)
	return own
}

// slot is what the print gives at most one row for; a choice's own parts have no group.
type slot struct {
	group          *groupParts
	part, rank, at int
}

// groupParts are one group's rows.
type groupParts struct {
	keys    []sqltype.Value
	totals  []rankTotals
	buckets [][]bucket // a measure
}

type rankTotals struct {
	rank   int
	units  int64
	values []*big.Int
}

type bucket struct {
	rank, at      int
	count, signed int64
	sum           *big.Int
}

func readHistogram(a *sensitivity.Analysis, cols []sqlgen.Column, rows secret.Rows) (*histogram, error) {
	h := &histogram{a: a, cols: cols, rows: rows, at: map[string]*groupParts{}, beyond: make([][]int64, len(a.Choices)), seen: map[slot]bool{}}
	for rows.Next() {
		r, err := h.read(rows.Row())
		if err != nil {
			return nil, err
		}
		var g *groupParts
		if !r.own() {
			if !a.Groups.Public { // sqlgen.histogram, (6)
				h.next = r
				return h, nil
			}
			if g = h.at[r.group]; g == nil {
				g = h.group(r)
				h.at[r.group] = g
				h.groups = append(h.groups, g)
			}
		}
		if err := h.take(g, r); err != nil {
			return nil, err
		}
	}
	return h, rows.Err()
}

// stream reads groups that are not public one after the other.
func (h *histogram) stream(r *Release, use func(opened) error) error {
	for h.next != nil {
		first := h.next
		g := h.group(first)
		clear(h.seen)
		for h.next != nil && !h.next.own() && h.next.group == first.group {
			if err := h.take(g, h.next); err != nil {
				return err
			}
			h.next = nil
			if !h.rows.Next() {
				break
			}
			row, err := h.read(h.rows.Row())
			if err != nil {
				return err
			}
			h.next = row
		}
		if len(g.totals) == 0 || h.next != nil && h.next.own() { // (4): each group has them
			return errShape
		}
		if err := use(h.totals(g, r)); err != nil {
			return err
		}
	}
	return h.rows.Err()
}

func (h *histogram) group(r *partRow) *groupParts {
	return &groupParts{keys: r.keys, buckets: make([][]bucket, len(h.a.Measures))}
}

func (h *histogram) read(row []secret.Value) (*partRow, error) {
	a := h.a
	if len(row) != len(h.cols) {
		return nil, errShape
	}
	r := &partRow{keys: make([]sqltype.Value, len(a.Keys)), values: make([]*big.Int, len(a.Measures))}
	b := &r.bucket
	for i, c := range h.cols {
		v := secret.Open(row[i])
		if c.Role == sqlgen.RoleKey {
			r.keys[c.Index] = v
			continue
		}
		n, err := integer(v)
		if err != nil {
			return nil, err
		}
		small := func() int64 {
			if !n.IsInt64() {
				err = errShape
			}
			return n.Int64()
		}
		switch c.Role {
		case sqlgen.RolePart:
			r.part = int(small())
		case sqlgen.RoleRank:
			b.rank = int(small())
		case sqlgen.RoleBucket:
			b.at = int(small())
		case sqlgen.RoleCount:
			b.count = small()
		case sqlgen.RoleSigned:
			b.signed = small()
		case sqlgen.RoleSum:
			b.sum = n
		case sqlgen.RoleMeasure:
			r.values[c.Index] = n
		default:
			err = errShape
		}
		if err != nil {
			return nil, err
		}
	}
	if b.count < 0 || b.at < 0 || b.rank < 0 {
		return nil, errShape
	}
	if !r.own() {
		r.group = keyText(r.keys)
	}
	return r, nil
}

// take puts a row where it belongs; g is nil for a choice's own part.
func (h *histogram) take(g *groupParts, r *partRow) error {
	b := r.bucket
	s := slot{g, r.part, b.rank, b.at}
	if h.seen[s] { // (4) a second row for the same part, rank and bucket
		return errShape
	}
	h.seen[s] = true
	if choice, own := sqlgen.ChoiceOf(r.part); own {
		return h.unitRow(choice, b)
	}
	i, bounded := sqlgen.MeasureOf(r.part)
	if !bounded {
		g.totals = append(g.totals, rankTotals{b.rank, b.count, r.values})
		return nil
	}
	if i >= len(h.a.Measures) || h.a.Measures[i].Bound == nil {
		return errShape
	}
	g.buckets[i] = append(g.buckets[i], b)
	return nil
}

// unitRow takes a row of a choice's own part.
func (h *histogram) unitRow(choice int, b bucket) error {
	if choice >= len(h.beyond) {
		return errShape
	}
	c := h.a.Choices[choice]
	edges := len(c.Edges)
	if b.at > edges || sqlgen.UnitsPart(h.a, c) != sqlgen.PartOfChoice(choice) {
		return errShape
	}
	if h.beyond[choice] == nil {
		h.beyond[choice] = make([]int64, edges+1)
	}
	h.beyond[choice][b.at] += b.count
	return nil
}

// unitsBeyond is how many units have more than 0, and more than each of a choice's first edges but the last: units in higher buckets.
func (h *histogram) unitsBeyond(choice, edges int) ([]int64, error) {
	c := h.a.Choices[choice]
	in := h.beyond[choice]
	if in == nil {
		in = make([]int64, len(c.Edges)+1)
	}
	if i, ok := sqlgen.MeasureOf(sqlgen.UnitsPart(h.a, c)); ok {
		for _, g := range h.groups {
			for _, b := range g.buckets[i] {
				if b.at > len(c.Edges) {
					return nil, errShape
				}
				in[b.at] += b.count
			}
		}
	}
	out := make([]int64, edges)
	sum := int64(0)
	for at := len(c.Edges); at >= 0; at-- {
		if in[at] > math.MaxInt64-sum {
			return nil, errShape
		}
		if sum += in[at]; at < edges {
			out[at] = sum
		}
	}
	return out, nil
}

// totals are a group's at the chosen bounds.
func (h *histogram) totals(g *groupParts, r *Release) opened {
	out := opened{keys: g.keys, values: make([]*big.Int, len(h.a.Measures))}
	most := math.MaxInt
	if c := h.a.Limit.Cap; c != nil {
		most, _ = r.Plan.Edge(c, r.Chosen)
	}
	for i := range out.values {
		out.values[i] = new(big.Int)
	}
	for _, t := range g.totals {
		if t.rank > most {
			continue
		}
		out.units += t.units
		for i, m := range h.a.Measures {
			switch {
			case m.Kind == sensitivity.Units:
				out.values[i].Add(out.values[i], big.NewInt(t.units))
			case m.Bound == nil:
				out.values[i].Add(out.values[i], t.values[i])
			}
		}
	}
	for i, m := range h.a.Measures {
		if m.Bound == nil {
			continue
		}
		at, edge := r.Plan.Edge(m.Bound, r.Chosen)
		clip := new(big.Int).SetUint64(m.Clip(edge))
		for _, b := range g.buckets[i] {
			switch {
			case b.rank > most:
			case b.at <= at:
				out.values[i].Add(out.values[i], b.sum)
			default:
				out.values[i].Add(out.values[i], new(big.Int).Mul(clip, big.NewInt(b.signed)))
			}
		}
	}
	return out
}
