package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Bind checks the policy against the live schema (what the backend says of Relations()) and builds the catalogs. The error is
// an *Error with everything that does not fit.
//
// Proof: claim: each row of a private table belongs to at most one unit of each of its kinds, and which one follows from the row and, along the
// declared path of that kind, from rows of that same unit. For each kind: induction from the unit's table, whose own column (1) is the unit. A child whose
// path pairs a column with the column by which its parent holds the unit (2) carries the unit's value itself. Any other child
// is led by columns that contain a key of the parent which the database enforces (3), compared as that key compares them (7), so at most one parent row matches
// (NULL matches none), and the child's unit is that row's. A circle of paths has no root and was refused when the file was
// read. (4) A foreign key of the database that leads a private table to a private table by another way than its path would
// make its rows depend on a second unit: refused; one on the path's own columns names no other unit, because where it disagrees with
// the unit's column, that column holds and the join along the path finds nothing. (5) So is a public table that refers to a private one. What the database does not
// declare as a foreign key is the owner's word. Where the owner has said `also_unit`, the rows carry both units: of two kinds, a way for each kind by which alone they reach it (6), statements may
// read them as rows of both; of one kind (or by several ways) no statement may. A row that leads to no person is in no answer, or a unit of its own, or of the unit that another column names (ownRows). Where `unprotected`, the second person is outside the promise.
// Design sections 1 and 2.
func (p *Policy) Bind(rels []sqltype.Relation) (*Catalogs, error) {
	b := &binding{p: p, bound: map[*tableDecl]*boundTable{}}
	c := b.run(rels)
	if err := b.err(p.Name); err != nil {
		return nil, err
	}
	return c, nil
}

// run binds what can be bound, so that everything that does not fit is found at once; nil where something does not.
func (b *binding) run(rels []sqltype.Relation) *Catalogs {
	p := b.p
	for _, t := range p.tables {
		if r := b.relation(t, rels); r != nil {
			b.bound[t] = &boundTable{decl: t, rel: r}
		}
	}
	b.useColumns()
	for _, t := range p.tables {
		if bt := b.bound[t]; bt != nil {
			b.table(bt)
		}
	}
	b.numberTables()
	b.units()
	for _, t := range p.tables {
		if bt := b.bound[t]; bt != nil {
			b.domains(bt)
			b.foreignKeys(bt)
		}
	}
	b.references()
	b.ownRows()
	b.publicReads()
	b.oneWayARow()
	b.unlistedPersons()
	for _, a := range p.Analysts {
		for _, g := range a.may {
			if bt := b.bound[g.table]; bt != nil && g.column != "" && bt.columnIndex(g.column) < 0 && g.table.allColumns {
				b.add(g.at, "analysts.%s.may: the database's table %s has no column %s", a.Name, g.table, quoteName(g.column))
			}
		}
	}
	if len(b.list) > 0 {
		return nil
	}
	return newCatalogs(b)
}

func (b *binding) relation(t *tableDecl, rels []sqltype.Relation) *sqltype.Relation {
	schema := t.schema
	if schema == "" {
		schema = b.p.defaultSchema()
	}
	for i := range rels {
		r := &rels[i]
		if r.Schema != schema || r.Name != t.name {
			continue
		}
		if b.isUsable(t, r) {
			return r
		}
		return nil
	}
	b.add(t.at, "the database has no table %s that its user may see", qualified(schema, t.name))
	return nil
}

