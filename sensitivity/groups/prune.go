package groups

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// Public conditions leave public groups out: WHERE n_name = 'FRANCE' GROUP BY n_name has one group, WHERE extract(hour FROM t) < 6 GROUP BY extract(hour FROM t) has 6.
//
// Proof: (8) holds as before. (1) A condition that counts here is true in every row of the body in which its table's row is present (scope.Block.Conds), so no row has a tuple for which it is not true, and a group that is left out is
// empty whatever the private rows are. (2) It reads keys of public sources (keyConditions), or columns of the public table row whose columns the keys are, and no parameter (IsBackendIndependent); it is computed from the policy, the statement's literals and public tables
// alone. So the groups remain a function of statement, policy and public tables. (3) Where the backend may see it otherwise (alike, an error, no evaluation here) the tuple stays. Were (3) wrong all the same, rows of a tuple
// that was left out would be dropped (release.Releaser.Read), or filtered by the print where the bound rests on it (Source.Counts), and nothing more would be released.

// WarnNoValues names what NoValues says, by the statement's literals, the policy's lists and public tables alone.
func (z *Grouper) WarnNoValues() {
	a := z.Out
	note := func(name string) {
		if name != "" && !slices.Contains(a.NoValues, name) {
			a.NoValues = append(a.NoValues, name)
		}
	}
	for _, s := range z.Scans {
		for i, c := range s.Scan.Table.Columns {
			if !c.Visible || c.Domain == nil || s.Scan.Rows != nil {
				continue
			}
			id := s.Scan.Columns[i]
			if allowed, nodes := z.Allowed(s, id); nodes > 0 && z.keepsNone(id, z.publicValues(id), allowed, nodes) {
				note(a.VisibleName(id))
			}
		}
	}
	for _, b := range z.Blocks {
		for _, x := range b.Conds {
			z.noteUnlisted(x)
		}
	}
	z.suggestValues()
	for _, s := range a.Groups.Sources {
		for _, k := range s.Keys {
			if a.Groups.Public && len(s.Tuples) == 0 {
				note(a.VisibleName(a.Keys[k].Col))
			}
		}
	}
	slices.Sort(a.NoValues)
	if a.NoValues != nil || !a.Groups.Public {
		a.NoGroups = nil
	}
}

// askedConsts are the constants of column = constant and column IN (constants).
func (z *Grouper) askedConsts(x plan.Scalar) (id plan.ColID, consts []*plan.Const) {
	var of plan.Scalar
	var list []plan.Scalar
	switch n := x.(type) {
	case *plan.Call:
		if n.Fn.Name != "=" || len(n.Args) != 2 {
			return 0, nil
		}
		if of, list = n.Args[0], n.Args[1:]; isConst(n.Args[0]) {
			of, list = n.Args[1], n.Args[:1]
		}
	case *plan.In:
		if n.Not {
			return 0, nil
		}
		of, list = n.X, n.List
	default:
		return 0, nil
	}
	c, ok := relation.Uncast(of).(*plan.Col)
	if !ok {
		return 0, nil
	}
	for _, t := range list {
		t, is := t.(*plan.Const)
		if !is { // a column or a parameter may have any value
			return 0, nil
		}
		if t.Value != nil {
			consts = append(consts, t)
		}
	}
	return z.Base(c.ID), consts
}

// mostNoted is how many of a statement's texts are noted: the others are in no message.
const mostNoted = 20

// noteUnlisted notes the texts of column = text and column IN (texts), where the column's values are not public; and the constants that are not among the public values of a grouping column.
func (z *Grouper) noteUnlisted(x plan.Scalar) {
	id, consts := z.askedConsts(x)
	s := z.Owner[id]
	if consts == nil || s == nil {
		return
	}
	listed, domain := z.listedValues[id], s.Scan.Table.Columns[slices.Index(s.Scan.Columns, id)].Domain
	if domain != nil && domain.Values != nil {
		listed = domain.Values
	}
	isKey := slices.ContainsFunc(z.Out.Keys, func(k sensitivity.Key) bool { return z.Base(k.Col) == id })
	for _, c := range consts {
		text, isText := c.Value.(string)
		switch {
		case !s.Private():
		case domain == nil && isText && len(z.Out.Unlisted) < mostNoted && !slices.Contains(z.Out.Unlisted, text):
			z.Out.Unlisted = append(z.Out.Unlisted, text)
		case domain != nil && isKey && listed != nil && len(z.Out.NoGroups) < mostNoted && isUnlisted(c.Value, listed):
			note := fmt.Sprintf("%s = '%s'", z.Out.VisibleName(id), sqltype.FormatText(c.Value, c.T))
			if !slices.Contains(z.Out.NoGroups, note) {
				z.Out.NoGroups = append(z.Out.NoGroups, note)
			}
		}
	}
}

