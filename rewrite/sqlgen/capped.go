package sqlgen

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// capped prints the rows that a cap keeps as a subquery with their number.
//
// Proof: claim: at most Most rows of those that are alike in By come, none with NULL there, and the multiset of these, in all columns that can be read of them, is a function of the multiset of input rows that are alike with them in By. (1) What is NULL in
// one of By is dropped. (2) Rows are numbered among those that are alike: equal in PostgreSQL's comparison, which is the one of joins; where that is not the database's own, in their canonical form, in which all are equal that its "=" holds equal (JoinKey). (3) By the hash of By, Order and the seed, then by
// each of Order's and By's columns as they are spelled: a total preorder of rows by nothing but their own values. Rows that stand alike in it agree in all columns that can be read (Cols), so which of them come does not matter.
//
// It follows, for databases that differ in one unit's rows: of a cap By the unit nothing changes but that unit's own rows, of which there are at most Most. Of a cap by a key: let r be how many of one key's input rows are the unit's. In the order of the rows of
// both databases together those before the cut are the same but for the unit's own, at most r: what is kept of the smaller database and not of the larger one stood behind the cut there, as many rows as the unit has before it: at most r. So the kept rows of a key
// differ in at most r of the unit's and r of others, and their number by at most r.
//
// Of a cap with several keys the rows come that are before the cut of each (4), where each numbers all rows without NULL in any of them. So of each key no more come than its Most, and a row of others that comes from one database alone is behind the cut of some key in the other: at most r for each key, r all rows of the unit.
func (p *printer) capped(n *plan.Capped) *from {
	in := p.build(n.Input)
	keys := n.Keys()
	for _, k := range keys {
		if len(k.By) == 0 || k.Most == 0 {
			p.fail(internalError("a cap of %d rows by %d columns", k.Most, len(k.By)))
			return in
		}
	}
	s := p.subquery(in)
	f := &from{text: s.text, one: true, cols: map[plan.ColID]*column{}}
	by, same := make([][]string, len(keys)), map[plan.ColID]string{}
	var values, order []string
	var types []sqltype.Type
	for _, id := range n.Cols() {
		x, t := p.named(in, id, stored), p.typed(in, id)
		if slices.ContainsFunc(keys, func(k plan.CapKey) bool { return slices.Contains(k.By, id) }) {
			in.where = append(in.where, x+" IS NOT NULL") // (1) NULL in a cap's columns is dropped
			same[id] = p.alike(x, t)                      // (2) alike as joins compare
		}
		values, types = append(values, x), append(types, t)
		for _, k := range p.d.Spellings(x, t) {
			order = append(order, direction(k, false, false)) // (3) ordered by the rows' own values
		}
		f.cols[id] = &column{sub: s}
	}
	order = slices.Insert(order, 0, p.d.Hash(values, types, p.seed))
	names := make([]string, len(keys))
	for i, k := range keys {
		for _, id := range k.By {
			by[i] = append(by[i], same[id])
		}
		if names[i] = `"rn"`; i > 0 {
			names[i] = fmt.Sprintf(`"rn%d"`, i+1)
		}
		f.where = append(f.where, fmt.Sprintf(`%s.%s <= %d`, s.alias, names[i], k.Most)) // (4) before the cut of each key
	}
	s.more = func() (out []string) {
		for i := range keys {
			out = append(out, p.fn("row_number")+"()"+over{partition: by[i], order: order}.String()+` AS `+names[i])
		}
		return out
	}
	return f
}

// typed is a column's type, which caps and frequencies need to know.
func (p *printer) typed(f *from, id plan.ColID) sqltype.Type {
	t, ok := f.typeOf(id)
	if !ok {
		p.fail(internalError("the type of column %d is not known", id))
	}
	return t
}

// alike prints what is equal where a join's "=" holds values equal, of one type.
func (p *printer) alike(x string, t sqltype.Type) string {
	if !t.IsGroupable() {
		return p.canonicalKey(x, t) // refused
	}
	return p.or(p.d.JoinKey(x, t))
}