// useColumns notes which columns the unit paths need, listed or not.
func (b *binding) useColumns() {
	use := func(t *tableDecl, where position, columns []string, good func(sqltype.Type) bool, says, cure string) (all bool) {
		bt := b.bound[t]
		if bt == nil {
			return true // reported, and nothing is said of it
		}
		if bt.used == nil {
			bt.used = map[string]bool{}
		}
		all = true
		for _, name := range columns {
			bt.used[name] = true
			c, ok := bt.rel.Column(name)
			all = all && ok
			switch {
			case !ok:
				b.missingColumn(where, bt, name)
			case !good(c.Type):
				b.add(where, "%s.%s of %s cannot %s", t, quoteName(name), typeText(c.Type), says).hint("%s", cure)
			}
		}
		return all
	}
	for _, k := range b.p.kinds {
		number := qualified(k.table.schema, k.table.name, k.table.name+"_no")
		use(k.table, k.column.position, []string{k.column.text}, CanBeUnit, "be the unit",
			fmt.Sprintf("give %s a key of whole numbers, such as %s bigint NOT NULL UNIQUE, and say unit: %s", k.table, quoteName(k.table.name+"_no"), number))
	}
	for _, t := range b.p.tables {
		if bt := b.bound[t]; bt != nil {
			use(t, t.withoutUnit.position, ownKey(bt), IsUnitText, "tell rows without a person apart", "rows_without_unit: drop")
			use(t, t.fallbackAt, t.fallbackColumns, isOther, "name a unit", "leave it out of coalesce")
		}
		for _, path := range t.paths() {
			cure := "lead there by a key of another type"
			if len(b.p.kinds) > 0 {
				cure = b.ownUnit(t, b.p.kinds[b.mainKind(t)])
			}
			own := use(t, path.at, path.columns, LeadsToUnit, "lead to a unit", cure)
			theirs := use(path.parent, path.at, path.parentColumns, LeadsToUnit, "lead to a unit", cure)
			if bt := b.bound[t]; bt != nil && !(own && theirs) {
				bt.astray = true
			}
		}
	}
}

// ownUnit says how a table's rows themselves say whose they are: by a foreign key that it has, or by a column to be added.
func (b *binding) ownUnit(t *tableDecl, k unitDecl) string {
	way := func(column string) string { return arrow([]string{column}, k.table, []string{k.column.text}) }
	name := k.table.name + "_" + k.column.text
	if bt, root := b.bound[t], b.bound[k.table]; bt != nil && root != nil {
		for _, fk := range bt.rel.ForeignKeys {
			if len(fk.Columns) == 1 && b.holds(root.rel, fk.RefSchema, fk.RefTable) && b.sameName(fk.RefColumns[0], root.rel.BaseColumn(k.column.text)) {
				return "unit: " + way(fk.Columns[0])
			}
		}
	}
	return fmt.Sprintf("give %s the unit's own column, %s, and say unit: %s", t, quoteName(name), way(name))
}

// table builds the plan's table: the listed columns and those on unit paths, in the database's order.
func (b *binding) table(bt *boundTable) {
	d := bt.decl
	t := &plan.Table{Schema: bt.rel.Schema, Name: bt.rel.Name, Public: d.public, Unprotected: d.unprotected, UnitCol: -1}
	bt.table = t
	var denied, missing []string
	for _, rc := range bt.rel.Columns {
		c := d.column(rc.Name)
		if c == nil && !d.allColumns && !bt.used[rc.Name] || rc.Denied && d.allColumns {
			continue
		}
		if rc.Denied {
			denied, missing = append(denied, quoteName(rc.Name)), append(missing, rc.Name)
		}
		if c != nil && c.shape != nil && rc.Type.OID == 0 && rc.List.OID != 0 {
			rc.Type = rc.List // which is an array of that length, or left out
		}
		pc := plan.TableColumn{Name: rc.Name, Type: rc.Type, NotNull: rc.NotNull, Collate: rc.Collate && rc.Type.IsString(), Visible: (c != nil || d.allColumns) && rc.Type.IsReadable(), Unread: (c != nil || d.allColumns) && !rc.Type.IsReadable()}
		if c != nil {
			b.declared(bt, c, &pc)
			pc.Unprotected = c.unprotected
		}
		t.Columns = append(t.Columns, pc)
	}
	switch {
	case len(denied) > 0:
		b.add(d.at, "the backend's role may not read %s of table %s", strings.Join(denied, ", "), d).hint("%s", grantSelect(bt.rel, missing))
		b.unread = append(b.unread, RelationName{bt.rel.Schema, bt.rel.Name})
	case d.allColumns && len(t.Columns) == 0 && len(bt.rel.Columns) > 0:
		b.add(d.at, "the backend's role may not read table %s", d).hint("%s", grantSelect(bt.rel, nil))
		b.unread = append(b.unread, RelationName{bt.rel.Schema, bt.rel.Name})
	}
	for _, c := range d.columns {
		if _, ok := bt.rel.Column(c.name.text); !ok {
			b.missingColumn(c.name.position, bt, c.name.text)
		}
	}
	for _, k := range bt.rel.Keys {
		var key []int
		for _, name := range k {
			if i := bt.columnIndex(name); i >= 0 {
				key = append(key, i)
			}
		}
		if len(key) == len(k) && len(key) > 0 {
			t.Keys = append(t.Keys, key)
		}
	}
	if !d.public {
		t.Units = dp.Units{b.mainUnit(d)}
		t.MaxRows = d.maxRows
	}
	b.frequencies(bt)
}

