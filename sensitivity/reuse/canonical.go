package reuse

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/groups"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// Canonical is a stable text of all that determines what is measured: body, unit, keys with the values of public groups, limit,
// measures and bounds. Names, aliases, the order of conjuncts and joins, derived tables and the finishing part are not in it: statements of the same text
// can be answered from one release, keys and measures by index. Parameters stand in it as $n.
func Canonical(a *sensitivity.Analysis) string { return canonicalOf(a, nil) }

// CanonicalOf is Canonical of a statement that is asked with these parameters; whole: their values are in it as constants would be, and nothing that is measured depends on them otherwise.
//
// Proof: of whole, for rows of several units. What is measured is counts and sums over one relation (Joined, Pairs): of the relation, keys, values and filters each parameter is written by its value (plan.Normal), with the type that a constant there has; groups are public, and a key's values are written out. What finishes them is no part of any release.
func CanonicalOf(a *sensitivity.Analysis, args []sqltype.Value) (text string, whole bool) {
	if a.Joined == nil && a.Pairs == nil {
		return Canonical(a), false
	}
	return canonicalOf(a, args), true
}

func canonicalOf(a *sensitivity.Analysis, args []sqltype.Value) string {
	n := normalOf(a, args)
	lines := []string{"body " + n.rows.Tables}
	for _, c := range n.rows.Conds {
		lines = append(lines, "where "+c.Text)
	}
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if a.Joined == nil {
		say("unit %s", n.unit())
	} else {
		say("units %s", n.unit())
	}
	for _, k := range a.Keys {
		say("key %s", n.key(k))
	}
	say("groups public %t", a.Groups.Public)
	for _, s := range a.Groups.Sources {
		say("source %v fixed %t counts %t joined %t %s", s.Keys, s.Fixed, s.Counts, s.Joined, digest(s.Tuples))
	}
	say("%s", limitText(a))
	for _, m := range a.Measures {
		text := n.measure(&m)
		if c := m.Bound; c != nil {
			text += fmt.Sprintf(" automatic %d of measure %d", c.Index, c.Measure)
		}
		say("measure %s", text)
	}
	for i, text := range n.Long() {
		say("long %d %s", i, text)
	}
	return strings.Join(lines, "\n")
}

// normal is an analysis with its columns numbered.
type normal struct {
	*plan.Normal
	a    *sensitivity.Analysis
	rows plan.Rows
}

func normalOf(a *sensitivity.Analysis, args []sqltype.Value) *normal {
	n := &normal{Normal: plan.NewNormal(args), a: a}
	n.rows = n.Rows(a.Body.Rel)
	return n
}

// unit names the unit's column: of those that conditions make equal to it, and that have it in one form, the one of the first text.
func (n *normal) unit() string {
	if n.a.Joined != nil {
		return fmt.Sprintf("%s joined", n.a.Unit)
	}
	if p := n.a.Pairs; p != nil {
		return fmt.Sprintf("flow between %s and %s", n.unitOf(p.Units[0], p.Cols[0]), n.unitOf(p.Units[1], p.Cols[1]))
	}
	return n.unitOf(n.a.Unit, n.a.Body.UnitCol)
}

func (n *normal) unitOf(u dp.Unit, col plan.ColID) string {
	same := []plan.Scalar{n.column(col)}
	for i := 0; i < len(same); i++ {
		for _, c := range n.rows.Conds {
			x, ok := c.X.(*plan.Call)
			if !ok || x.Fn.Name != "=" || len(x.Args) != 2 {
				continue
			}
			for k := range 2 {
				from, to := n.Defined(x.Args[k]), n.Defined(x.Args[1-k])
				at, isCol := from.(*plan.Col)
				next, _ := to.(*plan.Col)
				if isCol && next != nil && at.T.OID == next.T.OID && relation.HasOneSpelling(at.T) && isColumn(same[i], at) &&
					!slices.ContainsFunc(same, func(y plan.Scalar) bool { return isColumn(y, next) }) {
					same = append(same, next)
				}
			}
		}
	}
	texts := make([]string, len(same))
	for i, x := range same {
		texts[i] = n.Scalar(x)
	}
	return fmt.Sprintf("%s %s", u, slices.Min(texts))
}

