package sensitivity

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"

	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Canonical is a stable text of all that determines what is measured: body, unit, keys with the values of public groups, limit,
// measures and bounds. Names, aliases, the order of conjuncts and the finishing part are not in it: statements of the same text
// can be answered from one release, keys and measures by index. Parameters stand in it as $n.
func Canonical(a *Analysis) string {
	if a.Class != Private {
		return string(a.Class)
	}
	c := plan.NewCanonical()
	lines := []string{"body " + c.Rel(a.Body.Rel)}
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("unit %s %s", a.Unit, c.Col(a.Body.UnitCol))
	var clamps []string
	for id, cl := range a.Body.Clamped {
		clamps = append(clamps, fmt.Sprintf("%s in [%s, %s]", c.Col(id), cl.Lo, cl.Hi))
	}
	sort.Strings(clamps)
	say("clamps %s", strings.Join(clamps, "; "))
	for _, k := range a.Keys {
		say("key %s %d.%d of unit %t", c.Col(k.Col), k.Type.OID, k.Type.Typmod, k.OfUnit)
	}
	say("groups public %t", a.Groups.Public)
	for _, s := range a.Groups.Sources {
		say("source %v fixed %t counts %t joined %t %s", s.Keys, s.Fixed, s.Counts, s.Joined, digest(s.Tuples))
	}
	say("limit %d capped %t chosen %t norm %t", a.Limit.PerUnit, a.Limit.Capped, a.Limit.Cap != nil, a.Limit.L2)
	say("rows %d", a.MaxRows)
	for _, m := range a.Measures {
		arg := ""
		if m.Arg != nil {
			arg = c.Scalar(m.Arg)
		}
		if m.Distinct {
			arg = fmt.Sprintf("distinct in range %s, %d", arg, m.Values)
		}
		if m.InRange {
			arg = "in range " + arg
		}
		if m.Product != nil {
			arg += m.Product.canonical(c)
		}
		if m.Filter != nil {
			arg += " filter " + conditionText(m.Filter, c.Scalar)
		}
		say("measure %s %s grid %s rounded %t row [%d, %d] partial [%d, %d] single %t", m.Kind, arg, m.Grid, m.Rounded, m.RowLo, m.RowHi, m.Lo, m.Hi, m.Single)
		if m.Tree != nil {
			say("%s", m.Tree.text())
		}
		if m.Pick != nil {
			say("%s", m.Pick.text())
		}
		if c := m.Bound; c != nil {
			say("automatic %d of measure %d times %d, %d edges from %d to %d", c.Index, c.Measure, m.Factor, len(c.Edges), c.Edges[0], c.Edges[len(c.Edges)-1])
		}
	}
	return strings.Join(lines, "\n")
}

func digest(tuples [][]sqltype.Value) string {
	h := sha256.New()
	for _, t := range tuples {
		fmt.Fprintf(h, "(%s)", tupleText(t))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// conditionText is a condition's text whatever the order of its conjuncts; "" for none.
func conditionText(cond plan.Scalar, text func(plan.Scalar) string) string {
	if cond == nil {
		return ""
	}
	var parts []string
	for _, c := range plan.Conjuncts(cond) {
		parts = append(parts, text(c))
	}
	sort.Strings(parts)
	return strings.Join(parts, " AND ")
}

// scalarText is equal for expressions of the statement that are equal in every row: columns that only pass another on are
// followed to it.
func (z *analyzer) scalarText(x plan.Scalar) string {
	if x == nil {
		return ""
	}
	return plan.FormatScalar(z.out.Query, plan.Substitute(x, func(c *plan.Col) plan.Scalar { return &plan.Col{ID: z.base(c.ID), T: c.T} }))
}
