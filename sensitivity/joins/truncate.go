package joins

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/elastic"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// keyCap is a cap on a leaf's rows with one value of a key, which the policy declares of one of its tables.
type keyCap struct {
	plan.MaxFrequency
	table *plan.Table
	by    []plan.ColID
	bag   bool // nothing else is read of the leaf
	read  bool // the most of a public table, which was read; false: the policy declares it
}

// String tells of it in EXPLAIN.
func (c *keyCap) String() string {
	names := make([]string, len(c.Columns))
	for i, at := range c.Columns {
		names[i] = c.table.Columns[at].Name
	}
	where := "max_frequency of " + c.table.Name
	if c.read {
		where = "as " + c.table.Name + " has, which is public"
	}
	line := fmt.Sprintf("at most %d with one value of %s are kept (%s)", c.Most, strings.Join(names, " and "), where)
	if !c.bag && !c.table.Public {
		line += ", where one that comes may push another out"
	}
	return line
}

// cut caps the leaves whose frequencies the formula asks for by keys of which the policy declares them (max_frequency), so that it has numbers in their place.
//
// Proof: of (J2) for such a leaf. The caps stand above the one by the unit, which a unit changes by its own rows alone, at most m. plan.Capped by keys keeps no more than its Most rows with one value of each, in every database: what elastic.Cap says. In an order of the rows' own columns it changes by the unit's rows and by as many of
// others for each key; where there is one, and nothing above reads other columns than the key's (above; the print has no others then, plan.Capped.Cols), rows are told apart by these alone, and no more than the unit's are seen to come or go: elastic.Cap, Bag. What is unique stays so in some of the rows. Rows with NULL in a key are dropped, and join nothing:
// the keys' columns equal those of other leaves. Of a public table's rows no unit changes any, and what was read of it (mostOften) is a cap like a declared one: where it has more rows by now, no more are kept.
func (j *joining) cut(above, read map[plan.ColID]bool) error {
	f, err := j.formula()
	if err != nil {
		return err
	}
	for _, p := range j.list {
		keySets := p.frequencyColumns(f)
		if len(keySets) == 0 {
			continue
		}
		caps, missing, err := p.keyCaps(j, keySets)
		if err != nil {
			return err
		}
		if missing != nil {
			return j.undeclared(p, f)
		}
		p.cutBy(j, caps, above, read)
	}
	return nil
}

// frequencyColumns are the columns of each of the leaf's frequencies that the formula asks for, those of few columns first: what does for them does for more.
func (p *joinSide) frequencyColumns(f *elastic.Formula) (keySets [][]plan.ColID) {
	for _, q := range f.Frequencies {
		if q.Side != p.side {
			continue
		}
		var ids []plan.ColID
		for _, name := range q.Columns {
			ids = append(ids, p.column(name))
		}
		keySets = append(keySets, ids)
	}
	slices.SortStableFunc(keySets, func(a, b []plan.ColID) int { return cmp.Compare(len(a), len(b)) })
	return keySets
}

// keyCaps are caps of which each of the leaf's frequencies that are asked for has all columns of one: one cap, the least, where one does for all; else as few as can be found in passing, for each lets another row in. missing is a frequency that none is for. Of a public table what is not declared is read.
func (p *joinSide) keyCaps(j *joining, keySets [][]plan.ColID) (out []*keyCap, missing []plan.ColID, err error) {
	if c := p.keyCap(keySets); c != nil {
		return []*keyCap{c}, nil, nil
	}
	for _, ids := range keySets {
		if slices.ContainsFunc(out, func(c *keyCap) bool { return c.isBoundFor(ids) }) {
			continue
		}
		c := p.keyCap([][]plan.ColID{ids})
		if c == nil {
			c, err = p.mostOften(j, ids)
		}
		if c == nil || err != nil {
			return nil, ids, err
		}
		out = append(out, c)
	}
	return out, nil, nil
}

