package policy

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// What becomes of rows that lead to no person.
const (
	withoutOwn  = "own"  // each is a unit of its own, with the rows of other tables that lead to it
	withoutDrop = "drop" // they are in no answer
)

func (f *file) withoutUnit(t *tableDecl, n ast.Node, what string) {
	w, ok := f.text(n, what)
	if ok && w.text != withoutOwn && w.text != withoutDrop {
		f.add(w.position, "%s must be %s or %s, not %q", what, withoutOwn, withoutDrop, clip(w.text)).
			hint("%s: such a row is a unit of its own, with the rows of other tables that lead to it; %s: it is in no answer", withoutOwn, withoutDrop)
		return
	}
	t.withoutUnit = w
}

// IsUnitText reports that equal values of a type have one text and different ones different texts, in every table (funcs.PersonUnit).
func IsUnitText(t sqltype.Type) bool {
	switch t.OID {
	case sqltype.OIDText, sqltype.OIDVarchar, sqltype.OIDBPChar, sqltype.OIDNumeric, sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDTimestamptz, sqltype.OIDUUID:
		return true
	}
	return t.IsInteger() || t.IsEnum()
}

// ownKey is the key by which a table's rows without a person are told apart: the first, of columns that are never NULL and have such texts.
func ownKey(bt *boundTable) []string {
	if bt.decl.withoutUnit.text != withoutOwn || !CanOwnRows(bt.rel) {
		return nil
	}
	return bt.rel.Keys[slices.IndexFunc(bt.rel.Keys, func(k []string) bool { return tellsApart(bt.rel, k) })]
}

// CanOwnRows reports that a relation's rows without a person can be units of their own: a plain table (a) with a key that tells them apart (b).
func CanOwnRows(r *sqltype.Relation) bool {
	return r.Kind == sqltype.KindTable && len(r.PartOf) == 0 && slices.ContainsFunc(r.Keys, func(k []string) bool { return tellsApart(r, k) })
}

func tellsApart(r *sqltype.Relation, key []string) bool {
	return len(key) > 0 && !slices.ContainsFunc(key, func(name string) bool {
		c, ok := r.Column(name)
		return !ok || !c.NotNull || !IsUnitText(c.Type)
	})
}

// isOther reports that a column of the type can name a unit beside persons'.
func isOther(t sqltype.Type) bool { return IsUnitText(t) && CanBeUnit(t) }

// ownRows settles rows_without_unit: own, and unit: coalesce(column, ...).
//
// Proof: claim: what sensitivity's rows without a person (U1) to (U3) rest on. (a) The table is a plain one, listed once: of a view or a partition one stored row would be two units. (b) A key of the database, never NULL,
// tells its rows apart. (c) Values of persons, of coalesce's columns and of keys have texts as IsUnitText says. (d) A child's row without a person has its parent's unit: a child that carries the unit's column itself, where that
// may be NULL, would not lead on to the parent: own and coalesce are refused of it and of the tables above.
func (b *binding) ownRows() {
	for _, d := range b.p.tables {
		bt := b.bound[d]
		if bt == nil || d.public || bt.as == nil {
			continue
		}
		if d.withoutUnit.text == withoutOwn {
			b.ownRowsOf(bt)
		}
		if d.fallbackColumns != nil {
			b.bindFallback(bt)
		}
		b.carriesOn(bt)
	}
}

func (b *binding) ownRowsOf(bt *boundTable) {
	d := bt.decl
	if says, cure := b.cannotOwn(bt); says != "" {
		b.add(d.withoutUnit.position, "table %s: rows_without_unit: own: %s", d, says).hint("%s", cure)
		return
	}
	for _, name := range ownKey(bt) {
		if i := bt.columnIndex(name); i >= 0 {
			bt.table.OwnKey = append(bt.table.OwnKey, i)
		}
	}
}