// references notes the foreign keys between listed tables.
func (b *binding) references() {
	for _, bt := range b.bound {
		for _, k := range bt.rel.ForeignKeys {
			for _, to := range b.bound {
				if k.Partial || to.rel.Schema != k.RefSchema || to.rel.Name != k.RefTable {
					continue
				}
				r := plan.Reference{Table: to.table}
				for i := range k.Columns {
					r.Columns, r.RefColumns = append(r.Columns, bt.columnIndex(k.Columns[i])), append(r.RefColumns, to.columnIndex(k.RefColumns[i]))
				}
				if !slices.Contains(r.Columns, -1) && !slices.Contains(r.RefColumns, -1) {
					bt.table.References = append(bt.table.References, r)
				}
			}
		}
	}
}

// declared puts what the file says of a column on it.
func (b *binding) declared(bt *boundTable, c *columnDecl, pc *plan.TableColumn) {
	t := bt.decl
	pc.Description = c.description
	if c.shape != nil {
		b.elements(t, c, pc)
	} else if c.lo != nil && isDay(pc.Type) {
		b.add(c.rangeAt, "column %s.%s: range: that of a column of %s has dates", t, quoteName(pc.Name), typeText(pc.Type)).hint("%s", writeDays)
	} else if c.lo != nil {
		if err := checkRange(*c.lo, *c.hi, pc.Type); err != nil {
			b.add(c.rangeAt, "column %s.%s: range: %v", t, quoteName(pc.Name), err)
		} else {
			pc.Range = &num.Interval{Lo: *c.lo, Hi: *c.hi}
		}
	} else if c.first != "" {
		iv, err := dayRange(c.first, c.last, pc.Type)
		if err != nil {
			b.add(c.rangeAt, "column %s.%s: range: %v", t, quoteName(pc.Name), err)
		}
		pc.Range = iv
	} else if c.rangeAt.line > 0 && isDay(pc.Type) {
		b.add(c.rangeAt, "column %s.%s: range: a column of %s has none that is automatic", t, quoteName(pc.Name), typeText(pc.Type)).hint("range: [first, last], or leave it out")
	} else if c.rangeAt.line > 0 && !pc.Type.IsNumber() {
		b.add(c.rangeAt, "column %s.%s: range: a column of %s has none", t, quoteName(pc.Name), typeText(pc.Type))
	}
	if c.step != nil {
		if err := checkStep(*c.step, pc.Type); err != nil {
			b.add(c.stepAt, "column %s.%s: step: %v", t, quoteName(pc.Name), err)
		} else {
			pc.Step = c.step
		}
	}
	if c.hasValues && len(c.values) > 0 {
		pc.Domain = &plan.Domain{Values: b.values(t, c, pc)}
		pc.Domain.Enforced = isEnforced(bt.rel, pc)
	}
}