// readable is who reads how often values of the leaf occur, a public table; nil: it is none, or nobody does.
func (p *joinSide) readable(j *joining) plan.FrequencyReader {
	reader, ok := j.Opts.Public.(plan.FrequencyReader)
	if s := p.scans[0].Scan; !ok || p.unit != 0 || s.Rows != nil || !s.Table.Public {
		return nil
	}
	return reader
}

// mostOften is a cap at what a public table itself has, as it is read; nil: nobody reads it. It reads nothing private: a public table's rows are the same whoever is in the data.
func (p *joinSide) mostOften(j *joining, ids []plan.ColID) (*keyCap, error) {
	reader := p.readable(j)
	if reader == nil {
		return nil, nil
	}
	s := p.scans[0].Scan
	c := &keyCap{table: s.Table, by: ids, read: true}
	var conds []plan.Scalar
	for _, id := range ids {
		c.Columns = append(c.Columns, slices.Index(s.Columns, id))
		conds = append(conds, relation.IsNotNull(id, j.TypeOf(id)))
	}
	n, err := reader.MostOften(j.Ctx, relation.Filter(s, conds), ids)
	c.Most = max(1, n)
	return c, err
}

// isBoundFor: a frequency of these columns is no larger than the cap.
func (c *keyCap) isBoundFor(ids []plan.ColID) bool {
	return !slices.ContainsFunc(c.by, func(id plan.ColID) bool { return !slices.Contains(ids, id) })
}

// keyCap is the least cap that does for each of these frequencies; nil: there is none.
func (p *joinSide) keyCap(keySets [][]plan.ColID) (least *keyCap) {
	for _, s := range p.scans {
		for _, m := range s.Scan.Table.MaxFrequency {
			c := &keyCap{MaxFrequency: m, table: s.Scan.Table}
			for _, i := range m.Columns {
				c.by = append(c.by, s.Scan.Columns[i])
			}
			all := !slices.ContainsFunc(keySets, func(ids []plan.ColID) bool { return !c.isBoundFor(ids) })
			if all && (least == nil || c.Most < least.Most) {
				least = c
			}
		}
	}
	return least
}

// cutBy puts the caps above the leaf.
func (p *joinSide) cutBy(j *joining, caps []*keyCap, above, read map[plan.ColID]bool) {
	n := &plan.Capped{Input: p.rel, By: caps[0].by, Most: caps[0].Most, Pos: p.scans[0].Scan.Pos}
	for _, c := range caps[1:] {
		n.Also = append(n.Also, plan.CapKey{By: c.by, Most: c.Most})
	}
	keys := n.Cols()
	var order []plan.ColID
	if p.unit != 0 {
		order = append(order, p.unit)
	}
	bag := len(caps) == 1
	for _, s := range p.scans {
		for _, id := range s.Scan.Columns {
			if read[id] && !slices.Contains(keys, id) {
				order = append(order, id)
				bag = bag && !above[id]
			}
		}
	}
	if !bag {
		n.Order = order
	}
	for _, c := range caps {
		c.bag = bag
		enforced := &elastic.Cap{Most: c.Most, Bag: bag}
		for _, id := range c.by {
			enforced.Columns = append(enforced.Columns, j.columnName(p, id))
		}
		p.side.Caps = append(p.side.Caps, enforced)
	}
	p.rel, p.cuts = n, caps
}

// declarable is what of max_frequency would cap a frequency of these columns: of a table, those that are its own; "": nothing would.
func (p *joinSide) declarable(ids []plan.ColID) (table string, own []plan.ColID, key string) {
	var best []string
	for _, s := range p.scans {
		var names []string
		var here []plan.ColID
		for i, id := range s.Scan.Columns {
			if c := s.Scan.Table.Columns[i]; s.Scan.Rows == nil && c.Visible && slices.Contains(ids, id) {
				names, here = append(names, plan.QuoteIdent(c.Name)), append(here, id)
			}
		}
		if len(names) > len(best) {
			table, own, best = s.Scan.Table.Name, here, names
		}
	}
	if key = strings.Join(best, ", "); len(best) > 1 {
		key = fmt.Sprintf("%q", "("+key+")")
	}
	return table, own, key
}