// cannotOwn says why a table's rows without a person cannot be units of their own, and the cure; "" if they can.
func (b *binding) cannotOwn(bt *boundTable) (says, cure string) {
	const drop = "rows_without_unit: drop"
	switch {
	case len(bt.ways()) > 1:
		return "its rows belong to units of several kinds", drop
	case bt.rel.Kind != sqltype.KindTable || len(bt.rel.PartOf) > 0: // (a)
		return "one stored row could be two units", "list the table that its rows are stored in, or say " + drop
	case !CanOwnRows(bt.rel): // (b)
		return "no key of the database tells its rows apart", "give it a primary key of whole numbers, texts, dates or uuids, or say " + drop
	}
	if t := b.personsType(bt.decl); t != nil && !IsUnitText(*t) { // (c)
		return fmt.Sprintf("values of %s are not told apart by their texts", typeText(*t)), drop
	}
	return "", ""
}

// mayOwn reports that rows_without_unit: own would be taken of a table: of itself and of those whose rows have the units of its rows.
func (b *binding) mayOwn(bt *boundTable) bool {
	if says, _ := b.cannotOwn(bt); says != "" {
		return false
	}
	for _, t := range b.p.tables {
		o := b.bound[t]
		if o == nil || t.public {
			continue
		}
		for kind, as := range o.as {
			if o.losesParent(as, o.path[kind]) && (o == bt || b.isBelow(o, bt, kind)) {
				return false
			}
		}
	}
	return true
}

// isBelow reports that a table's way to the units of a kind leads through another table.
func (b *binding) isBelow(bt, other *boundTable, kind int) bool {
	for path := bt.path[kind]; path != nil; {
		parent := b.bound[path.parent]
		if parent == nil || parent == other {
			return parent == other
		}
		path = parent.path[kind]
	}
	return false
}

// losesParent: a row whose unit's column is NULL does not lead on to its parent, whose unit it should have (d).
func (t *boundTable) losesParent(as *plan.Table, path *pathDecl) bool {
	return as != nil && path != nil && as.UnitCol >= 0 && !as.Columns[as.UnitCol].NotNull && len(path.columns) >= 2
}

// personsType is the type of the unit that a table's rows lead to; nil where it is not known.
func (b *binding) personsType(d *tableDecl) *sqltype.Type {
	if len(b.p.kinds) == 0 {
		return nil
	}
	k := b.p.kinds[b.mainKind(d)]
	if root := b.bound[k.table]; root != nil {
		if c, ok := root.rel.Column(k.column.text); ok {
			return &c.Type
		}
	}
	return nil
}

// bindFallback settles the columns of coalesce after the first.
func (b *binding) bindFallback(bt *boundTable) {
	d := bt.decl
	root := b.p.rootOf(d)
	if d.path == nil && root == nil {
		return // reported
	}
	var first []string
	var way, alone string
	if d.path != nil {
		first, way = d.path.columns, arrow(d.path.columns, d.path.parent, d.path.parentColumns)
		alone = "unit: " + way
	} else {
		first, way, alone = []string{root.column.text}, quoteName(root.column.text), "leave unit out of the table"
	}
	refuse := func(hint, format string, args ...any) {
		b.add(d.fallbackAt, "table %s: unit: coalesce: "+format, append([]any{d}, args...)...).hint("%s", hint)
	}
	for _, name := range append(slices.Clone(first), d.fallbackColumns[:len(d.fallbackColumns)-1]...) {
		c, ok := bt.rel.Column(name)
		if ok && c.NotNull && (len(first) == 1 || slices.Contains(d.fallbackColumns, name)) {
			cure := alone
			if at := slices.Index(d.fallbackColumns, name); at >= 0 {
				cure = "unit: " + coalesced(way, d.fallbackColumns[:at+1])
			}
			refuse(cure, "%s is never NULL, so what follows it is never read", quoteName(name))
			return
		}
	}
	switch {
	case len(bt.ways()) > 1:
		refuse(alone, "its rows belong to units of several kinds")
		return
	case bt.rel.Kind != sqltype.KindTable || len(bt.rel.PartOf) > 0: // (a)
		refuse("list the table that its rows are stored in, or "+alone, "one stored row could be two units")
		return
	}
	if t := b.personsType(d); t != nil && !IsUnitText(*t) { // (c)
		refuse(alone, "values of %s are not told apart by their texts", typeText(*t))
		return
	}
	for _, name := range d.fallbackColumns {
		if i := bt.columnIndex(name); i >= 0 {
			bt.table.UnitElse = append(bt.table.UnitElse, i)
		}
	}
}

