package release

import (
	"context"
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/quantile"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Kept is what the print of measure i's leaves keeps of each unit, once bounds are chosen.
func (m *Releaser) Kept(i int) sqlgen.Kept {
	k := sqlgen.Kept{Rows: m.a.Measures[i].PerGroup, Groups: m.a.Limit.PerUnit}
	if n := m.a.Measures[i].Values; n > 0 {
		k.Rows = n
	}
	if c := m.a.Measures[i].Bound; c != nil {
		_, k.Rows = m.r.Plan.Edge(c, m.r.Chosen)
	}
	if c := m.a.Limit.Cap; c != nil {
		_, k.Groups = m.r.Plan.Edge(c, m.r.Chosen)
	}
	return k
}

// ReadTree reads the leaves of measure i, for the groups that Read released, and releases the nodes that its quantiles lead to; once a measure.
//
// Proof: claim: what is released is a function of the outcome of the measure's event, which is noise on every node of every group's tree. (1) The event's sensitivity is that of all
// levels' counts (claims.Measurer.orderStatistic, at the bounds that Kept gives, which are released). (2) A node's noise is drawn when it is first looked at, and kept: as independent of everything as if all had been
// drawn before. Which node is looked at next follows from released nodes, the plan and bounds that were released (quantile.Reader, mostCut), so the blocks that are released are the whole vector's, with the rest left out by a rule that reads
// no more than they tell. (3) Every group that Read released has a tree, whether or not a row came for it: its counts are 0 then; rows of other groups are dropped, and groups were chosen before by their units. (4) A row
// that does not fit, or a second one for a leaf or a group, is a failure that tells nothing. (5) Memory: the counts of one group's leaves, whose number is public, and the release.
// (6) Time: ctx ends it, like the backend's part, between two nodes; nothing was released then.
func (m *Releaser) ReadTree(ctx context.Context, i int, cols []sqlgen.Column, rows secret.Rows) error {
	if !m.read || i >= len(m.apart) || m.apart[i] == nil && m.picks[i] == nil || m.old != nil {
		return errShape
	}
	at := make(map[string]int, len(m.r.Groups))
	for g := range m.r.Groups {
		at[keyText(m.r.Groups[g].Keys)] = g
	}
	read := m.leavesOf(i)
	leaves := make([]int64, read.count)
	var now *string
	finish := func() error { // the group whose leaves were read
		if now == nil {
			return nil
		}
		if g, ok := at[*now]; ok {
			if m.r.Groups[g].taken(i) { // (4) a second row of a group
				return errShape
			}
			if err := m.open(ctx, i, &m.r.Groups[g], leaves); err != nil {
				return err
			}
		}
		clear(leaves)
		return nil
	}
	for g := range m.r.Groups {
		if m.r.Groups[g].Trees == nil {
			m.r.Groups[g].Trees, m.r.Groups[g].Picks = make([][]Block, len(m.a.Measures)), make([][]int, len(m.a.Measures))
		}
	}
	for rows.Next() {
		row, err := m.leaf(cols, rows.Row(), read)
		if err != nil {
			return err
		}
		if now == nil || *now != row.group {
			if err := finish(); err != nil {
				return err
			}
			now = &row.group
		}
		if row.at < 0 {
			continue
		}
		if leaves[row.at] != 0 {
			return errShape
		}
		leaves[row.at] = row.rows
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := finish(); err != nil {
		return err
	}
	clear(leaves)
	for g := range m.r.Groups { // (3) every released group has a tree
		if !m.r.Groups[g].taken(i) {
			if err := m.open(ctx, i, &m.r.Groups[g], leaves); err != nil {
				return err
			}
		}
	}
	m.apart[i], m.picks[i] = nil, nil
	return nil
}

func (g *Group) taken(i int) bool { return g.Trees[i] != nil || g.Picks[i] != nil }

// open releases what measure i has of one group: the nodes of a tree, or picks, whose proof is noise.PermuteAndFlip's: what a unit changes in the numbers of rows is as claims.Measurer.mostFrequent says.
func (m *Releaser) open(ctx context.Context, i int, g *Group, leaves []int64) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p := m.picks[i]; p != nil {
		g.Picks[i], err = p.Most(leaves, int(m.a.Measures[i].Pick.Most)) //nolint:gosec // at most mostTop
		return err
	}
	return m.descend(ctx, i, g, leaves)
}

// leavesOf says how measure i's leaves are told apart: by number, or where at is not nil by candidate.
func (m *Releaser) leavesOf(i int) leavesRead {
	if t := m.a.Measures[i].Tree; t != nil {
		return leavesRead{count: t.Count}
	}
	values := m.a.Measures[i].Pick.Values
	out := leavesRead{count: int64(len(values)), at: map[string]int64{}}
	for k, v := range values {
		out.at[keyText([]sqltype.Value{v})] = int64(k)
	}
	return out
}

type leavesRead struct {
	count int64
	at    map[string]int64
}

// leafRow is one leaf of a group.
type leafRow struct {
	group string
	at    int64
	rows  int64
}

// leaf reads one row. A value that is no candidate, which the print leaves out, is in no leaf.
func (m *Releaser) leaf(cols []sqlgen.Column, row []secret.Value, read leavesRead) (leafRow, error) {
	var out leafRow
	if len(row) != len(cols) {
		return out, errShape
	}
	keys := make([]sqltype.Value, len(m.a.Keys))
	for i, c := range cols {
		v := secret.Open(row[i])
		if c.Role == sqlgen.RoleKey {
			keys[c.Index] = v
			continue
		}
		if c.Role == sqlgen.RoleValue && read.at != nil {
			at, ok := read.at[keyText([]sqltype.Value{v})]
			if out.at = at; !ok {
				out.at = -1
			}
			continue
		}
		n, err := integer(v)
		if err != nil || !n.IsInt64() {
			return out, errShape
		}
		switch c.Role {
		case sqlgen.RoleBucket:
			if out.at = n.Int64(); out.at < 0 || read.at != nil {
				return out, errShape
			}
		case sqlgen.RoleCount:
			out.rows = n.Int64()
		default:
			return out, errShape
		}
	}
	if out.at >= read.count || out.rows < 0 {
		return out, errShape
	}
	out.group = keyText(keys)
	return out, nil
}

// descend releases the nodes of one group's tree that its quantiles lead to.
func (m *Releaser) descend(ctx context.Context, i int, g *Group, leaves []int64) error {
	t := m.a.Measures[i].Tree
	upTo := make([]*big.Int, 1, len(leaves)+1)
	upTo[0] = new(big.Int)
	for _, n := range leaves {
		upTo = append(upTo, new(big.Int).Add(upTo[len(upTo)-1], big.NewInt(n)))
	}
	blocks := []Block{}
	known := func(level int, node int64) []float64 { return counts(blocks, level, node) }
	r, err := quantile.NewReader(t, m.apart[i].StdDev(), func(level int, node int64) ([]float64, error) {
		if c := known(level, node); c != nil {
			return c, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := Block{Level: level, Node: node}
		each := int64(1) // leaves of a child
		for _, k := range t.Fans[level+1:] {
			each *= k
		}
		for k := range t.Fans[level] {
			first := (node*t.Fans[level] + k) * each
			n := new(big.Int).Sub(upTo[min(first+each, t.Count)], upTo[min(first, t.Count)])
			noisy, err := m.apart[i].Add(n)
			if err != nil {
				return nil, err
			}
			b.Counts = append(b.Counts, noisy)
		}
		blocks = append(blocks, b)
		return known(level, node), nil
	})
	if err != nil {
		return err
	}
	law, err := m.r.law(i)
	if err != nil {
		return err
	}
	r.Laplace = !law.Noise.HasL2Scale()
	cut := m.r.mostCut(m.a, i, law)
	for _, q := range t.Quantiles {
		for _, part := range cutParts { // what is cut from this group is known once all groups are released
			r.Cut = part * cut
			if _, err := r.Find(q); err != nil {
				return err
			}
			if cut == 0 {
				break
			}
		}
	}
	g.Trees[i] = blocks
	return nil
}

func counts(blocks []Block, level int, node int64) []float64 {
	for _, b := range blocks {
		if b.Level == level && b.Node == node {
			out := make([]float64, len(b.Counts))
			for i, n := range b.Counts {
				out[i], _ = new(big.Float).SetInt(n).Float64()
			}
			return out
		}
	}
	return nil
}

// Reader reads a group's tree of measure i, whose noise has a standard deviation. A node that was not released is not known.
func (g *Group) Reader(a *sensitivity.Analysis, i int, deviation float64) (*quantile.Reader, error) {
	if i >= len(g.Trees) {
		return nil, errShape
	}
	return quantile.NewReader(a.Measures[i].Tree, deviation, func(level int, node int64) ([]float64, error) {
		c := counts(g.Trees[i], level, node)
		if c == nil && level == 0 {
			return nil, errShape
		}
		return c, nil
	})
}

// cutParts are the parts of Cut.most that a group may have, so that the nodes that its interval needs are released.
var cutParts = [...]float64{1, 1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32, 1. / 64, 1. / 128, 1. / 256}

// cutSpread is by how much a group's part of what is cut may be larger than its part of the rows.
const cutSpread = 1.8

// Cut is about how many rows of each group bounds may have cut from a measure's trees.
type Cut struct {
	measure          int
	most             float64 // of one group
	least, all, each float64 // what noise may hide of a group's rows; the rows of all groups; how many groups a unit may be in
}

// CutOf tells what bounds may have cut from measure i's trees, by the groups' released numbers of rows.
func (r *Release) CutOf(a *sensitivity.Analysis, i int) (Cut, error) {
	c := Cut{measure: i}
	law, err := r.law(i)
	if err != nil {
		return c, err
	}
	if c.most = r.mostCut(a, i, law); c.most == 0 {
		return c, nil
	}
	variance, err := r.Run.Variance(i)
	if err != nil {
		return c, err
	}
	c.least = math.Sqrt(variance) / 2
	c.each = float64(law.Sensitivity.Groups) / float64(a.Measures[i].Vectors())
	for k := range r.Groups {
		c.all += c.rows(&r.Groups[k])
	}
	return c, nil
}

// mostCut is about how many rows bounds may have cut from one group at most: as many people as a choice may have left beyond its bound lost as many rows as they keep, in each of their groups. It is an assumption, as with all lost mass. What declared bounds cut is not known, and it is 0.
func (r *Release) mostCut(a *sensitivity.Analysis, i int, law dp.Law) float64 {
	if r.Plan == nil || len(r.Chosen) == 0 || a.Measures[i].IsOwnExtreme() {
		return 0
	}
	return r.Plan.Beyond(a, i, r.Chosen) * float64(law.Sensitivity.PerGroup)
}

// TreeRows is a group's noisy number of rows in measure i's tree.
func (g *Group) TreeRows(i int) (n float64) {
	if i < len(g.Trees) {
		for _, x := range counts(g.Trees[i], 0, 0) {
			n += x
		}
	}
	return n
}

// rows are a group's, and what noise may hide.
func (c Cut) rows(g *Group) float64 { return math.Max(0, g.TreeRows(c.measure)) + c.least }

// In is a group's part, by the groups' released numbers of rows, rounded up to one of cutParts.
func (c Cut) In(g *Group) float64 {
	rows := c.rows(g)
	share, part := cutSpread*c.each*rows/math.Max(c.all, rows), cutParts[0]
	for _, p := range cutParts[1:] {
		if p >= share {
			part = p
		}
	}
	return part * c.most
}

func (r *Release) law(i int) (dp.Law, error) {
	ev, err := r.Run.Event(i)
	if err != nil {
		return dp.Law{}, err
	}
	return dp.LawOf(ev)
}

// shaped: a group's stored trees and picks have the analysis' shape.
func shaped(a *sensitivity.Analysis, trees [][]Block, picks [][]int) bool {
	if !a.HasTrees() {
		return len(trees) == 0 && len(picks) == 0
	}
	if len(trees) != len(a.Measures) || len(picks) != len(a.Measures) {
		return false
	}
	for i, m := range a.Measures {
		if m.Tree == nil && len(trees[i]) > 0 || m.Pick == nil && len(picks[i]) > 0 || m.Pick != nil && uint64(len(picks[i])) != m.Pick.Most {
			return false
		}
		for _, b := range trees[i] {
			if b.Level < 0 || b.Level >= len(m.Tree.Fans) || int64(len(b.Counts)) != m.Tree.Fans[b.Level] {
				return false
			}
		}
		for _, k := range picks[i] {
			if k < 0 || k >= len(m.Pick.Values) {
				return false
			}
		}
	}
	return true
}