func (n *normal) column(id plan.ColID) plan.Scalar {
	return n.Defined(&plan.Col{ID: id, T: n.a.Query.Columns[id].Type})
}

func isColumn(x plan.Scalar, c *plan.Col) bool {
	y, ok := x.(*plan.Col)
	return ok && y.ID == c.ID
}

func (n *normal) key(k sensitivity.Key) string {
	return fmt.Sprintf("%s %d.%d of unit %t", n.Col(k.Col), k.Type.OID, k.Type.Typmod, k.OfUnit)
}

func limitText(a *sensitivity.Analysis) string {
	norm := map[sensitivity.Norm]string{sensitivity.NoNorm: "false", sensitivity.L1: "l1", sensitivity.L2: "true"}[a.Limit.Norm] // the words that stored releases have
	text := fmt.Sprintf("limit %d capped %t chosen %t norm %s rows %d", a.Limit.PerUnit, a.Limit.Capped, a.Limit.Cap != nil, norm, a.MaxRows)
	if a.Clipped {
		text += " clipped"
	}
	return text
}

// measure is a measure with all that bounds it, but for where an automatic bound is chosen.
func (n *normal) measure(m *sensitivity.Measure) string {
	text := string(m.Kind) + " " + n.values(m)
	text += fmt.Sprintf(" grid %s rounded %t row [%d, %d] partial [%d, %d] single %t fine %d", m.Grid, m.Rounded, m.RowLo, m.RowHi, m.Lo, m.Hi, m.Single, m.Subdivision)
	if m.HasOwnChoice {
		text += fmt.Sprintf(" about %d", m.DoubledCentre())
	}
	if m.Tree != nil {
		text += " " + treeText(m.Tree)
	}
	if m.Pick != nil {
		text += " " + pickText(m.Pick)
	}
	if c := m.Bound; c != nil {
		text += fmt.Sprintf(" times %d, %d edges from %d to %d, follows %t", m.Factor, len(c.Edges), c.Edges[0], c.Edges[len(c.Edges)-1], m.Follows)
	}
	return text
}

// values are what a measure is of: the values of which rows, and the ranges that they are read through.
func (n *normal) values(m *sensitivity.Measure) string {
	text := ""
	var read []plan.ColID
	if m.Arg != nil {
		text, read = n.Scalar(m.Arg), n.Columns(m.Arg)
	}
	if m.Distinct {
		text = fmt.Sprintf("distinct in range %s, %d", text, m.Values)
	}
	if m.InRange {
		text = "in range " + text
	}
	if m.Product != nil {
		text += m.Product.Canonical(n.Scalar)
		read = append(read, n.Columns(m.Product.Y.Arg)...)
	}
	if m.Filter != nil {
		text += " filter " + n.Condition(m.Filter)
	}
	var clamps []string
	for _, id := range read {
		if cl, ok := n.a.Body.Clamped[id]; ok {
			clamps = append(clamps, fmt.Sprintf("%s in [%s, %s]", n.Col(id), cl.Lo, cl.Hi))
		}
	}
	if sort.Strings(clamps); len(clamps) > 0 {
		text += " through " + strings.Join(slices.Compact(clamps), "; ")
	}
	return text
}

func digest(tuples [][]sqltype.Value) string {
	h := sha256.New()
	for _, t := range tuples {
		fmt.Fprintf(h, "(%s)", groups.TupleText(t))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// treeText is a tree's shape, for the canonical text.
func treeText(t *sensitivity.Tree) string {
	text := fmt.Sprintf("tree grid %s rounded %t from %d to %d by %d fans %v asked %v", t.Grid, t.Rounded, t.Lo, t.Hi, t.Width, t.Fans, t.Quantiles)
	if t.Own != sensitivity.OwnAll {
		text += " own " + string(t.Own)
	}
	if t.Open {
		text += fmt.Sprintf(" open digits %d", t.Digits)
	}
	return text
}

// pickText is what is picked, for the canonical text.
func pickText(p *sensitivity.Pick) string {
	tuples := make([][]sqltype.Value, len(p.Values))
	for i, v := range p.Values {
		tuples[i] = []sqltype.Value{v}
	}
	return fmt.Sprintf("pick %d of %s", p.Most, digest(tuples))
}