// fallbackUnit: rows of the table that lead to no person may be units all the same, and the words of the policy that say so.
func (t *tableDecl) fallbackUnit() (words string, ok bool) {
	switch {
	case t.fallbackColumns != nil:
		return "unit is coalesce", true
	case t.withoutUnit.text == withoutOwn:
		return "rows_without_unit is own", true
	}
	return "", false
}

// carriesOn refuses what (d) says.
func (b *binding) carriesOn(bt *boundTable) {
	for kind, as := range bt.as {
		path := bt.path[kind]
		if !bt.losesParent(as, path) {
			continue
		}
		unit := quoteName(as.Columns[as.UnitCol].Name)
		cure := fmt.Sprintf("make %s NOT NULL", unit)
		if way := pathWithout(path, as.Columns[as.UnitCol].Name); len(bt.mayLack(&plan.Table{UnitCol: -1}, way)) == 0 { // else rows that have the person alone would be lost to that person
			cure += fmt.Sprintf(", or lead to %s without it: unit: %s", path.parent, coalesced(arrow(way.columns, way.parent, way.parentColumns), bt.decl.fallbackColumns))
		}
		if bt.decl.withoutUnit.text == withoutOwn {
			b.add(bt.decl.withoutUnit.position, "table %s: rows_without_unit: own: a row whose %s is NULL would not have the unit of its row of %s", bt.decl, unit, path.parent).hint("%s", cure)
			continue
		}
		if bt.decl.fallbackColumns != nil {
			b.add(bt.decl.fallbackAt, "table %s: unit: coalesce: a row whose %s is NULL would not have the unit of its row of %s", bt.decl, unit, path.parent).hint("%s", cure)
			continue
		}
		for up := path; up != nil; {
			parent := b.bound[up.parent]
			if parent == nil {
				break
			}
			if words, ok := up.parent.fallbackUnit(); ok {
				b.add(path.at, "table %s: %s can be NULL, so rows of it do not follow those of %s, whose %s", bt.decl, unit, up.parent, words).hint("%s", cure)
				break
			}
			up = parent.path[kind]
		}
	}
}

// pathWithout is a way without one of its columns.
func pathWithout(path *pathDecl, name string) *pathDecl {
	out := &pathDecl{parent: path.parent}
	for i, c := range path.columns {
		if c != name {
			out.columns, out.parentColumns = append(out.columns, c), append(out.parentColumns, path.parentColumns[i])
		}
	}
	return out
}

// lostWithout are those of mayLack by which a row may be of no unit, and with what else NULL.
func (t *boundTable) lostWithout(names []string) []string {
	with := ""
	for _, o := range t.decl.fallbackColumns {
		if c, ok := t.rel.Column(o); !ok || c.NotNull {
			return nil
		}
		with += " and " + quoteName(o)
	}
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quoteName(n) + with
	}
	return out
}

// mayLack are a table's columns by which its rows may lead to no person, as the schema has them.
func (t *boundTable) mayLack(as *plan.Table, path *pathDecl) (names []string) {
	if as.UnitCol >= 0 { // the row says itself whose it is
		names = []string{as.Columns[as.UnitCol].Name}
	} else if path != nil {
		names = path.columns
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		c, ok := t.rel.Column(name)
		return !ok || c.NotNull
	})
}