// isUnlisted reports that a constant is none of some values: texts and whole numbers, which have one spelling.
func isUnlisted(c sqltype.Value, listed []sqltype.Value) bool {
	switch c := c.(type) {
	case string: // blanks at the end mean nothing in char(n)
		return len(listed) <= mostCompared && !slices.ContainsFunc(listed, func(v sqltype.Value) bool {
			text, ok := v.(string)
			return ok && strings.TrimRight(text, " ") == strings.TrimRight(c, " ")
		})
	case int64:
		return len(listed) <= mostCompared && !slices.Contains(listed, sqltype.Value(c))
	}
	return false
}

func isConst(x plan.Scalar) bool {
	_, ok := x.(*plan.Const)
	return ok
}

// condition is one over some columns.
type condition struct {
	cols []plan.ColID
	may  func(row []sqltype.Value) bool // false: it is not true, in the backend either
	size int
}

// implied is the part of a condition that reads these columns alone, and is true where the condition is; nil for none. (2)
func (z *Grouper) implied(x plan.Scalar, known func(plan.ColID) bool) plan.Scalar {
	ok := z.IsBackendIndependent(x, map[plan.ColID]bool{})
	z.Leaves(x, func(id plan.ColID) { ok = ok && known(id) })
	if ok {
		return x
	}
	n, is := x.(*plan.Logic)
	if !is || n.Op == plan.Not {
		return nil
	}
	var parts []plan.Scalar
	for _, y := range n.Args {
		part := z.implied(y, known)
		if part == nil && n.Op == plan.Or {
			return nil
		}
		if part != nil {
			parts = append(parts, part)
		}
	}
	if n.Op == plan.And || len(parts) == 0 {
		return plan.AllOf(parts)
	}
	return &plan.Logic{Op: plan.Or, Args: parts}
}

// onGroups are the conditions without those in ON of a public table LEFT JOIN a private one: such a join is read as an inner one, but its public rows are groups whether ON keeps them or not.
func (z *Grouper) onGroups(conds []plan.Scalar) []plan.Scalar {
	var kept []plan.Scalar
	for _, j := range z.Ownerless {
		kept = append(kept, plan.Conjuncts(j.On)...)
	}
	return slices.DeleteFunc(slices.Clone(conds), func(x plan.Scalar) bool { return slices.Contains(kept, x) })
}

// withEquals are conditions, and beside those that read private columns what they say of public ones.
//
// Proof: of prune.go, (1): where a private column equals a public one in every row, of a type in which equal values have one spelling, a condition that is true of the one is true of the other. A public table LEFT JOIN a private one has groups without such rows, so there nothing is added.
func (z *Grouper) withEquals(conds []plan.Scalar) []plan.Scalar {
	out := slices.Clone(conds)
	if len(z.Ownerless) > 0 {
		return out
	}
	eq := z.ClassesOf(z.Blocks[0])
	for _, x := range conds {
		changed := false
		y := plan.Replace(x, func(part plan.Scalar) plan.Scalar {
			c, ok := part.(*plan.Col)
			if !ok {
				return nil
			}
			id := z.Base(c.ID)
			if s := z.Owner[id]; s == nil || !s.Private() || !relation.HasOneSpelling(z.TypeOf(id)) {
				return nil
			}
			for _, s := range z.Scans {
				if s.Private() || s.Nullable() {
					continue
				}
				for _, other := range s.Scan.Columns {
					if eq.Same(other, id) && z.TypeOf(other).OID == z.TypeOf(id).OID {
						changed = true
						return &plan.Col{ID: other, T: z.TypeOf(other)}
					}
				}
			}
			return nil
		})
		if changed {
			out = append(out, y)
		}
	}
	return out
}

