package sensitivity

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/elastic"
)

// keyCap is a cap on a leaf's rows with one value of a key, which the policy declares of one of its tables.
type keyCap struct {
	plan.MaxFrequency
	table *plan.Table
	by    []plan.ColID
	bag   bool // nothing else is read of the leaf
}

// String tells of it in EXPLAIN.
func (c *keyCap) String() string {
	names := make([]string, len(c.Columns))
	for i, at := range c.Columns {
		names[i] = c.table.Columns[at].Name
	}
	line := fmt.Sprintf("at most %d with one value of %s are kept (max_frequency of %s)", c.Most, strings.Join(names, " and "), c.table.Name)
	if !c.bag {
		line += ", where one that comes may push another out"
	}
	return line
}

// cut caps the leaves whose frequencies the formula asks for by keys of which the policy declares them (max_frequency), so that it has numbers in their place.
//
// Proof: of (J2) for such a leaf. The cap stands above the one by the unit, which a unit changes by its own rows alone, at most m. plan.Capped by the key keeps no more than Most rows with one value of it, in every database: elastic.Cap, Fixed. In an order of the rows' own columns it changes by the unit's rows and by as many of
// others; where nothing above reads other columns than the key's (above; the print has no others then, plan.Capped.Cols) rows are told apart by these alone, and no more than the unit's are seen to come or go: elastic.Cap, Bag. What is unique stays so in some of the rows. Rows with NULL in the key are dropped, and join nothing:
// the key's columns equal those of other leaves.
func (j *joining) cut(above, read map[plan.ColID]bool) error {
	f, err := j.formula()
	if err != nil {
		return err
	}
	for _, p := range j.list {
		var asked [][]plan.ColID
		for _, q := range f.Frequencies {
			if q.Table != p.table {
				continue
			}
			var ids []plan.ColID
			for _, name := range q.Columns {
				ids = append(ids, p.column(name))
			}
			asked = append(asked, ids)
		}
		if len(asked) == 0 {
			continue
		}
		c := p.keyCap(asked)
		if c == nil {
			return j.undeclared(p, asked)
		}
		p.cutBy(j, c, above, read)
	}
	return nil
}

// keyCap is the least cap of which each of the leaf's frequencies that are asked for has all columns; nil: there is none.
func (p *part) keyCap(asked [][]plan.ColID) (least *keyCap) {
	for _, s := range p.scans {
		for _, m := range s.scan.Table.MaxFrequency {
			c := &keyCap{MaxFrequency: m, table: s.scan.Table}
			for _, i := range m.Columns {
				c.by = append(c.by, s.scan.Columns[i])
			}
			all := !slices.ContainsFunc(asked, func(ids []plan.ColID) bool {
				return slices.ContainsFunc(c.by, func(id plan.ColID) bool { return !slices.Contains(ids, id) })
			})
			if all && (least == nil || c.Most < least.Most) {
				least = c
			}
		}
	}
	return least
}

// cutBy puts the cap above the leaf.
func (p *part) cutBy(j *joining, c *keyCap, above, read map[plan.ColID]bool) {
	n := &plan.Capped{Input: p.rel, By: c.by, Most: c.Most, Pos: p.scans[0].scan.Pos}
	var order []plan.ColID
	if p.unit != 0 {
		order = append(order, p.unit)
	}
	c.bag = true
	for _, s := range p.scans {
		for _, id := range s.scan.Columns {
			if own := slices.Contains(c.by, id); read[id] && !own {
				order = append(order, id)
				c.bag = c.bag && !above[id]
			}
		}
	}
	if !c.bag {
		n.Order = order
	}
	enforced := &elastic.Cap{Most: c.Most, Fixed: true, Bag: c.bag}
	for _, id := range c.by {
		enforced.Columns = append(enforced.Columns, j.columnName(p, id))
	}
	p.rel, p.table.Cap, p.cut = n, enforced, c
}

// undeclared refuses truncation where a frequency is not declared.
func (j *joining) undeclared(p *part, asked [][]plan.ColID) error {
	s := p.scans[0].scan
	var names []string
	for _, id := range asked[0] {
		o := j.owner[id]
		if s = o.scan; s.Rows == nil {
			if name := plan.QuoteIdent(s.Table.Columns[slices.Index(s.Columns, id)].Name); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	err := sqlerr.New(sqlerr.JoinOffUnit, "how many rows of %s may have one value of what it is joined by is not declared", p.name).At(s.Pos)
	if len(asked) > 1 {
		err = sqlerr.New(sqlerr.JoinOffUnit, "how many rows of %s may have one value of each key that it is joined by follows from no one declaration", p.name).At(s.Pos)
	}
	if len(asked) > 1 || len(names) == 0 {
		return err.WithHint("SET dpsql.bounding = elastic: it is measured then.")
	}
	key := names[0]
	if len(names) > 1 {
		key = fmt.Sprintf("%q", "("+strings.Join(names, ", ")+")")
	}
	return err.WithHint("SET dpsql.bounding = elastic: it is measured then; or the owner can declare it of table %s in the policy: max_frequency: {%s: 100}.", s.Table.Name, key)
}

// formula is the bound on joined rows that one unit changes.
func (j *joining) formula() (*elastic.Formula, error) {
	root := &elastic.Node{Table: j.list[0].table}
	for i, p := range j.list[1:] {
		n := &elastic.Node{Left: root, Right: &elastic.Node{Table: p.table}}
		for _, e := range j.equalColumns(p, j.list[:i+1]) {
			n.On = append(n.On, elastic.Pair{Left: j.columnOf(e.b), Right: j.columnOf(e.a)})
		}
		root = n
	}
	f, err := elastic.Rows(root)
	switch {
	case errors.Is(err, elastic.ErrLarge):
		return nil, manyJoined(j.out.Agg.Pos)
	case err != nil:
		return nil, sqlerr.New(sqlerr.Internal, "a joined statement has no formula").WithCause(err)
	}
	return f, nil
}