// lacks says what the owner would declare for the leaves to be capped; false: nothing would do.
func (j *joining) lacks(f *elastic.Formula) (words string, ok bool) {
	keys, tables := map[string][]string{}, []string(nil)
	for _, p := range j.list {
		if p.readable(j) != nil {
			continue
		}
		var named []*keyCap
		for _, ids := range p.frequencyColumns(f) {
			if p.keyCap([][]plan.ColID{ids}) != nil || slices.ContainsFunc(named, func(c *keyCap) bool { return c.isBoundFor(ids) }) {
				continue
			}
			table, own, key := p.declarable(ids)
			if key == "" {
				return "", false
			}
			named = append(named, &keyCap{by: own})
			if !slices.Contains(tables, table) {
				tables = append(tables, table)
			}
			if one := key + ": 100"; !slices.Contains(keys[table], one) {
				keys[table] = append(keys[table], one)
			}
		}
	}
	for i, table := range tables {
		tables[i] = fmt.Sprintf("of table %s in the policy: max_frequency: {%s}", table, strings.Join(keys[table], ", "))
	}
	return strings.Join(tables, ", and "), true
}

// undeclared refuses truncation where a frequency is not declared.
func (j *joining) undeclared(p *joinSide, f *elastic.Formula) error {
	err := sqlerr.New(sqlerr.JoinOffUnit, "how many rows of %s may have one value of what it is joined by is not declared", p.name).At(p.scans[0].Scan.Pos)
	what, ok := j.lacks(f)
	switch {
	case ok && j.Opts.DeltaZero:
		return err.WithHint("Join the tables on the privacy unit; or the owner can declare it %s.", what)
	case j.Opts.DeltaZero:
		return err.WithHint("Join the tables on the privacy unit; or the owner can give the policy a budget.delta, and then SET dpsql.bounding = elastic.")
	case ok:
		return err.WithHint("SET dpsql.bounding = elastic: it is measured then; or the owner can declare it %s.", what)
	}
	return err.WithHint("SET dpsql.bounding = elastic: it is measured then.")
}

// withoutDelta refuses what has to be measured where nothing may be too small with any probability.
func (j *joining) withoutDelta(f *elastic.Formula) error {
	err := sqlerr.New(sqlerr.JoinOffUnit, "measured frequencies need a delta: how much noise there is follows a released number, which is too small with that probability").At(j.Out.Agg.Pos)
	switch what, ok := j.lacks(f); {
	case ok && what == "":
		return err.WithHint("SET dpsql.bounding = truncate: the policy declares how often they occur.")
	case ok:
		return err.WithHint("Join the tables on the privacy unit; or the owner can give the policy a budget.delta, or declare how often values occur, %s.", what)
	}
	return err.WithHint("Join the tables on the privacy unit; or the owner can give the policy a budget.delta.")
}

// formula is the bound on joined rows that one unit changes.
func (j *joining) formula() (*elastic.Formula, error) {
	root := &elastic.Node{Side: j.list[0].side}
	for i, p := range j.list[1:] {
		n := &elastic.Node{Left: root, Right: &elastic.Node{Side: p.side}}
		for _, e := range j.equalColumns(p, j.list[:i+1]) {
			n.On = append(n.On, elastic.Pair{Left: j.columnOf(e.B), Right: j.columnOf(e.A)})
		}
		root = n
	}
	f, err := elastic.Rows(root)
	switch {
	case errors.Is(err, elastic.ErrLarge):
		return nil, manyJoined(j.Out.Agg.Pos)
	case err != nil:
		return nil, sqlerr.New(sqlerr.Internal, "a joined statement has no formula").WithCause(err)
	}
	return f, nil
}