// conditionsOver are those that read some of these columns and no others.
func (z *Grouper) conditionsOver(list []plan.Scalar, known func(plan.ColID) bool) (out []condition) {
	for _, whole := range list {
		x := z.implied(whole, known)
		if x == nil {
			continue
		}
		var c condition
		z.Leaves(x, func(id plan.ColID) {
			if !slices.Contains(c.cols, id) {
				c.cols = append(c.cols, id)
			}
		})
		if len(c.cols) == 0 {
			continue
		}
		f, err := z.FunctionOf(x, c.cols)
		if err != nil {
			continue
		}
		types, compares := make([]sqltype.Type, len(c.cols)), isComparisonOnly(x)
		for i, id := range c.cols {
			types[i] = z.TypeOf(id)
		}
		c.size = relation.Size(x)
		c.may = func(row []sqltype.Value) bool { // (3) what a backend may see otherwise stays
			for i, t := range types {
				if t.OID == sqltype.OIDBPChar && compares { // by = and <>, blanks at the end mean nothing anywhere
					t = sqltype.Text
				}
				if !interval.IsSameOnBackends(row[i:i+1], x, t) {
					return true
				}
			}
			is, err := f(row)
			return err != nil || is == true
		}
		out = append(out, c)
	}
	return out
}

// isComparisonOnly: columns and constants are compared by = and <>, and nothing else is done with them.
func isComparisonOnly(x plan.Scalar) bool {
	switch n := x.(type) {
	case *plan.Col, *plan.Const:
		return true
	case *plan.Call:
		if n.Fn.Name != "=" && n.Fn.Name != "<>" {
			return false
		}
	case *plan.Logic, *plan.In, *plan.Is:
	default:
		return false
	}
	return !slices.ContainsFunc(plan.Children(x), func(y plan.Scalar) bool { return !isComparisonOnly(y) })
}

// keep says which tuples of some columns conditions leave; all where they would be computed too often.
func keep(list []condition, cols []plan.ColID, many int) func(tuple []sqltype.Value) bool {
	nodes := 0
	places := make([][]int, len(list))
	for i, c := range list {
		nodes += c.size
		for _, id := range c.cols {
			places[i] = append(places[i], slices.Index(cols, id))
		}
	}
	if nodes*many > interval.MostChecked {
		list = nil
	}
	return func(tuple []sqltype.Value) bool {
		for i, c := range list {
			row := make([]sqltype.Value, len(c.cols))
			for k, p := range places[i] {
				row[k] = tuple[p]
			}
			if !c.may(row) {
				return false
			}
		}
		return true
	}
}

// rowConditions are the conditions on rows of a public scan whose columns a source's keys are, the columns of the table that they read beside its own, and the names of all of them: (1) here of rows that are present, around of padded ones.
func (z *Grouper) rowConditions(s *scope.ScanInfo, src *sensitivity.Source) (here, around []condition, attrs []int, cols []plan.ColID) {
	attrs = slices.Clone(src.Columns)
	cols = z.keyBases(src)
	known := func(id plan.ColID) bool { return slices.Contains(cols, id) || slices.Contains(s.Scan.Columns, id) }
	here = z.conditionsOver(z.withEquals(z.onGroups(interval.ConditionsFrom(s.In))), known)
	if s.Nullable() {
		around = z.conditionsOver(z.onGroups(interval.ConditionsFrom(s.In.Parent)), known)
	}
	for _, c := range slices.Concat(here, around) {
		for _, id := range c.cols {
			if !slices.Contains(cols, id) {
				attrs, cols = append(attrs, slices.Index(s.Scan.Columns, id)), append(cols, id)
			}
		}
	}
	return here, around, attrs, cols
}

// mostPairs is how many tuples sources that conditions join may have together.
const mostPairs = 1 << 16

// keyConditions are the statement's conditions in which a column that is nothing else stands for each key, and those columns, by key.
//
// Proof: (1) every row of the body has them (blocks[0], onGroups). (2) A part of a condition that is a key's expression, or its column, has the key's value in every row, since both are computed of the same row and parameters. It need not be
// evaluated here. The key's form may say less than its value, as of 1.50 and 1.5: there the condition has to be about the value alone (isValueOnly).
func (z *Grouper) keyConditions() (conds []plan.Scalar, cols []plan.ColID) {
	a := z.Out
	type grouping struct { // size 0: of a column
		id   plan.ColID
		size int
		text string
		of   *plan.Call // a cast to an integer of this whole number, which stands for it too
	}
	var keys []grouping
	for _, k := range a.Keys {
		cols = append(cols, plan.ColID(len(a.Query.Columns)))
		a.Query.Columns = append(a.Query.Columns, plan.ColumnInfo{Type: k.Type})
		g := grouping{id: z.Base(k.Col)}
		if d, ok := z.Defs[g.id]; ok && d.In.Parent == nil {
			g.size, g.text = relation.Size(d.Expr), z.ScalarText(d.Expr)
			g.of = wholeField(d.Expr)
		}
		keys = append(keys, g)
	}
	keyOf := func(x plan.Scalar) int { // (2) a key's expression has the key's value in every row
		c, isCol := x.(*plan.Col)
		n := relation.Size(x)
		return slices.IndexFunc(keys, func(g grouping) bool {
			return isCol && z.Base(c.ID) == g.id || !isCol && n == g.size && z.ScalarText(x) == g.text
		})
	}
	room, whole := 0, map[plan.ColID]bool{}
	var inKeys func(x plan.Scalar) plan.Scalar
	inKeys = func(x plan.Scalar) plan.Scalar {
		return plan.Replace(x, func(y plan.Scalar) plan.Scalar {
			if i := keyOf(y); i >= 0 {
				return &plan.Col{ID: cols[i], T: a.Keys[i].Type}
			}
			if i := slices.IndexFunc(keys, func(g grouping) bool {
				return g.of != nil && relation.Size(y) == relation.Size(g.of) && z.ScalarText(y) == z.ScalarText(g.of)
			}); i >= 0 { // (2) a key's expression, and a cast of a whole number and back gives it again
				t := keys[i].of.T
				whole[cols[i]] = true
				return &plan.Call{Fn: funcs.LookupCast(a.Keys[i].Type.OID, t.OID), Args: []plan.Scalar{&plan.Col{ID: cols[i], T: a.Keys[i].Type}}, T: t, Pos: -1}
			}
			if c, ok := y.(*plan.Col); ok {
				if d, ok := z.Defs[c.ID]; ok && d.In.Parent == nil && room > 0 { // a padded one is NULL where its expression may not be
					room--
					return inKeys(d.Expr)
				}
			}
			return nil
		})
	}
	for _, x := range z.withEquals(z.onGroups(z.Blocks[0].Conds)) { // (1) true in every row of the body
		room = interval.MostDefinitions
		x = inKeys(x)
		ok := true
		z.Leaves(x, func(id plan.ColID) {
			if i := slices.Index(cols, id); i >= 0 && (whole[id] || !relation.HasOneSpelling(a.Keys[i].Type) && a.Keys[i].Type.OID != sqltype.OIDBPChar) { // conditionsOver knows char
				ok = ok && isValueOnly(x)
			}
		})
		if ok {
			conds = append(conds, x)
		}
	}
	return conds, cols
}

// wholeField is the extract or date_part of which an expression is the cast to an integer, of a field that is a whole number of any integer type wherever it is not NULL; else nil. Hours and days of an interval may be more than a smallint holds.
func wholeField(x plan.Scalar) *plan.Call {
	cast, ok := x.(*plan.Call)
	if !ok || cast.Fn.Kind != funcs.Cast || !cast.T.IsInteger() {
		return nil
	}
	of, ok := cast.Args[0].(*plan.Call)
	if !ok || of.Fn.Name != "extract" && of.Fn.Name != "date_part" || funcs.LookupCast(cast.T.OID, of.T.OID) == nil {
		return nil
	}
	c, ok := of.Args[0].(*plan.Const)
	if !ok || len(of.Args) != 2 || of.Args[1].Type().OID == sqltype.OIDInterval || !slices.Contains([]any{"month", "quarter", "day", "week", "dow", "isodow", "doy", "hour", "minute"}, any(c.Value)) {
		return nil
	}
	return of
}

// valueNames are functions and operators whose results depend on what their arguments equal, not on how these are spelled.
var valueNames = []string{"=", "<>", "<", "<=", ">", ">=", "+", "-", "*"}

// isValueOnly: an expression depends on what its columns equal, not on how many decimals they have.
func isValueOnly(x plan.Scalar) bool {
	switch n := x.(type) {
	case *plan.Call:
		if !slices.Contains(valueNames, n.Fn.Name) && (n.Fn.Kind != funcs.Cast || !n.T.IsNumber()) {
			return false
		}
	case *plan.Col, *plan.Const, *plan.Logic, *plan.In, *plan.Is, *plan.DistinctFrom:
	default:
		return false
	}
	return !slices.ContainsFunc(plan.Children(x), func(y plan.Scalar) bool { return !isValueOnly(y) })
}

// pruneSources leaves out of each source the tuples for which a condition on its keys is not true, and makes one source of those whose keys a condition compares.
func (z *Grouper) pruneSources() {
	columns := z.Out.Query.Columns
	defer func() { z.Out.Query.Columns = columns }() // those that stand for keys are of no print
	conds, own := z.keyConditions()
	colsOf := func(s sensitivity.Source) (cols []plan.ColID) {
		for _, k := range s.Keys {
			cols = append(cols, own[k])
		}
		return cols
	}
	for i := range z.Out.Groups.Sources {
		s := &z.Out.Groups.Sources[i]
		cols := colsOf(*s)
		list := z.conditionsOver(conds, func(id plan.ColID) bool { return slices.Contains(cols, id) })
		kept := keep(list, cols, len(s.Tuples))
		for _, c := range list {
			if len(c.cols) == 1 && !c.may([]sqltype.Value{nil}) {
				z.Out.Keys[s.Keys[slices.Index(cols, c.cols[0])]].NotNull = true
			}
		}
		all := s.Tuples
		if s.Tuples = slices.DeleteFunc(slices.Clone(all), func(t []sqltype.Value) bool { return !kept(t) }); len(s.Tuples) < len(all) {
			z.keepListed(z.keyBases(s), all)
		}
	}
	z.joinSources(conds, colsOf)
}

// keyBases are the columns that a source's keys are.
func (z *Grouper) keyBases(s *sensitivity.Source) (out []plan.ColID) {
	for _, k := range s.Keys {
		out = append(out, z.Base(z.Out.Keys[k].Col))
	}
	return out
}

// joinSources makes one source of those whose keys a condition compares, of the tuples that it leaves.
func (z *Grouper) joinSources(conds []plan.Scalar, colsOf func(sensitivity.Source) []plan.ColID) {
	sources, left := &z.Out.Groups.Sources, interval.MostChecked // what all conditions together may look at
	for _, x := range conds {
		for {
			a, b := -1, -1
			z.Leaves(x, func(id plan.ColID) {
				switch at := slices.IndexFunc(*sources, func(s sensitivity.Source) bool { return slices.Contains(colsOf(s), id) }); {
				case at < 0 || at == a:
				case a < 0:
					a = at
				case b < 0:
					b = at
				}
			})
			if b < 0 {
				break
			}
			if left -= relation.Size(x) * len((*sources)[a].Tuples) * len((*sources)[b].Tuples); left < 0 || !z.joinTwo(x, min(a, b), max(a, b), colsOf) {
				break
			}
		}
	}
}

// joinTwo makes one source of two, where that leaves tuples out.
func (z *Grouper) joinTwo(x plan.Scalar, a, b int, colsOf func(sensitivity.Source) []plan.ColID) bool {
	sources := &z.Out.Groups.Sources
	l, r := (*sources)[a], (*sources)[b]
	if all := relation.Mul(uint64(len(l.Tuples)), uint64(len(r.Tuples))); all > mostPairs {
		return false
	}
	cols := slices.Concat(colsOf(l), colsOf(r))
	list := z.conditionsOver([]plan.Scalar{x}, func(id plan.ColID) bool { return slices.Contains(cols, id) })
	kept := keep(list, cols, len(l.Tuples)*len(r.Tuples))
	one := sensitivity.Source{Keys: slices.Concat(l.Keys, r.Keys), Why: l.Why + " with " + r.Why, Complete: (l.Complete || l.Fixed) && (r.Complete || r.Fixed), Unlisted: l.Unlisted || r.Unlisted}
	for _, t := range l.Tuples {
		for _, u := range r.Tuples {
			if tuple := slices.Concat(t, u); kept(tuple) {
				one.Tuples = append(one.Tuples, tuple)
			}
		}
	}
	if len(one.Tuples) == len(l.Tuples)*len(r.Tuples) || len(one.Tuples) > mostDerived {
		return false
	}
	for _, s := range []sensitivity.Source{l, r} {
		if one.Table == nil {
			one.Table, one.Joined = s.Table, s.Table != nil
		}
		for i := range s.Keys {
			if s.Table == nil {
				one.Columns = append(one.Columns, -1)
			} else {
				one.Columns = append(one.Columns, s.Columns[i])
			}
		}
	}
	(*sources)[a] = one
	*sources = slices.Delete(*sources, b, b+1)
	return true
}
